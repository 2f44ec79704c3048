"""CPU seconds of commands, and the seconds until a page answers a click."""

import asyncio
import os
import resource
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from shuffleproof.core.data import catalogue
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.registry import STUDIES
from tests.bench.row import Row
from tests.soak.sessions import server, visit

FUNCTION = "def score(features):\n    return features[:, 0]\n"


def commands(*, quick: bool) -> Iterator[Row]:
    """Commands on the sample; the first certificate of a function compiles what it needs."""
    kind = STUDIES["initial-ranking"]
    bundled = Store(catalogue.SAMPLE_FOLDER).artefacts("study")
    study = next(one.key for one in bundled if one.recipe["kind"] == kind.kind)
    levels = ",".join(f"{level:g}" for _, level in kind.sample["perturbations"])
    with TemporaryDirectory() as folder:
        for name, words, limit in (
            ("help", "--help", 0.3),
            (
                "stored study",
                f"study {kind.kind} --rankers {','.join(kind.sample['rankers'])} --levels {levels}",
                1.2,
            ),
            ("HTML report", f"export {study} report.html", 4.0),
        ):
            times = [cpu_seconds(folder, words) for _ in range(3 if quick else 6)]
            yield Row(f"command: {name}, CPU s", min(times[1:]), limit, "limit", 1.0)
        (Path(folder) / "mine.py").write_text(FUNCTION)
        for name, limit in (("first", 6.0), ("later", 1.5)):
            seconds = cpu_seconds(folder, "certify mine:score", NUMBA_CACHE_DIR=folder)
            yield Row(f"command: {name} certificate, CPU s", seconds, limit, "limit", 1.0)


def cpu_seconds(folder: str, words: str, **more: str) -> float:
    """User and system time of a command and of the processes that it starts."""
    environment = {**os.environ, "SHUFFLEPROOF_HOME": folder, **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "shuffleproof", *words.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def page(*, quick: bool) -> list[Row]:
    """A switch of the page of Figure 3, turned by one visitor."""
    visitor = Namespace(
        sessions=1, clicks=5 if quick else 20, pause=0, seed=0, page="initial-ranking"
    )
    with TemporaryDirectory() as home, server(home) as (address, _):
        ((_, seconds),) = asyncio.run(visit(address, visitor))
    note = f"median of {len(seconds)} clicks"
    return [Row("page: initial-ranking, a click", median(seconds), 0.3, "limit", 1.0, note)]
