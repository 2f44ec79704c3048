"""The ablation page: where paper and released code part ways, and what each difference does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, scoring, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.figures import benchmark_query
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import choice, job_panel, parts, query_comparison
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form, to_train
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.study_access import compute, dated_name
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation import sections, study
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.sections import COLUMNS, Effect
from shuffleproof.core.studies.kinds.ablation.sources import BASE, PAPER, step_of
from shuffleproof.core.studies.kinds.benchmark.query import positions_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

EFFECTS: dict[figure.Effect, str] = {
    "quality": "Quality", "robustness": "Robustness", "seconds": "Seconds", "parameters": "Size",
}  # fmt: skip
BARS, CLICK = "query bars", chooses(of=str)


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


def short_words(artefact: Artefact) -> str:
    """What tells a stored ablation from others in a narrow place."""
    return dated_name(artefact, artefact.facts["ranker"])


def words(artefact: Artefact) -> str:
    """A stored ablation in a line: how many variants, at which sizes, how disturbed."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = ", ".join(f"{level:g}" for _, level in recipe["perturbations"])
    preset = facts.get("sizes")
    sizes = f"networks as large as {preset}" if preset else "each its own size"
    return (
        f"{counted(len(recipe['rankers']), 'variant')} · {sizes} · {levels} transpositions, "
        f"{counted(recipe['draws'], 'draw')} · on {', '.join(recipe['initial'])}"
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, short_words, words, ("Ablation", "ablations"))
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        effect = st.selectbox(
            "Effect on", list(EFFECTS), key="effect", bind="query-params",
            format_func=EFFECTS.__getitem__,
            help="Robustness: what is lost when the initial ranking is disturbed.",
        )  # fmt: skip
    with top.notes:
        measure = choice.measure_line(
            artefact.recipe, counted(artefact.facts["queries"], "query"),
            counted(artefact.recipe["draws"], "draw"), "95 % intervals over queries", "one seed",
        )  # fmt: skip
    top.says()
    frame = compute(key, sections.table, str(measure))
    effects = _picture(frame, effect or "quality", str(measure), top.picture)
    title = f"Variants of {artefact.facts['ranker']} by effect on {measure}"
    table = Table(frame, COLUMNS, title)
    st.subheader("Every variant")
    data_frame(table.without("source"), "variants")
    parts.convention(
        escaped_sentence(measure.convention()), "paired t, Holm over the variants",
        "a variant is trained once: differences between seeds are not in its interval",
    )  # fmt: skip
    _sources(frame)
    if len(frame) > 1:
        by_query: Effect = "robustness" if effect == "robustness" else "quality"
        _queries(artefact, frame, by_query, str(measure))
    choice.export_row(artefact, effects, table, str(measure))


def _picture(frame: pd.DataFrame, effect: figure.Effect, measure: str, place: Any) -> Any:
    effects = cached_figure(figure.effects, frame, effect, measure, step_of)
    if len(frame) < 2:
        place.info("Only one variant is stored: there is nothing to compare.")
        return effects
    chart(effects, "effects", place=place)
    words = "Diamonds: whole recipes; dots: single differences from the paper's."
    if effect in {"quality", "robustness"}:
        words += " Full: more than chance (p ≤ .05, Holm); arrows: beyond the axis."
    place.caption(words)
    return effects


def _sources(frame: pd.DataFrame) -> None:
    """Each difference with the line that it comes from."""
    known = frame[frame["source"] != ""]
    if not len(known):
        return
    st.subheader("Where each difference comes from")
    lines = [
        f"- **{escaped_sentence(variant.removeprefix(f'{BASE} + '))}** — {escaped_sentence(source)}"
        for variant, source in zip(known["variant"], known["source"], strict=True)
    ]
    st.markdown("\n".join(lines))


@st.fragment
def _queries(artefact: Artefact, table: pd.DataFrame, effect: Effect, measure: str) -> None:
    """Draw the choice of a variant, its bars and, where one is chosen, a query's two answers."""
    base, *labels = map(str, table["variant"])
    st.subheader("Which queries gain, which lose?")
    usual = sections.most_changed(table, effect)
    variant = st.selectbox(
        f"Variant, beside {base}", labels, index=labels.index(usual) if usual in labels else 0,
        key="variant", bind="query-params",
    )  # fmt: skip
    if variant is None:
        return
    frame = compute(str(artefact.key), sections.by_query, variant, effect, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    parts.finding(sections.query_finding(frame, variant, effect, measure))
    bars = figure.queries(frame, variant, effect, measure)
    chart(bars, BARS, CLICK)
    query = query_comparison.query(frame["query"], "Click a bar, or choose a query")
    if query is not None:
        _one_query(artefact, (variant, BASE), query)


def _one_query(artefact: Artefact, pair: tuple[str, str], query: str) -> None:
    try:
        answers = _answers(artefact, pair, query)
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return
    if answers is None:
        st.caption("One of the two is not stored any more: run the ablation again.")
        return
    chart(benchmark_query.two_answers(answers, pair), "two answers", config=parts.PLAIN)
    parts.note(
        f"Query {query}, the lists as they are. Left: the initial ranking. Middle: "
        f"{pair[0]}. Right: {pair[1]}. Filled marks are relevant documents, strong lines are "
        "relevant ones that the two put at different places."
    )


def _answers(artefact: Artefact, pair: tuple[str, str], query: str) -> pd.DataFrame | None:
    """The documents of a list and where two variants put them; None where one is gone."""
    data = scoring.describe(str(artefact.facts["data"]))
    digests = dict(artefact.recipe["rankers"])
    known = {ranker.digest: ranker for ranker in scoring.rankers_of(data)}
    rankers = tuple(known[digests[label]] for label in pair if digests[label] in known)
    if len(rankers) < len(pair):
        return None
    lists: dict[str, Any] = dict(artefact.facts["lists"])
    recipe = ListRecipe(**(lists | {"initial": tuple(lists["initial"])}))
    query_list = scoring.List(data.data, data.test, recipe, query)
    answers = scoring.answers(query_list, rankers, "initial", "initial")
    documents = scoring.documents(query_list, ("initial",))
    rows = np.arange(len(documents.ids))
    places = {
        label: positions_of(np.array(answer.before, dtype=np.float32), rows)
        for label, answer in zip(pair, answers, strict=True)
    }
    given = {"document": documents.ids, "label": documents.labels, "initial": rows + 1}
    return pd.DataFrame(given | places)


OWN = "each its own"
RANKERS = tuple(
    name for name in FIXED if {BASE, *Ablation.towards} <= set(registry.RANKERS[name].presets)
)


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture | None, str]:
    """The variants that are there."""
    table, total = sections.table(result), len(result.recipe["rankers"])
    picture = Picture("ablation", (table, "quality", study.MEASURE, step_of))
    words = f"{len(table)} of {total} variants are trained and measured."
    return picture if len(table) > 1 else None, words


def ranker(_declared: Parameter, now: str) -> str:
    """Draw the choice of a network."""
    at = RANKERS.index(now) if now in RANKERS else 0
    return str(
        st.selectbox(
            "Ranker", RANKERS, index=at, key="new.ranker", format_func=with_display_names,
            help="A network whose paper and released code differ.",
        )
    )  # fmt: skip


def sizes(_declared: Parameter, now: str | None) -> str | None:
    """Draw the choice of a preset whose sizes all variants take."""
    presets = [*training.PRESETS, OWN]
    chosen = st.selectbox(
        "Sizes", presets, index=presets.index(now) if now in presets else len(presets) - 1,
        key="new.sizes",
        help="Widths, depth, batches and epochs of this preset for all variants, so that the "
        "differences can be seen on a small machine; all else stays each variant's own.",
    )  # fmt: skip
    return None if chosen == OWN else str(chosen)


def towards(_declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of recipes whose differences are taken one by one."""
    chosen = st.multiselect(
        "Differences towards", (*Ablation.towards, PAPER), default=list(now), key="new.towards",
        help="Every step from the paper's recipe towards these, one at a time; claims: what "
        "DLCM's paper compares and no preset has (directions, cells, losses).",
    )  # fmt: skip
    return tuple(chosen)


def usual_values(_data: str) -> Mapping[str, Any]:
    """The sizes of a preset that is trained at once."""
    return {"sizes": proposals.for_training()[0]}


FORM = Form(
    job_panel.Panel(Ablation.kind, "ablation", partial_picture),
    "Run an ablation",
    "Run this ablation",
    rows=(("ranker", "sizes"), ("towards",), ("levels", "draws")),
    from_shown=("ranker",),
    usual=usual_values,
    proposed=to_train,
    widgets={"ranker": ranker, "sizes": sizes, "towards": towards},
)
