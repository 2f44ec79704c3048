"""The losses by name; listing them imports no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from shuffleproof.core.errors import UnknownNameError

Option = int | float | bool | str | None


@dataclass(frozen=True)
class LossEntry:
    """Entry of a loss.

    Attributes:
        name: name in recipes; its function has underscores for hyphens.
        summary: description in one line.
        source: paper and equation.
        module: module of `core.losses` with its function.
        options: keyword arguments with their defaults.
        absolute: True if it fits the grades themselves, so that equal grades give a gradient too.
    """

    name: str
    summary: str
    source: str
    module: str
    options: tuple[tuple[str, Option], ...] = ()
    absolute: bool = False


_PAIRS: tuple[tuple[str, Option], ...] = (("pair_weights", "queries"),)


LOSSES: dict[str, LossEntry] = {
    entry.name: entry
    for entry in (
        LossEntry(
            "attention-rank",
            "attention by scores against attention by labels, both terms of the cross entropy",
            "Ai et al., SIGIR 2018, Eq. 11; Pang et al., SIGIR 2020, section 4.5",
            "listwise",
        ),
        LossEntry(
            "softmax-ce",
            "softmax cross entropy with rectified exponential targets, as released for SetRank",
            "Pang et al., SIGIR 2020, released code",
            "listwise",
            (("temper", 1.0),),
        ),
        LossEntry(
            "list-mle",
            "negative log-likelihood of the label order, Efron's terms for tied labels",
            "Xia et al., ICML 2008; Efron, JASA 1977 (ties)",
            "listwise",
            (("unit_norm", False),),
        ),
        LossEntry(
            "softrank",
            "1 − expected NDCG when every score carries Gaussian noise",
            "Taylor et al., WSDM 2008; Ai et al., SIGIR 2018, Eq. 8",
            "softrank",
            (("deviation", 0.1), ("unit_norm", False)),
        ),
        LossEntry(
            "listnet",
            "cross entropy of the top document: softmax of labels against softmax of scores",
            "Cao et al., ICML 2007, with k = 1",
            "listwise",
        ),
        LossEntry(
            "approx-ndcg",
            "1 − NDCG at ranks that are sums of sigmoids",
            "Qin, Liu & Li, Information Retrieval 13, 2010",
            "smooth_ndcg",
            (("temperature", 0.1),),
        ),
        LossEntry(
            "neural-ndcg",
            "1 − NDCG of gains sorted by NeuralSort, doubly stochastic",
            "Pobrotyn & Białobrzeski, arXiv 2102.07831; Grover et al., ICLR 2019",
            "smooth_ndcg",
            (("temperature", 0.1),),
        ),
        LossEntry(
            "hinge",
            "pairs of different grades should be one apart",
            "Joachims, KDD 2002; weights by Cao et al., SIGIR 2006",
            "pairwise",
            _PAIRS,
        ),
        LossEntry(
            "ranknet",
            "logistic loss of pairs of different grades",
            "Burges et al., ICML 2005",
            "pairwise",
            (*_PAIRS, ("steepness", 1.0)),
        ),
        LossEntry(
            "lambdarank",
            "logistic loss of pairs, weighed by what their exchange changes of NDCG",
            "Burges et al., NIPS 2006, sign mended",
            "pairwise",
            (("cutoff", 10), ("steepness", 1.0)),
        ),
        LossEntry(
            "frank",
            "fidelity of pairs of different grades, bounded by 1 a pair",
            "Tsai et al., SIGIR 2007",
            "pairwise",
            (*_PAIRS, ("steepness", 1.0)),
        ),
        LossEntry(
            "mse",
            "squared error of the grades, document by document",
            "Cossock & Zhang, COLT 2006",
            "pointwise",
            absolute=True,
        ),
    )
}


def loss(name: str, **options: Option) -> Callable[..., Any]:
    """Loss function by name: (scores, labels, mask), each [lists, docs] → [lists].

    Args:
        name: a key of `LOSSES`.
        options: keyword arguments that the entry declares.

    Raises:
        UnknownNameError: no such loss, or no such option.
    """
    if name not in LOSSES:
        raise UnknownNameError("loss", name, LOSSES)
    entry = LOSSES[name]
    declared = dict(entry.options)
    for option in options:
        if option not in declared:
            raise UnknownNameError(f"option of {name}", option, declared)
    function: Callable[..., Any] = getattr(
        import_module(f"shuffleproof.core.losses.{entry.module}"), name.replace("-", "_")
    )
    return partial(function, **options) if options else function
