"""The doctor's door for whoever names a ranker: functions and files that fail are examined too."""

from collections.abc import Generator

from shuffleproof.core.checks.doctor import Diagnosis, diagnose, unread
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import AnswerError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.studies.workbench import Workbench


def examine_ranker(
    bench: Workbench, name: str, lists: JudgedLists, seed: int = 0
) -> Generator[Progress, None, Diagnosis]:
    """Examine the ranker of a name on some test lists of a workbench; it is trained if need be.

    Args:
        bench: whose data set the ranker is of.
        name: as studies take it.
        lists: to examine it on.
        seed: of the orders that are tried.

    Raises:
        ShuffleproofError: no such ranker, or one that cannot be made.
    """
    named = RankerName.parse(name)
    if named.kind is Kind.FUNCTION:
        return (yield from diagnose(CallableRanker.from_name(name), lists, seed))
    if named.kind is Kind.FILE:
        try:
            ranker = file_ranker.file_ranker(name, bench.prepared.test.dataset)
        except AnswerError as error:
            return unread(error, len(lists.lists), name)
        return (yield from diagnose(ranker, lists, seed))
    identified = yield from bench.identified(name)
    return (yield from diagnose(identified.ranker, lists, seed))
