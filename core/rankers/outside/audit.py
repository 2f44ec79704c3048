"""The files, databases, hosts and programs that a function's process touches, by an audit hook.

Such a place may keep data from call to call, also for processes that start later. Libraries that
open files in C are not seen.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITTEN, READ, LATER, DATABASES, HOSTS, PROGRAMS = KINDS = (
    "written", "read", "read_later", "databases", "hosts", "programs",
)  # fmt: skip
"""Files that were written; files that the first call read, and those that later calls read and the
first did not; databases, hosts, and programs that calls ran."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ONE_PATH, TWO_PATHS = (
    {"os.remove", "os.mkdir", "os.truncate"},
    {"os.rename", "os.link", "os.symlink"},
)
PROGRAM_EVENTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
SYSTEM = ("/proc/", "/dev/", "/sys/", "/etc/")
CODE = (".py", ".pyc", ".pyi", ".so", ".pth")

Places = Mapping[str, Iterable[str]]


class Audit:
    """Record of what this process touches.

    Attributes:
        calls: that were begun.
        calling: a call is under way. Only calls record reading: an import reads code.
    """

    def __init__(self) -> None:
        self.calls, self.calling = 0, False
        self._found: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
        paths = sysconfig.get_paths()
        installed = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        self._here = f"{Path.cwd()}/"
        self._left_out = (*SYSTEM, *(f"{path}/" for path in installed))

    def watch(self) -> None:
        """Start recording; Python has no way to end it."""
        sys.addaudithook(self._record)

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call of the function."""
        self.calls, self.calling = self.calls + 1, True
        try:
            yield
        finally:
            self.calling = False

    def plain(self) -> dict[str, list[str]]:
        """Places by KINDS, as JSON values."""
        return {kind: [*places] for kind, places in self._found.items()}

    def _record(self, event: str, details: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = details
            if isinstance(flags, int) and flags & WRITING:
                self._file(WRITTEN, path)
                if flags & os.O_RDWR and not flags & os.O_TRUNC:  # it may be read by this handle
                    self._file(READ, path)
            elif self.calling:
                self._file(READ if self.calls == 1 else LATER, path)
        elif event in ONE_PATH:
            self._file(WRITTEN, details[0])
        elif event in TWO_PATHS:
            self._file(WRITTEN, details[1])
        elif event == "sqlite3.connect":
            read_only = isinstance(details[0], str) and "mode=ro" in details[0]
            self._file(READ if read_only else DATABASES, details[0])
        elif event in {"socket.connect", "socket.sendto"}:
            self._found[HOSTS].setdefault(_host(details[1]))
        elif event in PROGRAM_EVENTS and self.calling:
            self._found[PROGRAMS].setdefault(str(details[0] or details[1]))

    def _file(self, kind: str, path: Any) -> None:
        if path is None or isinstance(path, int):  # a file that is open already
            return
        name = os.path.realpath(os.fsdecode(path))
        is_code = name.endswith(CODE) or "__pycache__" in name
        shown = name.removeprefix(self._here)
        is_known = kind == LATER and shown in self._found[READ]
        if not (is_code or is_known or name.startswith(self._left_out) or ":memory:" in name):
            self._found[kind].setdefault(shown)


def _host(address: Any) -> str:
    """A host with its port, or the path of a local socket."""
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return os.fsdecode(address) if isinstance(address, str | bytes) else str(address)


def join_places(several: Iterable[Places]) -> dict[str, list[str]]:
    """Places that several processes touched.

    >>> join_places([{"read": ["a"]}, {"read": ["b", "a"], "hosts": ["h:1"]}])["read"]
    ['a', 'b']
    """
    every = [*several]
    return {
        kind: [*dict.fromkeys(place for places in every for place in places.get(kind, ()))]
        for kind in KINDS
    }


def memory(places: Places) -> dict[str, list[str]]:
    """Places that may keep data from call to call: databases, hosts, programs and some files.

    A file counts that was both written and read, or that later calls alone read, which depends on
    their input; the first call may load weights.

    >>> memory({"written": ["log", "cache"], "read": ["cache", "weights"], "hosts": ["h:1"]})
    {'files': ['cache'], 'hosts': ['h:1']}
    """
    read = {*places.get(READ, ()), *places.get(LATER, ())}
    files = sorted({*places.get(LATER, ()), *(read & {*places.get(WRITTEN, ())})})
    by_kind = {"files": files} | {
        kind: [*places.get(kind, ())] for kind in (DATABASES, HOSTS, PROGRAMS)
    }
    return {kind: names for kind, names in by_kind.items() if names}
