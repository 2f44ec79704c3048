"""Functions that misbehave as rankers: right scores, or a sentence that says where; no third.

`python -m tests.soak.fuzz_functions 60`; each starts a process or two, so dozens are much. A
function is one of BEHAVIOURS from some list on (a ranker is asked list by list), in the form of
one list or with a mask.
"""

import sys
from pathlib import Path

import numpy as np

from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from tests.soak import fuzzing
from tests.soak.fuzzing import WrongError
from tests.synthetic import planted

SECONDS = 6.0
RIGHT = "right"

BEHAVIOURS = {
    RIGHT: "pass",
    "one too few": "return right[..., :-1]",
    "a matrix": "return np.zeros((3000, 3000))",
    "nothing": "return None",
    "text": "return 'scores'",
    "a list of lists": "return [[1], [2, 3]]",
    "objects": "return np.array([object()] * len(right))",
    "complex": "return right * 1j",
    "NaN": "right.flat[-1] = np.nan; return right",
    "infinite": "right.flat[0] = np.inf; return right",
    "beyond float32": "return right * 1e300 + 1e300",
    "an exception": "raise ValueError('too\\nmany \\x1b[31m' + 'x' * 5000)",
    "an exception without words": "raise Silent",
    "the keyboard": "raise KeyboardInterrupt",
    "an exit": "sys.exit(3)",
    "an exit at once": "os._exit(3)",
    "an abort": "os.abort()",
    "a kill": "os.kill(os.getpid(), 9)",
    "a crash": "ctypes.string_at(0)",
    "recursion": "return score(*given)",
    "a loop": "while True: pass",
    "a sleep": "time.sleep(1e5)",
    "a closed connection": "os.closerange(3, 200); return right",
    "noise on every file": "[write(number) for number in range(3, 30)]; return right",
    "a flood": "print('x' * 2_000_000); sys.stderr.write('y' * 2_000_000)",
    "a fork": "os.fork()",
    "threads": "threading.Thread(target=time.sleep, args=(1e5,)).start()",
    "another folder": "os.chdir('/'); sys.path.clear()",
    "its input": "features[:] = 0",
    "floats of another kind": "return right.astype(np.float16).astype(np.longdouble)",
    "numbers in a list": "return right.tolist()",
}
HARMLESS = {
    RIGHT, "a flood", "threads", "another folder", "its input", "numbers in a list",
}  # fmt: skip
"""What must be accepted; the others are refused, or answered as if nothing had been."""

MODULE = """import ctypes, os, sys, threading, time
import numpy as np

called = 0


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


def write(number):
    try:
        os.write(number, b"x" * 40)
    except OSError:
        return


def score({arguments}):
    global called
    called += 1
    given = ({arguments})
    right = np.array(features[..., 0])
    if called > {after}:
        {body}
    return right
"""


def attempt(generator: np.random.Generator, room: Path) -> None:
    """Ask one function for the scores of a few lists, twice."""
    kind = list(BEHAVIOURS)[int(generator.integers(0, len(BEHAVIOURS)))]
    arguments = ("features, ranks", "features, mask, ranks")[int(generator.integers(0, 2))]
    name = f"given_{room.name}"
    after = int(generator.integers(0, 3)) if arguments.count(",") == 1 else 0
    text = MODULE.format(arguments=arguments, after=after, body=BEHAVIOURS[kind])
    (room / f"{name}.py").write_text(text, encoding="utf-8")
    data = planted(queries=(2, 2, 4), seed=1, documents=6).test
    lists = CandidateLists.all_documents(data)
    expected = data.features[lists.rows, 0]
    sys.path.insert(0, str(room))
    try:
        ranker = CallableRanker.from_name(f"{name}:score", SECONDS)
        for _ in range(2):
            if not np.allclose(ranker.score(data, lists), expected, rtol=1e-3):
                raise WrongError(f"{kind}: accepted with other scores than it returned")
    except fuzzing.ShuffleproofError as error:
        if kind in HARMLESS:
            raise WrongError(f"{kind}: refused ({error})") from error
        raise
    finally:
        sys.path.remove(str(room))


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 60)
