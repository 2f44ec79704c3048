"""Messages that no page of ours sends, over many websockets: how the server takes them.

`python tests/soak/fuzz_frames.py [--frames 2000] [--seed 0]` starts the server on a free port and
sends random bytes, damaged and truncated messages, text, nothing, and messages of megabytes, each
over a websocket of its own. It prints one JSON object: how the websockets ended, lines of the log
that are no JSON or hold a traceback, and the most memory the server took, in MiB.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.soak.sessions import PATIENCE, answers, server

TOGETHER = 8
LONGEST = 40_000_000
"""Bytes: more than the server takes."""


def whole(page="data"):
    """A message that pages do send."""
    message = BackMsg()
    message.rerun_script.page_name = page
    widget = message.rerun_script.widget_states.widgets.add()
    widget.id, widget.string_value = "$$ID-0123456789abcdef-None", "x" * 40
    return message.SerializeToString()


def frame(rng, number):
    """What is sent over the websocket of this number: text or bytes, never a whole message."""
    kind = number % 6
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 2000))
    if kind == 1:  # cut short
        return whole()[: rng.randrange(1, len(whole()) - 1)]
    if kind == 2:  # an unknown kind of message
        return b"\xfa\x7f" + bytes([30]) + rng.randbytes(30)
    if kind == 3:
        return "text " * rng.randrange(0, 50)
    if kind == 4:
        return b""
    many = BackMsg()
    many.file_urls_request.file_names.extend(["x"] * rng.randrange(1001, 3000))
    return many.SerializeToString()


async def ended(address, content):
    """How the server ends a websocket over which this is sent: the code, or that it did not."""
    stream = address.replace("http", "ws", 1) + "/_stcore/stream"
    try:
        async with connect(stream, origin=address, subprotocols=["streamlit"]) as socket:
            await socket.send(content)
            async with asyncio.timeout(PATIENCE):
                while True:
                    await socket.recv()
    except ConnectionClosed as closed:
        return str(closed.rcvd.code if closed.rcvd else "cut")
    except InvalidStatus as refused:
        return f"refused {refused.response.status_code}"
    except TimeoutError:
        return "open"


async def attacked(address, frames, seed):
    """How many websockets ended how."""
    rng = random.Random(seed)
    contents = [frame(rng, number) for number in range(frames)]
    contents += [rng.randbytes(LONGEST) for _ in range(2)]
    found = Counter()
    for at in range(0, len(contents), TOGETHER):
        some = contents[at : at + TOGETHER]
        found.update(await asyncio.gather(*(ended(address, content) for content in some)))
    return found


def peak(process):
    """The most memory that a process has taken, in MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def measured(frames, seed):
    """What the module's head says, as a dictionary."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        with path.open("wb") as log, server(folder, log=log) as (address, process):
            found = asyncio.run(attacked(address, frames, seed))
            memory, alive = peak(process), answers(f"{address}/healthz")
        lines = [line for line in path.read_text().splitlines() if line.strip()]
    logged = [line for line in lines if "You can now view" not in line and "URL: " not in line]
    bad = [line for line in logged if not line.startswith("{") or "traceback" in json.loads(line)]
    return {"ended": dict(found), "bad": bad[:10], "peak_mib": memory, "alive": alive}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.stdout.write(json.dumps(measured(given.frames, given.seed)) + "\n")
