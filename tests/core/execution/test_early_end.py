"""How programs of ours end: what was registered is done, and the status is the program's."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from shuffleproof.core.execution.early_end import EarlyEnd
end = EarlyEnd()
atexit.register(print, "registered later")

class TakenApart:
    def __del__(self):
        print("taken apart")

module_level = TakenApart()
print("printed")
end.status = {status}
{ending}
"""


@pytest.mark.parametrize(
    ("status", "ending", "code", "printed"),
    [
        ("3", "sys.exit(3)", 3, "printed\nregistered later\n"),
        ("None", "raise KeyError(7)", 1, "printed\nregistered later\ntaken apart\n"),
    ],
)
def test_what_is_to_be_done_at_the_end_is_done_and_nothing_is_taken_apart(
    status, ending, code, printed
):
    program = PROGRAM.format(status=status, ending=ending)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (code, printed)
    assert ("KeyError: 7" in ended.stderr) == (code == 1)


def test_a_reader_that_is_gone_is_told_as_python_does():
    program = PROGRAM.format(status="0", ending="sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    ) as process:  # fmt: skip
        process.stdout.close()
        process.stdin.close()
        assert "BrokenPipeError" in process.stderr.read()
    assert process.returncode == 120
