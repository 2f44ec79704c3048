"""The benchmark: timing in turns, verdicts, the page and the command."""

import sys

import pytest

from tests.bench import __main__ as command
from tests.bench import row
from tests.bench.row import Row


def test_times_are_the_least_of_turns_in_which_the_jobs_alternate(monkeypatch):
    order, clock = [], iter([0.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 16.0])
    monkeypatch.setattr(row.time, "perf_counter", lambda: next(clock))
    found = row.interleave(lambda: order.append("a"), lambda: order.append("b"), repeats=2)
    assert order == ["a", "b"] * 3
    assert found == (1, 1)


@pytest.mark.parametrize(
    ("ours", "floor", "verdict"),
    [
        (1.0, 3.0, "met"),
        (1.5, 3.0, "**missed**"),
        (9.0, None, "no floor"),
        (None, 3.0, "not measured"),
    ],
)
def test_a_verdict_compares_the_ratio_with_its_floor(ours, floor, verdict):
    assert Row("a", ours, 3.0, "b", floor).verdict == verdict


@pytest.fixture
def run(monkeypatch):
    """Run the command with these two benchmarks."""
    benchmarks = {
        "fast": lambda **_: [Row("a", 1.0, 3.0, "b", 2.0)],
        "slow": lambda **_: [Row("c", 2.0, 3.0, "d", 2.0)],
    }

    def of(*words):
        monkeypatch.setattr(command, "BENCHMARKS", benchmarks)
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        return command.main()

    return of


def test_the_command_ends_with_1_below_a_floor_and_a_quick_run_has_none(run, tmp_path):
    at = tmp_path / "page.md"
    assert run("fast") == 0
    assert run("--page", str(at)) == 1
    text = at.read_text()
    assert "- c, next to d: 1.50, floor 2.00" in text
    assert "| a | 1 | b | 3 | 3.00 | 2.00 | met |" in text
    assert run("--quick", "--page", str(at)) == 0
    assert "0 met, 0 missed, 2 without a floor" in at.read_text()


def test_an_unknown_name_is_refused_with_those_known(run, capsys):
    with pytest.raises(SystemExit):
        run("quick")
    assert "unknown: quick (known: fast, slow)" in capsys.readouterr().err
