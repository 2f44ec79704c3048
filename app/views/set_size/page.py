"""The page of Table 3: trained on lists of one size, tested on lists of another."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import services, set_sizes, training
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Asked, Form, to_train
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.study.parts import choice as measure_choice
from shuffleproof.app.views.set_size import queries
from shuffleproof.app.views.set_size.queries import Chosen, of_home
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment.ranker_sets import expanded
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers import registry
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.set_size import feasibility, sections
from shuffleproof.core.studies.kinds.set_size.sections import CURVES
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART = "sizes"


def page() -> None:
    """Draw a stored study of the data set in use: curves, finding, verdict, then details."""
    shell.page(
        FORM,
        "Set size",
        _study,
        missing="No study of the size of lists is stored for {data} yet.",
        remedy="Press the button below: rankers are trained on short lists and tested on longer "
        "ones.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, set_sizes.short_words, set_sizes.words)
    artefact = top.artefact
    with top.controls:
        home = _home(set_sizes.trained_on(artefact.recipe))
        labels = set_sizes.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    with top.picture:
        drawing, said = st.container(), st.container()
        measure, from_zero = _measure(artefact)
    chosen = Chosen(artefact, measure, home, rankers)
    drawn = _picture(chosen, drawing, from_zero=from_zero)
    with said:
        _said(chosen)
    queries.details(chosen)
    frame = set_sizes.curves(chosen.key, str(measure))
    table = Table(frame, CURVES, f"{measure} by ranker, N0 and N1")
    choice.export_row(artefact, drawn, table)


def _home(trained_on: list[int]) -> int | None:
    """The size trained on."""
    home: int | None = trained_on[0] if trained_on else None
    if len(trained_on) > 1:
        chosen = st.selectbox(
            "Trained on lists of (N0)", trained_on, key="home", bind="query-params",
            help="Which size the rankers of the picture were trained on; the map below has all.",
        )  # fmt: skip
        home = chosen if chosen in trained_on else trained_on[0]
    return home


def _measure(artefact: Artefact) -> tuple[Measure, bool]:
    """The measure with its conventions, changeable where they stand, and where the axis begins."""
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = measure_choice(artefact.recipe)
            from_zero = st.toggle(
                "Vertical axis from 0", value=True, key="zero", bind="query-params"
            )
    with words:
        parts.convention(
            measure.convention(),
            f"N = {artefact.facts['queries']} queries",
            "95 % intervals over queries",
        )
    parts.convention(*_shorter(artefact))
    return measure, from_zero


def _shorter(artefact: Artefact) -> list[str]:
    """How many lists are shorter than a size, and who was left out."""
    short = sections.shorter(artefact.facts) or "every list is as long as asked"
    return [escaped(short), *artefact.facts["left_out"]]


def _picture(chosen: Chosen, place: Any, *, from_zero: bool) -> Any:
    identity = (chosen.key, str(chosen.measure), chosen.home, chosen.rankers, from_zero)
    drawn = _drawn(chosen, from_zero, identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(chosen.drawn, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, from_zero: bool, identity: tuple[Any, ...]) -> Any:  # noqa: FBT001 (part of the key)
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.curves(_chosen.drawn, str(_chosen.measure), _chosen.home, from_zero=from_zero)


def _take() -> None:
    """A click on a point chooses the cell whose queries are shown below."""
    queries.take(CHART)


def _said(chosen: Chosen) -> None:
    found = set_sizes.sentences(chosen.key, str(chosen.measure))
    parts.finding(found.losses or found.candidates)
    if found.losses:
        st.markdown(escaped(found.candidates))
    if found.verdict:
        st.markdown(escaped(found.verdict))
    else:
        st.caption(
            "The paper's claim is about setrank-imsab, setrank-msab and dlcm-without-init, each "
            "trained on lists: with all three in a study, the verdict stands here."
        )


GIVEN = {registry.FEATURE, "random", "ideal"}


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    trained_on = set_sizes.trained_on(found.recipe)
    home = trained_on[0] if trained_on else None
    frame = of_home(sections.curves(result, measure), home)
    st.plotly_chart(
        figure.curves(frame, measure, home),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} trainings and scorings so far.")


def usual(data: str) -> Mapping[str, Any]:
    """The paper's sizes that test lists reach; where they are shorter, steps up to the longest."""
    try:
        sizes = feasibility.proposed(set_sizes.lengths(data))
    except ShuffleproofError:  # the data set is gone, its studies are not
        sizes = feasibility.SIZES
    return {"sizes": tuple(sizes), "trained_on": tuple(feasibility.train_sizes(sizes))}


def cost(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, or a ranker that cannot be trained.
    """
    fitting, question, preset = training.fitting(asked.data), asked.question, asked.preset
    trained_on = feasibility.checked("trained on", list(question.trained_on))
    tested = feasibility.checked("sizes", list(question.sizes))
    plans = []
    for name, seeds in trial_cost.fitted(question.rankers, question.seeds):
        spec = registry.spec(name, preset)
        for size in [None] if spec.fits_documents else trained_on:
            for seed in range(seeds):
                changes = {"seed": str(seed)} if seeds > 1 else {}
                of_size = replace(asked.lists, depth=size)
                plans.append(training.planned(fitting, of_size, name, preset, changes))
    first = training.preparing(fitting, asked.lists)
    sizes = {*tested, *trained_on}
    text = f"{counted(len(expanded(question.rankers)), 'ranker')} on lists of "
    text += f"{', '.join(map(str, trained_on))}: {trial_cost.in_words(plans, first)}"
    text += f"; each is tested at {counted(len(sizes), 'size')}"
    longest = int(set_sizes.lengths(asked.data).max(initial=0))
    unreached = feasibility.beyond([size for size in sizes if size > longest])
    return ". ".join(filter(None, [text, unreached.rstrip(".")]))


FORM = Form(
    Panel(set_sizes.KIND, "study of set size", first),
    "Run a study of set size",
    "Run this study",
    rows=(("rankers",), ("trained_on", "sizes", "seeds")),
    cost=cost,
    kept=("rankers", "trained_on", "sizes"),
    usual=usual,
    proposed=to_train,
    trains=True,
    offered=lambda name: name not in GIVEN,
    note="The ceiling and the initial ranking always stand beside them; rankers with ordinal "
    "embeddings are not asked beyond their longest rank.",
    list_fields=("scores", "folds", "seed"),
)
