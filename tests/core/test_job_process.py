"""Jobs on an executor: as their own process would do them, with progress, cancel, retries, logs."""

import signal

import psutil
import pytest
import torch

from shuffleproof.core import job_process
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.execution.executor import configured
from shuffleproof.core.execution.machine import cores
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.jobs import PROGRAM, jobs_of, start_waiting, submit
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.workers import UNIT
from tests.job_watch import kill, processes, send, until

pytestmark = pytest.mark.slow

LISTS = {"initial": ["feature:1"]}
SHORT = {"data": "sample", "ranker": "dlcm", "changes": {"epochs": "4"}, "lists": LISTS}


@pytest.fixture
def store(tmp_path):
    yield Store(tmp_path / "store")
    kill(processes(tmp_path))


def ended(store, job):
    """The job at its end; somebody looks until then."""

    def is_ended():
        start_waiting(store)
        return jobs_of(store).get(job.id).ended

    until(is_ended, 90)
    return jobs_of(store).get(job.id)


def files_of(store, result):
    place = store.resolve(result["artefact"]).path
    return {one.name: one.read_bytes() for one in place.iterdir() if one.name != "manifest.json"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What the short training leaves where this process does it."""
    store, threads = Store(tmp_path_factory.mktemp("alone")), torch.get_num_threads()
    torch.set_num_threads(cores())  # as the only worker has them: more threads add up otherwise
    try:
        return files_of(store, run_to_end(KINDS["train"](store, **SHORT)))
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("where", ["processes:1", "slurm:local"])
def test_a_training_by_a_worker_is_the_one_that_is_made_here(store, alone, where, monkeypatch):
    if where.startswith("slurm"):
        pytest.importorskip("submitit")
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", where)
    job = submit(store, "train", SHORT)
    done = ended(store, job)
    assert (done.state, done.attempts) == ("done", 1), done.reason
    assert not done.result["cached"], "it was made for this job"
    assert files_of(store, done.result) == alone


STUDY = {
    "data": "sample", "rankers": ["dlcm@small", "dlcm-listmle@small"], "seeds": 2, "lists": LISTS,
}  # fmt: skip


def workers(store):
    """The processes of a job's pool."""
    own = [psutil.Process(number) for number in processes(store.root, PROGRAM[-1])]
    return [one for job in own for one in job.children() if "spawn_main" in "".join(one.cmdline())]


def is_alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_job_that_is_cancelled_or_dies_ends_its_workers_and_goes_on_later(store, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes:2")
    job = submit(store, "benchmark", STUDY)
    start_waiting(store)
    until(lambda: (jobs_of(store).get(job.id).progress or {}).get("unit") == UNIT, 60)
    until(lambda: workers(store), 60)
    begun = workers(store)
    jobs_of(store).cancel(job.id)
    assert ended(store, job).state == "cancelled"
    until(lambda: not any(map(is_alive, begun)))
    jobs_of(store).retry(job.id)
    start_waiting(store)
    until(lambda: workers(store), 60)
    begun = workers(store)
    send(signal.SIGKILL, processes(store.root, PROGRAM[-1]))
    until(lambda: not any(map(is_alive, begun)))
    done = ended(store, job)
    assert (done.state, done.attempts) == ("done", 3), done.reason


@pytest.mark.parametrize(
    ("where", "reason"),
    [("cloud", "'cloud'"), ("processes:none", "processes:N"),
     ("slurm:local,gpus=0.5", "gpus=N"), ("ray,cores=2", "cpus=N")],
)  # fmt: skip
def test_an_executor_that_is_none_fails_the_job_in_a_sentence(store, monkeypatch, where, reason):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", where)
    with pytest.raises(UsageError, match=f"^SHUFFLEPROOF_EXECUTOR: .*{reason}"):
        run_to_end(job_process.do_job("train", store, SHORT))
    with pytest.raises(
        DataError, match="not in the store any more"
    ):  # the job's own refusal: it is done here
        run_to_end(job_process.do_job("library-import", store, {"upload": "7777", "name": "a"}))


def test_where_jobs_go_stands_in_the_environment(monkeypatch):
    monkeypatch.delenv("SHUFFLEPROOF_EXECUTOR", raising=False)
    assert not configured()
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", " processes:3")
    assert configured() == "processes:3"
