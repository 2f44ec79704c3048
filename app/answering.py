"""Two answers to one query of a study that trains, asked of the resident scoring process."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed, scoring, services, state
from shuffleproof.core.errors import UsageError
from shuffleproof.core.rankers.name import INITIAL

QUERY = "shuffleproof.core.studies.query_answers"


def ranker_of(trials: pd.DataFrame, seed: int) -> str:
    """The ranker that answered in a trial, by its artefact's key.

    Args:
        trials: of one ranker under one condition, a row a seed.
        seed: which of them; the first where there is no such seed.

    Raises:
        UsageError: one from outside, which is not stored and cannot be asked again.
    """
    own = trials[trials["draw"] == seed]
    row = (own if len(own) else trials).iloc[0]
    if row["ranker"] == INITIAL:
        return INITIAL
    if not row["artefacts"]:
        raise UsageError(
            f"{row['ranker']} was named by a file or function and is not stored, so it cannot be "
            "asked again here; bring it on the page Library, then run the study with it"
        )
    return str(row["artefacts"])


def moves(what: str, question: dict[str, Any]) -> pd.DataFrame:
    """Both answers as a bump chart takes them.

    Args:
        what: a function of `core.studies.query_answers`.
        question: all that it needs but the store and the data set in use.

    Raises:
        ShuffleproofError: the scoring process has no answer, or what is asked for is gone.
    """
    # the data set's name by now; the lists' digest says that it is the same set
    where = {"store": str(services.store().root), "data": state.data()}
    return disturbed.moves_of(_asked(what, where | question))


@st.cache_data(max_entries=256, show_spinner=False)
def _asked(what: str, question: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scoring.resident().ask(f"{QUERY}:{what}", question)
    return found
