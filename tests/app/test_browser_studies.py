"""Every page of a study in a real Chromium: question, picture, clicks, a file taken away."""

import csv
import json

import pytest

from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.studies.registry import STUDIES
from tests import browser

pytestmark = browser.SLOW
QUERIES = "Heat map of query against"


PATHS = {
    "initial-ranking": (("against", 9), (QUERIES, 5)),
    "set-size": (("against test list length", 9), (QUERIES, 5)),
    "initial-rankings": (("Dots of NDCG", 3), (QUERIES, 5)),
    "perturbations": (("Heat map of", 4), (QUERIES, 5)),
    "ablation": (("Dots of NDCG@10", 1), (QUERIES, 5)),
    "card": (("Dots of share kept", 1), (QUERIES, 5)),
}
"""Clicks on marks of pictures: (words of the picture's description, which mark)."""


@pytest.fixture(scope="module")
def visitor(tmp_path_factory, chromium):
    """One browser on one server for all pages."""
    home = tmp_path_factory.mktemp("studies")
    with browser.served(home) as server, browser.fresh(chromium, server) as visitor:
        yield visitor


@pytest.fixture(autouse=True)
def nothing_wrong(visitor):
    """No error in the console, none of the page, and no request to elsewhere."""
    yield
    wrong = list(visitor.wrong)
    visitor.wrong.clear()
    assert not wrong


def opened(visitor, kind):
    visitor.go(f"{kind}?data={SAMPLE}")
    visitor.page.get_by_text(STUDIES[kind].title).wait_for()


def rows_taken(visitor):
    (text,) = visitor.taken("Table", ("CSV",)).values()
    return list(csv.DictReader(text.decode().splitlines()))


@pytest.mark.parametrize("kind", PATHS)
def test_a_stored_study_is_clicked_down_to_a_query_and_taken_away(visitor, kind):
    opened(visitor, kind)
    visitor.page.locator(browser.PICTURE).first.wait_for()
    visitor.drawn()
    for chart, mark in PATHS[kind]:
        visitor.click_mark(chart, mark)
    visitor.page.get_by_role("combobox", name="Query", exact=True).wait_for()
    assert len(rows_taken(visitor)) > 1
    address, shown = visitor.page.url, visitor.alts()
    visitor.page.reload()
    visitor.page.locator(browser.PICTURE).nth(len(shown) - 1).wait_for()
    visitor.drawn()
    assert visitor.page.url == address
    assert visitor.alts() == shown


def test_weights_are_looked_at_and_shuffled(visitor):
    visitor.go(f"attention?data={SAMPLE}")
    page, chart = visitor.page, "documents (attending)"
    page.get_by_text("leaves SetRank MSAB's attention unchanged").wait_for()
    page.get_by_text("Matrix of weights").click()
    visitor.drawn()
    visitor.chart(chart).wait_for()
    visitor.click_mark(chart, 77)
    page.get_by_role("heading", name="The cell").wait_for()
    page.get_by_role("button", name="Shuffle", exact=True).click()
    page.get_by_text("with seed 2").first.wait_for()
    page.get_by_text("leaves SetRank MSAB's attention unchanged").wait_for()
    weights = [float(row["weight"]) for row in rows_taken(visitor)]
    assert sum(weights) == pytest.approx(round(len(weights) ** 0.5), rel=1e-3)  # rows sum to 1
    page.get_by_text("draws on").first.wait_for()


def test_a_search_for_the_worst_case_is_started_and_followed(visitor):
    opened(visitor, "worst-case")
    page = visitor.page
    page.get_by_text("New study", exact=True).click()
    visitor.drawn()
    visitor.fill("Budgets", "1,2")
    visitor.fill("Queries", "4")
    shipped = page.url
    visitor.press("Run this study")
    page.wait_for_url(lambda address: address != shipped, timeout=browser.PATIENCE)
    visitor.drawn()
    visitor.click_mark("lost against", 4)
    found = visitor.taken("Figure", ("HTML", "SVG", "PDF", "PNG"))
    found |= visitor.taken("Report and recipe", ("Recipe (JSON)", "Report (HTML)"))
    starts = {"PDF": b"%PDF", "PNG": b"\x89PNG", "SVG": b"<svg"}
    assert all(found[kind].startswith(start) for kind, start in starts.items() if kind in found)
    assert json.loads(found["Recipe (JSON)"])["recipe"]["budgets"] == [1, 2]
    assert b"DLCM" in found["HTML"]
    assert "dlcm" in {row["ranker"] for row in rows_taken(visitor)}
