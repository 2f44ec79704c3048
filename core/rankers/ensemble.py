"""Rankers made of trained rankers: fusion of several, and shuffle-and-aggregate around one.

Their names say what they are made of: `rrf:dlcm+lambdamart@tuned`, `mean-rank:mart+ranksvm`,
`shuffled:dlcm`, `shuffled-kemeny-32:dlcm`. A number is the constant k of reciprocal rank fusion or
the number of shuffles.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.aggregate.voting import mean_ranks
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import check, parameter
from shuffleproof.core.rankers.base import Input, Ranker
from shuffleproof.core.rankers.ensemble_saved import opened, save
from shuffleproof.core.rankers.shuffled import AGGREGATES, ShuffledRanker, Shuffling

_NAME = re.compile(
    rf"(?P<kind>rrf|mean-rank|shuffled)(?:-(?P<way>{'|'.join(AGGREGATES)}))?"
    r"(?:-(?P<number>[0-9]{1,9}))?:(?P<members>.+)"
)


@dataclass(frozen=True)
class Fusion:
    """How the ranks that several rankers give are made one score."""

    method: str = parameter(
        "rrf",
        "reciprocal rank fusion, Σ 1/(k + rank), or the mean of the ranks",
        choices=("rrf", "mean-rank"),
    )
    k: int = parameter(60, "k of reciprocal rank fusion (Cormack et al., SIGIR 2009)", low=0)

    def __post_init__(self) -> None:
        """Check the parameters."""
        check(self)

    @property
    def prefix(self) -> str:
        """What its name begins with."""
        return f"rrf-{self.k}" if self.method == "rrf" and self.k != Fusion.k else self.method


@dataclass(frozen=True)
class Combination:
    """A name taken apart.

    Attributes:
        kind: `fusion` or `shuffled`.
        members: the names of the rankers that it is made of.
        options: how they are combined.
    """

    kind: str
    members: tuple[str, ...]
    options: Fusion | Shuffling

    def __str__(self) -> str:
        """The name; it parses back to this."""
        return f"{self.options.prefix}:{'+'.join(self.members)}"

    def at(self, seed: int) -> "Combination":
        """The same with its shuffles drawn from this seed; a fusion draws nothing itself.

        >>> parse("shuffled:dlcm").at(3).options.seed
        3
        """
        if isinstance(self.options, Shuffling):
            return replace(self, options=replace(self.options, seed=seed))
        return self


def parse(name: str) -> Combination | None:
    """The combination that a name means; None: it is no combination's.

    >>> parse("rrf:dlcm+mart@small").members
    ('dlcm', 'mart@small')
    >>> str(parse("shuffled-mean-8:rrf:dlcm+mart"))
    'shuffled-8:rrf:dlcm+mart'
    >>> parse("feature:3") is None
    True

    Raises:
        UsageError: a fusion of fewer than two, of one twice, of a fusion; an option out of place.
        ParameterError: a number that the option does not take.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        if re.match(r"(rrf|mean-rank|shuffled)[^:]*:", name):
            raise UsageError(f"{name}: name what it is made of, as in rrf:dlcm+mart, shuffled:dlcm")
        return None
    kind, way, number, members = found["kind"], found["way"], found["number"], found["members"]
    if kind == "shuffled":
        options = Shuffling(int(number or Shuffling.shuffles), way or Shuffling.aggregate)
        return Combination(kind, (members,), options)
    if way or (kind == "mean-rank" and number):
        raise UsageError(f"{name}: {kind} takes no such option; write {kind}:a+b")
    names = tuple(members.split("+"))
    nested = [member for member in names if _NAME.fullmatch(member) and "shuffled" not in member]
    if len(set(names)) < len(names):
        raise UsageError(f"{name}: name each ranker once; one twice is no fusion")
    if len(names) < 2 or not all(names) or nested:
        raise UsageError(f"{name}: name two or more rankers with + between them, no fusion inside")
    return Combination("fusion", names, Fusion(kind, int(number or Fusion.k)))


def leaves(name: str) -> tuple[str, ...]:
    """The names of the rankers at the bottom of a name; itself if it is no combination's.

    >>> leaves("rrf:shuffled:dlcm+mart")
    ('dlcm', 'mart')
    """
    combination = parse(name)
    if combination is None:
        return (name,)
    return tuple(leaf for member in combination.members for leaf in leaves(member))


def combined(kind: str, members: Sequence[Ranker], options: Fusion | Shuffling) -> Ranker:
    """The ranker made of trained ones.

    Args:
        kind: `fusion`, or `shuffled` around one.
        members: the rankers.
        options: of that kind.

    Raises:
        ParameterError: options of the other kind, or another number of members.
    """
    if kind == "fusion" and isinstance(options, Fusion) and len(members) > 1:
        return FusedRanker(tuple(members), options)
    if kind == "shuffled" and isinstance(options, Shuffling) and len(members) == 1:
        return ShuffledRanker(members[0], options)
    found = f"{kind} of {len(members)}"
    raise ParameterError("combination", found, "a fusion of several, or one ranker shuffled")


@dataclass(frozen=True, eq=False)
class FusedRanker:
    """Several rankers whose ranks are fused; ties of a member share the mean of their ranks.

    Attributes:
        members: the rankers.
        options: how their ranks are made one score.
    """

    members: tuple[Ranker, ...]
    options: Fusion

    @property
    def name(self) -> str:
        """What it is made of, presets left out."""
        return f"{self.options.prefix}:{'+'.join(member.name for member in self.members)}"

    @property
    def reads(self) -> frozenset[Input]:
        """All that a member reads; and neighbours, which is what a rank is among."""
        return frozenset[Input]({"neighbours"}).union(*(member.reads for member in self.members))

    @property
    def rankings(self) -> int:
        """As many initial rankings as a member reads at most."""
        return max(member.rankings for member in self.members)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The fused score of every candidate: Σ 1/(k + rank), ranks from 1, or minus the mean rank.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than a member reads.
        """
        total: Float64[np.ndarray, " candidates"] = np.zeros(len(lists.rows))
        for member in self.members:
            ranks = mean_ranks(lists.offsets, member.score(dataset, lists))
            if self.options.method == "rrf":
                total += 1.0 / (self.options.k + 1.0 + ranks)
            else:
                total -= ranks / len(self.members)
        return total.astype(np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json`, and every member into a folder of its own."""
        save("fusion", self.members, asdict(self.options), directory)


def load(directory: Path) -> Ranker:
    """The combination that was saved."""
    kind, members, options = opened(directory)
    return combined(kind, members, (Fusion if kind == "fusion" else Shuffling)(**options))
