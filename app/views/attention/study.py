"""The page Attention's second half: what every head looks at over the whole test part."""

import html
from dataclasses import asdict, dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import address, exports, study_access, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.figures.style import on_paper
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import DataDescription, List
from shuffleproof.app.study import choice as study_choice
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study_access import compute
from shuffleproof.app.views.attention.map import (
    MapLayout,
    Overview,
    View,
    WantedMap,
    documents_table,
)
from shuffleproof.core.answers.trained_rankers import TrainedRanker
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.attention import sections
from shuffleproof.core.studies.kinds.attention.one_list import list_command, list_python
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.reproduce import command_of
from shuffleproof.core.studies.sections import limits
from shuffleproof.core.studies.tables import Table, infer_columns
from shuffleproof.core.words import counted, duration

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


def section(data: DataDescription, query_list: List, ranker: TrainedRanker, seconds: float) -> None:
    """Draw what is stored of this ranker, or the offer to find it out; seconds are of a list."""
    st.subheader("Over the test queries")
    stored = {
        key: artefact
        for key, artefact in study_access.stored_studies(KIND, data.data).items()
        if ranker.digest in dict(artefact.recipe["rankers"]).values()
    }
    shown = study_choice.study_shown(stored)
    address.pin("study", *([] if shown is None else [str(shown.key)]))
    if shown is not None:
        newer = next(iter(stored.values()))
        if newer.key != shown.key:
            study_choice.newer_results(study_access.day(newer), str(newer.key))
        _stored(shown, ranker.digest)
        return
    lists, each = len(data.queries), max(seconds / 2, LEAST_SECONDS)
    name = as_asked(ranker)
    parts.finding("Not measured for this ranker yet.")
    job_panel.offer(
        PANEL,
        "Look at all test queries",
        f"{counted(lists, 'list')} at about {1000 * each:.0f} ms each, in the background: "
        f"{duration(lists * each + START_SECONDS)}.",
        {
            "data": data.data, "rankers": [name],
            "lists": training.lists_asked(data.data, query_list.recipe) or None,
        },
        lambda job: name in job.parameters["rankers"],
    )  # fmt: skip


def _stored(artefact: Artefact, digest: str) -> None:
    key = str(artefact.key)
    label = next(
        name for name, ranker_digest in artefact.recipe["rankers"] if ranker_digest == digest
    )
    frame = compute(key, sections.table)
    of_points = compute(key, sections.points, label)
    frame = frame[frame["ranker"] == label]
    parts.finding(compute(key, sections.finding, label))
    for limit in limits(artefact.facts):
        parts.note(limit)
    main = frame[frame["map"].isin(sections.MAIN)]
    if len(main) > 1:
        _drawn(main, of_points, label)
    parts.note(
        f"Means over {counted(artefact.facts['queries'], 'query')}; relevant mass: the "
        "share that documents with a label above 0 get; chance: the share that they are."
    )
    if place := parts.fold("Every head and every induced point", "every point"):
        heads = Table(frame, sections.COLUMNS, "Every head in numbers")
        data_frame(heads.without("ranker"), None, place)
        if len(of_points):
            each = Table(of_points, sections.POINTS, "Every induced point in numbers")
            data_frame(each, None, place)


def _drawn(main: pd.DataFrame, of_points: pd.DataFrame, label: str) -> None:
    options = {name: words for name, words in COLUMNS.items() if main[name].notna().any()}
    options |= {"dead": COLUMNS["dead"]} if len(of_points) else {}
    column = parts.segments("What is drawn", "numbers", options, label_visibility="collapsed")
    frame, words, what = main, COLUMNS[column], "head"
    if column == "dead":
        frame = of_points.rename(columns={"point": "head"})
        words, what = "dead share of queries and heads", "point"
    facts = frame, label, column, words, what
    alt = figure.dots_alt_text(*facts)
    chart(cached_figure(figure.dots, *facts), alt, "attention study", config=parts.PLAIN)
    if column == "dead":
        st.caption("How often an induced point gets next to none of the mass.")


METHODS = (
    "Weights are those that the scores were computed from, recorded on request. Rows say where a "
    "document looks; entropy and effective neighbours (its exponential) are means over rows; the "
    "mass on relevant documents is compared with the share of relevant documents. Before and after "
    "a change documents are matched by identity. Rollout: Abnar & Zuidema, ACL 2020. SetRank: Pang "
    "et al., SIGIR 2020. DLCM: Ai et al., SIGIR 2018."
)


@dataclass(frozen=True)
class ExportedView:
    """What the page shows: list, ranker, map, change and how it is looked at."""

    query_list: List
    ranker: TrainedRanker
    wanted: WantedMap
    change: str
    view: View


def row(
    exported: ExportedView, seen: Overview, drawn: go.Figure, map_: MapLayout, words: str
) -> None:
    """Draw the row of exports of this list."""
    query_list, stem = exported.query_list, f"attention-{exported.ranker.name}"
    caption = f"{query_list.data} · query {query_list.query} · {exported.ranker.label}"
    ranker_name = as_asked(exported.ranker)
    which = asdict(exported.wanted) | {"change": exported.change}
    facts = {"data": query_list.data, "lists": query_list.recipe.plain()}
    recipe = {
        "query": query_list.query,
        "ranker": exported.ranker.key,
        "map": asdict(exported.wanted),
        "change": exported.change,
        "view": asdict(exported.view),
    }
    parts.exports_row(
        parts.ExportContent(
            figures=lambda width, captioned: exports.figure_files(
                drawn, stem, width, caption * captioned
            ),
            tables=lambda: exports.table_files(infer_columns(cells_table(map_), stem), stem),
            recipe=exports.recipe_file(recipe, facts, stem),
            report=exports.File(
                "Report (HTML)", f"{stem}-report.html", lambda: report(exported, seen, drawn, words)
            ),
            link=lambda: parts.address_here(data=query_list.data),
            command=lambda: "\n".join(
                [
                    list_command(ranker_name, query_list.query, which, facts),
                    command_of(Attention((ranker_name,)), facts),
                ]
            ),
            python=lambda: list_python(ranker_name, query_list.query, which, facts),
        ),
        "attention",
    )


def cells_table(map_: MapLayout) -> pd.DataFrame:
    """The map as it is drawn, one row a cell."""
    cells = map_.cells
    names = pd.MultiIndex.from_product(
        [cells.rows.names, cells.columns.names], names=["row", "column"]
    )
    columns = {cells.what: cells.values.ravel()}
    if cells.after is not None:
        columns[f"{cells.what} after"] = cells.after.ravel()
    return pd.DataFrame(columns, index=names).reset_index()


def report(exported: ExportedView, seen: Overview, drawn: go.Figure, words: str) -> bytes:
    """One self-contained page: the sentence, the map, the documents, how it was done."""
    picture = on_paper(drawn).to_html(include_plotlyjs=True, full_html=False)
    documents = documents_table(seen, list(range(len(seen.documents))))
    title = html.escape(
        f"Attention of {exported.ranker.label}, "
        f"query {exported.query_list.query} of {exported.query_list.data}"
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        f"<title>{title}</title><body style='font:16px/1.5 system-ui;max-width:60rem;"
        f"margin:2rem auto;padding:0 1rem'><h1>{title}</h1>"
        f"<p><b>{html.escape(words)}</b></p>{picture}"
        f"{table_text.html(infer_columns(documents, ''))}"
        f"<h2>Methods</h2><p>{html.escape(METHODS)}</p></body></html>"
    ).encode()
