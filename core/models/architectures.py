"""The architectures that there are, as one type; loads without torch."""

from core.models.config import DLCMConfig, SetRankConfig
from core.models.config_groups import GroupConfig
from core.models.config_univariate import UnivariateConfig

Architecture = SetRankConfig | DLCMConfig | GroupConfig | UnivariateConfig
