"""One query: effect of every perturbation on every ranker, level by level."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, captions, rescoring, state, study_access
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.study import choice, parts, per_query, sample_result
from shuffleproof.app.study.per_query import PerQuery
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.rankers.name import INITIAL, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations

QUERIES = PerQuery(per_query.unchanged_lists, rescoring.perturbed_scores)


def page() -> None:
    """Draw one query of a stored study of perturbations."""
    parts.header("One query", "How does each perturbation change this query?")
    data = state.data()
    stored = study_access.stored_studies(Perturbations.kind, data)
    if stored:
        _study(stored)
        return
    with sample_result.draw_sample(Perturbations.kind):
        parts.not_yet(
            f"No study of perturbations is stored for {data} yet.",
            "Run one to see every query under every perturbation.",
        )
        parts.link(Perturbations.kind, "Perturbations")


@st.fragment
@parts.errors_shown()
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored)
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        query, worst = _query(key, top.notices)
        labels = [INITIAL, *(label for label, _ in artefact.recipe["rankers"] if label != INITIAL)]
        rankers = choice.rankers(labels, top.notices, key)
        steps = max(map(len, rescoring.families(artefact.recipe).values())) - 1
        step = st.slider(
            "Level",
            help="0: unchanged. Levels differ by perturbation; the last step is the highest "
                 "level of each.",
            **address.slider("step", max(steps, 1), max(steps, 1), of=key),
        )  # fmt: skip
    with top.notes:
        measure = str(choice.measure_line(artefact.recipe, f"query {query}"))
    frame = study_access.compute(key, sections.of_query, query, measure)
    frame = frame[frame["ranker"].isin(rankers)]
    cells = sections.at_step(frame, int(step) / max(steps, 1))
    with top.answer:
        parts.headline(sections.query_in_words(cells, query, measure))
    if cells.empty:
        return
    groups = sections.families_by_heading(cells["family"])
    losses = cached_figure(figure.losses, cells, groups, measure)
    chart(losses, "one query", chooses(point=str, family=str), place=top.picture)
    main = study_access.result(key).measures[0]
    why = f"The query with the largest loss of {main} in a single draw of this study. "
    with top.notes:
        parts.note(
            f"{why if query == worst else ''}Change of {measure} of this query, mean of the draws. "
            f"Levels: {', '.join(sections.levels_in_words(cells))}. Click a cell for its list."
        )
    _list(artefact, query, measure, cells)


def _query(key: str, notices: DeltaGenerator) -> tuple[str, str]:
    """Draw the choice of the query; return it, and the default: the query with the largest loss."""
    ids = [*map(str, study_access.result(key).query_ids)]
    missing = state.missing_option("query", ids)
    usual = study_access.compute(key, sections.most_changed)
    query = parts.select(
        "Query", "query", ids, usual,
        help="Test queries; type to search. Default: the query with the largest loss.",
    )  # fmt: skip
    captions.draw_query_text(query)
    with notices:
        state.instead("test query", missing, query)
    return query, usual


@st.fragment
def _list(artefact: Artefact, query: str, measure: str, cells: pd.DataFrame) -> None:
    """Draw the list of one cell: the ranking without and with the perturbation."""
    st.subheader("List of a cell", anchor=False)
    left, middle, right = st.columns(3)
    families = [*dict.fromkeys(map(str, cells["family"]))]
    chosen = parts.select(
        "Perturbation", "family", families, families[0], place=left, format_func=with_display_names
    )
    levels = cells[cells["family"] == chosen].set_index("ranker")["level"]
    ranker = choice.ranker(
        "Ranker", [*map(str, levels.index)], "point", place=middle,
        placeholder="Click a cell, or choose",
    )  # fmt: skip
    if ranker is None:
        return
    point = ranker, chosen, float(levels[ranker])
    key = str(artefact.key)
    frame = study_access.compute(key, per_query.changes, QUERIES.before, point, measure)
    if query in set(frame["query"].astype(str)):
        per_query.one_list(artefact, QUERIES, point, (query, frame), right)
    else:
        st.caption("The measure leaves this query out.")
