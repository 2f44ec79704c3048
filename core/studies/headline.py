"""The answer of a study in one sentence of at most 20 words, and what becomes of the rankers.

Both rest on paired losses: of every ranker under every disturbance, query by query, tested
together. The sentence names the ranker that loses most and the one whose worst is least.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from shuffleproof.core.metrics.significance import adjusted
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.words import percent

Queries = Float[np.ndarray, " queries"]

SURVIVES, BENDS, BREAKS = "survives", "bends", "breaks"
NOISE, UNTOLD = "within noise", "cannot be told"

SMALL, LARGE = 0.02, 0.10
"""Shares of a ranker's mean: a loss surely below the first is none, one from the second on is
large. Chosen by us; no paper has them."""

TIERS: Mapping[str, str] = {
    SURVIVES: "surely less than 2 % of its mean is lost",
    BENDS: "it loses, more than chance, less than 10 % of its mean",
    BREAKS: "it loses, more than chance, 10 % of its mean or more",
    NOISE: "what it loses is not told apart from its own noise",
    UNTOLD: "2 % of its mean or nothing may be lost: too few queries to tell",
}
"""What becomes of a ranker, by a paired t test and its interval (95 %, both after Holm's
adjustment for all rankers and disturbances of the study)."""


@dataclass(frozen=True)
class Loss:
    """What a disturbance costs a ranker.

    Attributes:
        ranker: its label.
        how: the disturbance, as it ends a sentence.
        share: of its mean that is lost, 0 to 1; negative: gained.
        tier: one of TIERS.
    """

    ranker: str
    how: str
    share: float
    tier: str


Point = tuple[str, str]
"""A ranker's label, and how it is disturbed, in words."""


def losses(
    values: Mapping[Point, tuple[Queries, Queries]], noisy: Collection[Point] = ()
) -> list[Loss]:
    """What becomes of rankers, from their values before and after, the largest loss first.

    Args:
        values: of every query as it is and disturbed, NaN where the measure leaves it out.
        noisy: those whose change is not told apart from the ranker's own noise.

    >>> before, some = np.linspace(0.4, 0.6, 50), np.linspace(0.0, 0.02, 50)
    >>> found = losses({("a", "x"): (before, before - 0.2), ("b", "x"): (before, before - some)})
    >>> [(one.ranker, round(one.share, 3), one.tier) for one in found]
    [('a', 0.4, 'breaks'), ('b', 0.02, 'bends')]
    """
    lost = {point: np.subtract(*pair).astype(np.float64) for point, pair in values.items()}
    lost = {point: loss for point, loss in lost.items() if not np.isnan(loss).all()}
    if not lost:
        return []
    _, low, high = adjusted(np.stack([*lost.values()]))
    ranked = []
    for (point, loss), bounds in zip(lost.items(), zip(low, high, strict=True), strict=True):
        start, mean = float(np.nanmean(values[point][0])), float(np.nanmean(loss))
        unchanged = not np.nan_to_num(loss).any()
        tier = NOISE if point in noisy else _tier(mean, *bounds, start)
        share = mean / start if start else 0.0
        ranked.append(Loss(*point, share, SURVIVES if unchanged else tier))
    return sorted(ranked, key=lambda item: -item.share)


def _tier(mean: float, low: float, high: float, start: float) -> str:
    """What becomes of a ranker by its mean loss, the interval of that, and its mean."""
    if high < SMALL * start:
        return SURVIVES
    if not low > 0:
        return UNTOLD
    return BREAKS if mean >= LARGE * start else BENDS


def worst_of_each(found: Sequence[Loss]) -> list[Loss]:
    """The largest loss of each ranker; losses stand in falling order, before and after.

    >>> losses = [Loss("a", "x", 0.2, BREAKS), Loss("b", "x", 0.1, BENDS), Loss("a", "y", 0.0, "")]
    >>> [(loss.ranker, loss.how) for loss in worst_of_each(losses)]
    [('a', 'x'), ('b', 'x')]
    """
    worst: dict[str, Loss] = {}
    for loss in found:
        worst.setdefault(loss.ranker, loss)
    return [*worst.values()]


def headline(found: Sequence[Loss]) -> Headline:
    """The sentence: who loses most, by what, and who loses least.

    >>> headline([Loss("dlcm", "by 20 swaps", 0.137, BREAKS), Loss("gsf", "", 0.004, SURVIVES)])
    ... # doctest: +ELLIPSIS
    Headline(text='DLCM loses 13.7 % by 20 swaps; GSF loses least: 0.4 %.', tier='breaks', ...)
    """
    worst = worst_of_each(found)
    if not worst:
        return Headline("There is nothing to compare.", UNTOLD)
    first, last = worst[0], worst[-1]
    if all(loss.share == 0 for loss in worst):
        subject = _name(first) if len(worst) == 1 else f"None of {len(worst)} rankers"
        verb = "loses nothing" if len(worst) == 1 else "loses anything"
        return Headline(f"{subject} {verb} {first.how}.", SURVIVES, TIERS[SURVIVES])
    chance = ", which may be chance" if first.tier == UNTOLD else ""
    text = f"{_name(first)} {_loss_in_words(first.share)} {first.how}{chance}"
    if last is not first:
        least = "nothing" if last.share == 0 else f"least: {_share(last.share)}"
        text += f"; {_name(last)} "
        text += f"gains {_share(-last.share)}" if last.share < 0 else f"loses {least}"
    return Headline(f"{text}.", first.tier, TIERS[first.tier])


def _name(loss: Loss) -> str:
    return RankerName.of(loss.ranker).display


def _share(share: float) -> str:
    return percent(share, 1)


def _loss_in_words(share: float) -> str:
    return f"loses {_share(share)}" if share >= 0 else f"gains {_share(-share)}"
