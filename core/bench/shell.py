"""What a command takes before it answers: CPU seconds of a process, beside peers' bare imports.

Seconds are the least of some runs, user and system time added up, so that a busy machine changes
them little; bytecode and the store are warm. A row has our ceiling or a peer beside it.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.data import catalogue
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation

PEERS = ("ir_measures", "ranx")
RUNS = 5
COMMAND = ("-m", "shuffleproof")


def shell(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (as every job)
    """Help, a misspelt name, a stored study, a stored ranker, a report, and our bare import."""
    runs = 2 if quick else RUNS
    with TemporaryDirectory() as folder:
        store = Store(Path(folder), (catalogue.SAMPLE_FOLDER,))
        catalogue.find(catalogue.SAMPLE, store)
        environment = {**os.environ, "SHUFFLEPROOF_HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        ours = {
            job: (least([*words], runs, environment), ceiling)
            for job, (words, ceiling) in _jobs(store, Path(folder)).items()
        }
        there = [name for name in PEERS if find_spec(name)]
        peers = {name: least(["-c", f"import {name}"], runs, environment) for name in there}
    rows = []
    for job, (seconds, ceiling) in ours.items():
        note = f"CPU seconds, least of {runs} runs"
        rows.append(
            BenchRow(job, seconds, ceiling, "our ceiling", ceiling / seconds, 1.0, note=note)
        )
        for name in PEERS:
            peer = peers.get(name)
            ratio = peer and peer / seconds
            remark = note if peer else f"{name} is not installed"
            rows.append(BenchRow(job, seconds, peer, f"import {name}", ratio, None, note=remark))
    return rows


def _jobs(store: Store, folder: Path) -> dict[str, tuple[Sequence[str], float]]:
    """Words for the interpreter and the CPU seconds that they may take, by job."""
    kind = RankingDegradation.kind
    shipped = next(
        artefact for artefact in store.artefacts("study") if artefact.recipe["kind"] == kind
    )
    named = ",".join(RankingDegradation.sample["rankers"])
    levels = ",".join(f"{level:g}" for _, level in RankingDegradation.sample["perturbations"])
    study = ("study", kind, "--rankers", named, "--levels", levels)
    report = ("export", str(shipped.key), str(folder / "report.html"))
    return {
        "help": ((*COMMAND, "--help"), 0.3),
        "misspelt ranker": ((*COMMAND, "train", "dlmc"), 0.3),
        "stored study": ((*COMMAND, *study), 1.2),
        "stored ranker": ((*COMMAND, "train", "dlcm"), 1.5),
        "HTML report": ((*COMMAND, *report), 4.0),
        "import shuffleproof": (("-c", "import shuffleproof"), 0.3),
    }


def least(words: Sequence[str], runs: int, environment: dict[str, str]) -> float:
    """The least CPU seconds of a process of this interpreter and of those that it starts.

    Args:
        words: behind the interpreter.
        runs: how often, after one that is not counted.
        environment: its variables.
    """
    seconds = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(seconds[1:])


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"shell": shell}
