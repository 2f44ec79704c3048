"""Files, link and Python lines that the page Attention exports of one list."""

from dataclasses import asdict, dataclass

import pandas as pd

from shuffleproof.app import exports, slides
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.scoring import List
from shuffleproof.app.slides import Slide
from shuffleproof.app.study import parts
from shuffleproof.app.views.attention.map import MapLayout, View, WantedMap
from shuffleproof.core.answers.trained_rankers import TrainedRanker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.tables import infer_columns


@dataclass(frozen=True)
class ExportedView:
    """Choices of the page: list, ranker, map, change and view."""

    query_list: List
    ranker: TrainedRanker
    wanted: WantedMap
    change: str
    view: View


def row(exported: ExportedView, map_: MapLayout) -> None:
    """Draw the row of exports of this list."""
    query_list, stem = exported.query_list, f"attention-{exported.ranker.name}"
    caption = f"{query_list.data} · query {query_list.query} · {exported.ranker.label}"
    name = RankerName.of(exported.ranker.label).display
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
                figure.heat(map_.cells), stem, width, caption * captioned
            ),
            tables=lambda: exports.table_files(infer_columns(cells_table(map_), stem), stem),
            recipe=exports.recipe_file(recipe, facts, stem),
            link=lambda: parts.address_here(data=query_list.data),
            slide=lambda: slides.draw_button(
                lambda: Slide(f"Attention of {name}", caption, figure.heat(map_.cells)), "attention"
            ),
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
