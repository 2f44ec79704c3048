"""The entry point of the `shuffleproof` command and of `python -m shuffleproof`."""

import gc
import os
import signal
import sys
import threading
import time
from types import FrameType

PATIENCE = 5.0
"""Seconds that an import may go on after Ctrl-C."""
AGAIN = 0.05
DEAF = ("<frozen importlib", f"{os.sep}numba{os.sep}", f"{os.sep}llvmlite{os.sep}")
"""Parts of the files whose code loses an exception that somebody else raises in it, or aborts."""


def run() -> int:
    """Run the command line; threads are told not to spin before any library starts them.

    What modules are made of stays: it is looked through for garbage less often, a tenth of the
    time of a short command.
    """
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, Interrupt())
    try:
        from shuffleproof.core.cli.arguments import main  # noqa: PLC0415 (after the environment is set)

        status = main(sys.argv[1:])
    except KeyboardInterrupt:  # before there was anything to stop
        status = 130
    # Where Ctrl-C met code that a library made of text, Python would still end by the signal,
    # whatever the status: text that is run to its end takes that back.
    exec("")  # noqa: S102 (nothing is run)
    return status


class Interrupt:
    """Ctrl-C: `KeyboardInterrupt`, but not within an import, a compiler or a finaliser.

    Libraries of C++ abort the process when their own import is interrupted, and callbacks of C
    lose the exception. So it waits until they are over, or for `PATIENCE` where one does not end.
    """

    def __init__(self) -> None:
        """Nobody has pressed it."""
        self.pressed = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take the signal."""
        now = time.monotonic()
        self.pressed = self.pressed or now
        if now - self.pressed < PATIENCE and _is_deaf(frame):
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        self.pressed = 0.0
        signal.default_int_handler(number, frame)


def _is_deaf(frame: FrameType | None) -> bool:
    """Whether an exception raised now would be lost, or end the process."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or any(part in code.co_filename for part in DEAF):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    sys.exit(run())
