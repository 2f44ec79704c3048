"""The page of GSF's shuffles: how much the order shown changes it, and what more of them give."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import exports, groups, report, state
from app.figures import gsf as figure
from app.plain import escaped
from app.views import group_shuffles_run as run
from app.views import parts
from core.store.manifest import Artefact
from core.studies.command_groups import group_shuffles_command, group_shuffles_python
from core.studies.registry import STUDIES

QUESTION = STUDIES[groups.KIND].question
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
READING = (
    "The weights of a trained net are asked with groups from S shuffles of each list. Error: root "
    "mean square change of a document's score when its list is shown in another order, divided by "
    "the deviation of that list's scores under the most shuffles."
)


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, table."""
    data = state.data()
    parts.header("Group shuffles", QUESTION)
    stored = groups.stored(data)
    at_work = run.progress(data)
    if stored:
        _study(stored)
    elif not at_work:
        parts.not_yet(
            f"No study of GSF's shuffles on {data} is stored yet.",
            "Press the button below: a GSF is trained if need be, and asked with groups of more "
            "and more shuffles. Or on the command line:",
            f"shuffleproof study group-shuffles --data {data}",
        )
    run.form(data, next(iter(stored.values()), None), opened=not stored and not at_work)


def _study(stored: Mapping[str, Artefact]) -> None:
    no_study = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = stored[_key(stored)]
        labels = groups.rankers(artefact)
        no_ranker = state.absent("show", labels)
        shown = st.multiselect(
            "Rankers", labels, default=labels, key="show", bind="query-params", wrap=True
        )
    with notices:
        state.instead("study", no_study, groups.short_words(artefact))
        state.instead("ranker", no_ranker, *shown)
    if not shown:
        picture.info("Choose at least one ranker.")
        return
    key = str(artefact.key)
    frame = groups.table(key)
    frame = frame[frame["ranker"].isin(shown)]
    with picture:
        drawn = _picture(key, frame)
        for label in shown:
            parts.finding(groups.finding(key, label))
        parts.convention(READING, "95 % intervals over queries", "one training")
    _table(frame)
    _take_away(artefact, drawn, frame)


def _key(stored: Mapping[str, Artefact]) -> str:
    """The study chosen; its key always stands in the address."""
    wanted, keys = st.query_params.get("study", ""), list(stored)
    key = st.selectbox(
        "Study", keys, index=keys.index(wanted) if wanted in keys else 0,
        format_func=lambda key: groups.short_words(stored[key]),
        help="Stored studies of this data set, newest first.",
    )  # fmt: skip
    st.caption(escaped(groups.words(stored[key])))
    if wanted != key:
        st.query_params["study"] = key
    return str(key)


def _picture(key: str, frame: pd.DataFrame) -> Any:
    drawn = _drawn(frame, (key, *dict.fromkeys(frame["ranker"])))
    st.plotly_chart(drawn, key="error", alt=figure.alt_text(frame), config=CONFIG)
    return drawn


@st.cache_resource(max_entries=32, show_spinner=False)
def _drawn(_frame: pd.DataFrame, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: the study and the rankers shown
    return figure.equivariance(_frame)


def _table(frame: pd.DataFrame) -> None:
    st.subheader("Every way to form groups")
    number = st.column_config.NumberColumn
    st.dataframe(
        frame,
        hide_index=True,
        key="ways",
        placeholder="",
        column_config={
            "ranker": st.column_config.TextColumn("Ranker", pinned=True),
            "grouping": "Groups",
            "shuffles": number("S", help="Shuffles; 0: all pairs."),
            "error": number("Error", format="%.3g"),
            "low": number("from", format="%.3g", help="95 % interval over queries (BCa)."),
            "high": number("to", format="%.3g"),
            "tau": number("τ", format="%.3f", help="Kendall τ-b, ranking before and after."),
            "seconds": number("seconds", format="%.1f", help="Of scoring, on this machine."),
            "lists": number("Lists", help="Those whose scores differ."),
        },
        alt="Equivariance error of every ranker by the number of shuffles",
    )


def _take_away(artefact: Artefact, drawn: Any, frame: pd.DataFrame) -> None:
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    parts.exports_row(
        parts.Shared(
            figures=exports.figure_files(drawn, f"{key}-figure"),
            tables=exports.table_files(frame, f"{key}-table"),
            recipe=exports.recipe_file(recipe, facts, key),
            report=exports.File(
                "Report (HTML)",
                f"{key}.html",
                lambda: report.report([groups.path(key)]).encode(),
            ),
            link={name: st.query_params.get_all(name) for name in st.query_params}
            | {"data": [facts["data"]], "study": [key]},
            command=lambda: group_shuffles_command(recipe, facts),
            python=group_shuffles_python(recipe, facts),
        ),
        "take",
    )
