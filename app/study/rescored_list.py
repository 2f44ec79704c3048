"""One list scored again: asking for it, both answers as a bump chart, its documents in numbers."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pandas as pd
import streamlit as st

from shuffleproof.app import captions, rescoring
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import bump
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.core.answers.one_list import fell_most
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies import tables

BUMP, FEATURES = "bump", "features"
Value = TypeVar("Value")


def rescore(ask: Callable[[], Value], words: str = "Scoring the list again …") -> Value | None:
    """What the scoring process answers; None, and a notice, where it has no answer.

    Args:
        ask: asks it.
        words: what stands on the page meanwhile.
    """
    try:
        with st.spinner(words, show_time=True):
            return ask()
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return None


def features() -> tuple[int, ...]:
    """The features that the table of a list's documents shows."""
    return tuple(int(name) for name in st.session_state.get(FEATURES, ()))


def chart(moves: pd.DataFrame, ranker: str, heads: Sequence[str] = bump.HEADS) -> None:
    """Draw both answers as a bump chart, above it in words which document fell most.

    Args:
        moves: as `app.figures.bump` takes them.
        ranker: who answered.
        heads: what stands over the three columns.
    """
    moves = captions.titles(moves)
    if fallen := fell_most(moves):
        st.markdown(escaped_sentence(fallen))
    st.plotly_chart(
        bump.bump(moves, ranker, heads=heads), key=BUMP, config=parts.PLAIN,
        alt=bump.alt_text(moves, ranker),
    )  # fmt: skip


DOCUMENT = (
    tables.Column("document", "Document"),
    tables.Column("label", "Label", tables.LEVEL),
    tables.Column("moved", "Moved", tables.FLAG, "Passed another document."),
)
"""Columns of every table of documents."""


def documents(moves: pd.DataFrame, columns: Sequence[tables.Column], of: str, alt: str) -> None:
    """Draw the documents of a list in numbers, folded up.

    Args:
        moves: a row a document.
        columns: how columns are drawn that are called otherwise on other pages.
        of: what the features chosen are those of.
        alt: the table in words.
    """
    place = parts.fold("Documents, labels, scores and features of this list", "documents opened")
    if place is None:
        return
    with place:
        st.multiselect(
            "Features", rescoring.features(), key=FEATURES, wrap=True, placeholder="none", help=of
        )
        known = (*DOCUMENT, tables.Column("kind", "In", help="kept: in both lists"), *columns)
        data_frame(tables.infer_columns(moves, alt, known), "documents")
