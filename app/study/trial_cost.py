"""What a study of trained rankers will cost: trials, seconds, and trainings first."""

from collections.abc import Iterator, Sequence

from shuffleproof.app import disturbed_lists, proposals, study_access, training
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study.form import FormState
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment import cost
from shuffleproof.core.experiment.cost import Cost
from shuffleproof.core.experiment.forecast import PlannedTraining
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted, duration

COUNTED = " (the initial ranking is one of the rankers; undisturbed lists are drawn once)"
"""Why trials are not simply levels × draws × the rankers chosen."""


def trials(filled: FormState, pairs: Sequence[tuple[str, float]]) -> str:
    """How many trials there are, how long they take, and what must be trained first.

    Args:
        filled: what the form says.
        pairs: families and levels.
    """
    names, draws = filled.question.rankers, filled.question.draws
    each = sum(entry_of(family).draws(level, draws) for family, level in pairs)
    families = counted(len({family for family, _ in pairs}), "family")
    shown = filled.shown
    parts = [counted(shown.facts["queries"], "query")] if shown else []
    parts += [f"{families} with {counted(len(pairs), 'level')}", counted(draws, "draw")]
    parts += [counted(len(names) + 1, "ranker")]
    text = f"{' × '.join(parts)} = **{counted(each * (len(names) + 1), 'trial')}**{COUNTED}"
    known = _timed(shown, filled.data) if shown else {}
    timed = [name for name in names if name in known]
    if timed:
        seconds = each * (sum(known[name] for name in timed) + known.get(INITIAL, 0.0))
        text += f", about **{duration(seconds)}** of scoring by the study shown"
    new = [name for name in names if name not in known]
    text += f"; not timed on this set: {escaped_sentence(', '.join(new))}" if new else ""
    return text + trainings(filled)


def trainings(filled: FormState) -> str:
    """What must be trained first, in words that go on a sentence; empty where nothing is."""
    names = map(RankerName.parse, filled.question.rankers)
    new = [name for name in names if not name.digits and name.base in training.FITTED]
    try:
        fitting = training.fit_size(filled.data)
        plans = [
            training.plan_training(fitting, filled.lists, name, filled.preset, {}) for name in new
        ]
        list_cost = training.list_cost(fitting, filled.lists)
    except ShuffleproofError:
        return ""
    costs = [plan.cost for plan in plans if not plan.there]
    if not costs and list_cost is None:
        return ""
    return f"; {counted(len(costs), 'training')} first, {span(costs, list_cost)} on this machine"


def span(costs: Sequence[Cost], list_cost: Cost | None = None) -> str:
    """How long trainings take one after another, in words.

    Args:
        costs: of each.
        list_cost: what making the lists takes, if anything.
    """
    low, high = cost.total_seconds([*costs, *([list_cost] if list_cost else [])])
    return f"from **{duration(low)}** to **{duration(high)}**"


def _timed(shown: Artefact, data: str) -> dict[str, float]:
    """Seconds of a trial by ranker, under the study's own names and as a job names them now."""
    means = study_access.result(str(shown.key)).trials.groupby("ranker")["seconds"].mean()
    known = {str(name): float(seconds) for name, seconds in means.items()}
    labels = [label for label in disturbed_lists.rankers(shown.recipe) if label != INITIAL]
    named = proposals.for_study(data, shown).rankers
    return known | {
        name: known[label] for label, name in zip(labels, named, strict=False) if label in known
    }


def rankers_to_train(names: Sequence[str], seeds: int) -> Iterator[tuple[RankerName, int]]:
    """Every ranker that has to be trained for these, with how many seeds; a combination has one.

    Raises:
        UsageError: no name of a ranker.
    """
    for name in expand(names):
        named = RankerName.parse(name)
        for leaf in named.leaves:
            if leaf.base in training.FITTED and not leaf.digits:
                yield leaf, 1 if named.parts else seeds


def in_words(
    plans: Sequence[PlannedTraining], list_cost: Cost | None, *, fits: bool = False
) -> str:
    """How many trainings there are and how long they take, in words.

    Args:
        plans: of all rankers; the same one counts once.
        list_cost: what making the lists takes, if anything.
        fits: whether to say how often initial rankers are fitted.
    """
    each = {plan.key: plan for plan in plans}.values()
    costs = [plan.cost for plan in each if not plan.there]
    there = len(each) - len(costs)
    text = f"**{counted(len(costs), 'training')}**"
    text += f" ({there} more {'is' if there == 1 else 'are'} stored)" if there else ""
    if list_cost and fits:
        text += f", {counted(list_cost.steps, 'fit')} of initial rankers"
    return text + (f", {span(costs, list_cost)} on this machine" if costs or list_cost else "")
