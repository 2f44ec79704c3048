"""Sections of a study of noisy queries: changes of each retriever under each noise."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.studies.kinds.query_noise.study import CLEAN
from shuffleproof.core.studies.listless import varied
from shuffleproof.core.studies.listless.retrievers import names
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Headline, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import listed, percent

COLUMNS = varied.columns_of(
    "Noise", "Share of words", "Change of the words of the query.",
    "Share of the query's words, as a probability; baseline: the query without noise.",
)  # fmt: skip


def headline(result: StudyResult, view: View) -> Headline:
    """The retriever that loses most, its noise, and the one that loses least."""
    frame = changes(result)
    return varied.headline(
        frame[frame["measure"] == view.measure(result)],
        lambda row: f"under {row['condition']} {percent(row['level'])}",
        "No retriever loses significantly under noise (p ≤ .05, Holm).",
    )


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    note = empty_queries(result)
    yield from varied.sections(result, changes(result), COLUMNS, view.measure(result), [note])


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """The command's answer in JSON."""
    return {"changes": records(changes(result))}


def _points(result: StudyResult) -> list[tuple[str, float]]:
    """Kinds of noise and levels, in the order asked for."""
    pairs = ((noise, level) for _, noise, level in result.points if noise != CLEAN)
    return list(dict.fromkeys(pairs))


def changes(result: StudyResult) -> pd.DataFrame:
    """Changes under every noise, as `varied.changes`."""
    return varied.changes(
        (
            (name, *point, measure),
            result.draws(name, CLEAN, 0.0, measure),
            result.draws(name, *point, measure),
        )
        for name in names(result)
        for point in _points(result)
        for measure in result.measures
    )


def empty_queries(result: StudyResult) -> str:
    """The share of queries without a word that the collection knows, by noise and level."""
    name = names(result)[0]
    shares = {
        f"{noise} {percent(level)}": float(np.mean(result.per_query(name, noise, level, "empty")))
        for noise, level in _points(result)
    }
    texts = [f"{percent(share, 1)} under {noise}" for noise, share in shares.items() if share]
    return f"Queries left without a known word: {listed(texts) if texts else 'none'}."
