"""Running a search for the worst case: its form and cost, and its first curves."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import forms, services
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.study import trial_cost
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.parameters import Parameter, parsed
from shuffleproof.core.perturb.worst_case import Search
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.kinds.worst_case import sections as worst_case_table
from shuffleproof.core.studies.kinds.worst_case.study import KIND
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

FEW = 100
"""Queries that a first search takes; all take as much longer as there are more."""

FIELDS = ("unit", "method", "places", "width", "candidates", "chains", "rounds", "hot", "cold")


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    frame = worst_case_table.table(result)
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
    Panel(KIND, "search for the worst case", first),
    "Search for the worst case",
    "Run this search",
    rows=(("rankers",), ("budgets", "queries", "target")),
    cost=cost,
    kept=("budgets", "target"),
    usual=lambda _data: {"queries": FEW},
    widgets={"search": searched},
)
