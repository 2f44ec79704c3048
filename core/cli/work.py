"""The commands around the core: benchmarks, the demo, the dashboard."""

import argparse
import importlib
import os
import pkgutil
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from shuffleproof.core import bench as benchmarks
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.flags_work import BENCH_JOBS, LONG_JOBS
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import answer_of, report, text_of
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.execution.executor import configured, keep_settings
from shuffleproof.core.execution.jobs import folder_of
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.workbench import Workbench

if TYPE_CHECKING:
    from shuffleproof.core.bench.page import Slower

DEMO = ("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init")
FAMILY = "transpositions"
DRAWS = 10
PERMUTATIONS = 20


def bench(arguments: argparse.Namespace) -> Answer:
    """`bench`: every job's rows; a ratio below its floor, or a slower job, makes the status 1."""
    named = arguments.jobs or [job for job in BENCH_JOBS if job not in LONG_JOBS]
    chosen = dict.fromkeys(job for name in named for job in _named(name))
    jobs, limits = _jobs(), {}
    if arguments.page:
        from shuffleproof.core.bench import machine, page  # noqa: PLC0415 (loads torch)

        page.check_place(arguments.page)
        limits = machine.limits()
    done: dict[str, list[BenchRow]] = {}
    for name in chosen:
        start = time.perf_counter()
        try:
            done[name] = jobs[name](arguments.quick)
        except ModuleNotFoundError as error:
            peer = error.name or ""
            if peer.partition(".")[0] == "shuffleproof":
                raise
            note = f"{peer} is not installed: pip install 'shuffleproof[bench]'"
            done[name] = [BenchRow(name, None, None, peer, None, None, note=note)]
            warn(f"{name}: {note}")
        warn(f"{name}: {time.perf_counter() - start:.0f} s")
        if arguments.page:  # what ends half-way leaves what it measured
            page.write_page(page.Run.of(done, limits, quick=arguments.quick), arguments.page)
    rows = [row for rows_of_job in done.values() for row in rows_of_job]
    missed = [row for row in rows if row.floor and row.ratio and row.ratio < row.floor]
    for row in missed:
        warn(f"{row.job} beside {row.peer_name}: {row.ratio:.2f}, below its floor of {row.floor}")
    slower = _on_page(done, limits, arguments) if arguments.page else []
    return Answer([asdict(row) for row in rows], exit_code=1 if missed or slower else 0)


def _named(name: str) -> list[str]:
    """The job of a name, or all whose names begin with it: gpu means gpu-train and the others."""
    jobs = [job for job in BENCH_JOBS if job == name or job.startswith(f"{name}-")]
    if not jobs:
        raise UnknownNameError("bench job", name, BENCH_JOBS)
    return jobs


def _on_page(
    jobs: dict[str, list[BenchRow]], limits: dict[str, float], arguments: argparse.Namespace
) -> "list[Slower]":
    """The rows on a page, beside the machine's limits; what has become slower."""
    from shuffleproof.core.bench import page  # noqa: PLC0415 (loads torch)

    run = page.Run.of(jobs, limits, quick=arguments.quick)
    before = page.last_run(run, arguments.page)
    slower = page.record_run(run, arguments.page)
    warn(f"{arguments.page}: {page.summary(run, slower, before)}")
    for slow in slower:
        warn(slow.text)
    return slower


def _jobs() -> dict[str, Callable[[bool], list[BenchRow]]]:
    jobs: dict[str, Callable[[bool], list[BenchRow]]] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__, f"{benchmarks.__name__}."):
        jobs |= getattr(importlib.import_module(module.name), "JOBS", {})
    return jobs


def demo(arguments: argparse.Namespace) -> Answer:
    """`demo`: train four rankers on the sample set, Figure 3, certificates, one HTML report."""
    start = time.perf_counter()
    store = Store(store_of(arguments).root)
    workbench = run_shown("lists", Workbench.open("sample", store=store))
    for name in DEMO:
        run_shown(name, workbench.train(name))
    pairs = tuple((FAMILY, level) for level in levels_of(FAMILY))
    question = RankingDegradation(DEMO, pairs, ("NDCG@10",), DRAWS)
    figure = run_shown("Figure 3", question.run(workbench))
    cards = run_shown("certificates", Invariance(DEMO, PERMUTATIONS).run(workbench))
    report([cards, figure], arguments.out)
    took = f"{time.perf_counter() - start:.0f} s; report: {arguments.out}"
    if not arguments.json:
        return Answer({}, f"{text_of(cards)}\n{text_of(figure)}\n{took}")
    answer = {
        "certificates": answer_of(cards)["certificates"],
        "summary": answer_of(figure)["summary"],
        "report": str(arguments.out),
        "seconds": time.perf_counter() - start,
    }
    return Answer(answer)


def _check_free(host: str, port: int) -> None:
    """Refuse an address on which something listens already, before the server starts."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host}:{port} ({error.strerror}). Is the dashboard open there "
                "already? Name another with `--port`"
            ) from error


def app(arguments: argparse.Namespace) -> Answer:
    """`app`: become the dashboard's server."""
    home = Path(__file__).resolve().parents[2]
    if not (home / "app" / "server.py").is_file():
        raise UsageError(
            f"the dashboard is not installed beside the core (no app in {home}): "
            "install the whole project, or start it from its folder"
        )
    configured()  # a wrong SHUFFLEPROOF_EXECUTOR is told before a job fails by it
    _check_free(arguments.host, arguments.port)
    keep_settings(folder_of(store_of(arguments).root))
    command = [sys.executable, "-P", "-m", "shuffleproof.app.server"]
    command += [f"--host={arguments.host}", f"--port={arguments.port}"]
    if arguments.allow_host:
        command += ["--allow-host", *arguments.allow_host]
    if arguments.base_path:
        command.append(f"--base-path={arguments.base_path}")
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    environment["SHUFFLEPROOF_HOME"] = str(store_of(arguments).root.resolve())  # before the chdir
    warn(f"Shuffleproof opens on http://{arguments.host}:{arguments.port} (Ctrl+C ends it)")
    os.chdir(home)
    os.execve(sys.executable, command, environment)  # noqa: S606 (signals reach the server itself)
