"""What can be done outside the web process: every kind of job by name, a function each.

Nothing here loads torch or LightGBM: they load in the process that does one job and ends with it.
Jobs are handed in by `core.jobs`; the program of their processes is `core.job_process`.
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
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Question, Scope
from shuffleproof.core.studies.registry import EVERY, STUDIES

if TYPE_CHECKING:
    from shuffleproof.core.data.layout import Parts


Reports = Generator[Progress, None, Any]
Lists = Mapping[str, Any] | None

MEASURES = ("NDCG@10", "AP", "P@10", "RR")
QRELS, RUNS, FILE = "qrels", "runs", "file"
"""Folders of an upload."""

FOLDER = "exports"
"""Of the store, where archives lie."""

KEYWORD = inspect.Parameter.KEYWORD_ONLY
SCOPE = ("lists", "preset", "pinned")
"""What a question is asked of, beside its data: fields of `Scope`, by default None."""


class StudyJob:
    """The job that answers a question; its keywords are the question's fields and `Scope`'s.

    Attributes:
        question: of the kind of study.
        scope: which fields of `Scope` it takes; data without candidate lists have none to make.
    """

    def __init__(self, question: type[Question]) -> None:
        self.question = question
        self.scope = SCOPE if question.kind in STUDIES else ("pinned",)
        fields = [
            inspect.Parameter(
                field.name,
                KEYWORD,
                default=inspect.Parameter.empty if field.is_required else field.default,
            )
            for field in parameters(question)
        ]
        rest = [inspect.Parameter(name, KEYWORD, default=None) for name in self.scope]
        store = inspect.Parameter("store", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        data = inspect.Parameter("data", KEYWORD)
        self.__signature__ = inspect.Signature([store, data, *fields, *rest])

    def __call__(self, store: Store, **given: Any) -> Reports:
        """Answer it; result: artefact."""
        question, scope = self.question_of(store, given)
        return answer((yield from question.answer(scope)))

    def question_of(self, store: Store, given: Mapping[str, Any]) -> tuple[Question, Scope]:
        """The question of a job's keywords, and what it is asked of.

        Raises:
            ParameterError: a value out of its bounds.
        """
        of = {name: value for name, value in given.items() if name in {"data", *self.scope}}
        question = {name: value for name, value in given.items() if name not in of}
        return self.question.from_plain(question), Scope(store, **of)


def answer(artefact: Artefact) -> dict[str, Any]:
    """A job's result that is an artefact."""
    return {"artefact": text_of(artefact.key)}


def answers(artefacts: Sequence[Artefact]) -> dict[str, Any]:
    """A job's result that is several artefacts."""
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
    """Read an upload into the store and examine it; result: artefact (first fold's), artefacts.

    Args:
        store: where it goes.
        upload: what `uploads.spooled` returned.
        name: what to call the data set; K folds get `name-fold1` … `name-foldK`.
        files: the upload's files by part (train, valid, test); by default a single file is split
            by query, and a folder's own names say the parts.
        missing: what NULL and NaN cells become: error, zero, mean, largest or missing.
        fractions: of the queries for train, validation and test where one file is split.
        seed: of that split.
        columns: names of a table's columns by meaning, where they are none of the usual ones.
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
    return answers(artefacts)


def _place(folder: Path, files: Mapping[str, Sequence[str]] | None) -> "Path | Parts":
    from shuffleproof.core.data.layout import Parts, group_file  # noqa: PLC0415 (only who works pays for it)

    if files is not None:
        parts = ("train", "valid", "test")
        named = {
            part: [folder / uploads.safe_name(name) for name in files.get(part, ())]
            for part in parts
        }
        return Parts(folder.name, *(tuple(named[part]) for part in parts))
    inside = list(folder.iterdir())
    beside = {group_file(path) for path in inside}
    data = [path for path in inside if path not in beside]
    return data[0] if len(data) == 1 else folder


@contextmanager
def _files_of(store: Store, upload: str) -> Iterator[Path]:
    """The folder of an upload; what is refused in it is told without where it lies for now."""
    folder = uploads.folder_of(store, upload)
    try:
        yield folder
    except ShuffleproofError as error:
        inside = f"({QRELS}/|{RUNS}/|{FILE}/)?"
        error.args = (re.sub(f"{re.escape(str(folder))}/{inside}", "", str(error)),)
        raise


def examine(store: Store, *, artefact: str) -> Reports:
    """Examine a stored data set, or find what was found before; result: artefact.

    Args:
        store: where both are.
        artefact: the data set's key.
    """
    from shuffleproof.core.data import examination  # noqa: PLC0415 (only who works pays for it)

    found = yield from examination.examine(store.resolve(artefact, "data"), store)
    return {"artefact": text_of(examination.key_for(found.fingerprint))}


def train(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    ranker: str,
    changes: Mapping[str, str] | None = None,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Train a ranker; result: artefact, ranker, cached, epochs, valid, seconds.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        ranker: `ranker` or `ranker@preset`.
        changes: fields of its recipe that differ from the preset, as text.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from shuffleproof.core.studies.workbench import train_ranker  # noqa: PLC0415 (only who works pays for it)

    found = yield from train_ranker(Scope(store, data, lists, preset, pinned), ranker, changes)
    facts = found.artefact.facts
    return {
        "artefact": text_of(found.artefact.key),
        "ranker": facts["name"],
        "cached": found.cached,
        "epochs": facts["epochs"],
        "valid": facts["valid"],
        "seconds": facts["seconds"],
    }


def tune(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    ranker: str,
    search: Sequence[str] = (),
    trials: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    name: str | None = None,
    at_once: int = 1,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Search for a recipe; result: artefact (the best trial's ranker), preset, trials, valid.

    Args:
        store: where everything is kept.
        data: a stored name, of one fold or of all of them, or `sample`.
        ranker: `ranker` or `ranker@preset`, from which the search starts.
        search: fields, as `tune --search` takes them; by default those that declare a range.
        trials: at most, the presets included; by default 40, or any number within the budget.
        budget: seconds after which no trial begins.
        seed: of the search.
        name: of the preset that is made; by default after the data set.
        at_once: trials proposed at a time, for as many workers.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's keys, which `submit` finds from its name.
    """
    from shuffleproof.core import tuning  # noqa: PLC0415 (only who works pays for it)

    asked = tuning.Tuning(ranker, tuple(search), trials, budget, seed, name, at_once)
    made, cached = yield from tuning.tune(asked, Scope(store, data, lists, preset, pinned))
    best = store.resolve(made.best["rankers"][0], "ranker")
    told = {"preset": str(made), "trials": made.trials, "cached": cached}
    return answer(best) | told | {"valid": {made.measure: made.best["value"]}}


def doctor(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    ranker: str,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Examine a ranker on the test lists; result: artefact, ranker, lists, of, seconds, findings.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        ranker: one of the store or of the registry.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from shuffleproof.core.checks.doctor import diagnose  # noqa: PLC0415 (only who works pays for it)

    bench = yield from Scope(store, data, lists, preset, pinned).open_workbench()
    found = yield from bench.identified(ranker)
    diagnosis = yield from diagnose(found.ranker, bench.test_lists())
    findings = [
        {"code": one.code, "severity": one.severity, "message": one.message, "where": one.where}
        for one in diagnosis.findings
    ]
    told = diagnosis.plain() | {"ranker": ranker, "findings": findings}
    return {"artefact": f"ranker-{found.digest}"} | told


def judge(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    name: str,
    judge: str,
    pairs: str = "sampled",
    calls: int | None = None,
    orders: str = "both",
    top: int | None = None,
    at_once: int = 1,
    queries: int | None = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Ask a live judge for preferences; result: artefact, name, asked, before, malformed, complete.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`, whose test documents are shown.
        name: of the preferences, which are made or extended.
        judge: one that `SHUFFLEPROOF_JUDGES` names.
        pairs: `sampled`, `all`, or an aggregator, which asks for those that it wants.
        calls: answers that are wanted, those that are there already among them.
        orders: `both` or `one`.
        top: ranks that an aggregator wants.
        at_once: calls at the same time.
        queries: only the first so many test queries.
        preset: plays no part.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from shuffleproof.core.aggregate import judge_questions, judge_sets, judges  # noqa: PLC0415 (only who works pays for it)

    del preset
    plan = judge_questions.Plan(pairs, calls, orders, top=top, jobs=at_once)
    bench = yield from Scope(store, data, judge_questions.LISTS, None, pinned).open_workbench()
    material = judge_sets.material_of(bench.test_lists(queries), bench.fold.fingerprint, store)
    live = judges.judge_of(judge)
    found = yield from judge_sets.ask(judge_sets.Target(name, store, data), live, material, plan)
    told = {"name": name, "asked": found.asked, "before": found.before, "complete": found.complete}
    return answer(found.artefact) | told | {"malformed": len(found.malformed)}


def bring(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    kind: str,
    upload: str,
    file: str,
    columns: str = "",
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Take a ranker from outside into the store; result: artefact.

    Args:
        store: where it goes.
        data: the data set that it is brought to.
        kind: scores, lightgbm or xgboost.
        upload: what `uploads.spooled` returned.
        file: the file's name in it.
        columns: of a model: how its columns are matched; empty: by the only rule that fits.
        preset: plays no part.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from shuffleproof.core.data.catalogue import resolve  # noqa: PLC0415 (only who works pays for it)
    from shuffleproof.core.library import import_ranker  # noqa: PLC0415 (likewise)

    del preset
    with _files_of(store, upload) as folder:
        path = folder / uploads.safe_name(file)
        fold = resolve(pinned or data, store)
        artefact = yield from import_ranker.bring(
            kind, path, fold, store, called=path.name, columns=columns
        )
        shutil.rmtree(folder, ignore_errors=True)
    return answer(artefact)


def runs(store: Store, *, upload: str, name: str, measures: Sequence[str] = ()) -> Reports:
    """Judge and compare the TREC runs of an upload; result: artefact.

    Args:
        store: where the comparison goes.
        upload: what `uploads.spooled` returned: one file in its folder `qrels`, any in `runs`.
        name: what people call the judgments.
        measures: the columns, each with all its conventions; none: the usual ones.
    """
    from shuffleproof.core.studies.kinds.benchmark import outside_runs  # noqa: PLC0415 (only who works pays for it)

    del name
    with _files_of(store, upload) as folder:
        (qrels,) = sorted((folder / QRELS).iterdir())
        files = sorted((folder / RUNS).iterdir())
        asked = (measures, None) if measures else ()
        result = yield from outside_runs.measure_runs(qrels, files, *asked)
        artefact = outside_runs.keep(result, store)
        shutil.rmtree(folder, ignore_errors=True)
    return answer(artefact)


def export(store: Store, *, keys: Sequence[str]) -> Reports:
    """Write artefacts and all that they need into one archive; result: artefact, file, bytes.

    Args:
        store: where they are; the archive lies in its folder `exports`.
        keys: of the artefacts, as printed.

    Raises:
        ArtefactError: one of them is not in the store (any more).
    """
    from shuffleproof.core.library import entries as library  # noqa: PLC0415 (only who works pays for it)

    every = library.entries(store)
    wanted = [store.resolve(text).key for text in keys]
    chosen = [entry.artefact for entry in library.with_dependencies(every, wanted)]
    out = exported(store, keys)
    out.parent.mkdir(parents=True, exist_ok=True)
    yield from archive.write(store, chosen, out)
    return {"artefact": text_of(wanted[0]), "file": out.name, "bytes": out.stat().st_size}


def exported(store: Store, keys: Sequence[str]) -> Path:
    """Where the archive of these artefacts lies, or would lie."""
    digest = key_of("export", {"keys": sorted(keys)}).digest
    return store.root / FOLDER / f"shuffleproof-{digest[:12]}.zip"


def import_archive(store: Store, *, upload: str, name: str) -> Reports:
    """Take the artefacts of an uploaded archive into the store; result: artefact, artefacts.

    Args:
        store: where they go.
        upload: what `uploads.spooled` returned.
        name: what the file was called.

    Raises:
        DataError: no archive of a library, or one that is damaged or made to harm.
    """
    from shuffleproof.core.library import imports  # noqa: PLC0415 (only who works pays for it)

    with _files_of(store, upload) as folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        if len(files) != 1:
            remedy = "Give one archive that the library exported."
            raise DataError(name, f"{len(files)} files", remedy)
        artefacts = yield from imports.read_archive(files[0], store)
        if not artefacts:
            raise DataError(name, "nothing in it", "Export something first.")
        shutil.rmtree(folder, ignore_errors=True)
    return answers(artefacts)


KINDS: Mapping[str, Callable[..., Reports]] = {
    "ingest": ingest,
    "examine": examine,
    "train": train,
    "tune": tune,
    "bring": bring,
    "doctor": doctor,
    "judge": judge,
    "runs": runs,
    "library-export": export,
    "library-import": import_archive,
    **{kind: StudyJob(question) for kind, question in EVERY.items()},
}
"""Every kind of job; nothing else can be handed in or run."""


SHORT = frozenset(
    {
        "ingest", "examine", "bring", "runs", "library-export", "library-import",
        "invariance",
    }
)  # fmt: skip
"""Kinds that people wait for: they have a slot of their own beside long trainings and studies."""
