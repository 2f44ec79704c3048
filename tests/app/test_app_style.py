"""Every ranker of the registry has a colour and dash of its own, the same on every page."""

from itertools import combinations
from types import ModuleType

import pytest

from shuffleproof.app import navigation
from shuffleproof.app.figures.style import DASHES, KNOWN, PALETTE, REFERENCE, shapes, stroke
from shuffleproof.core.rankers import registry
from tests import places

FITTED = [name for name, entry in registry.RANKERS.items() if entry.fitted]


def test_no_two_rankers_look_alike():
    assert set(KNOWN) == set(FITTED)
    alike = [pair for pair in combinations(FITTED, 2) if stroke(pair[0]) == stroke(pair[1])]
    assert not alike, "give them places of their own in KNOWN"


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


def test_what_is_not_learnt_is_grey():
    for name in ("random", "ideal", "file-order", "initial ranking"):
        assert stroke(name).color == REFERENCE


def test_every_view_is_a_page_of_the_navigation():
    """A module of `app/views`, or the module `page` of a folder there."""
    views = places.ROOT / "app" / "views"
    kept = {one.__name__ for one in vars(navigation).values() if isinstance(one, ModuleType)}
    for one in (*views.glob("[!_]*.py"), *views.glob("[!_]*/")):
        name = f"{navigation.__package__}.views.{one.stem}{'.page' if one.is_dir() else ''}"
        assert name in kept, f"app/navigation.py has no line for {one.name}"


def test_no_folder_is_taken_for_pages_by_streamlit_itself():
    assert not (places.ROOT / "app" / "pages").exists()
