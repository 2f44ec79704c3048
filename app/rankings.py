"""Cached doors to stored studies of initial rankings: every answer by the study's content key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import answering, proposals, services
from shuffleproof.app.opened import day, door, result
from shuffleproof.core.answers.trained import as_they_came
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.ordinal_geometry import OrdinalGeometry, geometries
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import TRAINED
from shuffleproof.core.studies.kinds.multi_ranking.sections import Sentences
from shuffleproof.core.words import counted

KIND = MultiRanking.kind


@dataclass(frozen=True)
class Learnt:
    """A trained ranker that reads initial rankings.

    Attributes:
        key: its artefact's key.
        label: what it is called on the page.
    """

    key: str
    label: str


def rankers(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a study was asked for, without the initial rankings by themselves."""
    labels = dict.fromkeys(row["label"] for row in recipe["rows"])
    return [label for label in labels if not is_by_itself(label)]


def is_by_itself(label: str) -> bool:
    """Whether a label is an initial ranking's that stands in the study by itself."""
    return RankerName.of(label).is_initial


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return f"{day(artefact)} · {counted(len(rankers(artefact.recipe)), 'ranker')}"


def words(artefact: Artefact) -> str:
    """A stored study in a line: trained on which rankings, what was put in their place."""
    trained_on = artefact.facts["lists"]["initial"]
    swaps = artefact.recipe["initial"][len(trained_on) :]
    seeds = max((row["seeds"] for row in artefact.recipe["rows"]), default=1)
    text = f"initial rankings: {', '.join(trained_on)}"
    text += f" · exchanged for: {', '.join(swaps)}" if swaps else ""
    depth = artefact.facts["lists"]["depth"]
    return f"{text} · top {depth or 'all'} · {counted(seeds, 'seed')}"


table = door(sections.table)
"""Every ranker under every condition."""

claim = door(sections.claim)
"""Whether the paper's claim holds here; None where its three rankers are not there."""


@st.cache_data(max_entries=64, show_spinner=False)
def sentences(key: str, measure: str) -> Sentences:
    """What the numbers amount to, in words."""
    return sections.claim_sentences(table(key, measure), claim(key, measure))


queries = door(sections.queries)
"""What a condition did to every query of a ranker."""

by_condition = door(sections.by_condition)
"""The change of every query under every condition, the most damaged first."""


def seeds(key: str, point: tuple[str, str]) -> list[int]:
    """The seeds that a ranker was trained with."""
    return [int(seed) for seed in _of(key, point)["draw"]]


def replayed(
    artefact: Artefact,
    point: tuple[str, str],
    query: str,
    seed: int,
    columns: Sequence[int],
) -> pd.DataFrame:
    """One query as a ranker answers it under a condition and as trained, for the bump chart.

    Args:
        artefact: the study.
        point: ranker and condition.
        query: its id.
        seed: of the ranker.
        columns: features to be shown.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker, the data set or a
            ranking that was put in another's place is gone.
    """
    recipe = artefact.recipe
    rows = [row for row in recipe["rows"] if (row["label"], row["condition"]) == point]
    trained = point[1] == TRAINED
    question = {
        "recipe": artefact.facts["lists"], "lists": recipe["lists"],
        "preset": artefact.facts["preset"], "initial": list(recipe["initial"]), "query": query,
        "ranker": answering.ranker_of(_of(str(artefact.key), point), seed), "before": None,
        "now": None if trained else list(rows[0]["columns"]), "features": list(columns),
    }  # fmt: skip
    return answering.moves("conditions", question)


def _of(key: str, point: tuple[str, str]) -> pd.DataFrame:
    """The trials of a ranker under a condition."""
    trials = result(key).trials
    return trials[(trials["ranker"] == point[0]) & (trials["family"] == point[1])]


def learnt(data: str, study: str | None) -> list[Learnt]:
    """The trained rankers that read initial rankings: those of the study first, each once."""
    found = _of_study(study) if study else {}
    for ranker in as_they_came(proposals.trained(data)):
        if rankings_of(ranker.name):
            found.setdefault(ranker.key, f"{ranker.label} {ranker.preset or ''}".strip())
    return [Learnt(key, label) for key, label in found.items()]


def _of_study(key: str) -> dict[str, str]:
    """The artefacts of a study's rankers with ordinal embeddings, by key; those still stored."""
    frame = result(key).trials
    seeds = frame.groupby("ranker")["draw"].nunique()
    there = {str(artefact.key) for artefact in services.artefacts("ranker")}
    found: dict[str, str] = {}
    for row in frame.to_dict("records"):
        reads = rankings_of(RankerName.of(str(row["ranker"])).base)
        if reads and row["artefacts"] in there:
            seed = f", seed {row['draw']}" if seeds[row["ranker"]] > 1 else ""
            found.setdefault(str(row["artefacts"]), f"{row['ranker']}{seed}")
    return found


@st.cache_data(max_entries=16, show_spinner=False)
def geometry(ranker: str, ranks: int) -> list[OrdinalGeometry]:
    """The geometry of every ordinal table of a trained ranker, by its key.

    Raises:
        DataError: it reads no initial ranking.
    """
    return geometries(services.store().resolve(ranker, "ranker").path, ranks)


@st.cache_data(max_entries=64, show_spinner=False)
def tables(ranker: str) -> list[str]:
    """What the initial rankings of a trained ranker are called, one a table."""
    made = services.store().resolve(ranker, "ranker").recipe.get("lists")
    return [str(name) for name in made["initial"]] if isinstance(made, Mapping) else []
