"""What the tests of jobs share: waiting for something, finding and killing its processes."""

import os
import signal
import time
from contextlib import suppress

import psutil


def until(what, seconds=15.0):
    """Wait for something to be true; returns how long that took."""
    start = time.monotonic()
    while not what():
        assert time.monotonic() - start < seconds, "waited in vain"
        time.sleep(0.05)
    return time.monotonic() - start


def processes(folder, *endings):
    """The ids of processes that work in a folder, with arguments that end like these."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line = process.cmdline()
            inside = any(str(folder) in argument for argument in line)
            if inside and all(any(word.endswith(end) for word in line) for end in endings):
                found.append(process.pid)
    return found


def send(order, pids):
    """Send a signal to processes, of which some may be gone."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, order)


def kill(pids):
    """Kill processes as a power cut does."""
    send(signal.SIGKILL, pids)
