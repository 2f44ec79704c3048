"""What the forms of set size and several rankings say of the trainings that a study needs."""

from collections.abc import Iterator, Sequence

from shuffleproof.app import training
from shuffleproof.app.jobs import duration
from shuffleproof.app.training import Plan
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.cost import Cost
from shuffleproof.core.studies.ranker_sets import expanded


def fitted(names: Sequence[str], seeds: int) -> Iterator[tuple[RankerName, int]]:
    """Every ranker that has to be trained for these, with how many seeds; a combination has one.

    Raises:
        UsageError: no name of a ranker.
    """
    for name in expanded(names):
        named = RankerName.parse(name)
        for leaf in named.leaves:
            if leaf.base in training.FITTED and not leaf.digits:
                yield leaf, 1 if named.parts else seeds


def plain(names: Sequence[str]) -> list[str]:
    """Those that are trained and named without a preset, combinations taken apart."""
    leaves = [leaf for name in expanded(names) for leaf in RankerName.of(name).leaves]
    return [str(leaf) for leaf in leaves if str(leaf) in training.FITTED]


def in_words(plans: Sequence[Plan], first: Cost | None, *, fits: bool = False) -> str:
    """How many trainings there are and how long they take, in words.

    Args:
        plans: of all rankers; the same one counts once.
        first: what making the lists takes, if anything.
        fits: whether to say how often initial rankers are fitted.
    """
    each = {plan.key: plan for plan in plans}.values()
    costs = [plan.cost for plan in each if not plan.there]
    there = len(each) - len(costs)
    text = f"**{len(costs)} training{'' if len(costs) == 1 else 's'}**"
    text += f" ({there} more {'is' if there == 1 else 'are'} stored)" if there else ""
    if first and fits:
        count = first.steps
        text += f", {count} fit{'' if count == 1 else 's'} of initial rankers"
    if costs or first:
        low, high = cost.added(costs)
        low, high = low + (first.low if first else 0.0), high + (first.high if first else 0.0)
        text += f", from **{duration(low)}** to **{duration(high)}** on this machine"
    return text
