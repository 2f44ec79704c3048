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
        "analysis": asdict(collection.analysis),
        "depth": depth,
        "by": list(by),
        "words": words,
    }
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
    places = [place for place, doc_id in enumerate(collection.doc_ids) if doc_id in doc_ids]
    query_ids = {query_id for part in parts for query_id in part.query_ids}
    documents = [
        (collection.doc_ids[place], collection.titles[place], "", collection.snippet(place), place)
        for place in places
    ]
    queries = [
        (query_id, text, "", place)
        for place, (query_id, text) in enumerate(
            zip(collection.query_ids, collection.queries, strict=True)
        )
        if query_id in query_ids
    ]
    return [
        SideFile(
            Path(collection.name), kind,
            pd.DataFrame(rows, columns=[*display_texts.SHAPES[kind].columns, "row"]),
            collection.digest,
        )
        for kind, rows in (("documents", documents), ("queries", queries))
    ]  # fmt: skip


def _data_set(
    indexed: IndexedCollection, retrievers: Sequence[Retriever], depth: int, *, words: bool
) -> Generator[Progress, None, RankingDataset]:
    """Candidates of every judged query with their features; yields the number of finished queries.

    A document that a retriever does not find has the lowest score of that retriever's list.
    """
    collection = indexed.collection
    queries = [q for q in range(len(collection.queries)) if collection.relevant(q)]
    pools, tables = [], []
    for done, query in enumerate(queries):
        yield Progress(done, len(queries), "queries")
        text = [collection.queries[query]]
        pool = np.sort(retrievers[0].search(text, depth).documents)
        columns = []
        for retriever in retrievers:
            # All documents, since a candidate may be far down another retriever's list
            ranked = retriever.search(text, len(collection))
            scores = np.full(len(collection), ranked.scores.min(initial=0.0), np.float32)
            scores[ranked.documents] = ranked.scores
            columns.append(scores[pool])
        pools.append(pool)
        columns += [_of_words(indexed, query, pool)] if words else []
        tables.append(np.column_stack(columns))
    return _judged(collection, queries, pools, tables)


def _judged(
    collection: Collection,
    queries: Sequence[int],
    pools: Sequence[np.ndarray],
    tables: Sequence[np.ndarray],
) -> RankingDataset:
    """Data set of the queries with candidates: labels, ids and texts."""
    full = [at for at, pool in enumerate(pools) if len(pool)]
    if len(full) < 3:
        remedy = "A data set has at least three judged queries that find something."
        raise DataError(collection.name, f"{len(full)} judged queries find anything", remedy)
    labels = []
    for at in full:
        grades = collection.judgments(queries[at])
        labels += [float(grades.get(document, 0)) for document in pools[at].tolist()]
    rows = np.concatenate([pools[at] for at in full]).astype(np.int64)
    features = np.concatenate([tables[at] for at in full]).astype(np.float32)
    return RankingDataset(
        features=features,
        labels=np.array(labels, np.float32),
        offsets=offsets_of(np.array([len(pools[at]) for at in full], np.int64)),
        query_ids=tuple(collection.query_ids[queries[at]] for at in full),
        feature_ids=tuple(range(1, features.shape[1] + 1)),
        doc_ids=TextColumn.of([collection.doc_ids[row] for row in rows.tolist()]),
        texts=TextColumn.of([collection.document(row) for row in rows.tolist()]),
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
