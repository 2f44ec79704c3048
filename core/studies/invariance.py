"""Does the order in which documents are shown change a ranker's answer? Real permutations tell.

Every query's list is shown in many random orders with its prior ranks unchanged, the ranker
really scores each of them, and the scores are compared document by document. Nothing is carried
over here: a ranker that ought to be invariant by theorem is measured like any other.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.data import ragged
from core.data.lists import CandidateLists, JudgedLists
from core.metrics.agreement import kendall_tau
from core.metrics.passing import documents_passed, smallest_gap
from core.metrics.segments import largest_deviations
from core.progress import Progress
from core.rankers.base import Ranker
from core.studies.carrying import scores_of_all, source_of
from core.studies.result import StudyResult
from core.studies.run import Memory, run_study
from core.studies.study import Study

MEASURES = ("score-deviation", "documents-moved", "tau", "smallest-gap")
FAMILY = "shuffle-shown"
TOLERANCE = 1e-5
EXACT_CANDIDATES = 4096
"""Candidates, about, whose scores are computed in float64 too."""


def measured(
    ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
) -> tuple[list[Any], dict[str, Any]]:
    """The study's step: per query, what each permutation did to the scores and to their order."""
    before = ranker.score(base.dataset, base.lists)
    floor = numeric_floor(ranker, base, before)
    gap = smallest_gap(base.lists.offsets, before)
    values = []
    shown = [variant.lists for variant in variants]
    scored = scores_of_all(ranker, base, shown)
    for variant, scores in zip(shown, scored, strict=True):
        after = np.empty_like(before)
        after[source_of(base.lists, variant)] = scores
        values.append(_compared(base.lists, before, after, floor, gap))
    scale = float(np.abs(before).max(initial=0.0))
    return values, {"numeric_floor": floor, "largest_score": scale}


def _compared(lists: CandidateLists, before: Any, after: Any, floor: float, gap: Any) -> Any:
    deviation = largest_deviations(lists.offsets, before, after)
    moved = documents_passed(lists.offsets, before, after, floor)
    tau = kendall_tau(lists.offsets, before, after)
    return np.stack([deviation, moved, tau, gap]).astype(np.float32)


def numeric_floor(ranker: Ranker, base: JudgedLists, scores: Any) -> float:
    """The difference of two scores up to which arithmetic alone can turn two documents round.

    The largest of: the float32 spacing at the largest score; the deviation seen when the same
    lists, in the same orders shown, are scored in reverse succession (other batches and padding);
    and, for a ranker that can compute in float64 (`exact_scores`), twice the largest distance e of
    its float32 scores from those. Where every score is within e of the exact one, a pair that
    rounding turns round was 2e apart or less, before or after. The float64 scores are those of
    the longest list and of some 4096 candidates spread over the others.

    Never more than the deviation that a certificate allows, so that a ranker whose arithmetic is
    poor hides nothing behind it.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        scores: its scores of them.
    """
    largest = float(np.abs(scores).max(initial=1.0))
    floor = max(
        float(np.spacing(np.float32(largest))),
        _seen_in_other_batches(ranker, base, scores),
        2.0 * _distance_from_exact(ranker, base, scores),
    )
    return min(floor, TOLERANCE * largest)


def _seen_in_other_batches(ranker: Ranker, base: JudgedLists, scores: Any) -> float:
    backwards = np.arange(len(base.lists))[::-1].copy()
    again = ranker.score(base.dataset, base.lists.select(backwards))
    source = ragged.elements_of(base.lists.offsets, backwards)
    return float(np.abs(scores[source] - again).max(initial=0.0))


def _distance_from_exact(ranker: Ranker, base: JudgedLists, scores: Any) -> float:
    exactly = getattr(ranker, "exact_scores", None)
    if exactly is None or not len(base.lists):
        return 0.0
    step = -(-len(base.lists.rows) // EXACT_CANDIDATES) or 1
    longest = int(base.lists.lengths.argmax())
    chosen = np.unique(np.append(np.arange(0, len(base.lists), step), longest))
    exact = exactly(base.dataset, base.lists.select(chosen))
    own = scores[ragged.elements_of(base.lists.offsets, chosen)].astype(np.float64)
    return float(np.abs(own - exact).max(initial=0.0))


def certified(
    ranker: Ranker, base: JudgedLists, permutations: int, seed: int, label: str = ""
) -> Generator[Progress, None, "Certificate"]:
    """The certificate of one ranker on these lists, without a store (a callable, a foreign model).

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        permutations: random orders shown, for every list.
        seed: of the permutations.
        label: what the certificate calls the ranker; by default its own name.
    """
    label = label or ranker.name
    study = Study(
        kind="invariance",
        rankers=((label, ""),),
        lists="",
        initial=(),
        perturbations=((FAMILY, 1.0),),
        measures=MEASURES,
        draws=permutations,
        seed=seed,
    )
    result = yield from run_study(study, base, {label: ranker}, Memory(), measured)
    return certificates(result, {label: ranker.reads})[0]


@dataclass(frozen=True)
class Certificate:
    """The verdict on one ranker.

    Attributes:
        ranker: its label.
        reads: what it declares to read.
        max_score_deviation: largest difference of one document's score under two orders.
        positions_moved: documents that changed places with one further away than the floor,
            over all queries and permutations.
        permutations: real permutations scored, over all queries.
        numeric_floor: what arithmetic alone can do, see `numeric_floor`.
        invariant: no document moved and the deviation is below 1e-5 of the score scale.
        queries_moved: queries in which some permutation moved a document.
        queries: queries examined.
    """

    ranker: str
    reads: tuple[str, ...]
    max_score_deviation: float
    positions_moved: int
    permutations: int
    numeric_floor: float
    invariant: bool
    queries_moved: int
    queries: int

    def plain(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        return asdict(self) | {"reads": list(self.reads)}


def certificates(result: StudyResult, reads: Mapping[str, frozenset[Any]]) -> list[Certificate]:
    """One certificate a ranker of an invariance study."""
    found = []
    for label in dict.fromkeys(result.trials.ranker):
        rows = np.flatnonzero((result.trials.ranker == label).to_numpy())
        block = np.asarray(result.values[rows])
        facts = result.trials.iloc[rows]
        deviation = float(block[:, 0].max(initial=0.0))
        moved = block[:, 1]
        scale = max(1.0, float(facts["largest_score"].max()))
        found.append(
            Certificate(
                ranker=str(label),
                reads=tuple(sorted(reads[str(label)])),
                max_score_deviation=deviation,
                positions_moved=int(moved.sum()),
                permutations=block.shape[0] * block.shape[2],
                numeric_floor=float(facts["numeric_floor"].max()),
                invariant=bool(moved.sum() == 0 and deviation < TOLERANCE * scale),
                queries_moved=int((moved.max(axis=0) > 0).sum()) if len(rows) else 0,
                queries=block.shape[2],
            )
        )
    return found


def per_query(result: StudyResult, ranker: str) -> pd.DataFrame:
    """One row a query: its largest deviation, most documents moved, lowest τ, smallest gap."""
    rows = np.flatnonzero((result.trials.ranker == ranker).to_numpy())
    block = np.asarray(result.values[rows])
    return pd.DataFrame(
        {
            "query": result.query_ids,
            "deviation": block[:, 0].max(axis=0),
            "moved": block[:, 1].max(axis=0).astype(int),
            "tau": block[:, 2].min(axis=0),
            "gap": block[:, 3].min(axis=0),
        }
    ).sort_values(["moved", "deviation"], ascending=False, kind="stable", ignore_index=True)
