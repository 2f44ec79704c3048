"""One list as each chosen ranker answered it: numbers and pictures, made once for all sessions."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import scoring
from shuffleproof.app.figures import bump, scatter
from shuffleproof.app.study.shown_list import Shown
from shuffleproof.core.studies.answers.one_list import Answer, moves
from shuffleproof.core.studies.answers.trained import TrainedRanker


@dataclass(frozen=True)
class Answered:
    """A ranker's answer to a list, ready to be shown.

    Attributes:
        ranker: who answered.
        answer: its scores before and now.
        moves: one row a document; see `core.studies.answers.one_list.moves`.
        bump: where documents are shown and answered.
        scatter: scores before and now.
    """

    ranker: TrainedRanker
    answer: Answer
    moves: pd.DataFrame
    bump: go.Figure
    scatter: go.Figure

    @property
    def label(self) -> str:
        """What the ranker is called on this page."""
        return self.ranker.label


def answered(
    one: scoring.List, rankers: Sequence[TrainedRanker], shown: Shown
) -> tuple[Answered, ...]:
    """What each ranker answered to a list as it is shown, beside what it answered before.

    Raises:
        ScoringError: the scoring process has no answer.
    """
    found = scoring.answers(one, tuple(rankers), shown.before, shown.now)
    ready = []
    for ranker, answer in zip(rankers, found, strict=True):
        frame = moves(shown.documents, shown.arranged_before, shown.arranged, answer)
        asked = f"{one!r} {ranker.key} {shown.before} {shown.now}"
        ready.append(
            Answered(
                ranker=ranker,
                answer=answer,
                moves=frame,
                bump=_bump(asked, ranker.label, shown.chosen, frame),
                scatter=_scatter(asked, ranker.label, frame),
            )
        )
    return tuple(ready)


@st.cache_resource(max_entries=128, show_spinner=False)
def _bump(asked: str, label: str, chosen: int | None, _frame: pd.DataFrame) -> go.Figure:
    """The figure by what was asked, which determines the frame; sessions share it, none writes."""
    del asked
    return bump.bump(_frame, label, chosen=chosen)


@st.cache_resource(max_entries=128, show_spinner=False)
def _scatter(asked: str, label: str, _frame: pd.DataFrame) -> go.Figure:
    del asked
    return scatter.scatter(_frame, label)
