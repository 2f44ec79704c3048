"""Table 2 of SetRank as printed, to stand beside a benchmark on the same collection.

Pang et al., SIGIR 2020: NDCG@1/3/5/10 on the test parts, gain 2^y − 1, the ideal over all judged
documents, a query without relevant documents counts 0. The candidates are LambdaMART's top 40.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shuffleproof.core.data.benchmarks import BENCHMARKS

SOURCE = "Pang et al., SIGIR 2020, Table 2"
CONVENTIONS: Mapping[str, str] = {
    "gain": "exp2", "discount": "log2", "ideal": "judged", "empty": "zero", "short": "measured",
}  # fmt: skip
"""Fields of a measure as the paper has them; how it treats ties it does not say."""
CONVENTION = (
    "gain: 2^y − 1 · ideal: judged · no relevant: 0 · ties: not stated · top 40 by LambdaMART"
)
CUTOFFS = (1, 3, 5, 10)
DEPTH, RANKED_BY = 40, "lambdamart"
"""The paper's candidates: so many by this ranker."""
NEAR = 0.03
"""Queries and documents may differ from the owner's figures by this share."""


@dataclass(frozen=True)
class PublishedRows:
    """The printed rows for one collection.

    Attributes:
        collection: what the paper calls it.
        rows: NDCG@1, 3, 5, 10 by the registry's name of the ranker.
        remark: what to know before comparing.
    """

    collection: str
    rows: Mapping[str, tuple[float, float, float, float]]
    remark: str


_WEAK = (
    "The printed LambdaMART row is weak: LightGBM reaches .494 at 10 on MSLR Fold1 under the same "
    "convention."
)

TABLES: Mapping[str, PublishedRows] = {
    "Istella": PublishedRows(
        "Istella",
        {
            "ranksvm": (0.5269, 0.4867, 0.5041, 0.5529),
            "rankboost": (0.4457, 0.3977, 0.4097, 0.4511),
            "mart": (0.6185, 0.5633, 0.5801, 0.6285),
            "lambdamart": (0.6571, 0.5982, 0.6118, 0.6591),
            "dlcm-without-init": (0.6272, 0.5717, 0.5848, 0.6310),
            "gsf": (0.6224, 0.5796, 0.5968, 0.6508),
            "setrank-msab": (0.6702, 0.6150, 0.6282, 0.6766),
            "setrank-imsab": (0.6733, 0.6136, 0.6278, 0.6737),
            "dlcm": (0.6558, 0.6030, 0.6194, 0.6680),
            "setrank-msab-init": (0.6745, 0.6201, 0.6350, 0.6819),
            "setrank-imsab-init": (0.6760, 0.6202, 0.6345, 0.6834),
            "setrank-imsab-multi-init": (0.6744, 0.6211, 0.6365, 0.6860),
        },
        "Istella is the only one of the three collections that compares like for like.",
    ),
    "MSLR-WEB30K": PublishedRows(
        "MSLR30K",
        {
            "ranksvm": (0.3010, 0.3180, 0.3350, 0.3650),
            "rankboost": (0.2788, 0.2897, 0.3043, 0.3339),
            "mart": (0.4436, 0.4344, 0.4414, 0.4633),
            "lambdamart": (0.4570, 0.4420, 0.4450, 0.4640),
            "dlcm-without-init": (0.3985, 0.3919, 0.4001, 0.4245),
            "gsf": (0.4129, 0.4073, 0.4151, 0.4374),
            "setrank-msab": (0.4243, 0.4116, 0.4177, 0.4403),
            "setrank-imsab": (0.4290, 0.4166, 0.4220, 0.4428),
            "dlcm": (0.4630, 0.4450, 0.4500, 0.4690),
            "setrank-msab-init": (0.4572, 0.4452, 0.4499, 0.4692),
            "setrank-imsab-init": (0.4591, 0.4469, 0.4515, 0.4696),
        },
        _WEAK,
    ),
    "Yahoo! set 1": PublishedRows(
        "Yahoo!",
        {
            "ranksvm": (0.6370, 0.6500, 0.6740, 0.7260),
            "rankboost": (0.6293, 0.6409, 0.6661, 0.7159),
            "mart": (0.6830, 0.6827, 0.7034, 0.7469),
            "lambdamart": (0.6770, 0.6760, 0.6960, 0.7380),
            "dlcm-without-init": (0.6693, 0.6751, 0.6958, 0.7391),
            "gsf": (0.6429, 0.6604, 0.6838, 0.7316),
            "setrank-msab": (0.6623, 0.6698, 0.6911, 0.7369),
            "setrank-imsab": (0.6711, 0.6760, 0.6960, 0.7398),
            "dlcm": (0.6760, 0.6810, 0.6990, 0.7430),
            "setrank-msab-init": (0.6837, 0.6820, 0.7009, 0.7443),
            "setrank-imsab-init": (0.6822, 0.6835, 0.7029, 0.7453),
        },
        "The printed LambdaMART row is weak beside what LightGBM reaches.",
    ),
}
"""The printed tables by the collection's name in `core.data.benchmarks`."""


def table_for(
    queries: int, documents: int, features: int, top_label: int | float
) -> PublishedRows | None:
    """The printed table of the collection that has these facts; None where none is printed.

    Args:
        queries: of train, validation and test together.
        documents: likewise.
        features: columns.
        top_label: the highest grade.

    >>> table_for(31_531, 3_771_125, 136, 4).collection
    'MSLR30K'
    """
    for benchmark in BENCHMARKS:
        same_shape = benchmark.features == features and benchmark.top_label == top_label
        near = all(
            abs(count - published) <= NEAR * published
            for count, published in ((queries, benchmark.queries), (documents, benchmark.documents))
        )
        if same_shape and near and benchmark.name in TABLES:
            return TABLES[benchmark.name]
    return None
