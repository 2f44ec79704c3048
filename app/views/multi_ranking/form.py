"""Running a study of several initial rankings: its form and cost, and its first dots."""

import streamlit as st

from shuffleproof.app import proposals, rankings, services, training
from shuffleproof.app.figures import initial_rankings as figure
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import trainings
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import SWAPS, swap_named
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

GIVEN = {registry.FEATURE, "random", "ideal", "file-order"}
SAID = {
    "oracle": "the judgments themselves",
    "anti-oracle": "the judgments upside down",
    "random": "chance",
}


def first(found: RunningStudy) -> None:
    """Draw the dots that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    frame = sections.table(result, measure)
    st.plotly_chart(
        figure.conditions(frame, measure),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} rankers and conditions so far.")


def proposed(_data: str, shown: Artefact | None) -> Proposal:
    """The question's own rankers; the initial rankings of the study shown, else the paper's."""
    preset, lists = proposals.for_training()
    initial = [f"{name}@{preset}" for name in MultiRanking.initial]
    if shown is not None:
        initial = list(shown.facts["lists"]["initial"])
    return Proposal((), ListRecipe(tuple(initial), lists.depth, lists.scores, lists.folds))


def swaps(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw what is put in the first initial ranking's place."""
    found = st.multiselect(
        "Exchanged at test time for", list(dict.fromkeys([*now, *SWAPS])), default=list(now),
        accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help=f"{declared.help}, once the ranker is trained; any initial ranker can be named.",
    )  # fmt: skip
    return tuple(found)


def cost(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, a ranker that there is not, or one
            that reads more initial rankings than are chosen.
    """
    fitting, question, preset = training.fitting(asked.data), asked.question, asked.preset
    plans = []
    for name, seeds in trainings.fitted(question.rankers, question.seeds):
        reads = registry.spec(name, preset).rankings
        if reads > len(asked.lists.initial):
            raise MissingRankingError(str(name), reads, len(asked.lists.initial))
        for seed in range(seeds):
            changes = {"rankings": str(reads)} if reads else {}
            changes |= {"seed": str(seed)} if seeds > 1 else {}
            plans.append(training.planned(fitting, asked.lists, name, preset, changes))
    for swap in question.swaps:
        swap_named(swap, preset)
    text = trainings.in_words(plans, training.preparing(fitting, asked.lists), fits=True)
    return f"{counted(len(question.rankers), 'ranker')}: {text}"


FORM = Form(
    Panel(rankings.KIND, "study of several rankings", first),
    "Run a study of several rankings",
    "Run this study",
    rows=(("rankers",), ("initial", "swaps")),
    cost=cost,
    kept=("rankers", "swaps"),
    proposed=proposed,
    trains=True,
    widgets={"swaps": swaps},
    offered=lambda name: name not in GIVEN,
    note="Those that read no initial ranking are measured once; DLCM is fed in the order of what "
    "stands in its place.",
    list_fields=("depth", "scores", "folds", "seed"),
)
