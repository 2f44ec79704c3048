"""The table of what can be handed in, and one real training killed on its way."""

import signal
import subprocess
import sys

import pytest

from core.errors import ParameterError, UnknownNameError
from core.execution.jobs_only_one import HOME, is_running
from core.store.artefacts import Store
from core.store.keys import key_of
from core.studies.jobs import KINDS, PROGRAM, ensure_running, jobs_of, submit
from tests.job_watch import kill, processes, send, until

FIGURE = {"data": "sample", "rankers": ["dlcm"], "perturbations": [["transpositions", 5]]}


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    kill(processes(str(tmp_path)))


@pytest.fixture
def store(folder):
    return Store(folder / "store")


def test_what_is_left_out_is_the_same_as_its_default(store):
    short = submit(store, "initial-ranking", FIGURE)
    assert submit(store, "initial-ranking", FIGURE | {"draws": 10, "preset": "small"}) == short
    assert submit(store, "initial-ranking", FIGURE | {"draws": 11}).id != short.id


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("train", {"data": "sample"}),
        ("train", {"data": "sample", "ranker": "dlcm", "module": "os"}),
        ("train", {"data": "sample", "ranker": "dlcm", "store": "/"}),
        ("invariance", {"data": "sample", "rankers": ["dlcm"], "seed": float("inf")}),
    ],
)
def test_impossible_parameters_are_refused_before_anything_runs(store, kind, parameters):
    with pytest.raises(ParameterError):
        submit(store, kind, parameters)
    assert jobs_of(store).list() == ()


@pytest.mark.parametrize("kind", ["os:system", "core.studies.jobs:main", ""])
def test_nothing_but_the_table_can_be_handed_in(store, kind):
    with pytest.raises(UnknownNameError):
        submit(store, kind, {"data": "sample"})
    with pytest.raises(UnknownNameError):
        jobs_of(store).submit(kind, {})


def test_a_name_means_what_it_meant_when_the_work_was_handed_in(store):
    def named(content):
        key = key_of("dataset", {"content": content})
        store.add(key, {}, lambda folder: (folder / "x").write_text(content) and None)
        store.set_name("mine", key)

    named("first")
    first = submit(store, "train", {"data": "mine", "ranker": "dlcm"})
    named("second")
    second = submit(store, "train", {"data": "mine", "ranker": "dlcm"})
    assert first.id != second.id
    assert first.parameters["pinned"] != second.parameters["pinned"]


def test_the_table_loads_neither_torch_nor_lightgbm():
    script = "import sys, core.studies.jobs; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, cwd=HOME
    )
    assert KINDS
    assert not set(answer.stdout.decode().split()) & {"torch", "lightgbm", "numba", "pandas"}


def test_wrong_names_fail_with_their_reason(store):
    job = submit(store, "train", {"data": "sample", "ranker": "no-such-ranker"})
    ran = subprocess.run([*PROGRAM, "supervise", str(store.root), "0.5"], cwd=HOME, check=False)
    assert ran.returncode == 0
    failed = jobs_of(store).get(job.id)
    assert failed.state == "failed"
    assert "no-such-ranker" in failed.reason


@pytest.mark.slow
def test_a_real_training_that_was_killed_ends_as_if_it_had_not_been(folder):
    wanted = {"data": "sample", "ranker": "dlcm", "changes": {"epochs": "10"}}
    wanted["lists"] = {"initial": ["feature:1"]}
    left, killed = Store(folder / "left alone"), Store(folder / "killed")
    job = submit(left, "train", wanted)
    assert submit(killed, "train", wanted).id == job.id
    assert ensure_running(left)
    assert ensure_running(killed)
    for turn in range(2):
        until(lambda turn=turn: _epochs(killed, job) > 2 * turn, 60)
        _kill(killed)
    assert _weights(left, job, 1) == _weights(killed, job, 3)


def _weights(store, job, attempts):
    until(lambda: jobs_of(store).get(job.id).ended, 60)
    ended = jobs_of(store).get(job.id)
    assert (ended.state, ended.attempts) == ("done", attempts), ended.reason
    send(signal.SIGTERM, processes(str(store.root), "supervise"))
    until(lambda: not is_running(store.root))
    artefact = store.resolve(ended.result["artefact"])
    files = [path for path in artefact.path.iterdir() if path.name != "manifest.json"]
    return {path.name: path.read_bytes() for path in files}


def _epochs(store, job):
    progress = jobs_of(store).get(job.id).progress
    return progress["done"] if progress and progress["unit"] == "epochs" else 0


def _kill(store):
    before = jobs_of(store).list("running")[0].attempts
    kill(processes(str(store.root), "work"))
    until(lambda: any(job.attempts > before for job in jobs_of(store).list("running")))
