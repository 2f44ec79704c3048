"""Question of Figure 3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import SHIPPED
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import RANKERS, Levels, Question


@dataclass(frozen=True)
class InitialRanking(Question):
    """Losses of rankers as the initial ranking gets worse."""

    kind = "initial-ranking"
    title = "How much does a worse initial ranking cost each ranker?"
    source = "SetRank (SIGIR 2020), Figure 3"
    summary = "Figure 3: a worse initial ranking"
    doing = "Perturb the initial ranking of"
    tested = True
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": SHIPPED,
        "perturbations": tuple(
            ("transpositions", float(level)) for level in (0, 1, 2, 5, 10, 20, 40, 80)
        ),
    }
    printing = "marks(result, {perturbations[0][0]!r}, {measures[0]!r})"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    perturbations: tuple[tuple[str, float], ...] = parameter(
        help="families and their levels",
        names="perturbations",
        flags=Levels("transpositions", "perturbations, comma-separated"),
    )
    measures: tuple[str, ...] = parameter(("NDCG@10",), "list of measures", names="measures")
    draws: int = parameter(10, "random draws per level", low=1, label="Draws per level")
    seed: int = parameter(0, "seed of the draws")
