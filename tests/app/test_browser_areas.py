"""In a real Chromium: the five areas, on a desk and on a telephone; the tour; a presentation."""

import re

import pytest

from shuffleproof.app.navigation import SECTIONS
from tests import browser

pytestmark = browser.SLOW

PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36 Mobi"


@pytest.fixture(scope="module")
def visitor_of_all(sample_server, chromium):
    """One browser for all tests: each opens a page of its own."""
    with browser.fresh(chromium, sample_server) as visitor:
        yield visitor


@pytest.fixture
def visitor(visitor_of_all):
    """A page of one's own, in which nothing may go wrong."""
    with browser.new_page(visitor_of_all) as visitor:
        yield visitor


def test_each_area_shows_its_pages_and_no_others_and_back_leads_to_the_one_before(visitor):
    page = visitor.page
    visitor.go("")
    for area, pages in SECTIONS.items():
        links = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")
        if area != "Home":
            links.filter(has_text=area).click()
            page.wait_for_url(f"**/{pages[0].path}?**")
        visitor.drawn()
        inside = [one.title for one in pages] if len(pages) > 1 else [area]
        others = [other for other in SECTIONS if other != area]
        shown = [text.split("\n")[-1] for text in links.all_inner_texts()]
        assert sorted(shown) == sorted([*inside, *others])
    *_, before, last_but_one, _last = (pages[0].path for pages in SECTIONS.values())
    for path in (last_but_one, before):
        page.go_back()
        page.wait_for_url(f"**/{path}?**")
        visitor.drawn()
    page.go_forward()
    page.wait_for_url(f"**/{last_but_one}?**")


def test_back_leads_to_the_previous_page_whatever_was_chosen_on_this_one(visitor):
    page = visitor.page
    visitor.go("benchmark")
    visitor.drawn()
    links = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")
    links.filter(has_text="Stress tests").click()
    page.wait_for_url("**/perturbations?**")
    visitor.drawn()
    entries = page.evaluate("history.length")
    links.filter(has_text="Invariance").click()
    page.wait_for_url("**/invariance?**")
    visitor.drawn()
    page.get_by_role("button", name="Shuffle").first.click()
    page.wait_for_url("**order=shuffled%3A2**")
    visitor.drawn()
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    page.wait_for_url("**/perturbations?**")


def test_on_telephones_too(chromium, sample_server):
    with browser.fresh(chromium, sample_server) as visitor:
        context = chromium.new_context(
            viewport={"width": 390, "height": 800}, user_agent=PHONE, is_mobile=True
        )
        page = visitor.page = context.new_page()
        visitor.go("set-size")
        links = page.get_by_test_id("stSidebarNavLink")
        for area in ("Stress tests", "Home", "Data", "Rankers", "Results"):
            pages = SECTIONS[area]
            page.get_by_test_id("stExpandSidebarButton").click()
            if area != "Stress tests":
                links.filter(has_text=area).first.click()
                page.wait_for_url(re.compile(rf"/{pages[0].path}\?"))
                visitor.drawn()
                page.get_by_test_id("stExpandSidebarButton").click()
            inside = [one.title for one in pages]
            others = [other for other in SECTIONS if other != area]
            shown = [text.split("\n")[-1] for text in links.all_inner_texts()]
            assert sorted(shown) == sorted([*inside, *others])
            page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
        context.close()


def test_findings_are_presented_by_keys(visitor):
    page = visitor.page
    visitor.go("worst-case?data=sample")
    study = re.search("study=([^&]*)", page.url)[1]
    page.locator(browser.PICTURE).first.wait_for()
    page.get_by_role("button", name="Present").wait_for()
    visitor.drawn()
    page.keyboard.press("p")
    page.wait_for_url("**/present?**")
    visitor.drawn()
    assert f"study={study}" in page.url
    first = page.locator("h1").inner_text()
    assert "worst 5 inversions" in first
    assert page.locator(browser.PICTURE).count() == 1
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert page.locator("h1").evaluate("one => getComputedStyle(one).fontSize") == "24px"
    sizes = page.locator(".js-plotly-plot svg text").evaluate_all(
        "texts => texts.map(text => parseFloat(getComputedStyle(text).fontSize))"
    )
    assert 18 <= min(sizes) <= max(sizes) <= 24
    page.keyboard.press("ArrowRight")
    page.wait_for_function("first => document.querySelector('h1').innerText !== first", arg=first)
    visitor.drawn()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("first => document.querySelector('h1').innerText === first", arg=first)
    visitor.drawn()
    page.keyboard.press("Escape")
    page.wait_for_url(f"**/worst-case?**{study}**")
    visitor.drawn()
    assert page.get_by_test_id("stSidebar").is_visible()


def test_the_tour_leads_from_a_shuffle_to_ones_own_data(visitor):
    page = visitor.page
    visitor.go("")
    page.get_by_role("link", name="Take the tour").click()
    page.wait_for_url("**/tour?**")
    visitor.drawn()
    page.get_by_role("option", name="place 1 of").wait_for(timeout=browser.PATIENCE)
    page.get_by_role("button", name="Shuffle", exact=True).click()
    visitor.drawn()
    page.get_by_text("SetRank IMSAB + init moved none").first.wait_for()
    titles = [page.locator("h1").inner_text()]
    for step in range(2, 6):
        page.get_by_role("button", name="Next").click()
        page.wait_for_url(f"**step={step}**")
        visitor.drawn()
        titles.append(page.locator("h1").inner_text())
    assert [title[0] for title in titles] == [*"12345"]
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("link", name="Upload LETOR files").click()
    page.get_by_label("Name", exact=True).first.wait_for()
