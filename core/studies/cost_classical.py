"""What a Newton step of the linear rankers and a round of the boosted thresholds take."""

from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.boosting.fit import FRankAdditiveSpec, RankBoostSpec
from shuffleproof.core.rankers.linear.fit import IRSVMSpec, RankSVMSpec

KINDS: dict[str, type[RankSVMSpec | RankBoostSpec]] = {
    kind.name: kind for kind in (RankSVMSpec, IRSVMSpec, RankBoostSpec, FRankAdditiveSpec)
}
"""The recipes that are counted here, by the ranker's name."""

PRODUCTS = 40
"""Products with the features in a Newton step: conjugate gradients take about twenty passes."""

CELL_SECONDS, ROW_SECONDS, PAIR_SECONDS, STEP_SECONDS = 4e-10, 3e-8, 8e-9, 2e-4
"""Of a feature of a document, of a document, of a pair that a threshold is tried on, of a step."""

FEWEST_STEPS = 4
"""Newton steps that a value of C takes at least."""


def family(spec: RankerSpec) -> str | None:
    """The key of its kind among those that are timed alike; None: it is not counted here."""
    if isinstance(spec, RankSVMSpec):
        return "linear"
    return "boosting" if isinstance(spec, RankBoostSpec) else None


def step_seconds(spec: RankerSpec, rows: int, lists: int, features: int) -> float:
    """The modelled seconds of one step or round.

    Args:
        spec: a recipe of one of these kinds.
        rows: documents that it is fitted on.
        lists: that they are in.
        features: of a document.
    """
    cells = rows * features
    if isinstance(spec, RankSVMSpec):
        return STEP_SECONDS + PRODUCTS * (cells * CELL_SECONDS + rows * ROW_SECONDS)
    if isinstance(spec, FRankAdditiveSpec):
        pairs = rows * rows / max(1, lists)
        return STEP_SECONDS + 2 * cells * CELL_SECONDS + pairs * (2 + spec.tried) * PAIR_SECONDS
    return STEP_SECONDS + 2 * cells * CELL_SECONDS + rows * ROW_SECONDS


def steps(spec: RankerSpec) -> tuple[int, int]:
    """How many steps or rounds there are at most, and at least."""
    if isinstance(spec, RankSVMSpec):
        return spec.steps * spec.tried, min(spec.steps, FEWEST_STEPS) * spec.tried
    if not isinstance(spec, RankBoostSpec):
        return 1, 1
    least = spec.rounds if spec.patience is None else min(spec.rounds, spec.patience + 1)
    return spec.rounds, least
