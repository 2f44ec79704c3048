"""Claims: which worker is at which unit of work, so that several share what one question needs.

A claim is a file, or an object, that only one process can make. Its owner touches it while it
lives; a claim that nobody touched for a lease, as the observer's own clock counts, is abandoned,
whatever the clocks of the machines say, and so is one whose process on this machine is gone. Claims
save work and decide nothing: the truth is the artefact in the store, and what two workers did has
the same content.
"""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.progress import Progress

LEASE = 60.0
"""Seconds without a touch after which a claim of another machine is abandoned."""

BEAT = 5.0
FOLDER = "claims"

ClaimState = Hashable
"""What tells a claim, and its last touch, from another one of its name."""

GONE: ClaimState = (0, 0)


@runtime_checkable
class Place(Protocol):
    """Where claims lie."""

    def create(self, name: str, text: str) -> bool:
        """Make a claim that holds this text; False where there is one of that name."""

    def names(self) -> list[str]:
        """All claims."""

    def read_claim(self, name: str) -> tuple[ClaimState, str] | None:
        """The state and the text of a claim; None where there is none."""

    def buried(self, name: str, old: ClaimState) -> bool:
        """Remove a claim that is still in this state; False where another worker has it."""

    def touch(self, name: str, text: str) -> None:
        """Note that the worker that wrote this text into it is alive."""

    def given_back(self, name: str, text: str) -> None:
        """Remove it if it still holds this text: given up for abandoned, it may be another's."""


class ClaimTakenError(BaseException):
    """What is needed here is being made by another worker.

    Attributes:
        name: of the claim.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class SharingEnd(BaseException):
    """What can be shared of a study is done; its result is made by who asked."""


class UnitsDone(BaseException):
    """A worker has done as many units as it was to do."""


@dataclass
class Claims:
    """The claims of one worker in one store.

    Attributes:
        at: where all claims of the store lie.
        most: units that it does before it ends; None: any number.
        after_unit: is called after each unit.
        lease: seconds until a claim that nobody touches is abandoned.
        beat: seconds between two touches.
        done: units that it did.
        since: when it began, by the monotonic clock.
    """

    at: Place
    most: int | None = None
    after_unit: Callable[[], None] = lambda: None
    lease: float = LEASE
    beat: float = BEAT
    done: int = 0
    since: float = field(default_factory=time.monotonic)
    _held: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, tuple[ClaimState, float]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _touching: threading.Lock = field(default_factory=threading.Lock)
    _beating: threading.Thread | None = None

    @contextmanager
    def working(self, name: str) -> Iterator[bool]:
        """Hold the claim of a unit while it is made.

        Yields:
            Whether it was another worker's, who gave no sign of life.

        Raises:
            ClaimTakenError: another worker is at it.
            UnitsDone: this worker has done its share.
        """
        if self.most is not None and self.done >= self.most and not self._held:
            raise UnitsDone
        claim, taken_over = self._make_claim(name)
        if not claim:
            raise ClaimTakenError(name)
        self._held[name] = claim
        self._start_beating()
        try:
            yield taken_over
        finally:
            with self._touching:  # a touch on its way would write it anew
                self.at.given_back(name, self._held.pop(name))
        if not self._held:
            self.done += 1
            self.after_unit()

    def is_free(self, name: str) -> bool:
        """Whether nobody is at a unit (any more)."""
        return self._abandoned_claim(name) is not None

    def owner(self, name: str) -> str:
        """Who is at a unit, in words."""
        claim = self.at.read_claim(name)
        try:
            owner = json.loads(claim[1] if claim else "")
            return f"process {int(owner['process'])} on {str(owner['place']).split()[0]}"
        except (ValueError, KeyError, TypeError, IndexError):  # it has just been given back
            return "another worker"

    def sweep(self) -> None:
        """Remove abandoned claims: a worker that died when its unit was stored left one behind.

        Those of other machines stay until a lease is over.
        """
        for name in self.at.names():
            abandoned = self._abandoned_claim(name)
            if abandoned not in {None, GONE}:
                self.at.buried(name, abandoned)

    def close(self) -> None:
        """Stop touching."""
        self._ended.set()
        if self._beating:
            self._beating.join()

    def _make_claim(self, name: str) -> tuple[str, bool]:
        """Make a claim: its text, empty where another worker has it; whether one was abandoned."""
        claim = json.dumps({"place": place(), "process": os.getpid(), "id": uuid.uuid4().hex})
        taken_over = False
        while not self.at.create(name, claim):
            old = self._abandoned_claim(name)
            if old is None or not (old == GONE or self.at.buried(name, old)):
                return "", False
            taken_over = taken_over or old != GONE
        return claim, taken_over

    def _abandoned_claim(self, name: str) -> ClaimState | None:
        """The state of an abandoned claim, GONE where there is none; None: somebody holds it."""
        claim = self.at.read_claim(name)
        if claim is None:
            return GONE
        version, text = claim
        with suppress(ValueError, KeyError, TypeError):  # it is being written, or was cut short
            owner = json.loads(text)
            if owner["place"] == place() and not _is_alive(int(owner["process"])):
                return version
        before, since = self._seen.get(name, (None, 0.0))
        if before != version:
            self._seen[name] = (version, time.monotonic())
            return None
        return version if time.monotonic() - since > self.lease else None

    def _start_beating(self) -> None:
        if self._beating is None:
            self._beating = threading.Thread(target=self._touch_claims, daemon=True)
            self._beating.start()

    def _touch_claims(self) -> None:
        while not self._ended.wait(self.beat):
            for name, text in list(self._held.items()):
                # The store may not answer.
                with self._touching, suppress(OSError, ArtefactError):
                    if self._held.get(name) == text:  # it is not given back meanwhile
                        self.at.touch(name, text)


SHARING: ContextVar[Claims | None] = ContextVar("sharing", default=None)
"""The claims of this worker; None: nothing is shared, and locks alone keep processes apart."""


STOPPED_OWNER = 5.0
"""Seconds that who takes over a unit waits for the lock on it of an owner that may never wake."""


@contextmanager
def claim_unit(name: str) -> Iterator[float]:
    """Hold the claim of a unit, where work is shared; else nothing.

    Yields:
        Seconds to wait for the lock on what is made.

    Raises:
        ClaimTakenError, UnitsDone: see `Claims.working`.
    """
    claims = SHARING.get()
    if claims is None:
        yield float("inf")
        return
    with claims.working(name) as taken_over:
        yield STOPPED_OWNER if taken_over else float("inf")


def wait_for(name: str) -> None:
    """Raise if another worker is at a unit.

    Raises:
        ClaimTakenError: another worker is.
    """
    claims = SHARING.get()
    if claims is not None and not claims.is_free(name):
        raise ClaimTakenError(name)


def began() -> float:
    """When this worker began, by the monotonic clock; where nothing is shared, now."""
    claims = SHARING.get()
    return time.monotonic() if claims is None else claims.since


def values_of(
    works: Iterable[Generator[Progress, None, Any]],
) -> Generator[Progress, None, list[Any]]:
    """The values of works that do not need each other, in order.

    Those that another worker is at are passed over; the error is raised after the others.

    Raises:
        ClaimTakenError: another worker is at one of them.
    """
    results, last_taken = list[Any](), None
    for work in works:
        try:
            results.append((yield from work))
        except ClaimTakenError as error:
            last_taken = error
    if last_taken is not None:
        raise last_taken
    return results


@cache
def place() -> str:
    """This machine since it was started, as far as process numbers mean the same."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return " ".join(parts)


@dataclass(frozen=True)
class Folder:
    """Claims as files, for workers that see one disk.

    Attributes:
        path: of the folder.
    """

    path: Path

    def create(self, name: str, text: str) -> bool:
        """Make a file that nobody else can have made."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(self.path / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:  # a full disk: a claim that says nothing would stand for a lease
            (self.path / name).unlink(missing_ok=True)
            raise
        return True

    def names(self) -> list[str]:
        """The names of its files."""
        return sorted(path.name for path in self.path.glob("*"))

    def read_claim(self, name: str) -> tuple[ClaimState, str] | None:
        """Which file it is and when it was touched last."""
        path = self.path / name
        try:
            return _file_version(path), path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def buried(self, name: str, old: ClaimState) -> bool:
        """Rename it, look which one it was, and put a fresh one back."""
        path = self.path / name
        grave = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        try:
            path.rename(grave)
        except FileNotFoundError:
            return True
        fresh = _file_version(grave) != old
        if fresh:
            with suppress(FileExistsError):  # a third worker has been quicker still
                os.link(grave, path)
        grave.unlink()
        return not fresh

    def touch(self, name: str, text: str) -> None:
        """Set its time, whoever holds it."""
        del text
        os.utime(self.path / name)

    def given_back(self, name: str, text: str) -> None:
        """Remove the file where it says what its owner wrote."""
        claim = self.read_claim(name)
        if claim and claim[1] == text:
            (self.path / name).unlink(missing_ok=True)


def _file_version(path: Path) -> ClaimState:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
