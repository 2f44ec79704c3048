"""What jobs measured on their way: kept line by line, whole after kills, bounded."""

import numpy as np
import pytest

from shuffleproof.core.errors import JobError
from shuffleproof.core.execution import jobs_history
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.execution.jobs_worker import JobRow, Ticker
from shuffleproof.core.progress import Progress
from tests.job_kinds import KINDS


def epoch(done, **values):
    return Progress(done, 30, "epochs", values)


def test_steps_come_back_as_they_were_reported(tmp_path):
    path = tmp_path / "history" / "a.jsonl"
    for done in (1, 2, 3):
        jobs_history.add(path, epoch(done, loss=1 / done, valid=np.float32(0.5)))
    steps = jobs_history.read_steps(path)
    assert [(step.done, step.total, step.unit) for step in steps] == [
        (1, 30, "epochs"), (2, 30, "epochs"), (3, 30, "epochs"),
    ]  # fmt: skip
    assert [dict(step.values) for step in steps] == [
        {"loss": 1 / done, "valid": 0.5} for done in (1, 2, 3)
    ]
    assert list(steps) == sorted(steps, key=lambda step: step.at)


def test_work_that_starts_anew_takes_the_place_of_what_was(tmp_path):
    path = tmp_path / "a.jsonl"
    for done, loss in ((1, 9.0), (2, 8.0), (3, 7.0), (1, 1.0), (2, 0.5)):
        jobs_history.add(path, epoch(done, loss=loss))
    assert [(step.done, step.values["loss"]) for step in jobs_history.read_steps(path)] == [
        (1, 1.0), (2, 0.5),
    ]  # fmt: skip


def test_a_line_cut_short_by_a_kill_harms_no_other(tmp_path):
    path = tmp_path / "a.jsonl"
    jobs_history.add(path, epoch(1, loss=1.0))
    with path.open("a") as file:
        file.write('\n[2, 30, "epo')
    jobs_history.add(path, epoch(2, loss=0.5))
    assert [step.done for step in jobs_history.read_steps(path)] == [1, 2]


def test_values_that_are_no_numbers_are_kept_as_none(tmp_path):
    path = tmp_path / "a.jsonl"
    jobs_history.add(path, epoch(1, loss=float("nan")))
    assert jobs_history.read_steps(path)[0].values == {"loss": None}


def test_a_long_history_is_thinned_to_a_bound_and_keeps_its_last_step(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs_history, "HISTORY_BYTES", 4000)
    path = tmp_path / "a.jsonl"
    for done in range(1, 1001):
        jobs_history.add(path, epoch(done, loss=1.0))
    done = [step.done for step in jobs_history.read_steps(path)]
    assert path.stat().st_size <= 4000
    assert done == sorted(set(done))
    assert done[-1] == 1000
    assert len(done) >= 20


def test_reports_within_an_epoch_are_no_points_of_the_curve(tmp_path):
    jobs = Jobs(tmp_path, KINDS)
    job = jobs.submit("counting", {"name": "a", "steps": 1, "seconds": 0})
    ticker = Ticker(JobRow(tmp_path, job.id))
    try:
        for done in (0, 1, 2):
            for part in (0.25, 0.5, 0.75):
                ticker.note(Progress(done, 30, "epochs", {"lists_per_second": 9.0}, part))
                assert ticker.progress()["part"] == part
            ticker.note(epoch(done + 1, loss=1.0))
    finally:
        ticker.close()
    assert [step.done for step in jobs.history(job.id)] == [1, 2, 3]


def test_forgetting_a_job_forgets_its_history(tmp_path):
    jobs = Jobs(tmp_path, KINDS)
    job = jobs.submit("counting", {"name": "a", "steps": 1, "seconds": 0})
    path = jobs_history.history_path(jobs.folder, job.id)
    jobs_history.add(path, epoch(1, loss=1.0))
    assert len(jobs.history(job.id[:8])) == 1
    jobs.cancel(job.id)
    jobs.forget(job.id)
    assert not path.exists()
    with pytest.raises(JobError):
        jobs.history(job.id)
