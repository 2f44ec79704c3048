"""Initial rankings left out or exchanged at test time: which, on which lists, and what is answered.

A network with ordinal embeddings reads other ranks beside the same documents. One that is fed in
the order of the initial ranking (DLCM) is fed in the order of what stands in its place. Candidates
stay the same.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.ensemble import rankers as ensemble
from shuffleproof.core.rankers.ensemble.shuffled import ShuffledRanker
from shuffleproof.core.studies.names import ANTI, ORACLE
from shuffleproof.core.studies.workbench import Workbench

TRAINED, NONE = "as trained", "without any"

NOISE = 1e-3  # breaks the ties of grades in the oracle, so that its ranks are a ranking


@runtime_checkable
class Exchangeable(Protocol):
    """A ranker whose initial rankings can be exchanged or left out: the neural ones."""

    def reading(self, columns: Sequence[int | None]) -> Ranker:
        """The same ranker reading these of the lists' rankings; None: that one is absent."""


def conditions(
    rankings: int, initial: Sequence[str], *, fed: bool = False
) -> list[tuple[str, tuple[int | None, ...]]]:
    """What a ranker of so many initial rankings is asked to read, in words and as columns.

    Args:
        rankings: how many it reads.
        initial: those of training, then those of test time.
        fed: it reads its documents in the order of the first, which can be exchanged and not
            left out.

    >>> conditions(1, ("mart", "random"))
    [('as trained', (0,)), ('without any', (None,)), ('random for mart', (1,))]
    >>> conditions(0, ("mart", "random"), fed=True)
    [('as trained', ()), ('random for mart', (1,))]
    """
    all_columns: tuple[int | None, ...] = tuple(range(rankings))
    if not rankings and not fed:
        return [(TRAINED, all_columns)]
    without = [
        (f"without {initial[index]}", (*all_columns[:index], None, *all_columns[index + 1 :]))
        for index in range(rankings if rankings > 1 else 0)
    ]
    exchanged = [
        (f"{initial[replacement]} for {initial[0]}", (replacement, *all_columns[1:]))
        for replacement in range(max(1, rankings), len(initial))
    ]
    left_out = [] if fed else [*without, (NONE, (None,) * rankings)]
    return [(TRAINED, all_columns), *left_out, *exchanged]


def extended_lists(
    workbench: Workbench, initial: Sequence[str]
) -> Generator[Progress, None, JudgedLists]:
    """The test lists with a ranking for each name: those of training, then those that replace.

    Candidates and the order shown stay those of the first.
    """
    test: JudgedLists = workbench.prepared.test
    lists, dataset = test.lists, test.dataset
    columns = [lists.prior]
    for name in initial[lists.rankings :]:
        if name == ORACLE:
            scores = oracle(dataset)
        elif name == ANTI:
            scores = -oracle(dataset)
        else:
            trained = yield from with_words(workbench.train(name), f"of {name}")
            scores = trained.ranker.score(dataset, CandidateLists.all_documents(dataset))
        columns.append(scores[lists.rows, None])
    prior = np.concatenate(columns, axis=1)
    # `reranked` orders by the first ranking, which is the one that these lists are shown by
    return JudgedLists(dataset, lists.reranked(prior))


def oracle(dataset: RankingDataset) -> Float32[np.ndarray, " docs"]:
    """The grades, ties broken by row: the best initial ranking that there can be."""
    places = np.arange(dataset.documents, dtype=np.float64)
    return (dataset.labels - NOISE * places / max(1, dataset.documents)).astype(np.float32)


def scores_under(
    ranker: Ranker, columns: Sequence[int | None], test: JudgedLists
) -> Float32[np.ndarray, " candidates"]:
    """What a ranker answers when it reads other initial rankings than its own.

    Args:
        ranker: trained.
        columns: as `conditions` has them.
        test: as `extended_lists` made them.

    Raises:
        UsageError: a ranker whose initial rankings cannot be exchanged.
    """
    reading, lists = reading_others(ranker, columns), test.lists
    first_column = columns[0] if columns else 0
    if not first_column or not is_fed(ranker):
        return reading.score(test.dataset, lists)
    order = order_in(lists, first_column)
    scores = np.empty(len(order), dtype=np.float32)
    scores[order] = reading.score(test.dataset, lists.shown_as(order))
    return scores


def order_in(lists: CandidateLists, column: int) -> Int64[np.ndarray, " candidates"]:
    """The candidates of every list in the order of one of its rankings, ties as they are shown."""
    return order_within(lists.offsets, lists.ranks[:, column])


def reading_others(ranker: Ranker, columns: Sequence[int | None]) -> Ranker:
    """The ranker with these of the lists' initial rankings before it; its members, if it has some.

    Raises:
        UsageError: a ranker whose initial rankings cannot be exchanged.
    """
    if not ranker.rankings:
        return ranker
    if isinstance(ranker, ensemble.FusedRanker):
        members = tuple(reading_others(member, columns) for member in ranker.members)
        return replace(ranker, members=members)
    if isinstance(ranker, ShuffledRanker):
        return replace(ranker, member=reading_others(ranker.member, columns))
    if not isinstance(ranker, Exchangeable):
        raise UsageError(
            f"{ranker.name} cannot read other initial rankings than its own: leave it out"
        )
    return ranker.reading(columns[: ranker.rankings])


def is_fed(ranker: Ranker) -> bool:
    """Whether a ranker reads its documents in the order of the initial ranking."""
    if isinstance(ranker, ensemble.FusedRanker):
        return any(map(is_fed, ranker.members))
    if "order" not in ranker.reads:
        return False
    spec = getattr(ranker, "spec", None)
    return spec is not None and spec.recipe().get("model", {}).get("feed") == "shown"
