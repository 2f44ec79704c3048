"""The page of the worst case: how much worse than chance can an order within a budget be?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from shuffleproof.app import disturbed_lists, forms, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.study import (
    choice,
    job_panel,
    parts,
    query_comparison,
)
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.perturbed_queries import both_lists
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter, with_texts
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.worst_case import sections
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.kinds.worst_case.sections import steps
from shuffleproof.core.studies.result import StudyResult, in_words
from shuffleproof.core.studies.sections import Picture
from shuffleproof.core.words import counted, number


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, numbers, then queries."""
    shell.page(
        FORM,
        "Worst case",
        _study,
        missing="No search for the worst case is stored for {data} yet.",
        remedy="Choose rankers and a budget below and start one.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, disturbed_lists.short_words, disturbed_lists.words)
    artefact, key, recipe = top.artefact, str(top.artefact.key), top.artefact.recipe
    with top.controls:
        rankers = choice.rankers(disturbed_lists.rankers(recipe), top.notices, key)
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    measure, unit = str(recipe["measure"]), str(recipe["search"]["unit"])
    top.says(rankers=rankers)
    frame = study_access.compute(key, sections.table)
    table = sections.shown_table(frame[frame["ranker"].isin(rankers)], unit)
    shown = table.frame, measure, unit
    with top.picture:
        damages = cached_figure(figure.damages, *shown)
        chart(damages, CHART, take_point)
    with top.notes:
        _convention(artefact, measure)
    st.subheader("Random orders and the worst one found", anchor=False)
    data_frame(table, "numbers")
    _certificates(artefact, rankers)
    _queries(artefact, rankers)
    choice.export_row(artefact, damages, table)


def _convention(artefact: Artefact, measure: str) -> None:
    recipe = artefact.recipe
    parts.convention(
        Measure.parse(measure).convention(),
        f"N = {counted(artefact.facts['queries'], 'query')}",
        f"{counted(recipe['draws'], 'random order')} per budget",
        "95 % intervals over queries",
    )
    parts.note(
        f"Thick: the worst order that a {recipe['search']['method']} search found. Thin and "
        "dotted: the mean of random orders of the same budget. A search finds a bound from "
        "below: something worse may exist. Its measure cannot be changed afterwards, since it "
        "decided what was looked for."
    )


def _certificates(artefact: Artefact, rankers: Sequence[str]) -> None:
    """Which rankers need no search, and what was searched of the others."""
    facts, target = artefact.facts, disturbed_lists.TARGETS[artefact.recipe["target"]]
    place = st.expander("What was searched, and what is proven", icon=":material/verified:")
    for ranker in rankers:
        proof = facts["certificates"].get(ranker, {})
        effort = facts["effort"].get(ranker, {})
        if proof.get("proven"):
            deviation = number(proof["deviation"], ".1e") if proof["deviation"] else "0"
            words = (
                f"{ranker}: certified 0. It reads nothing of the {target}; "
                f"{proof['permutations']} lists were really permuted and scored, the largest "
                f"deviation was {deviation}."
            )
        else:
            words = (
                f"{ranker}: {effort.get('evaluated', 0):,} orders of single lists were scored in "
                f"{effort.get('seconds', 0.0):.1f} s."
            )
        parts.note(words, place)


FEW = 100
"""Queries that a first search takes; all take as much longer as there are more."""

FIELDS = ("unit", "method", "places", "width", "candidates")


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture | None, str]:
    """The curves that are there."""
    frame, recipe = sections.table(result), result.recipe
    facts = frame, str(recipe["measure"]), str(recipe["search"]["unit"])
    whole = frame.loc[frame["worst"].notna(), "ranker"].nunique()
    words = f"{whole} of {counted(len(recipe['rankers']), 'ranker')} searched."
    return Picture("worst case", facts) if len(frame) else None, words


def search_fields(_declared: Parameter, _now: Any) -> Any:
    """Draw the fields of the search; what differs from the usual one, or none."""
    changed = forms.recipe_form(Search(), "new", only=FIELDS, columns=2)
    if not changed:
        return None
    return lambda: {name: getattr(with_texts(Search(), changed), name) for name in changed}


FORM = Form(
    job_panel.Panel(WorstCase.kind, "search for the worst case", partial_picture),
    "Search for the worst case",
    "Run this search",
    rows=(("rankers",), ("budgets", "queries", "target")),
    from_shown=("budgets", "target"),
    usual=lambda _data: {"queries": FEW},
    widgets={"search": search_fields},
)


CHART, MAP = "damages", "swaps"
PLACES = (10, 20, 40)
"""How many of the first places take part in the map of single exchanges."""

QUERIES = (
    tables.Column("as_is", "As it is", tables.VALUE),
    tables.Column("random", "Random mean", tables.VALUE),
    tables.Column("worst", "Worst found", tables.VALUE),
    tables.Column("change", "Change", tables.CHANGE),
)


CHOSEN = chooses(point=str, at=int)


def take_point(facts: Sequence[Any]) -> None:
    """A click on the picture chooses its ranker and budget."""
    if facts[1]:
        CHOSEN(facts)


@st.fragment
def _queries(artefact: Artefact, rankers: tuple[str, ...]) -> None:
    """Draw the queries of a ranker and budget, and what can be done to one of them."""
    st.subheader("Queries behind a point", anchor=False)
    budgets = [int(budget) for budget in artefact.recipe["budgets"]]
    left, right = st.columns(2)
    ranker = choice.ranker(
        "Ranker", rankers, "point", place=left,
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    unit = artefact.recipe["search"]["unit"]
    budget = right.selectbox(
        f"Budget ({unit})", budgets, index=len(budgets) - 1, key="at", bind="query-params"
    )
    if ranker is not None:
        _behind(artefact, ranker, budgets[-1] if budget is None else int(budget))


def _behind(artefact: Artefact, ranker: str, budget: int) -> None:
    """The queries by damage, and the worst order of one."""
    unit = artefact.recipe["search"]["unit"]
    frame = study_access.compute(str(artefact.key), sections.queries, ranker, budget)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    who, measure = f"{steps(budget, unit)} at worst, {ranker}", str(artefact.recipe["measure"])
    parts.sentence(in_words(frame, who, measure, ("as_is", "worst")))
    alt = "Queries, the most damaged first; choose a row to see its worst order"
    query_comparison.rows(frame, QUERIES, alt, height=260)
    query_comparison.draw_slices(frame, measure)
    query = query_comparison.query(frame["query"], "Choose a row above, or a query here")
    if query is not None:
        _one_list(artefact, ranker, query, budget)


def _one_list(artefact: Artefact, ranker: str, query: str, budget: int) -> None:
    moves = query_comparison.rescore(
        lambda: disturbed_lists.worst_list(
            artefact, (ranker, budget), query, query_comparison.features()
        )
    )
    if moves is None:
        return
    what = f"{steps(budget, artefact.recipe['search']['unit'])} of the "
    what += disturbed_lists.TARGETS[artefact.recipe["target"]]
    both_lists(moves, ranker, f"Query {query}. Left: the worst order found within {what}.")
    _swaps(artefact, ranker, query, len(moves))


@st.fragment
def _swaps(artefact: Artefact, ranker: str, query: str, length: int) -> None:
    """What each single exchange costs this list; scored when it is asked for."""
    st.subheader("What each single exchange costs this query", anchor=False)
    options = sorted({min(places, length) for places in PLACES})
    places = st.segmented_control(
        "Among the first places", options, default=None, key="places", bind="query-params",
        help="n places are n · (n − 1) / 2 lists to score: 45, 190 and 780.",
    )  # fmt: skip
    if places is None:
        st.caption("Choose how many places take part; their exchanges are scored then.")
        return
    answer = query_comparison.rescore(
        lambda: disturbed_lists.swaps(artefact, ranker, query, int(places)),
        "Scoring every exchange …",
    )
    if answer is None:
        return
    measure = str(artefact.recipe["measure"])
    costs = np.array(answer["costs"], dtype=float)[: int(places), : int(places)]
    exchanges = figure.swaps(costs, answer["documents"], answer["labels"], measure)
    chart(exchanges, MAP, config={"displaylogo": False})
    parts.note(_dearest(costs, ranker, measure, invariant=answer["invariant"]))


def _dearest(costs: np.ndarray, ranker: str, measure: str, *, invariant: bool) -> str:
    """The map in a sentence."""
    if invariant:
        return f"{ranker} reads nothing of what is exchanged: every exchange costs 0."
    known = np.nan_to_num(costs)
    if known.max(initial=0.0) <= 0:
        return f"No single exchange costs {ranker} any {measure} here."
    row, column = np.unravel_index(int(known.argmax()), known.shape)
    share = float((known[np.triu_indices(len(known), 1)] > 0).mean())
    return (
        f"The dearest exchange is that of places {row + 1} and {column + 1}: it costs "
        f"{known.max():.3f} {measure}; {100 * share:.0f} % of the exchanges cost something. Dots "
        "at the edges are relevant documents; purple exchanges help."
    )
