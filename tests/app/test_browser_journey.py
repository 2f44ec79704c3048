"""The whole journey in a real Chromium: from files to results, and back after every kill."""

import re

import pytest

from shuffleproof.core.data.letor import write as letor_write
from tests import browser, synthetic

pytestmark = browser.NEEDS
LONG = "250"
PATIENCE = browser.PATIENCE
DATA = "journey"
UPLOADS = "**/_stcore/upload_file/**"


@pytest.fixture(scope="module")
def visitor_of_all(server, chromium):
    """One browser for all tests: each opens a page of its own."""
    with browser.fresh(chromium, server) as visitor:
        yield visitor


@pytest.fixture
def visitor(visitor_of_all):
    """A page of one's own, in which nothing may go wrong."""
    with browser.new_page(visitor_of_all) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def uploaded(visitor_of_all, tmp_path_factory):
    """A small data set brought in through the page Data, examined; what the doctor said."""
    folder = tmp_path_factory.mktemp("letor")
    fold = synthetic.planted((24, 8, 8), seed=5, documents=12)
    with browser.new_page(visitor_of_all) as visitor:
        page = visitor.page
        visitor.go("data?view=Add+data")
        visitor.fill("Name", DATA)
        parts = {"train": fold.train, "vali": fold.valid, "test": fold.test}
        for name, part in parts.items():
            letor_write.write(part, folder / f"{name}.txt")
            page.locator("input[type=file]").first.set_input_files(folder / f"{name}.txt")
            page.get_by_text(f"{name}.txt (").wait_for()
        visitor.drawn()
        visitor.press("Import")
        page.get_by_role("button", name=f"Open {DATA}").click(timeout=PATIENCE)
        page.get_by_role("heading", name="Problems found by the doctor").wait_for()
        visitor.drawn()
        said = page.get_by_test_id("stMain").inner_text()
        assert f"data={DATA}" in page.url
    return said


@pytest.mark.slow
def test_a_file_dropped_while_another_is_taken_is_taken_too(visitor, tmp_path):
    page, held = visitor.page, []
    visitor.go("data?view=Add+data")
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    files = page.locator("input[type=file]").first
    page.route(UPLOADS, lambda route: held.append(route))  # noqa: PLW0108 (it wants a function)
    page.route(UPLOADS, lambda route: route.continue_(), times=1)
    with page.expect_response(UPLOADS):
        files.set_input_files(tmp_path / "train.txt")
    files.set_input_files(tmp_path / "test.txt")
    page.get_by_text("train.txt (29 bytes)").wait_for()
    visitor.drawn()
    held.pop().continue_()
    page.get_by_text("test.txt (29 bytes)").wait_for()
    chips = page.get_by_test_id("stFileChip")
    assert not any(chip.is_visible() for chip in chips.all()), "the list below has them"


def test_the_doctor_tells_what_is_in_uploaded_files(uploaded):
    assert f"{DATA} holds 40 queries" in uploaded
    assert "of 24 queries" in uploaded
    assert "without a relevant document" in uploaded


def test_rankers_trained_here_are_shuffled_and_moved_by_hand(visitor, uploaded):
    page = visitor.page
    visitor.go(f"train?data={DATA}")
    page.get_by_role("radio", name="small").click()
    visitor.drawn()
    visitor.press("Train 2 rankers")
    page.get_by_text("All of these are already trained").wait_for(timeout=PATIENCE)
    page.get_by_text("is best at epoch").wait_for()
    page.get_by_role("link", name="Query lab").click()
    page.get_by_role("option", name="place 1 of").first.wait_for(timeout=PATIENCE)
    visitor.drawn()
    page.get_by_role("button", name="Shuffle", exact=True).click()
    page.wait_for_url("**order=shuffled%3A2**")
    page.get_by_text("SetRank IMSAB + init small loses nothing and moves none").first.wait_for()
    page.get_by_text("shuffled with seed 2").first.wait_for()
    visitor.drawn()
    page.wait_for_timeout(1000)  # the cards take .6 s to their places
    second = page.get_by_role("option", name="place 2 of")
    name = second.get_attribute("aria-label").partition(",")[0]
    second.focus()
    page.keyboard.press("Alt+ArrowUp")
    page.wait_for_url("**order=by-hand**")
    visitor.drawn()
    page.get_by_text("in a chosen order").first.wait_for()
    page.get_by_role("option", name=re.compile(f"{name}, .* place 1 of")).wait_for()
    moved = page.get_by_role("option", name=f"{name}, ")
    by_keys = page.url
    box = moved.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 100, steps=5)
    page.mouse.up()
    page.wait_for_function("before => location.href !== before", arg=by_keys)
    visitor.drawn()
    page.get_by_role("option", name=re.compile(f"{name}, .* place 4 of")).wait_for()
    page.locator(".explains li").first.click()
    page.get_by_text(re.compile("DLCM small (ranks|ties)")).wait_for()
    visitor.drawn()
    visitor.press("Show lines")
    assert page.locator(".graphs polyline").count() > 1


@pytest.mark.slow
def test_shuffles_are_played_until_somebody_stops_them(visitor):
    page = visitor.page
    visitor.go("?data=sample")
    page.get_by_role("option", name="place 1 of").wait_for(timeout=PATIENCE)
    page.get_by_role("button", name="Play 20 shuffles").click()
    page.wait_for_url("**order=shuffled%3A3**", timeout=PATIENCE)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Play 20 shuffles").wait_for()
    visitor.drawn()
    page.get_by_text("SetRank IMSAB + init loses nothing and moves none").first.wait_for()
