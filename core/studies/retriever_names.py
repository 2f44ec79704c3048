"""What people call retrievers, in the tables and sentences of their studies."""

import pandas as pd

from shuffleproof.core.retrieval.name import parsed
from shuffleproof.core.retrieval.registry import RETRIEVERS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Column

RETRIEVER = Column("retriever", "Retriever")


def label(name: str) -> str:
    """What people call a retriever.

    >>> label("snrm@small"), label("gone")
    ('SNRM small', 'gone')
    """
    base, preset = parsed(name)
    return f"{RETRIEVERS[base].label} {preset}".strip() if base in RETRIEVERS else name


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with what people call the retrievers."""
    columns = [one for one in ("retriever", "first", "second") if one in frame]
    return frame.assign(**{one: frame[one].map(label) for one in columns})


def names(result: StudyResult) -> list[str]:
    """The retrievers that are there, in the order asked for."""
    return list(dict.fromkeys(map(str, result.trials["ranker"])))
