"""The page Attention's second half: what every head looks at over the whole test part."""

import html
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import address, exports, jobs, services, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.exports import File
from shuffleproof.app.figures import attention_heads as figure
from shuffleproof.app.figures.style import on_paper
from shuffleproof.app.opened import day
from shuffleproof.app.plain import escaped
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import Described, List
from shuffleproof.app.study import choice as study_choice
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.views.attention.map import Laid, Overview, View, Wanted, documents_table
from shuffleproof.core.answers.trained import TrainedRanker
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.attention.one_list import list_command, list_python
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.kinds.attention.sections import COLUMNS as HEADS
from shuffleproof.core.studies.kinds.attention.sections import MAIN, POINTS, finding, points, table
from shuffleproof.core.studies.reproduce import command_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Table, inferred
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


METHODS = (
    "Weights are those that the scores were computed from, recorded on request. Rows say where a "
    "document looks; entropy and effective neighbours (its exponential) are means over rows; the "
    "mass on relevant documents is compared with the share of relevant documents. Before and after "
    "a change documents are matched by identity. Rollout: Abnar & Zuidema, ACL 2020. SetRank: Pang "
    "et al., SIGIR 2020. DLCM: Ai et al., SIGIR 2018."
)


@dataclass(frozen=True)
class Exported:
    """What the page shows: list, ranker, map, change and how it is looked at."""

    one: List
    ranker: TrainedRanker
    wanted: Wanted
    change: str
    view: View

    @property
    def facts(self) -> dict[str, Any]:
        """What commands and recipes say of the data."""
        return {"data": self.one.data, "lists": asdict(self.one.recipe)}

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the picture, as plain values."""
        return {
            "query": self.one.query,
            "ranker": self.ranker.key,
            "map": asdict(self.wanted),
            "change": self.change,
            "view": asdict(self.view),
        }


def row(taken: Exported, seen: Overview, drawn: go.Figure, found: Laid, said: str) -> None:
    """Draw the row of exports of this list."""
    stem = f"attention-{taken.ranker.name}"
    frame = cells_table(found)
    asked = as_asked(taken.ranker, taken.one.data)
    which = asdict(taken.wanted) | {"change": taken.change}
    parts.exports_row(
        parts.Shared(
            figures=exports.figure_files(drawn, stem),
            tables=lambda: exports.table_files(inferred(frame, stem), stem),
            recipe=exports.recipe_file(taken.recipe(), taken.facts, stem),
            report=File(
                "Report (HTML)", f"{stem}-report.html", lambda: report(taken, seen, drawn, said)
            ),
            link=lambda: parts.here(data=taken.one.data),
            command=lambda: "\n".join(
                [
                    list_command(asked, taken.one.query, which, taken.facts),
                    command_of(Attention((asked,)), taken.facts),
                ]
            ),
            python=lambda: list_python(asked, taken.one.query, which, taken.facts),
        ),
        "attention",
    )


def cells_table(found: Laid) -> pd.DataFrame:
    """The map as it is drawn, one row a cell."""
    cells = found.cells
    rows, columns = cells.values.shape
    return pd.DataFrame(
        {
            "row": [name for name in cells.rows.names for _ in range(columns)],
            "column": list(cells.columns.names) * rows,
            cells.what: cells.values.ravel(),
        }
    )


def report(taken: Exported, seen: Overview, drawn: go.Figure, said: str) -> bytes:
    """One self-contained page: the sentence, the map, the documents, how it was done."""
    paper = on_paper(drawn)
    picture = paper.to_html(include_plotlyjs=True, full_html=False)
    table = documents_table(seen, list(range(len(seen.documents))))
    title = f"Attention of {taken.ranker.label}, query {taken.one.query} of {taken.one.data}"
    page = (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        f"<title>{html.escape(title)}</title><body style='font:16px/1.5 system-ui;max-width:60rem;"
        f"margin:2rem auto;padding:0 1rem'><h1>{html.escape(title)}</h1>"
        f"<p><b>{html.escape(said)}</b></p>{picture}"
        f"{table_text.html(inferred(table, ''))}"
        f"<h2>Methods</h2><p>{html.escape(METHODS)}</p></body></html>"
    )
    return page.encode()
