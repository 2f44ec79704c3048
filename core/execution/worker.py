"""Program of a worker process: makes a server and calls its methods until the connection ends.

`python -P -m THIS MODULE:MAKER SECONDS BYTES CONNECTION FAULTS`: what makes the server, the limits
of time and memory (0: none), and the numbers of two open files: a connection for messages, and
where a crash writes its stack.
"""

import faulthandler
import io
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from shuffleproof.core.errors import MissingPackageError, ShuffleproofError
from shuffleproof.core.execution.early_end import end_with_parent
from shuffleproof.core.execution.work import LONGEST_DETAILS, function_named
from shuffleproof.core.user_code import failure

METHOD, FAILED = "method", "failed"


def pack(values: Mapping[str, Any]) -> bytes:
    """A message of JSON values and arrays: no pickle, so that neither side can run code by it.

    >>> unpack(pack({"a": [1], "b": np.arange(2)}))
    {'a': [1], 'b': array([0, 1])}
    """
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    words = {name: value for name, value in values.items() if name not in arrays}
    message = io.BytesIO()
    message.write(json.dumps([words, [*arrays]]).encode() + b"\n")
    for array in arrays.values():
        np.save(message, array, allow_pickle=False)
    return message.getvalue()


def unpack(content: bytes) -> dict[str, Any]:
    """The values of a message."""
    message = io.BytesIO(content)
    words, names = json.loads(message.readline())
    return words | {name: np.load(message, allow_pickle=False) for name in names}


def main(arguments: list[str]) -> None:
    """Serve until the connection closes."""
    maker, seconds, memory, connection, faults = arguments
    faulthandler.enable(int(faults), all_threads=False)
    faulthandler.register(signal.SIGUSR1, int(faults), all_threads=False)
    end_with_parent()
    os.dup2(2, 1)  # what foreign code prints is no answer
    if int(memory):
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    with Connection(int(connection)) as channel, suppress(EOFError):
        server = function_named(maker)()
        while True:
            request = unpack(channel.recv_bytes())
            # Works while foreign code holds Python's lock, and after the parent has died.
            faulthandler.dump_traceback_later(float(seconds), exit=True, file=int(faults))
            answer = _answer(getattr(server, request.pop(METHOD)), request)
            faulthandler.cancel_dump_traceback_later()
            channel.send_bytes(pack(answer))


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
