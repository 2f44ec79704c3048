"""Architectures as frozen values: every difference between paper and released code is a field.

Loads without torch. Losses, optimisers and selection belong to the training recipe. The number
of features is a fact of the data and in no config.
"""

from dataclasses import dataclass
from typing import Literal

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import CheckedParameters, check, parameter


@dataclass(frozen=True)
class SetRankConfig:
    """SetRank (Pang et al., SIGIR 2020, section 4); the defaults are the paper's.

    >>> SetRankConfig(block="imsab", rankings=1).head_width
    32

    Raises:
        ParameterError: a value outside its bounds, or a width that the heads do not divide.
    """

    block: Literal["msab", "imsab"] = parameter(
        "msab",
        "self-attention over the documents, or through induced points",
        choices=("msab", "imsab"),
    )
    input_layer: Literal["linear", "gaussian-kernels"] = parameter(
        "linear",
        "one linear layer, or the released net over Gaussian kernels of every feature",
        choices=("linear", "gaussian-kernels"),
    )
    kernels: int = parameter(100, "Gaussian kernels a feature", low=1, high=1000)
    kernel_width: float = parameter(0.01, "standard deviation of a Gaussian kernel", low=1e-6)
    kernel_layer: int = parameter(1024, "width of the layer over the kernels", low=1)
    width: int = parameter(256, "width E of a document's representation", low=1)
    depth: int = parameter(6, "number of blocks", low=1, high=64)
    heads: int = parameter(8, "attention heads h", low=1)
    feed_forward: int = parameter(1024, "inner width of the row-wise feed-forward nets", low=1)
    inducing_points: int = parameter(20, "induced points M of an IMSAB", low=1)
    inducing_deviation: float = parameter(
        0.1, "standard deviation that the induced points are drawn with", low=0.0
    )
    inducing_feed_forward: bool = parameter(
        default=True, help="a feed-forward net after the first attention of an IMSAB too"
    )
    projection_bias: bool = parameter(default=False, help="a bias in the Q, K and V projections")
    projection_activation: Literal["none", "relu"] = parameter(
        "none", "activation of the Q, K and V projections", choices=("none", "relu")
    )
    scale: Literal["width", "head"] = parameter(
        "width", "logits are divided by √E (width) or √(E/h) (head)", choices=("width", "head")
    )
    norm_epsilon: float = parameter(1e-5, "epsilon of layer normalisation", low=0.0, high=1e-2)
    rankings: int = parameter(0, "initial rankings read through ordinal embeddings", low=0, high=64)
    ordinals: int = parameter(1000, "size N_max of the ordinal table", low=1, high=1_000_000)
    ordinal_direction: Literal["best-first", "worst-first"] = parameter(
        "best-first",
        "index 0 is the best rank, or the best rank has the table's last index",
        choices=("best-first", "worst-first"),
    )
    ordinal_place: Literal["input", "every-block"] = parameter(
        "input", "ordinals are added once or before every block", choices=("input", "every-block")
    )
    ordinal_table: Literal["shared", "own"] = parameter(
        "shared", "one table for all initial rankings, or one for each", choices=("shared", "own")
    )
    ordinal_deviation: float = parameter(
        0.1, "standard deviation that the ordinal table is drawn with", low=0.0
    )
    relative_ordinals: bool = parameter(
        default=True, help="training samples the rank that a list's ordinals start from"
    )
    tied_ranks: Literal["mean", "first"] = parameter(
        "mean",
        "tied documents share the mean ordinal of their block, or take ranks by shown position",
        choices=("mean", "first"),
    )

    def __post_init__(self) -> None:
        """Check the values and that the heads divide the width."""
        check(self)
        if self.width % self.heads:
            raise ParameterError("heads", self.heads, f"a divisor of the width {self.width}")

    @property
    def head_width(self) -> int:
        """The width E/h of one head."""
        return self.width // self.heads

    @property
    def reads_order(self) -> bool:
        """True if the input order can change a score (ties by input position)."""
        return self.rankings > 0 and self.tied_ranks == "first"


@dataclass(frozen=True)
class DLCMConfig(CheckedParameters):
    """Deep Listwise Context Model (Ai et al., SIGIR 2018, section 4); the defaults are the paper's.

    >>> DLCMConfig().input_width(features=46)
    1024

    Raises:
        ParameterError: a value outside its bounds.
    """

    first_layer: int = parameter(
        512, "width of the first elu layer; 0: no input net", low=0, high=65_536
    )
    total_width: int = parameter(
        1024, "features and second elu layer together; that layer has what is missing", low=0
    )
    hidden: int = parameter(0, "state width of the GRU; 0: as wide as its input", low=0)
    cell: Literal["gru", "lstm"] = parameter(
        "gru", "gated recurrent units, or long short-term memory", choices=("gru", "lstm")
    )
    reset: Literal["before", "after"] = parameter(
        "before",
        "a GRU's reset gate acts before the state's matrix (Eq. 4) or after it (cuDNN's)",
        choices=("before", "after"),
    )
    direction: Literal["lowest-first", "highest-first"] = parameter(
        "lowest-first",
        "fed from the last shown position to the first, or the other way",
        choices=("lowest-first", "highest-first"),
    )
    two_directions: bool = parameter(default=False, help="a second GRU in the other direction")
    context: Literal["multiply", "add"] = parameter(
        "multiply",
        "φ of Eq. 5, whose shapes leave it open: v · (o · tanh(W s + b)) with W s + b in k rows, "
        "our reading of the paper, or the released code's additive v · tanh(U o + W s + b)",
        choices=("multiply", "add"),
    )
    heads: int = parameter(3, "hidden units k of φ", low=1, high=1024)
    feed: Literal["shown", "shuffled"] = parameter(
        "shown",
        "lists are fed as shown, or shuffled with a seed so that the order says nothing",
        choices=("shown", "shuffled"),
    )

    def second_layer(self, features: int) -> int:
        """Width β of the second elu layer: `total_width` − features, at least 0."""
        return max(self.total_width - features, 0) if self.first_layer else 0

    def input_width(self, features: int) -> int:
        """Width α + β of a document's input vector."""
        return features + self.second_layer(features)

    @property
    def gates(self) -> int:
        """Products of the state that a step takes: 3 of a GRU, 4 of an LSTM."""
        return 4 if self.cell == "lstm" else 3

    def hidden_width(self, features: int) -> int:
        """Width of the recurrent state."""
        return self.hidden or self.input_width(features)


SETRANK_PRESETS: dict[str, SetRankConfig] = {
    "paper": SetRankConfig(),
    "released": SetRankConfig(
        input_layer="gaussian-kernels",
        inducing_feed_forward=False,
        projection_bias=True,
        projection_activation="relu",
        scale="head",
        norm_epsilon=1e-8,
        ordinal_direction="worst-first",
        ordinal_place="every-block",
        relative_ordinals=False,
        tied_ranks="first",
    ),
    "tuned": SetRankConfig(
        width=128,
        depth=3,
        heads=4,
        feed_forward=256,
        scale="head",
        ordinal_table="own",
        ordinal_deviation=0.02,
    ),
    "small": SetRankConfig(
        width=32,
        depth=2,
        heads=2,
        feed_forward=64,
        inducing_points=8,
        scale="head",
        ordinals=256,
        ordinal_deviation=0.02,
    ),
}

DLCM_PRESETS: dict[str, DLCMConfig] = {
    "paper": DLCMConfig(),
    "released": DLCMConfig(context="add"),
    "tuned": DLCMConfig(first_layer=256, total_width=256, hidden=128),
    "small": DLCMConfig(first_layer=32, total_width=32, hidden=32, heads=2),
}
