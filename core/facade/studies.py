"""Studies of a data set as methods: `open("mq2008").initial_ranking("dlcm, setrank-imsab")`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, wraps
from os import PathLike
from typing import Any

import pandas as pd

from shuffleproof.command import answer, arguments_for_flags, takes_flags
from shuffleproof.core.answers.margin import Margin, explain
from shuffleproof.core.answers.scoring import place_of, single_list
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.checks.rankers import examine_ranker
from shuffleproof.core.cli.open import initial_rankers
from shuffleproof.core.cli.progress_bar import bars
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.advice import lines
from shuffleproof.core.data.doctor import Finding
from shuffleproof.core.data.frames import PARTS, Frames, files_of
from shuffleproof.core.data.layout import SAMPLE, Parts, folds_of
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.parameters import parameters, text_of
from shuffleproof.core.progress import limit_seconds, run_to_end
from shuffleproof.core.rankers.fit_cache import CachedRanker
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import names, workbench
from shuffleproof.core.studies.by_name import by_name
from shuffleproof.core.studies.kinds.invariance.certificate import Certificate
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.invariance.study import PERMUTATIONS, certificate_of
from shuffleproof.core.studies.question import Question, Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.user_names import ranker_name, stored_name
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted, cut
from shuffleproof.open_data import OpenData, Place, StorePlace, method, store_of
from shuffleproof.result import WIDEST, Result

__all__ = ["Studies", "ask", "ingest", "open"]

RANKER = next(parameters(Invariance))
INITIAL = replace(RANKER, name="initial")
"""Fields of rankers."""

NOTES = 4
"""Notes that `repr` prints."""


@dataclass(frozen=True, repr=False)
class Studies(OpenData):
    """A data set that is open for studies: what `shuffleproof.open` returns.

    Every kind of study is a method, by the name of its command with underscores. It finds what is
    stored, does what is missing, and returns a `Result`.

    >>> import shuffleproof as sp
    >>> sample = sp.open("sample", progress=False)
    >>> sample  # doctest: +ELLIPSIS
    Studies of sample, preset small
    650 queries, 25,933 documents, 10 features
    lists: top 40 by lambdamart@small, training scores cross-fitted
    studies: invariance, initial_ranking, benchmark, ...
    also: train, certify, explain, doctor, lists, workbench
    >>> print(sample.worst_case("dlcm, setrank-imsab-init, setrank-imsab", budgets=[1, 2, 5],
    ...     queries=50))  # doctest: +ELLIPSIS
    Result(worst-case of sample: 50 queries, ...
    """

    def __repr__(self) -> str:
        """Summary of the open data set, with its methods, in ten lines at most."""
        facts = catalogue.find(self._fold, self.scope.store).facts
        sizes = [counted(int(facts[plural]), singular) for plural, singular in SIZES.items()]
        folds = folds_of(self.scope.data, self.scope.store)
        if len(folds) > 1:
            sizes.append(f"{len(folds)} folds; studies of one fold take {folds[0]}")
        recipe = self.scope.recipe()
        depth = "all documents" if recipe.depth is None else f"top {recipe.depth}"
        lines = [
            f"Studies of {self.scope.data}, preset {self.scope.usual_preset}",
            ", ".join(sizes),
            f"lists: {depth} by {', '.join(recipe.initial)}, training scores {recipe.scores}",
            f"studies: {', '.join(kind.replace('-', '_') for kind in STUDIES)}",
            "also: train, certify, explain, doctor, lists, workbench",
            *(cut(note, WIDEST) for note in self.notes[:NOTES]),
        ]
        more = len(self.notes) - NOTES
        return "\n".join([*lines, *([f"… {counted(more, 'note')} more in .notes"] * (more > 0))])

    @property
    def _fold(self) -> str:
        """The data set of studies that are of a single fold."""
        return folds_of(self.scope.data, self.scope.store)[0]

    @property
    def _scope(self) -> Scope:
        """Scope of a single fold."""
        return replace(self.scope, data=self._fold)

    @cached_property
    def workbench(self) -> Workbench:
        """Lists, rankers and scores, below the studies; its lists are made now if need be."""
        return self._done("lists", self._scope.open_workbench())

    @property
    def lists(self) -> Mapping[str, JudgedLists]:
        """The candidate lists of `train`, `valid` and `test`, as a ranker's `score` takes them."""
        prepared = self.workbench.prepared
        return {"train": prepared.train, "valid": prepared.valid, "test": prepared.test}

    @arguments_for_flags()
    def train(self, name: str, **changes: Any) -> CachedRanker:
        """Train a ranker, or find it trained.

        Args:
            name: such as `dlcm` or `dlcm@tuned`; `shuffleproof list rankers` says which there are.
            changes: fields of its recipe that differ from the preset, such as `epochs=3`.

        Returns:
            The ranker. `score(lists)` gives one score a document; studies take it like a name.

        >>> import shuffleproof as sp
        >>> sample = sp.open("sample", progress=False)
        >>> mart = sample.train("mart")
        >>> mart.score(sample.lists["test"]).shape
        (5822,)
        """
        texts = {field: text_of(value) for field, value in changes.items()}
        name = stored_name(ranker_name(name), self.scope.store)
        self._check([name], texts)
        return self._done(name, workbench.train_ranker(self._scope, RankerName.parse(name), texts))

    @arguments_for_flags()
    def certify(  # noqa: PLR0913 (the flags of the command)
        self,
        ranker: Any,
        permutations: int = PERMUTATIONS,
        seed: int = 0,
        *,
        queries: int | None = None,
        lists: Sequence[str] = (),
        max_seconds: int | float | None = None,
    ) -> Certificate:
        """Certificate of a ranker's invariance to the input order, by real permutations.

        An importable function scores in fresh processes, as in the shell and in tests.

        Args:
            ranker: a name, a result of `train`, `module:function`, or a user's ranker.
            permutations: of every query.
            seed: of the permutations.
            queries: number of test queries, from the first.
            lists: examined beside: `whole` lists of all documents, planted `duplicates`.
            max_seconds: after which nothing new is begun: `unseen` tells what was left; nothing
                is stored then.

        Returns:
            A certificate with its `verdict`, `sentence()` and `details()`.
        """
        name = self._name_of(ranker)
        self._check([name])
        work = certificate_of(
            self.workbench, name, permutations, seed,
            queries=queries, lists=lists, in_blocks=max_seconds is not None,
        )  # fmt: skip
        return self._done(name, work if max_seconds is None else limit_seconds(max_seconds, work))

    def explain(
        self,
        query: str | int,
        ranker: Any,
        documents: Sequence[str] = (),
        *,
        groups: Mapping[str, Sequence[int]] | None = None,
    ) -> Margin:
        """Why a ranker puts one document of a test query above another.

        Args:
            query: id of the query.
            ranker: whatever `certify` takes, if it can score changed lists.
            documents: ids of two documents; one: it and the next one of the ranking; by default
                the first two of the ranking.
            groups: ids of features by name of their group.

        Returns:
            Sentences, `margin` (difference of both scores), and frames of effects on it:
            `documents` (removal) and `features` (Shapley values).

        >>> import shuffleproof as sp
        >>> sample = sp.open("sample", progress=False)
        >>> sample.explain(501, "dlcm", ["D0501-03", "D0501-06"])  # doctest: +ELLIPSIS
        DLCM ranks D0501-03 above D0501-06 by 0.029... because of D0501-18 in the list: ...
        >>> sample.explain(501, "lambdamart").alone  # no other document plays a part
        True
        """
        if isinstance(documents, str):
            raise ParameterError(
                "documents", documents, f"a list of one or two ids: [{documents!r}, …]"
            )
        name = self._name_of(ranker)
        self._check([name])
        test = self.lists["test"]
        judged = single_list(test, place_of({"data": self._fold, "query": str(query)}, test))
        names = document_names(judged.dataset.doc_ids, judged.lists.rows)
        for document in documents:
            if document not in names:
                raise UnknownNameError("document of this list", document, names)
        known = self._done(name, self.workbench.identified(RankerName.parse(name)))
        pair = [names.index(document) for document in documents]
        return replace(explain(known.ranker, judged, pair, groups), ranker=name)

    def doctor(
        self, ranker: Any = None, *, part: str = "all", queries: int | None = None, seed: int = 0
    ) -> "Findings":
        """Findings about the data set, or about a ranker, the gravest first.

        Args:
            ranker: examined on the test lists instead of the data: whatever `certify` takes, or a
                file of scores.
            part: of the data set: all, train, valid or test.
            queries: for a ranker: number of queries, from the first.
            seed: for a ranker: of the tried orders.
        """
        if ranker is None:
            rows = self._command("doctor", self._fold, part=part)["findings"]
        else:
            rows = self._of_ranker(ranker, queries, seed)
        leading = ["severity", "where", "message"]
        rest = [name for name in NAMES if name not in leading]
        return Findings(rows, columns=[*leading, *rest])

    def _of_ranker(self, ranker: Any, queries: int | None, seed: int) -> list[dict[str, Any]]:
        name = self._name_of(ranker)
        self._check([name])
        lists = self.workbench.test_lists(queries)
        diagnosis = self._done(name, examine_ranker(self.workbench, name, lists, seed))
        ids = lists.dataset.query_ids
        return [
            asdict(finding) | {"queries": [ids[at] for at in finding.queries]}
            for finding in diagnosis.findings
        ]

    def _name_of(self, ranker: Any) -> str:
        """The name of a ranker by text or object, which is registered."""
        (name,) = by_name(RANKER, [ranker])
        return stored_name(ranker_name(name), self.scope.store)

    def _check(self, rankers: Sequence[str], changes: Mapping[str, str] | None = None) -> None:
        """Refuse names that nothing has, before lists are made."""
        named = names.Names(rankers, changes or {}, from_outside=True)
        names.check(named, self.scope.usual_preset, self.scope.store)


NAMES = [field.name for field in fields(Finding)]


class Findings(pd.DataFrame):
    """Findings of a doctor, one row each; printed as whole sentences."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame  # a part of it is a plain frame

    def __repr__(self) -> str:
        """A line for each finding, of all parts of a data set."""
        findings = [Finding(*row) for row in self[NAMES].itertuples(index=False)]
        return "\n".join(text for _, text in lines(findings)) or "no findings"

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return self.to_html(max_rows=pd.get_option("display.max_rows"))


SIZES: Mapping[str, str] = {
    "queries": "query", "documents": "document", "features": "feature",
}  # fmt: skip


for _kind in STUDIES.values():
    _name = _kind.kind.replace("-", "_")
    setattr(Studies, _name, method(_kind, _name, "Studies"))


@arguments_for_flags()
def open(  # noqa: A001, PLR0913 (as `shuffleproof.open`; how lists are made, in words)
    data: Place | Frames = SAMPLE,
    *,
    columns: Mapping[str, str] | None = None,
    preset: str | None = None,
    initial: str | Sequence[str] | None = None,
    depth: int | None = 40,
    scores: str = "cross-fitted",
    store: StorePlace = None,
    progress: bool = True,
    **lists: Any,
) -> Studies:
    """Open a data set for studies; its candidate lists are made when something reads them.

    Args:
        data: a stored name, a key, a folder or file of LETOR text, or `sample`. Also a pandas frame
            (a row a document: columns `query`, `label`, features, perhaps `document` and `part`:
            train, validation or test), or frames by part, as {"train": …, "valid": …, "test": …}.
        columns: of a frame, what they are called, as in {"query": "topic", "label": "clicks"}.
        preset: of rankers named without one: paper, released, tuned or small; by default `small`
            for the sample, else `paper`.
        initial: the initial rankers of the lists; by default LambdaMART.
        depth: documents of a list, cut by the first initial ranker; None: all.
        scores: scoring of training queries by initial rankers: cross-fitted or in-sample.
        store: of all results; by default the user's own (SHUFFLEPROOF_HOME).
        progress: show progress bars.
        lists: further fields of the lists' recipe: `folds`, `seed`.

    Raises:
        ShuffleproofError: no such data, or no such initial ranker.

    >>> sample = open("sample", initial="feature:1", depth=10, progress=False)
    >>> int(sample.lists["test"].lists.lengths.max())
    10
    """
    known = {field.name for field in fields(ListRecipe)}
    unknown = sorted(set(lists) - known)
    if unknown:
        raise UnknownNameError("field of the lists", unknown[0], known)
    where = store_of(store)
    place = str(data) if isinstance(data, str | PathLike) else _read_in(data, columns, where)
    scope = Scope(where, place, {"depth": depth, "scores": scores, **lists}, preset)
    if initial is not None:
        texts = by_name(INITIAL, initial)
        rankers = initial_rankers(texts, scope.usual_preset)
        scope = replace(scope, lists={**(scope.lists or {}), "initial": rankers})
    names.check(names.Names(initial=scope.recipe().rankers), scope.usual_preset, where)
    studies = Studies(scope, progress)
    catalogue.find(studies._fold, where)  # noqa: SLF001 (its own constructor)
    return studies


@takes_flags("ingest")
def ingest(
    path: Place | Frames | None = None,
    name: str = "",
    *,
    columns: Mapping[str, str] | None = None,
    store: StorePlace = None,
    progress: bool = True,
    **flags: Any,
) -> Studies:
    """Read files into the store under a name, and open them for studies.

    >>> frame = pd.DataFrame({"query": list("aabbcc"), "label": [1, 0] * 3, "bm25": range(6)})
    >>> print(ingest(frame, "tiny", progress=False))  # doctest: +ELLIPSIS
    Studies of tiny, preset paper
    3 queries, 6 documents, 1 feature
    ...

    Args:
        path: a file, or a folder or zip of parts, folds or S1 … S5, of LETOR text or tables; or a
            pandas frame or three, as `open` takes them.
        name: the name to find it by.
        columns: of a frame or table, what they are called, as `open` takes it.
        store: of all results; by default the user's own (SHUFFLEPROOF_HOME).
        progress: show progress bars.
        flags: those of the command:
    """
    if not name:
        raise UsageError('no name to find the data by: give one, as in ingest(path, "mine")')
    where = store_of(store)
    if path is not None and not isinstance(path, str | PathLike):
        gaps = flags.get("nulls", "error") != "error"
        with files_of(_by_part(path), columns, gaps=gaps) as files:
            whole = files.pop("whole", None)
            return ingest(whole, name, store=store, progress=progress, **{**files, **flags})
    if columns:
        flags["columns"] = ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())
    with bars(progress=progress):
        result = answer(
            "ingest", [] if path is None else [path], {"name": name, "store": where.root, **flags}
        ).json
    notes = [
        f"{row['name']}: {note}" if len(result["folds"]) > 1 else note
        for row in result["folds"]
        for note in [*row["notes"], *map(_in_words, row.get("findings", ()))]
    ]
    return replace(open(name, store=where, progress=progress), notes=tuple(notes))


@wraps(workbench.ask)
def ask(question: Question, data: str = SAMPLE, **more: Any) -> Result:
    """The answer to a question, as `core.studies.workbench.ask` gives it."""
    return Result.of(workbench.ask(question, data, **more))


def _read_in(frames: Frames, columns: Mapping[str, str] | None, store: Store) -> str:
    """The key of the data set that frames make, which is read in where it is not stored yet."""
    if not isinstance(frames, pd.DataFrame | Mapping):
        raise ParameterError("data", type(frames).__name__, "a path, a name or a pandas frame")
    with files_of(_by_part(frames), columns) as files:
        whole = files.get("whole")
        parts = whole or Parts("frames", *((files[part],) for part in PARTS))
        (artefact,) = run_to_end(catalogue.ingest(parts, None, store))
    return str(artefact.key)


def _by_part(frames: Frames) -> Frames:
    """Three frames of one with a column `part`, as `export` writes it; others as they are.

    Raises:
        ParameterError: the column does not name all three parts, or names others.
    """
    if not isinstance(frames, pd.DataFrame) or "part" not in frames:
        return frames
    parts = frames["part"].astype(str).replace("validation", "valid")
    if set(parts) != set(PARTS):
        allowed = "train, validation (or valid) and test, each in some row; or drop the column"
        raise ParameterError("the column part", ", ".join(sorted(set(parts))), allowed)
    return {part: frames[parts == part].drop(columns="part") for part in PARTS}


def _in_words(finding: Mapping[str, Any]) -> str:
    return f"{finding['severity']} {finding['where'] or 'all'}: {finding['message']}"
