"""The page of Figure 3: a worse initial ranking, and who follows it down."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import address, curves, services, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import ranking_degradation as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import (
    choice,
    families,
    parts,
    query_comparison,
    rescored_list,
    trial_cost,
)
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter, parameters
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.conventions import SWITCHED
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.ranking_degradation.sections import TESTS, columns
from shuffleproof.core.studies.result import SUMMARY, in_words
from shuffleproof.core.studies.study import pairs_of
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, interval, p_value, signed

CHOOSABLE = ("ideal", "empty", "ties", "discount", "gain")
WORDS_WIDTH = 330
SAID = {"ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores"}
AXES: dict[figure.Axis, str] = {"level": "Level", "tau": "Kendall τ left"}


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        family: of perturbations.
        measure: under the conventions chosen.
        rankers: in the study's order.
        x: what runs along the horizontal axis.
        from_zero: whether the measure's axis starts at 0.
    """

    artefact: Artefact
    family: str
    measure: Measure
    rankers: tuple[str, ...]
    x: figure.Axis
    from_zero: bool

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @property
    def identity(self) -> tuple[Any, ...]:
        """All of it in plain values."""
        return (self.key, self.family, str(self.measure), self.rankers, self.x, self.from_zero)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The numbers behind the picture."""
        frame = curves.summary(self.key, str(self.measure))
        return frame[(frame.family == self.family) & frame.ranker.isin(self.rankers)]


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


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    no_study = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = choice.study(stored, curves.short_words, curves.details)
        with notices:
            state.instead("study", no_study, curves.words(artefact))
        labels = [str(label) for label, _ in artefact.recipe["rankers"]]
        rankers = choice.rankers(labels, notices, str(artefact.key))
        family, x, from_zero = _what(artefact.recipe)
    with picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact.recipe)
    chosen = Chosen(artefact, family, measure, rankers, x, from_zero)
    if not rankers:
        drawing.info("Choose at least one ranker.")
        return
    drawn = _picture(chosen, drawing)
    with said:
        _finding(chosen)
    _of_point(artefact, family, str(measure), rankers)
    table = _details(chosen)
    choice.export_row(artefact, drawn, table)


def _what(recipe: Mapping[str, Any]) -> tuple[str, figure.Axis, bool]:
    families = list(curves.families(recipe))
    family = families[0]
    if len(families) > 1:
        family = st.selectbox("Disturbed by", families, key="family", bind="query-params")
    x = st.segmented_control(
        "Horizontal axis", list(AXES), default="level", required=True, format_func=AXES.__getitem__,
        key="x", bind="query-params",
    )  # fmt: skip
    from_zero = st.toggle("Vertical axis from 0", value=True, key="zero", bind="query-params")
    return family, x or "level", from_zero


def _measure(recipe: Mapping[str, Any]) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    offered = {str(one): one for one in curves.offered(recipe)}
    line = st.container(horizontal=True, vertical_alignment="center", key="convention")
    with line:
        words = st.container(width=WORDS_WIDTH)  # on telephones the button goes below it
        with st.popover("Measure and conventions", icon=":material/tune:"):
            address.one("measure", address.named(*offered), next(iter(offered)))
            name = st.selectbox("Measure", list(offered), key="measure")
            usual = _asked(recipe, offered[name])
            wanted = usual.under(**{field: _convention(usual, field) for field in _fields(usual)})
    measure = wanted
    if not curves.can_be_drawn(recipe, wanted):
        measure = usual if curves.can_be_drawn(recipe, usual) else Measure.parse(
            recipe["measures"][0]
        )  # fmt: skip
        st.warning(
            f"{wanted} does not follow from what this study stored. Run it again for this "
            f"measure below; what is shown is {measure}.",
            icon=":material/info:",
        )
    with words:
        levels = len(recipe["perturbations"])
        parts.convention(
            measure.convention(), f"{recipe['draws']} draws", f"{levels} levels", "95 % intervals"
        )
    st.session_state["wanted measure"] = str(wanted)
    return measure


def _asked(recipe: Mapping[str, Any], plain: Measure) -> Measure:
    """The measure as the study was asked for it, where it was."""
    asked = (Measure.parse(text) for text in recipe["measures"])
    same = (one for one in asked if (one.name, one.cutoff) == (plain.name, plain.cutoff))
    return next(same, plain)


def _fields(measure: Measure) -> list[str]:
    return [name for name in CHOOSABLE if name in measure.entry.conventions]


def _convention(measure: Measure, name: str) -> str:
    declared = {one.name: one for one in parameters(Measure)}[name]
    now = str(getattr(measure, name))
    choices = dict.fromkeys([*SWITCHED.get(name, declared.choices), now])
    found = st.segmented_control(
        SAID.get(name, name.capitalize()), list(choices), default=now, required=True,
        key=name, bind="query-params", help=declared.help,
    )  # fmt: skip
    return str(found or now)


def _picture(chosen: Chosen, place: Any) -> Any:
    summary = chosen.summary
    drawn = _drawn(chosen, chosen.identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(summary, chosen.family, str(chosen.measure)),
        on_select=take_point,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.curves(
        _chosen.summary, _chosen.family, str(_chosen.measure), curves.unit(_chosen.family),
        x=_chosen.x, from_zero=_chosen.from_zero,
    )  # fmt: skip


def _finding(chosen: Chosen) -> None:
    measure = str(chosen.measure)
    parts.finding(curves.finding(chosen.key, chosen.family, measure, chosen.rankers))
    claim = curves.claim(chosen.key, chosen.family, measure)
    if claim:
        bounds = f"95 % {interval(claim['low'], claim['high'])}"
        st.markdown(
            f"{claim['whose']} that {escaped(claim['claim'])}: **{claim['verdict']}** here "
            f"(difference of the falls {signed(claim['difference'])}, {bounds}, "
            f"{p_value(claim['p'])}, N = {claim['n']}, paired t)."
        )


def _details(chosen: Chosen) -> Table:
    st.subheader("Is it more than chance?")
    left, right = st.columns(2)
    baseline = left.selectbox(
        "Compared with", chosen.rankers, key="baseline", bind="query-params",
        help="The ranker that the others are compared with at the same level.",
    )  # fmt: skip
    test = right.selectbox(
        "Test", list(TESTS), key="test", bind="query-params",
        help="; ".join(f"{name}: {words}" for name, words in TESTS.items()),
    )  # fmt: skip
    table = curves.marks(
        chosen.key, chosen.family, str(chosen.measure), baseline or INITIAL, test or "paired t"
    )
    table = table[table.ranker.isin(chosen.rankers)]
    title = f"Significance of {chosen.measure} by ranker and level"
    declared = Table(table, columns(baseline or INITIAL), title)
    data_frame(declared, "marks")
    parts.convention(
        "▲ ▼: p ≤ 0.05 after Holm's adjustment over the column", "d: Cohen's d of the differences",
        f"N = {chosen.artefact.facts['queries']} queries",
    )  # fmt: skip
    place = parts.folded("Every number of the picture", "every number")
    if place is not None:
        data_frame(Table(chosen.summary, SUMMARY, "Every number of the picture"), "numbers", place)
    return declared


DISTURBING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]
FIRST = ["transpositions"]


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    summary = result.summary()
    family, measure = summary.family.iloc[-1], summary.measure.iloc[0]
    st.plotly_chart(
        figure.curves(summary, family, measure, curves.unit(family)),
        key="first results",
        alt=figure.alt_text(summary, family, measure),
    )
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


def disturbed(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = [name for name in families.of_pairs(now) if name in DISTURBING]
    return families.levels(declared, families.choice(DISTURBING, before))


def usual(_data: str) -> Mapping[str, Any]:
    """The paper's family at its own levels, under the measure that the page was asked for."""
    measure = st.session_state.get("wanted measure", "NDCG@10")
    return {"perturbations": pairs_of(FIRST), "measures": (measure,)}


FORM = Form(
    Panel(curves.KIND, "study", first),
    "Run a study",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws", "measures")),
    cost=lambda asked: trial_cost.trials(asked, asked.question.perturbations),
    kept=("perturbations",),
    usual=usual,
    widgets={"perturbations": disturbed},
)


CHART = "curves"


def take_point() -> None:
    """A click on the figure chooses its point."""
    facts = parts.clicked(CHART)
    if facts:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), float(facts[1])


@st.fragment
def _of_point(artefact: Artefact, family: str, measure: str, rankers: tuple[str, ...]) -> None:
    """Draw the choice of a point; once there is one, its queries by damage and one's list."""
    point = _choice(artefact, family, rankers)
    if point is not None:
        _behind(artefact, family, measure, point)


def _choice(artefact: Artefact, family: str, rankers: tuple[str, ...]) -> tuple[str, float] | None:
    """The point; a click on the figure sets it too."""
    st.subheader("Queries behind a point")
    levels = curves.families(artefact.recipe)[family]
    left, right = st.columns(2)
    ranker = left.selectbox(
        "Ranker", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    level = right.selectbox(
        f"Level ({curves.unit(family)})", levels, index=len(levels) - 1, key="at",
        bind="query-params", format_func=lambda level: f"{level:g}",
    )  # fmt: skip
    return None if ranker is None or level is None else (ranker, float(level))


def _behind(artefact: Artefact, family: str, measure: str, point: tuple[str, float]) -> None:
    """The queries behind a point by damage, and one query's list."""
    ranker, level = point
    frame = curves.damage(str(artefact.key), point, family, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    start = f"By {family} at {level:g}, {ranker}"
    st.markdown(escaped(in_words(frame, start, measure, ("unchanged", "disturbed"))))
    _rows(frame)
    _one_list(artefact, point, family, frame)


def _rows(frame: pd.DataFrame) -> None:
    columns = [
        tables.Column("unchanged", "Unchanged", tables.VALUE),
        tables.Column("disturbed", "Disturbed (mean of draws)", tables.VALUE),
        tables.Column("change", "Change", tables.CHANGE),
        tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
    ]
    alt = "Queries, the most damaged first; choose a row to see its list"
    query_comparison.rows(frame, columns, alt, height=260)


def _one_list(
    artefact: Artefact, chosen: tuple[str, float], family: str, frame: pd.DataFrame
) -> None:
    left, right = st.columns(2)
    query = query_comparison.query(frame["query"], "Choose a row above, or a query here", left)
    if query is None:
        return
    draws = int(artefact.recipe["draws"]) if chosen[1] != _unchanged(artefact, family) else 1
    draw = query_comparison.draw(frame, query, draws, right)
    _bump(artefact, chosen, family, (query, draw))


def _unchanged(artefact: Artefact, family: str) -> float:
    return curves.families(artefact.recipe)[family][0]


def _bump(artefact: Artefact, chosen: tuple[str, float], family: str, one: tuple[str, int]) -> None:
    query, draw = one
    if "lists" not in artefact.facts:
        st.info(
            "This study was stored without its lists' recipe; run it again to see single lists."
        )
        return
    moves = rescored_list.rescored(lambda: curves.replayed(artefact, chosen, family, query, draw))
    if moves is None:
        return
    ranker, level = chosen
    rescored_list.chart(moves, ranker)
    st.caption(
        escaped(
            f"Query {query}, draw {draw}. Left: the initial ranking disturbed by {family} at "
            f"{level:g}. Middle: what {ranker} answers to it. Right: what it answers to the "
            "unchanged list. Dotted: from the unchanged initial ranking to that answer. Full "
            "marks are relevant documents, strong lines are documents that passed another."
        )
    )
