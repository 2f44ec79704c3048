"""What can be taken away from one list's attention, from the link to a report."""

import html
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app import exports
from shuffleproof.app.exports import File
from shuffleproof.app.figures.style import on_paper
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import List
from shuffleproof.app.study import parts
from shuffleproof.app.views.attention.answers import Overview, Wanted
from shuffleproof.app.views.attention.cell import documents_table
from shuffleproof.app.views.attention.map import Laid, View
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.answers.trained import TrainedRanker
from shuffleproof.core.studies.kinds.attention.one_list import list_command, list_python
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.reproduce import command_of
from shuffleproof.core.studies.tables import inferred

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
