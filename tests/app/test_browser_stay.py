"""In a real Chromium: whatever is run, every address shows what it showed, to the last byte."""

import os

import pytest

from shuffleproof.app.navigation import PAGES
from shuffleproof.core import jobs
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.registry import STUDIES
from tests import browser
from tests.job_watch import until

pytestmark = [
    *browser.SLOW,
    pytest.mark.skipif(
        "SHUFFLEPROOF_WALK" not in os.environ, reason="minutes: SHUFFLEPROOF_WALK=1"
    ),
]

SHOWN = {*STUDIES, "", "data", "train", "present"}
"""The pages that have pictures of the shipped sample."""

TABS = 3
"""Pages that are drawn beside each other."""

SHORT = {"epochs": "1", "steps_per_epoch": "3"}
WORK = [
    ("benchmark", {"rankers": ["lambdamart", "setrank-msab"], "seeds": 1}),
    ("train", {"ranker": "dlcm", "changes": SHORT}),
    ("train", {"ranker": "setrank-imsab-init", "changes": SHORT}),
]
"""A benchmark, and trainings of the two rankers that the sample's pages open on."""

FIGURES = """() => [...document.querySelectorAll('.js-plotly-plot')].map(
    one => JSON.stringify([one.data, one.layout.title, one.layout.annotations]))"""
WRONG = "[data-testid=stException], [data-testid=stAlertContentError]"


def looked(chromium, server, places):
    """Where each place leads to and the figures that stand there, in a browser of its own."""
    found = {}
    with browser.fresh(chromium, server) as visitor:
        visitor.context.set_default_timeout(browser.PATIENCE)
        tabs = [visitor.context.new_page() for _ in range(TABS)]
        at = {}
        for number, place in enumerate([*places, *[None] * TABS]):
            tab = tabs[number % TABS]
            if tab in at:
                found[at.pop(tab)] = seen(tab, server)
            if place is not None:
                tab.goto(f"{server.url}/{place}", wait_until="commit")
                at[tab] = place
    return found


def seen(tab, server):
    """(address, figures) of a tab once it is drawn."""
    tab.wait_for_function(browser.STILL, polling=200)
    wrong = tab.locator(WRONG).all_inner_texts()
    assert not wrong, (tab.url, wrong)
    return tab.url.removeprefix(f"{server.url}/"), tuple(tab.evaluate(FIGURES))


def work(server):
    """A benchmark and trainings, by the server's own workers."""
    store, table = Store(server.home), Jobs(server.home)
    made = [jobs.submit(store, kind, {"data": SAMPLE} | asked) for kind, asked in WORK]
    jobs.start_waiting(store)
    for job in made:
        until(lambda job=job: table.get(job.id).ended, 600)
        assert table.get(job.id).state == "done", table.get(job.id).reason


def test_whatever_is_run_every_address_shows_what_it_showed(chromium, server):
    before = looked(chromium, server, PAGES)
    assert {path for path, (_, figures) in before.items() if figures} == SHOWN
    links = {address: (address, figures) for address, figures in before.values() if "&" in address}
    expected = before | links  # those that say nothing but the data set are visited as paths
    work(server)
    after = looked(chromium, server, expected)
    changed = [
        (place, address, "figures" * (shown != expected[place][1]))
        for place, (address, shown) in after.items()
        if (address, shown) != expected[place]
    ]
    assert not changed
