"""Every ranker of the registry has a colour and dash of its own, the same on every page."""

from itertools import combinations

import pytest

from app.figures.style import DASHES, PALETTE, REFERENCE, stroke
from core.rankers import registry

FITTED = [name for name, entry in registry.RANKERS.items() if entry.fitted]


def test_no_two_rankers_look_alike():
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


def test_what_is_not_learnt_is_grey():
    for name in ("random", "ideal", "file-order", "initial ranking"):
        assert stroke(name).color == REFERENCE
