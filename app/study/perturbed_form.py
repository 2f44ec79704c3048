"""What the forms of cards, perturbations and worst cases share: rankers, lists and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shuffleproof.app import disturbed, proposals, state, training
from shuffleproof.app.forms import drawn
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import fields
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.parameters import parsed
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.running import Underway

HELP = "Add @preset (dlcm@tuned), #digits of a trained ranker's key, or feature:<id>."
"""What may be written into the field of rankers."""

COUNTED = " (the initial ranking is one of the rankers; undisturbed lists are drawn once)"
"""Why trials are not simply levels × draws × the rankers chosen."""


def rankers(before: Sequence[str]) -> list[str]:
    """Draw the choice of the rankers to be studied."""
    return fields.rankers(state.data(), before, {registry.FEATURE}, HELP)


def lists(data: str, usual: ListRecipe) -> dict[str, Any]:
    """Draw how the candidate lists are made; what was chosen, to be read by `asked`."""
    initial = fields.initial(data, usual)
    return {"initial": tuple(initial or usual.initial), "changes": drawn(usual, "new.lists")}


def asked(
    data: str, names: Sequence[str], usual: ListRecipe, chosen: Mapping[str, Any]
) -> tuple[dict[str, Any], ListRecipe]:
    """The parameters of a job that all three kinds have, and the lists as a recipe.

    Raises:
        ShuffleproofError: a value that the lists do not take, or a ranker that there is not.
    """
    recipe = replace(parsed(usual, chosen["changes"]), initial=chosen["initial"])
    for name in names:
        proposals.check(name)
    parameters: dict[str, Any] = {"data": data, "rankers": list(names)}
    made = training.lists_asked(data, recipe)
    return parameters | ({"lists": made} if made else {}), recipe


def trainings(data: str, names: Sequence[str], recipe: ListRecipe) -> str:
    """What must be trained first, in words that go on a sentence; empty where nothing is."""
    try:
        fitting = training.fitting(data)
        costs = []
        for name in names:
            own = RankerName.parse(name)
            if own.digits or own.base not in training.FITTED:
                continue
            preset = own.preset or training.usual_preset(data)
            plan = training.planned(fitting, recipe, own.base, preset, {})
            costs += [] if plan.there else [plan.cost]
        first = training.preparing(fitting, recipe)
    except ShuffleproofError:
        return ""
    if not costs and first is None:
        return ""
    low, high = cost.added([*costs, *([first] if first else [])])
    count = f"{len(costs)} training{'s' if len(costs) != 1 else ''}"
    return f"; {count} first, from **{duration(low)}** to **{duration(high)}** on this machine"


def trials(
    shown: Artefact | None, names: Sequence[str], each: int, data: str
) -> tuple[str, list[str]]:
    """How long scoring takes by what it took in a study, in words, and the rankers not timed.

    Args:
        shown: the shown study of this kind.
        names: rankers as the job names them.
        each: trials a ranker.
        data: the data set.
    """
    known = _timed(shown, data) if shown else {}
    timed = [name for name in names if name in known]
    words = ""
    if timed:
        seconds = each * (sum(known[name] for name in timed) + known.get(INITIAL, 0.0))
        words = f", about **{duration(seconds)}** of scoring by the study shown"
    return words, [name for name in names if name not in known]


def _timed(shown: Artefact, data: str) -> dict[str, float]:
    """Seconds of a trial by ranker, under the study's own names and as a job names them now."""
    known = disturbed.seconds_a_trial(str(shown.key))
    labels = [label for label in disturbed.rankers(shown.recipe) if label != INITIAL]
    named = proposals.for_study(data, shown).rankers
    return known | {
        name: known[label] for label, name in zip(labels, named, strict=False) if label in known
    }


def not_timed(names: Sequence[str]) -> str:
    """The rankers whose scoring was never timed, in words that go on a sentence."""
    return f"; not timed on this set: {escaped(', '.join(names))}" if names else ""


def begun(one: Underway, job: Job) -> bool:
    """Whether an announced study is the one that a job works on."""
    given = job.parameters
    labels = [label for label in disturbed.rankers(one.recipe) if label != INITIAL]
    return bool(
        one.facts["data"] == given["data"]
        and labels == list(given["rankers"])
        and (one.recipe["draws"], one.recipe["seed"]) == (given["draws"], given["seed"])
    )
