"""What single differences between recipes there can be, each with the line that it comes from.

The lines are those of the papers' reading list; what no line decides is said to be ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec

SIZES = (
    "width", "depth", "heads", "feed_forward", "inducing_points", "kernels", "kernel_layer",
    "ordinals", "first_layer", "total_width", "hidden", "layers",
)  # fmt: skip
"""Fields that say how large a network is."""

BATCHES = (
    "batch_lists", "batch_documents", "steps_per_epoch", "least_steps", "epochs", "patience",
    "sampling",
)  # fmt: skip
"""Fields that say how long it is trained, on how much at a time."""


@dataclass(frozen=True)
class Step:
    """Fields that change together.

    Attributes:
        label: what they decide, in the field's words.
        fields: of the architecture or of the training.
        source: what SetRank's paper and released code have, or those of the only family that has
            the fields, as the papers' reading list says it; `ours: …` where it says nothing.
        dlcm: the same for DLCM, where SetRank has them too.
        gsf: for GSF.
        nets: for nets of single documents (RankNet and its successors).
    """

    label: str
    fields: tuple[str, ...]
    source: str
    dlcm: str = ""
    gsf: str = ""
    nets: str = ""

    def source_for(self, spec: NeuralSpec) -> str:
        """The line for a ranker."""
        match spec.model:
            case DLCMConfig():
                return self.dlcm or self.source
            case GroupConfig():
                return self.gsf or self.source
            case UnivariateConfig():
                return self.nets or self.source
        return self.source


def ours(what: str) -> str:
    """What no line of the papers decides.

    >>> ours("any weight decay")
    'ours: any weight decay, not in the papers'
    """
    return f"ours: {what}, not in the papers"


OURS_OF_GSF = ours("GSF's training, after TF-Ranking's example where it is called released")
OURS_OF_NETS = ours("the nets' training, after TF-Ranking's example where it is called released")

STEPS: tuple[Step, ...] = (
    Step(
        "input layer",
        ("input_layer",),
        "paper: one row-wise linear layer; released: 100 Gaussian kernels a feature (width 0.01, "
        "trainable centres ~ U(−1, 1)), then 1024-relu-LN, 256-LN: about 20.8 M of 25 M weights",
    ),
    Step(
        "kernel width",
        ("kernel_width",),
        "released: 100 Gaussian kernels a feature, width 0.01; the paper has none",
    ),
    Step(
        "Q/K/V bias",
        ("projection_bias",),
        "paper: LN(Q + Multihead(Q, K, V)), linear alone; released: Q, K, V linear + bias + relu",
    ),
    Step(
        "Q/K/V activation",
        ("projection_activation",),
        "paper: LN(Q + Multihead(Q, K, V)), linear alone; released: Q, K, V linear + bias + relu",
    ),
    Step("logit scale", ("scale",), "paper: √E in Eq. 3; released: √(E/h)"),
    Step(
        "first rFF of IMSAB",
        ("inducing_feed_forward",),
        "paper: H = MAB(I, X, X), then MAB(X, H, H), two rFF; released: one rFF only, after the "
        "second attention",
    ),
    Step(
        "induced deviation",
        ("inducing_deviation",),
        "paper: none stated; released: I ~ N(0, 0.1), its own per block",
    ),
    Step("layer norm ε", ("norm_epsilon",), "paper: none stated; released: LN eps 1e-8"),
    Step(
        "ordinal index",
        ("ordinal_direction",),
        "paper: p_i = P(rank i); released: index 0 = worst, the best document has the top index",
    ),
    Step(
        "ordinals",
        ("ordinal_place",),
        "paper: added once to the input; released: added before every block",
    ),
    Step(
        "relative ordinals",
        ("relative_ordinals",),
        "paper: start s sampled, ranks s … s + N − 1; released: commented out",
    ),
    Step(
        "tied initial ranks",
        ("tied_ranks",),
        "released: by shown position, which breaks invariance; "
        + ours("the mean ordinal of the tied block"),
    ),
    Step(
        "ordinal table",
        ("ordinal_table",),
        "paper: several rankings are summed; " + ours("a table for each ranking"),
    ),
    Step(
        "ordinal deviation",
        ("ordinal_deviation",),
        "paper: none stated; released: table N(0, 0.1)",
    ),
    Step(
        "context φ",
        ("context",),
        "paper: φ = v · (o · tanh(W s_n + b)); released default: another variant (add)",
    ),
    Step(
        "direction",
        ("direction",),
        "DLCM: fed from the lowest rank to the highest; the paper: the other direction is worse",
    ),
    Step("two directions", ("two_directions",), "DLCM: one; the paper: two do not help"),
    Step("cell", ("cell",), "DLCM: a GRU; " + ours("an LSTM beside it")),
    Step(
        "groups",
        ("grouping", "shuffles"),
        "GSF: circular windows after a shuffle (TF-Ranking), S sampled shuffles, or all pairs for "
        "m = 2; which of them SetRank's paper took is not stated",
    ),
    Step(
        "group size",
        ("group",),
        "GSF: groups of m documents scored jointly by an MLP; " + ours("which m"),
    ),
    Step("aggregation", ("aggregation",), "GSF: averaged over the groups a document is in"),
    Step(
        "order fed",
        ("feed",),
        "GSF: circular windows after a shuffle; TF-Ranking: order-dependent at serving",
    ),
    Step(
        "activation",
        ("activation",),
        ours("relu or tanh in the hidden layers of GSF"),
        nets=ours("relu or tanh in the hidden layers"),
    ),
    Step(
        "normalised layers",
        ("norm",),
        ours("whether hidden layers of GSF are normalised"),
        nets=ours("whether hidden layers are normalised"),
    ),
    Step(
        "reset gate",
        ("reset",),
        "DLCM: a GRU as in Eq. 4; " + ours("cuDNN's reset after the product"),
    ),
    Step(
        "loss",
        ("loss",),
        "paper: attention rank with both terms; released: softmax cross entropy alone, no "
        "(1 − a) term; the target is the same",
        dlcm="DLCM: ListMLE, SoftRank, attention rank; the paper: attention rank trains twice as "
        "fast as ListMLE and twenty times as fast as SoftRank",
        gsf=ours("the loss that GSF is trained with"),
        nets=ours("the loss of a net that is not named after one"),
    ),
    Step(
        "target temper",
        ("temper",),
        "paper: τ(y) = exp(y) if y > 0 else 0, normalised in the list; released: exp(y · temper)",
        dlcm=ours("DLCM's target is not tempered"),
        gsf=ours("the target is not tempered"),
        nets=ours("the target is not tempered"),
    ),
    Step("noise of SoftRank", ("deviation",), "DLCM: SoftRank with σ 0.1"),
    Step(
        "form of the loss",
        ("temperature", "pair_weights", "cutoff", "steepness"),
        ours("how smooth a loss is, and what its pairs weigh"),
    ),
    Step(
        "unit scores",
        ("unit_norm",),
        "DLCM, released: L2-normalises scores before ListMLE and SoftRank, a handicap; ours: not",
    ),
    Step(
        "optimiser",
        ("optimiser",),
        "paper: Adam 0.001; released: Adam 0.0005",
        dlcm="DLCM, released: SGD 0.5; the paper: none stated",
        gsf=OURS_OF_GSF,
        nets=OURS_OF_NETS,
    ),
    Step(
        "learning rate",
        ("learning_rate",),
        "paper: Adam 0.001; released: Adam 0.0005",
        dlcm="DLCM, released: SGD 0.5; the paper: none stated",
        gsf=OURS_OF_GSF,
        nets=OURS_OF_NETS,
    ),
    Step(
        "schedule",
        ("schedule", "decay", "stall_epochs", "warm_up"),
        ours("any schedule but a constant rate"),
        dlcm="DLCM, released: × 0.8 when the loss stalls",
    ),
    Step("weight decay", ("weight_decay",), ours("any weight decay")),
    Step("hidden features", ("hidden_features",), ours("any hiding of features")),
    Step(
        "gradient clip",
        ("clip",),
        "paper: none stated; released: clip 5",
        dlcm="DLCM, released: clip 5",
        gsf=OURS_OF_GSF,
        nets=OURS_OF_NETS,
    ),
    Step(
        "selection",
        ("selection",),
        "paper: validation NDCG@10; released: validation loss every 100 steps",
        dlcm=ours("what DLCM's epoch is selected by"),
        gsf=ours("what GSF's epoch is selected by"),
        nets=ours("what an epoch is selected by"),
    ),
    Step(
        "normalisation",
        ("normalisation",),
        "paper: not stated; released: min-max over train + valid + test together (a leak), ours "
        "over train alone",
        dlcm=ours("the features' normalisation for DLCM"),
        gsf=ours("the features' normalisation for GSF"),
        nets=ours("the features' normalisation"),
    ),
    Step("precision", ("precision",), ours("float32, or bfloat16 where it is faster")),
    Step(
        "size",
        SIZES,
        "paper and released: depth 6, width 256, 8 heads",
        dlcm="DLCM: two elu layers (512, then max(1024 − α, 0)); k = 3 heads",
        gsf=ours("the widths of GSF's net"),
        nets=ours("the widths of the net"),
    ),
    Step(
        "batches and epochs",
        BATCHES,
        "paper: none stated; released: batch 32 lists, 10 000 steps with replacement",
        dlcm="DLCM, released: batch 256 lists, about 10 000 steps",
        gsf=OURS_OF_GSF,
        nets=OURS_OF_NETS,
    ),
)
"""In the order of the table in which the papers' reading lists them."""


BASE, PAPER = "paper", "claims"
"""The recipe that all others are compared with, and what its paper compares beside it."""

CLAIMS: Mapping[type, tuple[Mapping[str, Any], ...]] = {
    DLCMConfig: (
        {"direction": "highest-first"},
        {"two_directions": True},
        {"cell": "lstm"},
        {"loss": "list-mle"},
        {"loss": "softrank"},
    ),
}
"""Single differences that no preset has and that a paper compares, by architecture."""

ONLY_ORDINALS = frozenset(
    {"ordinals", "ordinal index", "relative ordinals", "tied initial ranks", "ordinal table",
     "ordinal deviation"}
)  # fmt: skip
ONLY_IMSAB = frozenset({"first rFF of IMSAB"})


@dataclass(frozen=True)
class Difference:
    """One step from a recipe towards another.

    Attributes:
        label: the step and the value it leads to: `loss softmax-ce`.
        values: fields to replace.
        source: what the paper and what the released code has.
    """

    label: str
    values: Mapping[str, Any]
    source: str


def differences(base: NeuralSpec, other: NeuralSpec) -> list[Difference]:
    """Every step that leads from one recipe to another, fields without effect left out.

    >>> small = NeuralSpec.preset("setrank-msab", "small")
    >>> [one.label for one in differences(small, small.changed({"loss": "softmax-ce"}))]
    ['loss softmax-ce']
    """
    one, two = _flat(base), _flat(other)
    found = []
    for step in STEPS:
        if step.label in _without_effect(base):
            continue
        changed = {
            field: two[field]
            for field in step.fields
            if field in one and field in two and one[field] != two[field]
        }
        if changed:
            label = f"{step.label} {_words(changed)}"
            found.append(Difference(label, changed, step.source_for(base)))
    return found


def claimed(base: NeuralSpec) -> list[Difference]:
    """The single differences that the ranker's paper compares and no preset has.

    >>> [one.label for one in claimed(NeuralSpec.preset("dlcm", "small"))][:2]
    ['direction highest-first', 'two directions on']
    """
    changes = [dict(one) for one in CLAIMS.get(type(base.model), ())]
    free = [one for one in changes if not one.keys() & FIXED[base.name].keys()]
    return [one for change in free for one in differences(base, base.changed(change))]


def rankers_with_claims() -> list[str]:
    """The rankers whose paper compares single differences that no preset has.

    >>> rankers_with_claims()
    ['dlcm', 'dlcm-without-init', 'dlcm-listmle', 'dlcm-softrank']
    """
    return [name for name in FIXED if type(NeuralSpec.preset(name).model) in CLAIMS]


def step_of(label: str) -> str:
    """The step that a difference's label begins with; empty where none does.

    >>> step_of("batches and epochs epochs 40, patience 12"), step_of("my own")
    ('batches and epochs', '')
    """
    found = [step.label for step in STEPS if label.startswith(f"{step.label} ")]
    return max(found, key=len, default="")


def check(ranker: str, towards: Sequence[str]) -> None:
    """Refuse what would leave `paper` alone, before anything is read or trained.

    Raises:
        UsageError: no preset but `paper`, or claims of a paper that compares nothing.
        UnknownNameError: no such ranker.

    >>> check("dlcm", ["released", "claims"])
    """
    base = NeuralSpec.preset(ranker)
    if PAPER in towards and not claimed(base):
        known = ", ".join(rankers_with_claims())
        raise UsageError(
            f"{ranker}'s paper compares nothing beside its own recipe: name released or tuned, "
            f"or a ranker with {PAPER}, {known}"
        )
    if not set(towards) - {BASE}:
        raise UsageError("nothing to compare with paper: name released, tuned or claims")


def _without_effect(spec: NeuralSpec) -> frozenset[str]:
    if not isinstance(spec.model, SetRankConfig):
        return frozenset()
    ordinals = frozenset() if spec.model.rankings else ONLY_ORDINALS
    return ordinals | (frozenset() if spec.model.block == "imsab" else ONLY_IMSAB)


def _words(changed: Mapping[str, Any]) -> str:
    """A single value as it is; several with their names; truth as on and off."""
    said = [(name.replace("_", " "), _word(value)) for name, value in changed.items()]
    return said[0][1] if len(said) == 1 else ", ".join(" ".join(pair) for pair in said)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _flat(spec: NeuralSpec) -> dict[str, Any]:
    return asdict(spec.model) | asdict(spec.training)
