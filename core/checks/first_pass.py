"""Every list scored alone within the time limit; failures are separated from scores.

What the doctor of rankers looks at afterwards are the lists that have scores.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import AnswerError, DataError, MissingRankingError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.outside.returned import is_score
from shuffleproof.core.words import counted

FAILED, NOT_FINITE = "fails", "not-finite"
MOST_FAILURES = 3
"""Lists on which a ranker may fail before it is left alone: each may take minutes to hang."""

LEAST = 5
"""Lists that are scored however long it takes."""


@dataclass(frozen=True)
class Fault:
    """A list without usable scores.

    Attributes:
        code: a code of `core.checks.doctor`.
        list: its place.
        found: what came instead, in words.
    """

    code: str
    list: int
    found: str


@dataclass(frozen=True)
class FirstPass:
    """Lists scored one by one.

    Attributes:
        judged: those that have scores, in their order.
        scores: of their candidates.
        seconds: that each of them took, in the order in which they were scored.
        timed: their places, in that order.
        faults: the lists without scores.
        places: of the lists with scores among all.
    """

    judged: JudgedLists
    scores: Float64[np.ndarray, " candidates"]
    seconds: tuple[float, ...]
    timed: tuple[int, ...]
    faults: tuple[Fault, ...] = field(default=())
    places: tuple[int, ...] = ()


def first_pass(
    ranker: Ranker,
    base: JudgedLists,
    order: list[int],
    clock: Callable[[], float],
    limit: float,
) -> Generator[Progress, None, FirstPass]:
    """Score lists one by one until all are, or until the seconds are over.

    Args:
        ranker: anything that scores.
        base: the lists.
        order: of scoring.
        clock: returns seconds.
        limit: seconds after which no more lists are scored, after at least LEAST.

    Raises:
        MissingRankingError: the lists carry fewer initial rankings than it reads.
    """
    lists, start = base.lists, clock()
    scored: dict[int, np.ndarray] = {}
    seconds: list[float] = []
    faults: list[Fault] = []
    for done, one in enumerate(order):
        failures = sum(fault.code == FAILED for fault in faults)
        if failures >= MOST_FAILURES or (done >= LEAST and clock() - start > limit):
            break
        yield Progress(done, len(order), "lists scored")
        few, begun = lists.select(np.array([one])), clock()
        try:
            answer = np.asarray(ranker.score(base.dataset, few), dtype=np.float64)
        except MissingRankingError:
            raise
        except AnswerError as error:
            due = "" if error.fault == NOT_FINITE else f" for {counted(len(few.rows), 'document')}"
            faults.append(Fault(error.fault, one, f"{error.finding}{due}"))
            continue
        except DataError as error:
            faults.append(Fault(FAILED, one, error.finding))
            continue
        fault = _fault(answer, len(few.rows))
        if fault is not None:
            faults.append(Fault(fault[0], one, fault[1]))
            continue
        seconds.append(clock() - begun)
        scored[one] = answer
    timed, places = tuple(scored), tuple(sorted(scored))
    return FirstPass(
        JudgedLists(base.dataset, lists.select(np.array(places, dtype=np.int64))),
        np.concatenate([np.zeros(0), *(scored[one] for one in places)]),
        tuple(seconds), timed, tuple(faults), places,
    )  # fmt: skip


def _fault(answer: np.ndarray, due: int) -> tuple[str, str] | None:
    """The code of what is wrong with scores, and what that is in words."""
    if answer.shape != (due,):
        code = "dropped-documents" if answer.size < due else "added-documents"
        return code, f"it returned {answer.size} scores for {due} documents"
    wrong = np.flatnonzero(~is_score(answer))
    if not len(wrong):
        return None
    return NOT_FINITE, f"it returned {answer[wrong[0]]} for document {wrong[0] + 1} of {due}"
