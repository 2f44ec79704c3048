"""The differences between two recipes of a network, one step each, and where each comes from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.models.config import DLCMConfig, SetRankConfig
from core.models.config_groups import GroupConfig
from core.models.config_univariate import UnivariateConfig
from core.rankers.recipes import FIXED, NeuralSpec

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
            the fields.
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


OF_GSF = "not stated in GSF's or SetRank's paper; released: TF-Ranking's example"
OF_NETS = "the nets' papers state none of today; released: TF-Ranking's example"

STEPS: tuple[Step, ...] = (
    Step(
        "input layer",
        ("input_layer",),
        "paper: one row-wise linear layer; released: 100 Gaussian kernels a feature, two layers "
        "(20.8 M of 25 M weights), their centres within [−1, 1] for min-max features",
    ),
    Step("Q/K/V bias", ("projection_bias",), "Eq. 4 has none; released: a bias"),
    Step("Q/K/V activation", ("projection_activation",), "Eq. 4 has none; released: relu"),
    Step("logit scale", ("scale",), "Eq. 3 divides by √E; released: by √(E/h)"),
    Step(
        "first rFF of IMSAB",
        ("inducing_feed_forward",),
        "Eq. 8: MAB twice, two feed-forward nets; released: one, after the second attention",
    ),
    Step("layer norm ε", ("norm_epsilon",), "not stated; released: 1e-8"),
    Step("ordinal index", ("ordinal_direction",), "paper: p_i = P(rank i); released: 0 = worst"),
    Step("ordinals", ("ordinal_place",), "paper: added once; released: before every block"),
    Step("relative ordinals", ("relative_ordinals",), "section 4.3; released: commented out"),
    Step("tied initial ranks", ("tied_ranks",), "not discussed; released: by shown position"),
    Step("ordinal table", ("ordinal_table",), "paper: one table, summed; ours may have several"),
    Step("ordinal deviation", ("ordinal_deviation",), "not stated; released: N(0, 0.1)"),
    Step("context φ", ("context",), "Eq. 7 multiplies; released default: adds"),
    Step(
        "direction",
        ("direction",),
        "DLCM: fed from the lowest rank to the highest; the paper: the other direction is worse",
    ),
    Step("two directions", ("two_directions",), "DLCM: one; the paper: a second does not help"),
    Step("cell", ("cell",), "DLCM: gated recurrent units; an LSTM is the usual alternative"),
    Step("groups", ("grouping",), "GSF: not fixed; TF-Ranking: circular windows after a shuffle"),
    Step("group size", ("group",), "GSF: documents scored jointly; more cost more"),
    Step("aggregation", ("aggregation",), "GSF: scores are averaged over a document's groups"),
    Step("order fed", ("feed",), "GSF: shuffled, so that the order says nothing; or as shown"),
    Step(
        "activation",
        ("activation",),
        "GSF: not stated; TF-Ranking's example: relu",
        nets="RankNet (ICML 2005): tanh; TF-Ranking's example: relu",
    ),
    Step(
        "normalised layers",
        ("norm",),
        "GSF: not stated; TF-Ranking's example: by batch",
        nets="RankNet (ICML 2005): none; TF-Ranking's example: by batch",
    ),
    Step("reset gate", ("reset",), "DLCM, Eq. 4: before the product"),
    Step(
        "loss",
        ("loss",),
        "paper: attention rank, both terms; released: softmax cross entropy without (1 − a)",
        dlcm="DLCM: attention rank; it trains 2 × as fast as ListMLE and 20 × as fast as SoftRank",
        gsf="GSF: softmax cross entropy, as TF-Ranking's example",
        nets="each net is named after its loss; mlp takes any",
    ),
    Step(
        "unit scores",
        ("unit_norm",),
        "DLCM's released code L2-normalises scores before ListMLE and SoftRank; ours does not",
    ),
    Step(
        "optimiser",
        ("optimiser",),
        "paper: Adam; released: Adam",
        dlcm="DLCM, paper and released: SGD",
        gsf=OF_GSF,
        nets=OF_NETS,
    ),
    Step(
        "learning rate",
        ("learning_rate",),
        "paper: 0.001; released: 0.0005",
        dlcm="DLCM, paper and released: 0.5",
        gsf=OF_GSF,
        nets=OF_NETS,
    ),
    Step(
        "schedule",
        ("schedule",),
        "not stated; released: constant",
        dlcm="DLCM, released: × 0.8 when the loss stalls",
        gsf=OF_GSF,
        nets=OF_NETS,
    ),
    Step("weight decay", ("weight_decay",), "neither paper nor released code has any"),
    Step("hidden features", ("hidden_features",), "neither paper nor released code hides any"),
    Step(
        "gradient clip",
        ("clip",),
        "not stated; released: 5",
        dlcm="DLCM, released: 5",
        gsf=OF_GSF,
        nets=OF_NETS,
    ),
    Step(
        "selection",
        ("selection",),
        "paper: validation NDCG@10; released: validation loss",
        dlcm="DLCM: not stated",
        gsf="GSF: not stated",
        nets="not stated",
    ),
    Step(
        "normalisation",
        ("normalisation",),
        "not stated; released: min-max over all parts (ours: over train alone)",
        dlcm="DLCM: not stated",
        gsf="GSF: not stated",
        nets="not stated",
    ),
    Step(
        "size",
        SIZES,
        "both: 6 blocks, width 256, 8 heads",
        dlcm="DLCM: elu layers of 512 and 1024 − α; k = 3 heads",
        gsf=OF_GSF,
        nets="RankNet and LambdaRank: one hidden layer of 10; TF-Ranking's example: 256x128x64",
    ),
    Step(
        "batches and epochs",
        BATCHES,
        "not stated; released: 10 000 steps of 32 lists with replacement",
        dlcm="DLCM, released: about 10 000 steps of 256 lists",
        gsf=OF_GSF,
        nets=OF_NETS,
    ),
)
"""In the order of the table in which the papers' reading lists them."""

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
