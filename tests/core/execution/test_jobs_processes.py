"""Jobs as real processes, killed as power cuts and people kill them."""

import itertools
import os
import random
import signal
import sys
import time

import psutil
import pytest

from shuffleproof.core.execution import jobs as jobs_module
from shuffleproof.core.execution.jobs import HOME, Jobs, places
from tests.job_watch import kill, processes, send, until
from tests.places import TESTS

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, str(TESTS / "job_kinds.py")]


class Bench:
    """A store, its jobs, and somebody who looks at them."""

    def __init__(self, root, monkeypatch):
        self.root, self.monkeypatch = root, monkeypatch
        self.jobs = Jobs(root)
        self.slots(1)

    def slots(self, count, short=()):
        self.places = places(count, short)
        self.monkeypatch.setenv("SLOTS", str(count))

    def look(self):
        self.jobs.start_waiting(PROGRAM, self.places)

    def until(self, what, seconds=15.0):
        """Look until something is true."""

        def seen():
            self.look()
            return what()

        return until(seen, seconds)

    def processes(self):
        return processes(self.root, "job_kinds.py")

    def state(self, job):
        return self.jobs.get(job.id).state

    def done(self, job):
        return (self.jobs.get(job.id).progress or {"done": 0})["done"]

    def close(self):
        kill(self.processes())
        until(lambda: not self.processes())


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HOME), str(HOME / ".types")]))
    made = Bench(tmp_path, monkeypatch)
    yield made
    made.close()


def counting(name, steps=20, seconds=0.05):
    return {"name": name, "steps": steps, "seconds": seconds}


def expected(steps):
    total = 1
    for step in range(steps):
        total = total * 31 % 1_000_003 + step
    return {"sum": total}


def test_a_killed_process_is_replaced_and_the_result_is_the_same(bench):
    job = bench.jobs.submit("counting", counting("killed", steps=40))
    dice, kills = random.Random(5), 0
    for attempt in range(1, 6):
        bench.until(lambda attempt=attempt: bench.jobs.get(job.id).attempts >= attempt)
        until(bench.processes)
        time.sleep(dice.uniform(0.0, 0.6))
        if bench.jobs.get(job.id).ended:
            break
        kill(bench.processes())
        kills += 1
    bench.until(lambda: bench.jobs.get(job.id).ended, 30)
    ended = bench.jobs.get(job.id)
    assert (ended.state, ended.result) == ("done", expected(40))
    assert ended.attempts == kills + 1 > 3
    steps = [step.done for step in bench.jobs.history(job.id)]
    assert steps == sorted(set(steps))
    assert 40 - kills <= len(steps)  # one killed between its step and its report told nothing


def test_after_a_power_cut_every_job_goes_on(bench):
    bench.slots(2)
    steps = [80, 80, 10, 10, 10]  # the first two are at work when it comes
    failing = bench.jobs.submit("failing", {"defect": False})
    handed_in = [
        bench.jobs.submit("counting", counting(f"cut {n}", steps=count))
        for n, count in enumerate(steps)
    ]
    bench.until(lambda: bench.state(failing) == "failed")
    bench.until(lambda: bench.done(handed_in[0]) > 3)
    kill(bench.processes())
    until(lambda: not bench.processes())
    assert len(bench.jobs.list("running", "waiting")) == 5
    bench.until(lambda: len(bench.jobs.list("done")) == 5, 60)
    results = [bench.jobs.get(job.id).result for job in handed_in]
    assert results == [expected(count) for count in steps]
    assert bench.jobs.get(failing.id).reason == "train.txt:7: no label. Add one."


def test_many_who_look_at_once_start_a_job_once(bench):
    job = bench.jobs.submit("counting", counting("once", steps=30))
    for _ in range(20):
        bench.look()
    assert len({psutil.Process(one).pid for one in bench.processes()}) == 1
    bench.until(lambda: bench.state(job) == "done")
    assert bench.jobs.get(job.id).attempts == 1


@pytest.mark.parametrize("stopped", [False, True])
def test_a_job_that_does_not_listen_is_cancelled_within_seconds(bench, monkeypatch, stopped):
    monkeypatch.setattr(jobs_module, "CANCEL_SECONDS", 2.5)
    job = bench.jobs.submit("deaf", {})
    bench.until((bench.root / "deaf").exists)
    if stopped:  # its own second thread cannot end it then
        send(signal.SIGSTOP, bench.processes())
    bench.jobs.cancel(job.id)
    assert bench.until(lambda: bench.state(job) == "cancelled") < 6
    assert until(lambda: not bench.processes()) < 2


def test_short_jobs_have_a_slot_of_their_own(bench):
    bench.slots(1, {"environment"})
    long = [bench.jobs.submit("counting", counting(f"long {n}", steps=400)) for n in range(2)]
    bench.until(lambda: bench.done(long[0]) > 1)
    short = bench.jobs.submit("environment", {"names": ["OMP_WAIT_POLICY"]})
    bench.until(lambda: bench.state(short) == "done")
    assert [bench.state(job) for job in long] == ["running", "waiting"]
    assert bench.jobs.log(short.id).startswith("[")
    assert ", short]" in bench.jobs.log(short.id)


def test_a_job_that_listens_is_cancelled_at_once_and_goes_on_when_retried(bench):
    job = bench.jobs.submit("counting", counting("listens", steps=25))
    bench.until(lambda: bench.done(job) > 3)
    bench.jobs.cancel(job.id)
    assert until(lambda: bench.state(job) == "cancelled") < 2
    kept = bench.done(job)
    assert bench.jobs.log(job.id).count("step 1\n") == 1
    bench.jobs.retry(job.id)
    bench.until(lambda: bench.state(job) == "done")
    assert kept > 3
    assert bench.jobs.get(job.id).result == expected(25)
    assert bench.jobs.log(job.id).count("step 1\n") == 1


def test_a_process_asked_to_end_leaves_its_job_waiting(bench):
    job = bench.jobs.submit("counting", counting("stopped", steps=200))
    bench.until(lambda: bench.done(job) > 3)
    send(signal.SIGTERM, bench.processes())
    assert until(lambda: not bench.processes()) < 5
    assert bench.state(job) == "waiting"
    assert "goes on from where it was" in bench.jobs.get(job.id).reason


def test_failures_keep_their_reason_and_log(bench):
    bench.slots(2)
    wrong = bench.jobs.submit("failing", {"defect": False})
    defect = bench.jobs.submit("failing", {"defect": True})
    unknown = bench.jobs.submit("os:system", {})
    bench.until(lambda: len(bench.jobs.list("failed")) == 3)
    assert bench.jobs.get(wrong.id).reason == "train.txt:7: no label. Add one."
    assert "seven is no colour" in bench.jobs.get(defect.id).reason
    assert "no kind of job is called 'os:system'" in bench.jobs.get(unknown.id).reason
    log = bench.jobs.log(defect.id)
    assert "about to fail" in log
    assert "Traceback" in log
    assert "Traceback" not in bench.jobs.log(wrong.id)


def test_a_crash_at_one_place_is_given_up_and_kept_with_its_last_words(bench, monkeypatch):
    monkeypatch.setattr(jobs_module, "DEATHS", 3)
    job = bench.jobs.submit("crashing", {})
    bench.until(lambda: bench.state(job) == "failed")
    failed = bench.jobs.get(job.id)
    assert "Segmentation fault" in failed.reason
    assert "last words" in failed.reason
    assert failed.attempts in {3, 4}, "the first may have got further than nothing"


def test_logs_are_bounded_and_numbers_json_cannot_say_become_null(bench):
    job = bench.jobs.submit("noisy", {})
    bench.until(lambda: bench.jobs.get(job.id).ended, 30)
    assert (bench.state(job), bench.jobs.get(job.id).result) == ("done", None)
    assert "line 059999" in bench.jobs.log(job.id)
    bench.jobs.retry(job.id)
    bench.look()
    log = bench.jobs.log_path(job.id)
    assert log.read_bytes().startswith(b"[earlier lines were dropped]")


def test_progress_is_seen_at_least_once_a_second(bench):
    job = bench.jobs.submit("counting", counting("watched", steps=40))
    bench.until(lambda: bench.done(job) > 0)
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
    bench.slots(2)
    pair = [bench.jobs.submit("counting", counting(f"pair {n}", steps=10)) for n in range(2)]
    bench.until(lambda: len(bench.jobs.list("running")) == 2)
    names = ["OMP_NUM_THREADS", "OMP_WAIT_POLICY", "NUMBA_NUM_THREADS"]
    asked = bench.jobs.submit("environment", {"names": names})
    bench.until(lambda: bench.state(asked) == "done")
    threads = str(max(1, len(os.sched_getaffinity(0)) // 2))
    answer = dict(zip(names, (threads, "passive", threads), strict=True))
    assert bench.jobs.get(asked.id).result == answer
    bench.until(lambda: all(bench.state(job) == "done" for job in pair))
