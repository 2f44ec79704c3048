"""The ablation page: where paper and released code part ways, and what each difference does."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import ablations, address, curves, proposals, scoring, services, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.figures import benchmark_query
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import benchmark_table as switches
from shuffleproof.app.study import choice, parts, query_comparison
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Asked, Form, to_train
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment import cost
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import ranker_key
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.ablation import sections, study
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.sections import (
    COLUMNS,
    Effect,
    most_changed,
    query_finding,
)
from shuffleproof.core.studies.kinds.ablation.sources import step_of
from shuffleproof.core.studies.kinds.ablation.study import BASE, PAPER
from shuffleproof.core.studies.kinds.benchmark.query import positions_of
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

EFFECTS: dict[figure.Effect, str] = {
    "quality": "Quality", "robustness": "Robustness", "seconds": "Seconds", "parameters": "Size",
}  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored ablation.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        effect: what the picture shows.
    """

    artefact: Artefact
    measure: Measure
    effect: figure.Effect

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def table(self) -> pd.DataFrame:
        """What every variant does."""
        return ablations.table(self.key, str(self.measure))


def page() -> None:
    """Draw a stored ablation of the data set in use: picture, finding, table, sources."""
    shell.page(
        FORM,
        "Ablation",
        _study,
        missing="No ablation on {data} is stored yet.",
        remedy="Press the button below: one ranker is trained as the paper says, as the released"
        " code does it, and with every single difference between them.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, ablations.short_words, ablations.words, ("Ablation", "ablations"))
    artefact = top.artefact
    with top.controls:
        effect = st.selectbox(
            "Effect on", list(EFFECTS), key="effect", bind="query-params",
            format_func=EFFECTS.__getitem__,
            help="Robustness: what is lost when the initial ranking is disturbed.",
        )  # fmt: skip
    with top.picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact)
    chosen = Chosen(artefact, measure, effect or "quality")
    drawn = _picture(chosen, drawing)
    with said:
        parts.finding(ablations.finding(chosen.key, str(measure)))
    _table(chosen)
    _sources(chosen)
    _queries(artefact, chosen.table, chosen.effect, str(measure))
    choice.export_row(artefact, drawn, _declared(chosen))


def _measure(artefact: Artefact) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    offered = {str(one): one for one in curves.offered(artefact.recipe)}
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            address.one("measure", address.named(*offered), next(iter(offered)))
            name = st.selectbox("Measure", list(offered), key="measure")
            measure = switches.measures(artefact.recipe, offered)[name]
    with words:
        draws = artefact.recipe["draws"]
        parts.convention(
            measure.convention(), counted(artefact.facts["queries"], "query"),
            counted(draws, "draw"), "95 % intervals over queries", "one seed",
        )  # fmt: skip
    return measure


def _picture(chosen: Chosen, place: Any) -> Any:
    if len(chosen.table) < 2:
        place.info("Only one variant is stored: there is nothing to compare.")
        return figure.effects(chosen.table, chosen.effect, str(chosen.measure), step_of)
    drawn = _drawn(chosen, (chosen.key, str(chosen.measure), chosen.effect))
    place.plotly_chart(
        drawn,
        key="effects",
        alt=figure.alt_text(chosen.table, chosen.effect, str(chosen.measure)),
        config=parts.CLICKABLE,
    )
    words = "Diamonds: whole recipes; dots: single differences from the paper's."
    if chosen.effect in {"quality", "robustness"}:
        words += " Full: more than chance (p ≤ .05, Holm); arrows: beyond the axis."
    place.caption(words)
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.effects(_chosen.table, _chosen.effect, str(_chosen.measure), step_of)


def _table(chosen: Chosen) -> None:
    st.subheader("Every variant")
    data_frame(_declared(chosen).without("source"), "variants")
    parts.convention(
        escaped(chosen.measure.convention()), "paired t, Holm over the variants",
        "a variant is trained once: differences between seeds are not in its interval",
    )  # fmt: skip


def _declared(chosen: Chosen) -> Table:
    title = f"Variants of {chosen.artefact.facts['ranker']} by effect on {chosen.measure}"
    return Table(chosen.table, COLUMNS, title)


def _sources(chosen: Chosen) -> None:
    """Each difference with the line that it comes from."""
    told = chosen.table[chosen.table["source"] != ""]
    if not len(told):
        return
    st.subheader("Where each difference comes from")
    lines = [
        f"- **{escaped(row['variant'].removeprefix(f'{BASE} + '))}** — {escaped(row['source'])}"
        for row in told.to_dict("records")
    ]
    st.markdown("\n".join(lines))


OWN = "each its own"
RANKERS = tuple(
    name for name in FIXED if {study.BASE, *Ablation.towards} <= set(registry.RANKERS[name].presets)
)


def first(found: RunningStudy) -> None:
    """Draw the variants that are there."""
    result = found.result(services.store())
    if result is None:
        return
    table = sections.table(result)
    if len(table) > 1:
        st.plotly_chart(
            figure.effects(table, "quality", study.MEASURE, step_of),
            key="first variants",
            alt=figure.alt_text(table, "quality", study.MEASURE),
        )
    total = len(found.recipe["rankers"])
    st.caption(f"First results: {len(table)} of {total} variants are trained and measured.")


def ranker(_declared: Parameter, now: str) -> str:
    """Draw the choice of a network."""
    at = RANKERS.index(now) if now in RANKERS else 0
    return str(
        st.selectbox(
            "Ranker", RANKERS, index=at, key="new.ranker",
            help="A network whose paper and released code differ.",
        )
    )  # fmt: skip


def sizes(_declared: Parameter, now: str | None) -> str | None:
    """Draw the choice of a preset whose sizes all variants take."""
    presets = [*training.PRESETS, OWN]
    found = st.selectbox(
        "Sizes", presets, index=presets.index(now) if now in presets else len(presets) - 1,
        key="new.sizes",
        help="Widths, depth, batches and epochs of this preset for all variants, so that the "
        "differences can be seen on a small machine; all else stays each variant's own.",
    )  # fmt: skip
    return None if found == OWN else str(found)


def towards(_declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of recipes whose differences are taken one by one."""
    found = st.multiselect(
        "Differences towards", (*Ablation.towards, PAPER), default=list(now), key="new.towards",
        help="Every step from the paper's recipe towards these, one at a time; claims: what "
        "DLCM's paper compares and no preset has (directions, cells, losses).",
    )  # fmt: skip
    return tuple(found)


def usual(_data: str) -> Mapping[str, Any]:
    """The sizes of a preset that is trained at once."""
    return {"sizes": proposals.for_training()[0]}


def costs(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: the data set cannot be read.
    """
    question, lists = asked.question, asked.lists
    made = study.variants(question)
    fitting = training.fitting(asked.data)
    of, store = fitting.sizes(lists.depth), services.store()
    known = cost.measured(store)
    missing = [
        cost.estimate(one.spec, of, known)
        for one in made
        if store.find(ranker_key(one.spec, asdict(lists), *fitting.fingerprints[:2])) is None
    ]
    first = training.preparing(fitting, lists)
    low, high = cost.added(missing)
    low, high = (low + first.low, high + first.high) if first else (low, high)
    text = f"{counted(len(made), 'variant')}, **{counted(len(missing), 'training')}**"
    if len(missing) < len(made):
        text += f" ({len(made) - len(missing)} more are stored)"
    trials = len(made) * (1 + (len({0.0, *question.levels}) - 1) * question.draws)
    text += f", then {counted(trials, 'trial')}"
    if missing:
        text += f": from **{duration(low)}** to **{duration(high)}** of training on this machine"
    return text


FORM = Form(
    Panel(ablations.KIND, "ablation", first),
    "Run an ablation",
    "Run this ablation",
    rows=(("ranker", "sizes"), ("towards",), ("levels", "draws")),
    cost=costs,
    kept=("ranker",),
    usual=usual,
    proposed=to_train,
    widgets={"ranker": ranker, "sizes": sizes, "towards": towards},
)


BARS = "query bars"


@st.fragment
def _queries(artefact: Artefact, table: pd.DataFrame, effect: str, measure: str) -> None:
    """Draw the choice of a variant, its bars and, where one is chosen, a query's two answers.

    Args:
        artefact: the ablation.
        table: its variants under the measure.
        effect: what the page's picture shows; what is no measure is taken as quality.
        measure: under the conventions chosen.
    """
    if len(table) < 2:
        return
    shown: Effect = "robustness" if effect == "robustness" else "quality"
    labels = [str(label) for label in table["variant"].iloc[1:]]
    st.subheader("Which queries gain, which lose?")
    usual = most_changed(table, shown)
    variant = st.selectbox(
        f"Variant, beside {table['variant'].iloc[0]}", labels,
        index=labels.index(usual) if usual in labels else 0, key="variant", bind="query-params",
    )  # fmt: skip
    if variant is None:
        return
    frame = ablations.by_query(str(artefact.key), variant, shown, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    parts.finding(query_finding(frame, variant, shown, measure))
    st.plotly_chart(
        figure.queries(frame, variant, shown, measure),
        key=BARS,
        config=parts.CLICKABLE,
        alt=figure.queries_alt_text(frame, variant, shown, measure),
        on_select=_take,
        selection_mode="points",
    )
    query = query_comparison.query(frame["query"], "Click a bar, or choose a query")
    if query is not None:
        _one_query(artefact, (str(variant), BASE), query)


def _take() -> None:
    """A click on a bar chooses its query."""
    facts = parts.clicked(BARS)
    if facts:
        st.session_state["of"] = str(facts[0])


def _one_query(artefact: Artefact, pair: tuple[str, str], query: str) -> None:
    try:
        answers = _answers(artefact, pair, query)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    if answers is None:
        st.caption("One of the two is not stored any more: run the ablation again.")
        return
    st.plotly_chart(
        benchmark_query.two_answers(answers, pair),
        key="two answers",
        config=parts.PLAIN,
        alt=benchmark_query.alt_text(answers, pair),
    )
    st.caption(
        escaped(
            f"Query {query}, the lists as they are. Left: the initial ranking. Middle: "
            f"{pair[0]}. Right: {pair[1]}. Full marks are relevant documents, strong lines are "
            "relevant ones that the two put at different places."
        )
    )


def _answers(artefact: Artefact, pair: tuple[str, str], query: str) -> pd.DataFrame | None:
    """The documents of a list and where two variants put them; None where one is gone."""
    data = scoring.described(str(artefact.facts["data"]))
    digests = dict(artefact.recipe["rankers"])
    known = {ranker.digest: ranker for ranker in scoring.rankers_of(data)}
    rankers = [known.get(digests[label]) for label in pair]
    if None in rankers:
        return None
    made: dict[str, Any] = dict(artefact.facts["lists"])
    recipe = ListRecipe(**(made | {"initial": tuple(made["initial"])}))
    one = scoring.List(data.data, data.test, recipe, query)
    asked = tuple(ranker for ranker in rankers if ranker is not None)
    found = scoring.answers(one, asked, "initial", "initial")
    documents = scoring.documents(one, ("initial",))
    rows = np.arange(len(documents.ids))
    places = {
        label: positions_of(np.array(answer.before, dtype=np.float32), rows)
        for label, answer in zip(pair, found, strict=True)
    }
    given = {"document": documents.ids, "label": documents.labels, "initial": rows + 1}
    return pd.DataFrame(given | places)
