"""In a real Chromium: every page can be read by all, in the light and in the dark."""

from pathlib import Path

import axe_playwright_python

from shuffleproof.app.navigation import PAGES
from tests import browser

pytestmark = browser.SLOW

AXE = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js"))
RULES = {
    "light": {
        "resultTypes": ["violations"],
        "rules": {"label-content-name-mismatch": {"enabled": True}},
    },
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

GRAVE = {"serious", "critical"}
STEADY = 0.05
"""The largest cumulative layout shift of a page."""

PHONE = {
    "viewport": {"width": 390, "height": 800},
    "user_agent": "Mozilla/5.0 (Linux; Android 14) Chrome Mobile",
}

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


def test_every_page_can_be_read_by_all_and_heat_maps_are_dark_in_the_dark(chromium, sample_server):
    found, low, jumped, shades = [], [], [], []
    with browser.fresh(chromium, sample_server) as visitor:
        page = visitor.page
        page.set_default_timeout(browser.PATIENCE)
        page.add_init_script(SHIFTS)
        page.set_viewport_size({"width": 1280, "height": FOLD})
        for path in PAGES:
            page.emulate_media(color_scheme="light", reduced_motion="reduce")
            page.goto(f"{sample_server.url}/{path}", wait_until="commit")
            page.wait_for_function(browser.STILL, polling=100)
            jumped += [(path, by) for by in [page.evaluate("window.shifted")] if by > STEADY]
            if "study" in PAGES[path].pins and path != "present":
                low += [(path, own) for own in [page.evaluate(LOWEST)] if own > FOLD]
            page.evaluate(AXE.read_text(encoding="utf-8"))
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
                if path == "perturbations":
                    cells = page.locator(".heatmaplayer").first
                    shades.append(cells.evaluate("cells => getComputedStyle(cells).filter"))
    assert not found
    assert not low
    assert not jumped
    light, dark = shades
    assert light == "none"
    assert "invert" in dark


def test_nothing_jumps_while_a_page_is_drawn_on_a_telephone(chromium, sample_server):
    jumped = []
    page = chromium.new_page(**PHONE)
    page.set_default_timeout(browser.PATIENCE)
    page.add_init_script(SHIFTS)
    for path in PAGES:
        page.goto(f"{sample_server.url}/{path}", wait_until="commit")
        page.wait_for_function(browser.STILL, polling=100)
        jumped += [(path, by) for by in [page.evaluate("window.shifted")] if by > STEADY]
    page.close()
    assert not jumped
