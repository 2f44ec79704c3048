"""Inputs on which a reranker is examined: the same documents in other orders, and other sets.

A query's list has documents in the order of its first stage. The design shows

- the list again, unchanged (noise), reversed, and the most relevant documents first;
- the list in random orders (order, shuffle-and-aggregate);
- two sets that share every second document at the same position (company);
- its first documents alone (depth).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shuffleproof.core.rerank.calls import Ranking
from shuffleproof.core.seeds import generator

FIRST, REVERSED, IDEAL, RANDOM = "first stage", "reversed", "ideal", "random"
SET_A, SET_B, TOP = "set A", "set B", "top"
KINDS = frozenset({FIRST, REVERSED, IDEAL, RANDOM, SET_A, SET_B, TOP})
"""Kinds of inputs. Recorded answers have the name of a first stage instead."""

DEPTHS = (5, 10, 20, 50)
"""Lengths of shortened lists, as far as the list is longer."""

LONG = max(DEPTHS) + 1
"""Documents of a list that gets all inputs."""


@dataclass(frozen=True)
class Input:
    """One list to show.

    Attributes:
        name: FIRST, REVERSED, IDEAL, `random 1`, `set A 1`, `set B 1`, `top 5`.
        repeat: number of the call among those of this input, from 1.
    """

    name: str
    repeat: int = 1

    @property
    def kind(self) -> str:
        """Name without its number."""
        return self.name.rstrip("0123456789").strip()

    @property
    def number(self) -> int:
        """Number in the name; 0: none."""
        return int(self.name.removeprefix(self.kind).strip() or 0)


@dataclass(frozen=True)
class Design:
    """Inputs of every query.

    Attributes:
        orders: random orders.
        repeats: calls with the unchanged list.
        sets: pairs of sets with other companions.
        seed: of the random orders and sets.
    """

    orders: int = 8
    repeats: int = 2
    sets: int = 2
    seed: int = 0

    def inputs(self, documents: int) -> list[Input]:
        """Inputs of a list with this many documents."""
        inputs = [Input(FIRST, repeat) for repeat in range(1, self.repeats + 1)]
        if documents < 2:
            return inputs
        inputs += [Input(REVERSED), Input(IDEAL)]
        inputs += [Input(f"{RANDOM} {order}") for order in range(1, self.orders + 1)]
        if documents >= 6:
            numbers = range(1, self.sets + 1)
            inputs += [Input(f"{side} {number}") for number in numbers for side in (SET_A, SET_B)]
        return inputs + [Input(f"{TOP} {depth}") for depth in DEPTHS if depth < documents]

    def lengths(self, documents: int) -> list[int]:
        """Number of documents in each input of a list."""
        names = [str(place) for place in range(documents)]
        return [len(self.documents(one, "", names, {})) for one in self.inputs(documents)]

    def documents(
        self, given: Input, query: str, ranking: Sequence[str], grades: Mapping[str, float]
    ) -> Ranking:
        """Documents of an input, in the order shown.

        Args:
            given: one of `inputs`.
            query: its id, for the draws.
            ranking: documents in the order of the first stage.
            grades: of the documents; missing ones count as 0.

        >>> design, ranking = Design(), "abcdefg"
        >>> "".join(design.documents(Input("top 3"), "1", ranking, {}))
        'abc'
        >>> sides = [design.documents(Input(f"set {side} 1"), "1", ranking, {}) for side in "AB"]
        >>> [a == b for a, b in zip(*sides)]
        [True, False, True, False]
        """
        kind, number = given.kind, given.number
        shown = list(ranking)
        if kind == REVERSED:
            shown.reverse()
        elif kind == IDEAL:
            shown.sort(key=lambda name: -grades.get(name, 0))
        elif kind == TOP:
            shown = shown[:number]
        elif kind == RANDOM:
            draws = generator(self.seed, "reranker orders", query, number)
            shown = [shown[place] for place in draws.permutation(len(shown))]
        elif kind in {SET_A, SET_B}:
            shown = self._set(kind == SET_A, number, query, shown)
        return tuple(shown)

    def _set(self, first: bool, number: int, query: str, documents: list[str]) -> list[str]:  # noqa: FBT001
        """A third of the documents, each followed by one of another third."""
        draws, third = generator(self.seed, "reranker sets", query, number), len(documents) // 3
        places = draws.permutation(len(documents))
        common = np.sort(places[:third])
        others = places[third : 2 * third] if first else places[2 * third : 3 * third]
        return [
            documents[place] for pair in zip(common, np.sort(others), strict=True) for place in pair
        ]
