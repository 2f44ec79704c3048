"""The benchmark's jobs, their names in the help, and the page and history of their rows."""

import ast
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from shuffleproof.core import bench
from shuffleproof.core.bench import (
    cluster,
    cluster_cells,
    epochs,
    gpu,
    machine,
    page,
    peak,
    result,
    scaling,
    setrank,
    shell,
    softrank,
)
from shuffleproof.core.bench.machine import Machine
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.cli import work
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.cli.flags_work import BENCH_JOBS
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.models.config import SETRANK_PRESETS
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.training.loop import EpochReport, StepReport


def jobs_of(module):
    """The names in a module's JOBS."""
    for line in ast.parse(module.read_text()).body:
        if isinstance(line, ast.AnnAssign) and line.target.id == "JOBS":
            return [key.value for key in line.value.keys]
    return []


def test_the_help_names_every_job(capsys):
    modules = sorted(Path(bench.__path__[0]).glob("*.py"))  # importing them all takes seconds
    assert tuple(name for module in modules for name in jobs_of(module)) == BENCH_JOBS
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(name in said.replace("- ", "-") for name in BENCH_JOBS)


def test_a_softrank_epoch_is_timed_beside_one_of_attention_rank(monkeypatch):
    case = softrank.Case("dlcm", "small", 10, 8)
    losses = []
    real = softrank.timed

    def timed(specs, *rest, **named):
        losses.extend(spec.training.loss for spec in specs)
        return real(specs, *rest, **named)

    monkeypatch.setattr(softrank, "timed", timed)
    row = softrank._row(case, repeats=1)
    assert losses == ["softrank", "attention-rank"]
    assert row.ratio == pytest.approx(20 * row.peer / row.ours)
    assert row.floor == 1.0
    assert "at most 20 ×" in row.note


def test_epochs_are_timed_within_one_training_in_turns(monkeypatch):
    """What a training makes ready in its first epoch, such as recorded steps, serves the others."""
    trained, turns = [], []

    def train(_network, _data, recipe):
        trained.append(recipe)
        for rate in (1.0, 4.0, 2.0):
            turns.append(recipe.seed)
            yield StepReport(0, 3, 0.5, 1.0, 1.0)
            yield EpochReport(1, 3, 0.0, 0.0, 1, 0.1, rate)

    monkeypatch.setattr(epochs, "train", train)
    specs = [NeuralSpec.preset("dlcm", "small", seed=seed) for seed in (1, 2)]
    data = epochs.data_of(8, 5, 6, "cpu")
    found = epochs.timed(specs, data, lambda: turns.append("peer"), repeats=2)
    assert found == [2.0, 2.0]
    assert turns == [1, 2, "peer"] * 3
    assert {(one.epochs, one.patience, one.least_steps) for one in trained} == {(3, None, 1)}


@pytest.mark.skipif(torch.cuda.is_available(), reason="a rehearsal is for machines without one")
def test_without_a_gpu_every_goal_is_rehearsed_and_none_is_said_to_be_met(monkeypatch):
    monkeypatch.setattr(gpu, "MatrixProduct", partial(gpu.MatrixProduct, sides={64: 1}))
    rows = [row for job in gpu.JOBS.values() for row in job(quick=True)]
    assert [row.job for row in rows] == [
        "gpu-train msab N=10, batches of 4", "gpu-train msab epoch N=10, batches of 4",
        "gpu-train imsab N=10, batches of 4", "gpu-train msab N=10, batches of 8",
        "gpu-train msab epoch N=10, batches of 8", "gpu-train imsab N=10, batches of 8",
        "gpu-train msab N=60, batches of 4", "gpu-train imsab N=60, batches of 4",
        "gpu-score msab N=10", "gpu-score msab N=60", "gpu-table2, neural rows",
    ]  # fmt: skip
    for row in rows:
        assert "GPU not measured: a rehearsal on the CPU" in row.note
        assert page.verdict(row) == "not measured"
        assert re.search(r"; \S+ s, \S+ × .* where a GPU's goal is (0.25|0.35|0.4|1)$", row.note)
    neural = [name for name in expand(["table2"]) if name in FIXED]
    assert len(neural) == 8
    assert all(f"{name} " in rows[-1].note for name in neural)


def test_on_a_gpu_the_goals_have_floors(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    place = gpu.Place.of_this_machine(quick=False)
    assert (place.device, place.preset, place.table) == ("cuda", "paper", (18_919, 6_306, 6_306, 3))
    assert [(one.docs, one.lists, one.share, one.seconds) for one in place.sizes] == [
        (40, 19_000, 0.25, 1.0), (40, 19_000, 0.25, 1.0), (240, 3_200, 0.35, None)
    ]  # fmt: skip
    goal = gpu._within("a", 2.0, 1.0, "note")
    assert place.row(goal) is goal
    assert (goal.ratio, goal.floor, page.verdict(goal)) == (0.5, 1.0, "**missed**")
    monkeypatch.setattr(gpu, "difference_from_cpu", lambda *_: 2e-4)
    assert [(row.ours, "not timed" in row.note) for row in gpu._wrong("a", place)] == [(None, True)]


@pytest.mark.parametrize("has_units", [True, False])
def test_a_step_in_bf16_is_held_against_the_peak_and_its_profile_says_where_time_goes(
    monkeypatch, has_units
):
    monkeypatch.setattr(setrank, "TRAINING", (setrank.Size(4, 1, (None, None)),))
    monkeypatch.setattr(setrank, "PAPER", SETRANK_PRESETS["small"])
    monkeypatch.setattr(setrank, "MatrixProduct", partial(setrank.MatrixProduct, sides={64: 1}))
    monkeypatch.setattr(setrank, "has_amx", lambda: has_units)
    rows = [row for row in setrank.training(quick=True) if "share of the matrix peak" in row.job]
    assert [row.job.split(",")[0] for row in rows] == [
        "setrank-train msab bf16 N=4", "setrank-train imsab bf16 N=4"
    ]  # fmt: skip
    for row in rows:
        assert (row.floor, row.ratio) == (
            0.6 if has_units else None,
            pytest.approx(row.limit / row.ours),
        )
        assert re.match(r"of 5 profiled steps products take [\d.]+ %, at [\d.]+ % of", row.note)


def test_no_network_can_multiply_faster_than_its_limit(monkeypatch):
    """The limit is the networks' own product, and the best of all times that it ran."""
    called = []
    monkeypatch.setattr(peak, "dense", lambda *one: called.append(one))
    times = iter([0.0, 1.0, 1.0, 3.5, 3.5, 8.0])
    monkeypatch.setattr(peak.time, "perf_counter", lambda: next(times))
    product = peak.MatrixProduct(torch.float32, sides={4: 1, 8: 2})
    product()
    assert [len(left) for left, _ in called] == [4, 8, 8]
    assert product.rate == 2 * 8**3 / 2.5, "the best of all sizes and turns"


def test_times_are_the_least_of_turns_in_which_the_jobs_alternate(monkeypatch):
    order, clock = [], iter([0.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 16.0])
    monkeypatch.setattr(result.time, "perf_counter", lambda: next(clock))
    found = result.interleave(lambda: order.append("a"), lambda: order.append("b"), repeats=2)
    assert order == ["a", "b"] * 3
    assert found == (1, 1)


def test_a_start_is_timed_by_its_least_cpu_seconds_beside_ceilings_and_peers(monkeypatch):
    asked = []
    monkeypatch.setattr(shell, "least", lambda words, *_: asked.append(words) or 0.5)
    monkeypatch.setattr(shell, "find_spec", lambda name: name == "ir_measures")
    rows = shell.shell(quick=True)
    assert {row.job for row in rows} >= {"help", "stored study", "stored ranker", "HTML report"}
    assert ["-c", "import ir_measures"] in asked
    by = {(row.job, row.peer_name): row for row in rows}
    assert (by["help", "our ceiling"].ratio, by["help", "our ceiling"].floor) == (0.6, 1.0)
    assert by["help", "import ir_measures"].ratio == 1
    assert "not installed" in by["help", "import ranx"].note


def row(job="a", ratio=3.0, **more):
    return BenchRow(job, 1.0, ratio, "b", ratio, **({"floor": 2.0} | more))


def run_of(rows, machine="cpu", *, quick=True):
    here = Machine(machine, 2, 24, "", "3.11", "2.13")
    return page.Run("2026-01-02T03:04:05+00:00", here, quick, {"memory (GB/s)": 9.5}, {"job": rows})


def test_the_page_says_machine_limits_rows_and_what_is_below_its_floor(tmp_path):
    at = tmp_path / "BENCHMARKS.md"
    gone = replace(row("gone"), ours=None, ratio=None, note="no GPU")
    rows = [row(), row("slow", 1.5), row("free", floor=None), gone]
    assert page.record_run(run_of(rows), at) == []
    text = at.read_text()
    for line in (
        "| processor | cpu |", "| memory (GiB) | 24 |", "| device | none |",
        "| memory (GB/s) | 9.5 |",
        "| a | 1 | b | 3 | 3.00 | 2.00 | – | met |",
        "| slow | 1 | b | 1.5 | 1.50 | 2.00 | – | **missed** |", "- slow beside b: 1.50 of 2.00.",
        "- gone: no GPU", "## Job job",
    ):  # fmt: skip
        assert line in text
    assert text.index("- slow beside b") < text.index("## The machine"), "what matters comes first"
    assert "1 meet their floor, 1 do not, 1 have none, 1 were not measured" in page.summary(
        run_of(rows), [], ""
    )


@pytest.mark.parametrize(
    ("now", "where", "named"),
    [
        (2.69, {}, True), (2.71, {}, False), (1.0, {"machine": "another"}, False),
        (1.0, {"quick": False}, False),
    ],
)  # fmt: skip
def test_what_lost_more_than_a_tenth_on_the_same_machine_is_named(tmp_path, now, where, named):
    at = tmp_path / "BENCHMARKS.md"
    page.record_run(run_of([row(ratio=5.0)]), at)
    page.record_run(run_of([row(ratio=3.0)]), at)
    slower = page.record_run(run_of([row(ratio=now)], **where), at)
    assert bool(slower) == named
    assert ("a beside b: 3 → 2.69 (10 % less than on 2026-01-02)." in at.read_text()) == named
    assert len(page.history_of(at).read_text().splitlines()) == 3


def test_a_job_without_a_peer_is_compared_by_its_share_of_the_limit(tmp_path):
    at = tmp_path / "BENCHMARKS.md"
    alone = replace(row(), ratio=None, peer=None, share_of_limit=0.5)
    page.record_run(run_of([alone]), at)
    assert page.record_run(run_of([replace(alone, share_of_limit=0.4)]), at)


def test_the_command_writes_the_page_and_ends_with_1_where_a_job_is_slower(tmp_path, monkeypatch):
    at, ratios, begun = tmp_path / "b.md", iter([3.0, 2.9, 2.0]), []

    def shell(_quick):
        begun.append("job")
        return [row(ratio=next(ratios))]

    monkeypatch.setattr(work, "_jobs", lambda: {"shell": shell})
    monkeypatch.setattr(machine, "limits", lambda: begun.append("limits") or {})
    asked = ["bench", "shell", "--quick", "--page", str(at)]
    assert main(asked) == 0
    assert "No earlier run of this machine is at hand." in at.read_text()
    assert "nothing to compare with." in at.read_text()
    assert main(asked) == 0
    assert "none slower than the last run of this machine (" in at.read_text()
    assert main(asked) == 1
    assert "a beside b: 2.9 → 2" in at.read_text()
    assert begun == ["limits", "job"] * 3, "limits are measured first"


def test_a_job_whose_peer_is_not_installed_is_told_and_the_others_go_on(monkeypatch, capsys):
    def ndcg(_quick):
        import nobody_has_this_module  # noqa: F401

    monkeypatch.setattr(work, "_jobs", lambda: {"ndcg": ndcg, "shell": lambda _: [row()]})
    assert main(["bench", "ndcg", "shell"]) == 0
    said = capsys.readouterr()
    assert "ndcg: nobody_has_this_module is not installed: pip install" in said.err
    assert len(said.out.strip().splitlines()) == 3, "a head and a row of each"


def test_a_benchmark_that_is_stopped_leaves_the_jobs_that_it_measured(tmp_path, monkeypatch):
    def stopped(_quick):
        raise KeyboardInterrupt

    at, jobs = tmp_path / "b.md", {"shell": lambda _: [row()], "ndcg": stopped}
    monkeypatch.setattr(work, "_jobs", lambda: jobs)
    monkeypatch.setattr(machine, "limits", dict)
    main(["bench", "shell", "ndcg", "--quick", "--page", str(at)])
    assert "| a | 1 | b | 3 |" in at.read_text()
    assert not page.history_of(at).read_text(), "no run that later ones are compared with"


@pytest.fixture
def refused(monkeypatch, capsys):
    """What a page is refused with before anything is measured."""
    monkeypatch.setattr(work, "_jobs", lambda: {"shell": lambda _: pytest.fail("measured")})
    monkeypatch.setattr(machine, "limits", lambda: pytest.fail("measured"))

    def refusal(at):
        assert main(["bench", "shell", "--page", str(at)]) == 1
        return capsys.readouterr().err

    return refusal


@pytest.mark.parametrize("line", [b'{"at":"2026', b"[1]", b'{"at":1,"figures":[]}', b"\xff"])
def test_a_damaged_history_is_told_by_its_line_before_anything_is_measured(tmp_path, refused, line):
    at = tmp_path / "b.md"
    page.record_run(run_of([row()]), at)
    with page.history_of(at).open("ab") as file:
        file.write(line)
    assert "b.history.jsonl:2: no run of the benchmark. Remove the line" in refused(at)


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, refused):
    assert "there is no folder" in refused(tmp_path / "none" / "b.md")
    assert "Is a directory" in refused(tmp_path)


def test_a_name_before_a_dash_means_all_its_jobs(monkeypatch, capsys):
    done = []
    jobs = {name: lambda _quick, name=name: done.append(name) or [] for name in BENCH_JOBS}
    monkeypatch.setattr(work, "_jobs", lambda: jobs)
    assert main(["bench", "gpu", "ndcg", "gpu-score", "ndcg"]) == 0
    assert done == ["gpu-train", "gpu-score", "gpu-table2", "ndcg"], "each of them once"
    assert main(["bench", "gp"]) == 2
    assert "no bench job is called 'gp'" in capsys.readouterr().err


def test_every_step_of_scaling_is_timed_on_both_sizes(monkeypatch):
    monkeypatch.setattr(scaling, "TINY", scaling.Shape(10, 8, 10))
    monkeypatch.setattr(scaling, "QUICK", scaling.TINY)
    monkeypatch.setattr(scaling, "TIMES", 2)
    rows = scaling.scaling(quick=True)
    assert {row.job.partition(",")[0] for row in rows} >= {"ingest", "open", "score", "study"}
    assert all(row.ours > 0 and row.peer > 0 and "exponent" in row.note for row in rows)
    assert all("at most 0.00 GiB" not in row.note for row in rows)


def test_what_workers_cost_is_measured_and_more_workers_are_simulated(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)  # of Ray, which takes long to start
    monkeypatch.setattr(cluster, "QUICK_CELLS", 4)
    monkeypatch.setattr(cluster_cells, "SECONDS", 0.01)
    real = cluster._measured
    monkeypatch.setattr(
        cluster, "_measured", lambda _, workers, cells: real("serial", workers, cells)
    )
    rows = cluster.cluster(quick=True)
    assert [row.floor for row in rows] == [0.9] * 2 + [None] * 4
    assert [row.peer for row in rows[:2]] == [0.04, 0.02]
    for row in rows:
        assert row.ratio == pytest.approx(row.peer / row.ours)
        assert ("simulated" in row.job) == (row.floor is None)
    assert "passing over one" in rows[-1].note


def test_simulated_workers_begin_wait_and_pass_over_as_real_ones_do():
    costs = cluster.Overheads(start=5.0, unit=0.5, skip=0.25, again=0.0, end=2.0)
    assert cluster.simulation(1, 3, 1.0, costs) == 5.0 + 3 * 1.5 + 2.0
    # the second passes over the first unit (.25 s), makes the second one, passes over nothing else
    assert cluster.simulation(2, 2, 1.0, costs) == 5.0 + 0.25 + 1.5 + 2.0
    many = cluster.simulation(64, 300, 1.0, costs)
    assert cluster.simulation(64, 300, 1.0, replace(costs, skip=0.0)) < many


def test_the_limits_of_this_machine_are_measured(monkeypatch):
    monkeypatch.setattr(machine, "COPIED", 1 << 20)
    monkeypatch.setattr(machine, "WRITTEN", 1 << 20)
    found = machine.limits()
    assert len(found) == 5
    assert all(value > 0 for value in found.values())
    assert machine.Machine.of_this_machine() == machine.Machine.of_this_machine()
    assert machine.Machine.of_this_machine().cores >= 1
