"""The table of jobs, seen by a person and by workers; no process is started here."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from shuffleproof.core.errors import JobError, ParameterError, UnknownNameError
from shuffleproof.core.execution import jobs_database, jobs_slots
from shuffleproof.core.execution.jobs import HIGHEST, Jobs, folder_of
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_log import DROPPED, LOG_BYTES, shorten, tail
from shuffleproof.core.execution.jobs_slots import slots
from shuffleproof.core.execution.jobs_start import start_waiting
from shuffleproof.core.execution.jobs_worker import JobRow, JobTakenError


@pytest.fixture
def jobs(tmp_path):
    return Jobs(tmp_path)


@pytest.fixture
def database(tmp_path):
    return Database(folder_of(tmp_path) / "jobs.sqlite")


@pytest.fixture
def row_of(tmp_path, database):
    """The row of a job whose process is this one."""

    def take(job):
        lease = json.dumps({"process": os.getpid(), "slot": "cpu 0"})
        with database.transaction() as table:
            table.execute(
                "UPDATE job SET state = 'running', lease = ?, attempts = attempts + 1, "
                "progress = NULL WHERE id = ?", (lease, job.id),
            )  # fmt: skip
        return JobRow(tmp_path, job.id)

    return take


def test_identical_work_is_one_job(jobs):
    first = jobs.submit("train", {"ranker": "dlcm", "depth": 40})
    second = jobs.submit("train", {"depth": 40, "ranker": "dlcm"})
    assert first == second
    assert jobs.submit("train", {"depth": 41, "ranker": "dlcm"}).id != first.id
    assert jobs.submit("certify", {"depth": 40, "ranker": "dlcm"}).id != first.id
    assert len(jobs.list()) == 3


def test_a_job_that_is_done_answers_identical_work(jobs, row_of):
    job = jobs.submit("train", {})
    row_of(job).finish("done", {"score": 0.5})
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
    jobs = Jobs(tmp_path, kinds=("train",))
    with pytest.raises(UnknownNameError, match="os:system"):
        jobs.submit("os:system", {})


def test_priority_then_age_decides(jobs):
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -1)):
        jobs.submit("k", {"name": name}, priority)
    jobs.submit("k", {"name": "c"}, 9)
    shown = [job.parameters["name"] for job in jobs.list("waiting")]
    names = []
    for _ in range(4):
        start_waiting(jobs.folder.parent, ["true"], slots(1))
        (running,) = jobs.list("running")
        names.append(running.parameters["name"])
        with Database(jobs.folder / "jobs.sqlite").transaction() as table:
            table.execute("UPDATE job SET state = 'done' WHERE state = 'running'")
    assert names == shown == ["c", "b", "a", "d"]
    with pytest.raises(ParameterError):
        jobs.submit("k", {"name": "e"}, HIGHEST + 1)


def test_handing_in_again_may_raise_the_priority_only(jobs):
    job = jobs.submit("k", {}, 3)
    assert jobs.submit("k", {}, 1).priority == 3
    assert jobs.submit("k", {}, 7).priority == 7
    assert jobs.get(job.id[:8]).id == job.id


def test_states_follow_what_is_asked(jobs, row_of):
    waiting = jobs.submit("k", {"n": 1})
    assert jobs.cancel(waiting.id).state == "cancelled"
    assert jobs.submit("k", {"n": 1}).state == "cancelled"
    assert jobs.retry(waiting.id).state == "waiting"
    row = row_of(waiting)
    cancelled = jobs.cancel(waiting.id)
    assert (cancelled.state, cancelled.cancel_wanted) == ("running", True)
    assert jobs.retry(waiting.id).state == "running"
    assert row.report(None)
    with pytest.raises(JobError, match="running"):
        jobs.forget(waiting.id)
    row.finish("cancelled")
    assert jobs.get(waiting.id).ended
    jobs.forget(waiting.id)
    with pytest.raises(JobError, match="no such job"):
        jobs.get(waiting.id)


def test_a_late_process_changes_nothing(jobs, row_of):
    job = jobs.submit("k", {})
    late = row_of(job)
    late.give_back("stopped")
    assert jobs.get(job.id).state == "waiting"
    changes = (
        lambda: late.report({"done": 9, "total": 9, "unit": "steps"}),
        lambda: late.finish("done", "wrong"),
        lambda: late.give_back("late"),
    )
    for change in changes:
        with pytest.raises(JobTakenError):
            change()
    assert jobs.get(job.id).state == "waiting"


def _deaths(jobs, row_of, job, reports):
    for progress in reports:
        row = row_of(job)
        if progress is not None:
            row.report({"done": progress, "total": 99, "unit": "steps", "values": {}})
        start_waiting(jobs.folder.parent, ["true"], ())


def test_a_job_that_dies_at_one_place_is_given_up(jobs, row_of):
    job = jobs.submit("k", {})
    _deaths(jobs, row_of, job, [3] + [3, None, 2] * 2 + [3, 1])
    assert jobs.get(job.id).state == "waiting"
    _deaths(jobs, row_of, job, [3])
    failed = jobs.get(job.id)
    assert failed.state == "failed"
    assert "died 10 times at the same place" in failed.reason
    assert jobs.retry(job.id).state == "waiting"
    _deaths(jobs, row_of, job, [3])
    assert jobs.get(job.id).state == "waiting"


def test_a_job_that_gets_further_each_time_is_never_given_up(jobs, row_of):
    job = jobs.submit("k", {})
    _deaths(jobs, row_of, job, range(12))
    assert (jobs.get(job.id).state, jobs.get(job.id).attempts) == ("waiting", 12)


def test_a_death_after_cancelling_is_a_cancelled_job(jobs, row_of):
    job = jobs.submit("k", {})
    row_of(job)
    jobs.cancel(job.id)
    start_waiting(jobs.folder.parent, ["true"], ())
    assert jobs.get(job.id).state == "cancelled"


def test_a_running_job_of_an_earlier_version_goes_on(jobs, database):
    job = jobs.submit("k", {})
    with database.transaction() as table:
        table.execute("UPDATE job SET state = 'running', lease = '0af3', attempts = 1")
    start_waiting(jobs.folder.parent, ["true"], ())
    assert jobs.get(job.id).state == "waiting"


def test_a_damaged_file_is_said_in_words(jobs, tmp_path):
    jobs.submit("k", {})
    (folder_of(tmp_path) / "jobs.sqlite").write_bytes(b"not a database at all, sorry" * 100)
    with pytest.raises(JobError, match=r"jobs\.sqlite: the file of jobs is damaged .* Rename it"):
        jobs.list()


def test_a_locked_file_is_said_in_words(jobs, database, monkeypatch):
    monkeypatch.setattr("shuffleproof.core.execution.jobs_database.PATIENCE", 0.05)
    jobs.submit("k", {})
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(jobs.list()) == 1
        with pytest.raises(JobError, match="another process has kept the jobs locked") as error:
            jobs.submit("k", {"n": 2})
    assert error.value.busy


def test_a_newer_format_is_refused(jobs, database):
    jobs.submit("k", {})
    with closing(sqlite3.connect(database.path)) as table:
        table.execute("PRAGMA user_version = 99")
    with pytest.raises(JobError, match="newer version"):
        jobs.list()


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
    assert path.read_bytes().startswith(DROPPED)
    last = tail(path, 1000)
    assert last.startswith("1999")
    assert last.endswith("-\nmore\n")
    assert tail(tmp_path / "none.log", 10) == ""


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1), (None, 8)]
)
def test_a_containers_quota_bounds_the_cores(tmp_path, monkeypatch, quota, cores):
    if quota:
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(jobs_slots, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(jobs_slots.os, "sched_getaffinity", lambda _: set(range(8)))
    assert jobs_slots.cores() == cores


def test_a_slot_a_gpu_or_some_that_share_the_cores(monkeypatch):
    monkeypatch.setattr("shuffleproof.core.execution.jobs_slots.cores", lambda: 12)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [slot.environment["CUDA_VISIBLE_DEVICES"] for slot in slots()] == ["3", "5"]
    four = [slot.environment for slot in slots(4)]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in four] == ["3", "5", "3", "5"]
    assert {each["OMP_NUM_THREADS"] for each in four} == {"3"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert [slot.name for slot in slots()] == ["cpu 0", "cpu 1", "cpu 2"]
    assert "CUDA_VISIBLE_DEVICES" not in slots()[0].environment
    with pytest.raises(ParameterError):
        slots(0)


def test_the_web_process_pays_nothing():
    script = "import sys, shuffleproof.core.execution.jobs; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(answer.stdout.decode().split())
    assert not loaded & {"torch", "lightgbm", "numba", "numpy", "pandas", "pickle"}


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 8:2 / /home/local rw shared:3 - xfs /dev/sdb rw
32 22 0:41 / /my\\040share rw shared:3 - cifs //nas rw
"""


def test_a_table_of_jobs_on_a_network_file_system_is_refused_with_the_reason(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    for place, system in (
        ("/home/me/store/jobs.sqlite", "nfs4"), ("/home/local/store", None), ("/homes/x", None),
        ("/srv/store", None), ("/my share/store", "cifs"),
    ):  # fmt: skip
        path = type(tmp_path)(place)
        assert jobs_database.shared_file_system(path, mounts) == system
    mounts.write_text(f"22 1 8:1 / {tmp_path} rw shared:1 - nfs server:/x rw\n")
    monkeypatch.setattr(jobs_database, "MOUNTS", mounts)
    with (
        pytest.raises(JobError, match=r"nfs, a network file system.*local disk"),
        jobs_database.Database(tmp_path / "jobs.sqlite").reading(),
    ):
        pass
    assert not (tmp_path / "jobs.sqlite").exists()
    (tmp_path / "elsewhere").mkdir()
    mounts.write_text(f"22 1 8:1 / {tmp_path}/elsewhere rw shared:1 - nfs server:/x rw\n")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert jobs_database.shared_file_system(tmp_path / "link" / "jobs.sqlite") == "nfs"
