"""What is known of the public LETOR collections, to check an upload against."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from shuffleproof.core.words import percent


@dataclass(frozen=True)
class Benchmark:
    """A public collection as its owners describe it.

    Attributes:
        name: what the field calls it.
        queries: in the whole collection (all folds or all three parts together).
        documents: likewise.
        features: columns.
        top_label: grades run from 0 to this.
        folds: how many cross-validation folds are published; 1 for a fixed split.
        source: where the figures come from.
    """

    name: str
    queries: int
    documents: int
    features: int
    top_label: int
    folds: int
    source: str


_MSLR = "microsoft.com/en-us/research/project/mslr"
_LETOR4 = "Qin & Liu 2013, arXiv:1306.2597"
_YAHOO = "Chapelle & Chang 2011, JMLR W&CP 14"
_ISTELLA = "Dato et al. 2016, TOIS 35(2)"
_ISTELLA_S = "Lucchese et al. 2016, SIGIR"

BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("MSLR-WEB30K", 31_531, 3_771_125, 136, 4, 5, _MSLR),
    Benchmark("MSLR-WEB10K", 10_000, 1_200_192, 136, 4, 5, _MSLR),
    Benchmark("Yahoo! set 1", 29_921, 709_877, 519, 4, 1, _YAHOO),
    Benchmark("Yahoo! set 2", 6_330, 172_870, 596, 4, 1, _YAHOO),
    Benchmark("Istella", 33_018, 10_454_629, 220, 4, 1, _ISTELLA),
    Benchmark("Istella-S", 33_018, 3_408_630, 220, 4, 1, _ISTELLA_S),
    Benchmark("MQ2007", 1_692, 69_623, 46, 2, 5, _LETOR4),
    Benchmark("MQ2008", 784, 15_211, 46, 2, 5, _LETOR4),
    Benchmark("MQ2007-agg", 1_692, 69_623, 21, 2, 5, _LETOR4),
    Benchmark("MQ2008-agg", 784, 15_211, 25, 2, 5, _LETOR4),
)


def alike(features: int, top_label: int | float) -> tuple[Benchmark, ...]:
    """The benchmarks with that many features and that range of grades.

    >>> [known.name for known in alike(46, 2)]
    ['MQ2007', 'MQ2008']
    """
    return tuple(
        benchmark
        for benchmark in BENCHMARKS
        if benchmark.features == features and benchmark.top_label == top_label
    )


class Size(NamedTuple):
    """How many queries and documents a data set or a part of it has."""

    queries: int
    documents: int


class Match(NamedTuple):
    """The benchmark that a data set most likely is, or is taken from.

    Attributes:
        known: the benchmark.
        scope: which of the sizes compared is meant.
        kind: the same size; its queries with fewer documents; or a share of its queries.
        others: benchmarks that cannot be told from it by their size.
    """

    known: Benchmark
    scope: str
    kind: Literal["same", "differs", "share"]
    others: tuple[Benchmark, ...] = ()


KINDS: tuple[Literal["same", "differs", "share"], ...] = ("same", "differs", "share")
ALIKE = 0.05
"""Mean list lengths that differ by less than this share do not tell two benchmarks apart."""


def likeliest(sizes: Mapping[str, Size], features: int, top_label: int | float) -> Match | None:
    """The likeliest benchmark: equal sizes first, then equal queries, then the list lengths.

    Args:
        sizes: of the whole first, then of its parts; only the whole can be a share of one.
        features: columns.
        top_label: the highest grade.

    >>> sizes = {"whole": Size(628, 12_337), "test": Size(157, 2_707)}
    >>> match = likeliest(sizes, 46, 2)
    >>> match.known.name, match.scope, match.kind
    ('MQ2008', 'whole', 'share')
    """
    whole = next(iter(sizes))
    candidates = [
        (KINDS.index(kind), place, _distance(size, benchmark), Match(benchmark, scope, kind))
        for place, (scope, size) in enumerate(sizes.items())
        for benchmark in alike(features, top_label)
        if (kind := _kind(size, benchmark)) and (kind != "share" or scope == whole)
    ]
    if not candidates:
        return None
    rank, place, distance, best = min(candidates, key=lambda candidate: candidate[:3])
    equally_likely = tuple(
        match.known
        for other_rank, other_place, other_distance, match in candidates
        if (other_rank, other_place) == (rank, place) and match.known != best.known
        if best.kind == "share" and other_distance - distance < ALIKE
    )
    return best._replace(others=equally_likely)


def sentence(match: Match, size: Size, subject: str) -> str:
    """What a match means, in words; `subject` ends with "has" or "have"."""
    benchmark = match.known
    shape = f"{benchmark.features} features and grades 0 to {benchmark.top_label}"
    whole = f"{benchmark.queries:,} queries and {benchmark.documents:,} documents"
    if match.kind == "same":
        return f"{subject} the size of {benchmark.name}: {whole}."
    if match.kind == "differs":
        return (
            f"{subject} {shape} and {benchmark.queries:,} queries as {benchmark.name}, but "
            f"{size.documents:,} documents instead of {benchmark.documents:,}: rows are missing."
        )
    share = size.queries / benchmark.queries
    text = f"{subject} {shape} like {benchmark.name}, and {percent(share, 1)} of its queries "
    text += f"(whole: {whole})."
    names = " or ".join(rival.name for rival in match.others)
    return f"{text} It may as well be of {names}." if names else text


def _kind(size: Size, benchmark: Benchmark) -> Literal["same", "differs", "share"] | None:
    if (
        not size.documents
        or size.queries > benchmark.queries
        or size.documents > benchmark.documents
    ):
        return None
    if size.queries < benchmark.queries:
        return "share"
    return "same" if size.documents == benchmark.documents else "differs"


def _distance(size: Size, benchmark: Benchmark) -> float:
    """How far the mean list lengths are apart, as the logarithm of their ratio."""
    if not size.documents:
        return math.inf
    length = size.documents / max(size.queries, 1)
    return abs(math.log(length / (benchmark.documents / benchmark.queries)))
