"""Ctrl-C, as a terminal sends it: status 130, a sentence, and nothing that was started is left."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from shuffleproof.core.interrupts import PATIENCE

ASLEEP = """import pathlib, time
def score(features, ranks):
    pathlib.Path("called").touch()
    time.sleep(600)
"""
ENDS = 60.0  # seconds; far more than it takes, on a machine that does much else
WORK = {
    "calls of a function": "certify asleep:score --jobs 3",
    "a training": "train lambdamart --set trees=1000000",
    "a study": "study card --rankers dlcm-without-init@paper",
}


def begun(folder, process):
    """Wait until the work has begun: a function was called, or a key is locked."""
    limit = time.monotonic() + ENDS
    while time.monotonic() < limit and process.poll() is None:
        if (folder / "called").exists() or (folder / "other" / "locks").exists():
            return
        time.sleep(0.1)
    pytest.fail(f"it has not begun: {process.communicate()[1]}")


@pytest.mark.parametrize("what", WORK)
def test_an_interrupted_command_ends_with_130_and_leaves_nobody(tmp_path, what):
    (tmp_path / "asleep.py").write_text(ASLEEP)
    store = "own" if "asleep" in WORK[what] else "other"
    words = [*WORK[what].split(), "--data", "sample", "--initial", "feature:3", "--store", store]
    process = subprocess.Popen(
        [sys.executable, "-m", "shuffleproof", *words],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    begun(tmp_path, process)
    time.sleep(1.0)
    started = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=ENDS)[1]
    assert process.returncode == 130, said
    is_stored = not WORK[what].startswith("certify")  # user code is examined each time
    assert ("stopped. Finished work is stored" in said) == is_stored, said
    assert "Traceback" not in said
    assert bool(started) == ("asleep" in WORK[what]), "a function runs in processes of its own"
    _, left = psutil.wait_procs(started, timeout=ENDS)
    assert not left


BY_ITSELF = """
import os, signal, sys
sys.path.insert(0, ".")
from shuffleproof.core import __main__ as entry
from shuffleproof.core import interrupts
from shuffleproof.core.cli import arguments
interrupts.PATIENCE = {patience}
def main(_given):
    try:
        {work}
    except KeyboardInterrupt:
        return 130
    return 1
arguments.main = main
sys.exit(entry.run())
"""
ITSELF = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT)"
WITHIN = {
    "text that is run": ("exec('raise KeyboardInterrupt')", ""),
    "an import": ("import slow; time = slow.time; time.sleep(60)", "open('whole', 'w').close()"),
    "an import without end": ("import slow", "time.sleep(60)"),
}


@pytest.mark.parametrize("where", WITHIN)
def test_it_ends_so_wherever_it_was_interrupted(tmp_path, where):
    """In code that a library makes of text, and within imports, which C++ does not survive."""
    work, rest = WITHIN[where]
    (tmp_path / "slow.py").write_text(f"{ITSELF}\ntime.sleep(0.2)\n{rest}\n")
    begun_at = time.monotonic()
    patience = 1.0 if "without end" in where else PATIENCE
    program = BY_ITSELF.format(work=work, patience=patience)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, timeout=ENDS,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 130, ended.stderr
    assert time.monotonic() - begun_at < ENDS / 2
    assert (tmp_path / "whole").exists() == ("open" in rest), "the import was let to its end"
