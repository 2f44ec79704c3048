"""The page of Figure 3: a worse initial ranking, and who follows it down."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed_lists, rescoring, selection
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import ranking_degradation as figure
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import (
    choice,
    job_panel,
    parts,
    query_comparison,
)
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.study_access import compute
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.conventions import SWITCHED
from shuffleproof.core.studies.kinds.ranking_degradation import sections
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.kinds.ranking_degradation.sections import TESTS
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.sections import LOSS, Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, interval, p_value, signed

CHOOSABLE = (*choice.CHOOSABLE, "gain")
WORDS_WIDTH = 330
AXES: dict[figure.Axis, str] = {"level": "Level", "tau": "Kendall τ to the original"}
CHART, CLICK = "curves", chooses(point=str, at=float)
QUERIES = (
    tables.Column("unchanged", "Unchanged", tables.VALUE),
    tables.Column("disturbed", "Disturbed (mean of draws)", tables.VALUE),
    tables.Column("change", "Change", tables.CHANGE),
    tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
)
Point = tuple[str, str, float]
"""Ranker, family and level."""


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, then details."""
    shell.page(
        FORM,
        "Initial ranking",
        _study,
        missing="No study of the initial ranking is stored for {data} yet.",
        remedy="Choose rankers and levels below and start one; rankers that are not trained yet "
        "are trained first.",
    )


def words(artefact: Artefact) -> str:
    """What was disturbed in a stored study, how often, on which lists."""
    recipe = artefact.recipe
    names = ", ".join(disturbed_lists.families(recipe))
    return f"{names} · {counted(recipe['draws'], 'draw')} · on {', '.join(recipe['initial'])}"


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, disturbed_lists.short_words, words)
    artefact, key, recipe = top.artefact, str(top.artefact.key), top.artefact.recipe
    with top.controls:
        rankers = choice.rankers(disturbed_lists.rankers(recipe), top.notices, key)
        what = parts.drawn_as()
        family, x, from_zero = _what(recipe)
    with top.notes:
        finding = st.container()
        measure = str(_measure(artefact))
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    top.says(measures=(measure,), family=family, rankers=rankers)
    summary = compute(key, StudyResult.summary, [measure])
    summary = summary[(summary.family == family) & summary.ranker.isin(rankers)]
    unit, shown, axis = disturbed_lists.unit(family), summary, measure
    if what == LOSS:
        losses = compute(key, sections.losses_of, family, measure)
        shown, axis = losses[losses.ranker.isin(rankers)], loss_in(measure)
    curves = cached_figure(figure.curves, shown, family, axis, unit, x=x, from_zero=from_zero)
    chart(curves, CHART, CLICK, place=top.picture)
    with finding, parts.in_words():
        _claim(compute(key, sections.claim, family, measure))
    if order := compute(key, sections.of_order, family, measure, rankers):
        parts.note(order, finding)
    _of_point(artefact, family, measure, rankers)
    table = _marks(artefact, family, measure, rankers)
    if place := parts.fold("All numbers in the figure", "every number"):
        data_frame(Table(summary, SUMMARY, "All numbers in the figure"), "numbers", place)
    choice.export_row(artefact, curves, table, measure)


def _what(recipe: Mapping[str, Any]) -> tuple[str, figure.Axis, bool]:
    known = list(disturbed_lists.families(recipe))
    family = known[0]
    if len(known) > 1:
        family = st.selectbox("Disturbed by", known, key="family", bind="query-params")
    x = parts.segments("Horizontal axis", "x", AXES)
    from_zero = st.toggle("Vertical axis from 0", value=True, key="zero", bind="query-params")
    return family, x, from_zero


def _measure(artefact: Artefact) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    recipe = artefact.recipe
    offered = choice.offered_measures(recipe)
    line, menu = parts.convention_line(WORDS_WIDTH)
    with menu:
        name = parts.select("Measure", "measure", offered, next(iter(offered)))
        usual = choice.as_asked(recipe, offered[name])
        names = [name for name in CHOOSABLE if name in usual.entry.conventions]
        wanted = usual.under(**choice.conventions(SWITCHED, names, usual))
    possible = [wanted, usual, Measure.parse(recipe["measures"][0])]
    measure = next(
        (measure for measure in possible if choice.can_be_drawn(recipe, measure)), possible[-1]
    )
    if measure != wanted:
        st.warning(
            f"{wanted} does not follow from what this study stored. Run it again for this "
            f"measure below; what is shown is {measure}.",
            icon=":material/info:",
        )
    with line:
        levels = len(recipe["perturbations"])
        parts.convention(
            measure.convention(),
            f"N = {counted(artefact.facts['queries'], 'query')}",
            f"{counted(recipe['draws'], 'draw')}",
            f"{counted(levels, 'level')}",
            "95 % intervals",
        )
    st.session_state["wanted measure"] = str(wanted)
    return measure


def _claim(claim: Mapping[str, Any]) -> None:
    if claim:
        bounds = f"95 % {interval(claim['low'], claim['high'])}"
        st.markdown(
            f"{claim['whose']} that {escaped_sentence(claim['claim'])}: "
            f"**{claim['verdict']}** here "
            f"(difference of the falls {signed(claim['difference'])}, {bounds}, "
            f"{p_value(claim['p'])}, N = {claim['n']}, paired t)."
        )


def _marks(artefact: Artefact, family: str, measure: str, rankers: Sequence[str]) -> Table:
    st.subheader("Is it more than chance?")
    left, right = st.columns(2)
    chosen = choice.ranker(
        "Compared with", rankers, "baseline", selection.baseline(rankers, rankers[0]), left,
        help="The ranker that the others are compared with at the same level.",
    )  # fmt: skip
    test = right.selectbox(
        "Test", list(TESTS), key="test", bind="query-params",
        help="; ".join(f"{name}: {words}" for name, words in TESTS.items()),
    )  # fmt: skip
    baseline, test = chosen or INITIAL, test or "paired t"
    frame = compute(str(artefact.key), sections.marks, family, measure, baseline, test)
    title = f"Significance of {measure} by ranker and level"
    table = Table(frame[frame.ranker.isin(rankers)], sections.columns(baseline), title)
    data_frame(table, "marks")
    parts.convention(
        "▲ ▼: p ≤ 0.05 after Holm's adjustment over the column", "d: Cohen's d of the differences",
        f"N = {counted(artefact.facts['queries'], 'query')}",
    )  # fmt: skip
    return table


@st.fragment
def _of_point(artefact: Artefact, family: str, measure: str, rankers: Sequence[str]) -> None:
    """Draw the choice of a point; once there is one, its queries by damage and one's list."""
    st.subheader("Queries behind a point")
    levels = disturbed_lists.families(artefact.recipe)[family]
    left, right = st.columns(2)
    ranker = choice.ranker(
        "Ranker", rankers, "point", place=left,
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    level = query_comparison.level(f"Level ({disturbed_lists.unit(family)})", levels, right)
    if ranker is None:
        return
    point = (ranker, family, level)
    frame = compute(str(artefact.key), sections.damage, *point, measure)
    start = f"By {family} at {level:g}, {ranker}"
    if not query_comparison.by_damage(frame, start, measure, QUERIES, height=260):
        return
    left, right = st.columns(2)
    query = query_comparison.query(frame["query"], "Choose a row above, or a query here", left)
    if query is not None:
        draws = int(artefact.recipe["draws"]) if level != levels[0] else 1
        draw = query_comparison.draw(frame, query, draws, right)
        _one_list(artefact, point, query, draw)


def _one_list(artefact: Artefact, point: Point, query: str, draw: int) -> None:
    if "lists" not in artefact.facts:
        st.info(
            "This study was stored without its lists' recipe; run it again to see single lists."
        )
        return
    moves = query_comparison.rescore(lambda: replayed_query(artefact, point, query, draw))
    if moves is None:
        return
    ranker, family, level = point
    query_comparison.bump_chart(moves, ranker)
    parts.note(
        f"Query {query}, draw {draw}. Left: the initial ranking disturbed by {family} at "
        f"{level:g}. Middle: what {ranker} answers to it. Right: what it answers to the "
        "unchanged list. Dotted: from the unchanged initial ranking to that answer. Full "
        "marks are relevant documents, strong lines are documents that passed another."
    )


def replayed_query(artefact: Artefact, point: Point, query: str, draw: int) -> pd.DataFrame:
    """One query of one draw scored again, as a frame for the bump chart.

    Raises:
        ScoringError: the scoring process has no answer, or the ranker or data set is gone.
    """
    ranker, family, level = point
    recipe = artefact.recipe
    answer = rescoring.answer(
        f"{rescoring.TRAINED}:replay_trial", artefact, query, lists=recipe["lists"],
        ranker=rescoring.digest_of(artefact, ranker), family=family, level=level, draw=draw,
        seed=recipe["seed"],
    )  # fmt: skip
    return pd.DataFrame(answer)


DISTURBING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]
FIRST = ["transpositions"]


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The curves that are there."""
    summary = result.summary()
    family, measure = summary.family.iloc[-1], summary.measure.iloc[0]
    picture = Picture("curves", (summary, family, measure, disturbed_lists.unit(family)))
    return picture, f"{counted(len(result.trials), 'trial')} so far."


def chosen_pairs(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = [name for name in shell.families_of(now) if name in DISTURBING]
    return shell.family_levels(declared, shell.family_choice(DISTURBING, before))


def usual_values(_data: str) -> Mapping[str, Any]:
    """The paper's family at its own levels, under the measure that the page was asked for."""
    measure = st.session_state.get("wanted measure", "NDCG@10")
    return {"perturbations": pairs_of(FIRST), "measures": (measure,)}


FORM = Form(
    job_panel.Panel(RankingDegradation.kind, "study", partial_picture),
    "Run a study",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws", "measures")),
    from_shown=("perturbations",),
    usual=usual_values,
    widgets={"perturbations": chosen_pairs},
)
