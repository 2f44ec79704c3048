"""Conversion of texts to terms by the collection's analysis, cached in the store."""

from array import array
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.ragged import elements_of, offsets_of, segment_ids
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.recipe import TOKENISERS, Analysis
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of

KIND = "tokens"
FORMAT = "shuffleproof-tokens-1"
FILE = "tokens.safetensors"
UNKNOWN = -1  # Place of a word whose term the vocabulary lacks; stop words are LEFT_OUT instead


class _Places(dict[str, int]):
    """Places of words in a growing vocabulary, computed once per word."""

    def __init__(self, analysis: Analysis, terms: dict[str, int], *, growing: bool) -> None:
        super().__init__()
        self.term_of = analysis.term_of()
        self.terms, self.growing = terms, growing

    def __missing__(self, word: str) -> int:
        term = self.term_of(word)
        if not term:
            place = LEFT_OUT
        elif self.growing:
            place = self.terms.setdefault(term, len(self.terms))  # places by first occurrence
        else:
            place = self.terms.get(term, UNKNOWN)
        self[word] = place
        return place


LEFT_OUT = -2


@dataclass(frozen=True, eq=False)
class EncodedTexts:
    """Texts as places in a vocabulary."""

    # of all texts, concatenated, without words that the vocabulary lacks
    tokens: Int32[np.ndarray, " total"]
    offsets: Int64[np.ndarray, " bounds"]  # tokens of text t are `offsets[t] … offsets[t + 1] − 1`
    unknown: Int32[np.ndarray, " texts"]  # number of words of each text that the vocabulary lacks

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.unknown)

    def of(self, text: int) -> Int32[np.ndarray, " tokens"]:
        """Tokens of one text."""
        return self.tokens[self.offsets[text] : self.offsets[text + 1]]

    def take(self, chosen: Int64[np.ndarray, " chosen"]) -> "EncodedTexts":
        """Selected texts, in the given order."""
        tokens = self.tokens[elements_of(self.offsets, chosen)]
        return EncodedTexts(tokens, offsets_of(self.lengths[chosen]), self.unknown[chosen])

    @classmethod
    def of_tokens(cls, texts: Sequence[np.ndarray]) -> "EncodedTexts":
        """Texts of tokens, without unknown words."""
        tokens = np.concatenate([np.zeros(0, np.int32), *texts]).astype(np.int32)
        offsets = offsets_of(np.array([len(text) for text in texts], np.int64))
        return cls(tokens, offsets, np.zeros(len(texts), np.int32))

    @property
    def lengths(self) -> Int64[np.ndarray, " texts"]:
        """Number of tokens of each text."""
        return np.diff(self.offsets)

    @property
    def in_order(self) -> "EncodedTexts":
        """Copy with the tokens of each text sorted, so that sums are equal to the last bit."""
        order = np.lexsort((self.tokens, segment_ids(self.offsets)))
        return replace(self, tokens=self.tokens[order])


@dataclass(frozen=True, eq=False)
class TokenisedCollection:
    """Collection as terms."""

    analysis: Analysis  # conversion of its texts to terms
    terms: tuple[str, ...]  # the vocabulary, in the order of first occurrence
    document_frequency: Int32[np.ndarray, " terms"]  # number of documents with each term
    collection_frequency: Int64[np.ndarray, " terms"]  # number of occurrences of each term
    documents: EncodedTexts  # tokens of the documents
    queries: EncodedTexts  # tokens of the queries

    @cached_property
    def _places(self) -> _Places:
        terms = {term: place for place, term in enumerate(self.terms)}
        return _Places(self.analysis, terms, growing=False)

    def encode(self, texts: Iterable[str]) -> EncodedTexts:
        """Texts as places in this vocabulary."""
        return run_to_end(_encoding(texts, 0, self.analysis, self._places))


def tokenise(
    collection: Collection, vocabulary_of: Int64[np.ndarray, " chosen"] | None = None
) -> Generator[Progress, None, TokenisedCollection]:
    """Convert a collection to terms; yields the number of finished documents.

    Args:
        collection: to convert, by its own analysis.
        vocabulary_of: documents whose words are the vocabulary, in rising order; None: all. Words
            of other documents alone are unknown.
    """
    analysis = collection.analysis
    terms: dict[str, int] = {}
    growing = _Places(analysis, terms, growing=True)
    if vocabulary_of is not None:
        texts = (collection.document(place) for place in vocabulary_of.tolist())
        yield from _encoding(texts, len(vocabulary_of), analysis, growing)
        growing = _Places(analysis, terms, growing=False)
    documents = yield from _encoding(collection.documents(), len(collection), analysis, growing)
    fixed = _Places(analysis, terms, growing=False)
    queries = yield from _encoding(collection.queries, 0, analysis, fixed)
    # One number per (document, term) pair, so that a single `unique` counts documents
    owned = segment_ids(documents.offsets) * len(terms) + documents.tokens
    once = np.unique(owned) % max(len(terms), 1)  # each term of a document once
    in_documents = np.bincount(once, minlength=len(terms)).astype(np.int32)
    in_all = np.bincount(documents.tokens, minlength=len(terms)).astype(np.int64)
    return TokenisedCollection(analysis, tuple(terms), in_documents, in_all, documents, queries)


def stored_tokens(collection: Collection, store: Store) -> TokenisedCollection:
    """Terms of a collection, computed or loaded from the store."""
    recipe = asdict(collection.analysis)
    key = key_of(KIND, recipe, [collection.digest])
    with store.found_or_locked(key) as found:
        artefact = found
        if artefact is None:
            tokens = run_to_end(tokenise(collection))
            facts = {"documents": len(collection), "terms": len(tokens.terms)}
            artefact = store.add(key, recipe, lambda folder: save(tokens, folder / FILE), facts)
    return open_(artefact.path / FILE)


def save(tokens: TokenisedCollection, path: Path) -> None:
    """Write a tokenised collection to a file; `open_` maps it."""
    terms = TextColumn.of(tokens.terms)
    arrays: dict[str, np.ndarray] = {
        "terms.blob": terms.blob, "terms.starts": terms.starts, "terms.ends": terms.ends,
        "document_frequency": tokens.document_frequency,
        "collection_frequency": tokens.collection_frequency,
    }  # fmt: skip
    for name, encoded in (("documents", tokens.documents), ("queries", tokens.queries)):
        arrays[f"{name}.tokens"], arrays[f"{name}.offsets"] = encoded.tokens, encoded.offsets
        arrays[f"{name}.unknown"] = encoded.unknown
    mapped_file.write(path, arrays, {"format": FORMAT, **asdict(tokens.analysis)})


def open_(path: Path) -> TokenisedCollection:
    """Open a file written by `save`, memory-mapped.

    Raises:
        DataError: the file is missing or damaged.
    """
    arrays, about = mapped_file.open_mapped(path, FORMAT)
    del about["format"]
    terms = TextColumn(arrays["terms.blob"], arrays["terms.starts"], arrays["terms.ends"])
    documents, queries = (
        EncodedTexts(*(arrays[f"{name}.{part}"] for part in ("tokens", "offsets", "unknown")))
        for name in ("documents", "queries")
    )
    return TokenisedCollection(
        Analysis(**about), tuple(terms), arrays["document_frequency"],
        arrays["collection_frequency"], documents, queries,
    )  # fmt: skip


def _encoding(
    texts: Iterable[str], total: int, analysis: Analysis, places: _Places
) -> Generator[Progress, None, EncodedTexts]:
    """Encode texts as places; yields progress every 8,192 of `total` texts."""
    split = TOKENISERS[analysis.tokeniser].findall
    tokens, lengths, unknown = array("i"), array("q", [0]), array("i")
    for done, text in enumerate(texts):
        if total and done % 8192 == 0:
            yield Progress(done, total, "documents")
        encoded = [places[word] for word in split(text.lower())]
        known = [place for place in encoded if place >= 0]  # neither unknown nor a stop word
        tokens.extend(known)
        lengths.append(len(known))
        unknown.append(encoded.count(UNKNOWN))
    return EncodedTexts(np.asarray(tokens), np.cumsum(np.asarray(lengths)), np.asarray(unknown))
