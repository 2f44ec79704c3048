"""One change of one candidate list: another input order, or a perturbation at a level."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shuffleproof.core.answers.shown_order import Documents, ShownOrder, document_names
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.perturb.base import Change as Touched
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import ATTACK, PERTURBATIONS, perturbation
from shuffleproof.core.seeds import generator

ORDERS = ("initial", "shuffled", "label", "id", "by-hand")
ALLOWED = (
    "an input order (shuffled:7, -initial, label, id) or a perturbation of ranking, order, set or "
    "features (as feature-noise:0.5:1, the last number the draw)"
)


WORDS: Mapping[Touched, str] = {
    "order": "input order", "ranking": "initial ranking", "set": "set of documents",
    "features": "features",
}  # fmt: skip
"""What is touched, the strongest last: a change of the ranking changes the input order too."""


@dataclass(frozen=True)
class ListEdit:
    """A change of one list.

    Attributes:
        order: another input order, prior ranks as they are; None: a family says it.
        family: a perturbation of the input order, the initial ranking, the set or the features.
        level: its strength.
        seed: of the draw.

    >>> str(ListEdit.parse("transpositions:5:2")), ListEdit.parse("shuffled:7").change_name
    ('transpositions:5:2', 'input order')
    """

    order: ShownOrder | None = None
    family: str = ""
    level: float = 0.0
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "ListEdit":
        """The change that a text means.

        Raises:
            ParameterError: the text has another form, or means labels or an attack.
        """
        before, plus, last = text.rpartition("+")
        name, _, parameters = last.partition(":")
        family = before + plus + name
        if name not in PERTURBATIONS:
            order = ShownOrder.parse(text)
            if order.kind not in ORDERS:
                raise ParameterError("change", text, ALLOWED)
            return cls(order)
        level, _, seed = parameters.partition(":")
        try:
            edit = cls(None, family, number(level), whole(seed or "0"))
        except ValueError:
            raise ParameterError("change", text, ALLOWED) from None
        if not edit.touches <= set(WORDS) or ATTACK in family:
            raise ParameterError("change", text, ALLOWED)
        return edit

    @property
    def touches(self) -> frozenset[Touched]:
        """Parts of the input that change."""
        if self.order is not None:
            return frozenset({"order"})
        return perturbation(self.family, self.level).changes

    @property
    def change_name(self) -> str:
        """The name of what changes, in words; of several the one that says most."""
        return [words for name, words in WORDS.items() if name in self.touches][-1]

    def __str__(self) -> str:
        """As `parse` reads it."""
        return str(self.order) if self.order else f"{self.family}:{self.level:g}:{self.seed}"

    def words(self) -> str:
        """The change in words, to follow “the list”.

        >>> ListEdit.parse("transpositions:5").words()
        'under another initial ranking (transpositions, level 5)'
        >>> ListEdit.parse("feature-noise:0.5").words()
        'with other features (feature-noise, level 0.5)'
        """
        if self.order is not None:
            return f"shown {self.order.words()}"
        detail = f"({self.family}, level {self.level:g})"
        if "set" in self.touches:
            and_features = " and features" if "features" in self.touches else ""
            return f"with another {WORDS['set']}{and_features} {detail}"
        if "features" in self.touches:
            return f"with other {WORDS['features']} {detail}"
        return f"under another {self.change_name} {detail}"

    def of(self, judged: JudgedLists) -> JudgedLists:
        """The changed list, with the data set that it is of."""
        dataset, lists = judged.dataset, judged.lists
        query = dataset.query_ids[int(lists.queries[0])]
        if self.order is None:
            randomness = generator(self.seed, "attention", query, self.family)
            return perturb(perturbation(self.family, self.level), judged, randomness)
        names = tuple(document_names(dataset.doc_ids, lists.rows))
        labels = tuple(map(float, dataset.labels[lists.rows]))
        order = self.order.arranged(Documents(query, names, labels, (), {}))
        return replace(judged, lists=lists.shown_as(np.array(order, dtype=np.int64)))


def offered_families() -> tuple[str, ...]:
    """Every single family, each at a level from the middle of its own.

    >>> [text for text in offered_families() if "noise" in text]
    ['score-noise:0.5:0', 'feature-noise:0.25:0']
    """
    changes = []
    for family, entry in PERTURBATIONS.items():
        levels = [level for level in entry.default_levels if level]
        text = f"{family}:{levels[len(levels) // 2 - (len(levels) % 2 == 0)]:g}:0"
        if entry.at(levels[0]).changes <= set(WORDS) and family != ATTACK:
            changes.append(text)
    return tuple(changes)
