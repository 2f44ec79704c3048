"""The table of jobs, seen by a person and by processes; none is started here but `true`."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from shuffleproof.core.errors import JobError, ParameterError, UnknownNameError
from shuffleproof.core.execution import jobs as jobs_module
from shuffleproof.core.execution import machine
from shuffleproof.core.execution.job_run import JobRun
from shuffleproof.core.execution.jobs import (
    DROPPED,
    LOG_BYTES,
    Jobs,
    places,
    shorten,
    tail,
    transaction,
)
from shuffleproof.core.progress import Progress


@pytest.fixture
def jobs(tmp_path):
    return Jobs(tmp_path)


def taken(jobs, job):
    """A job whose process is this one."""
    with transaction(jobs.folder) as table:
        table.execute(
            "UPDATE job SET state = 'running', lease = ?, attempts = attempts + 1, "
            "progress = NULL WHERE id = ?",
            (json.dumps({"process": os.getpid(), "slot": "cpu 0"}), job.id),
        )
    return JobRun(jobs.root, job.id)


def epoch(done, **values):
    return Progress(done, 30, "epochs", values)


def test_identical_work_is_one_job(jobs):
    first = jobs.submit("train", {"ranker": "dlcm", "depth": 40})
    second = jobs.submit("train", {"depth": 40, "ranker": "dlcm"})
    assert first == second == jobs.get(first.id[:8])
    assert jobs.submit("train", {"depth": 41, "ranker": "dlcm"}).id != first.id
    assert jobs.submit("certify", {"depth": 40, "ranker": "dlcm"}).id != first.id
    assert len(jobs.list()) == 3


def test_a_job_that_is_done_answers_identical_work(jobs):
    job = jobs.submit("train", {})
    taken(jobs, job).finish("done", {"score": 0.5})
    again = jobs.submit("train", {})
    assert (again.id, again.state, again.result) == (job.id, "done", {"score": 0.5})
    assert jobs.retry(job.id).state == "waiting"
    assert jobs.get(job.id).result is None


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {"x": object()}, {"x": {1, 2}}])
def test_parameters_must_be_json(jobs, bad):
    with pytest.raises(ParameterError):
        jobs.submit("train", bad)
    assert jobs.list() == ()


def test_only_known_kinds_are_taken(tmp_path):
    with pytest.raises(UnknownNameError, match="os:system"):
        Jobs(tmp_path, kinds=("train",)).submit("os:system", {})


def test_jobs_run_in_the_order_in_which_they_were_handed_in(jobs):
    for name in "cbda":
        jobs.submit("k", {"name": name})
    shown = [job.parameters["name"] for job in jobs.list("waiting")]
    names = []
    for _ in range(4):
        jobs.start_waiting(["true"], places(1))
        (running,) = jobs.list("running")
        names.append(running.parameters["name"])
        with transaction(jobs.folder) as table:
            table.execute("UPDATE job SET state = 'done' WHERE state = 'running'")
    assert names == shown == ["c", "b", "d", "a"]


def test_states_follow_what_is_asked(jobs):
    waiting = jobs.submit("k", {"n": 1})
    assert jobs.cancel(waiting.id).state == "cancelled"
    assert jobs.submit("k", {"n": 1}).state == "cancelled"
    assert jobs.retry(waiting.id).state == "waiting"
    run = taken(jobs, waiting)
    cancelled = jobs.cancel(waiting.id)
    assert (cancelled.state, cancelled.cancel_wanted) == ("running", True)
    assert jobs.retry(waiting.id).state == "running"
    with pytest.raises(JobError, match="running"):
        jobs.forget(waiting.id)
    run.stop()
    assert jobs.get(waiting.id).state == "cancelled"
    jobs.forget(waiting.id)
    with pytest.raises(JobError, match="no such job"):
        jobs.get(waiting.id)


def test_a_process_that_is_late_changes_nothing(jobs):
    job = jobs.submit("k", {})
    late = taken(jobs, job)
    late.stop()
    assert jobs.get(job.id).state == "waiting"
    late.note(Progress(9, 9, "steps"))
    late.set()
    late.finish("done", "wrong")
    assert (jobs.get(job.id).state, jobs.get(job.id).progress) == ("waiting", None)


def deaths(jobs, job, reports):
    for done in reports:
        run = taken(jobs, job)
        if done is not None:
            run.note(Progress(done, 99, "steps"))
            run.set()
        jobs.start_waiting(["true"], ())


def test_a_job_that_dies_at_one_place_is_given_up(jobs):
    job = jobs.submit("k", {})
    deaths(jobs, job, [3] + [3, None, 2] * 2 + [3, 1])
    assert jobs.get(job.id).state == "waiting"
    deaths(jobs, job, [3])
    assert jobs.get(job.id).state == "failed"
    assert "died 10 times at the same place" in jobs.get(job.id).reason
    assert jobs.retry(job.id).state == "waiting"
    deaths(jobs, job, [3])
    assert jobs.get(job.id).state == "waiting"


def test_a_job_that_gets_further_each_time_is_never_given_up(jobs):
    job = jobs.submit("k", {})
    deaths(jobs, job, range(12))
    assert (jobs.get(job.id).state, jobs.get(job.id).attempts) == ("waiting", 12)


def test_a_death_after_cancelling_is_a_cancelled_job(jobs):
    job = jobs.submit("k", {})
    taken(jobs, job)
    jobs.cancel(job.id)
    jobs.start_waiting(["true"], ())
    assert jobs.get(job.id).state == "cancelled"


def test_a_running_job_of_an_earlier_version_goes_on(jobs):
    job = jobs.submit("k", {})
    with transaction(jobs.folder) as table:
        table.execute("UPDATE job SET state = 'running', lease = '0af3', attempts = 1")
    jobs.start_waiting(["true"], ())
    assert jobs.get(job.id).state == "waiting"


def test_a_locked_file_is_said_in_words(jobs, monkeypatch):
    monkeypatch.setattr(jobs_module, "TIMEOUT", 0.05)
    jobs.submit("k", {})
    with closing(sqlite3.connect(jobs.folder / "jobs.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JobError, match="another process has kept the jobs locked"):
            jobs.submit("k", {"n": 2})


def test_many_processes_hand_in_at_once(tmp_path):
    script = (
        "import sys; from pathlib import Path; from shuffleproof.core.execution.jobs import Jobs\n"
        "jobs = Jobs(Path(sys.argv[1]))\nfor n in range(25): jobs.submit('k', {'n': n})"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    together = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    for process in together:
        assert process.communicate()[1] == b""
    assert len(Jobs(tmp_path).list("waiting")) == 25


def test_a_log_keeps_its_newest_part(tmp_path):
    path = tmp_path / "x.log"
    with path.open("ab") as log:
        for line in range(20_000):
            log.write(b"%d %s\n" % (line, b"-" * 90))
        log.flush()
        shorten(path)
        log.write(b"more\n")
    assert path.stat().st_size <= LOG_BYTES
    assert path.read_text().startswith(DROPPED)
    last = tail(path, 1000)
    assert last.startswith("1999")
    assert last.endswith("-\nmore\n")
    assert tail(tmp_path / "none.log", 10) == ""


def test_the_history_of_a_job_is_what_it_measured_last(jobs):
    job = jobs.submit("k", {})
    for done, loss in ((1, 9.0), (2, 8.0), (3, 7.0), (1, 1.0), (2, float("nan"))):
        jobs.add_step(job.id, epoch(done, loss=loss))
    with jobs.history_path(job.id).open("a") as file:
        file.write('\n[2, 30, "epo')  # cut short by a kill
    jobs.add_step(job.id, epoch(3, loss=0.5))
    steps = jobs.history(job.id[:8])
    assert [(step.done, step.values["loss"]) for step in steps] == [(1, 1.0), (2, None), (3, 0.5)]
    assert {(step.total, step.unit) for step in steps} == {(30, "epochs")}
    assert list(steps) == sorted(steps, key=lambda step: step.at)
    jobs.cancel(job.id)
    jobs.forget(job.id)
    assert not jobs.history_path(job.id).exists()


def test_reports_within_an_epoch_are_no_points_of_the_curve(jobs):
    run = taken(jobs, job := jobs.submit("k", {}))
    for done in (0, 1):
        run.note(Progress(done, 30, "epochs", {"lists_per_second": 9.0}, 0.5))
        run.set()
        assert jobs.get(job.id).progress["part"] == 0.5
        run.note(epoch(done + 1, loss=1.0))
    assert [step.done for step in jobs.history(job.id)] == [1, 2]


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1), (None, 8)]
)
def test_a_containers_quota_bounds_the_cores(tmp_path, monkeypatch, quota, cores):
    if quota:
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(8)))
    assert machine.cores() == cores


def test_a_place_a_gpu_or_some_that_share_the_cores(monkeypatch):
    monkeypatch.setattr(jobs_module, "cores", lambda: 12)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [place.environment["CUDA_VISIBLE_DEVICES"] for place in places()] == ["3", "5"]
    four = [place.environment for place in places(4)]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in four] == ["3", "5", "3", "5"]
    assert {each["OMP_NUM_THREADS"] for each in four} == {"3"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert [place.name for place in places()] == ["cpu 0", "cpu 1", "cpu 2"]
    assert "CUDA_VISIBLE_DEVICES" not in places()[0].environment


def test_the_web_process_pays_nothing():
    script = "import sys, shuffleproof.core.execution.jobs; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(answer.stdout.decode().split())
    assert not loaded & {"torch", "lightgbm", "numba", "numpy", "pandas", "pickle"}
