"""What one question needs, made by several workers: processes here, Ray, Slurm, any scheduler.

Who asks puts the question into the store's folder `shared`; each worker runs it like anybody else
and passes over what another worker is at (`core.execution.claims`). What is made lies in the store
under its content key, and who asked then makes the result of it: no scheduler is asked what is
done, a worker that dies leaves nothing but a claim that others take over, and what was made twice
is the same. Workers stop at the next report when the question was taken back.
"""

import hashlib
import json
import os
import platform
import queue
import sys
import threading
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ArtefactError, ShuffleproofError, UsageError
from shuffleproof.core.execution import claims
from shuffleproof.core.execution.executor import executor
from shuffleproof.core.execution.jobs_slots import cores
from shuffleproof.core.execution.work import Failure
from shuffleproof.core.jobs import KINDS
from shuffleproof.core.progress import Progress
from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.user_code import imported

FOLDER = "shared"
WORKERS = 8
"""Workers on a cluster where nobody says how many."""

POLL = 0.2
"""Seconds between two looks at what others are at."""


@dataclass(frozen=True)
class Assignment:
    """What workers do together.

    Attributes:
        kind: of job, as `core.jobs.KINDS` has it.
        parameters: of the job, plain JSON.
        code: digest of the program that asked; workers of another are refused.
        modules: of the user's own, imported by each worker.
        folder: from which modules and files are named.
    """

    kind: str
    parameters: Mapping[str, Any]
    code: str
    modules: tuple[str, ...]
    folder: str


class TakenBack(BaseException):
    """Nobody wants the answer any more."""


def shared(  # noqa: PLR0913 (what, where, and by whom)
    store: Store,
    kind: str,
    parameters: Mapping[str, Any],
    where: str,
    *,
    workers: int | None = None,
    modules: Sequence[str] = (),
) -> Generator[Progress, None, tuple[str, ...]]:
    """Let workers make what a question needs; yields how many units there are so far.

    Args:
        store: on a disk that all workers see.
        kind: of job.
        parameters: of the job, plain JSON.
        where: an executor, as `core.execution.executor.executor` reads it.
        workers: how many; by default the number that `where` says, the cores, or WORKERS.
        modules: of the user's own.

    Returns:
        Why workers ended early, where any did; who asks then does the rest and meets it itself.

    Raises:
        UsageError: no such executor, or it is not installed.
    """
    folder = store.root / FOLDER
    count = workers or _workers(where)
    place = executor(where, count, folder / "slurm")
    path = _hand_out(store, kind, parameters, modules)
    item = {"store": str(store.root.resolve()), "assignment": path.name}
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def watch() -> None:
        try:
            for _, outcome in place.map("shuffleproof.core.sharing:work", [item] * count):
                found.put(outcome)
        except BaseException as error:  # noqa: BLE001 (raised again where the reports are read)
            found.put(error)

    watcher, failures = threading.Thread(target=watch, daemon=True), list[str]()
    ended = done = 0
    watcher.start()
    try:
        while ended < count:
            with suppress(queue.Empty):
                outcome = found.get(timeout=POLL)
                if isinstance(outcome, BaseException):
                    raise outcome
                ended += 1
                told = outcome.message if isinstance(outcome, Failure) else outcome["failure"]
                failures += [told] if told else []
            done = max(done, _units(path))
            yield Progress(done, done + 1, f"units by {where}")
    finally:
        _take_back(path)
    return tuple(failures)


def work(item: Mapping[str, Any]) -> dict[str, Any]:
    """Be one worker: the function that executors call; `units` it did, and why it ended early.

    Args:
        item: `store`, the folder; `assignment`, a file's name there, or none for all of them;
            `take`, units at most; `until_empty`, whether to end when nothing is left to do.
    """
    bundled = default_store().bundled
    store, only = Store(Path(item["store"]), bundled), item.get("assignment")
    held = claims.Claims(store.root / claims.FOLDER, item.get("take"))
    failure, finished, refused = "", 0, set[str]()
    if only and not (store.root / FOLDER).is_dir():
        raise UsageError(
            f"{store.root} is not the store of who asked, as this machine ({platform.node()}) sees "
            "it: name a folder on a disk that all workers share (--store)"
        )
    try:
        while True:
            for path in assignments(store):
                if only in {None, path.name} and path.name not in refused:
                    try:
                        finished += _worked(store, path, held)
                    except ShuffleproofError as error:
                        failure = str(error)
                        refused.add(path.name)
            left = {path.name for path in assignments(store)} - refused
            if only or (not left and (item.get("until_empty") or refused)):
                break
            time.sleep(POLL)
    except claims.Enough:
        pass  # it did its share
    finally:
        held.close()
    return {"units": held.done, "assignments": finished, "failure": failure}


def assignments(store: Store) -> list[Path]:
    """What is to be done together in a store, the oldest first."""
    return sorted((store.root / FOLDER).glob("*.json"), key=lambda path: path.name)


def _worked(store: Store, path: Path, held: claims.Claims) -> int:
    """Do what can be done of an assignment; 1 when all of it is there, 0 when it is gone.

    Raises:
        UsageError: this worker runs another program than who asked.
        ShuffleproofError: as the question itself raises it.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        asked = Assignment(**values | {"modules": tuple(values["modules"])})
    except FileNotFoundError:
        return 0
    except (ValueError, TypeError, KeyError) as error:
        remedy = "Remove the file and ask again."
        raise ArtefactError(str(path), "is no assignment", remedy) from error
    if asked.code != code():
        raise UsageError(
            f"{path.name} was asked by another version of the program (its code has digest "
            f"{asked.code}, this one {code()}): install the same version on every machine"
        )
    sys.path[:0] = [asked.folder] if asked.folder not in sys.path else []
    for module in asked.modules:
        imported(module)
    held.told = lambda: _count(path)
    token = claims.SHARING.set(held)
    try:
        while True:
            try:
                return _run(store, path, asked)
            except claims.Taken as other:
                while path.exists() and not held.is_free(other.name):
                    time.sleep(POLL)
    except TakenBack:
        return 0
    finally:
        claims.SHARING.reset(token)


def _run(store: Store, path: Path, asked: Assignment) -> int:
    looked = time.monotonic()
    with closing(KINDS[asked.kind](store, **asked.parameters)) as reports, suppress(claims.Shared):
        for _ in reports:
            if time.monotonic() - looked > POLL:
                looked = time.monotonic()
                if not path.exists():
                    raise TakenBack
    if not path.exists():
        raise TakenBack
    _take_back(path)  # for whoever looks for work; who asked waits for its workers
    return 1


def _hand_out(
    store: Store, kind: str, parameters: Mapping[str, Any], modules: Sequence[str]
) -> Path:
    """Write an assignment; whole or not there."""
    asked = Assignment(kind, dict(parameters), code(), tuple(modules), str(Path.cwd()))
    with manifest.explained(kind, store.root):
        private.make(store.root)
        folder = store.root / FOLDER
        folder.mkdir(exist_ok=True)
        path = folder / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(asked)), encoding="utf-8")
        fresh.replace(path)
    return path


def _take_back(path: Path) -> None:
    for file in (path, path.with_suffix(".units")):
        file.unlink(missing_ok=True)


def _count(path: Path) -> None:
    """One unit more: a byte at the end of a file, which is written whole."""
    if path.exists():
        counter = os.open(path.with_suffix(".units"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(counter, b".")
        os.close(counter)


def _units(path: Path) -> int:
    try:
        return path.with_suffix(".units").stat().st_size
    except FileNotFoundError:
        return 0


def _workers(where: str) -> int:
    name, _, more = where.partition(":")
    if name == "processes":
        return int(more) if more.isdecimal() and int(more) else cores()
    return 1 if name == "serial" else WORKERS


@cache
def code() -> str:
    """A digest of the program's own code: workers of equal digests file equal things alike."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
