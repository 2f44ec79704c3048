"""A question that is asked of a text collection: what is opened is its index."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.listless import ListlessQuestion
from shuffleproof.core.studies.question import Scope

RETRIEVERS = "retrievers"
"""What a field of retrievers holds names of."""

RETRIEVER_NAMES = (
    "comma-separated, of `list retrievers`; also several made one by reciprocal ranks "
    "(rrf:bm25+snrm) or by scores (interpolated-70:bm25+lsi: 70 percent BM25)"
)
"""What such a field says of itself."""


@dataclass(frozen=True)
class CollectionQuestion(ListlessQuestion):
    """What a study of a text collection is asked."""

    of_what: ClassVar[str] = "a text collection has"
    stored_as: ClassVar[tuple[str, ...]] = ("collection",)
    needed: ClassVar[tuple[str, ...]] = (RETRIEVERS, "measures")

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the collection, work; returns the stored result."""
        from shuffleproof.core.retrieval.ingest import find  # noqa: PLC0415 (only who works pays for it)
        from shuffleproof.core.retrieval.registry import IndexedCollection  # noqa: PLC0415 (likewise)

        indexed = IndexedCollection(find(scope.pinned or scope.data, scope.store), scope.store)
        return (yield from self.module("study").run(indexed, self, scope.data))

    def refuse(self, scope: Scope) -> None:
        """Refuse retrievers and measures that there are not.

        Raises:
            UnknownNameError: one that there is not.
        """
        del scope
        from shuffleproof.core.metrics.measure import Measure  # noqa: PLC0415 (only who asks pays for it)
        from shuffleproof.core.retrieval.registry import retriever_entry  # noqa: PLC0415 (likewise)

        for name in self.names_of(RETRIEVERS):
            retriever_entry(name)
        for text in self.names_of("measures"):
            Measure.parse(text)
