"""The architectures that there are, as one type; loads without torch."""

from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig

Architecture = SetRankConfig | DLCMConfig | GroupConfig | UnivariateConfig
