"""A real server and a real Chromium for the tests of whole journeys."""

import http.client
import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing, contextmanager, suppress

import pytest

from shuffleproof.core.execution.jobs import HOME
from tests.job_watch import kill, processes, until

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PROGRAM = "shuffleproof.core.job_process"
APP = "[data-testid=stApp]"
PICTURE = "[data-testid=stPlotlyChart]"
MARKS = ".points path"
PATIENCE = 120_000
SETTLE = 250
"""Milliseconds in which a click has made the page run."""

STILL = """() => {
    const waits = '[data-testid=stSkeleton], [data-testid=stAppSkeleton], [data-testid=stSpinner]';
    const still = document.querySelector('[data-test-script-state=notRunning]')
        && document.querySelector('h1') && !document.querySelector(waits)
        && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(
            one => one.querySelector('.js-plotly-plot .main-svg'));
    if (!still) window.stillSince = undefined;
    else window.stillSince ??= performance.now();
    return still && performance.now() - window.stillSince > 300;
}"""
"""No script runs, nothing stands for what is still to come, and every picture is drawn."""


def chromium():
    """The path of an installed Chromium or Chrome, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


NEEDS = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium(), reason="no Chromium is installed"),
]
"""The marks of a test that drives a browser."""
SLOW = [*NEEDS, pytest.mark.slow]
"""The marks of all of them but one journey."""


class Server:
    """The dashboard on a port of its own over a store of its own."""

    def __init__(self, home, log):
        self.home, self.log = home, log
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.process = None

    @property
    def url(self):
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, environment):
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "shuffleproof.app.server", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=HOME, stdout=log, stderr=log,
                env=environment | {"SHUFFLEPROOF_HOME": str(self.home)},
            )  # fmt: skip
        until(self._answers, 60)

    def _answers(self):
        assert self.process.poll() is None, self.log.read_text(errors="replace")
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with closing(asked), suppress(OSError, http.client.HTTPException):
            asked.request("GET", "/readyz")
            return asked.getresponse().status == 200
        return False

    def workers(self):
        """Process ids of the jobs of its store."""
        return processes(self.home, PROGRAM)

    def close(self):
        """End the server, then the jobs of its store."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        kill(self.workers())
        until(lambda: not self.workers())


@contextmanager
def served(folder):
    """A server over the store of a folder; ended with its jobs."""
    server = Server(folder / "store", folder / "server.log")
    server.start(dict(os.environ))
    try:
        yield server
    finally:
        server.close()


@contextmanager
def fresh(chromium, server):
    """A visitor whose browser knows nothing of what others did; nothing goes wrong in it."""
    visitor = Visitor(chromium, server.url)
    try:
        yield visitor
    finally:
        visitor.told()
        visitor.context.close()
    assert not visitor.wrong, visitor.wrong


@contextmanager
def new_page(visitor):
    """A new page of a visitor whose browser has the dashboard's scripts; nothing goes wrong in it.

    A browser that has none takes seconds to read them.
    """
    visitor.open_page()
    try:
        yield visitor
    finally:
        visitor.told()
    wrong = list(visitor.wrong)
    visitor.wrong.clear()
    assert not wrong, wrong


class Visitor:
    """One browser context with a page, and everything that went wrong in it."""

    def __init__(self, browser, url):
        self.url, self.wrong = url, []
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.set_default_timeout(PATIENCE)
        self.page = None
        self.open_page()
        self.context.on("console", lambda message: self._said(message.type, message.text))
        self.context.on("weberror", lambda error: self.wrong.append(f"page error: {error.error}"))
        self.context.on("request", lambda request: self._asked(request.url))

    def open_page(self):
        """Open a new page and close the one before."""
        before, self.page = self.page, self.context.new_page()
        if before:
            before.close()

    def told(self):
        """Write where the visitor is and what stands there: pytest shows it of a failed test."""
        if not self.page.is_closed():
            lines = (self.page.url, *self.wrong, self.page.locator("body").inner_text(), "")
            sys.stdout.write("\n".join(lines))

    def _said(self, kind, text):
        if kind == "error":
            self.wrong.append(f"console: {text}")

    def _asked(self, address):
        own = (self.url, self.url.replace("http", "ws", 1), "data:", "blob:")
        if not address.startswith(own):
            self.wrong.append(f"request: {address}")

    def go(self, place):
        """Open a page of the dashboard by its address and wait until it is drawn."""
        self.page.goto(f"{self.url}/{place}")
        self.drawn()

    def drawn(self):
        """Wait until the page runs no script and shows no error."""
        self.page.get_by_test_id("stAppViewContainer").wait_for()
        self.page.wait_for_timeout(SETTLE)
        self.page.locator(f"{APP}[data-test-script-state=notRunning]").wait_for()
        self.page.locator("h1").first.wait_for()
        told = self.page.get_by_test_id("stException").all_inner_texts()
        assert not told, told

    def press(self, name):
        """Press a button and wait until the page is drawn again."""
        self.page.get_by_role("button", name=name).click()
        self.drawn()

    def choose(self, label, *texts):
        """Type choices into a list that can be searched."""
        box = self.page.get_by_role("combobox", name=label, exact=True)
        for text in texts:
            box.scroll_into_view_if_needed()
            self.drawn()  # scrolling closes an open list
            box.fill(text)
            self.page.get_by_role("option", name=text).first.wait_for()
            box.press("Enter")
            self.drawn()
            if self.page.get_by_role("listbox").count():  # one for several choices stays open
                box.blur()  # Escape clears every choice of a list that has closed meanwhile

    def fill(self, label, text):
        """Write into a field and hand it in."""
        field = self.page.get_by_label(label, exact=True).first
        field.fill(text)
        field.press("Enter")
        self.drawn()

    def chart(self, words):
        """The first picture whose description holds these words."""
        return self.page.locator(f'{PICTURE}[aria-label*="{words}"]').first

    def click_mark(self, chart, at):
        """Click a mark of a picture and wait until the address says so."""
        before, mark = self.page.url, self.chart(chart).locator(MARKS).nth(at)
        mark.wait_for(state="attached")
        mark.scroll_into_view_if_needed()
        self.drawn()
        box = mark.bounding_box()
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.wait_for_url(lambda address: address != before)
        self.drawn()

    def taken(self, menu, kinds):
        """Download one file of every kind from a menu: content by kind."""
        found = {}
        self.page.get_by_role("button", name=menu, exact=True).click()
        for kind in kinds:
            button = self.page.get_by_role("button", name=kind, exact=True)
            button.wait_for()
            if button.is_disabled():  # nothing here can draw it, and the menu says so
                continue
            with self.page.expect_download(timeout=PATIENCE) as started:
                button.click()
            found[kind] = started.value.path().read_bytes()
        self.page.keyboard.press("Escape")
        self.drawn()
        return found

    def alts(self):
        """What the pictures of the page say to those who cannot see them."""
        return [one.get_attribute("aria-label") for one in self.page.locator(PICTURE).all()]
