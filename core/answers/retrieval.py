"""Results of learnt retrievers with their reasons, as JSON, for a resident process.

Collections and networks that were opened stay in the process.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from shuffleproof.core.retrieval.ingest import find
from shuffleproof.core.retrieval.registry import (
    RETRIEVERS,
    IndexedCollection,
    Retriever,
    retriever_entry,
)
from shuffleproof.core.retrieval.snrm import Latent
from shuffleproof.core.store.artefacts import store_at
from shuffleproof.core.store.keys import ArtefactKey

BEST = 10
"""Number of documents whose reasons are given."""
REASONS = 3


def trained_retrievers(item: Mapping[str, Any]) -> list[str]:
    """The learnt retrievers that are trained on a collection, as `name@preset`.

    Args:
        item: `store` and `collection`.
    """
    indexed = _indexed_collection(item["store"], item["collection"])
    entries = [
        retriever_entry(f"{name}@{preset}")
        for name, entry in RETRIEVERS.items()
        for preset in entry.presets
    ]
    return [
        entry.name
        for entry in entries
        if indexed.store.find(ArtefactKey(entry.learner.kind, entry.network(indexed))) is not None
    ]


def find_documents(item: Mapping[str, Any]) -> dict[str, Any]:
    """The documents that a learnt retriever finds, and the dimensions that the best ones matched.

    Args:
        item: `store`, `collection`, `retriever`, `text` and `k`.

    Returns:
        `documents`, places by rank; `why`, of each of the first ten the dimensions that add most:
        `terms` of the collection that bring most to it, and its `share` of the score.
    """
    retriever = _retriever(item["store"], item["collection"], item["retriever"])
    documents = retriever.search([item["text"]], item["k"]).of(0)[0].tolist()
    why: list[list[dict[str, Any]]] = []
    if isinstance(retriever, Latent):
        query = retriever.vectors([item["text"]])
        for document in documents[:BEST]:
            reasons = retriever.index.explain(query, document)
            total = sum(added for _, added in reasons)
            why.append(
                [
                    {"terms": retriever.terms_of(dimension), "share": added / total}
                    for dimension, added in reasons[:REASONS]
                ]
            )
    return {"documents": documents, "why": why}


@lru_cache(maxsize=4)
def _indexed_collection(store: str, collection: str) -> IndexedCollection:
    place = store_at(store)
    return IndexedCollection(find(collection, place), place)


@lru_cache(maxsize=8)
def _retriever(store: str, collection: str, retriever: str) -> Retriever:
    return retriever_entry(retriever).build(_indexed_collection(store, collection))
