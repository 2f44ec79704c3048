"""Many visitors at once: how long a page with results takes to answer a click.

As many sessions as asked are opened over websockets, as browsers do: each loads a page of the
sample, then waits some seconds (exponentially distributed) before each turn of one of its switches.
What a page runs by the clock is run as often as a browser would.
"""

import asyncio
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socket
from urllib.error import URLError
from urllib.request import urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0


class Session:
    """One visitor's websocket: runs of the page, and the switches that it showed."""

    def __init__(self, socket, page):
        self.socket, self.page, self.switches, self.shown = socket, page, {}, []
        self.page_hash, self.by_clock, self.failed = "", {}, False

    async def run(self, fragment="", *, by_clock=False):
        """Ask for a run with the switches as they stand and read until it ends."""
        asked = BackMsg()
        state = asked.rerun_script
        state.page_script_hash, state.fragment_id, state.is_auto_rerun = (
            self.page_hash, fragment, by_clock,
        )  # fmt: skip
        if not self.page_hash:
            state.page_name = self.page
        for identifier, on in self.switches.items():
            widget = state.widget_states.widgets.add()
            widget.id, widget.bool_value = identifier, on
        self.shown = []
        await self.socket.send(asked.SerializeToString())
        while True:
            told = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), PATIENCE))
            if told.WhichOneof("type") == "script_finished":
                early = ForwardMsg.ScriptFinishedStatus.FINISHED_EARLY_FOR_RERUN
                if told.script_finished != early:
                    return
            self.take(told)

    def take(self, told):
        """Keep what a browser would: the page's hash, its switches, its clocks, its elements."""
        kind = told.WhichOneof("type")
        if kind == "new_session":
            self.page_hash = told.new_session.page_script_hash
        if kind == "navigation":
            self.page_hash = told.navigation.page_script_hash
        if kind == "auto_rerun":
            self.by_clock[told.auto_rerun.fragment_id] = told.auto_rerun.interval
        if kind == "delta" and told.delta.WhichOneof("type") == "new_element":
            element = told.delta.new_element
            self.shown.append(element.WhichOneof("type"))
            self.failed |= self.shown[-1] == "exception"
            if self.shown[-1] == "checkbox":
                self.switches.setdefault(element.checkbox.id, element.checkbox.default)

    async def click(self):
        """Turn the first switch; returns the seconds until the page stood."""
        first = next(iter(self.switches))
        self.switches[first] = not self.switches[first]
        start = time.perf_counter()
        await self.run()
        return time.perf_counter() - start

    async def rest(self, seconds):
        """Wait, and run what runs by the clock meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            pace = min(self.by_clock.values(), default=left)
            await asyncio.sleep(min(left, pace))
            if left > pace:
                for fragment in self.by_clock:
                    await self.run(fragment, by_clock=True)


async def visitor(address, arguments, dice, gate):
    """One visitor's times: of the first load, then of each click."""
    url = f"ws{address.removeprefix('http')}/_stcore/stream"
    async with connect(url, subprotocols=["streamlit"], max_size=None) as opened:
        session = Session(opened, arguments.page)
        start = time.perf_counter()
        await session.run()
        first = time.perf_counter() - start
        assert session.switches, f"the page shows no switch, only {sorted(set(session.shown))}"
        await gate.wait()
        times = []
        for _ in range(arguments.clicks):
            await session.rest(dice.expovariate(1 / arguments.pause) if arguments.pause else 0)
            times.append(await session.click())
        assert not session.failed, "a page showed an exception"
        assert "plotly_chart" in session.shown, "the page shows no picture"
        return first, times


async def visit(address, arguments):
    """Everybody's times, together."""
    dice, gate = random.Random(arguments.seed), asyncio.Barrier(arguments.sessions)
    visits = (visitor(address, arguments, dice, gate) for _ in range(arguments.sessions))
    return await asyncio.gather(*visits)


def free_port():
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server(home, *flags, log=subprocess.DEVNULL):
    """(address, process) of a server on a free port with a store of its own."""
    port = free_port()
    command = [sys.executable, "-m", "shuffleproof.app.server", f"--port={port}", *flags]
    environment = os.environ | {"SHUFFLEPROOF_HOME": str(home), "OMP_WAIT_POLICY": "passive"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            until = time.monotonic() + PATIENCE
            while not answers(f"{address}/healthz"):
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.05)
            yield address, process
        finally:
            process.terminate()
            process.wait(20)


def answers(url):
    with suppress(URLError, ConnectionError), urlopen(url) as answer:  # noqa: S310 (our server's)
        return answer.status == 200
    return False
