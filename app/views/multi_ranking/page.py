"""The page of Table 4: none, one or many initial rankings, left out and exchanged."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, state, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import multi_ranking as figure
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import choice, job_panel, measures, parts, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form, FormState
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study_access import compute, dated_name
from shuffleproof.app.views.multi_ranking import queries
from shuffleproof.app.views.multi_ranking.queries import is_by_itself
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.names import swap_named
from shuffleproof.core.studies.paired_differences import STEPS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART = "conditions"
AXES: dict[figure.ShownValue, str] = {"mean": "Measure", "change": "Change"}
ADJUSTED = "Intervals of changes are adjusted as p is: they leave out 0 where p ≤ .05."


def page() -> None:
    """Draw a stored study of the data set in use: dots, finding, verdict, then details."""
    there = shell.page(
        FORM,
        "Several rankings",
        lambda stored: _study(state.data(), stored),
        missing="No study of several initial rankings is stored for {data} yet.",
        remedy="Press the button below: SetRank is trained without, with one and with several "
        "initial rankings; then they are left out and exchanged.",
    )
    if not there:
        queries.geometry(state.data(), None, None)


def rankers_of(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a study was asked for, without the initial rankings by themselves."""
    labels = dict.fromkeys(row["label"] for row in recipe["rows"])
    return [label for label in labels if not is_by_itself(label)]


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return dated_name(artefact, counted(len(rankers_of(artefact.recipe)), "ranker"))


def words(artefact: Artefact) -> str:
    """A stored study in a line: trained on which rankings, what was put in their place."""
    lists = artefact.facts["lists"]
    swaps = artefact.recipe["initial"][len(lists["initial"]) :]
    seeds = max((row["seeds"] for row in artefact.recipe["rows"]), default=1)
    text = f"initial rankings: {', '.join(lists['initial'])}"
    text += f" · exchanged for: {', '.join(swaps)}" if swaps else ""
    return f"{text} · top {lists['depth'] or 'all'} · {counted(seeds, 'seed')}"


@st.fragment
def _study(data: str, stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, short_words, words)
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        shown = st.segmented_control(
            "Horizontal axis", list(AXES), default="mean", required=True,
            format_func=AXES.__getitem__, key="x", bind="query-params",
            help="The mean, or its change from the ranker as trained.",
        )  # fmt: skip
        rankers = choice.rankers(rankers_of(artefact.recipe), top.notices, key)
    with top.notes:
        finding = st.container()
        line, menu = parts.convention_line()
        with menu:
            measure = measures.choice(artefact.recipe)
            alone = st.toggle(
                "The initial rankings by themselves too", key="alone", bind="query-params",
                help="What each of them reaches without any ranker, the oracle included.",
            )  # fmt: skip
        with line:
            queried = f"N = {counted(artefact.facts['queries'], 'query')}"
            parts.convention(measure.convention(), queried, "95 % intervals over queries")
    top.says(measures=(str(measure),), rankers=rankers)
    frame = compute(key, sections.table, str(measure))
    rows = frame[frame["ranker"].isin(rankers)]
    if shown == "change":
        rows = rows[rows["ranker"].isin(rows[rows["change"].notna()]["ranker"])]
    elif alone:
        by_themselves = frame["ranker"].map(is_by_itself)
        rows = frame[frame["ranker"].isin(rankers) | by_themselves]
    dots = _picture(rows, str(measure), shown or "mean", top.picture)
    with finding, parts.in_words():
        _verdict(frame, key, str(measure))
    queries.section(artefact, frame, str(measure))
    table = Table(frame, sections.COLUMNS, f"{measure} of every ranker under every condition")
    _numbers(table)
    _claim(key, str(measure))
    queries.geometry(data, key, artefact.facts["lists"]["depth"])
    choice.export_row(artefact, dots, table)


def _picture(rows: pd.DataFrame, measure: str, shown: figure.ShownValue, place: Any) -> Any:
    if rows.empty:
        place.info("Nothing to draw: choose a ranker that reads an initial ranking, or the means.")
        return None
    dots = cached_figure(figure.conditions, rows, measure, shown)
    chart(dots, figure.alt_text(rows, measure), CHART, queries.choose, place=place)
    place.caption(
        "Filled dots under a ranker: the change is more than chance (p ≤ .05 after Holm's "
        f"adjustment). {ADJUSTED if shown == 'change' else ''} Click one."
    )
    return dots


def _verdict(frame: pd.DataFrame, key: str, measure: str) -> None:
    sentences = sections.claim_sentences(frame, compute(key, sections.claim, measure))
    if sentences.rankers:
        parts.finding(sentences.rankers)
    if sentences.verdict:
        st.markdown(escaped_sentence(sentences.verdict))
    else:
        st.caption(
            "The paper's claim is about setrank-imsab, setrank-imsab-init and "
            "setrank-imsab-multi-init: with all three in a study, the verdict stands here."
        )


def _numbers(table: Table) -> None:
    st.subheader("Is it more than chance?")
    data_frame(table, "numbers")
    parts.convention(
        "Every condition is scored on the same candidates; DLCM is fed in the order of what stands "
        "in the initial ranking's place",
        escaped_sentence(sections.adjustment(table.frame)),
        ADJUSTED,
    )


def _claim(key: str, measure: str) -> None:
    claim = compute(key, sections.claim, measure)
    if claim is None:
        return
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(claim.steps, STEPS, title), "steps")
    st.caption(
        escaped_sentence(
            f"Many initial rankings beat one, and one beats none (SetRank, Table 4): {claim.word} "
            "here. It holds where both steps are above 0 at p ≤ .05."
        )
    )


GIVEN = {registry.FEATURE, "random", "ideal", "file-order"}
SAID = {
    "oracle": "the judgments themselves",
    "anti-oracle": "the judgments upside down",
    "random": "chance",
}


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The dots that are there."""
    measure = str(result.recipe["measures"][0])
    picture = Picture("conditions", (sections.table(result, measure), measure))
    return picture, f"{counted(len(result.trials), 'row')} of rankers and conditions so far."


def proposed_values(_data: str, shown: Artefact | None) -> Proposal:
    """The question's own rankers; the initial rankings of the study shown, else the paper's."""
    preset, lists = proposals.for_training()
    initial = [f"{name}@{preset}" for name in MultiRanking.initial]
    if shown is not None:
        initial = list(shown.facts["lists"]["initial"])
    return Proposal((), ListRecipe(tuple(initial), lists.depth, lists.scores, lists.folds))


def swaps(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw what is put in the first initial ranking's place."""
    found = st.multiselect(
        "Exchanged at test time for", list(dict.fromkeys([*now, *MultiRanking.swaps])),
        default=list(now), accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help=f"{declared.help}, once the ranker is trained; any initial ranker can be named.",
    )  # fmt: skip
    return tuple(found)


def cost(asked: FormState) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, a ranker that there is not, or one
            that reads more initial rankings than are chosen.
    """
    fitting, question, preset = training.fit_size(asked.data), asked.question, asked.preset
    plans = []
    for name, seeds in trial_cost.rankers_to_train(question.rankers, question.seeds):
        reads = registry.spec(name, preset).rankings
        if reads > len(asked.lists.initial):
            raise MissingRankingError(str(name), reads, len(asked.lists.initial))
        for seed in range(seeds):
            changes = {"rankings": str(reads)} if reads else {}
            changes |= {"seed": str(seed)} if seeds > 1 else {}
            plans.append(training.plan_training(fitting, asked.lists, name, preset, changes))
    for swap in question.swaps:
        swap_named(swap, preset)
    text = trial_cost.in_words(plans, training.list_cost(fitting, asked.lists), fits=True)
    return f"{counted(len(question.rankers), 'ranker')}: {text}"


FORM = Form(
    job_panel.Panel(MultiRanking.kind, "study of several rankings", partial_picture),
    "Run a study of several rankings",
    "Run this study",
    rows=(("rankers",), ("initial", "swaps")),
    cost=cost,
    kept=("rankers", "swaps"),
    proposed=proposed_values,
    trains=True,
    widgets={"swaps": swaps},
    offered=lambda name: name not in GIVEN,
    note="Those that read no initial ranking are measured once; DLCM is fed in the order of what "
    "stands in its place.",
    list_fields=("depth", "scores", "folds", "seed"),
)
