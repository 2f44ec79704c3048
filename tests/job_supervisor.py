"""A supervisor over the kinds of the tests: `job_supervisor.py ROOT SLOTS [IDLE_SECONDS]`."""

import logging
import signal
import sys
from pathlib import Path
from threading import Event

from core.execution.jobs_slots import slots
from core.execution.jobs_supervisor import Supervisor

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    worker = [sys.executable, str(Path(__file__).with_name("job_kinds.py"))]
    supervisor = Supervisor(Path(sys.argv[1]), slots(int(sys.argv[2])), worker)
    ran = supervisor.run(stop, float(sys.argv[3]) if len(sys.argv) > 3 else None)
    sys.exit(0 if ran else 3)
