"""Every ranker of the registry has a colour and dash of its own, the same on every page."""

from itertools import combinations

import numpy as np
import pytest

from shuffleproof.app import navigation
from shuffleproof.app.figures.style import (
    BRIGHTER,
    DASHES,
    FURTHER,
    KNOWN,
    PALETTE,
    shapes,
    stroke,
)
from shuffleproof.app.page_style import LOOKS
from shuffleproof.app.selection import GLYPHS
from shuffleproof.core.experiment.ranker_sets import NAMED
from shuffleproof.core.rankers import registry
from tests import places

OTHER_LOSSES = ("dlcm-listmle", "dlcm-softrank")
FITTED = [name for name, entry in registry.RANKERS.items() if entry.learns]


def to_linear(color):
    """The linear sRGB of a hex colour."""
    part = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def oklab(linear):
    """Oklab of linear sRGB, by the matrices of its paper."""
    cones = (
        linear
        @ np.array(
            [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
        ).T
    )
    return (
        np.cbrt(cones)
        @ np.array(
            [
                [0.21045, 0.79362, -0.00407],
                [1.97800, -2.42859, 0.45059],
                [0.02590, 0.78277, -0.80868],
            ]
        ).T
    )


def test_no_two_rankers_look_alike():
    assert set(KNOWN) == set(FITTED)
    strokes = [stroke(name) for name in FITTED]
    assert len({own.shape for own in strokes}) == len(FITTED), "give each a mark of its own"
    assert len({(own.color, own.dash) for own in strokes}) == len(FITTED)
    assert len({stroke(name).color for name in (*NAMED["table2"], *OTHER_LOSSES)}) == 14


def test_the_sidebar_draws_every_mark():
    drawn = [GLYPHS[stroke(name).shape] for name in FITTED]
    assert len(set(drawn)) == len(FITTED)
    assert set(FURTHER) <= GLYPHS.keys()


def brighter(color):
    """A colour as the dark page shows it: CSS multiplies the channels, as they are coded."""
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{min(round(part * BRIGHTER.get(color, 1)), 255):02X}" for part in parts)


GROUNDS = ("#171614", "#191917")
"""Of the dark page and of its sidebar."""

ON_LIGHT = np.array([to_linear(color) for color in PALETTE])
ON_DARK = np.array([to_linear(brighter(color)) for color in PALETTE])
BLIND = {
    "protan": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deutan": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritan": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""What is seen of linear sRGB (Machado, Oliveira & Fernandes, 2009, severity 1)."""


def test_colours_are_seen_on_light_and_dark_pages():
    """WCAG 2.2 asks 3 : 1 of marks."""
    luminance = np.array((0.2126, 0.7152, 0.0722))
    assert (1.05 / (ON_LIGHT @ luminance + 0.05)).min() >= 3
    for ground in GROUNDS:
        behind = to_linear(ground) @ luminance
        assert ((ON_DARK @ luminance + 0.05) / (behind + 0.05)).min() >= 3
    for color in BRIGHTER:
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        assert f"rgb({red}, {green}, {blue})" in LOOKS.partition("color-scheme: dark")[2]
        assert f'"{color}" i' in LOOKS


@pytest.mark.parametrize("colors", [ON_LIGHT, ON_DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("eye", "apart"), [("usual", 0.10), *((eye, 0.055) for eye in BLIND)])
def test_colours_lie_apart_also_as_the_colour_blind_see_them(eye, apart, colors):
    """By distance in Oklab (Ottosson, 2020), where .02 can just be told apart side by side."""
    seen = np.clip(colors @ np.array(BLIND.get(eye, np.eye(3))).T, 0, 1)
    places = oklab(seen)
    assert min(np.linalg.norm(one - other) for one, other in combinations(places, 2)) >= apart


@pytest.mark.parametrize("name", FITTED)
def test_solid_lines_read_an_initial_ranking(name):
    reads = name.endswith("-init") and not name.endswith("without-init")
    reads = reads or (name.startswith("dlcm") and "without" not in name)
    assert (stroke(name).dash == "solid") == reads
    assert stroke(name).color in PALETTE
    assert stroke(f"{name}@tuned") == stroke(f"{name}#0123abcd") == stroke(f"{name} 0123ab")


def test_a_name_that_nobody_foresaw_has_a_stroke_that_no_foreseen_one_has():
    assert stroke("my-own-net").dash == DASHES[-1]
    assert stroke("my-own-net") not in {stroke(name) for name in FITTED}


def test_dots_shown_together_differ_in_colour_or_shape():
    features = [f"feature:{number}" for number in range(1, 12)]
    presets = ["dlcm@small", "dlcm@tuned", "mart@small", "mart@tuned"]
    shown = [*FITTED, *features, *presets, "my-own-net", "initial ranking"]
    found = shapes(shown)
    looks = {(stroke(name).color, found[name]) for name in shown}
    assert len(looks) == len(shown)
    assert list(found) == shown
    assert shapes(shown[::-1]) == found  # whatever the order
    few = shapes(["ranknet", "ranksvm", "dlcm"])
    assert few == {name: found[name] for name in few}  # and whoever else is shown
    assert len({(stroke(name).color, shape) for name, shape in few.items()}) == 3


def test_every_view_is_a_page_of_the_navigation():
    """A module of `app/views`, or the module `page` of a folder there."""
    views = places.ROOT / "app" / "views"
    kept = {page.module for page in navigation.PAGES.values()}
    folders = {one.parent for one in views.glob("[!_]*/*.py")}  # not those that a branch left
    for one in (*views.glob("[!_]*.py"), *folders):
        name = f"{one.stem}{'.page' if one.is_dir() else ''}"
        assert name in kept, f"app/navigation.py has no line for {one.name}"
