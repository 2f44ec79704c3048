"""The page Attention's second half: what every head looks at over the whole test part."""

import pandas as pd
import streamlit as st

from shuffleproof.app import address, jobs, services, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import attention_heads as figure
from shuffleproof.app.opened import day
from shuffleproof.app.plain import escaped
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import Described, List
from shuffleproof.app.study import choice as study_choice
from shuffleproof.app.study import job_panel, parts
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.answers.trained import TrainedRanker
from shuffleproof.core.studies.kinds.attention.sections import COLUMNS as HEADS
from shuffleproof.core.studies.kinds.attention.sections import MAIN, POINTS, finding, points, table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

KIND = "attention"
PANEL = job_panel.Panel(KIND, "look at all queries")
LEAST_SECONDS, START_SECONDS = 0.005, 5.0
"""Of one list, where it was answered from memory; of a process, its libraries and the data."""

COLUMNS = {
    "lift": "relevant mass ÷ chance",
    "relevant": "relevant mass",
    "neighbours": "effective neighbours",
    "entropy": "entropy in nats",
    "redundancy": "overlap of heads",
    "dead": "dead induced points",
}


def section(data: Described, one: List, ranker: TrainedRanker, seconds: float) -> None:
    """Draw what is stored of this ranker, or the offer to find it out.

    Args:
        data: the data set.
        one: the list that is shown, whose recipe the study takes.
        ranker: of the page.
        seconds: what one list took, for the estimate.
    """
    st.subheader("Over all test queries")
    stored = studied(data.data, ranker.digest)
    shown = study_choice.shown(stored)
    address.pin("study", *([] if shown is None else [str(shown.key)]))
    if shown is not None:
        newer = next(iter(stored.values()))
        if newer.key != shown.key:
            study_choice.newer_results(day(newer), str(newer.key))
        _found(shown, ranker.digest)
        return
    lists, each = len(data.queries), max(seconds / 2, LEAST_SECONDS)
    asked = as_asked(ranker, data.data)
    parts.finding("Not measured for this ranker yet.")
    job_panel.offer(
        PANEL,
        "Look at all test queries",
        f"{lists:,} lists at about {1000 * each:.0f} ms each, in the background: "
        f"{jobs.duration(lists * each + START_SECONDS)}.",
        {
            "data": data.data, "rankers": [asked],
            "lists": training.lists_asked(data.data, one.recipe) or None,
        },
        lambda job: asked in job.parameters["rankers"],
    )  # fmt: skip


def studied(data: str, digest: str) -> dict[str, Artefact]:
    """The stored studies of a ranker by key, newest first."""
    return {
        str(artefact.key): artefact
        for artefact in services.studies(KIND, data)
        if digest in {own for _, own in artefact.recipe["rankers"]}
    }


def _found(artefact: Artefact, digest: str) -> None:
    label = next(name for name, own in artefact.recipe["rankers"] if own == digest)
    said, frame, of_points = _read(str(artefact.key), label)
    parts.finding(said)
    main = frame[frame["map"].isin(MAIN)]
    if len(main) > 1:
        _drawn(main, of_points, label)
    st.caption(
        escaped(
            f"Means over {counted(artefact.facts['queries'], 'query')}; relevant mass: the "
            "share that documents with a label above 0 get; chance: the share that they are · "
            f"{artefact.key}"
        )
    )
    place = parts.folded("Every head and every induced point", "every point")
    if place is not None:
        heads = Table(frame, HEADS, "Every head in numbers")
        data_frame(heads.without("ranker"), None, place)
        if len(of_points):
            table = Table(of_points, POINTS, "Every induced point in numbers")
            data_frame(table, None, place)


def _drawn(main: pd.DataFrame, of_points: pd.DataFrame, label: str) -> None:
    options = [name for name in COLUMNS if main[name].notna().any()]
    options += ["dead"] if len(of_points) else []
    column = st.segmented_control(
        "What is drawn", options, default=options[0], key="numbers", bind="query-params",
        format_func=COLUMNS.__getitem__, label_visibility="collapsed", required=True,
    )  # fmt: skip
    words, frame, what = COLUMNS[str(column)], main, "head"
    if column == "dead":
        words, what = "dead share of queries and heads", "point"
        frame = of_points.rename(columns={"point": "head"})
    st.plotly_chart(
        figure.dots(frame, label, str(column), words, what),
        key="attention study",
        config={"displayModeBar": False},
        alt=figure.dots_alt_text(frame, label, str(column), words, what),
    )
    if column == "dead":
        st.caption("How often an induced point gets next to none of the mass.")


@st.cache_data(max_entries=64, show_spinner=False)
def _read(key: str, label: str) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    result = StudyResult.open(services.store().resolve(key, "study").path)
    frame = table(result)
    own = frame[frame["ranker"] == label].reset_index(drop=True)
    return finding(result, label), own, points(result, label)
