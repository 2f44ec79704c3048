"""Files, link and Python lines that the page Attention exports of one list."""

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app import exports
from shuffleproof.app.figures.style import on_paper
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import List
from shuffleproof.app.study import parts
from shuffleproof.app.views.attention.map import (
    MapLayout,
    Overview,
    View,
    WantedMap,
    documents_table,
)
from shuffleproof.core.answers.trained_rankers import TrainedRanker
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.reproduce import changed_lists, opening_lines
from shuffleproof.core.studies.tables import infer_columns

METHODS = (
    "Weights are those that the scores were computed from, recorded on request. Rows say where a "
    "document looks; entropy and effective neighbours (its exponential) are means over rows; the "
    "mass on relevant documents is compared with the share of relevant documents. Before and after "
    "a change documents are matched by identity. Rollout: Abnar & Zuidema, ACL 2020. SetRank: Pang "
    "et al., SIGIR 2020. DLCM: Ai et al., SIGIR 2018."
)


@dataclass(frozen=True)
class ExportedView:
    """Choices of the page: list, ranker, map, change and view."""

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
            python=lambda: list_python(ranker_name, query_list.query, which, facts),
        ),
        "attention",
    )


def cells_table(map_: MapLayout) -> pd.DataFrame:
    """The drawn map, one row a cell."""
    cells = map_.cells
    names = pd.MultiIndex.from_product(
        [cells.rows.names, cells.columns.names], names=["row", "column"]
    )
    columns = {cells.what: cells.values.ravel()}
    if cells.after is not None:
        columns[f"{cells.what} after"] = cells.after.ravel()
    return pd.DataFrame(columns, index=names).reset_index()


def report(exported: ExportedView, seen: Overview, drawn: go.Figure, words: str) -> bytes:
    """One self-contained page: sentence, map, documents, methods."""
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


def list_python(ranker: str, query: str, which: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that print one map of one query, before and after a change.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map (from 0; None: the mean) and `change`.
        facts: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.
    """
    lines = ["import numpy as np", "", "from shuffleproof.core.data.lists import JudgedLists"]
    if changed_lists(facts):
        lines.append("from shuffleproof.core.rankers.initial import ListRecipe")
    lines += [
        "from shuffleproof.core.answers.attention import attention_after",
        "from shuffleproof.core.answers.list_edit import ListEdit",
        "from shuffleproof.core.progress import run_to_end",
        "from shuffleproof.core.studies.workbench import Workbench",
        "",
        f"workbench = {opening_lines(facts)}",
        f"ranker = run_to_end(workbench.train({ranker!r})).ranker",
        "test = workbench.prepared.test",
        f"query = test.dataset.query_ids.index({query!r})",
        "one = test.lists.select(np.flatnonzero(test.lists.queries == query))",
        "judged = JudgedLists(test.dataset, one)",
        f"for change in ('initial', {which['change']!r}):  # before and after the change",
        "    seen = attention_after(ranker, judged, ListEdit.parse(change))",
        f"    print(seen.record.map_of({which['kind']!r}, {which['block']!r}, {which['head']!r}))",
    ]
    return "\n".join(lines) + "\n"
