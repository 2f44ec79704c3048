"""Every family of perturbations by name, and the Kendall τ that one really left."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from core.data import ragged
from core.data.falling import falling_order
from core.data.lists import CandidateLists
from core.errors import ParameterError, UnknownNameError
from core.metrics.agreement import kendall_tau
from core.perturb import arrangements
from core.perturb.base import Perturbation
from core.perturb.presentation import PresentationPerturbation
from core.perturb.ranking import RankingPerturbation


@dataclass(frozen=True)
class PerturbationEntry:
    """A family of perturbations: what its level means and which levels make sense.

    Attributes:
        family: its name.
        summary: what it does, one sentence.
        source: where it comes from.
        unit: what the level counts.
        low: least level.
        high: greatest level; infinite where there is none.
        default_levels: levels of a first study, the unchanged lists first where there are several.
        make: the perturbation of a level.
        unchanged: the level at which the lists stay as they are.
        whole: the level is a whole number.
    """

    family: str
    summary: str
    source: str
    unit: str
    low: float
    high: float
    default_levels: tuple[float, ...]
    make: Callable[[float], Perturbation]
    unchanged: float = 0.0
    whole: bool = False


_SHARES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_INFINITE = float("inf")

_ENTRIES = (
    PerturbationEntry(
        "transpositions",
        "Random pairs of documents, at any distance, exchange their places in the ranking.",
        "SetRank (Pang et al. 2020), Figure 3",
        "exchanges a list",
        0.0,
        _INFINITE,
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0),
        lambda level: RankingPerturbation("transpositions", level, arrangements.transposed),
        whole=True,
    ),
    PerturbationEntry(
        "adjacent-inversions",
        "Neighbours in the ranking are exchanged until exactly this many pairs are inverted.",
        "inversions as Kendall's τ counts them; drawn by a random walk",
        "inversions a list",
        0.0,
        _INFINITE,
        (0.0, 1.0, 5.0, 20.0, 80.0, 160.0, 320.0),
        lambda level: RankingPerturbation(
            "adjacent-inversions", level, arrangements.inverted, unties=True
        ),
        whole=True,
    ),
    PerturbationEntry(
        "shuffle",
        "A share of the places, drawn at random, exchange their documents at random.",
        "an even draw of all orders at level 1",
        "share of the places",
        0.0,
        1.0,
        _SHARES,
        lambda level: RankingPerturbation("shuffle", level, arrangements.shuffled),
    ),
    PerturbationEntry(
        "reverse",
        "A share of the places, drawn at random, hold their documents in reverse order.",
        "the ranking turned upside down at level 1",
        "share of the places",
        0.0,
        1.0,
        _SHARES,
        lambda level: RankingPerturbation("reverse", level, arrangements.turned),
    ),
    PerturbationEntry(
        "mallows",
        "An order drawn from Mallows' model around the ranking, at an expected Kendall τ.",
        "Mallows (1957); drawn by repeated insertion (Doignon et al. 2004)",
        "expected Kendall τ",
        -1.0,
        1.0,
        (1.0, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0),
        lambda level: RankingPerturbation("mallows", level, arrangements.mallows, unchanged=1.0),
        unchanged=1.0,
    ),
    PerturbationEntry(
        "score-noise",
        "The order of the prior scores plus Gaussian noise.",
        "noise in units of the list's own standard deviation of prior scores",
        "standard deviations",
        0.0,
        _INFINITE,
        (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0),
        lambda level: RankingPerturbation("score-noise", level, arrangements.noisy),
    ),
    PerturbationEntry(
        "shuffle-shown",
        "A share of the positions shown exchange their documents; prior ranks stay.",
        "permutation invariance (SetRank, section 3)",
        "share of the positions",
        0.0,
        1.0,
        (1.0,),
        lambda level: PresentationPerturbation("shuffle-shown", level, arrangements.shuffled),
    ),
    PerturbationEntry(
        "reverse-shown",
        "A share of the positions shown hold their documents in reverse order; prior ranks stay.",
        "permutation invariance (SetRank, section 3)",
        "share of the positions",
        0.0,
        1.0,
        (1.0,),
        lambda level: PresentationPerturbation("reverse-shown", level, arrangements.turned),
    ),
)

PERTURBATIONS: dict[str, PerturbationEntry] = {entry.family: entry for entry in _ENTRIES}


def perturbation(family: str, level: int | float) -> Perturbation:
    """The perturbation of a family at a level.

    Raises:
        UnknownNameError: no such family.
        ParameterError: a level out of its bounds, or broken where whole ones are due.

    >>> str(perturbation("transpositions", 5))
    'transpositions:5'
    """
    if family not in PERTURBATIONS:
        raise UnknownNameError("perturbation", family, PERTURBATIONS)
    entry = PERTURBATIONS[family]
    inside = entry.low <= level <= entry.high and np.isfinite(level)
    if not inside or (entry.whole and level != round(level)):
        bounds = f"at least {entry.low:g}" if entry.high == _INFINITE else ""
        bounds = bounds or f"between {entry.low:g} and {entry.high:g}"
        kind = "a whole number" if entry.whole else "a number"
        raise ParameterError(f"{family} level", level, f"{kind} {bounds} ({entry.unit})")
    return entry.make(float(level))


def parse(text: str) -> Perturbation:
    """The perturbation that prints as this text; without a level, at its default if it has one.

    Raises:
        UnknownNameError: no such family.
        ParameterError: no level where several are usual, or one that is no number in its bounds.

    >>> parse("mallows:0.5").level
    0.5
    """
    family, _, level = text.partition(":")
    if family not in PERTURBATIONS:
        raise UnknownNameError("perturbation", family, PERTURBATIONS)
    defaults = PERTURBATIONS[family].default_levels
    if not level and len(defaults) == 1:
        return perturbation(family, defaults[0])
    try:
        strength = float(level)
    except ValueError:
        shape = f"a number ({PERTURBATIONS[family].unit}), as in {family}:{defaults[-1]:g}"
        raise ParameterError(f"{family} level", level, shape) from None
    return perturbation(family, strength)


def tau_left(
    before: CandidateLists, after: CandidateLists, change: Perturbation
) -> Float64[np.ndarray, " lists"]:
    """Kendall τ-b of each list between the old order and the one that a perturbation left.

    Documents are matched by row. For a change of the ranking it is the τ-b of the old and the
    new prior scores, the mean over the rankings; for a change of presentation alone, of the
    positions shown. 1 for lists of fewer than two documents; NaN where all documents of a longer
    list tie under a ranking.
    """
    old, new = _by_row(before), _by_row(after)
    if "ranking" in change.changes:
        pairs = [
            (before.prior[old, column], after.prior[new, column])
            for column in range(before.rankings)
        ]
    else:
        shown = -ragged.places_of(before.offsets).astype(np.float32)
        pairs = [(shown[old], shown[new])]
    taus = [kendall_tau(before.offsets, ours, theirs) for ours, theirs in pairs]
    return np.mean(np.asarray(taus, dtype=np.float64), axis=0)


def _by_row(lists: CandidateLists) -> Int64[np.ndarray, " candidates"]:
    return falling_order(lists.offsets, -lists.rows)
