"""Cached doors to stored benchmarks: every answer by the study's content key."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import streamlit as st

from app import services
from core.data.catalogue import KIND as DATA
from core.data.dataset import Fold
from core.data.published import Published
from core.errors import ArtefactError, DataError
from core.store.manifest import Artefact
from core.studies import (
    benchmark,
    benchmark_finding,
    benchmark_printed,
    benchmark_query,
    benchmark_ranks,
    benchmark_runs,
    benchmark_table,
    benchmark_text,
)
from core.studies.benchmark_ranks import CriticalDifference
from core.studies.benchmark_text import Cell
from core.studies.result import StudyResult

KIND = benchmark.KIND
OF_FOLDS = re.compile(r"(?P<stem>.+)-fold\d+")


def stored(data: str) -> dict[str, Artefact]:
    """The stored benchmarks with a fold that is this data set, by key, newest first."""
    try:
        fingerprint = services.data_set(data).facts.get("fingerprint")
    except ArtefactError:  # deleted: its benchmarks are still known by its name
        fingerprint = None
    return _stored(data, fingerprint, _now())


@st.cache_data(max_entries=64, show_spinner=False)
def _stored(data: str, fingerprint: str | None, now: tuple[tuple[str, int], ...]) -> Any:
    """Manifests are read again only when something was stored or removed."""
    del now  # part of the memory's key alone
    found = [one for one in services.store().artefacts("study") if one.recipe["kind"] == KIND]
    own = [
        one
        for one in found
        if fingerprint in one.facts["fingerprints"] or one.facts["data"] in {data, stem(data)}
    ]
    own.sort(key=lambda one: one.created, reverse=True)
    return {str(one.key): one for one in own}


def _now() -> tuple[tuple[str, int], ...]:
    """What changes whenever something is stored or removed."""
    places = [root / "artefacts" for root in (services.store().root, *services.store().bundled)]
    return tuple((str(at), at.stat().st_mtime_ns if at.is_dir() else 0) for at in places)


def stem(data: str) -> str:
    """The name under which all folds of a data set are run; its own name where it is no fold.

    >>> stem("mq2008-fold3"), stem("sample")
    ('mq2008', 'sample')
    """
    found = OF_FOLDS.fullmatch(data)
    return found["stem"] if found else data


def rankers(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a benchmark was asked for, without the references."""
    labels = [row["label"] for row in recipe["rows"]]
    return [label for label in labels if label not in benchmark.REFERENCES]


def short_words(artefact: Artefact) -> str:
    """What tells a stored benchmark from others in a narrow place."""
    day = datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
    count = len(rankers(artefact.recipe))
    return f"{day} · {count} ranker{'s' if count != 1 else ''}"


def words(artefact: Artefact) -> str:
    """A stored benchmark in a line: which rankers, how often, on which lists."""
    seeds = max((row["seeds"] for row in artefact.recipe["rows"]), default=1)
    folds = len(artefact.recipe["folds"])
    parts = [", ".join(rankers(artefact.recipe)), f"{seeds} seed{'s' if seeds != 1 else ''}"]
    parts += [f"{folds} folds"] if folds > 1 else []
    lists = artefact.facts["lists"]
    return " · ".join([*parts, f"on {', '.join(lists['initial'])}, top {lists['depth'] or 'all'}"])


@st.cache_resource(max_entries=4, show_spinner=False)
def result(key: str) -> StudyResult:
    """A stored benchmark, opened; shared between sessions and never changed."""
    return StudyResult.open(path(key))


def path(key: str) -> Path:
    """Where a stored benchmark lies."""
    return Path(services.store().resolve(key, "study").path)


def labels(key: str) -> list[str]:
    """All rows in the table's order."""
    return benchmark_table.rankers_of(result(key))


@st.cache_data(max_entries=128, show_spinner=False)
def cells(
    key: str, measures: tuple[str, ...], baselines: tuple[str, ...], test: str
) -> dict[tuple[str, str], Cell]:
    """The table as it is printed."""
    return benchmark_text.cells(result(key), measures, baselines, test)


@st.cache_data(max_entries=128, show_spinner=False)
def means(key: str, measures: tuple[str, ...]) -> pd.DataFrame:
    """The table as numbers, a row a ranker and measure."""
    return benchmark_table.means(result(key), measures)


@st.cache_data(max_entries=128, show_spinner=False)
def compared(key: str, measure: str, baseline: str, test: str) -> pd.DataFrame:
    """Every ranker against one."""
    return benchmark_table.compared(result(key), measure, baseline, test)


@st.cache_data(max_entries=64, show_spinner=False)
def deltas(key: str, pair: tuple[str, str], measure: str) -> pd.DataFrame:
    """A ranker's difference from another for every query."""
    return benchmark_table.deltas(result(key), pair[0], pair[1], measure)


@st.cache_data(max_entries=64, show_spinner=False)
def ranks(key: str, measure: str) -> CriticalDifference:
    """Which rankers cannot be told apart by their ranks."""
    return benchmark_ranks.critical_difference(result(key), measure)


@st.cache_data(max_entries=128, show_spinner=False)
def finding(key: str, measure: str, test: str) -> str:
    """What the numbers amount to, in words."""
    return benchmark_finding.finding(result(key), measure, test)


@st.cache_data(max_entries=16, show_spinner=False)
def printed(key: str) -> tuple[Published, pd.DataFrame] | None:
    """The paper's rows beside ours, where the paper has this collection."""
    found = benchmark_printed.printed_for(result(key).facts)
    return None if found is None else (found, benchmark_printed.beside(result(key), found))


@st.cache_data(max_entries=64, show_spinner=False)
def answers(key: str, query: tuple[str, str], pair: tuple[str, str], seed: int) -> pd.DataFrame:
    """One query (id, fold) as two rankers answered it, from the stored scores.

    Raises:
        DataError: the fold's data is not stored any more.
    """
    opened = result(key)
    place = benchmark_query.place_of(opened, *query)
    fold = fold_of(str(opened.facts["fingerprints"][place.fold]), query[1])
    return benchmark_query.answers(path(key), fold.test, place, pair, seed)


def fold_of(fingerprint: str, name: str) -> Fold:
    """The stored data set with this content.

    Raises:
        DataError: there is none any more.
    """
    if services.data_set("sample").facts.get("fingerprint") == fingerprint:
        return services.fold(services.sample_key())
    for artefact in services.store().artefacts(DATA):
        if artefact.facts.get("fingerprint") == fingerprint:
            return services.fold(str(artefact.key))
    raise DataError(name, "this data set is not stored any more", "Read its files again.")


def runs(key: str) -> bytes:
    """The rows as TREC runs with the judgments, as the bytes of a zip.

    Raises:
        DataError: a fold's data is not stored any more.
    """
    folds = benchmark_runs.made_on(result(key).facts, services.store())
    with TemporaryDirectory() as room:
        out = Path(room) / "runs.zip"
        benchmark_runs.write(path(key), folds, out)
        return out.read_bytes()
