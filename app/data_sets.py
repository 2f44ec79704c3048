"""Facts and findings of stored data sets, as frames for the page Data."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import services
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.core.data import advice, browse, examination
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.examination import Examination, FeatureFacts
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.mapped_file import PARTS
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted, number, percent

WORDS = {"train": "train", "valid": "validation", "test": "test"}
PART_OF = {word: part for part, word in WORDS.items()}
SAMPLED_QUERIES = 1000
"""Most queries that features rank for the page."""

AT_ONCE = 100_000_000
"""Bytes of the largest data set that is examined while the page waits."""


def examination_of(artefact: Artefact) -> Examination | None:
    """Examination of a data set; None if it has not been examined."""
    try:
        return _examined(str(artefact.facts["fingerprint"]))
    except LookupError:  # an error is not cached, unlike a returned None
        return None


@st.cache_resource(max_entries=16, show_spinner=False)
def _examined(fingerprint: str) -> Examination:
    examined = examination.find(fingerprint, services.store())
    if examined is None:
        raise LookupError(fingerprint)
    return examined


def draw_problems(data: str) -> None:
    """Draw the number of problems that the doctor found in a data set, with a link to them."""
    try:
        examined = examination_of(services.data_set(data))
    except ArtefactError:  # the data set is gone: the page shows the error
        return
    if examined is None:
        return
    found = [one for one in advice.merge_findings(examined.findings) if one.severity == "problem"]
    if found:
        label = f"The doctor found {counted(len(found), 'problem')} in {escaped(data)}"
        parts.link("data", label, "error")


def facts_in_words(examined: Examination) -> dict[str, str]:
    """Facts of a data set by name, for a table of two data sets."""
    labels, lengths = label_counts(examined), length_counts(examined)
    facts = {}
    for part in (WORDS[part] for part in PARTS):
        rows, lists = labels[labels["part"] == part], lengths[lengths["part"] == part]
        queries, documents = int(lists["queries"].sum()), int(rows["documents"].sum())
        relevant = int(rows.loc[rows["label"] > 0, "documents"].sum())
        facts[f"queries, {part}"] = f"{queries:,}"
        facts[f"documents of a query, {part}"] = number(
            documents / queries if queries else None, ".1f"
        )
        facts[f"relevant documents, {part}"] = percent(
            relevant / documents if documents else None, 1
        )
    facts["labels"] = ", ".join(f"{label:g}" for label in sorted(labels["label"].unique()))
    facts["features"] = f"{max(len(part.features) for part in examined.parts.values()):,}"
    grave = [one for one in advice.merge_findings(examined.findings) if one.severity != "info"]
    facts["problems and warnings"] = f"{len(grave)}"
    return facts


def label_counts(examined: Examination) -> pd.DataFrame:
    """Number of documents by part and label: columns part, label, documents."""
    rows = [
        (WORDS[part], label, documents)
        for part in PARTS
        for label, documents in examined.parts[part].labels
    ]
    return pd.DataFrame(rows, columns=["part", "label", "documents"])


def length_counts(examined: Examination) -> pd.DataFrame:
    """Number of queries by part and list length: columns part, documents, queries."""
    rows = [
        (WORDS[part], documents, queries)
        for part in PARTS
        for documents, queries in examined.parts[part].lengths
    ]
    return pd.DataFrame(rows, columns=["part", "documents", "queries"])


def feature_table(examined: Examination, part: str) -> pd.DataFrame:
    """One row per feature of a part, with the counts of its bins."""
    return pd.DataFrame(
        [
            {
                "feature": facts.feature,
                "marks": ", ".join(facts.marks),
                "values": list(facts.counts),
                "lowest": facts.low,
                "5 %": facts.quantiles[0],
                "median": facts.quantiles[2],
                "95 %": facts.quantiles[4],
                "highest": facts.high,
                "mean": facts.mean,
                "zeros": facts.zeros,
            }
            for facts in examined.parts[part].features
        ]
    )


def feature_bins(examined: Examination, feature: int) -> pd.DataFrame:
    """Bins of a feature in every part: columns part, low, high, share."""
    rows = []
    for part in PARTS:
        for facts in examined.parts[part].features:
            if facts.feature == feature:
                rows += [(WORDS[part], *bounds) for bounds in _bins(facts)]
    return pd.DataFrame(rows, columns=["part", "low", "high", "share"])


@st.cache_resource(max_entries=24, show_spinner="Ranking by each feature …")
def feature_quality(_dataset: RankingDataset, fingerprint: str) -> pd.DataFrame:  # noqa: ARG001 (the cache's key)
    """NDCG@10 of each feature alone as a ranker, high and low values first, by feature.

    Means over at most `SAMPLED_QUERIES` evenly spaced queries, without those that have no relevant
    document. Columns high, low and best.
    """
    chosen = _dataset
    if _dataset.queries > SAMPLED_QUERIES:
        # Evenly spaced, not random: files are often sorted, and the page shows the same numbers.
        places = np.linspace(0, _dataset.queries - 1, SAMPLED_QUERIES).astype(np.int64)
        chosen = _dataset.select(places)
    lists, measure = CandidateLists.all_documents(chosen), Measure.parse("NDCG(empty=skip)@10")
    columns = [np.ascontiguousarray(column) for column in chosen.features.T]
    means = [
        [mean_of(measure, evaluate([measure], chosen, lists, sign * column)[0]) for sign in (1, -1)]
        for column in columns
    ]
    frame = pd.DataFrame(means, index=list(chosen.feature_ids), columns=["high", "low"])
    return frame.assign(best=frame.max(axis=1))


def _bins(facts: FeatureFacts) -> list[tuple[float, float, float]]:
    total, number = max(sum(facts.counts), 1), len(facts.counts)
    step = facts.high / number - facts.low / number  # the difference may exceed the largest float
    return [
        (facts.low + step * place, facts.low + step * (place + 1), count / total)
        for place, count in enumerate(facts.counts)
    ]


@st.cache_resource(max_entries=12, show_spinner=False)
def query_frame(_dataset: RankingDataset, fingerprint: str) -> pd.DataFrame:  # noqa: ARG001 (the cache's key)
    """One row per query: query, documents, relevant, best label; the index is its position."""
    return browse.query_table(_dataset)


def document_frame(
    dataset: RankingDataset, rows: Sequence[int], features: Sequence[int] = ()
) -> pd.DataFrame:
    """One row per document: row, document, label, comment and the chosen features."""
    places = pd.Index(rows)
    frame = pd.DataFrame({"row": places + 1, "label": dataset.labels[places]})
    if dataset.doc_ids is not None:
        frame.insert(1, "document", [dataset.doc_ids[row] for row in rows])
    for feature in features:
        frame[f"f{dataset.feature_label(feature)}"] = dataset.feature(feature)[places]
    if dataset.comments is not None:
        frame["comment"] = [dataset.comments[row] for row in rows]
    return frame


def headline(name: str, examined: Examination) -> str:
    """Description of the data set, in one sentence."""
    parts = examined.parts.values()
    queries = sum(part.queries for part in parts)
    empty = queries - sum(part.relevant for part in parts)
    judged = "every query has a relevant one"
    if empty:
        verb = "has" if empty == 1 else "have"
        judged = f"{counted(empty, 'query')} ({percent(empty / queries)}) {verb} no relevant one"
    grades = sorted({label for part in parts for label, _ in part.labels})
    shown = ", ".join(f"{grade:g}" for grade in grades[:9]) + (" …" if len(grades) > 9 else "")
    longest = max((length for part in parts for length, _ in part.lengths), default=0)
    return (
        f"{name} holds {counted(queries, 'query')} with "
        f"{counted(sum(part.documents for part in parts), 'document')} of "
        f"{counted(len(examined.parts['train'].features), 'feature')}, labels {shown}; the "
        f"longest list has {counted(longest, 'document')}, and {judged}."
    )
