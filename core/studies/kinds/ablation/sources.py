"""Single differences between recipes, each with its line in the papers.

The lines are those of the papers' reading list; choices without such a line are marked as ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec

SIZES = (
    "width", "depth", "heads", "feed_forward", "inducing_points", "kernels", "kernel_layer",
    "ordinals", "first_layer", "total_width", "hidden", "layers",
)  # fmt: skip
"""Fields of the size of a network."""

BATCHES = (
    "batch_lists", "batch_documents", "steps_per_epoch", "least_steps", "epochs", "patience",
    "sampling",
)  # fmt: skip
"""Fields of the length of training and the size of its batches."""


STEPS: Mapping[str, tuple[str, ...]] = {
    "input layer": ("input_layer",),
    "kernel width": ("kernel_width",),
    "Q/K/V bias": ("projection_bias",),
    "Q/K/V activation": ("projection_activation",),
    "logit scale": ("scale",),
    "first rFF of IMSAB": ("inducing_feed_forward",),
    "induced deviation": ("inducing_deviation",),
    "layer norm ε": ("norm_epsilon",),
    "ordinal index": ("ordinal_direction",),
    "ordinals": ("ordinal_place",),
    "relative ordinals": ("relative_ordinals",),
    "tied initial ranks": ("tied_ranks",),
    "ordinal table": ("ordinal_table",),
    "ordinal deviation": ("ordinal_deviation",),
    "context φ": ("context",),
    "direction": ("direction",),
    "two directions": ("two_directions",),
    "cell": ("cell",),
    "groups": ("grouping", "shuffles"),
    "group size": ("group",),
    "aggregation": ("aggregation",),
    "order fed": ("feed",),
    "activation": ("activation",),
    "normalised layers": ("norm",),
    "reset gate": ("reset",),
    "loss": ("loss",),
    "target temper": ("temper",),
    "noise of SoftRank": ("deviation",),
    "form of the loss": ("temperature", "pair_weights", "cutoff", "steepness"),
    "unit scores": ("unit_norm",),
    "optimiser": ("optimiser",),
    "learning rate": ("learning_rate",),
    "schedule": ("schedule", "decay", "stall_epochs", "warm_up"),
    "weight decay": ("weight_decay",),
    "hidden features": ("hidden_features",),
    "documents of a list": ("documents",),
    "gradient clip": ("clip",),
    "selection": ("selection",),
    "normalisation": ("normalisation",),
    "precision": ("precision",),
    "size": SIZES,
    "batches and epochs": BATCHES,
}
"""Fields that change together, by step, in the order of the papers' reading list."""


OURS = "ours: not in the papers"
"""Source of choices that the papers do not state."""

PROJECTION = (
    "paper: LN(Q + Multihead(Q, K, V)), linear alone; released: Q, K, V linear + bias + relu"
)
ADAM = "paper: Adam 0.001; released: Adam 0.0005"
SGD = "DLCM, released: SGD 0.5; the paper: none stated"

SOURCES: Mapping[type, Mapping[str, str]] = {
    SetRankConfig: {
        "input layer": "paper: one row-wise linear layer; released: 100 Gaussian kernels a feature "
        "(width 0.01, trainable centres ~ U(−1, 1)), then 1024-relu-LN, 256-LN: about 20.8 M of "
        "25 M weights",
        "kernel width": "released: 100 Gaussian kernels a feature, width 0.01; the paper has none",
        "Q/K/V bias": PROJECTION,
        "Q/K/V activation": PROJECTION,
        "logit scale": "paper: √E in Eq. 3; released: √(E/h)",
        "first rFF of IMSAB": "paper: H = MAB(I, X, X), then MAB(X, H, H), two rFF; released: one "
        "rFF only, after the second attention",
        "induced deviation": "paper: none stated; released: I ~ N(0, 0.1), its own per block",
        "layer norm ε": "paper: none stated; released: LN eps 1e-8",
        "ordinal index": "paper: p_i = P(rank i); released: index 0 = worst, the best document has "
        "the top index",
        "ordinals": "paper: added once to the input; released: added before every block",
        "relative ordinals": "paper: start s sampled, ranks s … s + N − 1; released: commented out",
        "tied initial ranks": "released: by shown position, which breaks invariance; ours: the "
        "mean ordinal of the tied block",
        "ordinal table": "paper: several rankings are summed; ours: a table for each ranking",
        "ordinal deviation": "paper: none stated; released: table N(0, 0.1)",
        "loss": "paper: attention rank with both terms; released: softmax cross entropy alone, no "
        "(1 − a) term; the target is the same",
        "target temper": "paper: τ(y) = exp(y) if y > 0 else 0, normalised in the list; released: "
        "exp(y · temper)",
        "optimiser": ADAM,
        "learning rate": ADAM,
        "gradient clip": "paper: none stated; released: clip 5",
        "selection": "paper: validation NDCG@10; released: validation loss every 100 steps",
        "normalisation": "paper: not stated; released: min-max over train + valid + test together "
        "(a leak), ours over train alone",
        "size": "paper and released: depth 6, width 256, 8 heads",
        "batches and epochs": "paper: none stated; released: batch 32 lists, 10 000 steps with "
        "replacement",
    },
    DLCMConfig: {
        "context φ": "paper: φ = v · (o · tanh(W s_n + b)); released default: another variant "
        "(add)",
        "direction": "DLCM: fed from the lowest rank to the highest; the paper: the other "
        "direction is worse",
        "two directions": "DLCM: one; the paper: two do not help",
        "cell": "DLCM: a GRU; ours: an LSTM beside it",
        "reset gate": "DLCM: a GRU as in Eq. 4; ours: cuDNN's reset after the product",
        "loss": "DLCM: ListMLE, SoftRank, attention rank; the paper: attention rank trains twice "
        "as fast as ListMLE and twenty times as fast as SoftRank",
        "noise of SoftRank": "DLCM: SoftRank with σ 0.1",
        "unit scores": "DLCM, released: L2-normalises scores before ListMLE and SoftRank, a "
        "handicap; ours: not",
        "optimiser": SGD,
        "learning rate": SGD,
        "schedule": "DLCM, released: × 0.8 when the loss stalls",
        "gradient clip": "DLCM, released: clip 5",
        "size": "DLCM: two elu layers (512, then max(1024 − α, 0)); k = 3 heads",
        "batches and epochs": "DLCM, released: batch 256 lists, about 10 000 steps",
    },
    GroupConfig: {
        "groups": "GSF: circular windows after a shuffle (TF-Ranking), S sampled shuffles, or all "
        "pairs for m = 2; which of them SetRank's paper took is not stated",
        "group size": "GSF: groups of m documents scored jointly by an MLP; ours: which m",
        "aggregation": "GSF: averaged over the groups a document is in",
        "order fed": "GSF: circular windows after a shuffle; TF-Ranking: order-dependent at "
        "serving",
    },
}
"""Statements of the paper and of the released code, by architecture and step."""

BASE, PAPER = "paper", "claims"
"""The recipe that all others are compared with, and the comparisons of its paper."""

CLAIMS: Mapping[type, tuple[Mapping[str, Any], ...]] = {
    DLCMConfig: (
        {"direction": "highest-first"},
        {"two_directions": True},
        {"cell": "lstm"},
        {"loss": "list-mle"},
        {"loss": "softrank"},
    ),
}
"""Single differences that a paper compares and no preset has, by architecture."""

ONLY_ORDINALS = frozenset(
    {"ordinals", "ordinal index", "relative ordinals", "tied initial ranks", "ordinal table",
     "ordinal deviation"}
)  # fmt: skip
ONLY_IMSAB = frozenset({"first rFF of IMSAB"})


@dataclass(frozen=True)
class Difference:
    """Step from a recipe towards another.

    Attributes:
        label: the step and its new value: `loss softmax-ce`.
        values: fields to replace.
        source: statements of the paper and of the released code.
    """

    label: str
    values: Mapping[str, Any]
    source: str


def differences(base: NeuralSpec, other: NeuralSpec) -> list[Difference]:
    """Steps that lead from one recipe to another, without fields that have no effect.

    >>> small = NeuralSpec.preset("setrank-msab", "small")
    >>> [one.label for one in differences(small, small.with_fields({"loss": "softmax-ce"}))]
    ['loss softmax-ce']
    """
    have, want = _flat(base), _flat(other)
    sources = SOURCES.get(type(base.model), {})
    steps = []
    for step, fields in STEPS.items():
        if step in _without_effect(base):
            continue
        common = [field for field in fields if field in have and field in want]
        changed = {field: want[field] for field in common if have[field] != want[field]}
        if changed:
            steps.append(Difference(f"{step} {_values(changed)}", changed, sources.get(step, OURS)))
    return steps


def claimed_differences(base: NeuralSpec) -> list[Difference]:
    """Single differences that the ranker's paper compares and no preset has.

    >>> [one.label for one in claimed_differences(NeuralSpec.preset("dlcm", "small"))][:2]
    ['direction highest-first', 'two directions on']
    """
    changes = CLAIMS.get(type(base.model), ())
    free = [change for change in changes if not change.keys() & FIXED[base.name].keys()]
    return [step for change in free for step in differences(base, base.with_fields(dict(change)))]


def rankers_with_claims() -> list[str]:
    """Rankers whose paper compares single differences that no preset has.

    >>> rankers_with_claims()
    ['dlcm', 'dlcm-without-init', 'dlcm-listmle', 'dlcm-softrank']
    """
    return [name for name in FIXED if type(NeuralSpec.preset(name).model) in CLAIMS]


def step_of(label: str) -> str:
    """Step at the beginning of a difference's label; empty without one.

    >>> step_of("batches and epochs epochs 40, patience 12"), step_of("my own")
    ('batches and epochs', '')
    """
    return max((step for step in STEPS if label.startswith(f"{step} ")), key=len, default="")


def check(ranker: str, towards: Sequence[str]) -> None:
    """Refuse names that leave only `paper`, before anything is read or trained.

    Raises:
        UsageError: no preset but `paper`, or claims of a paper without comparisons.
        UnknownNameError: no such ranker.

    >>> check("dlcm", ["released", "claims"])
    """
    base = NeuralSpec.preset(ranker)
    if PAPER in towards and not claimed_differences(base):
        rankers = ", ".join(rankers_with_claims())
        raise UsageError(
            f"{ranker}'s paper compares nothing beside its own recipe: name released or tuned, "
            f"or a ranker with {PAPER}, {rankers}"
        )
    if not set(towards) - {BASE}:
        raise UsageError("nothing to compare with paper: name released, tuned or claims")


def _without_effect(spec: NeuralSpec) -> frozenset[str]:
    if not isinstance(spec.model, SetRankConfig):
        return frozenset()
    ordinals = frozenset() if spec.model.rankings else ONLY_ORDINALS
    return ordinals | (frozenset() if spec.model.block == "imsab" else ONLY_IMSAB)


def _values(changed: Mapping[str, Any]) -> str:
    """Text of changed values: one without its name, several with names; booleans as on and off."""
    words = {name.replace("_", " "): _word(value) for name, value in changed.items()}
    return ", ".join([*words.values()] if len(words) == 1 else map(" ".join, words.items()))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _flat(spec: NeuralSpec) -> dict[str, Any]:
    return asdict(spec.model) | asdict(spec.training)
