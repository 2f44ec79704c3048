"""Lists of a study that the resident scoring process scores again, as frames for bump charts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services, state
from shuffleproof.core.answers.scoring import documents_moved
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.experiment.score_floor import of_scores
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact

TRAINED = "shuffleproof.core.studies.query_answers"
"""What answers for studies that train a ranker for each of their conditions."""

NUMBERS = ("shown", "answered", "shown_before", "answered_before", "score", "score_before")


def features() -> tuple[int, ...]:
    """The ids of the features of the data set in use; none where it cannot be asked."""
    try:
        return scoring.describe(state.data()).features
    except ShuffleproofError:
        return ()


def digest_of(artefact: Artefact, label: str) -> str:
    """The digest of a ranker of a study whose rankers were trained before it."""
    return INITIAL if label == INITIAL else str(dict(artefact.recipe["rankers"])[label])


def ranker_of(trials: pd.DataFrame, seed: int) -> str:
    """The ranker that answered in a trial, by its artefact's key.

    Args:
        trials: of one ranker under one condition, a row a seed.
        seed: which of them; the first where there is no such seed.

    Raises:
        UsageError: one from outside, which is not stored and cannot be asked again.
    """
    of_seed = trials[trials["draw"] == seed]
    row = (of_seed if len(of_seed) else trials).iloc[0]
    if row["ranker"] == INITIAL:
        return INITIAL
    if not row["artefacts"]:
        raise UsageError(
            f"{row['ranker']} was named by a file or function and is not stored, so it cannot be "
            "asked again here; bring it on the page Library, then run the study with it"
        )
    return str(row["artefacts"])


def answer(function: str, artefact: Artefact, query: str, **question: Any) -> dict[str, Any]:
    """What a function says of a query's list.

    Args:
        function: `module:name`, in the scoring process.
        artefact: the study.
        query: its id.
        question: what the function needs beside store, data set, lists and query.

    Raises:
        ShuffleproofError: the scoring process has no answer, or what is asked for is gone.
    """
    where = {
        "store": str(services.store().root),
        "data": state.data(),  # its name by now; the lists' digest says that it is the same set
        "recipe": artefact.facts["lists"],
        "query": query,
    }
    return _answer(function, where | question)


@st.cache_data(max_entries=512, show_spinner=False)
def _answer(function: str, question: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = scoring.resident().ask(function, question)
    return answer


def moves(function: str, artefact: Artefact, query: str, **question: Any) -> pd.DataFrame:
    """Both answers to a list with kind and scores; moved: passed another document. See `answer`."""
    return _moves(answer(function, artefact, query, **question))


def _moves(answer: Mapping[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame({name: answer[name] for name in ("document", "label", "kind", *NUMBERS)})
    frame = frame.astype(dict.fromkeys(NUMBERS, float))
    is_kept = (frame["kind"] == "kept").to_numpy()
    before, after = (
        frame.loc[is_kept, name].to_numpy(np.float32) for name in ("score_before", "score")
    )
    floor = of_scores(np.array([0, len(before)]), before).doubt
    moved = np.zeros(len(frame), dtype=bool)
    moved[is_kept] = documents_moved(before, after, floor)
    pairs = {
        f"feature {name}{when}": [pair[at] for pair in values]
        for name, values in answer["features"].items()
        for at, when in enumerate((" as it is", ""))
    }
    return frame.assign(moved=moved, **pairs)
