"""The page of Table 2: best ranker of a data set, differences and their significance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import address, benchmarks, captions, exports, selection, state, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import benchmark as figure
from shuffleproof.app.figures import benchmark_query
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import choice, form, job_panel, parts, per_query, sample_result
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.study_access import compute
from shuffleproof.app.views.benchmark import form as run
from shuffleproof.app.views.benchmark import published, ranks
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL, REFERENCES, display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text, tables
from shuffleproof.core.studies.kinds.benchmark import sections, table
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs, warnings
from shuffleproof.core.studies.kinds.benchmark.table import MEANS, TESTS, comparison, numbers
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART, CLICK = "differences", chooses(ranker=str)


UNDRAWN = ("ideal", "random")
"""References that are left out of the picture: their distance would hide all differences."""


@dataclass(frozen=True)
class BenchmarkView:
    """View of a stored benchmark.

    Attributes:
        artefact: the benchmark.
        measure: of the picture and of the comparisons, with the chosen conventions.
        columns: measures of the table, with the same conventions.
        baseline: ranker that the picture compares with.
        test: a name of TESTS.
    """

    artefact: Artefact
    measure: Measure
    columns: tuple[str, ...]
    baseline: str
    test: str

    @property
    def key(self) -> str:
        """Key of the benchmark."""
        return str(self.artefact.key)

    @property
    def of_runs(self) -> bool:
        """True if it compares runs from files: no training, no features."""
        return is_of_runs(self.artefact.recipe)

    @property
    def labels(self) -> list[str]:
        """Rows in the table's order."""
        return benchmarks.labels(self.key)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Comparison of every row with the baseline."""
        return compute(
            self.key, table.against_baseline, str(self.measure), self.baseline, self.test
        )

    @property
    def picture_rows(self) -> pd.DataFrame:
        """Rows of the picture: rankers chosen for all pages, or all rankers if none is chosen."""
        shown = self.differences["ranker"].isin(selection.among(self.labels))
        return self.differences[shown & ~self.differences["ranker"].isin(UNDRAWN)]


def shown_as(chosen: BenchmarkView) -> View:
    """View of the table: its columns, and the chosen baselines that are rows of it."""
    letters = st.session_state.get("letters", ())
    baselines = tuple(label for label in letters if label in chosen.labels)
    return View(chosen.columns, baselines=baselines, test=chosen.test)


def page() -> None:
    """Draw a stored benchmark of the data set in use: picture, finding, table, details."""
    data = state.data()
    parts.header("Benchmark", STUDIES["benchmark"].title)
    of_data, of_runs = benchmarks.stored_benchmarks(data), benchmarks.of_runs()
    at_work = job_panel.progress(run.FORM.panel, run.names(data))
    are_runs_chosen = st.query_params.get("study", "") in of_runs
    if of_data or are_runs_chosen:
        _study(of_data | of_runs)
    elif not at_work:
        with sample_result.draw_sample("benchmark"):
            parts.not_yet(f"No benchmark of {data} is stored yet.")
        for key, artefact in of_runs.items():
            words = escaped_sentence(f"Show the comparison of {choice.label(artefact)}")
            st.button(words, key=f"show {key}", on_click=address.pin, args=("study", key))
    if not are_runs_chosen:
        shown = choice.study_shown(of_data, benchmarks.shown_first)
        opened = not of_data and not at_work
        # drawn only when open: the cost of many rankers takes a second to compute
        if place := parts.fold("New study", "run opened", parts.PLAY, expanded=opened):
            with place:
                form.body(run.FORM, data, shown)


@st.fragment
@parts.errors_shown()  # its files may be damaged or gone
def _study(stored: Mapping[str, Artefact]) -> None:
    """Draw a benchmark; a control redraws only this fragment."""
    wanted = st.query_params.get("study", "")
    top = choice.draw_top_row(stored, benchmarks.shown_first)
    artefact = top.artefact
    if is_of_runs(artefact.recipe) != (wanted in stored and is_of_runs(stored[wanted].recipe)):
        st.rerun()  # the form under it comes or goes
    with top.controls:
        labels = benchmarks.labels(str(artefact.key))
        missing = state.missing_option("baseline", labels)
        first = sections.main_measure(artefact.recipe["measures"])
        baseline = choice.baseline(labels, compute(str(artefact.key), sections.best_of, first))
        test = st.selectbox(
            "Test", list(TESTS), key="test", bind="query-params",
            help="; ".join(f"{name}: {words}" for name, words in TESTS.items()),
        )  # fmt: skip
    with top.notices:
        state.instead("ranker", missing, display_names(labels)[baseline])
    if is_of_runs(artefact.recipe):
        with top.controls:
            topics = counted(artefact.facts["queries"], "topic")
            parts.note(f"Runs over the {topics} of {artefact.facts['data']}, no stored data set.")
    with top.notes:
        measure, columns = _measures(artefact)
    chosen = BenchmarkView(artefact, measure, columns, baseline, test)
    baselines = None if baseline == INITIAL else (baseline,)
    selected = tuple(selection.selected_among(labels))
    title = top.says(View((str(measure),), test=test, baselines=baselines, rankers=selected))
    picture = _picture(chosen, top.picture)
    _table(chosen)
    _details(chosen)
    runs = exports.File(
        "TREC runs and qrels (zip)",
        f"{exports.study_stem(artefact)}-runs.zip",
        lambda: benchmarks.runs(chosen.key),
    )
    shared = choice.export_menu(
        artefact, picture, lambda: table_files(chosen, shown_as(chosen)), str(measure), title
    )
    parts.exports_row(replace(shared, more=() if chosen.of_runs else (runs,)), "take")


def _measures(artefact: Artefact) -> tuple[Measure, tuple[str, ...]]:
    """Draw the choices of the measure, the columns and their conventions."""
    recipe = artefact.recipe
    offered = choice.offered_measures(recipe)
    measures = map(Measure.parse, recipe["measures"])  # each under default conventions:
    usual_columns = list(
        dict.fromkeys(str(Measure(measure.name, measure.cutoff)) for measure in measures)
    )
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measures and conventions", icon=":material/tune:"):
            usual = "NDCG@10" if "NDCG@10" in usual_columns else usual_columns[-1]
            name = parts.select(
                "Measure", "measure", offered, usual,
                help="For picture, headline and comparisons.",
            )  # fmt: skip
            columns = st.multiselect(
                "Columns of the table", list(offered), default=usual_columns, key="columns",
                bind="query-params",
            )  # fmt: skip
            of_name = choice.under_conventions(recipe, offered)
    measure = of_name[name]
    with words:
        runs = study_access.compute(str(artefact.key), sections.runs_in_words, str(measure))
        parts.convention(
            measure.convention(),
            runs.partition(" · ")[2],
            "95 % intervals of differences, adjusted as p is",
        )
    return measure, tuple(str(of_name[name]) for name in columns or usual_columns)


def _picture(chosen: BenchmarkView, place: Any) -> Any:
    baseline, measure = chosen.baseline, str(chosen.measure)
    differences = cached_figure(figure.differences, chosen.picture_rows, baseline, measure)
    if not len(chosen.picture_rows):
        parts.note(f"No other ranker to compare with {baseline} here.", place)
    elif not chosen.picture_rows["difference"].notna().any():
        place.caption(
            "Nothing is drawn: some queries have no relevant document, and under this convention "
            "the means over them are undefined."
        )
    else:
        chart(differences, CHART, CLICK, place=place)
        place.caption(
            "Filled: significant (p ≤ .05, Holm); hollow: a tie. Click for per-query results."
        )
    return differences


@st.fragment
def _table(chosen: BenchmarkView) -> None:
    """Draw the table and the choice of its marks."""
    st.subheader("Table")
    usual = [label for label in (INITIAL, "lambdamart") if label in chosen.labels]
    st.multiselect(
        "Baselines of the marks",
        **address.multiselect(
            "letters", address.option_texts(*chosen.labels), usual, of=chosen.key
        ),
        max_selections=run.MOST_BASELINES, wrap=True,
        format_func=display_names(chosen.labels).__getitem__,
    )  # fmt: skip
    view = shown_as(chosen)
    cells = study_access.compute(chosen.key, sections.cells, view)
    st.table(run.printed_table(cells, chosen.labels, chosen.artefact.facts, chosen.columns))
    warned = warnings(chosen.artefact.facts) if chosen.of_runs else []
    for text in (*study_access.compute(chosen.key, sections.table_notes, view), *warned):
        parts.note(text)


def table_files(chosen: BenchmarkView, view: View) -> list[exports.File]:
    """Table files: LaTeX and Markdown as printed, CSV and Parquet with all numbers."""

    def make(ending: str) -> bytes:
        result = study_access.result(chosen.key)
        if ending in table_text.WRITERS:
            return table_text.table_bytes(sections.table(result, view), ending)
        return table_text.exact(numbers(result, view), ending)

    return [
        exports.File(
            words,
            f"{exports.study_stem(chosen.artefact)}-table.{ending}",
            lambda ending=ending: make(ending),  # type: ignore[misc]
        )
        for ending, words in exports.TABLES.items()
    ]


BUMP = "answers"

Pair = tuple[str, str]


@st.fragment
def _by_query(chosen: BenchmarkView) -> None:
    """Draw the two rankers to choose, the queries by difference, and one query's documents."""
    st.subheader("Per-query results")
    pair = _two(chosen)
    if pair is None:
        return
    frame = compute(chosen.key, table.deltas, *pair, str(chosen.measure))
    if not len(frame):
        st.caption("This measure leaves out every query.")
        return
    columns = (
        *([tables.Column("fold", "Fold")] if len(set(frame["fold"])) > 1 else []),
        tables.Column("difference", "Difference", tables.CHANGE),
        tables.Column("ranker", pair[0], tables.VALUE),
        tables.Column("baseline", pair[1], tables.VALUE),
    )
    per_query.rows(frame, columns, "Queries by difference", height=300)
    _one_query(chosen, pair, frame)


def _two(chosen: BenchmarkView) -> Pair | None:
    """Draw the choices of a ranker (a click on the picture sets it) and of its baseline."""
    if all(label in REFERENCES for label in chosen.labels):
        return None
    best = compute(chosen.key, sections.best_of, str(chosen.measure))
    left, right = st.columns(2)
    ranker = choice.ranker(
        "Ranker", chosen.labels, "ranker", best, left,
        help="Or click a dot of the picture.",
    )  # fmt: skip
    usual = chosen.baseline if chosen.baseline != ranker else INITIAL
    others = [label for label in chosen.labels if label != ranker]
    if not others:
        return None
    other = choice.ranker("Minus", others, "minus", usual if usual in others else others[0], right)
    return None if ranker is None or other is None else (ranker, other)


def _one_query(chosen: BenchmarkView, pair: Pair, frame: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = per_query.query_choice(frame["query"], "Choose a row above or a query here", left)
    if query is None:
        return
    folds = list(map(str, frame.loc[frame["query"].astype(str) == query, "fold"]))
    fold = st.session_state.get("fold of")
    place = query, fold if fold in folds else folds[0]
    seeds = benchmarks.seeds(chosen.artefact.recipe)
    offered = {seed: (str(seed),) for seed in range(max(seeds[label] for label in pair))}
    seed = 0
    if len(offered) > 1:
        seed = int(right.selectbox("Seed", **address.selectbox("seed", offered, 0)) or 0)
    try:
        answers = benchmarks.answers(chosen.key, place, pair, seed, per_query.features())
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return
    draw = benchmark_query.two_runs if chosen.of_runs else benchmark_query.two_answers
    chart(draw(captions.titles(answers), pair), BUMP, config=parts.PLAIN)
    missing = " A line that is missing: the other run has the document further down or not at all."
    parts.note(
        f"Query {query} of {place[1]}, seed {seed}. {pair[0]} and {pair[1]}. Filled marks are "
        f"relevant documents.{missing if chosen.of_runs else ''}"
    )
    columns = [tables.Column("initial", "Initial rank", tables.COUNT)]
    for name in pair:
        columns.append(tables.Column(name, f"{name}: at", tables.COUNT))
        columns.append(tables.Column(f"score of {name}", f"{name}: score", ".4g"))
    per_query.documents(answers, benchmarks.features(chosen.key, place[1]), *columns)


def _details(chosen: BenchmarkView) -> None:
    """Draw everything between the table and the exports."""
    _numbers(chosen)
    if len(chosen.labels) > 1 and (place := parts.fold("Ranks and the winner", "ranks")):
        with place:
            ranks.section(chosen.key, chosen.measure)
    _by_query(chosen)
    if chosen.of_runs and (place := parts.fold("Published value", "published")):
        with place:
            published.section(chosen.key, chosen.labels, chosen.measure)
    if place := parts.fold("All numbers in the table", "every number"):
        frame = compute(chosen.key, table.means, chosen.columns)
        data_frame(Table(frame, MEANS, "Means by ranker and measure"), "numbers", place)


def _numbers(chosen: BenchmarkView) -> None:
    st.subheader("Significance")
    title = f"Differences of {chosen.measure} from {chosen.baseline} by ranker"
    compared = Table(chosen.differences, comparison(chosen.baseline), title)
    data_frame(compared.without("group"), "compared")
    parts.convention(
        escaped_sentence(chosen.measure.convention()), f"{chosen.test}, Holm over the rows",
        "d: Cohen's d of the differences",
    )  # fmt: skip
