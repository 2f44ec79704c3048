"""What people call retrievers, in the tables and sentences of their studies."""

import pandas as pd

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.retrieval.registry import retriever_entry
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Column

RETRIEVER = Column("retriever", "Retriever")


def label(name: str) -> str:
    """What people call a retriever.

    >>> label("snrm@small"), label("gone")
    ('SNRM small', 'gone')
    """
    try:
        return retriever_entry(name).label
    except ShuffleproofError:
        return name  # of a program that knew another one


def sources(name: str) -> tuple[str, ...]:
    """Whom a retriever is from, and those that it is made of; nobody of an unknown one.

    >>> sources("interpolated:bm25+lsi")[0], sources("gone")
    ('Fox & Shaw, TREC 1994', ())
    """
    try:
        entry = retriever_entry(name)
    except ShuffleproofError:
        return ()
    return tuple(dict.fromkeys([entry.source, *(member.source for member in entry.members)]))


def with_display_names(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with what people call the retrievers."""
    columns = [column for column in ("retriever", "first", "second") if column in frame]
    return frame.assign(**{column: frame[column].map(label) for column in columns})


def names(result: StudyResult) -> list[str]:
    """The retrievers that are there, in the order asked for."""
    return list(dict.fromkeys(map(str, result.trials["ranker"])))
