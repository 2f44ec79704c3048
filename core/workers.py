"""Workers of an executor that make what a command or a job needs: trainings, trials, cells.

A task is a function and an item, pickled. Data sets, rankers and the store are not pickled but
named, so that a worker opens its own. A worker on the disk of the store files what it makes there.
One on another machine gets a copy of the artefacts that the task names, and sends back what it
made. Either way the content key decides what is computed, so a repeated task does no harm.
"""

import hashlib
import io
import logging
import os
import pickle
import platform
import shutil
import sys
import tarfile
import tempfile
import traceback
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.execution.cluster import Ray
from shuffleproof.core.execution.executor import Executor, executor
from shuffleproof.core.execution.tasks import WORKERS, Errors
from shuffleproof.core.execution.work import Failure
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.store import manifest
from shuffleproof.core.store.artefacts import Store, store_at
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.user_code import import_module_of_user

COMPUTES = ("lightgbm", "numba", "numpy", "scipy", "torch")
UNIT = "tasks by workers"
SENT = ("artefacts", "records")
"""The folders of a store whose files are sent back from another machine."""

UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError)
LOG = logging.getLogger("shuffleproof.jobs")


class Common(NamedTuple):
    """Common input of all tasks of a function.

    Attributes:
        store: folder of the store; empty on a machine that does not see it.
        folder: the current one, where modules and files of the user are.
        modules: of the user, imported before all else.
        function: pickled.
        code: digest of the program that asked; other versions make other bytes under one key.
        files: artefacts that the function names, as a tar archive, where the store is not seen.
        copies: how the folders begin into which that is unpacked.
    """

    store: str
    folder: str
    modules: tuple[str, ...]
    function: bytes
    code: str
    files: np.ndarray | None = None
    copies: str = ""


class TaskResult(NamedTuple):
    """Result of a worker.

    Attributes:
        error: class, text and attributes of what the task raised; None: it ended well.
        files: what it made, as a tar archive, where the store is not seen.
    """

    error: tuple[type[ShuffleproofError], str, dict[str, Any]] | None
    files: bytes = b""


@dataclass
class StoreWorkers:
    """Workers that make what is missing in a store; see `core.execution.tasks.Workers`.

    Attributes:
        store: of all results.
        executor: that runs them.
        modules: of the user, which they import.
    """

    store: Store
    executor: Executor
    modules: tuple[str, ...] = ()

    def run_tasks(
        self, function: Callable[[Any], Generator[Progress, None, Any]], items: Sequence[Any]
    ) -> Generator[Progress, None, Errors]:
        """Run a function on every item; see `core.execution.tasks.run_tasks`."""
        errors: Errors = [None] * len(items)
        if len(items) < (1 if self.executor.elsewhere else 2):
            return errors
        try:
            pickled, needed = _pickled(function, self.store)
            texts = [_pickled(item, self.store)[0] for item in items]
        except UNPICKLABLE as error:
            LOG.warning("workers cannot be sent this, so it is done here: %s", error)
            return errors
        done = 0
        yield Progress(done, len(items), UNIT)
        with (
            self._common(pickled, needed) as (work, common),
            closing(self.executor.map(work, common, texts)) as outcomes,
        ):
            for outcome in outcomes:
                if outcome is not None:
                    errors[outcome[0]] = self._error(outcome[1])
                    done += 1
                yield Progress(done, len(items), UNIT)
        return errors

    @contextmanager
    def _common(
        self, function: bytes, needed: Iterable[ArtefactKey]
    ) -> Iterator[tuple[Callable[[Any, bytes], TaskResult], Any]]:
        """The function that workers call, and its first argument."""
        root = str(self.store.root.resolve())
        common = Common(root, str(Path.cwd()), self.modules, function, code())
        if isinstance(self.executor, Ray):
            files = np.frombuffer(_packed(self.store, needed), dtype=np.uint8)
            copies = f"shuffleproof-{uuid.uuid4().hex}-"
            try:
                yield work_on_copies, common._replace(store="", files=files, copies=copies)
            finally:  # Ray kills its processes, which then leave their copies behind
                self.executor.on_every_node(remove_copies, copies)
            return
        with manifest.disk_errors("tasks", self.store.root), self.store.incoming("tasks") as folder:
            path = folder / uuid.uuid4().hex
            path.write_bytes(pickle.dumps(common))
            yield work_on_disk, str(path)

    def _error(self, outcome: TaskResult | Failure) -> ShuffleproofError | None:
        """The error of a task; what it made is stored."""
        if isinstance(outcome, Failure):
            LOG.warning("a task failed: %s\n%s", outcome.message, outcome.details)
            return ShuffleproofError(
                f"a task of the workers failed: {outcome.message}. What is finished is stored: run "
                "the same line again, or leave --executor out"
            )
        if outcome.files:
            self._take(outcome.files)
        if outcome.error is None:
            return None
        kind, text, attributes = outcome.error
        error = kind.__new__(kind, text)
        error.__dict__.update(attributes)
        return error

    def _take(self, files: bytes) -> None:
        """Store what a worker on another machine made."""
        with (
            manifest.disk_errors("tasks", self.store.root),
            self.store.incoming("tasks") as folder,
            tarfile.open(fileobj=io.BytesIO(files)) as archive,
        ):
            archive.extractall(folder, filter="data")
            for content in list((folder / "artefacts").glob("*")):
                manifest.check(content)
                self.store.adopt(content, manifest.read_manifest(content).key)
            for path in folder.rglob("*"):
                target = self.store.root / path.relative_to(folder)
                if path.is_file() and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(target)


@contextmanager
def workers_of(store: Store, where: str | None, modules: Sequence[str] = ()) -> Iterator[None]:
    """Let the workers of an executor do the tasks of this block.

    Args:
        store: of all results; for Slurm on a disk that all nodes see.
        where: an executor, as `core.execution.executor.executor` reads it; None: no workers.
        modules: of the user.

    Raises:
        UsageError: no such executor.
    """
    if not where:
        yield
        return
    logs = store.root / "jobs" / "slurm" / uuid.uuid4().hex
    token = WORKERS.set(StoreWorkers(store, executor(where, logs), tuple(modules)).run_tasks)
    try:
        yield
        shutil.rmtree(logs, ignore_errors=True)  # after an error they say why
    finally:
        WORKERS.reset(token)


class _Pickler(pickle.Pickler):
    """Names what the store holds instead of pickling it."""

    def __init__(self, file: io.BytesIO, store: Store) -> None:
        super().__init__(file)
        self.store = store
        self.needed = set[ArtefactKey]()

    def persistent_id(self, thing: Any) -> tuple[Any, ...] | None:
        """The kind of a thing, and where a worker finds its own; None: it is pickled."""
        if isinstance(thing, Store):
            return ("store",)
        if isinstance(thing, Artefact) and thing.path.is_dir():
            self.needed.add(thing.key)
            return ("artefact", thing.key)
        if isinstance(thing, RankingDataset):
            place = mapped_file.place_of(thing)
            if place is not None and (place[0] / manifest.MANIFEST).is_file():
                key = manifest.read_manifest(place[0]).key
                self.needed.add(key)
                return ("part", key, place[1], thing.query_texts)
        if isinstance(thing, Path) and thing.is_relative_to(self.store.root):
            return ("path", str(thing.relative_to(self.store.root)))
        return None


def _pickled(thing: Any, store: Store) -> tuple[bytes, set[ArtefactKey]]:
    file = io.BytesIO()
    pickler = _Pickler(file, store)
    pickler.dump(thing)
    return file.getvalue(), pickler.needed


class _Unpickler(pickle.Unpickler):
    """Opens in a store of the worker what was named."""

    def __init__(self, content: bytes, store: Store) -> None:
        super().__init__(io.BytesIO(content))
        self.store = store

    def persistent_load(self, name: tuple[Any, ...]) -> Any:
        """The thing that `_Pickler.persistent_id` named."""
        kind, *rest = name
        if kind == "store":
            return self.store
        if kind == "path":
            return self.store.root / rest[0]
        artefact = self.store.resolve(f"{rest[0].kind}-{rest[0].digest}")
        if kind == "artefact":
            return artefact
        part = getattr(_fold(artefact.path), rest[1])
        object.__setattr__(part, "query_texts", rest[2])
        return part


@lru_cache(maxsize=8)
def _fold(path: Path) -> Any:
    return mapped_file.open_fold(path)


def work_on_disk(path: str, item: bytes) -> TaskResult:
    """Do a task in a process that sees the store.

    Args:
        path: of the pickled `Common`.
        item: pickled.
    """
    return TaskResult(_error_of(lambda: _function_on_disk(path), item))


@lru_cache(maxsize=1)
def _function_on_disk(path: str) -> tuple[Any, Store]:
    common: Common = pickle.loads(Path(path).read_bytes())  # noqa: S301 (its own user wrote it)
    store = store_at(common.store)
    return _opened(common, store), store


def work_on_copies(common: Common, item: bytes) -> TaskResult:
    """Do a task on a machine that does not see the store.

    Args:
        common: with the files that the task reads.
        item: pickled.
    """
    with tempfile.TemporaryDirectory(prefix=common.copies) as folder:
        given = _unpacked(common)
        beside = store_at(given)
        store = Store(Path(folder), (given, *beside.bundled))
        if (given / named_presets.FOLDER).is_dir():
            shutil.copytree(given / named_presets.FOLDER, store.root / named_presets.FOLDER)
        error = _error_of(lambda: (_opened(common, store), store), item)
        return TaskResult(error, _tar(Path(folder), SENT))


@lru_cache(maxsize=1)
def _folder_of_copies(prefix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=prefix))


def _unpacked(common: Common) -> Path:
    """The folder of the artefacts that came with a function: one for all tasks of this process."""
    folder = _folder_of_copies(common.copies)
    if common.files is not None and not any(folder.iterdir()):
        with tarfile.open(fileobj=io.BytesIO(common.files.tobytes())) as archive:
            archive.extractall(folder, filter="data")
    return folder


def remove_copies(prefix: str) -> None:
    """Remove the artefacts that came with a function to this machine."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _opened(common: Common, store: Store) -> Any:
    """The function of tasks, in the user's folder and with the user's modules."""
    if common.code != code():
        raise UsageError(
            f"{platform.node()} has another version of the program, or of {', '.join(COMPUTES)}: "
            "install the same versions on every machine"
        )
    with suppress(OSError):  # the folder is not on this machine: what is installed is found
        os.chdir(common.folder)
    for module in common.modules:
        import_module_of_user(module)
    named_presets.know(store)
    return _Unpickler(common.function, store).load()


@cache
def code() -> str:
    """A digest of the program and of the versions of what it computes with.

    Builds of one version (`+cpu`, `+cu130`) are alike.
    """
    root = Path(__file__).parent
    versions = [metadata.version(package).partition("+")[0] for package in COMPUTES]
    digest = hashlib.sha256(" ".join(versions).encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _error_of(
    opened: Callable[[], tuple[Callable[[Any], Generator[Progress, None, Any]], Store]], item: bytes
) -> tuple[type[ShuffleproofError], str, dict[str, Any]] | None:
    """Run a task to its end; the error that it raised, in parts that can be pickled."""
    try:
        function, store = opened()
        run_to_end(function(_Unpickler(item, store).load()))
    except ShuffleproofError as error:
        attributes = {name: value for name, value in vars(error).items() if _is_plain(value)}
        return type(error), str(error), attributes
    except Exception as error:  # noqa: BLE001 (told where the task came from)
        traceback.print_exc(file=sys.stderr)
        what = f"{type(error).__name__}: {error}"
        return ShuffleproofError, f"a task failed by a defect ({what}): leave --executor out", {}
    return None


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _packed(store: Store, needed: Iterable[ArtefactKey]) -> bytes:
    """Artefacts and presets of a store as a tar archive, without those that ship with it."""
    own = [f"artefacts/{key}" for key in needed]
    return _tar(store.root, (*own, named_presets.FOLDER))


def _tar(root: Path, names: Iterable[str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in names:
            if (root / name).exists():
                archive.add(root / name, name)
    return file.getvalue()
