"""One query: what every perturbation does to every ranker's answer to it, level by level."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, captions, disturbed_lists, state, study_access
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.study import choice, parts, perturbed_queries, sample_result
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations

MAP, CELL = "one query", chooses(point=str, family=str)


def page() -> None:
    """Draw one query of a stored study of perturbations."""
    parts.header("One query", "What does each perturbation do to this query, ranker by ranker?")
    data = state.data()
    stored = study_access.stored_studies(Perturbations.kind, data)
    if stored:
        _study(stored)
        return
    with sample_result.draw_sample(Perturbations.kind):
        parts.not_yet(
            f"No study of perturbations is stored for {data} yet.",
            "Run one: it keeps the value of every query under every perturbation.",
        )
        parts.link(Perturbations.kind, "Perturbations")


@st.fragment
@parts.errors_shown()
def _study(stored: Mapping[str, Artefact]) -> None:
    notices = st.container()
    picture, controls = parts.top_row([5, 2])
    notes = st.container()
    with controls:
        artefact = choice.study(stored, disturbed_lists.short_words, disturbed_lists.words)
        key, recipe = str(artefact.key), artefact.recipe
        with notices:
            choice.note_unknown_measure(recipe)
        query, worst = _query(key, notices)
        rankers = choice.rankers(disturbed_lists.rankers(recipe), notices, key)
        steps = max(len(levels) for levels in disturbed_lists.families(recipe).values()) - 1
        step = st.slider(
            "Level",
            help="0: as it is. Each family goes through levels of its own, which count different "
            "things; the last step is the last level of each.",
            **address.slider("step", max(steps, 1), max(steps, 1), of=key),
        )  # fmt: skip
    with notes:
        reading = st.container()
        measure = str(choice.measure_line(recipe, f"query {query}"))
    frame = study_access.compute(key, sections.of_query, query, measure)
    frame = frame[frame["ranker"].isin(rankers)]
    cells = sections.at_step(frame, int(step) / max(steps, 1))
    with picture:
        parts.headline(sections.query_in_words(cells, query, measure))
    if len(cells):
        losses = cached_figure(
            figure.losses, cells, sections.families_by_heading(cells["family"]), measure
        )
        chart(losses, MAP, CELL, place=picture)
        main = study_access.result(key).measures[0]
        why = f"The query with the largest loss of {main} in a single draw of this study. "
        levels = ", ".join(sections.levels_in_words(cells))
        parts.note(
            f"{why if query == worst else ''}Change of {measure} of this query "
            f"alone, mean of the draws. Levels: {levels}. Click a cell for its list.",
            reading,
        )
    _list(artefact, query, measure, cells)


def _query(key: str, notices: DeltaGenerator) -> tuple[str, str]:
    """Draw the choice of the query; it, and the one that loses most anywhere, which is usual."""
    ids = [*map(str, study_access.result(key).query_ids)]
    missing = state.missing_option("query", ids)
    usual = study_access.compute(key, sections.most_changed)
    query = parts.select(
        "Query", "query", ids, usual,
        help="A query of the test part; type to search. Unless another is asked for, the worst: "
        "the one in which some ranker loses most in a draw of any perturbation.",
    )  # fmt: skip
    captions.draw_query_text(query)
    with notices:
        state.instead("query", missing, query)
    return query, usual


@st.fragment
def _list(artefact: Artefact, query: str, measure: str, cells: pd.DataFrame) -> None:
    """The list of one cell: what the ranker answered as it is, and disturbed."""
    if cells.empty:
        return
    st.subheader("The list behind a cell", anchor=False)
    left, middle, right = st.columns(3)
    families = [*dict.fromkeys(map(str, cells["family"]))]
    chosen = parts.select("Family", "family", families, families[0], place=left)
    levels = cells[cells["family"] == chosen].set_index("ranker")["level"]
    ranker = choice.ranker(
        "Ranker", [*map(str, levels.index)], "point", place=middle,
        placeholder="Click a cell, or choose",
    )  # fmt: skip
    if ranker is None:
        return
    point = ranker, chosen, float(levels[ranker])
    damaged = study_access.compute(str(artefact.key), sections.damage, *point, measure)
    if query in set(damaged["query"].astype(str)):
        perturbed_queries.one_list(artefact, point, damaged, query, right)
    else:
        st.caption("The measure leaves this query out.")
