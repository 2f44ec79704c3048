"""Kinds of jobs for the tests, and the process that does them."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.execution.job_run import run
from shuffleproof.core.execution.jobs import Jobs, places
from shuffleproof.core.progress import Progress


def counting(root: Path, parameters: dict) -> Iterator[Progress]:
    """A sum of numbers, one a step, kept in a file: goes on where it was killed."""
    path = root / f"counting-{parameters['name']}.json"
    kept = json.loads(path.read_text()) if path.exists() else {"step": 0, "sum": 1, "starts": 0}
    kept["starts"] += 1
    for step in range(kept["step"], parameters["steps"]):
        time.sleep(parameters["seconds"])
        kept |= {"step": step + 1, "sum": kept["sum"] * 31 % 1_000_003 + step}
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(kept))
        new.replace(path)
        sys.stdout.write(f"step {step}\n")
        yield Progress(step + 1, parameters["steps"], "steps", {"loss": 1 / (step + 1)})
    return {"sum": kept["sum"]}


def deaf(root: Path, parameters: dict) -> Iterator[Progress]:
    """Never listens, and has a child that does not either."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield Progress(0, 1, "naps")
    if os.fork() == 0:
        time.sleep(600)
    (root / "deaf").write_text("ready")
    time.sleep(600)


def failing(root: Path, parameters: dict) -> Iterator[Progress]:
    """Fails the way a user's input does, or the way a defect does."""
    yield Progress(0, 1, "steps")
    sys.stdout.write("about to fail\n")
    if parameters["defect"]:
        raise ValueError("seven is no colour")
    raise DataError("train.txt:7", "no label", "Add one.")


def crashing(root: Path, parameters: dict) -> Iterator[Progress]:
    """Dies without a word, at the same place each time."""
    yield Progress(1, 9, "steps")
    sys.stdout.write("last words\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def noisy(root: Path, parameters: dict) -> Iterator[Progress]:
    """Prints three megabytes."""
    yield Progress(0, 1, "lines")
    for line in range(60_000):
        sys.stdout.write(f"line {line:06d} of a very long story, all of it told\n")
    return float("nan")


def environment(root: Path, parameters: dict) -> Iterator[Progress]:
    """What it was started with."""
    yield Progress(0, 1, "steps")
    return {name: os.environ.get(name) for name in parameters["names"]}


KINDS = {
    "counting": counting,
    "deaf": deaf,
    "failing": failing,
    "crashing": crashing,
    "noisy": noisy,
    "environment": environment,
}

if __name__ == "__main__":
    end = EarlyEnd()
    if run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), KINDS):
        room = places(int(os.environ["SLOTS"]))
        Jobs(Path(sys.argv[1])).start_waiting([sys.executable, __file__], room)
    end.status = 0
