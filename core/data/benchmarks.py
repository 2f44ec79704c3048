"""Sizes of the public LETOR collections, to check an upload against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Benchmark:
    """A public collection as its owners describe it.

    Attributes:
        name: what the field calls it.
        queries: in the whole collection (all folds or all three parts together).
        documents: likewise.
        features: columns.
        top_label: grades run from 0 to this.
        source: where the figures come from.
    """

    name: str
    queries: int
    documents: int
    features: int
    top_label: int
    source: str


_MSLR = "microsoft.com/en-us/research/project/mslr"
_LETOR4 = "Qin & Liu 2013, arXiv:1306.2597"
_YAHOO = "Chapelle & Chang 2011, JMLR W&CP 14"
_ISTELLA = "Dato et al. 2016, TOIS 35(2)"
_ISTELLA_S = "Lucchese et al. 2016, SIGIR"

BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("MSLR-WEB30K", 31_531, 3_771_125, 136, 4, _MSLR),
    Benchmark("MSLR-WEB10K", 10_000, 1_200_192, 136, 4, _MSLR),
    Benchmark("Yahoo! set 1", 29_921, 709_877, 519, 4, _YAHOO),
    Benchmark("Yahoo! set 2", 6_330, 172_870, 596, 4, _YAHOO),
    Benchmark("Istella", 33_018, 10_454_629, 220, 4, _ISTELLA),
    Benchmark("Istella-S", 33_018, 3_408_630, 220, 4, _ISTELLA_S),
    Benchmark("MQ2007", 1_692, 69_623, 46, 2, _LETOR4),
    Benchmark("MQ2008", 784, 15_211, 46, 2, _LETOR4),
    Benchmark("MQ2007-agg", 1_692, 69_623, 21, 2, _LETOR4),
    Benchmark("MQ2008-agg", 784, 15_211, 25, 2, _LETOR4),
)


class Size(NamedTuple):
    """Numbers of queries and documents of a data set or a part."""

    queries: int
    documents: int


class Match(NamedTuple):
    """The benchmark that a data set or one of its parts is.

    Attributes:
        known: the benchmark.
        scope: which of the sizes compared is meant.
        complete: whether it has all documents of the benchmark, and not just all queries.
    """

    known: Benchmark
    scope: str
    complete: bool


def likeliest(sizes: Mapping[str, Size], features: int, top_label: int | float) -> Match | None:
    """The benchmark with as many queries, before others one with as many documents; None: none.

    Args:
        sizes: of the whole first, then of its parts.
        features: columns.
        top_label: the highest grade.

    >>> match = likeliest({"whole": Size(784, 15_211)}, 46, 2)
    >>> match.known.name, match.scope, match.complete
    ('MQ2008', 'whole', True)
    """
    matches = [
        Match(benchmark, scope, size.documents == benchmark.documents)
        for scope, size in sizes.items()
        for benchmark in BENCHMARKS
        if (benchmark.features, benchmark.top_label) == (features, top_label)
        and benchmark.queries == size.queries
        and 0 < size.documents <= benchmark.documents
    ]
    # of two with as many queries the smaller one: it lacks fewer documents
    return max(matches, key=lambda one: (one.complete, -one.known.documents), default=None)


def sentence(match: Match, size: Size, subject: str) -> str:
    """The meaning of a match; `subject` ends with "has" or "have"."""
    benchmark = match.known
    if match.complete:
        whole = f"{benchmark.queries:,} queries and {benchmark.documents:,} documents"
        return f"{subject} the size of {benchmark.name}: {whole}."
    return (
        f"{subject} {benchmark.features} features, grades 0 to {benchmark.top_label} and "
        f"{benchmark.queries:,} queries as {benchmark.name}, but {size.documents:,} documents "
        f"instead of {benchmark.documents:,}: rows are missing."
    )
