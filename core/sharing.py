"""What one question needs, made by several workers: processes here, Ray, Slurm, any scheduler.

Who asks puts the question up in the store (`core.store.board`); each worker runs it like anybody
else and passes over what another worker is at (`core.execution.claims`). What is made lies in the
store under its content key, and who asked then makes the result of it: no scheduler is asked what
is done, a worker that dies leaves nothing but a claim that others take over, and what was made
twice is the same. Workers tell how far they are, and stop at the next report when the question was
taken back.
"""

import hashlib
import json
import logging
import os
import platform
import queue
import shutil
import threading
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import chdir, closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from shuffleproof.core.errors import ArtefactError, ShuffleproofError, UsageError
from shuffleproof.core.execution import claims
from shuffleproof.core.execution.executor import Executor, configured, executor
from shuffleproof.core.execution.jobs import folder_of
from shuffleproof.core.execution.jobs_slots import cores
from shuffleproof.core.execution.this_job import THIS_JOB
from shuffleproof.core.execution.work import Failure
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.progress import Progress
from shuffleproof.core.store import manifest
from shuffleproof.core.store.artefacts import Store, store_at
from shuffleproof.core.store.board import (
    FOLDER,
    LOGS,
    Board,
    ObjectClaims,
    asker,
    board_of,
    folder_seen_by_all,
    name_for,
)
from shuffleproof.core.user_code import import_module_of_user
from shuffleproof.core.words import counted

WORKERS = 8
"""Workers on a cluster where nobody says how many."""

POLL = 0.2
"""Seconds between two looks at what others are at."""

TOLD = 0.5
"""Seconds between two reports of a worker from within an epoch, a tree or the like."""

GRACE = 10.0
"""Seconds in which workers end by themselves when everything is there."""

STOPPING = 1.0
"""Seconds in which they do when the question was taken back."""

ASKED = "units by "
"""What is counted, by an executor's name, until its workers tell more."""

LONG_WAIT = 5.0
"""Seconds after which a worker says what it waits for, if no other tells how far it is."""

AWAITED = "unit that "
"""What is counted then, by who makes it."""

COMPUTES = ("lightgbm", "numba", "numpy", "scipy", "torch")
"""What results are computed with: other versions make other bytes under the same key."""

REMOVE = "Remove it and ask again."
LOG = logging.getLogger("shuffleproof.jobs")
WORKER_LOG = logging.getLogger("shuffleproof.worker")


@dataclass(frozen=True)
class Assignment:
    """What workers do together.

    Attributes:
        kind: of job, as `core.job_kinds.KINDS` has it.
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


class AnswerWithdrawn(BaseException):
    """Nobody wants the answer any more."""


class WorkersOutcome(NamedTuple):
    """What workers came to.

    Attributes:
        failures: why workers ended early, where any did; who asks then does the rest and meets it
            itself.
        units: how many units of work those made that were heard of at the end.
    """

    failures: tuple[str, ...]
    units: int


class OtherCodeError(UsageError):
    """Who asked runs another version of the program."""


class NoAssignmentError(ArtefactError):
    """A file among the assignments that is cut short, or comes from elsewhere."""


def share_work(  # noqa: PLR0913 (what, where, and by whom)
    store: Store,
    kind: str,
    parameters: Mapping[str, Any],
    where: str,
    *,
    workers: int | None = None,
    modules: Sequence[str] = (),
) -> Generator[Progress, None, WorkersOutcome]:
    """Let workers make what a question needs; yields how far they are.

    Args:
        store: on a disk that all workers see, or in an object store.
        kind: of job.
        parameters: of the job, plain JSON.
        where: an executor, as `core.execution.executor.executor` reads it.
        workers: how many; by default the number that `where` says, the cores, or WORKERS.
        modules: of the user's own.

    Raises:
        UsageError: no such executor, it is not installed, or no cluster answers.
    """
    board, asking = board_of(store), claims.Claims(_claims_of(store))
    count, name = workers_of(where, workers), name_for(board, THIS_JOB.get())
    logs = store.root / LOGS / name
    place = executor(where, count, logs)
    item = {"store": address_of(store), "mark": board.mark(), "assignment": name}
    shared = WorkersOutcome((), 0)
    try:
        with closing(asking), asking.working(asker(name)):
            _hand_out(board, kind, parameters, modules, name)
            shared = yield from _heard(_Ear(board, name, where), place, [item] * count)
    finally:
        if not shared.failures:
            shutil.rmtree(logs, ignore_errors=True)
    return shared


def _heard(
    ear: "_Ear", place: Executor, items: Sequence[Mapping[str, Any]]
) -> Generator[Progress, None, WorkersOutcome]:
    """Let workers do an assignment, which is taken back at the end; as `share_work`."""
    board, name = ear.board, ear.name
    outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()

    def watch() -> None:
        try:
            for _, outcome in place.map("shuffleproof.core.sharing:work", items, stop):
                outcomes.put(outcome)
        except BaseException as error:  # noqa: BLE001 (raised again where the reports are read)
            outcomes.put(error)

    watcher, failures = threading.Thread(target=watch, daemon=True), list[str]()
    ended, units, over = 0, 0, float("inf")
    watcher.start()
    try:
        while ended < len(items) and time.monotonic() < over:
            with suppress(queue.Empty):
                outcome = outcomes.get(timeout=POLL)
                if isinstance(outcome, BaseException):
                    raise outcome
                ended += 1
                if isinstance(outcome, Failure):
                    outcome = {"units": 0, "failure": outcome.message}
                units += outcome["units"]
                failures += [outcome["failure"]] if outcome["failure"] else []
            yield from ear.reports()
            if over == float("inf") and board.read(name) is None:  # all of it is there
                over = time.monotonic() + GRACE
        yield from ear.reports()
    finally:
        board.take_back(name)
        watcher.join(STOPPING)
        stop.set()  # who waits in a queue, or does not look
        watcher.join(STOPPING)
        board.take_back(name)  # what was told meanwhile
    return WorkersOutcome(tuple(failures), units)


class _Ear:
    """What workers tell who asked: reports as their own work has them, and lines for the log."""

    def __init__(self, board: Board, name: str, where: str) -> None:
        board.listen(name)
        self.board, self.name = board, name
        self.heard: dict[str, int] = {}
        self.furthest: dict[str, float] = {}
        self.worked_at = 0.0
        self.last = Progress(0, 1, f"{ASKED}{where}")

    def reports(self) -> Generator[Progress, None, None]:
        """Those that lead further in what they count; at least the last one again."""
        for line in self.board.hear(self.name, self.heard):
            try:
                message = json.loads(line)
                if "log" in message:
                    LOG.info("%s", message["log"])
                    continue
                report = Progress(**message)
            except (ValueError, TypeError):  # cut short by a full disk
                continue
            if report.unit.startswith(AWAITED):
                if time.monotonic() - self.worked_at < 2 * LONG_WAIT:
                    continue  # another worker tells more
            else:
                self.worked_at = time.monotonic()
            done = report.done + report.part
            if done > self.furthest.get(report.unit, -1.0):
                self.furthest[report.unit], self.last = done, report
                yield report
        yield replace(self.last, values={})


class _Voice(logging.Handler):
    """What a worker tells who asked; where it cannot, the work itself goes on."""

    def __init__(self, board: Board, name: str) -> None:
        super().__init__(logging.INFO)
        self.board, self.assignment, self.worker = board, name, uuid.uuid4().hex
        self.at = 0.0

    def report(self, progress: Progress) -> None:
        """Tell a report: each that ends a unit with its values, of the others some."""
        now = time.monotonic()
        ends = progress.values and not progress.part
        if ends or now - self.at > TOLD:
            self.at = now
            values = {name: float(value) for name, value in progress.values.items()}
            self._tell(asdict(replace(progress, values=values)))

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a line of the log; who asks in this very process has what it heard there already."""
        if record.name == LOG.name:
            return
        self._tell({"log": f"[{platform.node()} {record.process}] {record.getMessage()}"})

    def _tell(self, what: dict[str, Any]) -> None:
        with suppress(ShuffleproofError, OSError):  # a full disk: what it makes meets that itself
            self.board.tell(self.assignment, self.worker, json.dumps(what))


def afterwards(parameters: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What is left to ask after workers had so long: of a `budget` what they did not use.

    >>> afterwards({"ranker": "mart", "budget": 60.0}, 70.0)
    {'ranker': 'mart', 'budget': 0.0}
    """
    if parameters.get("budget") is None:
        return dict(parameters)
    return {**parameters, "budget": max(0.0, parameters["budget"] - seconds)}


def work(item: Mapping[str, Any]) -> dict[str, Any]:
    """Be one worker: the function that executors call; `units` it did, and why it ended early.

    Args:
        item: `store`, its folder or address; `mark`, what tells it from others; `assignment`, a
            name, or none for all of them; `take`, units at most; `until_empty`, whether to end
            when nothing is left to do; `idle`, after how many seconds without work to end.
    """
    store, only = store_at(item["store"]), item.get("assignment")
    board, idle = board_of(store), item.get("idle")
    worker = _Worker(store, only, claims.Claims(_claims_of(store), item.get("take")))
    if only and not _is_shared(store, board, item):
        raise UsageError(
            f"{store.root} is not the store of who asked, as this machine ({platform.node()}) sees "
            "it: name a folder on a disk that all workers share (--store)"
        )
    try:
        while True:
            for name in board.names():
                if only in {None, name}:
                    worker.do(name)
            left = set(board.names()) - worker.refused
            ends = item.get("until_empty") or worker.failure
            if only or (not left and (ends or (idle is not None and worker.idle > idle))):
                break
            time.sleep(POLL)
    except claims.UnitsDone:
        pass  # it did its share
    finally:
        with suppress(ShuffleproofError, OSError):  # what is left over does no harm
            worker.held.sweep()
        worker.held.close()
    return {
        "units": worker.held.done, "assignments": worker.finished, "failure": worker.failure
    }  # fmt: skip


class _Worker:
    """A worker on its way through the assignments of a store."""

    def __init__(self, store: Store, only: str | None, held: claims.Claims) -> None:
        self.store, self.only, self.held = store, only, held
        self.refused = set[str]()
        self.failure, self.finished = "", 0
        self._worked_at = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since it had something to do."""
        return time.monotonic() - self._worked_at

    def do(self, name: str) -> None:
        """Do what can be done of an assignment, unless it was refused before."""
        if name in self.refused:
            return
        try:
            with manifest.disk_errors(name, self.store.root):
                self.finished += _worked(self.store, name, self.held)
        except OtherCodeError as error:
            self.refused.add(name)
            if self.only or not self.held.is_free(asker(name)):
                self.failure = str(error)
            else:
                WORKER_LOG.warning("left, since nobody waits for it: %s", error)
        except NoAssignmentError as error:
            self.refused.add(name)
            if self.only:
                self.failure = str(error)
            else:
                WORKER_LOG.warning("passed over: %s", error)
        except ShuffleproofError as error:
            self.refused.add(name)
            self.failure = str(error)
        except Exception as error:
            if self.only:
                raise
            LOG.exception("%s met a defect; other work goes on", name)
            self.refused.add(name)
            self.failure = f"{name}: {type(error).__name__}: {error}"
        self._worked_at = time.monotonic()


def _is_shared(store: Store, board: Board, item: Mapping[str, Any]) -> bool:
    """Whether this is the very store of who asked, which may lie elsewhere under the same path."""
    folder = folder_seen_by_all(store)
    there = folder is None or (folder / FOLDER).is_dir()
    return there and board.mark() == item.get("mark", board.mark())


def address_of(store: Store) -> str:
    """What other processes, here or elsewhere, find a store by."""
    return store.remote.url if store.remote else str(store.root.resolve())


def _claims_of(store: Store) -> claims.Place:
    """Where the claims of a store lie."""
    folder = folder_seen_by_all(store)
    if folder is None and store.remote:
        return ObjectClaims(store.remote)
    return claims.Folder((folder or store.root) / claims.FOLDER)


def _worked(store: Store, name: str, held: claims.Claims) -> int:
    """Do what can be done of an assignment; 1 when all of it is there, 0 when it is gone.

    Raises:
        NoAssignmentError: the file says nothing that could be done.
        OtherCodeError: this worker runs another program than who asked.
        ShuffleproofError: as the question itself raises it.
    """
    board = board_of(store)
    text = board.read(name)
    if text is None:
        return 0
    try:
        values = json.loads(text)
        asked = Assignment(**values | {"modules": tuple(values["modules"])})
    except (ValueError, TypeError, KeyError) as error:
        raise NoAssignmentError(f"{FOLDER}/{name}", "is no assignment", REMOVE) from error
    if asked.code != code():
        raise OtherCodeError(
            f"{name} was asked by another version of the program, or of {', '.join(COMPUTES)} "
            f"(digest {asked.code}, here {code()}): install the same versions on every machine"
        )
    if asked.kind not in KINDS:
        reason = f"asks for {asked.kind!r}, no kind of job"
        raise NoAssignmentError(f"{FOLDER}/{name}", reason, REMOVE)
    WORKER_LOG.info("%s: %s", name, asked.kind)
    with chdir(asked.folder if os.access(asked.folder, os.X_OK) else "."):
        for module in asked.modules:
            import_module_of_user(module)
        return _done_together(store, name, held, asked)


def _done_together(store: Store, name: str, held: claims.Claims, asked: Assignment) -> int:
    """Do it beside other workers, again and again until nothing is missing; as `_worked`."""
    board = board_of(store)

    def count() -> None:
        board.count(name)
        WORKER_LOG.info("%s: %s done by all", name, counted(board.units(name), "unit"))

    held.after_unit, held.since = count, time.monotonic()
    token, voice = claims.SHARING.set(held), _Voice(board, name)
    logging.getLogger().addHandler(voice)
    try:
        while True:
            try:
                return _run(store, voice, held, asked)
            except claims.ClaimTakenError as other:
                _wait(voice, held, other.name)
    except AnswerWithdrawn:
        return 0
    finally:
        logging.getLogger().removeHandler(voice)
        claims.SHARING.reset(token)


def _wait(voice: _Voice, held: claims.Claims, unit: str) -> None:
    """Wait until another worker has done a unit, or is gone, or nobody wants it any more."""
    since, told = time.monotonic(), False
    while voice.board.read(voice.assignment) is not None and not held.is_free(unit):
        if not told and time.monotonic() - since > LONG_WAIT:
            owner, told = held.owner(unit), True
            voice.report(Progress(0, 1, f"{AWAITED}{owner} makes"))
            WORKER_LOG.info("waiting for %s, which %s makes", unit, owner)
        time.sleep(POLL)


def _run(store: Store, voice: _Voice, held: claims.Claims, asked: Assignment) -> int:
    board, name = voice.board, voice.assignment
    looked = time.monotonic()
    with (
        closing(KINDS[asked.kind](store, **asked.parameters)) as reports,
        suppress(claims.SharingEnd),
    ):
        for report in reports:
            voice.report(report)
            if time.monotonic() - looked > POLL:
                looked = time.monotonic()
                if board.read(name) is None:
                    raise AnswerWithdrawn
    if board.read(name) is None:
        raise AnswerWithdrawn
    if held.is_free(asker(name)):
        board.take_back(name)
    else:  # for whoever looks for work; who asked hears the last that was told
        board.finish(name)
    return 1


def _hand_out(
    board: Board,
    kind: str,
    parameters: Mapping[str, Any],
    modules: Sequence[str],
    name: str | None = None,
) -> str:
    """Put an assignment up and return its name."""
    assignment = Assignment(kind, dict(parameters), code(), tuple(modules), str(Path.cwd()))
    name = name or name_for(board, THIS_JOB.get())
    board.post(name, json.dumps(asdict(assignment)))
    return name


def workers_of(where: str, workers: int | None = None) -> int:
    """How many workers an executor has where nobody says how many.

    >>> workers_of("processes:3"), workers_of("ray"), workers_of("ray", 2)
    (3, 8, 2)
    """
    if workers is not None:
        return workers
    name, _, more = where.partition(":")
    if name == "processes":
        return int(more) if more.isdecimal() and int(more) else cores()
    return 1 if name == "serial" else WORKERS


def jobs_workers(store: Store) -> int:
    """How many workers the jobs of a store have: 1 where no executor is configured.

    Raises:
        UsageError: what is configured is none.
    """
    place = configured(folder_of(store.root))
    return 1 if place is None else workers_of(place.where, place.workers)


@cache
def code() -> str:
    """A digest of the program's own code and of what it computes with, by version.

    Workers of equal digests make equal things; builds of one version (`+cpu`, `+cu130`) are alike.
    """
    root = Path(__file__).parent
    versions = [metadata.version(package).partition("+")[0] for package in COMPUTES]
    digest = hashlib.sha256(" ".join(versions).encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
