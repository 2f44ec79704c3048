"""The entry point of the `shuffleproof` command and of `python -m shuffleproof`."""

import gc
import os
import sys


def run() -> int:
    """Run the command line; threads are told not to spin before any library starts them.

    What modules are made of stays: it is looked through for garbage less often, a tenth of the
    time of a short command.
    """
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from shuffleproof.core.cli.arguments import main  # noqa: PLC0415 (after the environment is set)

        return main(sys.argv[1:])
    except KeyboardInterrupt:  # before there was anything to stop
        return 130


if __name__ == "__main__":
    sys.exit(run())
