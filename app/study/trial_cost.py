"""What a study of trained rankers will cost: trials, seconds, and trainings first."""

from collections.abc import Sequence

from shuffleproof.app import disturbed, proposals, training
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study.form import Asked
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.words import counted

COUNTED = " (the initial ranking is one of the rankers; undisturbed lists are drawn once)"
"""Why trials are not simply levels × draws × the rankers chosen."""


def trials(asked: Asked, pairs: Sequence[tuple[str, float]]) -> str:
    """How many trials there are, how long they take, and what must be trained first.

    Args:
        asked: what the form says.
        pairs: families and levels.
    """
    names, draws = asked.question.rankers, asked.question.draws
    each = sum(entry_of(family).draws(level, draws) for family, level in pairs)
    families = counted(len({family for family, _ in pairs}), "family")
    shown = asked.shown
    parts = [counted(shown.facts["queries"], "query")] if shown else []
    parts += [f"{families} with {counted(len(pairs), 'level')}", counted(draws, "draw")]
    parts += [counted(len(names) + 1, "ranker")]
    text = f"{' × '.join(parts)} = **{counted(each * (len(names) + 1), 'trial')}**{COUNTED}"
    known = _timed(shown, asked.data) if shown else {}
    timed = [name for name in names if name in known]
    if timed:
        seconds = each * (sum(known[name] for name in timed) + known.get(INITIAL, 0.0))
        text += f", about **{duration(seconds)}** of scoring by the study shown"
    new = [name for name in names if name not in known]
    text += f"; not timed on this set: {escaped(', '.join(new))}" if new else ""
    return text + trainings(asked)


def trainings(asked: Asked) -> str:
    """What must be trained first, in words that go on a sentence; empty where nothing is."""
    try:
        fitting = training.fitting(asked.data)
        costs = []
        for name in asked.question.rankers:
            own = RankerName.parse(name)
            if own.digits or own.base not in training.FITTED:
                continue
            plan = training.planned(fitting, asked.lists, own, asked.preset, {})
            costs += [] if plan.there else [plan.cost]
        first = training.preparing(fitting, asked.lists)
    except ShuffleproofError:
        return ""
    if not costs and first is None:
        return ""
    low, high = cost.added([*costs, *([first] if first else [])])
    count = counted(len(costs), "training")
    return f"; {count} first, from **{duration(low)}** to **{duration(high)}** on this machine"


def _timed(shown: Artefact, data: str) -> dict[str, float]:
    """Seconds of a trial by ranker, under the study's own names and as a job names them now."""
    known = disturbed.seconds_a_trial(str(shown.key))
    labels = [label for label in disturbed.rankers(shown.recipe) if label != INITIAL]
    named = proposals.for_study(data, shown).rankers
    return known | {
        name: known[label] for label, name in zip(labels, named, strict=False) if label in known
    }
