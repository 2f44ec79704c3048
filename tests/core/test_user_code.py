"""What code of users is known by: an edit that counts changes it, nothing else does."""

import threading
import types
from pathlib import Path

import numpy as np
import pytest

from shuffleproof.core import user_code
from shuffleproof.core.errors import UsageError
from shuffleproof.core.user_code import digest_of, full_family, register, registered_code

BASE = """
SCALE = 2.0
def helper(x):
    return x * SCALE
def function(labels, depth=3):
    return helper(labels[:depth]).sum()
"""
CHANGED = {
    "a constant": ("sum()", "sum() + 1"),
    "a default": ("depth=3", "depth=4"),
    "what a helper does": ("x * SCALE", "x + SCALE"),
    "a value that a helper reads": ("SCALE = 2.0", "SCALE = 3.0"),
    "an attribute": (".sum()", ".max()"),
}
SAME = {
    "a comment": ("    return helper", "    # why\n    return helper"),
    "a docstring": ("depth=3):\n", "depth=3):\n    'What it is.'\n"),
    "a value that nobody reads": ("SCALE = 2.0", "SCALE = 2.0\nOTHER = 1"),
    "blank lines": ("def function", "\n\n\ndef function"),
}


def made(text, name="function"):
    home = {"__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), home)  # noqa: S102 (as a notebook's cell is run)
    return home[name]


@pytest.mark.parametrize("edit", [*CHANGED, *SAME])
def test_edits_that_count_are_told_from_those_that_do_not(edit):
    old, new = (CHANGED | SAME)[edit]
    assert old in BASE
    same = digest_of(made(BASE)) == digest_of(made(BASE.replace(old, new, 1)))
    assert same == (edit in SAME)


def objects():
    torch, lightgbm = pytest.importorskip("torch"), pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    rows, grades = rng.random((60, 3)), rng.integers(0, 3, 60)
    net = torch.nn.Sequential(torch.nn.Linear(3, 1))
    trees = lightgbm.train(
        {"verbose": -1, "min_data_in_leaf": 5}, lightgbm.Dataset(rows, grades), 2
    )

    def other_net():
        with torch.no_grad():
            net[0].bias += 1

    return {
        "weights of a network": (net, other_net),
        "trees": (trees, lambda: trees.set_leaf_output(0, 0, 7.0)),
        "an array": (rows, lambda: rows.__setitem__((0, 0), 7.0)),
        "what an object holds": (held := types.SimpleNamespace(a=[1, {2: "b"}]),
                                 lambda: held.a.append(3)),
    }  # fmt: skip


@pytest.mark.parametrize("what", objects())
def test_what_an_object_holds_counts(what):
    thing, change = objects()[what]
    before = digest_of(thing)
    assert before == digest_of(thing) != ""
    change()
    assert digest_of(thing) != before


def test_values_of_closures_and_of_whole_classes_count():
    def closed(value):
        return lambda x: x + value

    assert digest_of(closed(1)) == digest_of(closed(1)) != digest_of(closed(2))
    first, same, other = (
        made(
            f"class One:\n    'doc {n}'\n    a = {n}\n    def score(self, f):\n        return f",
            "One",
        )
        for n in (1, 1, 2)
    )
    assert digest_of(first()) == digest_of(same()) != digest_of(other())


def test_things_that_hold_themselves_have_an_end():
    first, second = [1], [1]
    first.append(first)
    second.append(second)
    assert digest_of(first) == digest_of(second) != ""


def test_what_cannot_be_told_is_not_known_by_anything():
    with Path(__file__).open() as file:
        for thing in (file, threading.Lock(), (one for one in "a"), lambda: file.name):
            assert digest_of(thing) == ""


def test_a_name_is_of_this_process_and_can_be_replaced_but_not_taken(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})
    first = register("perturbation", "mine", "mine#o11111111", 1, {})
    assert (
        registered_code("perturbation", "mine")
        is registered_code("perturbation", first.full)
        is first
    )
    assert full_family("cut:0.5+mine:3") == "cut:0.5+mine#o11111111:3"
    second = register("perturbation", "mine", "mine#o22222222", 2, {})
    assert registered_code("perturbation", "mine") is second
    assert registered_code("perturbation", first.full) is None, "another version"
    assert "mine#o22222222" in str(user_code.missing_code("perturbation", first.full))
    with pytest.raises(UsageError, match="choose another name"):
        register("measure", "ndcg", "ndcg#1", 1, {"NDCG": 0})
    for name in ("", "a b", "a:b", "a@b", "1a", "a,b", "a+b"):
        with pytest.raises(UsageError, match="choose letters, digits"):
            register("measure", name, name, 1, {})
