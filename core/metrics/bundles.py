"""Named conventions: the meaning of a measure's name in a tool or a benchmark.

A bundle sets every convention of the measure except those in the measure's own text. Other
habits of a tool (such as the queries that it averages over) are in its summary.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.metrics.measure import Measure


@dataclass(frozen=True)
class Bundle:
    """The conventions of a tool.

    Attributes:
        name: value of `--conventions`.
        summary: owner, and notes for comparisons.
        source: documentation or code that defines them.
        conventions: fields of `Measure`.
    """

    name: str
    summary: str
    source: str
    conventions: Mapping[str, str]


_ENTRIES = (
    Bundle(
        "trec_eval",
        "trec_eval: gain y, ties by document id. Its means leave out judged topics that a run "
        "does not answer, unless -c is given; ours count them, as -c does.",
        "trec_eval 9.0, m_ndcg_cut.c and form_res_rels.c; pytrec_eval",
        {"gain": "linear", "discount": "log2", "ideal": "judged", "empty": "zero",
         "ties": "trec", "short": "measured"},
    ),
    Bundle(
        "letor3",
        "LETOR 3.0: positions 1 and 2 weigh alike, ties by line, NDCG@k of a list shorter than "
        "k is 0. Its P@k is 0 there too, which ours is not. Its means are over five folds.",
        "Eval-Score-3.0.pl; Qin, Liu, Xu & Li 2010",
        {"gain": "exp2", "discount": "letor", "ideal": "judged", "empty": "zero",
         "ties": "row", "short": "zero"},
    ),
    Bundle(
        "letor4",
        "LETOR 4.0: positions 1 and 2 weigh alike, ties by line, NDCG@k of a list shorter than "
        "k is 0; MeanNDCG over all positions. All documents of a query are ranked, and its means "
        "are over five folds.",
        "Eval-Score-4.0.pl; Qin & Liu 2013, arXiv:1306.2597",
        {"gain": "exp2", "discount": "letor", "ideal": "judged", "empty": "zero",
         "ties": "row", "short": "zero"},
    ),
    Bundle(
        "lightgbm",
        "LightGBM's metric ndcg with its default label_gain: a query without relevant documents "
        "counts 1, ties by row; all rows of a query are ranked.",
        "LightGBM, src/metric/rank_metric.hpp and dcg_calculator.cpp",
        {"gain": "exp2", "discount": "log2", "ideal": "shown", "empty": "one",
         "ties": "row", "short": "measured"},
    ),
    Bundle(
        "sklearn",
        "scikit-learn's ndcg_score: gain y, ties averaged, the ideal over the documents given.",
        "scikit-learn, sklearn.metrics.ndcg_score",
        {"gain": "linear", "discount": "log2", "ideal": "shown", "empty": "zero",
         "ties": "averaged", "short": "measured"},
    ),
    Bundle(
        "allrank",
        "allRank's ndcg: a query without relevant documents counts 1, the ideal over the list "
        "given. Where scores tie, its order is whatever torch.sort leaves; here by row.",
        "allegro/allRank, allrank/models/metrics.py",
        {"gain": "exp2", "discount": "log2", "ideal": "shown", "empty": "one",
         "ties": "row", "short": "measured"},
    ),
)  # fmt: skip
BUNDLES: Mapping[str, Bundle] = {entry.name: entry for entry in _ENTRIES}


def under(text: str, bundle: str | None) -> str:
    """Text of a measure under a bundle; None: the default conventions.

    Raises:
        UnknownNameError: no such bundle, or no such measure.
        ParameterError: the text is not a measure.

    >>> under("ndcg@10", "lightgbm"), under("NDCG(empty=skip)@5", "sklearn"), under("rr", None)
    ('NDCG(ideal=shown,empty=one,ties=row)@10', 'NDCG(gain=linear,ideal=shown,empty=skip)@5', 'RR')
    """
    return str(Measure.parse(text, _conventions(bundle)))


def under_bundle(text: str, bundle: str | None) -> str:
    """Stored measure under a bundle, which overrides the same conventions in its text.

    Raises:
        UnknownNameError: no such bundle.

    >>> (under_bundle("NDCG(empty=skip)@5", "sklearn"), under_bundle("P(relevant=2,ties=trec)",
    ...     "letor4"))
    ('NDCG(gain=linear,ideal=shown)@5', 'P(ties=row,relevant=2)')
    """
    return str(Measure.parse(text).under(**_conventions(bundle)))


def _conventions(bundle: str | None) -> Mapping[str, str]:
    if bundle is None:
        return {}
    if bundle not in BUNDLES:
        raise UnknownNameError("bundle of conventions", bundle, BUNDLES)
    return BUNDLES[bundle].conventions
