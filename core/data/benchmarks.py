"""What is known of the public LETOR collections, to check an upload against."""

from dataclasses import dataclass


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
        known for known in BENCHMARKS if known.features == features and known.top_label == top_label
    )
