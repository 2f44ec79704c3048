"""Commands `demo`, `publish` and `app`."""

import argparse
import json
import os
import socket
import sys
import time
from pathlib import Path
from subprocess import run

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import answer_of, report, text_of
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.execution.executor import configured
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted

DEMO = ("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init")
FAMILY = "transpositions"
DRAWS = 10
PERMUTATIONS = 20
REMEDY = "Check the folder and the names; `shuffleproof library list` prints those that are there."


def demo(arguments: argparse.Namespace) -> Answer:
    """`demo`: train four rankers on the sample set, Figure 3, certificates, one HTML report.

    With --llm, a language model reranks the sample texts instead.
    """
    if arguments.llm is not None:
        from shuffleproof.core.cli import language_model  # noqa: PLC0415 (few ask for it)

        return language_model.demo(arguments)
    start = time.perf_counter()
    store = Store(store_of(arguments).root)
    workbench = run_shown("lists", Workbench.open("sample", store=store))
    for label, name in expand(DEMO).items():
        run_shown(label, workbench.train(name))
    pairs = tuple((FAMILY, level) for level in levels_of(FAMILY))
    question = InitialRanking(DEMO, pairs, ("NDCG@10",), DRAWS)
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


def publish(arguments: argparse.Namespace) -> Answer:
    """`publish`: a static site of stored studies, a recorded shuffle and a leaderboard."""
    store, data = store_of(arguments), arguments.data
    if arguments.studies:
        studies = [store.resolve(name, "study") for name in arguments.studies.split(",")]
    else:
        newest = {
            str(study.recipe["kind"]): study
            for study in sorted(store.artefacts("study"), key=lambda study: study.created)
            if study.facts.get("data") == data
        }
        studies = [*newest.values()]
    settings = {
        "data": data, "queries": arguments.queries.split(",") if arguments.queries else [],
        "studies": [str(study.path) for study in studies],
        "cards": arguments.cards and str(arguments.cards),
    }  # fmt: skip
    words = ["-P", "-m", "shuffleproof.app.publish", str(arguments.out), json.dumps(settings)]
    environment = os.environ | {"SHUFFLEPROOF_HOME": str(store.root.resolve())}
    finished = run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=environment
    )
    if finished.returncode:
        reason = (finished.stderr.strip().splitlines() or ["its process ended"])[-1]
        raise DataError(str(arguments.out), f"no site was written ({reason})", REMEDY)
    files = finished.stdout.split()
    size = sum((arguments.out / name).stat().st_size for name in files)
    named = ", ".join(f"{study.recipe['kind']} {study.key}" for study in studies) or "none"
    text = f"{arguments.out / 'index.html'}: {counted(len(files), 'file')}, {size / 1e6:.1f} MB.\n"
    text += f"Studies: {named}."
    return Answer({"files": files, "bytes": size}, text)


def _check_free(host: str, port: int) -> None:
    """Refuse an address on which something listens already, before the server starts."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host}:{port} ({error.strerror}): choose another `--port`, or "
                "close the dashboard that uses it"
            ) from error


def app(arguments: argparse.Namespace) -> Answer:
    """`app`: become the dashboard's server."""
    home = Path(__file__).resolve().parents[2]
    if not (home / "app" / "server.py").is_file():
        raise UsageError(
            f"the dashboard is not installed (no app in {home}): "
            "install the whole project, or start it from its folder"
        )
    configured()  # a wrong SHUFFLEPROOF_EXECUTOR is an error before any job
    _check_free(arguments.host, arguments.port)
    command = [sys.executable, "-P", "-m", "shuffleproof.app.server"]
    command += [f"--host={arguments.host}", f"--port={arguments.port}"]
    if arguments.allow_host:
        command += ["--allow-host", *arguments.allow_host]
    if arguments.base_path:
        command.append(f"--base-path={arguments.base_path}")
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    environment["SHUFFLEPROOF_HOME"] = str(store_of(arguments).root.resolve())  # before the chdir
    warn(f"Shuffleproof runs at http://{arguments.host}:{arguments.port} (Ctrl+C stops it)")
    os.chdir(home)
    os.execve(sys.executable, command, environment)  # noqa: S606 (signals reach the server itself)
