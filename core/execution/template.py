"""Processes forked by a template, which has started Python and loaded the worker's program.

A template runs no foreign code before it forks: a process that it forks imports a user's module
itself, as a new one would. Only the seed of Python's string hashes is the same in all of them.
"""

import json
import math
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
        program: its module, which gets `maker` and the number of a socket.
        maker: `module:name` of what makes the servers of the forked processes.
        environment: of all of them.

    Attributes:
        close: ends it and all that it has forked; `close.alive` is False afterwards.
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

    def ask(self, request: Any, files: Sequence[int] = ()) -> Any:
        """Id of a new process, or the status of one.

        Args:
            request: limits and folder of a new process, or the id of one.
            files: connection, file of faults and stderr of a new process.

        Raises:
            OSError: the template has died; it is closed then, as after an interrupt.
        """
        with self._lock:
            try:
                send_fds(self._socket, [json.dumps(request).encode()], files)
                answer = self._socket.recv(100)
            except BaseException:  # Ctrl-C: the late answer must not be read by another call
                self.close()
                raise
        if not answer:
            self.close()
            raise ConnectionResetError
        return json.loads(answer)


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
            except OSError:  # a template that ends kills all that it has forked
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float = math.inf) -> int:
        """Exit status, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        end = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("forked process", timeout)
            time.sleep(LOOK)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal while it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


_lock = threading.Lock()
_last: "tuple[Any, Template] | None" = None


def fork(program: str, maker: str, request: Sequence[Any], files: Sequence[int]) -> ForkedProcess:
    """A new process, of the last template as long as the environment is the same.

    Args:
        program: as for `Template`.
        maker: as for `Template`.
        request: as for `Template.ask`.
        files: as for `Template.ask`.
    """
    global _last  # noqa: PLW0603 (one at a time)
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    known_by = (os.getpid(), program, maker, environment)
    with _lock:
        if _last is None or _last[0] != known_by or not _last[1].close.alive:
            _last = known_by, Template(program, maker, environment)
        template = _last[1]
    return ForkedProcess(template, template.ask([*request], files))


def _end(control: socket, process: "subprocess.Popen[bytes]") -> None:
    """End a template: once its connection is closed, it kills all that it has forked."""
    control.close()
    process.wait()
