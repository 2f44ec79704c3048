"""The benchmark's jobs: their names in the help, and SoftRank's epoch beside attention rank's."""

import ast
from pathlib import Path

import pytest

from shuffleproof.core import bench
from shuffleproof.core.bench import shell, softrank
from shuffleproof.core.cli.arguments import BENCH_JOBS, main


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
    real = softrank._epoch
    monkeypatch.setattr(softrank, "_epoch", lambda *one: losses.append(one[2]) or real(*one))
    row = softrank._row(case, repeats=1)
    assert losses == ["softrank", "attention-rank"]
    assert row.ratio == pytest.approx(20 * row.peer / row.ours)
    assert row.floor == 1.0
    assert "at most 20 ×" in row.note


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
