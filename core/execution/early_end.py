"""The end of a program: Python's own takes libraries such as PyTorch apart for half a second."""

import atexit
import os
import sys
import threading
import time


class EarlyEnd:
    """Ends this process as soon as everything that was registered for its end has been done.

    Attributes:
        status: to end with; while it is None, the process ends as any other.
    """

    def __init__(self) -> None:
        """Register first of all: what is registered later is done before."""
        self.status: int | None = None
        atexit.register(self._end)

    def _end(self) -> None:
        if self.status is None:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # the reader of the output is gone: Python says so and ends otherwise
            return
        os._exit(self.status)


def end_with_parent(parent: int | None = None) -> None:
    """End this process at the latest a second after the one that started it ended.

    Args:
        parent: its id; None: it lives now, so that the system tells.
    """

    def watch(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, args=(parent or os.getppid(),), daemon=True).start()
