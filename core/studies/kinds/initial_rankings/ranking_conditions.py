"""Initial rankings left out or exchanged at test time: conditions, lists and scores.

A network with ordinal embeddings reads other ranks for the same documents. A network that is fed in
the order of the initial ranking (DLCM) is fed in the order of the replacement. The candidates do
not change.
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
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.names import ANTI, ORACLE
from shuffleproof.core.studies.workbench import Workbench

TRAINED, NONE = "as trained", "without any"

NOISE = 1e-3  # breaks the ties of grades in the oracle, so that its ranks are a ranking


@runtime_checkable
class Exchangeable(Protocol):
    """Ranker whose initial rankings can be exchanged or left out: the neural rankers."""

    def reading(self, columns: Sequence[int | None]) -> Ranker:
        """Copy of the ranker that reads these of the lists' rankings; None: absent."""


def conditions(
    rankings: int, initial: Sequence[str], *, fed: bool = False
) -> list[tuple[str, tuple[int | None, ...]]]:
    """Conditions of a ranker, in words and as the columns that it reads.

    Args:
        rankings: number of initial rankings that it reads.
        initial: initial rankings of training, then those of test time.
        fed: True if it reads its documents in the order of the first one, which can be exchanged
            but not left out.

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
    """Test lists with a ranking for each name: those of training, then the replacements.

    Candidates and input order stay those of the first ranking.
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
            trained = yield from with_words(workbench.train(RankerName.parse(name)), f"of {name}")
            scores = trained.ranker.score(dataset, CandidateLists.all_documents(dataset))
        columns.append(scores[lists.rows, None])
    prior = np.concatenate(columns, axis=1)
    # `reranked` orders by the first ranking, which is the one that these lists are shown by
    return JudgedLists(dataset, lists.reranked(prior))


def oracle(dataset: RankingDataset) -> Float32[np.ndarray, " docs"]:
    """Grades with ties broken by row: the best possible initial ranking."""
    places = np.arange(dataset.documents, dtype=np.float64)
    return (dataset.labels - NOISE * places / max(1, dataset.documents)).astype(np.float32)


def scores_under(
    ranker: Ranker, columns: Sequence[int | None], test: JudgedLists
) -> Float32[np.ndarray, " candidates"]:
    """Scores of a ranker that reads other initial rankings than its own.

    Args:
        ranker: trained.
        columns: as from `conditions`.
        test: as from `extended_lists`.

    Raises:
        UsageError: the ranker's initial rankings cannot be exchanged.
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
    """Candidates of every list in the order of one of its rankings, ties in input order."""
    return order_within(lists.offsets, lists.ranks[:, column])


def reading_others(ranker: Ranker, columns: Sequence[int | None]) -> Ranker:
    """Copy of the ranker that reads these columns; for combinations, of each member.

    Raises:
        UsageError: the ranker's initial rankings cannot be exchanged.
    """
    if not ranker.rankings:
        return ranker
    if isinstance(ranker, ensemble.FusedRanker):
        members = tuple(reading_others(member, columns) for member in ranker.members)
        return replace(ranker, members=members)
    if isinstance(ranker, ShuffledRanker | SubsetRanker):
        return replace(ranker, member=reading_others(ranker.member, columns))
    if not isinstance(ranker, Exchangeable):
        raise UsageError(
            f"{ranker.name} cannot read other initial rankings than its own: leave it out"
        )
    return ranker.reading(columns[: ranker.rankings])


def is_fed(ranker: Ranker) -> bool:
    """True if a ranker reads its documents in the order of the initial ranking."""
    if isinstance(ranker, ensemble.FusedRanker):
        return any(map(is_fed, ranker.members))
    if "order" not in ranker.reads:
        return False
    spec = getattr(ranker, "spec", None)
    return spec is not None and spec.recipe().get("model", {}).get("feed") == "shown"
