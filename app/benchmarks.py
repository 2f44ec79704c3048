"""Cached access to stored benchmarks, by the study's content key."""

import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import services
from shuffleproof.app.study_access import path, result
from shuffleproof.core.data.catalogue import KIND as DATA
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.store.arrival import Arrival
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark import query as benchmark_query
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.methods import rankers_of

KIND = benchmark.KIND
OF_FOLDS = re.compile(r"(?P<stem>.+)-fold\d+")


@services.until_stored()
def stored_benchmarks(data: str) -> dict[str, Artefact]:
    """Stored benchmarks with this data set among their folds, by key, newest first."""
    try:
        fingerprint = services.data_set(data).facts.get("fingerprint")
    except ArtefactError:  # the data set is deleted; its benchmarks still have its name
        fingerprint = None
    studies = services.store().artefacts("study")
    of_kind = [one for one in studies if one.recipe["kind"] == KIND and not is_of_runs(one.recipe)]
    of_data = [
        one
        for one in of_kind
        if fingerprint in one.facts["fingerprints"] or one.facts["data"] in {data, stem(data)}
    ]
    of_data.sort(key=lambda one: (bool(rankers_of(one.recipe)), one.created), reverse=True)
    return {str(one.key): one for one in of_data}


def shown_first(one: Artefact) -> tuple[bool, bool, Arrival]:
    """Sort key of benchmarks, least first: no comparisons of runs, then by arrival.

    Benchmarks without a ranker, from earlier versions, come last.
    """
    return is_of_runs(one.recipe), not rankers_of(one.recipe), services.arrival_order(one)


@services.until_stored()
def of_runs() -> dict[str, Artefact]:
    """Stored comparisons of runs from files, which have no data set, newest first."""
    comparisons = [one for one in services.store().artefacts("study") if is_of_runs(one.recipe)]
    comparisons.sort(key=lambda one: one.created, reverse=True)
    return {str(one.key): one for one in comparisons}


def stem(data: str) -> str:
    """Common name of all folds of a data set; its own name if it is not a fold.

    >>> stem("mq2008-fold3"), stem("sample")
    ('mq2008', 'sample')
    """
    fold = OF_FOLDS.fullmatch(data)
    return fold["stem"] if fold else data


def seeds(recipe: Mapping[str, Any]) -> dict[str, int]:
    """Planned number of seeds by row."""
    if is_of_runs(recipe):
        return dict.fromkeys(recipe["runs"], 1)
    return {row["label"]: int(row["seeds"]) for row in recipe["rows"]}


def labels(key: str) -> list[str]:
    """All rows in the table's order."""
    return benchmark_table.rankers_of(result(key))


@st.cache_data(max_entries=64, show_spinner=False)
def answers(
    key: str, query: tuple[str, str], pair: tuple[str, str], seed: int, columns: tuple[int, ...]
) -> pd.DataFrame:
    """Rankings of one query (id, fold) by two rankers, from stored scores.

    Args:
        key: key of the benchmark.
        query: id and fold of the query.
        pair: the two rankers.
        seed: seed of rankers with several.
        columns: ids of features to add as columns.

    Raises:
        DataError: the data of the fold is no longer stored.
    """
    benchmark_result = result(key)
    place = benchmark_query.place_of(benchmark_result, *query)
    if is_of_runs(benchmark_result.recipe):
        return benchmark_query.retrieved_documents(path(key), place, pair)
    fold = fold_of(str(benchmark_result.facts["fingerprints"][place.fold]), query[1])
    return benchmark_query.answers(path(key), fold.test, place, pair, seed=seed, features=columns)


@st.cache_data(max_entries=16, show_spinner=False)
def features(key: str, fold: str) -> list[int]:
    """Ids of the features of a fold's documents; none if it is no longer stored."""
    facts = result(key).facts
    names = [one["name"] for one in facts["folds"]]
    if not facts["fingerprints"]:
        return []
    try:
        opened = fold_of(str(facts["fingerprints"][names.index(fold)]), fold)
    except DataError:
        return []
    return [int(feature) for feature in opened.test.feature_ids]


def fold_of(fingerprint: str, name: str) -> Fold:
    """Stored data set with this fingerprint.

    Raises:
        DataError: it is no longer stored.
    """
    if services.data_set("sample").facts.get("fingerprint") == fingerprint:
        return services.fold(str(services.data_set("sample").key))
    for artefact in services.store().artefacts(DATA):
        if artefact.facts.get("fingerprint") == fingerprint:
            return services.fold(str(artefact.key))
    raise DataError(name, "this data set is no longer stored", "Import its files again.")


def runs(key: str) -> bytes:
    """Rows as TREC runs with the judgments, as the bytes of a zip.

    Raises:
        DataError: the data of a fold is no longer stored.
    """
    folds = benchmark_query.made_on(result(key).facts, services.store())
    with TemporaryDirectory() as room:
        out = Path(room) / "runs.zip"
        benchmark_query.write(path(key), folds, out)
        return out.read_bytes()
