"""The page of Table 2: which ranker is best here, by how much, and is it more than chance."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import benchmarks, curves, state
from app.figures import benchmark as figure
from app.plain import escaped
from app.views import benchmark_details as details
from app.views import benchmark_run as run
from app.views import benchmark_table as printed
from app.views import benchmark_taken as taken
from app.views import parts
from app.views.benchmark_chosen import Chosen
from core.metrics.measure import Measure
from core.store.manifest import Artefact
from core.studies.initial_ranking import INITIAL
from core.studies.registry import STUDIES
from core.studies.table import TESTS

QUESTION = STUDIES["benchmark"].question
CHART = "differences"


def page() -> None:
    """Draw a stored benchmark of the data set in use: picture, finding, table, details."""
    data = state.data()
    parts.header("Benchmark", QUESTION)
    stored = benchmarks.stored(data)
    at_work = run.progress(data)
    if stored:
        _study(stored)
    elif not at_work:
        parts.not_yet(
            f"No benchmark of {data} is stored yet.",
            "Press the button below: the rankers of Table 2 are trained with several seeds and "
            "measured on the same lists. Or on the command line:",
            f"shuffleproof study benchmark --data {data} --rankers table2 --seeds 3",
        )
    run.form(data, next(iter(stored.values()), None), opened=not stored and not at_work)


def _study(stored: Mapping[str, Artefact]) -> None:
    no_study = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = stored[_key(stored)]
        labels = benchmarks.labels(str(artefact.key))
        missing = state.absent("baseline", labels)
        baseline, test = _against(labels)
    with notices:
        state.instead("study", no_study, benchmarks.short_words(artefact))
        state.instead("ranker", missing, baseline)
    with picture:
        drawing, said = st.container(), st.container()
        measure, columns = _measures(artefact)
    chosen = Chosen(artefact, measure, columns, baseline, test)
    marked = _table(chosen)  # first, since it is there at once; intervals take longer
    drawn = _picture(chosen, drawing)
    with said:
        parts.finding(benchmarks.finding(chosen.key, str(measure), test))
    details.section(chosen)
    taken.row(chosen, drawn, marked)


def _key(stored: Mapping[str, Artefact]) -> str:
    """The benchmark chosen; its key always stands in the address."""
    wanted, keys = st.query_params.get("study", ""), list(stored)
    key = st.selectbox(
        "Benchmark", keys, index=keys.index(wanted) if wanted in keys else 0,
        format_func=lambda key: benchmarks.short_words(stored[key]),
        help="Stored benchmarks of this data set, newest first.",
    )  # fmt: skip
    st.caption(escaped(benchmarks.words(stored[key])))
    if wanted != key:
        st.query_params["study"] = key
    return str(key)


def _against(labels: list[str]) -> tuple[str, str]:
    baseline = st.selectbox(
        "Compared with", labels, index=labels.index(INITIAL) if INITIAL in labels else 0,
        key="baseline", bind="query-params",
        help="Who stands at zero in the picture.",
    )  # fmt: skip
    test = st.selectbox(
        "Test", list(TESTS), key="test", bind="query-params",
        help="; ".join(f"{name}: {words}" for name, words in TESTS.items()),
    )  # fmt: skip
    return str(baseline or labels[0]), str(test or next(iter(TESTS)))


def _measures(artefact: Artefact) -> tuple[Measure, tuple[str, ...]]:
    """The measure and the columns with their conventions, changeable where they stand."""
    recipe = artefact.recipe
    offered = {str(one): one for one in curves.offered(recipe)}
    asked = list(dict.fromkeys(_plain(text) for text in recipe["measures"]))
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measures and conventions", icon=":material/tune:"):
            usual = "NDCG@10" if "NDCG@10" in asked else asked[-1]
            name = st.selectbox(
                "Measure", list(offered), index=list(offered).index(usual), key="measure",
                bind="query-params", help="Of the picture, the sentence and the comparisons.",
            )  # fmt: skip
            columns = st.multiselect(
                "Columns of the table", list(offered), default=asked, key="columns",
                bind="query-params",
            )  # fmt: skip
            wanted = printed.conventions()
    measure = offered[name].under(**wanted)
    folds = len(recipe["folds"])
    with words:
        parts.convention(
            measure.convention(),
            f"{artefact.facts['queries']} queries" + (f" of {folds} folds" if folds > 1 else ""),
            "95 % intervals over queries",
        )
    return measure, tuple(str(offered[name].under(**wanted)) for name in columns or asked)


def _plain(text: str) -> str:
    """A measure under default conventions."""
    found = Measure.parse(text)
    return str(Measure(found.name, found.cutoff))


def _picture(chosen: Chosen, place: Any) -> Any:
    ringed = st.session_state.get("ranker") or st.query_params.get("ranker")
    identity = (chosen.key, str(chosen.measure), chosen.baseline, chosen.test, ringed)
    drawn = _drawn(chosen, ringed, identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(chosen.drawn, chosen.baseline, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )
    place.caption("Full dots: the difference is more than chance (p ≤ .05, Holm). Click one.")
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, ringed: str | None, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.differences(_chosen.drawn, _chosen.baseline, str(_chosen.measure), ringed)


def _take() -> None:
    """A click on a dot chooses the ranker whose queries are shown below."""
    for clicked in st.session_state[CHART]["selection"]["points"]:
        facts = clicked.get("customdata")
        if facts:
            st.session_state["ranker"] = str(facts[0])
            return


def _table(chosen: Chosen) -> tuple[str, ...]:
    """The table itself; returns whom its letters compare with."""
    st.subheader("The table")
    usual = [label for label in (INITIAL, "lambdamart") if label in chosen.labels]
    baselines = st.multiselect(
        "Letters compare with", chosen.labels, default=usual, key="letters", bind="query-params",
        max_selections=printed.MOST_BASELINES, wrap=True,
    )  # fmt: skip
    marked = tuple(label for label in baselines if label in chosen.labels)
    cells = benchmarks.cells(chosen.key, chosen.columns, marked, chosen.test)
    groups = chosen.artefact.facts["groups"]
    st.table(printed.frame(cells, chosen.labels, groups, chosen.columns))
    st.caption(escaped(_runs(chosen.artefact)))
    st.caption(escaped(printed.letters(marked, chosen.test)))
    return marked


def _runs(artefact: Artefact) -> str:
    """What the means are over."""
    seeds = max((row["seeds"] for row in artefact.recipe["rows"]), default=1)
    folds = len(artefact.recipe["folds"])
    text = f"mean ± standard deviation of {seeds} seed{'s' if seeds > 1 else ''}"
    text += f" × {folds} folds" if folds > 1 else ""
    queries = artefact.facts["queries"]
    return f"{text} (one run where nothing is drawn), N = {queries} queries. Bold: best."
