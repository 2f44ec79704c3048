"""In a real Chromium: every page can be read by all, in the light and in the dark."""

from pathlib import Path

import axe_playwright_python
import pytest

from shuffleproof.app.navigation import PAGES
from tests import browser

pytestmark = browser.NEEDS

AXE = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js"))
RULES = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}
"""What is looked at in each: all rules, then those that colours decide."""

FADED = """scheme => getComputedStyle(document.querySelector(".stApp")).colorScheme === scheme
    && !document.getAnimations().some(one => one instanceof CSSTransition)"""
"""The page has the colours of a scheme, and none is on its way."""

FOLD = 720
"""Height of the screen on which a study's answer and its picture are read without scrolling."""

LOWEST = """() => Math.max(...["h1", "[data-testid=stPlotlyChart]"].map(
    one => document.querySelector(`[data-testid=stMain] ${one}`).getBoundingClientRect().bottom
))"""
"""Where the first picture ends."""

MOVED = """path => {
    window.stillSince = undefined;
    history.pushState({}, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
}"""
"""Goes to a page as "back" does: an address would load Streamlit and Plotly anew."""

OTHER = "title => ![title, undefined].includes(document.querySelector('h1')?.innerText)"

GRAVE = {"serious", "critical"}
STEADY = 0.05
"""The largest cumulative layout shift of the first page."""

SHIFTS = """
window.shifted = 0;
new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
}).observe({type: "layout-shift", buffered: true});"""

PALE = """() => {
    const light = colour => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255);
        const [r, g, b] = parts.map(p => p <= .04045 ? p / 12.92 : ((p + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const ground = light(getComputedStyle(document.querySelector(".stApp")).backgroundColor);
    const kinds = "[class*=tick], [class*=title], .annotation, .textpoint";
    const texts = `.js-plotly-plot :is(${kinds}) text`;
    return [...document.querySelectorAll(texts)].map(text => {
        const own = light(getComputedStyle(text).fill);
        const [low, high] = [own, ground].sort((one, other) => one - other);
        return [(high + .05) / (low + .05), text.textContent];
    }).filter(([contrast]) => contrast < 4.5);
}"""
"""Ticks, titles and names in pictures that stand out less than 4.5 : 1 from the page (axe reads no
SVG)."""


def test_every_page_can_be_read_by_all(chromium, server):
    found, low = [], []
    with browser.fresh(chromium, server) as visitor:
        page = visitor.page
        page.set_default_timeout(browser.PATIENCE)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        first, *others = PAGES
        page.goto(f"{server.url}/{first}", wait_until="commit")
        page.wait_for_function(browser.STILL, polling=100)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for path in (first, *others):
            if path != first:
                title = page.locator("h1").first.inner_text()
                page.emulate_media(color_scheme="light")
                page.evaluate(MOVED, f"/{path}")
                page.wait_for_function(OTHER, arg=title)
                page.wait_for_function(browser.STILL, polling=100)
            if "study" in PAGES[path].pins:
                low += [(path, own) for own in [page.evaluate(LOWEST)] if own > FOLD]
            for scheme, rules in RULES.items():
                page.emulate_media(color_scheme=scheme)
                page.wait_for_function(FADED, arg=scheme)
                told = page.evaluate("rules => axe.run(document, rules)", rules)
                found += [
                    (path, scheme, one["id"], node["html"])
                    for one in told["violations"]
                    if one["impact"] in GRAVE
                    for node in one["nodes"]
                ]
                found += [(path, scheme, "pale", *pale) for pale in page.evaluate(PALE)]
    assert not found
    assert not low


@pytest.mark.parametrize("size", [(1280, 720), (390, 800)])
def test_nothing_jumps_while_the_first_page_is_drawn(chromium, server, size):
    with browser.fresh(chromium, server) as visitor:
        page = visitor.page
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.add_init_script(SHIFTS)
        visitor.go("")
        page.get_by_role("option", name="place 1 of").wait_for(timeout=browser.PATIENCE)
        page.wait_for_function(browser.STILL, polling=100)
        assert page.evaluate("window.shifted") <= STEADY


def test_heat_maps_are_dark_in_the_dark(chromium, server):
    shades = []
    with browser.fresh(chromium, server) as visitor:
        visitor.go("perturbations")
        cells = visitor.page.locator(".heatmaplayer").first
        cells.wait_for(state="attached")
        for scheme in ("light", "dark"):
            visitor.page.emulate_media(color_scheme=scheme)
            shades.append(cells.evaluate("cells => getComputedStyle(cells).filter"))
    assert shades[0] == "none"
    assert "invert" in shades[1]
