"""Proofs that a built-in ranker does not depend on the input order, with their checks.

A theorem is about exact arithmetic and the parts of an architecture. So the check covers each part
of the network, its weights, and its float64 scores under another order.
Nothing is claimed of rankers from outside.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.rankers.base import Ranker

if TYPE_CHECKING:
    from shuffleproof.core.rankers.neural.ranker import NeuralRanker

ALONE = ("boosting", "linear", "univariate")
"""Families of this package whose rankers compute each score from the document's own features."""

ROW_WISE = frozenset(
    {"Layer", "Linear", "LayerNorm", "RowNorm", "ReLU", "ELU", "Tanh", "Sequential", "ModuleList"}
)
PARTS: dict[type, frozenset[str]] = {
    UnivariateConfig: ROW_WISE | {"UnivariateNet"},
    GroupConfig: ROW_WISE | {"GSF"},
    SetRankConfig: ROW_WISE | {
        "SetRank", "MSAB", "IMSAB", "AttentionBlock", "MultiHeadAttention", "FeedForward",
        "OrdinalEmbedding", "GaussianKernels",
    },
}  # fmt: skip
"""What a network of each architecture may consist of: layers that act on each document by itself,
and attention, which sums over the set."""


@dataclass(frozen=True)
class Theorem:
    """A reason why the input order cannot change an answer.

    Attributes:
        name: in a few words.
        statement: the reason.
        source: where it is proved.
        checked: what of its conditions was looked at, and found to hold.
    """

    name: str
    statement: str
    source: str
    checked: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"checked": list(self.checked)}


def theorem_of(ranker: Ranker) -> Theorem | None:
    """The theorem that a ranker's architecture falls under; None where nothing is proved of it."""
    if "order" in ranker.reads:
        return None
    module = type(ranker).__module__
    if not module.startswith("shuffleproof.core.rankers."):
        return None
    family = module.split(".")[3]
    if family in ALONE:
        return _single_document_theorem(("each score is computed from one row of features",))
    if family == "pairs":
        return _over_pairs(
            "by construction", ("each preference is computed from two rows of features",)
        )
    return _of_network(ranker) if family == "neural" else None  # type: ignore[arg-type]


def _of_network(ranker: "NeuralRanker") -> Theorem | None:
    checked, model = _conditions(ranker), ranker.spec.model
    if checked is None:
        return None
    match model:
        case UnivariateConfig() | GroupConfig(group=1):
            return _single_document_theorem(checked)
        case GroupConfig():
            source = "Ai et al., ICTIR 2019, section 4, with all groups of two"
            return _over_pairs(source, checked)
        case SetRankConfig():
            return _setrank_theorem(model, checked)
    return None


def _single_document_theorem(checked: tuple[str, ...]) -> Theorem:
    return Theorem(
        "every document is scored by itself",
        "A score is a function of the document's own features; neither another document nor an "
        "order enters it.",
        "by construction",
        checked,
    )


def _over_pairs(source: str, checked: tuple[str, ...]) -> Theorem:
    return Theorem(
        "a mean over all pairs",
        "A document's score is the mean (or sum) of what it scores beside each of the others, and "
        "neither depends on the order of its terms.",
        source,
        checked,
    )


def _setrank_theorem(model: SetRankConfig, checked: tuple[str, ...]) -> Theorem:
    if model.rankings:
        checked = (*checked, "documents that tie in an initial ranking share its mean ordinal")
    ranks = ", and ordinals go with the documents" if model.rankings else ""
    return Theorem(
        "multi-head self-attention over a set is permutation-equivariant",
        "Row-wise layers commute with a permutation of the documents, attention sums over the set, "
        f"a composition of such maps does too{ranks}.",
        "Pang et al., SIGIR 2020, section 3; Lee et al., ICML 2019, property 1",
        checked,
    )


def _conditions(ranker: "NeuralRanker") -> tuple[str, ...] | None:
    """The conditions that hold of a network; None where one does not."""
    network, parts = ranker.network, list(ranker.network.modules())
    places = ("shuffleproof.core.models.", "torch.nn.")
    all_ours = all(type(part).__module__.startswith(places) for part in parts)
    # Only known layers: any other could read positions
    kinds = {type(part).__name__ for part in parts}
    hooked = any(part._forward_hooks or part._forward_pre_hooks for part in parts)  # noqa: SLF001
    finite = all(bool(weight.isfinite().all()) for weight in network.parameters())
    all_known = all_ours and kinds <= PARTS.get(type(ranker.spec.model), frozenset())
    # Any one voids the proof: hooks run foreign code, dropout is random, NaN has no order
    if hooked or network.training or not finite or not all_known:
        return None
    return (
        f"the network consists of {', '.join(sorted(kinds))}",
        "nothing is hooked into it and no dropout is active",
        "all weights are finite",
    )
