"""Every function of the zoo through the three entry points: `python -m tests.soak.zoo`."""

import os
import subprocess
import sys

TESTS = "tests/core/studies/kinds/test_entry_points.py"

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS, *sys.argv[1:]]
    sys.exit(subprocess.call(command, env={**os.environ, "SHUFFLEPROOF_WHOLE_ZOO": "1"}))
