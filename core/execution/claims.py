"""Claims: which worker is at which unit of work, so that several share what one question needs.

A claim is a file that only one process can make. Its owner touches it while it lives; a claim that
nobody touched for a lease, as the observer's own clock counts, is abandoned, whatever the clocks of
the machines say, and so is one whose process on this machine is gone. Claims save work and decide
nothing: the truth is the artefact in the store, and what two workers did has the same content.
"""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from shuffleproof.core.progress import Progress

LEASE = 60.0
"""Seconds without a touch after which a claim of another machine is abandoned."""

BEAT = 5.0
FOLDER = "claims"

Seen = tuple[int, int]
"""A claim's file and when it was last touched: what tells it from another of its name."""

GONE: Seen = (0, 0)


class Taken(BaseException):
    """What is needed here is being made by another worker.

    Attributes:
        name: of the claim.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Shared(BaseException):
    """What can be shared of a study is done; its result is made by who asked."""


class Enough(BaseException):
    """A worker has done as many units as it was to do."""


@dataclass
class Claims:
    """The claims of one worker in one store.

    Attributes:
        folder: of all claims of the store.
        most: units that it does before it ends; None: any number.
        told: is called after each unit.
        lease: seconds until a claim that nobody touches is abandoned.
        beat: seconds between two touches.
        done: units that it did.
    """

    folder: Path
    most: int | None = None
    told: Callable[[], None] = lambda: None
    lease: float = LEASE
    beat: float = BEAT
    done: int = 0
    _held: list[Path] = field(default_factory=list)
    _seen: dict[str, tuple[Seen, float]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _beating: threading.Thread | None = None

    @contextmanager
    def working(self, name: str) -> Iterator[None]:
        """Hold the claim of a unit while it is made.

        Raises:
            Taken: another worker is at it.
            Enough: this worker has done its share.
        """
        if self.most is not None and self.done >= self.most and not self._held:
            raise Enough
        path = self.folder / name
        own = self._made(path)
        if not own:
            raise Taken(name)
        self._held.append(path)
        self._beat()
        try:
            yield
        finally:
            self._held.remove(path)
            if _text_of(path) == own:  # else it was held to be abandoned, and is another's by now
                path.unlink(missing_ok=True)
        if not self._held:
            self.done += 1
            self.told()

    def is_free(self, name: str) -> bool:
        """Whether nobody is at a unit (any more)."""
        path = self.folder / name
        return not path.exists() or self._abandoned(path) is not None

    def close(self) -> None:
        """Stop touching."""
        self._ended.set()
        if self._beating:
            self._beating.join()

    def _made(self, path: Path) -> str:
        """What the claim says that was made; empty: another worker has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            except FileExistsError:
                old = self._abandoned(path)
                if old is None or not _buried(path, old):
                    return ""
                continue
            own = json.dumps({"place": place(), "process": os.getpid(), "id": uuid.uuid4().hex})
            with os.fdopen(made, "w", encoding="utf-8") as file:
                file.write(own)
            return own

    def _abandoned(self, path: Path) -> Seen | None:
        """Which file an abandoned claim is, GONE where there is none; None: somebody holds it."""
        try:
            seen, text = _seen_of(path), path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return GONE
        with suppress(ValueError, KeyError, TypeError):  # it is being written, or was cut short
            owner = json.loads(text)
            if owner["place"] == place() and not _lives(int(owner["process"])):
                return seen
        before, since = self._seen.get(path.name, (None, 0.0))
        if before != seen:
            self._seen[path.name] = (seen, time.monotonic())
            return None
        return seen if time.monotonic() - since > self.lease else None

    def _beat(self) -> None:
        if self._beating is None:
            self._beating = threading.Thread(target=self._touch, daemon=True)
            self._beating.start()

    def _touch(self) -> None:
        while not self._ended.wait(self.beat):
            for path in list(self._held):
                with suppress(OSError):  # it has just been given back, or the disk does not answer
                    os.utime(path)


SHARING: ContextVar[Claims | None] = ContextVar("sharing", default=None)
"""The claims of this worker; None: nothing is shared, and locks alone keep processes apart."""


@contextmanager
def working(name: str) -> Iterator[None]:
    """Hold the claim of a unit, where work is shared; else nothing.

    Raises:
        Taken, Enough: see `Claims.working`.
    """
    claims = SHARING.get()
    if claims is None:
        yield
        return
    with claims.working(name):
        yield


def each(works: Iterable[Generator[Progress, None, Any]]) -> Generator[Progress, None, list[Any]]:
    """The values of works that do not need each other, in order.

    Those that another worker is at are passed over, and told when the others are done.

    Raises:
        Taken: another worker is at one of them.
    """
    found, taken = list[Any](), None
    for work in works:
        try:
            found.append((yield from work))
        except Taken as other:
            taken = other
    if taken is not None:
        raise taken
    return found


@cache
def place() -> str:
    """This machine since it was started, as far as process numbers mean the same."""
    told = [platform.node()]
    with suppress(OSError):
        told.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        told.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return " ".join(told)


def _text_of(path: Path) -> str | None:
    """What a claim says; None where it is gone."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _seen_of(path: Path) -> Seen:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _buried(path: Path, old: Seen) -> bool:
    """Take an abandoned claim away, unless it is another's by now, which stays.

    Args:
        path: of the claim.
        old: the file that was held to be abandoned, or GONE.
    """
    if old == GONE:
        return True
    grave = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        path.rename(grave)
    except FileNotFoundError:
        return True
    fresh = _seen_of(grave) != old
    if fresh:
        with suppress(FileExistsError):  # a third worker has been quicker still
            os.link(grave, path)
    grave.unlink()
    return not fresh


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
