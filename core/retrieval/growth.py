"""Growing collection: some documents are added after all training.

All training (a network, its vocabulary, singular vectors with their weights of terms) uses the
earlier documents. Later documents are encoded with it and added to the index; words that no
earlier document has remain unknown. Counts of words are computed again, as an inverted index of
words does.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import text
from shuffleproof.core.retrieval.collection import MISSING, Collection, digest_of
from shuffleproof.core.retrieval.lsi import lsi
from shuffleproof.core.retrieval.registry import (
    FusedRetriever,
    IndexedCollection,
    Retriever,
    RetrieverEntry,
)
from shuffleproof.core.retrieval.text import TokenisedCollection
from shuffleproof.core.seeds import generator

Places = Int64[np.ndarray, " some"]


def later_documents(documents: int, share: float, seed: int) -> Places:
    """Documents that are added later, in rising order; smaller shares are subsets of larger ones.

    >>> few, many = later_documents(10, 0.2, 0), later_documents(10, 0.5, 0)
    >>> len(few), len(many), set(few.tolist()) <= set(many.tolist())
    (2, 5, True)
    """
    order = generator(seed, "retrieval", "growth").permutation(documents)
    return np.sort(order[: round(share * documents)]).astype(np.int64)  # one order for all shares


def part_of(collection: Collection, places: Places) -> Collection:
    """Collection of the documents of these indices, which rise, with all queries."""
    place = np.full(len(collection) + 1, MISSING, np.int32)  # index −1 (missing) reads the last
    place[places] = np.arange(len(places), dtype=np.int32)
    part = replace(
        collection,
        doc_ids=collection.doc_ids.take(places),
        titles=collection.titles.take(places),
        texts=collection.texts.take(places),
        judged=place[collection.judged],
        digest="",
    )
    return replace(part, digest=digest_of(part))


@dataclass(frozen=True, eq=False)
class _KnownWords(IndexedCollection):
    """Collection whose vocabulary comes from some of its documents."""

    known: Places = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def tokens(self) -> TokenisedCollection:
        """All documents as terms of the vocabulary."""
        return run_to_end(text.tokenise(self.collection, self.known))


@dataclass(frozen=True, eq=False)
class Growth:
    """Collection before and after documents were added."""

    before: IndexedCollection  # the earlier documents, which are used for all training
    after: IndexedCollection  # all documents, in the vocabulary of the earlier ones
    late: Places  # indices of the later documents, in rising order

    @classmethod
    def of(cls, indexed: IndexedCollection, share: float) -> "Growth":
        """Growth by a share of the documents, drawn by the seed.

        Raises:
            UsageError: no document is left for training.
        """
        size = len(indexed.collection)
        late = later_documents(size, share, indexed.seed)
        if len(late) == size:
            raise UsageError(f"--withheld {share:g} leaves no document to learn from: take less")
        early = np.setdiff1d(np.arange(size), late)
        part = part_of(indexed.collection, early)
        return cls(
            replace(indexed, collection=part),
            _KnownWords(
                indexed.collection, indexed.store, indexed.training, indexed.seed, known=early
            ),
            late,
        )

    @cached_property
    def unknown(self) -> float:
        """Share of the words of later documents that no earlier document has."""
        documents = self.after.tokens.documents
        known, unknown = documents.lengths[self.late].sum(), documents.unknown[self.late].sum()
        return float(unknown / max(1, known + unknown))

    def retriever(self, entry: RetrieverEntry) -> Retriever:
        """Retriever of all documents, with the training on the earlier ones.

        Raises:
            UsageError: a reranker.
        """
        if entry.fusion:
            return FusedRetriever(entry.fusion, [self.retriever(one) for one in entry.members])
        refuse_rerankers(entry)
        if entry.sparse:  # later documents are encoded and added to the index
            learnt = entry.learner.at(self.before, entry.trained_preset)
            latent: Retriever = learnt.with_documents(self.after.collection, self.late)
            return entry.made_of(latent)
        if entry.name == "lsi":
            return lsi(self.before).over(self.after.collection.documents())
        return entry.build(self.after)


def refuse_rerankers(entry: RetrieverEntry) -> None:
    """Refuse retrievers without an index that could grow.

    Raises:
        UsageError: a reranker.
    """
    for member in entry.members:
        if member.reranks:
            raise UsageError(f"{member.name} has no index that could grow: leave it out")
