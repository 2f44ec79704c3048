"""Workers of an executor: what they make is what one process makes alone, whoever dies."""

import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import DivergedError, ShuffleproofError
from shuffleproof.core.execution import tasks
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import MANIFEST
from shuffleproof.core.studies import cells
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import TIMES, StudyResult
from shuffleproof.core.workers import UNIT, workers_of
from tests.synthetic import planted

pytestmark = pytest.mark.slow

LISTS = {"depth": 12, "initial": ["mart@small"]}
ASKED = {"rankers": ["ranksvm", "mart"], "seeds": 1, "measures": ["NDCG@10"]}
FILES = ("model.txt", "weights.safetensors", "scores.safetensors")
LOGS = "ignore:unclosed file .*_log:ResourceWarning"  # of submitit's own


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    fold = planted(queries=(30, 12, 12), seed=1, documents=15)
    for part, name in ((fold.train, "train"), (fold.valid, "vali"), (fold.test, "test")):
        write(part, folder / f"{name}.txt")
    return str(folder)


def answered(store, data, where=None, watch=None):
    with workers_of(store, where):
        work = Benchmark.from_plain(ASKED).answer(Scope(store, data, LISTS, "small"))
        return StudyResult.open(run_to_end(work, watch).path)


def contents(store):
    """What was trained and scored, by artefact and file."""
    return {
        (str(one.key), name): (one.path / name).read_bytes()
        for one in store.artefacts()
        for name in FILES
        if (one.path / name).exists()
    }


def files_of(result):
    """What is stored of a study, but for what a clock measured and when it was stored."""
    files = {path.name: path.read_bytes() for path in result.directory.iterdir()}
    assert {files.pop(MANIFEST), files.pop(TIMES)}
    return files


@pytest.fixture(scope="module")
def alone(tmp_path_factory, data):
    store = Store(tmp_path_factory.mktemp("alone"))
    return files_of(answered(store, data)), contents(store)


@pytest.fixture
def two_nodes(monkeypatch):
    """A Ray cluster of two nodes with a CPU each, both processes of this machine."""
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.shutdown()  # what other tests started
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(
    params=[
        "processes:2",
        "ray",
        pytest.param("slurm:local", marks=pytest.mark.filterwarnings(LOGS)),
    ]
)
def where(request):
    """An executor that is there."""
    if request.param == "ray":
        return f"ray:{request.getfixturevalue('two_nodes').address},workers=2"
    if request.param.startswith("slurm"):
        pytest.importorskip("submitit")
    return request.param


def made_elsewhere(monkeypatch):
    """Let this process fail where it would compute a cell."""

    def refuse(*_):
        pytest.fail("a cell was computed by the process that asked")

    monkeypatch.setattr(cells, "_stored_cell", refuse)


def test_workers_make_the_same_as_one_process_alone(alone, data, tmp_path, where, monkeypatch):
    made_elsewhere(monkeypatch)
    store, reports = Store(tmp_path), []
    before = set(Path(tempfile.gettempdir()).glob("shuffleproof-*"))
    result = answered(store, data, where, reports.append)
    assert set(Path(tempfile.gettempdir()).glob("shuffleproof-*")) <= before, "copies were left"
    assert files_of(result) == alone[0]
    assert contents(store) == alone[1]
    counted = [one for one in reports if one.unit == UNIT]
    assert any(one.done == one.total for one in counted)
    assert not [*(store.root / "incoming").iterdir()]


def test_a_node_that_dies_loses_nothing(alone, data, tmp_path, two_nodes):
    store, killed = Store(tmp_path), []
    lost = next(iter(two_nodes.worker_nodes))

    def kill(_):
        if not killed and len(contents(store)) >= 2:  # both nodes are at work
            two_nodes.remove_node(lost, allow_graceful=False)
            killed.append(len(contents(store)))

    result = answered(store, data, f"ray:{two_nodes.address}", kill)
    assert killed
    assert killed[0] < len(alone[1])
    assert files_of(result) == alone[0]
    assert contents(store) == alone[1]


def test_a_process_that_is_killed_loses_nothing(alone, data, tmp_path):
    store, killed = Store(tmp_path), []

    def kill(report):
        if not killed and report.unit == UNIT and report.done:
            victim = next(
                one for one in psutil.Process().children() if "spawn_main" in "".join(one.cmdline())
            )
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    result = answered(store, data, "processes:2", kill)
    assert killed
    assert files_of(result) == alone[0]
    assert contents(store) == alone[1]


LISTLESS = {
    "retrieval": {"retrievers": ["bm25", "lsi"], "seeds": 1, "queries": 8},
    "preferences": {
        "aggregators": ["goa", "borda"], "disturbances": ["calls"], "levels": [1.0], "sizes": [],
        "queries": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", LISTLESS)
def test_cells_of_collections_and_preferences_are_computed_by_workers(kind, tmp_path, monkeypatch):
    values = {**LISTLESS[kind], "data": "sample"}
    own, store = Store(tmp_path / "own"), Store(tmp_path / "workers")
    results = [run_to_end(KINDS[kind](own, **values))]
    made_elsewhere(monkeypatch)
    with workers_of(store, "processes:2"):
        results.append(run_to_end(KINDS[kind](store, **values)))
    studies = [
        StudyResult.open(place.resolve(answer["artefact"]).path)
        for place, answer in zip((own, store), results, strict=True)
    ]
    kept = [
        at for at, name in enumerate(studies[0].recipe["stored"])
        if name not in {"milliseconds", "seconds"}
    ]  # fmt: skip
    np.testing.assert_array_equal(*(study.values[:, kept] for study in studies))


def learn(store, name):
    """A task: stores a record, fails, or tells the label of the first test document."""
    yield Progress(0, 1, "steps")
    if name == "diverges":
        raise DivergedError("dlcm", 3, 0.1)
    if name == "breaks":
        raise ZeroDivisionError("by design")
    if name == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    labels = resolve("sample", store).test.labels
    store.records.put("0" * 64, {"label": float(labels[0])}, {})


def test_what_a_task_fails_with_is_told_and_the_others_end(tmp_path):
    from functools import partial

    store = Store(tmp_path)
    names = ["works", "diverges", "breaks"]
    with workers_of(store, "processes:2"):
        errors = run_to_end(tasks.run_tasks(partial(learn, store), names))
        assert errors[0] is None
        assert type(errors[1]) is DivergedError
        assert str(errors[1]) == str(DivergedError("dlcm", 3, 0.1))
        assert "ZeroDivisionError: by design" in str(errors[2])
        assert ("0" * 64) in store.records
        dead = run_to_end(tasks.run_tasks(partial(learn, store), ["dies", "dies"]))
        assert all(isinstance(error, ShuffleproofError) and "died" in str(error) for error in dead)
    assert run_to_end(tasks.run_tasks(partial(learn, store), ["dies"])) == [None], (
        "there are none now"
    )


def test_what_cannot_be_pickled_is_done_here(tmp_path, caplog):
    with workers_of(Store(tmp_path), "processes:2"), (tmp_path / "x").open("w") as file:

        def work(item):
            yield Progress(0, 1, "steps")
            return file.name, item

        assert run_to_end(tasks.values_of(work, [1, 2])) == [(file.name, 1), (file.name, 2)]
    assert "workers cannot be sent this" in caplog.text


def test_tune_with_workers_proposes_a_trial_for_each(tmp_path, capsys):
    words = ["--store", str(tmp_path), "--initial", "feature:3", "--trials", "5", "--json"]
    command = ["tune", "ranksvm", *words, "--executor", "processes:2"]
    assert main(command) == 0
    capsys.readouterr()
    preset = named_presets.find(Store(tmp_path), "ranksvm", "tuned_sample")
    assert preset.trials == 5
    other = tmp_path / "alone"
    words[1] = str(other)
    assert main(["tune", "ranksvm", *words, "--at-once", "2"]) == 0
    here = named_presets.find(Store(other), "ranksvm", "tuned_sample")
    rows = [
        [(row["fields"], row["state"], row["value"]) for row in one.history]
        for one in (preset, here)
    ]
    assert rows[0] == rows[1], "the search is the same whoever makes its trials"


def test_a_command_says_what_goes_with_workers(tmp_path, capsys):
    words = ["train", "ranksvm@small", "--store", str(tmp_path), "--initial", "feature:1"]
    assert main([*words, "--executor", "processes:2"]) == 0
    assert "trained" in capsys.readouterr().out
    assert main(["study", "benchmark", "--executor", "processes:2", "--max-seconds", "9"]) == 2
    assert "--max-seconds" in capsys.readouterr().err
    assert Path(tmp_path / "artefacts").is_dir()
