"""The doctor for rankers by name; examines functions and files that fail too."""

from collections.abc import Generator

from shuffleproof.core.checks.doctor import Diagnosis, diagnose, unread
from shuffleproof.core.checks.ten_calls import examine_endpoint
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import AnswerError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.studies.workbench import Workbench


def examine_ranker(
    bench: Workbench, name: str, lists: JudgedLists, seed: int = 0
) -> Generator[Progress, None, Diagnosis]:
    """Examine the ranker of a name on some test lists of a workbench; it is trained if need be.

    Raises:
        ShuffleproofError: no such ranker, or one that cannot be made.
    """
    parsed = RankerName.parse(name)
    if parsed.kind is Kind.ENDPOINT:
        return (yield from examine_endpoint(name))
    try:
        identified = yield from bench.identified(parsed)
    except AnswerError as error:  # scores in a file
        return unread(error, len(lists.lists), name)
    return (yield from diagnose(identified.ranker, lists, seed))
