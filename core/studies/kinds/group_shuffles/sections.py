"""A study of GSF's shuffles, told: the picture, a sentence a ranker, the table."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.studies.kinds.group_shuffles import table as group_shuffles_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

TITLE = "Equivariance error of every ranker by the number of shuffles"


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = group_shuffles_table.table(result)
    yield Picture("group shuffles", (frame,))
    for sentence in _findings(result).values():
        yield Finding(sentence)
    yield Convention(reading(group_shuffles_table.reference(result)))
    yield Table(frame, group_shuffles_table.COLUMNS, TITLE)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "table": records(group_shuffles_table.table(result)),
        "said": reading(group_shuffles_table.reference(result)),
        "findings": _findings(result),
    }


def _findings(result: StudyResult) -> dict[str, str]:
    names = dict.fromkeys(map(str, result.trials["ranker"]))
    return {name: group_shuffles_table.finding(result, name) for name in names}


def reading(reference: int) -> str:
    """What the error is, in words."""
    return (
        "The weights of a trained net are asked with groups from S shuffles of each list. Error: "
        "root mean square change of a document's score when its list is shown in another order, "
        "divided by the deviation of that list's scores under "
        f"{counted(reference, 'shuffle')}."
    )
