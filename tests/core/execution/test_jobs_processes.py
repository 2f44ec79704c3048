"""Supervisors and workers as real processes, killed as power cuts and people kill them."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from shuffleproof.core.execution.executor import EXECUTOR, keep_settings
from shuffleproof.core.execution.jobs import Jobs, folder_of
from shuffleproof.core.execution.jobs_only_one import HOME, ensure_running, is_running
from shuffleproof.core.execution.jobs_slots import slots
from shuffleproof.core.execution.jobs_supervisor import Supervisor
from tests import places
from tests.job_watch import kill, processes, send, until

SCRIPT = str(places.TESTS / "job_supervisor.py")


class Bench:
    """A store, its jobs, and supervisors to start and kill."""

    def __init__(self, root):
        self.root = root
        self.jobs = Jobs(root)
        self.supervisors = []

    def start(self, slots=1, *more):
        command = [sys.executable, SCRIPT, str(self.root), str(slots), *map(str, more)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.supervisors.append(process)
        until(lambda: is_running(self.root) or process.poll() is not None)
        return process

    def workers(self):
        """Process ids of the workers of this store."""
        return processes(self.root, "job_kinds.py")

    def kill_workers(self):
        kill(self.workers())

    def state(self, job):
        return self.jobs.get(job.id).state

    def moved_on(self, before):
        now = self.jobs.get(before.id)
        return now.ended or now.attempts > before.attempts

    def done(self, job):
        return (self.jobs.get(job.id).progress or {"done": 0})["done"]

    def close(self):
        for process in self.supervisors:
            process.kill()
            process.wait()
        until(lambda: not self.workers())


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HOME), str(HOME / ".types")]))
    made = Bench(tmp_path)
    yield made
    made.close()


def counting(name, steps=20, seconds=0.05):
    return {"name": name, "steps": steps, "seconds": seconds}


def expected(steps):
    total = 1
    for step in range(steps):
        total = total * 31 % 1_000_003 + step
    return {"sum": total}


def test_killed_workers_are_replaced_and_the_result_is_the_same(bench):
    bench.start()
    job = bench.jobs.submit("counting", counting("killed", steps=40))
    dice, kills = random.Random(5), 0
    for attempt in range(1, 6):
        until(lambda attempt=attempt: bench.jobs.get(job.id).attempts >= attempt)
        until(bench.workers)
        time.sleep(dice.uniform(0.0, 0.6))
        before = bench.jobs.get(job.id)
        if before.ended:
            break
        bench.kill_workers()
        kills += 1
        until(lambda before=before: bench.moved_on(before))
    until(lambda: bench.jobs.get(job.id).ended, 30)
    ended = bench.jobs.get(job.id)
    assert (ended.state, ended.result) == ("done", expected(40))
    assert ended.attempts == kills + 1 > 3
    steps = [step.done for step in bench.jobs.history(job.id)]
    assert steps == sorted(set(steps))
    assert 40 - kills <= len(steps)  # one killed between its step and its report told nothing


def test_after_a_power_cut_a_new_supervisor_finds_every_job(bench):
    first = bench.start(2)
    steps = [80, 80, 10, 10, 10]  # the first two are at work when it comes
    handed_in = [
        bench.jobs.submit("counting", counting(f"cut {n}", steps=count))
        for n, count in enumerate(steps)
    ]
    failing = bench.jobs.submit("failing", {"defect": False}, priority=9)
    until(lambda: bench.state(failing) == "failed")
    until(lambda: bench.done(handed_in[0]) > 3)
    first.kill()
    bench.kill_workers()
    first.wait()
    assert not is_running(bench.root)
    assert len(bench.jobs.list("running", "waiting")) == 5
    bench.start(2)
    until(lambda: len(bench.jobs.list("done")) == 5, 60)
    results = [bench.jobs.get(job.id).result for job in handed_in]
    assert results == [expected(count) for count in steps]
    assert bench.jobs.get(failing.id).reason == "train.txt:7: no label. Add one."


def test_workers_do_not_outlive_a_killed_supervisor(bench):
    first = bench.start()
    deaf = bench.jobs.submit("deaf", {})
    until((bench.root / "deaf").exists)
    first.kill()
    assert until(lambda: not bench.workers()) < 5
    assert bench.state(deaf) == "running"
    bench.jobs.cancel(deaf.id)
    bench.start()
    assert until(lambda: bench.state(deaf) == "cancelled") < 5


def test_an_orphan_that_still_runs_is_killed_before_its_job_runs_again(bench):
    first = bench.start()
    job = bench.jobs.submit("counting", counting("orphan", steps=20))
    until(lambda: bench.done(job) > 2)
    orphans = bench.workers()
    send(signal.SIGSTOP, orphans)
    first.kill()
    first.wait()
    bench.start()
    until(lambda: bench.state(job) == "done")
    assert not set(orphans) & set(bench.workers())
    assert bench.jobs.get(job.id).result == expected(20)


def test_a_job_that_does_not_listen_is_cancelled_within_five_seconds(bench):
    bench.start()
    job = bench.jobs.submit("deaf", {})
    until((bench.root / "deaf").exists)
    bench.jobs.cancel(job.id)
    assert until(lambda: bench.state(job) == "cancelled") < 5
    assert until(lambda: not bench.workers()) < 1


def test_a_worker_without_a_sign_of_life_is_killed_and_its_job_goes_on(bench, monkeypatch):
    monkeypatch.setattr("shuffleproof.core.execution.jobs_supervisor.SILENT_SECONDS", 1.5)
    worker = [sys.executable, str(Path(SCRIPT).with_name("job_kinds.py"))]
    stop = Event()
    thread = Thread(target=Supervisor(bench.root, slots(1), worker).run, args=(stop,))
    thread.start()
    job = bench.jobs.submit("counting", counting("stands still"))
    until(lambda: bench.done(job) > 2)
    send(signal.SIGSTOP, bench.workers())
    until(lambda: bench.state(job) == "done")
    stop.set()
    thread.join()
    assert bench.jobs.get(job.id).attempts == 2
    assert bench.jobs.get(job.id).result == expected(20)


def test_short_jobs_have_a_slot_of_their_own(bench):
    worker = [sys.executable, str(Path(SCRIPT).with_name("job_kinds.py"))]
    stop, places_ = Event(), slots(1, {"environment"})
    thread = Thread(target=Supervisor(bench.root, places_, worker).run, args=(stop,))
    thread.start()
    long = [bench.jobs.submit("counting", counting(f"long {n}", steps=400)) for n in range(2)]
    until(lambda: bench.done(long[0]) > 1)
    short = bench.jobs.submit("environment", {"names": ["OMP_WAIT_POLICY"]})
    until(lambda: bench.state(short) == "done")
    assert [bench.state(job) for job in long] == ["running", "waiting"]
    stop.set()
    thread.join()
    assert bench.jobs.log(short.id).startswith("[")
    assert ", short]" in bench.jobs.log(short.id)
    assert [one.name for one in slots(1)] == [one.name for one in slots(1, {"x"})][:1]


def test_a_job_that_listens_is_cancelled_at_once_and_goes_on_when_retried(bench):
    bench.start()
    job = bench.jobs.submit("counting", counting("listens", steps=25))
    until(lambda: bench.done(job) > 3)
    bench.jobs.cancel(job.id)
    assert until(lambda: bench.state(job) == "cancelled") < 2
    kept = bench.done(job)
    assert bench.jobs.log(job.id).count("step 1\n") == 1
    bench.jobs.retry(job.id)
    until(lambda: bench.state(job) == "done")
    assert kept > 3
    assert bench.jobs.get(job.id).result == expected(25)
    assert bench.jobs.log(job.id).count("step 1\n") == 1


def test_a_supervisor_asked_to_end_leaves_its_jobs_waiting(bench):
    first = bench.start()
    job = bench.jobs.submit("counting", counting("stopped", steps=200))
    until(lambda: bench.done(job) > 3)
    first.terminate()
    start = time.monotonic()
    assert first.wait(10) == 0
    assert time.monotonic() - start < 5
    assert bench.state(job) == "waiting"
    assert "goes on from where it was" in bench.jobs.get(job.id).reason
    assert not bench.workers()


def test_one_of_two_supervisors_gives_way(bench):
    first = bench.start()
    assert bench.start().wait(10) == 3
    assert first.poll() is None


def test_failures_keep_their_reason_and_log(bench):
    bench.start(2)
    wrong = bench.jobs.submit("failing", {"defect": False})
    defect = bench.jobs.submit("failing", {"defect": True})
    unknown = bench.jobs.submit("os:system", {})
    until(lambda: len(bench.jobs.list("failed")) == 3)
    assert bench.jobs.get(wrong.id).reason == "train.txt:7: no label. Add one."
    assert "seven is no colour" in bench.jobs.get(defect.id).reason
    assert "no kind of job is called 'os:system'" in bench.jobs.get(unknown.id).reason
    log = bench.jobs.log(defect.id)
    assert "about to fail" in log
    assert "Traceback" in log
    assert "Traceback" not in bench.jobs.log(wrong.id)


def test_a_crash_is_tried_again_and_then_kept_with_its_last_words(bench):
    bench.start()
    job = bench.jobs.submit("crashing", {})
    until(lambda: bench.state(job) == "failed")
    failed = bench.jobs.get(job.id)
    assert "SIGSEGV" in failed.reason
    assert "last words" in failed.reason
    assert failed.attempts == 5


def test_logs_are_bounded_and_numbers_json_cannot_say_become_null(bench):
    bench.start()
    job = bench.jobs.submit("noisy", {})
    until(lambda: bench.jobs.get(job.id).ended, 30)
    assert (bench.state(job), bench.jobs.get(job.id).result) == ("done", None)
    log = folder_of(bench.root) / "logs" / f"{job.id}.log"
    assert log.stat().st_size <= 1 << 20
    assert "line 059999" in bench.jobs.log(job.id)


def test_progress_is_seen_at_least_once_a_second(bench):
    bench.start()
    job = bench.jobs.submit("counting", counting("watched", steps=40))
    until(lambda: bench.done(job) > 0)
    seen, looks = {}, []
    while not bench.jobs.get(job.id).ended:
        looks.append(time.monotonic())
        seen.setdefault(bench.done(job), looks[-1])
        time.sleep(0.02)
    changes, standstill = (
        max(after - before for before, after in itertools.pairwise(times))
        for times in (seen.values(), looks)
    )
    assert changes < 1.0 + standstill, "a machine that stands still keeps the watcher waiting too"
    assert bench.jobs.get(job.id).progress["values"]["loss"] == pytest.approx(1 / 40)


def test_two_slots_work_at_once_and_share_the_cores(bench):
    bench.start(2)
    pair = [bench.jobs.submit("counting", counting(f"pair {n}", steps=10)) for n in range(2)]
    until(lambda: len(bench.jobs.list("running")) == 2)
    names = ["OMP_NUM_THREADS", "OMP_WAIT_POLICY", "NUMBA_NUM_THREADS"]
    asked = bench.jobs.submit("environment", {"names": names})
    until(lambda: bench.state(asked) == "done")
    threads = str(max(1, len(os.sched_getaffinity(0)) // 2))
    answer = dict(zip(names, (threads, "passive", threads), strict=True))
    assert bench.jobs.get(asked.id).result == answer
    until(lambda: all(bench.state(job) == "done" for job in pair))


def test_jobs_go_where_the_last_who_started_says_and_not_where_the_supervisor_does(
    bench, monkeypatch
):
    monkeypatch.delenv(EXECUTOR, raising=False)
    bench.start()
    monkeypatch.setenv(EXECUTOR, "processes:3")
    keep_settings(folder_of(bench.root))
    asked = bench.jobs.submit("environment", {"names": [EXECUTOR]})
    until(lambda: bench.state(asked) == "done")
    assert bench.jobs.get(asked.id).result == {EXECUTOR: "processes:3"}


def test_a_detached_supervisor_is_started_once_and_ends_when_idle(bench):
    command = [sys.executable, SCRIPT, str(bench.root), "1", "0.3"]
    job = bench.jobs.submit("counting", counting("detached", steps=10))
    assert ensure_running(bench.root, command)
    assert not ensure_running(bench.root, command)
    until(lambda: bench.state(job) == "done")
    until(lambda: not is_running(bench.root))
    assert ensure_running(bench.root, command)
    until(lambda: not is_running(bench.root))
