"""Below the table: the comparison in numbers, mean ranks, the paper's rows."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import benchmarks
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import benchmark_ranks
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.benchmark import queries
from shuffleproof.app.views.benchmark.chosen import Chosen
from shuffleproof.core.studies.kinds.benchmark import sections as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark.published import in_words, warning
from shuffleproof.core.studies.kinds.benchmark.rows import REFERENCES
from shuffleproof.core.studies.kinds.benchmark.table import MEANS, comparison
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import p_value


def section(chosen: Chosen) -> None:
    """Draw everything between the table and what can be taken away."""
    _as_printed(chosen)
    _numbers(chosen)
    queries.section(chosen)
    _alike(chosen)
    place = parts.folded("Every number of the table", "every number")
    if place is not None:
        frame = benchmarks.means(chosen.key, chosen.columns)
        data_frame(Table(frame, MEANS, "Means by ranker and measure"), "numbers", place)


def _numbers(chosen: Chosen) -> None:
    st.subheader("Is it more than chance?")
    title = f"Differences of {chosen.measure} from {chosen.baseline} by ranker"
    compared = Table(chosen.compared, comparison(chosen.baseline), title)
    data_frame(compared.without("group"), "compared")
    parts.convention(
        escaped(chosen.measure.convention()), f"{chosen.test}, Holm over the rows",
        "d: Cohen's d of the differences",
    )  # fmt: skip


def _alike(chosen: Chosen) -> None:
    ranked = [label for label in chosen.labels if label not in REFERENCES]
    if len(ranked) < 2:
        return
    st.subheader("Who cannot be told apart?")
    found = benchmarks.ranks(chosen.key, str(chosen.measure))
    if not found.queries:
        st.caption("No mean rank is defined: queries have no relevant document.")
        return
    places = [(str(name), float(place)) for name, place in found.ranks.items()]
    st.plotly_chart(
        _ranks(places, found.cliques, found.difference),
        key="ranks",
        config=parts.PLAIN,
        alt=benchmark_ranks.alt_text(places, found.cliques),
    )
    seeded = max(benchmarks.seeds(chosen.artefact.recipe).values(), default=1) > 1
    over_seeds = ", each the mean over seeds" if seeded else ""
    st.caption(
        escaped(
            f"Mean ranks over {found.queries} queries ({chosen.measure}){over_seeds} · "
            f"a thick line joins rankers that differ by less than Nemenyi's critical "
            f"difference {found.difference:.2f} (α = .05) · Friedman's χ² = {found.statistic:.1f}, "
            f"{p_value(found.p_value)} · ranks say how often a ranker is ahead, not by how much"
        )
    )


@st.cache_resource(max_entries=128, show_spinner=False)
def _ranks(
    places: list[tuple[str, float]], cliques: tuple[tuple[str, ...], ...], difference: float
) -> Any:
    """The figure; shared between sessions and never changed."""
    return benchmark_ranks.ranks(places, cliques, difference)


def _as_printed(chosen: Chosen) -> None:
    """The paper's own rows: not measured here, and compared with nothing."""
    found: Any = benchmarks.printed(chosen.key)
    if found is None:
        return
    printed, frame = found
    st.subheader("As the paper printed it")
    st.markdown(
        "Printed, not measured: these rows take no part in ranks, marks or bold type. Small: what "
        "the same ranker reached here under the paper's convention."
    )
    st.table(_wide(frame))
    st.caption(
        escaped(
            f"{in_words(printed)} {warning(chosen.artefact.facts, chosen.columns)} Here: "
            f"{benchmark_notes.convention('NDCG')} · "
            f"{benchmarks.on_lists(chosen.artefact.facts)}."
        )
    )


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a printed ranker, a column a measure, ours small beside."""
    columns = list(dict.fromkeys(frame["measure"]))
    rows = {
        ranker: [_beside(one) for one in own.to_dict("records")]
        for ranker, own in frame.groupby("ranker", sort=False)
    }
    index = pd.Index([escaped(str(name)) for name in rows], name="As printed")
    return pd.DataFrame(rows.values(), columns=columns, index=index)


def _beside(one: Any) -> str:
    ours = "" if pd.isna(one["here"]) else f" :gray[:small[here {one['here']:.4f}]]"
    return f"{one['printed']:.4f}{ours}".replace("here ", "here\u00a0")
