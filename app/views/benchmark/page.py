"""The page of Table 2: which ranker is best here, by how much, and is it more than chance."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import address, benchmarks, exports, selection, state, study_access
from shuffleproof.app.figures import benchmark as figure
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import benchmark_table as printed
from shuffleproof.app.study import choice, form, job_panel, measures, parts, sample_result
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.views.benchmark import form as run
from shuffleproof.app.views.benchmark import queries
from shuffleproof.app.views.benchmark.queries import BenchmarkView, shown_as
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL, display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.benchmark import sections
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs, warnings
from shuffleproof.core.studies.kinds.benchmark.rows import groups_of
from shuffleproof.core.studies.kinds.benchmark.table import numbers
from shuffleproof.core.studies.kinds.ranking_degradation.sections import TESTS
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.sections import View

CHART, CLICK = "differences", chooses(ranker=str)
STYLES = {"letters": "a b c", "daggers": "+ † ‡"}


def page() -> None:
    """Draw a stored benchmark of the data set in use: picture, finding, table, details."""
    data = state.data()
    parts.header("Benchmark", STUDIES["benchmark"].title)
    own, of_runs = benchmarks.stored_benchmarks(data), benchmarks.of_runs()
    at_work = job_panel.progress(run.FORM.panel, run.names(data))
    asked_for_runs = st.query_params.get("study", "") in of_runs
    if own or asked_for_runs:
        _study(own | of_runs)
    elif not at_work:
        _none_yet(data, of_runs)
    if not asked_for_runs:
        shown = choice.study_shown(own, benchmarks.shown_first)
        place = st.expander(
            run.FORM.title, expanded=not own and not at_work, icon=":material/play_arrow:",
            key="run opened", on_change="rerun",
        )  # fmt: skip
        if place.open:  # its cost takes a second where many rankers are asked for
            with place:
                form.body(run.FORM, data, shown)


def _none_yet(data: str, of_runs: Mapping[str, Artefact]) -> None:
    with sample_result.draw_sample("benchmark"):
        parts.not_yet(
            f"No benchmark of {data} is stored yet.",
            "Press the button: the rankers of Table 2 are trained with several seeds and measured "
            "on the same lists.",
        )
        form.at_once(run.FORM, data)
    for key, artefact in of_runs.items():
        st.button(
            f"Show the comparison of {benchmarks.words(artefact)}", key=f"show {key}",
            on_click=address.pin, args=("study", key),
        )  # fmt: skip


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    """All that is drawn of a benchmark; a control here draws nothing else of the page."""
    with parts.errors_shown():  # its files may be damaged or gone
        _drawn_of(stored)


def _drawn_of(stored: Mapping[str, Artefact]) -> None:
    wanted = st.query_params.get("study", "")
    top = choice.draw_top_row(
        stored, benchmarks.short_words, benchmarks.words, ("Benchmark", "benchmarks"),
        benchmarks.shown_first,
    )  # fmt: skip
    artefact = top.artefact
    if is_of_runs(artefact.recipe) != (wanted in stored and is_of_runs(stored[wanted].recipe)):
        st.rerun()  # the form under it comes or goes
    with top.controls:
        labels = benchmarks.labels(str(artefact.key))
        missing = state.missing_option("baseline", labels)
        baseline, test = _against(labels)
    with top.notices:
        state.instead("ranker", missing, display_names(labels)[baseline])
    with top.notes:
        sentences = st.container()
        measure, columns = _measures(artefact)
    chosen = BenchmarkView(artefact, measure, columns, baseline, test)
    beside = None if baseline == INITIAL else (baseline,)
    own = tuple(selection.selected_among(labels))
    top.says(measures=(str(measure),), test=test, baselines=beside, rankers=own)
    _table(chosen)  # first, since it is there at once; intervals take longer
    picture = _picture(chosen, top.picture)
    with sentences, parts.in_words():
        parts.finding(study_access.compute(chosen.key, sections.finding, str(measure), test))
    queries.details(chosen)
    runs = exports.File(
        "TREC runs and qrels (zip)",
        f"{chosen.key}-runs.zip",
        lambda: benchmarks.runs(chosen.key),
    )
    shared = choice.export_menu(artefact, picture, lambda: tables(chosen, shown_as(chosen)))
    parts.exports_row(replace(shared, more=() if chosen.of_runs else (runs,)), "take")


def _against(labels: list[str]) -> tuple[str, str]:
    usual = INITIAL if INITIAL in labels else labels[0]
    baseline = choice.ranker(
        "Compared with", labels, "baseline", selection.baseline(labels, usual),
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
    offered = measures.offered_measures(recipe)
    asked_for = map(Measure.parse, recipe["measures"])  # each under default conventions:
    asked = list(dict.fromkeys(str(Measure(one.name, one.cutoff)) for one in asked_for))
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measures and conventions", icon=":material/tune:"):
            usual = "NDCG@10" if "NDCG@10" in asked else asked[-1]
            name = st.selectbox(
                "Measure", **address.selectbox("measure", address.option_texts(*offered), usual),
                help="Of the picture, the sentence and the comparisons.",
            )  # fmt: skip
            columns = st.multiselect(
                "Columns of the table", list(offered), default=asked, key="columns",
                bind="query-params",
            )  # fmt: skip
            of_name = measures.under_conventions(recipe, offered)
    measure = of_name[name]
    with words:
        runs = study_access.compute(str(artefact.key), sections.runs_in_words, str(measure))
        parts.convention(
            measure.convention(),
            runs.partition(" · ")[2],
            "95 % intervals of differences, adjusted as p is",
        )
    return measure, tuple(str(of_name[name]) for name in columns or asked)


def _picture(chosen: BenchmarkView, place: Any) -> Any:
    baseline, measure = chosen.baseline, str(chosen.measure)
    differences = cached_figure(figure.differences, chosen.picture_rows, baseline, measure)
    if not len(chosen.picture_rows):
        place.caption(escaped_sentence(f"There is nobody to compare with {baseline} here."))
    elif not chosen.picture_rows["difference"].notna().any():
        place.caption(
            "Nothing is drawn: some queries have no relevant document, and under this convention "
            "the means over them are undefined."
        )
    else:
        alt = figure.alt_text(chosen.picture_rows, baseline, measure)
        chart(differences, alt, CHART, CLICK, place=place)
        place.caption(
            "Filled marks: the difference is more than chance (p ≤ .05, Holm). Click one."
        )
    return differences


@st.fragment
def _table(chosen: BenchmarkView) -> None:
    """The table itself, with the choice of its marks."""
    st.subheader("The table")
    usual = [label for label in (INITIAL, "lambdamart") if label in chosen.labels]
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    left.multiselect(
        "Marks compare with",
        **address.multiselect(
            "letters", address.option_texts(*chosen.labels), usual, of=chosen.key
        ),
        max_selections=printed.MOST_BASELINES, wrap=True,
        format_func=display_names(chosen.labels).__getitem__,
    )  # fmt: skip
    right.segmented_control(
        "Marks", list(STYLES), default="letters", format_func=STYLES.__getitem__, required=True,
        key="marks", bind="query-params", help="+ and † are those of the paper.",
    )  # fmt: skip
    view = shown_as(chosen)
    cells = study_access.compute(chosen.key, sections.cells, view)
    groups = groups_of(chosen.artefact.facts)
    st.table(printed.frame(cells, chosen.labels, groups, chosen.columns))
    warned = warnings(chosen.artefact.facts) if chosen.of_runs else []
    for text in (*study_access.compute(chosen.key, sections.table_notes, view), *warned):
        st.caption(escaped_sentence(text))


def tables(chosen: BenchmarkView, view: View) -> list[exports.File]:
    """The table as LaTeX and Markdown as it is printed, as CSV and Parquet with every number."""

    def make(ending: str) -> bytes:
        result = study_access.result(chosen.key)
        if ending in table_text.WRITERS:
            return table_text.table_bytes(sections.table(result, view), ending)
        return table_text.exact(numbers(result, view), ending)

    return [
        exports.File(
            words,
            f"{chosen.key}-table.{ending}",
            lambda ending=ending: make(ending),  # type: ignore[misc]
        )
        for ending, words in exports.TABLES.items()
    ]
