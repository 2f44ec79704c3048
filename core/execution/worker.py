"""Program of a worker process: makes a server and calls its methods until the connection ends.

`python -P -m THIS MODULE:MAKER SECONDS BYTES CONNECTION FAULTS`: what makes the server, the limits
of time and memory (0: none), and the numbers of two open files: a connection for messages, and
where a crash writes its stack, behind the number of calls that are done.
`python -P -m THIS MODULE:MAKER SOCKET`: a template, which forks such processes on request.
"""

import faulthandler
import gc
import json
import math
import mmap
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from socket import recv_fds, socket
from typing import Any

import numpy as np

from shuffleproof.core.errors import MissingPackageError, ShuffleproofError
from shuffleproof.core.execution.early_end import end_with_parent
from shuffleproof.core.execution.work import LONGEST_DETAILS, function_named
from shuffleproof.core.user_code import failure

METHOD, FAILED = "method", "failed"
COUNTER = 8  # bytes for the number of calls, at the start of the file of faults
LONGEST_REQUEST = 1 << 16


def pack(values: Mapping[str, Any]) -> bytes:
    """A message of JSON values and arrays: no pickle, so that neither side can run code by it.

    >>> unpack(pack({"a": [1], "b": np.arange(2)}))
    {'a': [1], 'b': array([0, 1])}
    """
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    words = {name: value for name, value in values.items() if name not in arrays}
    forms = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    head = json.dumps([words, forms]).encode()
    return b"".join([head, b"\n", *(array.tobytes() for array in arrays.values())])


def unpack(content: bytes) -> dict[str, Any]:
    """The values of a message."""
    start = content.index(b"\n") + 1
    values, forms = json.loads(content[:start])
    for name, kind, shape in forms:
        # A copy can be written to; `frombuffer` refuses Python objects
        flat = np.frombuffer(content, kind, math.prod(shape), start)
        values[name], start = flat.reshape(shape).copy(), start + flat.nbytes
    return dict(values)


def main(arguments: list[str]) -> None:
    """Serve until the connection closes; a template forks processes that do."""
    maker, *others = arguments
    if len(others) > 1:
        serve(maker, [float(limit) for limit in others[:2]], [int(file) for file in others[2:]])
    else:
        fork_on_request(maker, int(others[0]))


def serve(maker: str, limits: Sequence[float], files: Sequence[int]) -> None:
    """Call the methods of a server until the connection closes."""
    (seconds, memory), (connection, faults) = limits, files
    faulthandler.enable(faults, all_threads=False)
    faulthandler.register(signal.SIGUSR1, faults, all_threads=False)
    end_with_parent()
    os.dup2(2, 1)  # what foreign code prints is no answer
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    with Connection(connection) as channel, suppress(EOFError):
        server = function_named(maker)()
        if hasattr(server, "counter"):
            server.counter = memoryview(mmap.mmap(faults, COUNTER)).cast("q")
        while True:
            request = unpack(channel.recv_bytes())
            # Works while foreign code holds Python's lock, and after the parent has died.
            faulthandler.dump_traceback_later(seconds, exit=True, file=faults)
            answer = _answer(getattr(server, request.pop(METHOD)), request)
            faulthandler.cancel_dump_traceback_later()
            channel.send_bytes(pack(answer))


def fork_on_request(maker: str, control: int) -> None:
    """Fork a process for each request with files, and tell the status of one for each without."""
    function_named(maker)  # what loads slowly is loaded once
    gc.freeze()  # else each process would copy the memory of all objects to look for garbage
    running = set[int]()
    with socket(fileno=control) as channel:
        while True:
            content, files, _, _ = recv_fds(channel, LONGEST_REQUEST, 3)
            if not content:
                break
            request = json.loads(content)
            if not files:
                answer = _status(request, running)
            elif answer := os.fork():
                running.add(answer)
                with suppress(OSError):  # it has done so itself, or it is over already
                    os.setpgid(answer, answer)
                for file in files:
                    os.close(file)
            else:
                break
            channel.send(json.dumps(answer).encode())
    if content:
        _serve_forked(maker, request, files)
        return
    for pid in running:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    for pid in running:
        os.waitpid(pid, 0)  # its processor time is that of the template, and of who started it


def _status(pid: int, running: set[int]) -> int | None:
    """Exit status of a process; None while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    running.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _serve_forked(maker: str, request: list[Any], files: list[int]) -> None:
    """Serve as a new process would: in a group of its own, in the folder of who asked for it."""
    connection, faults, errors = files
    os.setpgid(0, 0)
    os.dup2(errors, 2)
    os.close(errors)
    *limits, folder = request
    os.chdir(folder)
    if "numpy.random" in sys.modules:  # Python's own generator is seeded again at each fork
        np.random.seed()  # noqa: NPY002 (the generator that all of NumPy's functions share)
    serve(maker, limits, (connection, faults))


def _answer(method: Callable[..., Mapping[str, Any]], request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {FAILED: None, **method(**request)}
    except BaseException as error:  # noqa: BLE001 (whatever foreign code does)
        told = MissingPackageError.of(error) or error
        finding, remedy = (getattr(told, name, "") for name in ("finding", "remedy"))
        if isinstance(told, ShuffleproofError) and not finding:
            finding = str(told)
        details = traceback.format_exc()[-LONGEST_DETAILS:]
        return {FAILED: [finding or failure(error), remedy, details, bool(finding)]}


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # whatever threads foreign code has left behind
