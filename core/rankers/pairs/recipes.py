"""The preference functions by name: their recipes, and those that were saved."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.numpy import load_file

from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.rankers.pairs.function import (
    NORMALISED,
    PairRanker,
    PairSpec,
)
from shuffleproof.core.rankers.pairs.net import PairNet, PairNetSpec
from shuffleproof.core.rankers.pairs.trees import PairTrees, PairTreesSpec
from shuffleproof.core.rankers.tabular import read_head, spec_of

KINDS: Mapping[str, type[PairSpec]] = {kind.name: kind for kind in (PairNetSpec, PairTreesSpec)}
spec = spec_of(KINDS)


def load(directory: Path) -> PairRanker:
    """The ranker that `PairRanker.save` wrote."""
    ranker_spec, feature_ids, _ = read_head(directory, KINDS)
    normalisation = Normalisation.from_arrays(
        ranker_spec.normalisation, load_file(directory / NORMALISED)
    )
    opened = PairNet if isinstance(ranker_spec, PairNetSpec) else PairTrees
    return PairRanker(
        ranker_spec,
        opened.load(directory),
        normalisation,
        feature_ids,
    )
