"""Groupwise scoring functions (GSF) as a frozen value: a net over groups of m documents."""

from dataclasses import dataclass
from typing import Literal

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.models.config_univariate import widths_of
from shuffleproof.core.parameters import check, parameter


@dataclass(frozen=True)
class GroupConfig:
    """GSF (Ai et al., ICTIR 2019): groups of m documents are scored jointly, scores averaged.

    >>> GroupConfig(group=3).reads_order
    True

    Raises:
        ParameterError: a value outside its bounds, or groups that cannot be enumerated.
    """

    group: int = parameter(2, "group size m", low=1, high=256, unit="documents")
    layers: str = parameter(
        "256x128x64", "widths of the hidden layers, as 256x128; none: a linear net over the group"
    )
    activation: Literal["relu", "elu", "tanh"] = parameter(
        "relu", "activation of the hidden layers", choices=("relu", "elu", "tanh")
    )
    norm: Literal["none", "layer"] = parameter(
        "none", "hidden units of a group are normalised or not", choices=("none", "layer")
    )
    grouping: Literal["circular", "sampled", "exhaustive"] = parameter(
        "circular",
        "windows that go round the list, those of several shuffles, or all pairs (m = 2)",
        choices=("circular", "sampled", "exhaustive"),
    )
    shuffles: int = parameter(8, "shuffles S of sampled groups", low=1, high=4096)
    aggregation: Literal["mean", "sum"] = parameter(
        "mean", "a document's scores in its groups are averaged or added", choices=("mean", "sum")
    )
    feed: Literal["shown", "shuffled"] = parameter(
        "shuffled",
        "groups are formed in the input order, or after a seeded shuffle; training shuffles in "
        "every step",
        choices=("shown", "shuffled"),
    )

    def __post_init__(self) -> None:
        """Check the values."""
        check(self)
        widths_of(self.layers)
        if self.grouping == "exhaustive" and self.group != 2:
            raise ParameterError("group", self.group, "2, where groups are exhaustive")

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of each hidden layer."""
        return widths_of(self.layers)

    @property
    def reads_order(self) -> bool:
        """True if the input order decides the groups."""
        return self.group > 1 and self.grouping != "exhaustive"

    @property
    def shuffled(self) -> bool:
        """True if positions are shuffled with a seed before groups are formed."""
        return self.reads_order and self.feed == "shuffled"

    def passes(self, documents: int | float) -> int | float:
        """Number of windows that begin with each document of a list.

        >>> GroupConfig(grouping="sampled", shuffles=4).passes(40)
        4
        """
        if self.grouping == "exhaustive":
            return max(documents - 1, 1)
        return self.shuffles if self.grouping == "sampled" else 1


GROUP_PRESETS: dict[str, GroupConfig] = {
    # Ours but for groups, windows and mean: SetRank's paper does not say how its GSF was built.
    "paper": GroupConfig(group=4),
    # TF-Ranking forms windows in the input order when it serves; the rest is its example's net.
    "released": GroupConfig(feed="shown"),
    # Ours.
    "tuned": GroupConfig(group=4, layers="64x32", activation="tanh", grouping="sampled"),
    "small": GroupConfig(group=3, layers="32x16", grouping="sampled", shuffles=4),
}
