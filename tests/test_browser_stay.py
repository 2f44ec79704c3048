"""In a real Chromium: whatever is run, every address shows what it showed, to the last byte."""

import itertools
import json
import os
from contextlib import contextmanager

import pytest

from app.pages import SECTIONS
from core.data.catalogue import SAMPLE
from core.execution.jobs import Jobs
from core.store.artefacts import Store
from core.studies import jobs
from tests import browser
from tests.job_watch import until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not browser.chromium(), reason="no Chromium is installed"),
    pytest.mark.skipif(
        "SHUFFLEPROOF_WALK" not in os.environ, reason="minutes: SHUFFLEPROOF_WALK=1"
    ),
]
PAGES = {page.path: page for page in itertools.chain(*SECTIONS.values())}
SHOWN = {"", "invariance", "initial-ranking", "attention", "train"}
"""The pages that have pictures of the shipped sample."""

FIGURES = """() => [...document.querySelectorAll('.js-plotly-plot')].map(
    one => JSON.stringify([one.data, one.layout.title, one.layout.annotations]))"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server over a store that holds nothing but what is shipped."""
    folder = tmp_path_factory.mktemp("stay")
    server = browser.Server(folder / "store", folder / "server.log")
    server.start(dict(os.environ))
    yield server
    server.close()


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium."""
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=browser.chromium(), args=list(browser.FLAGS)
        )
        yield found
        found.close()


@contextmanager
def fresh(chromium, server):
    """A browser that knows nothing of what others did; nothing goes wrong in it."""
    visitor = browser.Visitor(chromium, server.url)
    visitor.page.set_default_timeout(browser.PATIENCE)
    yield visitor
    visitor.close()


def looked(chromium, server, place):
    """The address that a place leads to, and the figures that stand there."""
    path = place.partition("?")[0]
    with fresh(chromium, server) as visitor:
        visitor.go(place)
        if path in SHOWN:
            visitor.page.locator(".js-plotly-plot .main-svg").first.wait_for()
        return visitor.page.url.removeprefix(f"{server.url}/"), settled(visitor)


def settled(visitor):
    """The figures once no more of them appear: some are drawn after the page's own run."""
    shown = None
    for _ in range(10):
        visitor.drawn()
        before, shown = shown, visitor.page.evaluate(FIGURES)
        if shown == before:
            break
        visitor.page.wait_for_timeout(1000)
    return shown


def done(server, job):
    """Wait until a job is done."""
    table = Jobs(server.home)
    until(lambda: table.get(job.id).ended, 600)
    assert table.get(job.id).state == "done", table.get(job.id).reason


def worked(chromium, server):
    """A benchmark that is started on its page, and trainings of the two rankers of the contrast."""
    known = {job.id for job in Jobs(server.home).list()}
    with fresh(chromium, server) as visitor:
        visitor.go(f"benchmark?data={SAMPLE}")
        visitor.page.get_by_role("button", name="Clear all").first.click()
        visitor.drawn()
        visitor.choose("Rankers", "lambdamart")
        visitor.fill("Seeds", "1")
        visitor.press("Run this benchmark")
        until(lambda: len(Jobs(server.home).list()) > len(known), 60)
        (job,) = [job for job in Jobs(server.home).list() if job.id not in known]
        done(server, job)
        visitor.page.get_by_role("heading", name="Take away").wait_for()
        visitor.drawn()
        shown = visitor.page.url.removeprefix(f"{server.url}/")
        assert "study=study-" in shown
        figures = settled(visitor)
    store = Store(server.home)
    for name in ("dlcm", "setrank-imsab-init", "setrank-msab"):
        asked = {"data": SAMPLE, "ranker": name, "changes": {"epochs": "1"}, "lists": None}
        done(server, jobs.submit(store, "train", asked))
    return shown, figures


def test_whatever_is_run_every_address_shows_what_it_showed(chromium, server):
    before = {path: looked(chromium, server, path) for path in PAGES}
    assert all(figures for path, (_, figures) in before.items() if path in SHOWN)
    result, figures = worked(chromium, server)
    assert figures
    wrong = []
    for path, (address, shown) in before.items():
        for place in (path, address):
            now = looked(chromium, server, place)
            if now[1] != shown:  # a page that changed differs every time
                now = looked(chromium, server, place)
            if path == "benchmark" and not shown:
                continue  # it showed nothing: this is the first
            if now[1] != shown:
                wrong.append((place, now[0]))
    assert not wrong, json.dumps(wrong, indent=1)
    assert looked(chromium, server, result) == (result, figures)
