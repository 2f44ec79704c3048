"""Learning-to-rank data sets from text collections: candidates, features, judgments.

The candidates of a query are BM25's best documents. Their first features are the scores of the
retrievers, so that `feature:1` … are initial rankings. Documents are in the collection's order,
which is independent of relevance.
"""

from collections.abc import Generator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from shuffleproof.core.data import catalogue, display_texts, mapped_file, source
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.display_texts import SideFile
from shuffleproof.core.data.layout import FRACTIONS
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.registry import IndexedCollection, Retriever, retriever_entry
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact

BY = ("bm25", "ql", "lsi")
OF_WORDS = ("document length", "query words matched", "their share", "tf sum", "idf sum", "title")
"""Features after the retrievers' scores; `title`: number of query words in the title."""


def make_candidates(  # noqa: PLR0913 (each is a fact of the data set)
    indexed: IndexedCollection,
    depth: int,
    name: str | None,
    by: Sequence[str] = BY,
    seed: int = 0,
    *,
    words: bool = True,
) -> Generator[Progress, None, Artefact]:
    """Make the data set of a collection, or load it; yields the number of finished queries.

    Args:
        indexed: the collection.
        depth: number of candidates per query: the first retriever's best.
        name: name of the data set; None: only its key.
        by: retrievers whose scores are the first features.
        seed: of the split of queries into training, validation and test.
        words: True to add the features OF_WORDS.

    Raises:
        UnknownNameError: an unknown retriever.
        DataError: fewer than three judged queries.
    """
    store, collection = indexed.store, indexed.collection
    entries = [retriever_entry(retriever) for retriever in by]
    about = {
        "analysis": asdict(collection.analysis), "depth": depth, "by": list(by), "words": words,
    }  # fmt: skip
    networks = [entry.network(indexed) for entry in entries]
    about |= {"networks": networks} if any(networks) else {}
    key = key_of(catalogue.KIND, about | {"seed": seed}, [collection.digest])
    recipe = {
        "files": {"whole": [collection.name]}, "missing": "error", "fractions": list(FRACTIONS),
        "seed": seed, "candidates": about,
    }  # fmt: skip
    with store.found_or_locked(key) as found:
        artefact = found
        if artefact is None:
            retrievers = [entry.build(indexed) for entry in entries]
            dataset = yield from _data_set(indexed, retrievers, depth, words=words)
            fold = source.split(dataset, seed, FRACTIONS)
            numbered = enumerate((*by, *(OF_WORDS if words else ())), start=1)
            notes = (
                f"Candidates: {by[0]}'s best {depth} of collection {collection.name}.",
                "Documents without a judgment have label 0.",
                f"Features: {', '.join(f'{number} {name}' for number, name in numbered)}.",
            )
            facts = catalogue.facts_of(fold, collection.name, notes)
            artefact = store.add(key, recipe, lambda at: mapped_file.save_fold(fold, at), facts)
    if display_texts.find(str(artefact.facts["fingerprint"]), store) is None:
        display_texts.attach(artefact, store, _called(collection, artefact))
    if name is not None:
        store.set_name(name, artefact.key)
    return artefact


def _called(collection: Collection, data: Artefact) -> list[SideFile]:
    """Side files with display texts of the documents and queries of a data set."""
    fold = mapped_file.open_fold(data.path)
    parts = (fold.train, fold.valid, fold.test)
    doc_ids = {doc_id for part in parts for doc_id in part.doc_ids or ()}
    query_ids = {query_id for part in parts for query_id in part.query_ids}
    documents = [
        {"docid": doc_id, "title": collection.titles[at], "url": "",
         "snippet": collection.snippet(at), "row": at}
        for at, doc_id in enumerate(collection.doc_ids) if doc_id in doc_ids
    ]  # fmt: skip
    queries = [
        {"qid": query_id, "text": collection.queries[at], "tag": "", "row": at}
        for at, query_id in enumerate(collection.query_ids)
        if query_id in query_ids
    ]
    return [
        SideFile(Path(collection.name), kind, pd.DataFrame(rows), collection.digest)
        for kind, rows in (("documents", documents), ("queries", queries))
    ]


def _data_set(
    indexed: IndexedCollection, retrievers: Sequence[Retriever], depth: int, *, words: bool
) -> Generator[Progress, None, RankingDataset]:
    """Candidates of every judged query with their features; yields the number of finished queries.

    A document that a retriever does not find has the lowest score of that retriever's list.
    """
    collection = indexed.collection
    queries = [q for q in range(len(collection.queries)) if collection.relevant(q)]
    found, rows, tables, labels = [], [], [], []
    for done, query in enumerate(queries):
        yield Progress(done, len(queries), "queries")
        text = [collection.queries[query]]
        pool = np.sort(retrievers[0].search(text, depth).documents)
        if not len(pool):
            continue
        columns = []
        for retriever in retrievers:
            # All documents, since a candidate may be far down another retriever's list
            ranked = retriever.search(text, len(collection))
            scores = np.full(len(collection), ranked.scores.min(initial=0.0), np.float32)
            scores[ranked.documents] = ranked.scores
            columns.append(scores[pool])
        columns += [_of_words(indexed, query, pool)] if words else []
        grades = collection.judgments(query)
        found.append(query)
        rows.append(pool)
        tables.append(np.column_stack(columns))
        labels += [float(grades.get(document, 0)) for document in pool.tolist()]
    if len(found) < 3:
        remedy = "A data set has at least three judged queries that find something."
        raise DataError(collection.name, f"{len(found)} judged queries find anything", remedy)
    features = np.concatenate(tables).astype(np.float32)
    documents = np.concatenate(rows).tolist()
    return RankingDataset(
        features=features,
        labels=np.array(labels, np.float32),
        offsets=offsets_of(np.array([len(pool) for pool in rows], np.int64)),
        query_ids=tuple(collection.query_ids[query] for query in found),
        feature_ids=tuple(range(1, features.shape[1] + 1)),
        doc_ids=TextColumn.of([collection.doc_ids[row] for row in documents]),
        texts=TextColumn.of([collection.document(row) for row in documents]),
    )


def _of_words(indexed: IndexedCollection, query: int, pool: np.ndarray) -> np.ndarray:
    """Features of shape documents × OF_WORDS."""
    tokens = indexed.tokens
    query_terms = np.unique(tokens.queries.of(query))
    idf = np.log(len(tokens.documents) / tokens.document_frequency[query_terms])
    titles = tokens.encode(indexed.collection.titles[place] for place in pool.tolist())
    rows = []
    for at, place in enumerate(pool.tolist()):
        terms = tokens.documents.of(place)
        counts = (terms[:, None] == query_terms).sum(axis=0)
        matched = int((counts > 0).sum())
        share = matched / max(1, len(query_terms))
        in_title = np.isin(query_terms, titles.of(at)).sum()
        # as OF_WORDS
        rows.append([len(terms), matched, share, counts.sum(), idf @ (counts > 0), in_title])
    return np.array(rows, np.float32).reshape(-1, len(OF_WORDS))
