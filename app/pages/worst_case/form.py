"""Running a search for the worst case: its form and cost, its progress and its first curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import disturbed, proposals, services
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.forms import drawn
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import job_panel as strip
from shuffleproof.app.study import perturbed_form as shared
from shuffleproof.core.errors import ParameterError, ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.numerals import whole
from shuffleproof.core.parameters import parsed
from shuffleproof.core.perturb.worst_case import Search
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.kinds.worst_case import table as worst_case_table
from shuffleproof.core.studies.kinds.worst_case.plan import BUDGETS, KIND
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.words import counted

DRAWS, MOST_DRAWS = 10, 1000
FEW = 100
"""Queries that a first search takes; all take as much longer as there are more."""

FIELDS = ("places", "width", "candidates", "chains", "rounds", "hot", "cold")


def progress(data: str) -> bool:
    """Draw the search that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def proposed(data: str) -> Sequence[str]:
    """The rankers that a first search would be of."""
    return proposals.for_study(data).rankers


def _begun(one: Underway, job: Job) -> bool:
    given, recipe = job.parameters, one.recipe
    same = all(recipe[name] == given[name] for name in ("target", "queries"))
    return shared.begun(one, job) and same and list(recipe["budgets"]) == given["budgets"]


def _first(found: Underway) -> None:
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


STRIP = strip.Strip(KIND, "search for the worst case", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a search."""
    with st.expander("Search for the worst case", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual = proposals.for_study(data, shown)
    names = shared.rankers(usual.rankers)
    budgets, queries = _budgets(shown)
    search = Search()
    how = {"target": _target(shown)} | drawn(search, "new", only=("unit", "method"), columns=2)
    with st.popover("Search, measure, lists and seed", icon=":material/tune:"):
        measure = st.text_input("Measure", value="NDCG@10", key="new.measures",
                                help="One: it says what an order costs.")  # fmt: skip
        how |= drawn(search, "new", only=FIELDS, columns=2)
        draws = st.number_input("Random orders a budget", 1, MOST_DRAWS, DRAWS, key="new.draws")
        chosen = shared.lists(data, usual.lists)
        seed = st.number_input("Seed", value=0, min_value=0, key="new.seed")
    target = how.pop("target")
    try:
        parameters, recipe = shared.asked(data, names, usual.lists, chosen)
        wanted: Search = parsed(search, how)
        parameters |= {
            "search": {name: getattr(wanted, name) for name in how},
            "budgets": _numbers(budgets), "target": target,
            "measures": [str(Measure.parse(measure))], "draws": int(draws), "seed": int(seed),
            "queries": int(queries) or None,
        }  # fmt: skip
        text = _cost(parameters, wanted, shown) + shared.trainings(data, names, recipe)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    st.markdown(f"{text}. Parts that are finished are never repeated.")
    if st.button("Run this search", type="primary", key="new.run", disabled=not names):
        strip.hand_in(STRIP, parameters)


def _budgets(shown: Artefact | None) -> tuple[str, int]:
    before = shown.recipe["budgets"] if shown else BUDGETS
    left, right = st.columns([3, 1])
    budgets = left.text_input(
        "Budgets", value=",".join(map(str, before)), key="new.budgets",
        help="Steps a list at most, comma-separated.",
    )  # fmt: skip
    queries = right.number_input(
        "Queries", min_value=0, value=FEW, key="new.queries",
        help="Only the first so many test queries; 0: all.",
    )  # fmt: skip
    return budgets, int(queries)


def _target(shown: Artefact | None) -> str:
    usual = str(shown.recipe["target"]) if shown else "ranking"
    found = st.segmented_control(
        "What is rearranged", list(disturbed.TARGETS), default=usual, required=True,
        format_func=disturbed.TARGETS.__getitem__, key="new.target",
        help="The initial ranking and with it the order shown, or the order shown alone.",
    )  # fmt: skip
    return str(found or usual)


def _numbers(text: str) -> list[int]:
    shape = "whole numbers from 1 on, comma-separated"
    try:
        found = sorted({whole(part) for part in text.split(",")})
    except ValueError:
        raise ParameterError("budgets", text, shape) from None
    if found[0] < 1:
        raise ParameterError("budgets", text, shape)
    return found


def _cost(parameters: Mapping[str, Any], search: Search, shown: Artefact | None) -> str:
    """What the button will cost: orders to be scored at most, and seconds by the search shown."""
    queries = parameters["queries"] or (shown.facts["queries"] if shown else None)
    each = orders(search, max(parameters["budgets"]))
    each += parameters["draws"] * len(parameters["budgets"])
    of = counted(queries, "query") if queries else "each query"
    text = f"At most **{each:,} orders** of {of} for each ranker that reads them"
    paces = _paces(shown) if shown else {}
    names = [name for name in parameters["rankers"] if name in paces]
    if names and queries:
        seconds = sum(paces[name] for name in names) * each * queries
        text += f", about **{duration(seconds)}** by the pace of the search shown"
    return text


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
