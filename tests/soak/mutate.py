"""Tests the tests: puts small faults into `core`, one at a time, and counts those a test notices.

`python -m tests.soak.mutate --count 300 --seed 7` draws 300 places of all there are. One test
session collects the suite and forks for each fault: the function's code is exchanged, and the tests
that run its line are run until one fails. What runs when a module is loaded (constants, defaults,
classes) is imported anew by a fork that has loaded the foreign packages and nothing else. All of it
runs in a copy of the tree below `--work`: what a fault does to files, it does there.

The first run finds out which test runs which lines. That is kept in `--work` and brought up to date
for tests that are new or changed; `--forget` finds it anew, as large changes of `core` ask for. One
fault in 25 in functions, and one in 10 at loading, is none: a test that fails there fails by
itself. `--resume` goes on with a run that was stopped, `--again` asks again about its survivors,
for ten times as long.
"""

import argparse
import collections
import gc
import hashlib
import inspect
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.soak.faults import loading
from tests.soak.faults.covering import Covering, Ran, file_of, texts, written_down
from tests.soak.faults.equivalent import stale, why
from tests.soak.faults.forks import NOT_FOUND, Functions, announce, in_fork, side_by_side
from tests.soak.faults.places import ROOT, Fault, drawn, there

NOT_ASKED = (  # they need a browser, a server, or the machine for themselves
    "test_browser", "test_server", "test_letor_memory", "test_jobs_processes",
)  # fmt: skip
NOT_COPIED = (".git", ".venv", ".*_cache", "__pycache__", ".hypothesis")
CAUGHT, TIMED_OUT, SURVIVED, NOT_COVERED = "caught", "timed out", "survived", "not covered"
EQUIVALENT = "equivalent"
Outcome = dict[str, Any]
Job = tuple[tuple[Fault, int, int], Callable[[Path], int], float, float]


@dataclass(frozen=True)
class Run:
    """What is asked for on the command line."""

    count: int
    seed: int
    only: tuple[str, ...]
    skip: tuple[str, ...]
    tests: tuple[str, ...]
    work: Path
    seconds: float
    resume: bool
    again: bool
    forget: bool
    lines: bool
    as_known: bool
    at_once: int

    @property
    def results(self) -> Path:
        """A line of JSON for each fault."""
        return self.work / f"faults-{self.seed}.jsonl"


def main() -> int:
    """Runs what is asked for, prints the table and writes it beside the results."""
    run = asked()
    run.work.mkdir(parents=True, exist_ok=True)
    if run.work / "tree" != ROOT:
        copied(run.work)
    prepare(run.work)
    todo, done = wanted(run)
    run.results.write_text("".join(f"{json.dumps(one)}\n" for one in done))
    session = Session(run, todo)
    status, word = in_fork(lambda _: pytest.main(arguments(run.tests), plugins=[session]))
    if status:
        tell(f"The test session ended with {status} {word}")
        return 1
    if not run.lines:
        done = {place(one) for one in read(run.results)}
        left = [fault for fault in todo if place(asdict(fault)) not in done]
        jobs = loaded_anew(run, left, Covering(run.work))
        for (fault, tests, of), status, word in side_by_side(jobs, run.at_once):
            keep(run, fault, judged(tests, of, status, word))
        results = [named(one) for one in read(run.results)]
        tell(table(results))
        summary = {"seed": run.seed, "count": run.count, "faults": results}
        run.results.with_suffix(".json").write_text(json.dumps(summary, indent=1))
    for entry in stale():
        tell(f"No longer there, of the faults named equivalent: {entry}")
    return 0


def asked() -> Run:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=300, help="faults")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", nargs="*", default=(), help="beginnings of paths")
    parser.add_argument("--skip", nargs="*", default=(), help="beginnings of paths")
    parser.add_argument("--tests", nargs="*", default=("tests", "core"), help="files of tests")
    parser.add_argument("--work", type=Path, default=f"{tempfile.gettempdir()}/faults")
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests a fault, at most")
    parser.add_argument("--resume", action="store_true", help="go on with a run")
    parser.add_argument("--again", action="store_true", help="repeat a run's survivors")
    parser.add_argument("--forget", action="store_true", help="find anew which test runs what")
    parser.add_argument("--lines", action="store_true", help="find which test runs what, and end")
    parser.add_argument(
        "--as-known", action="store_true", help="ask the tests whose lines are known"
    )
    parser.add_argument("--at-once", type=int, default=1, help="faults side by side")
    values = vars(parser.parse_args())
    values["work"] = values["work"].resolve()
    return Run(**{k: tuple(v) if isinstance(v, (list, tuple)) else v for k, v in values.items()})


def copied(work: Path) -> NoReturn:
    """Goes on in a copy of the tree, which its processes import in place of what is installed."""
    tree, site = work / "tree", work / "site"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
    site.mkdir(exist_ok=True)
    begin = "from tests.soak.faults.loading import start\n\nstart()\n"
    (site / "sitecustomize.py").write_text(begin)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (site, tree / ".types", tree)))
    os.chdir(tree)
    again = [sys.executable, "-m", "tests.soak.mutate", *sys.argv[1:], "--work", str(work)]
    os.execv(sys.executable, again)  # noqa: S606  (our own interpreter)


def prepare(work: Path) -> None:
    """Loads the foreign packages once, for all forks."""
    import lightgbm  # noqa: F401
    import numba  # noqa: F401
    import pandas as pd  # noqa: F401
    import scipy.stats  # noqa: F401
    import streamlit.testing.v1  # noqa: F401
    import torch

    torch.set_num_threads(1)
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(work / "compiled")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


def wanted(run: Run) -> tuple[list[Fault], list[Outcome]]:
    """(the faults to be put in, the results that stay)."""
    known = read(run.results) if run.resume or run.again else []
    if run.again:
        open_ = {SURVIVED, NOT_COVERED}
        left = [one for one in map(named, known) if one["outcome"] in open_]
        faults = [there(fault_of(one)) for one in left if one["kind"] != "none"]
        found = [fault for fault in faults if fault]
        tell(f"{len(found)} survivors are asked about again, {len(faults) - len(found)} are gone")
        return found, [one for one in known if named(one)["outcome"] not in open_]
    done = {place(one) for one in known}
    faults = drawn(run.count, run.seed, run.only, run.skip)
    in_functions = [one for one in faults if one.function]
    at_load = [one for one in faults if not one.function]
    faults += [one.undone() for one in (*in_functions[::25], *at_load[::10])]
    return [one for one in faults if place(asdict(one)) not in done], known


def place(result: Mapping[str, Any]) -> tuple[str, int, str]:
    """By what a fault is the same one in a run."""
    return result["file"], result["start"], result["change"]


def arguments(tests: Iterable[str]) -> list[str]:
    """pytest's command line."""
    left = [f"--ignore-glob=*/{name}*" for name in NOT_ASKED]
    quiet = ["-qq", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler"]
    return [*tests, *left, *quiet, "-W", "ignore::pytest.PytestAssertRewriteWarning"]


class Session:
    """A pytest plugin: instead of running what was collected, it forks and runs parts of it."""

    def __init__(self, run: Run, todo: Sequence[Fault]) -> None:
        """What to do once the suite is collected."""
        self.run, self.todo, self.failed = run, todo, ""
        self.loaded = loading.Loaded()

    def pytest_sessionstart(self) -> None:
        """A failing example is not kept for the next run, and none depends on chance."""
        from hypothesis import settings

        settings.register_profile("faults", database=None, derandomize=True, deadline=None)
        settings.load_profile("faults")
        self.loaded.begin()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """First which test runs what, then the faults in functions."""
        at_load = set(self.loaded.functions())
        if session.testsfailed:
            raise session.Interrupted("not all of the tests could be collected")
        gc.collect()
        gc.freeze()
        self.items = {item.nodeid: item for item in session.items}
        if not self.run.as_known:
            self.bring_up_to_date()
        if not self.run.lines:
            jobs = self.exchanged(Covering(self.run.work), Functions())
            for (fault, tests, of), status, word in side_by_side(jobs, self.run.at_once):
                outcome = judged(tests, of, status, word)
                keep(self.run, fault, outcome, later=name_of(fault) in at_load)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes the first test that failed."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def bring_up_to_date(self) -> None:
        """Runs the tests that are new, or read otherwise, since lines were written down."""
        by_file = collections.defaultdict(list)
        for name, item in self.items.items():
            by_file[file_of(name)].append(item)
        for file, items in sorted(by_file.items(), key=lambda one: slow(one[0])):
            known = Ran() if self.run.forget else Ran.read(written_down(self.run.work, file))
            fresh = [one for one in items if known.digest(one.nodeid) not in {"?", digest(one)}]
            if fresh:
                began = time.monotonic()
                status, word = in_fork(partial(self.look, file, fresh, known), 3600, 3600)
                took = time.monotonic() - began
                tell(f"lines of {file}: {len(fresh)} tests, {took:.0f} s, {status} {word}")

    def look(self, file: str, items: list[pytest.Item], known: Ran, word: Path) -> int:
        """Runs tests of a file and writes down the lines that each runs."""
        lines = loading.Lines()
        os.environ[loading.LINES] = str(word.parent)
        for number, item in enumerate(items):
            self.failed, before = "", sum(os.times()[:4])
            lines.begin()
            self.one(items, number)
            lines.end()
            took = round(sum(os.times()[:4]) - before, 2)
            known.add(item.nodeid, [took, not self.failed, digest(item)], texts(lines.taken()))
        for other in word.parent.glob("lines-*.json"):
            test, ran = json.loads(other.read_text())
            known.add(test, None, texts(ran))
        written_down(self.run.work, file).write_text(json.dumps(asdict(known)))
        return 0

    @staticmethod
    def one(items: Sequence[pytest.Item], place: int) -> None:
        """Runs one test of several as pytest does."""
        following = items[place + 1] if place + 1 < len(items) else None
        item = items[place]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def exchanged(self, tests: Covering, functions: Functions) -> Iterator[Job]:
        """Faults in functions: the code is exchanged in a fork of this session."""

        def work(fault: Fault, items: Sequence[pytest.Item], told: Path) -> int:
            if not items or not functions.exchange(fault):
                return NOT_FOUND
            announce(fault, told.parent)
            return self.first_failure(items, told)

        for fault in self.todo:
            if fault.function:
                chosen, of = tests.chosen(fault, budget(self.run))
                items = [self.items[name] for name in chosen if name in self.items]
                key = fault, len(items), of
                yield key, partial(work, fault, items), *tests.limits(fault, chosen)

    def first_failure(self, items: Sequence[pytest.Item], told: Path) -> int:
        """1 as soon as one test fails, and which."""
        self.failed = ""
        for place in range(len(items)):
            self.one(items, place)
            if self.failed:
                told.write_text(self.failed)
                return 1
        return 0


def loaded_anew(run: Run, faults: Sequence[Fault], tests: Covering) -> Iterator[Job]:
    """Faults in what runs when a module is loaded: a fork imports it and its tests anew."""

    def work(fault: Fault, chosen: Sequence[str], told: Path) -> int:
        if not chosen:
            return NOT_FOUND
        announce(fault, told.parent)
        if numba_folder := os.environ.get("NUMBA_CACHE_DIR"):
            import numba

            numba.config.CACHE_DIR = numba_folder
        loading.load_instead(str(ROOT / fault.file), fault.applied().encode())
        files = list(dict.fromkeys(map(file_of, chosen)))
        only = Chosen(chosen, told)
        return int(bool(pytest.main([*arguments(files), "-x"], plugins=[only])))

    for fault in faults:
        chosen, of = tests.chosen(fault, budget(run), anew=True)
        seconds, limit = tests.limits(fault, chosen)
        key = fault, len(chosen), of
        yield key, partial(work, fault, chosen), seconds + 60, limit + 180


class Chosen:
    """A pytest plugin: only the chosen tests, in the order chosen, and which one failed."""

    def __init__(self, chosen: Sequence[str], told: Path) -> None:
        """The tests, and where to write the name of the one that failed."""
        self.chosen, self.told = chosen, told

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves the chosen tests."""
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.chosen if name in by_name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes the test that failed first."""
        if report.failed and not self.told.exists():
            self.told.write_text(report.nodeid)


def slow(file: str) -> int:
    """What a file of tests is about, the quickest first: functions, a workbench, pages."""
    if file.startswith("tests/app/"):
        return 3
    if not file.startswith("tests/"):
        return 0
    text = (ROOT / file).read_text()
    return 2 if "orkbench" in text or "trained_" in text or "Store(" in text else 1


def digest(item: pytest.Item) -> str:
    """What a test is known by: its text, be it a function or a doctest."""
    text = item.dtest.docstring if hasattr(item, "dtest") else inspect.getsource(item.function)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def budget(run: Run) -> float:
    """Seconds of tests that a fault may take."""
    return 10 * run.seconds if run.again else run.seconds


def judged(tests: int, of: int, status: int | None, word: str) -> Outcome:
    """The outcome of a fault, from how its process ended."""
    endings = {None: TIMED_OUT, NOT_FOUND: NOT_COVERED, 0: SURVIVED}
    return {"outcome": endings.get(status, CAUGHT), "by": word, "tests": tests, "of": of}


def name_of(fault: Fault) -> str:
    """ "file|function" of a fault."""
    return f"{fault.file}|{fault.function}"


def keep(run: Run, fault: Fault, outcome: Outcome, *, later: bool = False) -> None:
    """Adds a fault to the results; where it also runs at loading, a survivor is not yet one."""
    if later and outcome["outcome"] in {SURVIVED, NOT_COVERED} and fault.kind != "none":
        return
    with run.results.open("a") as file:
        file.write(f"{json.dumps(asdict(fault) | outcome)}\n")
    tell(f"{outcome['outcome']:11} {fault.file}:{fault.line} {fault.change}  [{outcome['by']}]")


def read(path: Path) -> list[Outcome]:
    """The results kept so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def fault_of(result: Outcome) -> Fault:
    """The fault of a result."""
    return Fault(**{name: result[name] for name in Fault.__dataclass_fields__})


def named(result: Outcome) -> Outcome:
    """A result; a survivor that changes nothing says why."""
    fault = fault_of(result)
    if result["outcome"] in {SURVIVED, NOT_COVERED} and (reason := why(fault)):
        return result | {"outcome": EQUIVALENT, "by": reason}
    return result


def table(results: Sequence[Outcome]) -> str:
    """How the faults of each package ended, the score, and every survivor."""
    faults = [one for one in results if one["kind"] != "none"]
    endings = (CAUGHT, TIMED_OUT, EQUIVALENT, SURVIVED, NOT_COVERED)
    rows = collections.defaultdict(collections.Counter)
    for one in faults:
        for name in (package(one), "all"):
            rows[name][one["outcome"]] += 1
    lines = [f"| package | faults | {' | '.join(endings)} |", "|---" * (len(endings) + 2) + "|"]
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        counts = [str(rows[name][ending]) for ending in endings]
        lines.append(f"| {name} | {rows[name].total()} | {' | '.join(counts)} |")
    lines += ["", *score(rows["all"]), ""]
    alike = [one for one in results if one["kind"] == "none"]
    by_chance = [one for one in alike if one["outcome"] in {CAUGHT, TIMED_OUT}]
    lines.append(f"Without any fault {len(by_chance)} of {len(alike)} runs failed.")
    lines += [f"  {one['outcome']} {one['by']}" for one in by_chance]
    for ending in (TIMED_OUT, SURVIVED, NOT_COVERED):
        lines += ["", f"{ending}:"]
        lines += [told(one) for one in faults if one["outcome"] == ending]
    return "\n".join(lines)


def package(result: Mapping[str, Any]) -> str:
    """The part of `core` that a fault stands in."""
    return "/".join(result["file"].split("/")[:2])


def score(counts: Mapping[str, int]) -> list[str]:
    """Shares of the faults that were noticed, with and without those that change nothing."""
    noticed, equal = counts[CAUGHT] + counts[TIMED_OUT], counts[EQUIVALENT]
    every = max(sum(counts.values()), 1)
    share = f"{noticed + equal} of {every}, {(noticed + equal) / every:.1%}"
    proper = f"{noticed / max(every - equal, 1):.1%}; of all: {noticed / every:.1%}"
    return [f"Noticed or named equivalent: {share}", f"Noticed of those not equivalent: {proper}"]


def told(result: Mapping[str, Any]) -> str:
    """A fault in a line."""
    asked_of = f"{result['tests']} of {result['of']} tests"
    return (
        f"{result['file']}:{result['line']}  {result['change']}\n    {result['text']}  [{asked_of}]"
    )


def tell(text: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
