"""An order in which the documents of one list are shown, as a short text that reads back.

`initial`, `label`, `id`, `feature:3`, `shuffled:7`, `by-hand:2.0.1` and `worst:2.0.1`, each
reversed by a leading minus. The text is what an address holds, so a shared link shows the same
order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.seeds import generator

FORM = re.compile(
    r"(-?)(?:(initial|label|id)|(feature|shuffled):([0-9]{1,9})|(by-hand|worst):([0-9.]+))"
)
ALLOWED = "initial, label, id, feature:3, shuffled:7 or by-hand:2.0.1, or one of them after a minus"


@dataclass(frozen=True)
class Documents:
    """The documents of one list, in the order of the initial ranking.

    Attributes:
        query: the query's id.
        ids: one id a document.
        labels: grades.
        ranks: 0-based ranks under the initial ranking.
        features: requested columns, by feature id.
        unusual: of each document the features furthest from the list's mean, in words.
    """

    query: str
    ids: tuple[str, ...]
    labels: tuple[float, ...]
    ranks: tuple[int, ...]
    features: dict[int, tuple[float, ...]]
    unusual: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.ids)


@dataclass(frozen=True)
class ShownOrder:
    """Input order of the documents of a list.

    Attributes:
        kind: initial, label, id, feature, shuffled, by-hand or worst.
        argument: the feature's id, or the seed.
        places: for by-hand and worst, the document shown at each position.
        reversed: the other way round.

    >>> str(ShownOrder.parse("-shuffled:7").turned())
    'shuffled:7'
    """

    kind: str = "initial"
    argument: int = 0
    places: tuple[int, ...] = ()
    reversed: bool = False

    @classmethod
    def parse(cls, text: str) -> "ShownOrder":
        """The order that a text means.

        Raises:
            ParameterError: the text has another form.
        """
        match = FORM.fullmatch(text)
        if match is None:
            raise ParameterError("order", text, ALLOWED)
        minus, plain, with_number, number, listed, places = match.groups()
        try:
            sequence = tuple(int(place) for place in places.split(".")) if places else ()
        except ValueError:
            raise ParameterError("order", text, ALLOWED) from None
        kind = plain or with_number or listed
        return cls(kind, int(number or 0), sequence, bool(minus))

    @classmethod
    def by_hand(cls, arranged: Sequence[int]) -> "ShownOrder":
        """The order in which these documents are shown."""
        return cls("by-hand", places=tuple(int(place) for place in arranged))

    def __str__(self) -> str:
        """As `parse` reads it."""
        places = f":{'.'.join(map(str, self.places))}"
        arguments = {
            "feature": f":{self.argument}", "shuffled": f":{self.argument}",
            "by-hand": places, "worst": places,
        }  # fmt: skip
        return ("-" if self.reversed else "") + self.kind + arguments.get(self.kind, "")

    def turned(self) -> "ShownOrder":
        """The same order the other way round."""
        return replace(self, reversed=not self.reversed)

    def words(self) -> str:
        """The order in words, to follow “shown”.

        >>> ShownOrder.parse("-feature:3").words()
        'by feature 3, the smallest first'
        """
        forward, backward = {
            "initial": ("by the initial ranking", "by the initial ranking, the last first"),
            "label": ("by label, the best first", "by label, the worst first"),
            "id": ("by document id", "by document id, the last first"),
            "feature": (
                f"by feature {self.argument}, the largest first",
                f"by feature {self.argument}, the smallest first",
            ),
            "shuffled": (
                f"shuffled with seed {self.argument}",
                f"shuffled with seed {self.argument}, then reversed",
            ),
            "by-hand": ("in a chosen order", "in a chosen order, then reversed"),
            "worst": ("in the worst order found", "in the worst order found, then reversed"),
        }[self.kind]
        return backward if self.reversed else forward

    def arranged(self, documents: Documents) -> list[int]:
        """The document (its place in the initial ranking) shown at each position.

        Raises:
            ParameterError: the order names another list's documents, or a feature not at hand.
        """
        order = self._forward(documents)
        return order[::-1] if self.reversed else order

    def _forward(self, documents: Documents) -> list[int]:
        places = list(range(len(documents)))
        if self.kind == "shuffled":
            shuffled = generator(self.argument, "shown", documents.query).permutation(
                len(documents)
            )
            return [int(place) for place in shuffled]
        if self.places:
            if sorted(self.places) != places:
                allowed = f"an order of these {len(documents)} documents"
                raise ParameterError("order", str(self), allowed)
            return list(self.places)
        if self.kind == "id":
            return sorted(places, key=lambda place: documents.ids[place])
        if self.kind == "initial":
            return places
        grades = {"label": documents.labels, "feature": documents.features.get(self.argument)}
        column = grades[self.kind]
        if column is None:
            raise ParameterError("order", str(self), "by a feature that the data set has")
        return sorted(places, key=lambda place: -column[place])


def move_document(arranged: Sequence[int], at: int, to: int) -> list[int]:
    """The order after the document at one position is put at another; the others close up.

    >>> move_document([5, 6, 7, 8], at=0, to=2)
    [6, 7, 5, 8]
    """
    remaining = [*arranged[:at], *arranged[at + 1 :]]
    place = min(max(to, 0), len(remaining))
    return [*remaining[:place], arranged[at], *remaining[place:]]


def document_names(ids: TextColumn | None, rows: np.ndarray) -> list[str]:
    """The ids of these rows, or `row 17` (1-based) where the data set names no documents."""
    if ids is None:
        return [f"row {int(row) + 1}" for row in rows]
    return [ids[int(row)] for row in rows]
