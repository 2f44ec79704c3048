"""The entry point of the `shuffleproof` command and of `python -m shuffleproof`."""

import codecs
import gc
import io
import os
import signal
import sys

from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.interrupts import Interrupt, status_of

HANDLED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What asks this program to stop, with Python's own handler of it."""


PLAIN = {
    "−": "-", "–": "-", "—": "-", "·": "|", "…": "...", "→": "->", "×": "x", "≥": ">=", "≤": "<=",
    "τ": "tau", "μ": "mu", "λ": "lambda", "Δ": "d", "±": "+-", "²": "^2", "χ": "chi", "\u00a0": " ",
}  # fmt: skip
"""Replacements of characters that a terminal's encoding lacks; any other becomes a question mark.
A minus must stay a minus: dropping it would print another number."""


def plain_characters(error: UnicodeError) -> tuple[str, int]:
    """Handle an encoding error (`codecs.register_error`): the replacement, and where to go on.

    >>> plain_characters(UnicodeEncodeError("ascii", "−1 ☂", 0, 1, ""))
    ('-', 1)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in lacking), error.end


def run() -> int:
    """Run the command line; set waiting threads to sleep before any library starts them.

    What modules are made of stays: it is looked through for garbage less often, a tenth of the
    time of a short command.
    """
    end = EarlyEnd()
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # 2^20 clock ticks, not 2^28: loading NumPy would cost twice the CPU time in every process
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    codecs.register_error("plain", plain_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not where another program took them over
            stream.reconfigure(errors="plain")
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
