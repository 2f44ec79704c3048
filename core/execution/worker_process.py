"""A disposable process for foreign code and foreign files: started, asked, limited, ended.

Whatever happens there is a `WorkerError`: an exception, a crash, an end, an answer that is late.
"""

import os
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socketpair
from struct import pack as pack_struct
from tempfile import TemporaryFile
from typing import Any

from shuffleproof.core.execution import template
from shuffleproof.core.execution.machine import THREADS
from shuffleproof.core.execution.work import LONGEST_DETAILS
from shuffleproof.core.execution.worker import COUNTER, FAILED, METHOD, pack, unpack
from shuffleproof.core.user_code import place

PROGRAM = "shuffleproof.core.execution.worker"
LAST_BREATH = 10.0  # seconds for a process to end that has closed its connection
WORDING = 0.3  # seconds for a process that hangs to say where
LINE = re.compile(r'File "(.+)", line (\d+) in (.+)')


Process = subprocess.Popen[bytes] | template.ForkedProcess

RAISED, SAID, LATE, DIED = "raised", "said", "late", "died"
"""Kinds of errors: an exception, one that is ready for people, no answer in time, an end."""


class WorkerError(Exception):
    """A request without an answer.

    Attributes:
        finding: what happened.
        remedy: what to do; empty where only the asker knows.
        details: the traceback, or the end of what the process wrote to stderr.
        kind: RAISED, SAID, LATE or DIED.
        signal: that ended the process; empty where none did.
    """

    def __init__(
        self, finding: str, remedy: str, details: str, kind: str, signal: str = ""
    ) -> None:
        self.finding, self.remedy, self.details = finding, remedy, details
        self.kind, self.signal = kind, signal
        super().__init__(f"{finding}. {remedy}")


class WorkerProcess:
    """One process, which calls the methods of a server.

    Files of the folder that it is started in do not take the place of modules (`-P`).

    Args:
        maker: `module:name` of what makes the server.
        seconds: limit of every answer, the start included.
        threads: numeric threads; None: as many as this process has.
        memory: limit in bytes; 0: none.
        quiet: what it writes to stderr goes to a nameless file instead of the terminal.
        forked: fork it from a template, where the system allows that.

    Attributes:
        process: the process itself.
    """

    def __init__(  # noqa: PLR0913 (what serves, its limits, and how it is started)
        self,
        maker: str,
        seconds: float,
        *,
        threads: int | None = None,
        memory: int = 0,
        quiet: bool = False,
        forked: bool = False,
    ) -> None:
        self.seconds, self._late = seconds, False
        self._faults = TemporaryFile(buffering=0)  # noqa: SIM115 (closed by _end_all)
        self._faults.write(bytes(COUNTER))
        self._socket, process_end = socketpair()
        self._connection = Connection(os.dup(self._socket.fileno()))
        files = (process_end.fileno(), self._faults.fileno())
        limits = (seconds + LAST_BREATH, memory)
        numeric = {} if threads is None else dict.fromkeys(THREADS, str(threads))
        with process_end:
            if forked and template.SUPPORTED:
                request, errors = (*limits, str(Path.cwd())), files[1] if quiet else 2
                self.process: Process = template.fork(PROGRAM, maker, request, (*files, errors))
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", PROGRAM, maker, *map(str, (*limits, *files))],
                    stdin=subprocess.DEVNULL, stderr=self._faults if quiet else None,
                    pass_fds=files, env=os.environ | {"OMP_WAIT_POLICY": "passive"} | numeric,
                    start_new_session=True,
                )  # fmt: skip
        files_here = (self._connection, self._socket, self._faults)
        self._end = weakref.finalize(self, _end_all, self.process, files_here)

    @property
    def counter(self) -> int:
        """Number of calls of foreign code that the last request has done."""
        return int.from_bytes(os.pread(self._faults.fileno(), COUNTER, 0), sys.byteorder)

    @property
    def alive(self) -> bool:
        """True while it answers."""
        return not self._late and self.process.poll() is None

    def ask(self, method: str, limit: float | None = None, **request: Any) -> dict[str, Any]:
        """The answer of a method of the server.

        Args:
            method: its name.
            limit: seconds; by default those of the process.
            request: JSON values and arrays.

        Raises:
            WorkerError: it failed, crashed, ended or is late; a late process is killed.
        """
        seconds = self.seconds if limit is None else limit
        self._set_limit(seconds)
        os.pwrite(self._faults.fileno(), bytes(COUNTER), 0)
        try:
            self._connection.send_bytes(pack({METHOD: method, **request}))
            answer = unpack(self._connection.recv_bytes())
        except BlockingIOError:  # the socket's own time limit
            self._late = True
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGUSR1)  # it says where it is
                time.sleep(WORDING)
            self.kill()
            raise self._death(seconds) from None
        except (EOFError, OSError):
            raise self._death(seconds) from None
        except BaseException:  # Ctrl-C: a late answer must not be read as that of the next request
            self.kill()
            raise
        if failed := answer.pop(FAILED):
            finding, remedy, details, said = failed
            raise WorkerError(finding, remedy, details, SAID if said else RAISED)
        return answer

    def kill(self) -> None:
        """End it and all that it started, also in the middle of a request of another thread."""
        _kill(self.process)

    def close(self) -> None:
        """End it, and close its files."""
        self._end()

    def _set_limit(self, seconds: float) -> None:
        """Limit what is sent and received; 0 seconds and microseconds would be no limit."""
        time_value = pack_struct("ll", *divmod(max(round(seconds * 1e6), 1), 1_000_000))
        for limit in (SO_SNDTIMEO, SO_RCVTIMEO):
            self._socket.setsockopt(SOL_SOCKET, limit, time_value)

    def _death(self, seconds: float) -> WorkerError:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_BREATH)
        self.kill()
        code = self.process.wait()
        self._faults.seek(COUNTER)
        text = self._faults.read().decode(errors="replace")
        lines = LINE.findall(text)
        location = place([(file, int(line), name) for file, line, name in reversed(lines)])
        line, details = f" ({location})" if location else "", text[-LONGEST_DETAILS:]
        if self._late:
            finding = f"it has not answered within {seconds:g} s{line}"
            return WorkerError(finding, "", details, LATE)
        if code >= 0:
            finding = f"it ended its own process with exit status {code}"
            return WorkerError(finding, "", details, DIED)
        name = signal.Signals(-code).name
        remedy = "Correct it or give it more memory." if code == -signal.SIGKILL else ""
        return WorkerError(f"it crashed with {name}{line}", remedy, details, DIED, name)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it is over already
        os.killpg(process.pid, signal.SIGKILL)


def _end_all(process: Process, files: Sequence[Any]) -> None:
    for file in files:
        file.close()
    if process.poll() is None:
        _kill(process)
    process.wait()
