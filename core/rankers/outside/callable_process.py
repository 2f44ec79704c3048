"""The process in which somebody's function runs: it imports it, answers what it is sent and ends.

`python -P -m THIS MODULE:FUNCTION SECONDS CONNECTION FAULTS`:
how long a call may take before the process ends by itself, should nobody be left to end it, then
the numbers of two open files: a connection that carries messages, and where a crash says where it
was.
"""

import faulthandler
import importlib
import inspect
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.execution.early_end import end_with_parent
from shuffleproof.core.rankers.outside.audit import Audit
from shuffleproof.core.rankers.outside.returned import UnusableError, numbers
from shuffleproof.core.rankers.outside.signature import CallSignature, call_signature
from shuffleproof.core.user_code import failure

ABSENT, FAILED, REFUSED = "absent", "failed", "refused"
INPUTS, OPTIONAL, FILES = "inputs", "optional", "files"
RETURNED, EXPECTED, REMEDY, SHAPE = "returned", "expected", "remedy", "shape"
SCORES, PLACES = b"scores", b"places"
ARRAYS = ("features", "ranks", "mask")
"""Inputs that are sent as arrays, in this order; the others stand in the words before them."""


def main(arguments: Sequence[str]) -> int:
    """Serve until the connection closes."""
    target, seconds, connection, faults = arguments
    limit = float(seconds), int(faults)
    faulthandler.enable(int(faults), all_threads=False)
    faulthandler.register(signal.SIGUSR1, int(faults), all_threads=False)
    end_with_parent()
    os.dup2(2, 1)  # what a function prints is no answer
    with Connection(int(connection)) as channel:
        place = json.loads(channel.recv_bytes())
        sys.path[:], audit = place["path"], Audit(place["room"])
        audit.watch()
        with _time_limit(*limit):
            function, parameters, head = _look_up(target)
        channel.send_bytes(json.dumps(head).encode())
        with suppress(EOFError):
            while function is not None:
                _serve(channel, function, parameters, limit, audit)
    return 0


def _look_up(target: str) -> tuple[Callable[..., Any] | None, CallSignature, dict[str, Any]]:
    """The function of a name, what it takes and what is known of it; or none, and why."""
    module, _, name = target.partition(":")
    nothing = CallSignature(())
    try:
        imported = importlib.import_module(module)
        function = getattr(imported, name, None)
    except BaseException as error:  # noqa: BLE001 (whatever somebody's module does)
        lacking = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        absent = bool(lacking) and f"{module}.".startswith(f"{lacking}.")
        return None, nothing, {ABSENT if absent else FAILED: failure(error)}
    if not callable(function):
        return None, nothing, {ABSENT: ""}
    try:
        parameters = call_signature(function)
    except ValueError as error:
        return None, nothing, {REFUSED: str(error)}
    head = {INPUTS: parameters.inputs, OPTIONAL: sorted(parameters.optional)}
    return function, parameters, head | {FILES: _files(imported, function)}


def _files(module: Any, function: Callable[..., Any]) -> list[str]:
    """The files that a callable comes from; none for what is built in."""
    paths = [getattr(module, "__file__", None)]
    with suppress(TypeError):  # an instance, or something compiled: the module's file says it
        paths.append(inspect.getsourcefile(inspect.unwrap(function)))
    return [path for path in dict.fromkeys(paths) if path and Path(path).is_file()]


@contextmanager
def _time_limit(seconds: float, faults: int) -> Iterator[None]:
    """End the process when a block takes longer, whatever holds Python's lock."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=faults)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _serve(
    channel: Connection,
    function: Callable[..., Any],
    parameters: CallSignature,
    limit: tuple[float, int],
    audit: Audit,
) -> None:
    """Answer one call: the scores after the word SCORES, or what is wrong with them in JSON.

    The message PLACES is answered by what the process has touched.
    """
    content = channel.recv_bytes()
    if content == PLACES:
        channel.send_bytes(json.dumps(audit.plain()).encode())
        return
    message = io.BytesIO(content)
    arguments: dict[str, Any] = json.loads(message.readline())
    for name in ARRAYS:
        if message.tell() < message.getbuffer().nbytes:
            arguments[name] = np.load(message, allow_pickle=False)
    shape = arguments["features"].shape[:2]
    arguments.setdefault("mask", np.ones(shape, dtype=bool))
    if "mask" not in parameters.inputs:  # one list
        arguments = {name: value[0] for name, value in arguments.items()}
        shape = shape[1:]
    try:
        with audit.call(), _time_limit(*limit):
            scores = numbers(parameters.call(function, arguments), shape)
    except UnusableError as error:
        head = {RETURNED: error.finding, REMEDY: error.remedy, EXPECTED: shape, SHAPE: error.shape}
        channel.send_bytes(json.dumps(head).encode())
        return
    except BaseException as error:  # noqa: BLE001 (whatever somebody's function does)
        channel.send_bytes(json.dumps({FAILED: failure(error)}).encode())
        return
    filled = io.BytesIO()
    np.save(filled, scores)
    channel.send_bytes(SCORES + filled.getbuffer())


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # whatever threads a function has left behind
