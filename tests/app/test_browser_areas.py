"""In a real Chromium: pages and tabs, desk and telephone; search; tour; presentation."""

import re

import pytest

from shuffleproof.app.navigation import NAVIGATION, PAGES
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


def links(visitor):
    return visitor.page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")


def follow(visitor, title):
    links(visitor).filter(has_text=re.compile(f"^{title}$")).click()


def open_tab(visitor, title):
    """Press a tab and wait until it is drawn."""
    tab = next(path for path, part in PAGES.items() if part.title == title)
    visitor.page.get_by_test_id("stMain").get_by_role("radio", name=title, exact=True).click()
    visitor.page.wait_for_url(f"**tab={tab}&**")
    visitor.drawn()


def test_the_sidebar_shows_all_pages_and_back_leads_to_the_one_before(visitor):
    page, linked = visitor.page, NAVIGATION[:-1]
    page.set_viewport_size({"width": 1280, "height": 720})
    visitor.go("")
    assert links(visitor).all_inner_texts() == [one.title for one in linked]
    present = page.get_by_role("button", name=NAVIGATION[-1].title)
    assert present.bounding_box()["y"] + present.bounding_box()["height"] < 720
    for one in linked[1:]:
        follow(visitor, one.title)
        page.wait_for_url(f"**/{one.path}?**")
        visitor.drawn()
    for one in (linked[-2], linked[-3]):
        page.go_back()
        page.wait_for_url(f"**/{one.path}?**")
        visitor.drawn()
    page.go_forward()
    page.wait_for_url(f"**/{linked[-2].path}?**")


def test_tabs_keep_the_query_and_their_choices_and_are_one_entry_of_the_history(visitor):
    page = visitor.page
    visitor.go("perturbations?data=sample")
    entries = page.evaluate("history.length")
    follow(visitor, "Query lab")
    page.wait_for_url("**/query-lab?tab=invariance**")
    visitor.drawn()
    page.get_by_role("button", name="Shuffle").first.click()
    page.wait_for_url("**order=shuffled%3A2**")
    visitor.drawn()
    open_tab(visitor, "One query")
    page.wait_for_url("**study=**")
    visitor.choose("Query", "606")
    page.wait_for_url("**query=606**")
    open_tab(visitor, "Invariance")
    page.wait_for_url("**query=606**")
    assert "order=shuffled%3A2" in page.url
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    page.wait_for_url("**/perturbations?**")
    visitor.drawn()
    page.go_forward()
    page.get_by_role("heading", name="Invariance").wait_for()


def test_forms_of_two_tabs_do_not_mix(visitor):
    page = visitor.page
    visitor.go("curves?data=sample&tab=worst-case")
    page.get_by_text("New study", exact=True).click()
    visitor.drawn()
    visitor.fill("Budgets", "1,2")
    open_tab(visitor, "Initial ranking")
    page.locator(browser.PICTURE).first.wait_for()
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Initial ranking"]
    assert not page.get_by_label("Budgets").count()
    open_tab(visitor, "Worst case")
    page.locator(browser.PICTURE).first.wait_for()
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Worst case"]


@pytest.mark.parametrize(
    ("address", "title", "seen"),
    [
        ("worst-case?data=sample", "Worst case", "DLCM loses"),
        ("outside", "Your ranker", "How robust is your own ranker?"),
        ("nosuch", "Search", "There is no page at /nosuch."),
        ("worst case", "Search", "the worst order found"),
    ],
)
def test_old_and_unknown_addresses_open_a_page(visitor, address, title, seen):
    visitor.go(address)
    assert visitor.page.get_by_role("heading", level=1).all_inner_texts() == [title]
    visitor.page.get_by_text(seen).first.wait_for()
    assert not visitor.page.get_by_role("dialog").count()


def test_the_search_leads_to_a_document(visitor):
    page = visitor.page
    visitor.go("?data=sample")
    for sought in ("longer", "D0503-20"):  # the second time from the page of results
        visitor.fill("Search everything", sought)
        page.wait_for_url(f"**/search?**for={sought}**")
    page.get_by_test_id("stMain").get_by_role("link", name="D0503-20").first.click()
    page.wait_for_url("**/data?**query=503**")
    page.get_by_role("heading", name="Query 503").wait_for()


def test_on_telephones_too(chromium, sample_server):
    with browser.fresh(chromium, sample_server) as visitor:
        context = chromium.new_context(
            viewport={"width": 390, "height": 800}, user_agent=PHONE, is_mobile=True
        )
        page = visitor.page = context.new_page()
        visitor.go("set-size")
        shown = page.get_by_test_id("stSidebarNavLink")
        page.get_by_test_id("stExpandSidebarButton").click()
        assert [text.split("\n")[-1] for text in shown.all_inner_texts()] == [
            one.title for one in NAVIGATION
        ]
        shown.filter(has_text="Library").click()
        page.wait_for_url(re.compile(r"/library\?"))
        visitor.drawn()
        open_tab(visitor, "Jobs")
        page.get_by_text("Which jobs are running").wait_for()
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
    assert "worst order found with 5 inverted pairs" in first
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
    page.wait_for_url(f"**/curves?tab=worst-case&**{study}**")
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
    page.get_by_text("SetRank IMSAB + init loses nothing and moves none").first.wait_for()
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
