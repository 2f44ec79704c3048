"""Pairs that are paid for one by one: what an aggregator knows, and what it wants to know next.

An aggregator is a function of the known pairs. If they are not enough, it names the pairs it wants;
these are bought together, and it starts again. So it cannot read an unpaid pair, stored answers
are never bought again, and a budget ends the purchases, not the order.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float64, Int64

from shuffleproof.core.aggregate.preferences import Pairs, mean_of_orders

Couples: TypeAlias = Int64[np.ndarray, "pairs 2"]
Judge: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Pairs (i, j) → two columns: the weights of i above j and of j above i, NaN without an answer."""


@dataclass(frozen=True)
class PaidPairs:
    """The pairs of one query whose answers were paid for.

    Attributes:
        weights: of the row's item above the column's; NaN where nothing is known.
        paid: pairs that were paid for, both ways; one without an answer stays NaN.
        read: pairs that the aggregator read or wanted, the lower row first.
        pairs: how many those are.
        weigh: whether weights of a pair add up to its votes' share (sets of rankings); else they
            are answers in both orders shown.
    """

    weights: Float64[np.ndarray, "items items"]
    paid: Bool[np.ndarray, "items items"]
    read: Bool[np.ndarray, "items items"]
    pairs: Int64[np.ndarray, " one"] = field(default_factory=lambda: np.zeros(1, np.int64))
    weigh: bool = False

    @classmethod
    def nothing(cls, items: int, *, weigh: bool = False) -> "PaidPairs":
        """Items without any paid pair."""
        return cls(
            np.full((items, items), np.nan),
            # An item with itself needs no call
            np.eye(items, dtype=bool),
            np.zeros((items, items), dtype=bool),
            weigh=weigh,
        )

    @classmethod
    def all_of(
        cls, weights: Float64[np.ndarray, "items items"], *, weigh: bool = False
    ) -> "PaidPairs":
        """All pairs paid for; `read` notes those that an aggregator reads."""
        return cls(
            weights, np.ones(weights.shape, bool), np.zeros(weights.shape, bool), weigh=weigh
        )

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.weights)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arguments of the compiled kernels, in their order."""
        return self.weights, self.paid, self.read, self.pairs

    @property
    def means(self) -> Float64[np.ndarray, "items items"]:
        """Weights by the mean over both orders shown, so that a judged pair counts once."""
        return self.weights if self.weigh else mean_of_orders(self.weights)

    def unpaid(self) -> Couples:
        """The pairs that were read and are not paid for, by row; forgets what was read."""
        pairs = np.argwhere(self.read & ~self.paid)
        self.read[:] = False  # the aggregator starts again with more pairs
        self.pairs[:] = 0
        return pairs

    def put(self, pairs: Couples, answers: Float64[np.ndarray, "pairs 2"]) -> None:
        """Note pairs as paid for, with their answers."""
        rows, columns = pairs.T
        self.weights[rows, columns], self.weights[columns, rows] = answers.T
        # Also without an answer, so that the pair is not requested again
        self.paid[rows, columns] = self.paid[columns, rows] = True


@dataclass
class Oracle:
    """Stored preferences that give an answer for a call, and count the calls.

    Attributes:
        pairs: what is stored.
        calls: number of asked pairs; asking a pair again costs again.
    """

    pairs: Pairs
    calls: int = field(default=0, init=False)

    def __call__(self, couples: Couples) -> Float64[np.ndarray, "pairs 2"]:
        """The weights of these pairs, both ways."""
        self.calls += len(couples)
        rows, columns = couples.T
        # One call answers both directions: an aggregator must not pay twice for a pair
        weights = self.pairs.weights
        return np.stack([weights[rows, columns], weights[columns, rows]], axis=1)
