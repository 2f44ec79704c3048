"""A fault in a module that is imported anew, and a record of the lines that a process runs.

Both are asked for by the environment, so that processes started by a test have them too: a
`sitecustomize` on their path calls `start`. Nothing heavy is imported here.
"""

import atexit
import importlib.machinery
import json
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

FAULT, LINES = "SHUFFLEPROOF_FAULT", "SHUFFLEPROOF_LINES"  # a file of JSON, a folder
ROOT = Path(__file__).resolve().parents[3]
CORE = f"{ROOT / 'core'}{os.sep}"
Loader = importlib.machinery.SourceFileLoader


def start() -> None:
    """Does what the environment asks for; called when a process of a test starts."""
    if path := os.environ.get(FAULT):
        fault = json.loads(Path(path).read_text())
        load_instead(fault["path"], fault["source"].encode())
    if folder := os.environ.get(LINES):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        lines = Lines()
        lines.begin()
        place = Path(folder) / f"lines-{os.getpid()}.json"
        atexit.register(lambda: place.write_text(json.dumps([test, lines.taken()])))


@cache
def ours(path: str) -> str:
    """A file of `core`, told from the root and by whatever link it was loaded; "" for others."""
    real = os.path.realpath(path)
    return f"core/{real.removeprefix(CORE)}" if real.startswith(CORE) else ""


def load_instead(path: str, source: bytes) -> None:
    """From now on the module at a path has another source, and no compiled one."""
    file, read, stats = ours(path), Loader.get_data, Loader.path_stats

    def get_data(self: Loader, asked: str) -> bytes:
        return source if ours(asked) == file else read(self, asked)

    def path_stats(self: Loader, asked: str) -> dict[str, float]:
        if ours(asked) == file:
            raise OSError  # no compiled file fits it, and none is written
        return stats(self, asked)

    Loader.get_data, Loader.path_stats = get_data, path_stats


class Loaded:
    """The functions of `core` that run while modules are loaded: an exchange comes too late."""

    def __init__(self) -> None:
        """Nothing is recorded yet."""
        self.codes: set[CodeType] = set()

    def begin(self) -> None:
        """Record calls from now on."""
        sys.settrace(self.called)

    def called(self, frame: FrameType, _event: str, _value: object) -> None:
        """Asked at every call."""
        self.codes.add(frame.f_code)

    def functions(self) -> list[str]:
        """ "file|function" of those that ran; recording ends."""
        sys.settrace(None)
        return sorted({name_of(code) for code in self.codes if ours(code.co_filename)})


def name_of(code: CodeType) -> str:
    """ "file|function" of a code, the function being the outermost one."""
    return f"{ours(code.co_filename)}|{code.co_qualname.partition('.<locals>')[0]}"


class Lines:
    """Which lines of `core` run, by file and outermost function."""

    def __init__(self) -> None:
        """Nothing is recorded yet."""
        self.seen: dict[CodeType, set[int]] = {}
        self.wanted: dict[CodeType, Callable | None] = {}

    def begin(self) -> None:
        """Record this process's threads, those to come too."""
        threading.settrace(self.called)
        sys.settrace(self.called)

    @staticmethod
    def end() -> None:
        """Stop recording."""
        sys.settrace(None)
        threading.settrace(None)

    def called(self, frame: FrameType, _event: str, _value: object) -> Callable | None:
        """Asked at every call: what records the lines of this one."""
        code = frame.f_code
        try:
            return self.wanted[code]
        except KeyError:
            self.wanted[code] = made = self.recorder(code)
            return made

    def recorder(self, code: CodeType) -> Callable | None:
        """What notes the lines of one function of `core`; None for other code."""
        if not ours(code.co_filename) or code.co_name == "<module>":
            return None
        seen = self.seen[code] = set()
        left = {line for _, _, line in code.co_lines() if line}

        def note(frame: FrameType, event: str, value: object) -> Callable | None:
            seen.add(frame.f_lineno)
            if len(seen) >= len(left):
                self.wanted[code] = None  # nothing of it is left to be seen
            return note

        return note

    def taken(self) -> dict[str, list[int]]:
        """ "file|function" → lines, since the last time this was asked; recording starts anew."""
        found: dict[str, set[int]] = {}
        for code, lines in self.seen.items():
            found.setdefault(name_of(code), set()).update(lines)
        self.seen.clear()
        self.wanted.clear()
        return {name: sorted(lines) for name, lines in found.items() if lines}
