"""Changes of single documents of one list: removed, duplicated, or with another feature value.

Documents are numbered by their place in the initial ranking; copies follow the last document, in
the order in which they were made. An address holds the changes as texts: `removed:3`, `copied:5`,
`feature:5:12:0.25` (document 5, feature 12, its new value).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.answers.shown_order import Documents
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.perturb.features import with_features
from shuffleproof.core.perturb.growth import AddedDocuments, add_documents
from shuffleproof.core.perturb.sets import restrict

FORM = re.compile(
    r"(removed|copied):([0-9]{1,6})|"
    r"feature:([0-9]{1,6}):([0-9]{1,9}):(-?\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?)",
    re.ASCII,
)
ALLOWED = "removed:3, copied:5 or feature:5:12:0.25"


@dataclass(frozen=True)
class DocumentChanges:
    """Changes of single documents of one list.

    Attributes:
        removed: removed documents.
        copied: documents that are shown twice, the copy right after its original.
        features: (document, feature id, new value).

    >>> changes = DocumentChanges.parse(["removed:3", "feature:5:12:0.25"])
    >>> changes.removed, changes.features, changes.texts()
    ((3,), ((5, 12, 0.25),), ('removed:3', 'feature:5:12:0.25'))
    """

    removed: tuple[int, ...] = ()
    copied: tuple[int, ...] = ()
    features: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "DocumentChanges":
        """The changes that these texts mean; of two values of a cell the last one counts.

        Raises:
            ParameterError: a text has another form.
        """
        named: dict[str, list[int]] = {"removed": [], "copied": []}
        cells: dict[tuple[int, int], float] = {}
        for text in dict.fromkeys(texts):
            match = FORM.fullmatch(text)
            if match is None:
                raise ParameterError("changed", text, ALLOWED)
            kind, document, of, feature, value = match.groups()
            if kind:
                named[kind].append(int(document))
            else:
                cells[int(of), int(feature)] = float(value)
        changed = tuple((*place, value) for place, value in cells.items())
        return cls(tuple(named["removed"]), tuple(named["copied"]), changed)

    def texts(self) -> tuple[str, ...]:
        """As `parse` reads them."""
        return (
            *(f"removed:{document}" for document in self.removed),
            *(f"copied:{document}" for document in self.copied),
            *(
                f"feature:{document}:{feature}:{value:g}"
                for document, feature, value in self.features
            ),
        )

    def __bool__(self) -> bool:
        """True if anything is changed."""
        return bool(self.texts())

    def check(self, documents: int, feature_ids: Sequence[int]) -> None:
        """Refuse changes of documents or features that are not there, and empty lists.

        Raises:
            ParameterError: of the first such change.
        """
        named = {*self.removed, *self.copied, *(document for document, _, _ in self.features)}
        if (last := max(named, default=0)) >= documents:
            raise ParameterError("document", last, f"from 0 to {documents - 1}")
        if unknown := {feature for _, feature, _ in self.features} - {*feature_ids}:
            raise ParameterError("feature", min(unknown), "a feature of the data set")
        if len(self.removed) == documents:
            raise ParameterError("list", "empty", "left with at least one document")

    def documents(self, listed: Documents) -> Documents:
        """All documents, the copies last; removed ones are still among them."""
        ids = [*listed.ids, *(f"{listed.ids[document]} (copy)" for document in self.copied)]
        sources = [*range(len(listed)), *self.copied]
        return Documents(
            listed.query,
            tuple(ids),
            tuple(listed.labels[source] for source in sources),
            tuple(listed.ranks[source] for source in sources),
            {},
            tuple(listed.unusual[source] for source in sources),
        )

    def arranged(self, order: Sequence[int], documents: int) -> list[int]:
        """The document at each position, given the order of the unchanged list.

        >>> DocumentChanges(removed=(0,), copied=(2,)).arranged([2, 0, 1], documents=3)
        [2, 3, 1]
        """
        copies: dict[int, list[int]] = {}
        for at, document in enumerate(self.copied):
            copies.setdefault(document, []).append(documents + at)
        after = [
            [document] * (document not in self.removed) + copies.get(document, [])
            for document in order
        ]
        return [document for group in after for document in group]

    def of(self, judged: JudgedLists, order: Sequence[int]) -> JudgedLists:
        """The changed list in an input order, over a data set of its query alone.

        Args:
            judged: the unchanged list, in the order of the initial ranking.
            order: the document at each position of the unchanged list.

        Returns:
            Documents in the order of `arranged`.
        """
        query = judged.lists.queries
        first = int(judged.dataset.offsets[query[0]])
        lists = replace(
            judged.lists, rows=judged.lists.rows - first, queries=np.zeros(1, dtype=np.int64)
        )
        changed = self._with_features(JudgedLists(judged.dataset.select(query), lists))
        count = len(lists.rows)
        if self.copied:
            copied = np.array(self.copied, dtype=np.int64)
            rows = changed.lists.rows[copied]
            cells, labels = changed.dataset.features[rows], changed.dataset.labels[rows]
            owners = np.zeros(len(copied), dtype=np.int64)
            changed = add_documents(changed, AddedDocuments(owners, copied, cells, labels))
        place = np.argsort(self._numbers(lists.rows, changed))
        everything = np.array(replace(self, removed=()).arranged(order, count), dtype=np.int64)
        kept = np.isin(everything, self.removed, invert=True)
        return replace(changed, lists=restrict(changed.lists.shown_as(place[everything]), kept))

    def _with_features(self, judged: JudgedLists) -> JudgedLists:
        if not self.features:
            return judged
        rows = judged.lists.rows
        cells = judged.dataset.features[rows].astype(np.float64)
        columns = {feature: at for at, feature in enumerate(judged.dataset.feature_ids)}
        for document, feature, value in self.features:
            cells[document, columns[feature]] = value
        return with_features(judged, rows, cells)

    def _numbers(
        self, rows: Int64[np.ndarray, " docs"], changed: JudgedLists
    ) -> Int64[np.ndarray, " shown"]:
        """Number of each document of the changed list: rows after the query's own are copies."""
        number = {int(row): at for at, row in enumerate(rows)}
        own = int(changed.dataset.documents) - len(self.copied)
        return np.array(
            [number.get(int(row), len(rows) + int(row) - own) for row in changed.lists.rows],
            dtype=np.int64,
        )


UNCHANGED = DocumentChanges()
