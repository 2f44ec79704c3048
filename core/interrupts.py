"""Ctrl-C where libraries are imported and compiled: it waits until they can take it.

So does SIGTERM, by which schedulers and `kill` ask a command to stop.
"""

import os
import signal
import threading
import time
from types import FrameType

PATIENCE = 5.0
"""Seconds that an import may go on after Ctrl-C."""
AGAIN = 0.05
DEAF = ("<frozen importlib", f"{os.sep}numba{os.sep}", f"{os.sep}llvmlite{os.sep}")
"""Parts of file names whose code loses, or aborts on, an exception raised from outside."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: the parent wants this program to stop."""


def status_of(stop: KeyboardInterrupt) -> int:
    """The exit status of a command that was stopped: as shells have it, 128 and the signal's.

    >>> status_of(KeyboardInterrupt()), status_of(TerminatedError())
    (130, 143)
    """
    return 128 + (signal.SIGTERM if isinstance(stop, TerminatedError) else signal.SIGINT)


class Interrupt:
    """Ctrl-C: `KeyboardInterrupt`, but not within an import, a compiler or a finaliser.

    Libraries of C++ abort the process when their own import is interrupted, and callbacks of C
    lose the exception. So it waits until they are over, or for `PATIENCE` where one does not end.
    """

    def __init__(self) -> None:
        """Start without a pressed Ctrl-C."""
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
        raise TerminatedError if number == signal.SIGTERM else KeyboardInterrupt


def _is_deaf(frame: FrameType | None) -> bool:
    """True if an exception raised now would be lost, or end the process."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or any(part in code.co_filename for part in DEAF):
            return True
        frame = frame.f_back
    return False
