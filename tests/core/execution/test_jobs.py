"""The table of jobs, seen by a person and by workers; no process is started here."""

import fcntl
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from threading import Timer

import pytest

from shuffleproof.core.errors import JobError, ParameterError, UnknownNameError
from shuffleproof.core.execution import jobs_database, jobs_slots
from shuffleproof.core.execution import jobs_lease as lease
from shuffleproof.core.execution.jobs import HIGHEST, Jobs, folder_of
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_log import DROPPED, LOG_BYTES, LogPump, append, tail
from shuffleproof.core.execution.jobs_only_one import is_running, only_one
from shuffleproof.core.execution.jobs_slots import slots


@pytest.fixture
def jobs(tmp_path):
    return Jobs(tmp_path)


@pytest.fixture
def database(tmp_path):
    return Database(folder_of(tmp_path) / "jobs.sqlite")


def test_identical_work_is_one_job(jobs):
    first = jobs.submit("train", {"ranker": "dlcm", "depth": 40})
    second = jobs.submit("train", {"depth": 40, "ranker": "dlcm"})
    assert first == second
    assert jobs.submit("train", {"depth": 41, "ranker": "dlcm"}).id != first.id
    assert jobs.submit("certify", {"depth": 40, "ranker": "dlcm"}).id != first.id
    assert len(jobs.list()) == 3


def test_a_job_that_is_done_answers_identical_work(jobs, database):
    job = jobs.submit("train", {})
    held = lease.claim(database, "t")
    lease.finish(database, held.id, "t", lease.JobEnding("done", {"score": 0.5}))
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


def test_priority_then_age_decides(jobs, database):
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -1)):
        jobs.submit("k", {"name": name}, priority)
    jobs.prioritise(jobs.submit("k", {"name": "c"}).id, 9)
    shown = [job.parameters["name"] for job in jobs.list("waiting")]
    claimed = [lease.claim(database, str(turn)) for turn in range(4)]
    names = [jobs.get(held.id).parameters["name"] for held in claimed]
    assert names == shown == ["c", "b", "a", "d"]
    assert lease.claim(database, "5") is None
    with pytest.raises(ParameterError):
        jobs.submit("k", {"name": "e"}, HIGHEST + 1)


def test_handing_in_again_may_raise_the_priority_only(jobs):
    job = jobs.submit("k", {}, 3)
    assert jobs.submit("k", {}, 1).priority == 3
    assert jobs.submit("k", {}, 7).priority == 7
    assert jobs.get(job.id[:8]).id == job.id


def test_states_follow_what_is_asked(jobs, database):
    waiting = jobs.submit("k", {"n": 1})
    assert jobs.cancel(waiting.id).state == "cancelled"
    assert jobs.submit("k", {"n": 1}).state == "cancelled"
    assert jobs.retry(waiting.id).state == "waiting"
    held = lease.claim(database, "t")
    cancelled = jobs.cancel(waiting.id)
    assert (cancelled.state, cancelled.cancel_wanted) == ("running", True)
    assert jobs.retry(waiting.id).state == "running"
    assert lease.report(database, held.id, "t", None)
    with pytest.raises(JobError, match="running"):
        jobs.forget(waiting.id)
    lease.finish(database, held.id, "t", lease.JobEnding("cancelled"))
    assert jobs.get(waiting.id).ended
    jobs.forget(waiting.id)
    with pytest.raises(JobError, match="no such job"):
        jobs.get(waiting.id)


def test_a_late_worker_changes_nothing(jobs, database):
    jobs.submit("k", {})
    late = lease.claim(database, "late")
    lease.give_back(database, late, "stopped")
    new = lease.claim(database, "new")
    assert new.attempts == 2
    with pytest.raises(lease.LeaseLostError):
        lease.report(database, late.id, "late", {"done": 9, "total": 9, "unit": "steps"})
    with pytest.raises(lease.LeaseLostError):
        lease.finish(database, late.id, "late", lease.JobEnding("done", "wrong"))
    assert not lease.bury(database, late, lease.WorkerDeath("died"))
    assert jobs.get(new.id).state == "running"


def _deaths(database, reports, weight=lease.CRASHED):
    for progress in reports:
        held = lease.claim(database, "t")
        if progress is not None:
            report = {"done": progress, "total": 99, "unit": "steps", "values": {}}
            lease.report(database, held.id, "t", report)
        lease.bury(database, held, lease.WorkerDeath("it died", weight, "last words"))


def test_a_job_that_kills_its_workers_at_one_place_is_given_up(jobs, database):
    job = jobs.submit("k", {})
    _deaths(database, [3, 3, None, 2])
    assert jobs.get(job.id).state == "waiting"
    _deaths(database, [3])
    failed = jobs.get(job.id)
    assert failed.state == "failed"
    assert "it died, again and again at the same place" in failed.reason
    assert "last words" in failed.reason
    assert jobs.retry(job.id).state == "waiting"
    _deaths(database, [3])
    assert jobs.get(job.id).state == "waiting"


def test_kills_from_outside_say_less_against_a_job_than_crashes(jobs, database):
    job = jobs.submit("k", {})
    _deaths(database, [3] * 19, lease.KILLED)
    assert jobs.get(job.id).state == "waiting"
    _deaths(database, [3], lease.KILLED)
    assert jobs.get(job.id).state == "failed"


def test_a_job_that_gets_further_each_time_is_never_given_up(jobs, database):
    job = jobs.submit("k", {})
    _deaths(database, range(12))
    assert (jobs.get(job.id).state, jobs.get(job.id).attempts) == ("waiting", 12)


def test_a_death_after_cancelling_is_a_cancelled_job(jobs, database):
    job = jobs.submit("k", {})
    held = lease.claim(database, "t")
    jobs.cancel(job.id)
    lease.bury(database, held, lease.WorkerDeath("it died"))
    assert jobs.get(job.id).state == "cancelled"


def test_a_dead_workers_lock_is_free_and_a_living_ones_is_not(tmp_path):
    folder = folder_of(tmp_path)
    assert lease.kill_if_alive(folder, "never-started")
    script = (
        "import sys, time; from pathlib import Path\n"
        "from shuffleproof.core.execution.jobs_lease import identity\n"
        "with identity(Path(sys.argv[1]), 't'): print('in', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        assert not lease.kill_if_alive(folder, "t")
        assert process.wait(5) == -9
    assert lease.kill_if_alive(folder, "t")
    assert list((folder / "workers").iterdir()) == []


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


def test_a_store_that_cannot_be_written_is_said_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError):
        Jobs(tmp_path / "file").list()


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
    for line in range(20_000):
        append(path, b"%d %s\n" % (line, b"-" * 90))
    assert path.stat().st_size <= LOG_BYTES
    assert path.read_bytes().startswith(DROPPED)
    last = tail(path, 1000)
    assert last.startswith("1999")
    assert last.endswith("-\n")
    assert tail(tmp_path / "none.log", 10) == ""


def test_a_log_that_cannot_be_written_does_not_stop_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    script = "import sys\nfor line in range(9999): print('x' * 99)\nsys.exit(7)"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        LogPump(process.stdout, tmp_path / "file" / "x.log", "heading").join(10)
        assert process.wait(10) == 7


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


def test_asking_whether_a_supervisor_runs_does_not_keep_one_from_starting(tmp_path):
    folder = folder_of(tmp_path)
    with only_one(folder) as ours:
        assert ours
        assert is_running(tmp_path)
        with only_one(folder) as second:
            assert not second
    assert not is_running(tmp_path)
    with (folder / "supervisor.lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        Timer(0.05, fcntl.flock, (asking, fcntl.LOCK_UN)).start()
        with only_one(folder) as ours:
            assert ours


def test_the_web_process_pays_nothing():
    script = "import sys, shuffleproof.core.execution.jobs; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(answer.stdout.decode().split())
    assert not loaded & {"torch", "lightgbm", "numba", "numpy", "pandas", "pickle"}


def test_the_same_job_at_another_time_is_the_same_job(jobs):
    job = jobs.submit("train", {"ranker": "dlcm"})
    assert replace(job, created=1.0, started=2.0, finished=3.0) == job
    assert replace(job, attempts=1) != job


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
