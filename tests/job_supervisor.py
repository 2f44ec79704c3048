"""A supervisor over the kinds of the tests: `job_supervisor.py ROOT SLOTS [IDLE_SECONDS]`."""

import sys
from pathlib import Path

from shuffleproof.core.execution.jobs_supervisor import supervise

if __name__ == "__main__":
    worker = [sys.executable, str(Path(__file__).with_name("job_kinds.py"))]
    idle = float(sys.argv[3]) if len(sys.argv) > 3 else None
    sys.exit(0 if supervise(Path(sys.argv[1]), worker, int(sys.argv[2]), idle) else 3)
