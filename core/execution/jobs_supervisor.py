"""The supervisor: keeps every slot at work while jobs wait, and nothing else alive.

Only one runs for a store; the lock on a file says which. It starts one process a job, so that a
killed or crashed one harms that job alone, which then waits again; it stops by force what does not
stop when cancelled, and what has shown no sign of life for a minute.
"""

import logging
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event

from shuffleproof.core.errors import JobError
from shuffleproof.core.execution import jobs_lease as lease
from shuffleproof.core.execution.executor import settings
from shuffleproof.core.execution.jobs import SHOWN_DIGITS, folder_of, log_path
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_log import LogPump, tail
from shuffleproof.core.execution.jobs_only_one import HOME, only_one
from shuffleproof.core.execution.jobs_slots import Slot, slots
from shuffleproof.core.execution.jobs_worker import STOPPED

TICK = 0.2
CANCEL_SECONDS = 2.0
"""What is cancelled has so long to stop by itself before it is killed."""

STOP_SECONDS = 4.0
"""What runs has so long to stop by itself when the supervisor is asked to end."""

SILENT_SECONDS = 60.0
"""A worker whose beat stands still for so long hangs; compiled code may hold it for seconds."""

LAST_WORDS_SECONDS = 1.0
REASON_BYTES = 2000
LOG = logging.getLogger("shuffleproof.jobs")


class RunningJob:
    """A job, the slot that it runs in, and the process that does it."""

    def __init__(self, held: lease.HeldJob, slot: Slot, process: "subprocess.Popen[bytes]") -> None:
        """Note that the process does this job in this slot."""
        self.held, self.slot, self.process = held, slot, process
        self.pump: LogPump | None = None
        self.beat = held.beat
        self.alive_at = time.monotonic()
        self.cancelled_at: float | None = None
        self.killed_for = ""

    def kill(self, why: str = "") -> None:
        """End the process and all that it started."""
        self.killed_for = self.killed_for or why
        with suppress(ProcessLookupError, PermissionError):  # gone, or nothing but a zombie
            os.killpg(self.process.pid, signal.SIGKILL)

    def fate(self) -> lease.WorkerDeath:
        """What became of the process."""
        code = self.process.returncode
        if self.killed_for:
            return lease.WorkerDeath(self.killed_for, lease.CRASHED)
        if code == -signal.SIGKILL:
            return lease.WorkerDeath("its worker was killed", lease.KILLED)
        if code is not None and code < 0:
            return lease.WorkerDeath(
                f"its worker crashed ({signal.Signals(-code).name})", lease.CRASHED
            )
        return lease.WorkerDeath(f"its worker ended early (exit code {code})", lease.CRASHED)


class Supervisor:
    """Runs the jobs of one store in the slots of this machine."""

    def __init__(self, root: Path, places: Sequence[Slot], command: Sequence[str]) -> None:
        """Prepare; nothing is started yet.

        Args:
            root: the store's folder.
            places: where jobs may run.
            command: starts a worker; root, job and token are added to it.
        """
        self.root, self.command = root.resolve(), tuple(command)
        self.folder = folder_of(root)
        self.database = Database(self.folder / "jobs.sqlite", create=False)
        self.free = list(places)
        self.running: list[RunningJob] = []
        self.busy_at = time.monotonic()

    def run(self, stop: Event, idle_seconds: float | None = None) -> bool:
        """Work until `stop`, or until there was nothing to do for so long.

        Returns False at once when another supervisor works on the store.

        Raises:
            JobError: the file of jobs cannot be used.
        """
        ran = False
        while True:
            with only_one(self.folder) as ours:
                if not ours:
                    return ran
                ran = True
                Database(self.database.path).connect().close()  # make the file if need be
                LOG.info("at work on %s with %d slot(s)", self.root, len(self.free))
                try:
                    self._work(stop, idle_seconds)
                finally:
                    self._stop_all()
            # whoever handed work in before the lock was free counts on us
            if stop.is_set() or not self._store_is_there() or not lease.any_waiting(self.database):
                return True

    def _work(self, stop: Event, idle_seconds: float | None) -> None:
        self.busy_at = time.monotonic()
        with closing(self.database.connect()):  # the log is not folded up at every other's close
            while not stop.is_set() and self._store_is_there():
                try:
                    self._tick()
                except JobError as error:
                    if not error.busy:
                        raise
                    LOG.warning("%s", error)
                idle = time.monotonic() - self.busy_at
                if idle_seconds is not None and idle > idle_seconds:
                    LOG.info("nothing to do for %.0f seconds: ending", idle)
                    return
                stop.wait(TICK)

    def _store_is_there(self) -> bool:
        return self.database.path.exists()

    def _tick(self) -> None:
        running_jobs = lease.running_jobs(self.database)
        if running_jobs:
            self.busy_at = time.monotonic()
        by_token = {job.token: job for job in running_jobs}
        for running in list(self.running):
            if running.process.poll() is not None:
                self._settle(running)
            else:
                self._watch(running, by_token.get(running.held.token))
        own_tokens = {running.held.token for running in self.running}
        for orphan in running_jobs:
            if orphan.token not in own_tokens and lease.kill_if_alive(self.folder, orphan.token):
                self._bury(orphan, lease.WorkerDeath("its worker died with its supervisor"))
        for slot in sorted(self.free, key=lambda slot: bool(slot.kinds)):  # those for all first
            if not lease.any_waiting(self.database):
                break
            self._start_next(slot)

    def _watch(self, running: RunningJob, job: lease.HeldJob | None) -> None:
        """Kill what was cancelled and does not stop, and what shows no life."""
        now = time.monotonic()
        if job is None:  # it has ended its job and is about to exit
            if now - running.alive_at > SILENT_SECONDS:
                running.kill()
            return
        if job.beat != running.beat:
            running.beat, running.alive_at = job.beat, now
        if job.cancel_wanted:
            running.cancelled_at = running.cancelled_at or now
            if now - running.cancelled_at > CANCEL_SECONDS:
                running.kill()
        elif now - running.alive_at > SILENT_SECONDS:
            running.kill(
                f"its worker gave no sign of life for {SILENT_SECONDS:.0f} s and was killed"
            )

    def _start_next(self, slot: Slot) -> None:
        """Start the next job that a free slot takes, where there is one."""
        job = lease.claim(self.database, uuid.uuid4().hex, slot.kinds)
        if job is None:
            return
        self.free.remove(slot)
        try:
            process = subprocess.Popen(
                [*self.command, str(self.root), job.id, job.token],
                env=os.environ | slot.environment | settings(self.folder),
                cwd=HOME,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self.free.append(slot)
            why = f"no worker could be started ({error})"
            self._bury(job, lease.WorkerDeath(why, lease.CRASHED))
            return
        clock = datetime.now().astimezone().isoformat(timespec="seconds")
        running = RunningJob(job, slot, process)
        if process.stdout is not None:
            heading = f"[{clock} attempt {job.attempts}, {slot.name}]"
            running.pump = LogPump(process.stdout, log_path(self.folder, job.id), heading)
        self.running.append(running)
        LOG.info(
            "job %s attempt %d in %s, process %d",
            job.id[:SHOWN_DIGITS], job.attempts, slot.name, process.pid,
        )  # fmt: skip

    def _settle(self, running: RunningJob) -> None:
        """A worker process has ended: free its slot, and its job where it left it unfinished."""
        running.kill()  # what it started and left behind
        if running.process.stdin is not None:
            running.process.stdin.close()
        if running.pump is not None:
            running.pump.join(LAST_WORDS_SECONDS)
        self.running.remove(running)
        self.free.append(running.slot)
        lease.forget_identity(self.folder, running.held.token)
        self._bury(running.held, running.fate())

    def _bury(self, job: lease.HeldJob, death: lease.WorkerDeath) -> None:
        log = tail(log_path(self.folder, job.id), REASON_BYTES)
        if lease.bury(self.database, job, replace(death, log=log)):
            LOG.warning("job %s: %s", job.id[:SHOWN_DIGITS], death.how)

    def _stop_all(self) -> None:
        """Ask all workers to stop, wait, end the rest; their jobs wait for the next supervisor."""
        for running in self.running:
            running.process.terminate()
        limit = time.monotonic() + STOP_SECONDS
        for running in list(self.running):
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(max(0.0, limit - time.monotonic()))
            running.kill()
            running.process.wait()
            if self._store_is_there():
                lease.give_back(self.database, running.held, STOPPED)
                self._settle(running)


def supervise(
    root: Path,
    command: Sequence[str],
    number: int | None = None,
    idle_seconds: float | None = None,
    short: Collection[str] = (),
) -> bool:
    """Be this process's supervisor until SIGTERM or Ctrl+C; False where another is at work.

    Args:
        root: the store's folder.
        command: starts a worker; root, job and token are added to it.
        number: how many slots; by default as many as suit the machine.
        idle_seconds: end after so long without work.
        short: kinds of jobs that have a slot of their own, so that they wait for no long one.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stop = Event()
    orders = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(order, lambda *_: stop.set()) for order in orders]
    try:
        return Supervisor(root, slots(number, short), command).run(stop, idle_seconds)
    finally:
        for order, handler in zip(orders, before, strict=True):
            signal.signal(order, handler)
