"""Kinds of jobs by name: the work that is done outside the web process.

A job's parameters are the keywords of its function. `store` or `scope` is the place; `data` is a
stored name or `sample`; `lists` are fields of ListRecipe that differ from its default; `preset` is
that of rankers named without one. `pinned` is the key of the data, which `core.jobs` finds when the
job is handed in. An `upload` is what `uploads.spooled` returned.

Nothing here loads torch or LightGBM: they load in the process that does one job and ends with it.
"""

import inspect
import re
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.library import uploads
from shuffleproof.core.parameters import parameters
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Question, Scope
from shuffleproof.core.studies.registry import EVERY, STUDIES

if TYPE_CHECKING:
    from shuffleproof.core.data.layout import Parts

Reports = Generator[Progress, None, Any]

MEASURES = ("NDCG@10", "AP", "P@10", "RR")
QRELS, RUNS, FILE = "qrels", "runs", "file"
"""Folders of an upload."""

KEYWORD = inspect.Parameter.KEYWORD_ONLY
SCOPE = ("lists", "preset", "pinned")
"""Fields of `Scope` that a job on a data set takes beside its data, by default None."""


class DataJob:
    """A job on a data set.

    Attributes:
        scope: fields of `Scope` that it takes beside its data.
    """

    def __init__(
        self,
        work: Callable[..., Reports],
        scope: Sequence[str] = SCOPE,
        own: Sequence[inspect.Parameter] | None = None,
    ) -> None:
        """Make a job of a function.

        Args:
            work: takes a `Scope` and the job's own parameters.
            scope: as the attribute.
            own: the job's own parameters; by default those of the function.
        """
        self.work, self.scope = work, tuple(scope)
        if own is None:
            own = [*inspect.signature(work).parameters.values()][1:]
        place = inspect.Parameter("store", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        rest = [inspect.Parameter(name, KEYWORD, default=None) for name in self.scope]
        data = inspect.Parameter("data", KEYWORD)
        self.__signature__ = inspect.Signature([place, data, *own, *rest])

    def scope_of(self, store: Store, given: Mapping[str, Any]) -> tuple[Scope, dict[str, Any]]:
        """Scope of a job, and its own parameters."""
        of = {name: value for name, value in given.items() if name in {"data", *self.scope}}
        return Scope(store, **of), {name: given[name] for name in given if name not in of}

    def __call__(self, store: Store, **given: Any) -> Reports:
        """Do it."""
        scope, own = self.scope_of(store, given)
        return self.work(scope, **own)


class StudyJob(DataJob):
    """The job that answers a question; its own parameters are the question's fields."""

    def __init__(self, question: type[Question]) -> None:
        """Make a job of a kind of study."""
        self.question = question
        empty = inspect.Parameter.empty
        own = [
            inspect.Parameter(
                field.name, KEYWORD, default=empty if field.is_required else field.default
            )
            for field in parameters(question)
        ]
        super().__init__(self._answered, SCOPE if question.kind in STUDIES else ("pinned",), own)

    def _answered(self, scope: Scope, **fields: Any) -> Reports:
        return answer((yield from self.question.from_plain(fields).answer(scope)))

    def question_of(self, store: Store, given: Mapping[str, Any]) -> tuple[Question, Scope]:
        """Question of a job's parameters, and its scope.

        Raises:
            ParameterError: a value out of its bounds.
        """
        scope, fields = self.scope_of(store, given)
        return self.question.from_plain(fields), scope


def answer(*artefacts: Artefact) -> dict[str, Any]:
    """A job's result: its artefacts, and the first of them."""
    keys = [text_of(artefact.key) for artefact in artefacts]
    return {"artefact": keys[0], "artefacts": keys}


def text_of(key: ArtefactKey) -> str:
    """A key with its whole digest."""
    return f"{key.kind}-{key.digest}"


def ingest(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    upload: str,
    name: str,
    files: Mapping[str, Sequence[str]] | None = None,
    missing: str = "error",
    fractions: Sequence[float] = (0.6, 0.2, 0.2),
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> Reports:
    """Read an upload into the store and examine it.

    `files` are those of each part (train, valid, test); by default a single file is split by query
    into `fractions`, and a folder's own names say the parts. `columns` of a table are by meaning.
    """
    from shuffleproof.core.data import examination  # noqa: PLC0415 (only who works pays for it)
    from shuffleproof.core.data.catalogue import ReadingOptions  # noqa: PLC0415 (likewise)
    from shuffleproof.core.data.catalogue import ingest as read  # noqa: PLC0415 (likewise)

    uploads.clear(store, Jobs(store.root))
    train, valid, test = fractions
    named = tuple(sorted((columns or {}).items()))
    reading = ReadingOptions(missing, (train, valid, test), seed, columns=named)
    with _files_of(store, upload) as folder:
        artefacts = yield from read(_place(folder, files), name, store, reading)
        for artefact in artefacts:
            yield from examination.examine(artefact, store)
    return answer(*artefacts)


def _place(folder: Path, files: Mapping[str, Sequence[str]] | None) -> "Path | Parts":
    from shuffleproof.core.data.layout import Parts, group_file  # noqa: PLC0415 (only who works pays for it)

    if files is not None:
        named = {
            part: tuple(folder / uploads.safe_name(name) for name in files.get(part, ()))
            for part in ("train", "valid", "test")
        }
        return Parts(folder.name, *named.values())
    inside = list(folder.iterdir())
    beside = {group_file(path) for path in inside}
    data = [path for path in inside if path not in beside]
    return data[0] if len(data) == 1 else folder


@contextmanager
def _files_of(store: Store, upload: str, *, once: bool = False) -> Iterator[Path]:
    """The folder of an upload; errors do not tell where it lies. `once`: it is removed then."""
    folder = uploads.folder_of(store, upload)
    try:
        yield folder
    except ShuffleproofError as error:
        inside = f"({QRELS}/|{RUNS}/|{FILE}/)?"
        error.args = (re.sub(f"{re.escape(str(folder))}/{inside}", "", str(error)),)
        raise
    if once:
        shutil.rmtree(folder, ignore_errors=True)


def train(scope: Scope, *, ranker: str, changes: Mapping[str, str] | None = None) -> Reports:
    """Train a ranker; `changes` are fields of its recipe that differ from the preset, as text."""
    from shuffleproof.core.studies.workbench import train_ranker  # noqa: PLC0415 (only who works pays for it)

    found = yield from train_ranker(scope, RankerName.parse(ranker), changes)
    facts = found.artefact.facts
    told = {name: facts[name] for name in ("epochs", "valid", "seconds")}
    return answer(found.artefact) | {"ranker": facts["name"], "cached": found.cached} | told


def tune(  # noqa: PLR0913 (a job's parameters are its keywords)
    scope: Scope,
    *,
    ranker: str,
    search: Sequence[str] = (),
    trials: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    name: str | None = None,
    at_once: int = 1,
) -> Reports:
    """Search for a recipe; see `core.tuning.Tuning`. The result is the ranker of the best trial."""
    from shuffleproof.core import tuning  # noqa: PLC0415 (only who works pays for it)

    asked = tuning.Tuning(ranker, tuple(search), trials, budget, seed, name, at_once)
    made, cached = yield from tuning.tune(asked, scope)
    best = scope.store.resolve(made.best["rankers"][0], "ranker")
    told = {"preset": str(made), "trials": made.trials, "cached": cached}
    return answer(best) | told | {"valid": {made.measure: made.best["value"]}}


def doctor(scope: Scope, *, ranker: str) -> Reports:
    """Examine a ranker on the test lists, or an endpoint; the result has its findings."""
    from shuffleproof.core.checks import rankers, ten_calls  # noqa: PLC0415 (only who works pays for it)

    name, digest = RankerName.parse(ranker), "unstored"
    if name.kind is Kind.ENDPOINT:
        diagnosis = yield from ten_calls.examine_endpoint(ranker)
    else:
        bench = yield from scope.open_workbench()
        diagnosis = yield from rankers.examine_ranker(bench, ranker, bench.test_lists())
        digest = (yield from bench.identified(name)).digest
    findings = [
        {"code": one.code, "severity": one.severity, "message": one.message, "where": one.where}
        for one in diagnosis.findings
    ]
    told = diagnosis.plain() | {"ranker": ranker, "findings": findings}
    return {"artefact": f"ranker-{digest}"} | told


def judge(  # noqa: PLR0913 (a job's parameters are its keywords)
    scope: Scope,
    *,
    name: str,
    judge: str,
    pairs: str = "sampled",
    calls: int | None = None,
    orders: str = "both",
    top: int | None = None,
    at_once: int = 1,
    queries: int | None = None,
) -> Reports:
    """Ask a live judge that `SHUFFLEPROOF_JUDGES` names; see `judge_questions.Plan`."""
    from shuffleproof.core.aggregate import judge_questions, judge_sets, judges  # noqa: PLC0415 (only who works pays for it)

    plan = judge_questions.Plan(pairs, calls, orders, top=top, jobs=at_once)
    store = scope.store
    of_lists = Scope(store, scope.data, judge_questions.LISTS, None, scope.pinned)
    bench = yield from of_lists.open_workbench()
    material = judge_sets.material_of(bench.test_lists(queries), bench.fold.fingerprint, store)
    target = judge_sets.Target(name, store, scope.data)
    found = yield from judge_sets.ask(target, judges.judge_of(judge), material, plan)
    told = {"name": name, "asked": found.asked, "before": found.before, "complete": found.complete}
    return answer(found.artefact) | told | {"malformed": len(found.malformed)}


def bring(scope: Scope, *, kind: str, upload: str, file: str, columns: str = "") -> Reports:
    """Take the file of a ranker, of a kind of `FILES`, into the store.

    `columns` is the rule by which a model's columns are matched; empty: the only one that fits.
    """
    from shuffleproof.core.data.catalogue import resolve  # noqa: PLC0415 (only who works pays for it)
    from shuffleproof.core.library import import_ranker  # noqa: PLC0415 (likewise)

    with _files_of(scope.store, upload, once=True) as folder:
        path = folder / uploads.safe_name(file)
        fold = resolve(scope.pinned or scope.data, scope.store)
        artefact = yield from import_ranker.bring(
            kind, path, fold, scope.store, called=path.name, columns=columns
        )
    return answer(artefact)


def runs(store: Store, *, upload: str, name: str, measures: Sequence[str] = ()) -> Reports:
    """Judge and compare the TREC runs of an upload under `measures`, by default the usual ones.

    One file of the upload lies in its folder `qrels`, any number in `runs`; `name` is people's.
    """
    from shuffleproof.core.studies.kinds.benchmark import outside_runs  # noqa: PLC0415 (only who works pays for it)

    del name
    with _files_of(store, upload, once=True) as folder:
        (qrels,) = sorted((folder / QRELS).iterdir())
        files = sorted((folder / RUNS).iterdir())
        asked = (measures, None) if measures else ()
        result = yield from outside_runs.measure_runs(qrels, files, *asked)
        artefact = outside_runs.keep(result, store)
    return answer(artefact)


def reranks(
    store: Store, *, upload: str, name: str, groups: Mapping[str, Any] | None = None
) -> Reports:
    """Store the recorded answers of an upload under a name, and examine them.

    One file of the upload lies in its folder `qrels`, any number in `runs`. `groups` are corrected
    ones by file.
    """
    from shuffleproof.core.rerank.reading import ingest as read  # noqa: PLC0415 (only who works pays for it)
    from shuffleproof.core.studies.kinds.rerankers.question import Rerankers  # noqa: PLC0415 (likewise)

    with _files_of(store, upload, once=True) as folder:
        (qrels,) = sorted((folder / QRELS).iterdir())
        recorded = read(sorted((folder / RUNS).iterdir()), name, store, qrels, groups)
        studied = yield from Rerankers().study(Scope(store, name))
    return answer(studied, recorded)


def import_archive(store: Store, *, upload: str, name: str) -> Reports:
    """Take the artefacts of an uploaded archive into the store; `name` is that of the file.

    Raises:
        DataError: no archive of a library, or one that is damaged or made to harm.
    """
    from shuffleproof.core.library import imports  # noqa: PLC0415 (only who works pays for it)

    with _files_of(store, upload, once=True) as folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        if len(files) != 1:
            remedy = "Give one archive that the library exported."
            raise DataError(name, f"{len(files)} files", remedy)
        artefacts = yield from imports.read_archive(files[0], store)
        if not artefacts:
            raise DataError(name, "nothing in it", "Export something first.")
    return answer(*artefacts)


KINDS: Mapping[str, Callable[..., Reports]] = {
    "ingest": ingest,
    "train": DataJob(train),
    "tune": DataJob(tune),
    "bring": DataJob(bring, ("preset", "pinned")),
    "doctor": DataJob(doctor),
    "judge": DataJob(judge, ("preset", "pinned")),
    "runs": runs,
    "reranks": reranks,
    "library-import": import_archive,
    **{kind: StudyJob(question) for kind, question in EVERY.items()},
}
"""Every kind of job; nothing else can be handed in or run."""


SHORT = frozenset({"ingest", "bring", "runs", "reranks", "library-import", "invariance"})
"""Kinds that people wait for: they have a place of their own beside long trainings and studies."""
