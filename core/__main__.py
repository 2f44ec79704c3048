"""The entry point of the `shuffleproof` command and of `python -m shuffleproof`."""

import gc
import os
import signal
import sys

from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.interrupts import Interrupt, status_of

HANDLED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What asks this program to stop, with Python's own handler of it."""


def run() -> int:
    """Run the command line; threads are told not to spin before any library starts them.

    What modules are made of stays: it is looked through for garbage less often, a tenth of the
    time of a short command.
    """
    end = EarlyEnd()
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    for order, usual in HANDLED.items():
        if signal.getsignal(order) == usual:
            signal.signal(order, Interrupt())
    try:
        from shuffleproof.core.cli.arguments import main  # noqa: PLC0415 (after the environment is set)

        status = main(sys.argv[1:])
    except KeyboardInterrupt as stop:  # before there was anything to stop
        status = status_of(stop)
    # Where Ctrl-C met code that a library made of text, Python would still end by the signal,
    # whatever the status: text that is run to its end takes that back.
    exec("")  # noqa: S102 (nothing is run)
    if isinstance(signal.getsignal(signal.SIGTERM), Interrupt):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # what is left to do at the end may be ended
    end.status = status
    return status


if __name__ == "__main__":
    sys.exit(run())
