"""The page of the worst case: how much worse than chance can an order within a budget be?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed, forms, services
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts, query_comparison, rescored_list, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.study.perturbed_queries import both_lists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter, parsed
from shuffleproof.core.perturb.worst_case import Search
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.worst_case import sections
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.kinds.worst_case.sections import finding, steps, told
from shuffleproof.core.studies.result import in_words
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, number


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        rankers: in the study's order.
    """

    artefact: Artefact
    rankers: tuple[str, ...]

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @property
    def measure(self) -> str:
        """What was hurt; a search has no other."""
        return str(self.artefact.recipe["measure"])

    @property
    def unit(self) -> str:
        """What the budget counts."""
        return str(self.artefact.recipe["search"]["unit"])

    @cached_property
    def table(self) -> Table:
        """A row a ranker and budget."""
        frame = disturbed.worst(self.key)
        return told(frame[frame["ranker"].isin(self.rankers)], self.unit)


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
    top = choice.top(stored, disturbed.short_words, disturbed.words)
    artefact = top.artefact
    with top.controls:
        labels = disturbed.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    chosen = Chosen(artefact, rankers)
    with top.picture:
        drawn = _picture(chosen)
        parts.finding(finding(chosen.table.frame, chosen.measure, chosen.unit))
        _convention(chosen)
    st.subheader("Random mean against worst found", anchor=False)
    data_frame(chosen.table, "numbers")
    _certificates(chosen)
    _queries(artefact, rankers)
    choice.export_row(artefact, drawn, chosen.table)


def _picture(chosen: Chosen) -> Any:
    drawn = _drawn(chosen, (chosen.key, chosen.rankers))
    words = figure.alt_text(chosen.table.frame, chosen.measure, chosen.unit)
    st.plotly_chart(
        drawn, key=CHART, on_select=take_point, selection_mode="points", alt=words,
        config=parts.CLICKABLE,
    )  # fmt: skip
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.damages(_chosen.table.frame, _chosen.measure, _chosen.unit)


def _convention(chosen: Chosen) -> None:
    recipe, facts = chosen.artefact.recipe, chosen.artefact.facts
    parts.convention(
        Measure.parse(chosen.measure).convention(),
        f"N = {counted(facts['queries'], 'query')}",
        f"{counted(recipe['draws'], 'random order')} a budget",
        "95 % intervals over queries",
    )
    st.caption(
        escaped(
            f"Strong: the worst order that a {recipe['search']['method']} search found. Thin and "
            "dotted: the mean of random orders of the same budget. A search finds a bound from "
            "below: something worse may exist. Its measure cannot be changed afterwards, since it "
            "decided what was looked for."
        )
    )


def _certificates(chosen: Chosen) -> None:
    """Which rankers need no search, and what was searched of the others."""
    facts = chosen.artefact.facts
    place = st.expander("What was searched, and what is proven", icon=":material/verified:")
    for ranker in chosen.rankers:
        proof = facts["certificates"].get(ranker, {})
        effort = facts["effort"].get(ranker, {})
        if proof.get("proven"):
            said = (
                f"{ranker}: certified 0. It reads nothing of the "
                f"{disturbed.TARGETS[chosen.artefact.recipe['target']]}; "
                f"{proof['permutations']} lists were really permuted and scored, the largest "
                f"deviation was {_tiny(proof['deviation'])}."
            )
        else:
            said = (
                f"{ranker}: {effort.get('evaluated', 0):,} orders of single lists were scored in "
                f"{effort.get('seconds', 0.0):.1f} s."
            )
        place.caption(escaped(said))


def _tiny(deviation: float) -> str:
    return number(deviation, ".1e") if deviation else "0"


FEW = 100
"""Queries that a first search takes; all take as much longer as there are more."""

FIELDS = ("unit", "method", "places", "width", "candidates", "chains", "rounds", "hot", "cold")


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    frame = sections.table(result)
    measure, unit = str(found.recipe["measure"]), str(found.recipe["search"]["unit"])
    if len(frame):
        st.plotly_chart(
            figure.damages(frame, measure, unit), key="first results",
            alt=figure.alt_text(frame, measure, unit),
        )  # fmt: skip
    whole = len(set(frame[frame["worst"].notna()]["ranker"]))
    all_ = counted(len(found.recipe["rankers"]), "ranker")
    st.caption(f"First results: {whole} of {all_} searched.")


def searched(_declared: Parameter, _now: Any) -> Any:
    """Draw the fields of the search; what differs from the usual one, or none."""
    changed = forms.drawn(Search(), "new", only=FIELDS, columns=2)
    return (lambda: _read(changed)) if changed else None


def _read(changed: Mapping[str, str]) -> dict[str, Any]:
    search = parsed(Search(), changed)
    return {name: getattr(search, name) for name in changed}


def cost(asked: Asked) -> str:
    """What the button will cost: orders to be scored at most, and seconds by the search shown."""
    question, shown = asked.question, asked.shown
    queries = question.queries or (shown.facts["queries"] if shown else None)
    each = orders(Search(**(question.search or {})), max(question.budgets))
    each += question.draws * len(question.budgets)
    of = counted(queries, "query") if queries else "each query"
    text = f"At most **{each:,} orders** of {of} for each ranker that reads them"
    paces = _paces(shown) if shown else {}
    names = [name for name in question.rankers if name in paces]
    if names and queries:
        seconds = sum(paces[name] for name in names) * each * queries
        text += f", about **{duration(seconds)}** by the pace of the search shown"
    return text + trial_cost.trainings(asked)


def orders(search: Search, budget: int) -> int:
    """Orders of one list that a search hands to a ranker at most.

    >>> orders(Search(places=5), 2), orders(Search(unit="exchanges", places=4), 3)
    (8, 18)
    """
    if search.method == "annealing":
        return 1 + search.chains * search.rounds
    width = 1 if search.method == "greedy" else search.width
    if search.unit == "inversions":
        return (search.places - 1) * (1 + (budget - 1) * width)
    pairs = search.places * (search.places - 1) // 2
    return pairs + (budget - 1) * width * min(pairs, search.candidates)


def _paces(shown: Artefact) -> dict[str, float]:
    """Seconds for one order of one list by ranker, of those that were searched."""
    effort = shown.facts.get("effort", {})
    return {
        label: one["seconds"] / one["evaluated"]
        for label, one in effort.items()
        if one["evaluated"] and label != INITIAL
    }


FORM = Form(
    Panel(WorstCase.kind, "search for the worst case", first),
    "Search for the worst case",
    "Run this search",
    rows=(("rankers",), ("budgets", "queries", "target")),
    cost=cost,
    kept=("budgets", "target"),
    usual=lambda _data: {"queries": FEW},
    widgets={"search": searched},
)


CHART, MAP = "damages", "swaps"
PLACES = (10, 20, 40)
"""How many of the first places take part in the map of single exchanges."""


def take_point() -> None:
    """A click on the picture chooses its ranker and budget."""
    facts = parts.clicked(CHART)
    if facts and facts[1]:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), int(facts[1])


@st.fragment
def _queries(artefact: Artefact, rankers: tuple[str, ...]) -> None:
    """Draw the queries of a ranker and budget, and what can be done to one of them."""
    st.subheader("Queries behind a point", anchor=False)
    budgets = [int(one) for one in artefact.recipe["budgets"]]
    left, right = st.columns(2)
    ranker = left.selectbox(
        "Ranker", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    unit = artefact.recipe["search"]["unit"]
    budget = right.selectbox(
        f"Budget ({unit})", budgets, index=len(budgets) - 1, key="at", bind="query-params"
    )
    if ranker is None:
        return
    _behind(artefact, ranker, budgets[-1] if budget is None else int(budget))


def _behind(artefact: Artefact, ranker: str, budget: int) -> None:
    """The queries by damage, and the worst order of one."""
    unit = artefact.recipe["search"]["unit"]
    frame = disturbed.worst_queries(str(artefact.key), ranker, budget)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    who, measure = f"{steps(budget, unit)} at worst, {ranker}", str(artefact.recipe["measure"])
    st.markdown(escaped(in_words(frame, who, measure, ("as_is", "worst"))))
    _rows(frame)
    query = query_comparison.query(frame["query"], "Choose a row above, or a query here")
    if query is not None:
        _one_list(artefact, ranker, query, budget)


def _rows(frame: pd.DataFrame) -> None:
    columns = [
        tables.Column("as_is", "As it is", tables.VALUE),
        tables.Column("random", "Random mean", tables.VALUE),
        tables.Column("worst", "Worst found", tables.VALUE),
        tables.Column("change", "Change", tables.CHANGE),
    ]
    alt = "Queries, the most damaged first; choose a row to see its worst order"
    query_comparison.rows(frame, columns, alt, height=260)


def _one_list(artefact: Artefact, ranker: str, query: str, budget: int) -> None:
    moves = rescored_list.rescored(
        lambda: disturbed.worst_list(artefact, (ranker, budget), query, rescored_list.features())
    )
    if moves is None:
        return
    what = f"{steps(budget, artefact.recipe['search']['unit'])} of the "
    what += disturbed.TARGETS[artefact.recipe["target"]]
    both_lists(moves, ranker, f"Query {query}. Left: the worst order found within {what}.")
    _swaps(artefact, ranker, query, len(moves))


@st.fragment
def _swaps(artefact: Artefact, ranker: str, query: str, length: int) -> None:
    """What each single exchange costs this list; scored when it is asked for."""
    st.subheader("What each single exchange costs this query", anchor=False)
    options = [places for places in PLACES if places < length] + [min(length, PLACES[-1])]
    options = list(dict.fromkeys(options))
    places = st.segmented_control(
        "Among the first places", options, default=None, key="places", bind="query-params",
        help="n places are n · (n − 1) / 2 lists to score: 45, 190 and 780.",
    )  # fmt: skip
    if places is None:
        st.caption("Choose how many places take part; their exchanges are scored then.")
        return
    found = rescored_list.rescored(
        lambda: disturbed.swaps(artefact, ranker, query, int(places)), "Scoring every exchange …"
    )
    if found is None:
        return
    measure = str(artefact.recipe["measure"])
    costs = np.array(found["costs"], dtype=float)[: int(places), : int(places)]
    st.plotly_chart(
        figure.swaps(costs, found["documents"], found["labels"], measure), key=MAP,
        alt=figure.swaps_alt_text(costs, measure), config={"displaylogo": False},
    )  # fmt: skip
    st.caption(escaped(_dearest(costs, found, ranker, measure)))


def _dearest(costs: np.ndarray, found: dict[str, Any], ranker: str, measure: str) -> str:
    """The map in a sentence."""
    if found["invariant"]:
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
