"""Commands `demo`, `worker` and `app`."""

import argparse
import logging
import os
import platform
import socket
import sys
import time
from pathlib import Path

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import answer_of, report, text_of
from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.executor import configured, keep_settings
from shuffleproof.core.execution.jobs import folder_of
from shuffleproof.core.execution.jobs_supervisor import supervise
from shuffleproof.core.job_kinds import SHORT
from shuffleproof.core.jobs import WORKER, is_running, jobs_of
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.sharing import address_of, work
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.board import folder_seen_by_all
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted

DEMO = ("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init")
FAMILY = "transpositions"
DRAWS = 10
PERMUTATIONS = 20


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


def worker(arguments: argparse.Namespace) -> Answer:
    """`worker`: do the store's jobs until Ctrl+C, or until there was nothing to do for so long.

    With --until-empty or --take it does units of what `--executor` shared, and touches no jobs.
    """
    store = store_of(arguments)
    if arguments.until_empty or arguments.take:
        return _shared_work(store, arguments)
    if arguments.store:
        _check_there(store)
    configured()  # a wrong SHUFFLEPROOF_EXECUTOR is told before a job fails by it
    if not is_running(store):  # else another worker does the jobs, as it was told
        keep_settings(folder_of(store.root))
    warn(f"Doing the jobs of {store.root} (Ctrl+C ends it; what runs goes on at the next start)")
    ran = supervise(store.root, WORKER, arguments.slots, arguments.idle, SHORT)
    jobs = jobs_of(store)
    counts = {state: len(jobs.list(state)) for state in ("waiting", "done", "failed", "cancelled")}
    if not ran:
        text = f"another worker is doing the jobs of {store.root} already"
        return Answer({"ran": False, **counts}, text)
    return Answer({"ran": True, **counts})


def _check_there(store: Store) -> None:
    """Refuse a store whose folder is not there: nobody hands work in where a slip makes one."""
    folder = folder_seen_by_all(store)
    if folder and not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder} on this machine ({platform.node()}): name that of a "
            "store on a disk that all workers see (--store)"
        )


def _shared_work(store: Store, arguments: argparse.Namespace) -> Answer:
    """Units of what `--executor` shared, told line by line."""
    if arguments.slots:
        raise UsageError("--slots is for jobs: not with --until-empty or --take")
    _check_there(store)
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("shuffleproof").setLevel(logging.INFO)
    item = {"store": address_of(store), "take": arguments.take, "idle": arguments.idle}
    warn(f"Doing what --executor shares in {item['store']} (Ctrl+C ends it)")
    outcome = work(item | {"until_empty": arguments.until_empty})
    if outcome["failure"]:
        warn(f"shuffleproof: {outcome['failure']}")
    units, finished = outcome["units"], outcome["assignments"]
    text = f"{counted(units, 'unit')} of work done here, {counted(finished, 'question')} finished"
    return Answer({"ran": True, **outcome}, text, exit_code=1 if outcome["failure"] else 0)


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
