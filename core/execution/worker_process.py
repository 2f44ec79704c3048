"""One worker process as its owner sees it: started, asked, killed, and its last words."""

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO, cast

from shuffleproof.core.execution.jobs_slots import THREADS
from shuffleproof.core.execution.work import LONGEST_DETAILS

LAST_BREATH = 10.0
"""Seconds a worker that was told to end, or stopped answering, is given to end by itself."""


class WorkerProcess:
    """A process started as `python -m core.execution.worker`; its stderr goes to a nameless file.

    Files of the folder that it is started in do not take the place of modules (`-P`).

    Attributes:
        process: the process itself.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        """Start a worker with these environment variables."""
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shuffleproof.core.execution.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env=environment,
        )
        self.requests = cast("IO[bytes]", self.process.stdin)
        self.answers = cast("IO[bytes]", self.process.stdout)

    def ask(self, request: str, limit: float | None = None) -> str | None:
        """The worker's answer, or None when it died first.

        Args:
            request: one line, without its end.
            limit: seconds after which the worker is killed; None waits for ever.
        """
        if limit is None:
            return self._answer_to(request)
        alarm = threading.Timer(limit, self.process.kill)
        alarm.start()
        try:
            return self._answer_to(request)
        finally:
            alarm.cancel()

    def _answer_to(self, request: str) -> str | None:
        with suppress(BrokenPipeError):  # it is dead already: readline says so as well
            self.requests.write(request.encode() + b"\n")
            self.requests.flush()
        answer = self.answers.readline()
        return answer.decode() if answer.endswith(b"\n") else None

    def last_words(self) -> tuple[str, str]:
        """How the worker died and the last it wrote to stderr; closes the pipes."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_BREATH)
        self.process.kill()
        code = self.process.wait()
        self.stderr.seek(max(self.stderr.seek(0, os.SEEK_END) - LONGEST_DETAILS, 0))
        words = self.stderr.read().decode(errors="replace")
        self.close()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        return how, words

    def close(self) -> None:
        """Let the process end by itself, or end it, and close the pipes."""
        with suppress(BrokenPipeError):  # unsent rest of a request to a dead worker
            self.requests.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_BREATH)
        self.process.kill()
        self.process.wait()
        self.answers.close()
        self.stderr.close()


def worker_environment(threads: int) -> dict[str, str]:
    """The environment variables of a worker of so many numeric threads."""
    return {
        **os.environ,
        "OMP_WAIT_POLICY": "passive",
        **dict.fromkeys(THREADS, str(threads)),
    }
