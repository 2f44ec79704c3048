"""Processes forked by a template, which has started Python and loaded the worker's program.

A template runs no foreign code before it forks: a process that it forks imports a user's module
itself, as a new one would. Only the seed of Python's string hashes is the same in all of them.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from socket import AF_UNIX, SOCK_SEQPACKET, send_fds, socket, socketpair
from typing import Any

SUPPORTED = sys.platform == "linux"
"""Elsewhere a fork after NumPy was loaded is not safe."""

LOOK = 0.002
"""Seconds between two looks at a process that is to end."""


class Template:
    """The process that forks others.

    Args:
        program: its module; it is started with `maker` and the number of a socket.
        maker: `module:name` of what makes the servers of the forked processes.
        environment: of all of them.
    """

    def __init__(self, program: str, maker: str, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._socket, other = socketpair(AF_UNIX, SOCK_SEQPACKET)
        with other:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", program, maker, str(other.fileno())],
                stdin=subprocess.DEVNULL, pass_fds=[other.fileno()],
                env=environment, start_new_session=True,
            )  # fmt: skip
        self.close = weakref.finalize(self, _end, self._socket, process)

    @property
    def alive(self) -> bool:
        """False after it was closed or has died."""
        return self.close.alive

    def fork(self, arguments: Sequence[Any], files: Sequence[int]) -> "ForkedProcess":
        """A new process.

        Args:
            arguments: of the worker's program, and its folder.
            files: its connection, the file of its faults and its stderr.

        Raises:
            OSError: the template has ended.
        """
        return ForkedProcess(self, self.ask([*arguments], files))

    def ask(self, request: Any, files: Sequence[int] = ()) -> Any:
        """The answer to a request; a template that was interrupted or has died is closed."""
        with self._lock:
            try:
                send_fds(self._socket, [json.dumps(request).encode()], files)
                answer = json.loads(self._socket.recv(100) or b"{}")
            except BaseException:  # Ctrl-C: the answer to come is none to the next request
                self.close()
                raise
        if answer == {}:
            self.close()
            raise ConnectionResetError
        return answer


class ForkedProcess:
    """A forked process, with the part of `subprocess.Popen` that workers need."""

    def __init__(self, template: Template, pid: int) -> None:
        self._template, self.pid = template, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Exit status; None while it runs."""
        if self.returncode is None:
            try:
                self.returncode = self._template.ask(self.pid)
            except OSError:  # a template that ends kills what it has forked
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("forked process", timeout or 0.0)
            time.sleep(LOOK)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal while it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


_lock = threading.Lock()
_last: "tuple[Any, Template] | None" = None


def template_of(program: str, maker: str) -> Template:
    """The template for this environment; the last one, as long as the environment is the same."""
    global _last  # noqa: PLW0603 (one at a time)
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    known_by = (os.getpid(), program, maker, environment)
    with _lock:
        if _last is None or _last[0] != known_by or not _last[1].alive:
            _last = known_by, Template(program, maker, environment)
        return _last[1]


def _end(control: socket, process: "subprocess.Popen[bytes]") -> None:
    """Close the connection: the template then kills what it has forked, and ends."""
    control.close()
    process.wait()
