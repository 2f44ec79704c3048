"""Text collections and preferences between pairs, open for their studies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeVar

import pandas as pd

from shuffleproof.command import answer, takes_flags
from shuffleproof.core.cli.progress_bar import bars
from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.rankers.name import SERVICES, Kind, RankerName
from shuffleproof.core.rankers.outside.apis import Target
from shuffleproof.core.retrieval import ingest as collections
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, PREFERENCE_STUDIES
from shuffleproof.core.words import counted
from shuffleproof.open_data import VARIED, OpenData, Place, StorePlace, method, store_of
from shuffleproof.studies import Studies
from shuffleproof.studies import open as open_studies

Lab = TypeVar("Lab", bound=OpenData)


class CollectionStudies(OpenData):
    """A text collection that is open: what `shuffleproof.open_collection` returns.

    Its study is a method; `vary` names what a study varies, as `--vary` of the command.

    >>> import shuffleproof as sp
    >>> sample = sp.open_collection("sample", progress=False)
    >>> sample
    CollectionStudies of sample
    480 documents, 48 queries
    studies: retrieval (vary: queries, sparsity, documents)
    also: search, train, candidates, doctor
    >>> sample.search("heat pump", by="bm25, lsi", k=1)[["retriever", "rank", "document"]]
      retriever  rank document
    0      bm25     1       d1
    1       lsi     1       d1
    >>> print(sample.retrieval("bm25, lsi", seeds=1).finding.splitlines()[0])
    LSI is best: AP 0.632, BM25 0.587.
    """

    def __repr__(self) -> str:
        """Summary of the open object, with its methods."""
        collection = collections.find(self.scope.data, self.scope.store)
        sizes = counted(len(collection), "document"), counted(len(collection.queries), "query")
        lines = [
            f"CollectionStudies of {self.scope.data}", ", ".join(sizes),
            f"studies: retrieval (vary: {', '.join(VARIED)})",
            "also: search, train, candidates, doctor", *self.notes,
        ]  # fmt: skip
        return "\n".join(lines)

    @takes_flags("search")
    def search(self, text: str, **flags: Any) -> pd.DataFrame:
        """The documents that retrievers find, a row each, the best first.

        Args:
            text: of the query.
            flags: those of the command:
        """
        return pd.DataFrame(self._command("search", self.scope.data, text, **flags)["rows"])

    def train(self, name: str, **flags: Any) -> Mapping[str, Any]:
        """Train what searches this collection (snrm, fnrm, cnrm), or find it trained.

        Args:
            name: such as `snrm` or `snrm@small`.
            flags: `seed`, `device`, and fields of the recipe as in set=["steps=100"].

        Returns:
            What `train` answers: `artefact`, `gates`, `last`, `seconds`.
        """
        result: Mapping[str, Any] = self._command("train", name, data=self.scope.data, **flags)
        return result

    @takes_flags("candidates")
    def candidates(self, name: str, **flags: Any) -> Studies:
        """A learning-to-rank data set out of this collection, open for studies of rankers.

        Args:
            name: to find it by.
            flags: those of the command:
        """
        self._command("candidates", self.scope.data, name=name, **flags)
        return open_studies(name, store=self.scope.store, progress=self.progress)

    def doctor(self) -> pd.DataFrame:
        """Problems of the collection, one row per finding, the gravest first."""
        return pd.DataFrame(self._command("doctor-collection", self.scope.data)["findings"])


class PreferenceStudies(OpenData):
    """Preferences between pairs that are open: what `shuffleproof.open_preferences` returns.

    >>> import shuffleproof as sp
    >>> sample = sp.open_preferences("sample", progress=False)
    >>> sample
    PreferenceStudies of sample
    studies: preferences
    also: consistency, aggregate
    >>> round(sample.consistency()["cyclic_rate"], 3)
    0.028
    >>> sample.aggregate("goa, kemeny", top=1).columns[:3].tolist()
    ['query', 'aggregator', 'agreement']
    """

    def __repr__(self) -> str:
        """Summary of the open object, with its methods."""
        lines = [
            f"PreferenceStudies of {self.scope.data}",
            f"studies: {', '.join(PREFERENCE_STUDIES)}", "also: consistency, aggregate",
            *self.notes,
        ]  # fmt: skip
        return "\n".join(lines)

    @takes_flags("consistency")
    def consistency(self, **flags: Any) -> Mapping[str, Any]:
        """Consistency of the preferences: counts and rates, and rows by query.

        Args:
            flags: those of the command:
        """
        result: Mapping[str, Any] = self._command("consistency", self.scope.data, **flags)
        return result

    @takes_flags("aggregate")
    def aggregate(
        self, aggregators: str | Sequence[str] = "goa,kemeny", **flags: Any
    ) -> pd.DataFrame:
        """Orders made of the preferences, a row an aggregator and query, with what they cost.

        Args:
            aggregators: names, of `shuffleproof list aggregators`.
            flags: those of the command:
        """
        flags = {"aggregators": aggregators, **flags}
        return pd.DataFrame(self._command("aggregate", self.scope.data, **flags)["rows"])


class RerankStudies(OpenData):
    """Recorded answers of rerankers that are open: what `shuffleproof.ingest_reranks` returns."""

    def __repr__(self) -> str:
        """Summary of the open object, with its methods."""
        name = self.scope.data
        return "\n".join([f"RerankStudies of {name}", "studies: rerankers", *self.notes])


def reranker(address: str, api: str = "", **options: Any) -> str:
    """Name of a reranker behind HTTP, which every study accepts.

    Args:
        address: http or https.
        api: service: cohere (also Jina, vLLM, llama.cpp, LiteLLM), tei, voyage, mixedbread or
            chat; by default what the path means.
        options: `model`, `window`, `stride`, `read`, `timeout`.

    Raises:
        UsageError: an unknown service or option, or an address that cannot be used.

    >>> reranker("http://127.0.0.1:8000/rerank", api="tei", timeout=10)
    'tei:http://127.0.0.1:8000/rerank;timeout=10'
    """
    if api and api not in SERVICES:
        raise UnknownNameError("service", api, SERVICES)
    given = "".join(f";{name}={value}" for name, value in options.items())
    name = RankerName.parse(f"{api}:{address}{given}" if api else f"{address}{given}")
    if name.kind is not Kind.ENDPOINT:
        raise UsageError(f"{address} is no address: write http://HOST[:PORT]/PATH")
    Target.parse(name.head, name.path)
    return str(name)


def open_reranks(name: Place, *, store: StorePlace = None, progress: bool = True) -> RerankStudies:
    """Open stored answers of rerankers for their study.

    Args:
        name: a stored name or a key.
        store: of all results; by default the user's own.
        progress: show progress bars.
    """
    return RerankStudies(_scope(name, store), progress)


def open_collection(
    name: Place = SAMPLE, *, store: StorePlace = None, progress: bool = True
) -> CollectionStudies:
    """Open a text collection for studies of retrievers.

    Args:
        name: a stored name, a key, a folder of its files, or `sample`.
        store: of all results; by default the user's own.
        progress: show progress bars.

    Raises:
        ShuffleproofError: no such collection, or malformed files.

    >>> len(open_collection("sample", progress=False).search("heat pump", by="bm25", k=2))
    2
    """
    scope = _scope(name, store)
    collections.find(scope.data, scope.store)
    return CollectionStudies(scope, progress)


def open_preferences(
    name: Place = SAMPLE, *, store: StorePlace = None, progress: bool = True
) -> PreferenceStudies:
    """Open preferences between pairs for their study.

    Args:
        name: a stored name, a key, a file, or `sample`; its study also takes a ranking data set,
            whose preferences a trained function predicts.
        store: of all results; by default the user's own.
        progress: show progress bars.

    >>> len(open_preferences("sample", progress=False).aggregate("goa"))  # a row a query
    12
    """
    return PreferenceStudies(_scope(name, store), progress)


def _scope(name: Place, store: StorePlace) -> Scope:
    return Scope(store_of(store), str(name), None, None)


def _read_in(command: str, opened: Callable[..., Lab], example: str) -> Callable[..., Lab]:
    """The function that reads files in as a command does, and opens what was read."""

    @takes_flags(command)
    def ingest(
        path: Place | Sequence[Place],
        name: str,
        *,
        store: StorePlace = None,
        progress: bool = True,
        **flags: Any,
    ) -> Lab:
        """Read files into the store under a name, and open them.

        Args:
            path: of the files.
            name: the name to find them by.
            store: of all results; by default the user's own.
            progress: show progress bars.
            flags: those of the command:
        """
        where = store_of(store)
        places = [path] if isinstance(path, str | PathLike) else list(path)
        with bars(progress=progress):
            result = answer(command, places, {"name": name, "store": where.root, **flags}).json
        notes = tuple(map(str, result.get("notes", ())))
        return replace(opened(name, store=where, progress=progress), notes=notes)

    ingest.__doc__ = f"{ingest.__doc__}\n{example}"
    ingest.__name__ = ingest.__qualname__ = command.replace("-", "_")
    return ingest


ingest_collection = _read_in(
    "ingest-collection",
    open_collection,
    """
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "heat pump"}')
    >>> _ = (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "heat"}')
    >>> print(ingest_collection(folder, "pumps", progress=False))  # doctest: +ELLIPSIS
    CollectionStudies of pumps
    1 document, 1 query
    ...
    """,
)
ingest_preferences = _read_in(
    "ingest-preferences",
    open_preferences,
    """
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pairs.csv")
    >>> _ = file.write_text("query,a,b,preference\\nq,x,y,0.8\\nq,y,z,0.7\\nq,z,x,0.9\\n")
    >>> ingest_preferences(file, "cycle", progress=False).consistency()["cyclic_triads"]
    1
    """,
)
ingest_reranks = _read_in(
    "ingest-reranks",
    open_reranks,
    """
    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> call = {"query": "1", "shown": ["a", "b"], "answered": ["b", "a"]}
    >>> _ = (folder / "mine.jsonl").write_text(json.dumps(call))
    >>> _ = (folder / "qrels").write_text("1 0 b 1")
    >>> answers = ingest_reranks(
    ...     folder / "mine.jsonl", "mine", qrels=folder / "qrels", progress=False)
    >>> answers.rerankers().table("Quality")["Mean"].round(2).tolist()
    [0.63, 1.0]
    """,
)
for _lab, _kinds in (
    (CollectionStudies, COLLECTION_STUDIES), (PreferenceStudies, PREFERENCE_STUDIES),
    (RerankStudies, {Rerankers.kind: Rerankers}),
):  # fmt: skip
    for _kind in _kinds.values():
        _name = _kind.kind.replace("-", "_")
        setattr(_lab, _name, method(_kind, _name, _lab.__name__))
