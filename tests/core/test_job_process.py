"""Jobs on an executor: as their own process would do them, with progress, cancel, retries, logs."""

import os
import signal
import subprocess
from dataclasses import replace

import pytest
import torch

from shuffleproof.core import job_process, sharing
from shuffleproof.core.errors import ArtefactError, ParameterError, UsageError
from shuffleproof.core.execution.executor import (
    ExecutorSettings,
    configured,
    keep_settings,
    settings,
)
from shuffleproof.core.execution.jobs_only_one import HOME
from shuffleproof.core.execution.jobs_slots import cores
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.jobs import PROGRAM, jobs_of, submit
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.board import board_of, name_for
from tests.job_watch import kill, processes, send, until

LISTS = {"initial": ["feature:1"]}
SHORT = {"data": "sample", "ranker": "dlcm", "changes": {"epochs": "4"}, "lists": LISTS}
SLOW = {"epochs": "400", "least_steps": "60"}  # an epoch lasts longer than a worker takes to stop
LONG = {"data": "sample", "ranker": "dlcm", "changes": SLOW, "lists": LISTS}
WORKERS = ("shuffleproof.core.execution.worker",)


@pytest.fixture
def store(tmp_path):
    yield Store(tmp_path / "store")
    kill(processes(tmp_path))


def supervised(store, where, **more):
    """A supervisor whose jobs go to an executor; it ends when there is nothing to do."""
    given = {"SHUFFLEPROOF_EXECUTOR": where, "SHUFFLEPROOF_WORKERS": "1", **more}
    command = [*PROGRAM, "supervise", str(store.root), "0.5"]
    return subprocess.Popen(command, cwd=HOME, env=os.environ | given)


def ended(store, job):
    until(lambda: jobs_of(store).get(job.id).ended, 90)
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


def left(store):
    """Assignments, what was told of them, and claims that are still there."""
    return [*(store.root / "shared").glob("*.*"), *(store.root / "claims").glob("*")]


@pytest.mark.parametrize("where", ["processes:1", "slurm:local"])
def test_a_training_by_a_worker_is_told_as_one_that_is_made_here(store, alone, where):
    if where.startswith("slurm"):
        pytest.importorskip("submitit")
    job = submit(store, "train", SHORT)
    assert supervised(store, where).wait(90) == 0
    done = ended(store, job)
    assert (done.state, done.attempts) == ("done", 1), done.reason
    assert not done.result["cached"], "a worker made it for this job"
    epochs = [one for one in jobs_of(store).history(job.id) if one.unit == "epochs"]
    assert [one.done for one in epochs] == [1, 2, 3, 4]
    assert {"loss", "valid"} <= set(epochs[0].values)
    assert f"asking {where} for what is missing" in jobs_of(store).log(job.id)
    assert left(store) == []
    assert files_of(store, done.result) == alone


def test_a_cancelled_job_stops_its_workers_and_goes_on_when_it_is_tried_again(store):
    job = submit(store, "train", LONG)
    supervisor = supervised(store, "processes:1")
    until(lambda: (jobs_of(store).get(job.id).progress or {}).get("done", 0) > 1, 60)
    jobs_of(store).cancel(job.id)
    assert ended(store, job).state == "cancelled"
    assert jobs_of(store).get(job.id).reason == ""
    until(lambda: not left(store))
    assert supervisor.wait(30) == 0
    before = jobs_of(store).history(job.id)[-1].done
    jobs_of(store).retry(job.id)
    again = supervised(store, "processes:1")
    until(lambda: jobs_of(store).history(job.id)[-1].done > before, 60)
    steps = [one.done for one in jobs_of(store).history(job.id) if one.unit == "epochs"]
    assert steps == sorted(set(steps)), "it went on from its checkpoint: no epoch is done again"
    assert len(steps) >= steps[-1] - 1, "at most the epoch told while it was stopped is missing"
    again.terminate()
    assert again.wait(30) == 0


def test_a_job_whose_process_dies_is_tried_again_and_leaves_no_question_behind(store):
    job = submit(store, "train", LONG | {"changes": SLOW | {"epochs": "12"}})
    supervisor = supervised(store, "processes:1")
    until(lambda: (jobs_of(store).get(job.id).progress or {}).get("done", 0) > 1, 60)
    (asked,) = (store.root / "shared").glob("*.json")
    send(signal.SIGKILL, processes(store.root, "work"))
    assert ended(store, job).state == "done"
    assert jobs_of(store).get(job.id).attempts == 2
    assert not asked.exists()
    assert supervisor.wait(30) == 0
    assert left(store) == []


@pytest.mark.parametrize(
    ("where", "reason"),
    [("cloud", "'cloud'"), ("processes:none", "processes:N"),
     ("slurm:local,gpus=0.5", "whole GPUs"), ("ray,cores=2", "cpus=WHOLE")],
)  # fmt: skip
def test_an_executor_that_is_none_fails_the_job_in_a_sentence(store, monkeypatch, where, reason):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", where)
    with pytest.raises(UsageError, match=f"^SHUFFLEPROOF_EXECUTOR: .*{reason}"):
        run_to_end(job_process.do_job("train", store, SHORT))
    with pytest.raises(ArtefactError, match="7777"):  # the job's own refusal: it is done here
        run_to_end(job_process.do_job("examine", store, {"artefact": "data-7777"}))
    assert left(store) == []


def test_where_jobs_go_stands_in_the_environment(monkeypatch):
    monkeypatch.delenv("SHUFFLEPROOF_EXECUTOR", raising=False)
    assert configured() is None
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes:3")
    assert configured() == ExecutorSettings("processes:3")
    monkeypatch.setenv("SHUFFLEPROOF_WORKERS", "2")
    with pytest.raises(UsageError, match="has 3 workers, not 2"):
        configured()
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes")
    assert configured() == ExecutorSettings("processes", 2)
    monkeypatch.setenv("SHUFFLEPROOF_WORKERS", "none")
    with pytest.raises(ParameterError, match="from 1 on"):
        configured()
    monkeypatch.delenv("SHUFFLEPROOF_EXECUTOR")
    with pytest.raises(UsageError, match="SHUFFLEPROOF_EXECUTOR is not set"):
        configured()


def test_the_last_who_starts_says_where_jobs_go(tmp_path, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes:3")
    folder = tmp_path / "jobs"
    assert configured(folder) == ExecutorSettings("processes:3")
    monkeypatch.delenv("SHUFFLEPROOF_EXECUTOR")
    keep_settings(folder)
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes:3")
    assert configured(folder) is None
    assert settings(folder) == {"SHUFFLEPROOF_EXECUTOR": "", "SHUFFLEPROOF_WORKERS": ""}
    keep_settings(folder)
    monkeypatch.delenv("SHUFFLEPROOF_EXECUTOR")
    assert configured(folder) == ExecutorSettings("processes:3")


def test_why_a_worker_ended_early_stands_in_the_log_and_the_job_is_done_all_the_same(
    store, monkeypatch, caplog
):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "serial")
    real = sharing._hand_out

    def of_another_version(board, *given):
        name = real(board, *given)
        path = store.root / "shared" / name
        path.write_text(path.read_text().replace(sharing.code(), "0" * 12))
        return name

    monkeypatch.setattr(sharing, "_hand_out", of_another_version)
    result = run_to_end(job_process.do_job("train", store, SHORT))
    assert not result["cached"]
    assert "install the same versions on every machine" in caplog.text
    assert left(store) == []


def test_what_workers_tell_is_heard_once_and_only_what_leads_further(store):
    board = board_of(store)
    name = name_for(board, "mine")
    board.post(name, "{}")
    ear = sharing._Ear(board, name, "ray")
    (first,) = ear.reports()
    assert (first.done, first.total, first.unit) == (0, 1, "units by ray")
    one, two = (sharing._Voice(board, name) for _ in range(2))
    progress = replace(first, done=3, total=9, unit="epochs", values={"loss": 0.5})
    one.report(progress)
    two.report(replace(progress, done=2))
    heard = list(ear.reports())
    assert [found.done for found in heard if found.values] in ([3], [2, 3])
    assert (heard[-1].done, heard[-1].values) == (3, {})
    one.report(replace(progress, done=4))
    with (store.root / "shared" / f"{name}.lines" / one.worker).open("a") as file:
        file.write('{"done": 5, "total"')  # a full disk
    assert [found.done for found in ear.reports()] == [4, 4]
    other = name_for(board, "mine")
    board.post(other, "{}")
    assert board.names() == [other], "what nobody took back went when they asked again"
    one.report(replace(progress, done=6))
    assert list(board.hear(name, {})) == []
    two._tell({"done": 1})
    assert list(board.hear(name, {})) == []
    voice = sharing._Voice(board, other)
    voice.report(progress)
    assert board.hear(other, {}) == [], "nobody hears"
    board.listen(other)
    voice.report(progress)
    board.finish(other)
    assert len(board.hear(other, {})) == 1, "who asked hears the last of it"
