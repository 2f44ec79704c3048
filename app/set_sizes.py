"""Cached doors to stored studies of set size: every answer by the study's content key."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from shuffleproof.app import answering, services
from shuffleproof.app.opened import day, door, result
from shuffleproof.core.data import stored
from shuffleproof.core.data.catalogue import find
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.set_size import sections
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.set_size.sections import Sentences
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING
from shuffleproof.core.words import counted

Point = tuple[str, str, int]
"""A cell: ranker, N0 as text, N1."""

Side = tuple[str, int]
"""N0 as text, N1."""

KIND = SetSize.kind
CANDIDATES = (CEILING, INITIAL)
"""What the candidates alone do, before any ranker."""


def rankers(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a study was asked for, without the two curves of the candidates."""
    labels = dict.fromkeys(row["label"] for row in recipe["rows"])
    return [label for label in labels if label not in CANDIDATES]


def trained_on(recipe: Mapping[str, Any]) -> list[int]:
    """The sizes that rankers of a study were trained on, rising."""
    return sorted({int(row["size"]) for row in recipe["rows"] if row["size"] is not None})


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return f"{day(artefact)} · {counted(len(rankers(artefact.recipe)), 'ranker')}"


def words(artefact: Artefact) -> str:
    """A stored study in a line: which sizes, how often, on which lists."""
    recipe = artefact.recipe
    seeds = max((row["seeds"] for row in recipe["rows"]), default=1)
    own = ", ".join(map(str, trained_on(recipe))) or ANY
    tested = ", ".join(map(str, recipe["sizes"]))
    initial = ", ".join(artefact.facts["lists"]["initial"])
    return f"trained on {own} · tested on {tested} · {counted(seeds, 'seed')} · lists by {initial}"


def lengths(data: str) -> NDArray[np.int64]:
    """Documents of every test list of a data set, uncut.

    Raises:
        ShuffleproofError: there is no such data set, or it cannot be read.
    """
    named = services.store().names().get(data)
    return _lengths(data, str(services.store().root), str(named))


@st.cache_resource(max_entries=16, show_spinner=False)
def _lengths(data: str, root: str, named: str) -> NDArray[np.int64]:
    del root, named  # part of the memory's key alone
    place = find(data, services.store()).path
    try:
        return np.diff(stored.open_fold(place).test.offsets)
    except OSError as error:
        raise ArtefactError(data, f"cannot be opened ({error})", "Bring it in again.") from error


curves = door(sections.curves)
"""Every ranker at every N0 and N1."""


drops = door(sections.drops)
"""What every ranker loses between its smallest N0 and the largest N1, least first."""

claim = door(sections.claim)
"""Whether the paper's claim holds here; empty where its three rankers are not there."""


@st.cache_data(max_entries=64, show_spinner=False)
def sentences(key: str, measure: str) -> Sentences:
    """What the numbers amount to, in words."""
    return sections.claim_sentences(curves(key, measure), drops(key, measure), claim(key, measure))


queries = door(sections.queries)
"""What another size did to every query (ranker, N0, N1), and the N0 and N1 compared with."""

by_size = door(sections.by_size)
"""The change of every query at every N1, the most damaged first."""


def seeds(key: str, point: Point) -> list[int]:
    """The seeds that a ranker was trained with."""
    return [int(seed) for seed in _of(key, point)["draw"]]


def replayed(
    artefact: Artefact, pair: tuple[Point, Point], query: str, seed: int, columns: Sequence[int]
) -> pd.DataFrame:
    """One query as a study answered it at two of its cells, as a frame for the bump chart.

    Args:
        artefact: the study.
        pair: the cell, and the one that it is compared with; of the same ranker.
        query: its id.
        seed: of the rankers.
        columns: features to be shown.

    Raises:
        ShuffleproofError: the scoring process has no answer, or a ranker or the data set is gone.
    """
    key, recipe = str(artefact.key), artefact.recipe
    sides = [[answering.ranker_of(_of(key, point), seed), point[2]] for point in pair]
    question = {
        "recipe": artefact.facts["lists"], "digests": recipe["lists"], "query": query,
        "now": sides[0], "before": sides[1], "features": list(columns),
    }  # fmt: skip
    return answering.moves("sizes", question)


def _of(key: str, point: Point) -> pd.DataFrame:
    """The trials of one cell."""
    ranker, trained_on, size = point
    trials = result(key).trials
    own = (trials["ranker"] == ranker) & (trials["family"] == trained_on)
    return trials[own & (trials["level"] == size)]
