"""Perturbations of training and computation: seeds, row order, precision, batches, threads.

The lists do not change. These families measure the noise floor of all others: smaller effects are
rounding or training luck.
`kinds.perturbations.system` trains the rankers again, and asks them. The families stand below.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.perturb.base import Change, PerturbationBase
from shuffleproof.core.perturb.entry import INFINITE, PerturbationEntry
from shuffleproof.core.perturb.feasibility import all_lists, any_level

SYSTEM: frozenset[Change] = frozenset({"system"})
SEED, ORDER, BFLOAT16, BATCHES, THREADS = (
    "train-seed", "train-order", "bfloat16", "batches", "threads",
)  # fmt: skip

MOST_THREADS = 256.0


@dataclass(frozen=True)
class SystemPerturbation(PerturbationBase):
    """Leaves the lists as they are; says how rankers are trained or asked.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0: as in every other study.
    """

    family: str
    level: float
    changes: frozenset[Change] = SYSTEM

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists as they are; nothing is drawn."""
        del generator
        return lists


def reordered(
    judged: JudgedLists,
    generator: np.random.Generator,
    *,
    queries_move: bool = True,
    rows_move: bool = True,
) -> JudgedLists:
    """The same judged lists, as read from a file with another row order.

    Queries change places, and documents within their queries. Lists keep their candidates, scores
    and ranks, and documents tied under the first initial ranking are shown by their new rows.

    Args:
        judged: the lists.
        generator: of both permutations.
        queries_move: False: queries keep their order.
        rows_move: False: documents keep their order within their query.
    """
    dataset, lists = judged.dataset, judged.lists
    queries = generator.permutation(dataset.queries) if queries_move else np.arange(dataset.queries)
    offsets = ragged.offsets_of(np.diff(dataset.offsets)[queries])
    # Random keys within each query: documents never leave their query
    keys = generator.random(dataset.documents) if rows_move else np.arange(dataset.documents)
    inside = ragged.order_within(offsets, keys)
    rows = ragged.elements_of(dataset.offsets, queries)[inside]
    # `argsort` of a permutation is its inverse: the new place of each old row
    place_of_query, place_of_row = np.argsort(queries), np.argsort(rows)
    # Lists follow their queries, as in a file that is read from the top
    order = np.argsort(place_of_query[lists.queries], kind="stable")
    reordered_lists = lists.select(order)
    reordered_lists = replace(
        reordered_lists,
        queries=place_of_query[reordered_lists.queries],
        rows=place_of_row[reordered_lists.rows],
    )
    first_scores = (
        reordered_lists.prior[:, 0]
        if lists.rankings
        else np.zeros(len(reordered_lists.rows), dtype=np.float32)
    )
    # Ties are shown by row everywhere, so new rows give new orders within ties
    by_row = falling_order(reordered_lists.offsets, first_scores, reordered_lists.rows)
    return JudgedLists(dataset.arranged(queries, rows), reordered_lists.shown_as(by_row))


def columns_reordered(judged: JudgedLists, order: Int64[np.ndarray, " features"]) -> JudgedLists:
    """The same judged lists with the feature columns in another order, ids and names with them."""
    dataset = judged.dataset
    absent = dataset.absent_cells()
    names = dataset.feature_names
    moved = replace(
        dataset,
        features=np.ascontiguousarray(dataset.features[:, order]),
        feature_ids=tuple(dataset.feature_ids[column] for column in order),
        feature_names=None if names is None else tuple(names[column] for column in order),
        absent=None if absent is None else np.packbits(absent[:, order], axis=1),
        fingerprint="",
    )
    return JudgedLists(moved, judged.lists)


SYSTEM_FAMILIES = (
    PerturbationEntry(
        SEED,
        "Rankers are trained again with another seed: first weights, batches, dropout, sampling.",
        "luck of the training (Reimers & Gurevych 2017)",
        "1: another seed, one a draw",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(SEED, level),
        brings=False,
        reach=any_level,
        whole=True,
        anew=True,
    ),
    PerturbationEntry(
        ORDER,
        "Rankers are trained again on the same rows in another order, of queries and within them.",
        "ties that a training breaks by row, batches, rounding",
        "1: another order, one a draw",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(ORDER, level),
        brings=False,
        reach=any_level,
        whole=True,
        anew=True,
    ),
    PerturbationEntry(
        BFLOAT16,
        "Networks are scored in bfloat16 instead of float32.",
        "arithmetic of accelerators",
        "1: bfloat16",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(BFLOAT16, level),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
    PerturbationEntry(
        BATCHES,
        "Lists are scored in random order in batches of this size: other batches and padding.",
        "batch composition",
        "lists at a time (0: as the ranker batches them)",
        0.0,
        INFINITE,
        (0.0, 1.0, 8.0, 64.0),
        lambda level: SystemPerturbation(BATCHES, level),
        brings=False,
        reach=all_lists,
        whole=True,
    ),
    PerturbationEntry(
        THREADS,
        "Networks are scored with another number of threads: sums are added up in another order.",
        "arithmetic of processors",
        "threads (0: as many as the process has)",
        0.0,
        MOST_THREADS,
        (0.0, 1.0, 2.0, 4.0),
        lambda level: SystemPerturbation(THREADS, level),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
)
"""The families that change how a ranker is trained or asked, and nothing of its input."""
