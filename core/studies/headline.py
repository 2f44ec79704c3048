"""Headline of a study in one sentence of at most 25 words, and the tiers of its rankers.

Both use paired losses per query of every ranker under every perturbation, tested together. The
sentence names the ranker that loses most, and the one whose largest loss is smallest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.words import listed, number, percent

Queries = Float[np.ndarray, " queries"]

ROBUST, DEGRADES, FAILS = "robust", "degrades", "fails"
TIE, INCONCLUSIVE = "tie", "inconclusive"
BEST = "best"

SMALL, LARGE = 0.02, 0.10
"""Shares of a ranker's mean. A loss surely below the first counts as none; a loss from the second
on is large. Our choice; no paper defines them."""

NAMED = 3
"""Most rankers without a loss that a headline names."""

LEAST_PRINTED = 0.001
"""Smallest loss that is printed as a number."""

TIERS: Mapping[str, str] = {
    ROBUST: "the loss is below 2 % of the mean (95 % CI)",
    DEGRADES: "the loss is significant (p ≤ .05, Holm) and below 10 % of the mean",
    FAILS: "the loss is significant (p ≤ .05, Holm) and at least 10 % of the mean",
    TIE: "the loss is within the ranker's own noise",
    BEST: "the highest mean",
    INCONCLUSIVE: "too few queries: the loss may be 0 or above 2 % of the mean",
}
"""Tiers of a ranker, by a paired t test and its interval (95 %, both after Holm's adjustment for
all rankers and perturbations of the study)."""


@dataclass(frozen=True)
class Loss:
    """Loss of a ranker under a perturbation.

    Attributes:
        ranker: its label.
        how: the perturbation, worded as the end of a sentence.
        share: lost share of its mean, 0 to 1; negative: gained.
        tier: one of TIERS.
        low: lower end of the interval of the share (95 %, adjusted by Holm).
        high: its upper end.
        n: number of queries with a value.
    """

    ranker: str
    how: str
    share: float
    tier: str
    low: float = 0.0
    high: float = 0.0
    n: int = 0


Point = tuple[str, str]
"""Label of a ranker, and its perturbation in words."""


def losses(
    values: Mapping[Point, tuple[Queries, Queries]], noisy: Collection[Point] = ()
) -> list[Loss]:
    """Losses of rankers from their values before and after, the largest first.

    Args:
        values: per query, unperturbed and perturbed; NaN where the measure has no value.
        noisy: points whose change is within the ranker's own noise.

    >>> before, some = np.linspace(0.4, 0.6, 50), np.linspace(0.0, 0.02, 50)
    >>> lost = losses({("a", "x"): (before, before - 0.2), ("b", "x"): (before, before - some)})
    >>> [(loss.ranker, round(loss.share, 3), loss.tier) for loss in lost]
    [('a', 0.4, 'fails'), ('b', 0.02, 'degrades')]
    """
    lost = {point: np.subtract(*both).astype(np.float64) for point, both in values.items()}
    lost = {point: loss for point, loss in lost.items() if not np.isnan(loss).all()}
    if not lost:
        return []
    tests: list[Any] = [*mean_differences(np.stack([*lost.values()])).itertuples()]
    losses_of_points = []
    for (point, loss), test in zip(lost.items(), tests, strict=True):
        start = float(np.nanmean(values[point][0]))
        tier = TIE if point in noisy else _tier(test, start)
        share, low, high = (
            value / start if start else 0.0 for value in (test.mean, test.low, test.high)
        )
        # Without any change there is no variance to test: the ranker is robust
        is_still = not np.nan_to_num(loss).any()
        tier = ROBUST if is_still else tier
        losses_of_points.append(Loss(*point, share, tier, low, high, int(test.n)))
    return sorted(losses_of_points, key=lambda loss: -loss.share)


def _tier(loss: Any, start: float) -> str:
    """Tier of a ranker, from its tested mean loss and its unperturbed mean."""
    if loss.high < SMALL * start:
        return ROBUST
    if not loss.low > 0:
        return INCONCLUSIVE
    return FAILS if loss.mean >= LARGE * start else DEGRADES


def worst_of_each(losses: Sequence[Loss]) -> list[Loss]:
    """Largest loss of each ranker, for losses in falling order; the result keeps that order.

    >>> losses = [Loss("a", "x", 0.2, FAILS), Loss("b", "x", 0.1, FAILS), Loss("a", "y", 0.0, "")]
    >>> [(loss.ranker, loss.how) for loss in worst_of_each(losses)]
    [('a', 'x'), ('b', 'x')]
    """
    worst: dict[str, Loss] = {}
    for loss in losses:
        worst.setdefault(loss.ranker, loss)
    return [*worst.values()]


def headline(losses: Sequence[Loss]) -> Headline:
    """Headline: the ranker that loses most, its loss, and the ranker that loses least.

    >>> swaps = [Loss("dlcm", "by 20", 0.137, FAILS), Loss("gsf", "by 20", 0.004, ROBUST)]
    >>> headline(swaps).text
    'DLCM loses 13.7 % by 20; GSF loses least: 0.4 %.'
    >>> headline([Loss("dlcm", "by 20", 0.137, FAILS), Loss("gsf", "by 5", 0.1, FAILS)]).text
    'DLCM loses 13.7 % by 20; GSF at worst 10.0 %.'
    >>> still = [Loss("dlcm", "by 20", 0.2, FAILS), Loss("gsf", "", 0, ""), Loss("mart", "", 0, "")]
    >>> headline(still).text
    'DLCM loses 20.0 % by 20; GSF and MART lose nothing.'
    >>> headline([Loss("dlcm", "by 20", 0.0071, FAILS), Loss("gsf", "by 20", 0.0069, FAILS)]).text
    'DLCM loses 0.7 % by 20; GSF loses as much.'
    """
    each = worst_of_each(losses)
    if not each:
        return Headline("There is nothing to compare.", INCONCLUSIVE)
    first, last = each[0], each[-1]
    if all(loss.share == 0 for loss in each):
        who = _name(first) if len(each) == 1 else f"None of {len(each)} rankers"
        verb = "loses nothing" if len(each) == 1 else "loses anything"
        return Headline(f"{who} {verb} {first.how}.", ROBUST, TIERS[ROBUST])
    chance = ", not significant" if first.tier == INCONCLUSIVE else ""
    text = f"{_name(first)} {_loses(first.share)} {first.how}{_interval(first)}{chance}"
    if last is not first:
        still = [_name(loss) for loss in each if loss.share == 0]
        if len(still) > NAMED:
            still = [still[-1], f"{len(still) - 1} others"]
        alike = f"{listed(still)} lose nothing"
        text += f"; {alike if len(still) > 1 else f'{_name(last)} {_lowest_loss(last, first)}'}"
    return Headline(f"{text}.", first.tier, TIERS[first.tier])


def of_one_list(values: Iterable[tuple[float, float]], *, changed: bool) -> tuple[str, str]:
    """Tier of rankers on one list (no test is possible), and its meaning.

    Args:
        values: NDCG@10 before and after, a pair per ranker; NaN where it is undefined.
        changed: True if any ranking changed.

    >>> of_one_list([(0.9, 0.7), (0.8, 0.8)], changed=True)[0]
    'fails'
    """
    shares = (1 - after / before for before, after in values if before > 0 and after >= 0)
    tier = FAILS if max(shares, default=0.0) >= LARGE else DEGRADES if changed else ROBUST
    return tier, ONE_LIST


ONE_LIST = (
    "this list alone: robust, the ranking is unchanged; fails, at least 10 % of the measure is "
    "lost; degrades, anything between"
)


def _lowest_loss(last: Loss, first: Loss) -> str:
    """Part of the headline on the ranker that loses least."""
    share = _share(last.share)
    if last.share <= 0:
        return "loses nothing" if last.share == 0 else f"gains {_share(-last.share)}"
    if share == _share(first.share):
        return "loses as much"
    return f"loses least: {share}" if last.how == first.how else f"at worst {share}"


def _interval(loss: Loss) -> str:
    """Interval of a share, and the number of queries; empty without them.

    >>> _interval(Loss("dlcm", "by 20", 0.137, FAILS, 0.1, 0.174, 150))
    ' (95 % CI 10.0–17.4 %, n = 150)'
    """
    if not loss.n or loss.share == 0:
        return ""
    low, high = sorted(100 * np.sign(loss.share) * end for end in (loss.low, loss.high))
    to = "–" if low >= 0 else " to "
    return f" (95 % CI {number(low, '.1f')}{to}{number(high, '.1f')} %, n = {loss.n:,})"


def _name(loss: Loss) -> str:
    return RankerName.of(loss.ranker).display


def _share(share: float) -> str:
    return percent(share, 1) if share >= LEAST_PRINTED else f"under {percent(LEAST_PRINTED, 1)}"


def _loses(share: float) -> str:
    return f"loses {_share(share)}" if share >= 0 else f"gains {_share(-share)}"
