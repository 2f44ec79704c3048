"""Digests of users' code: source, version and values, and the names of this process."""

import importlib
import threading
import types
from pathlib import Path

import numpy as np
import pytest

from shuffleproof.core import user_code
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.names import stored_family
from shuffleproof.core.user_code import digest_of, register, registered_code

BASE = """
def function(labels, depth=3):
    return helper(labels[:depth]).sum()
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Import what a text defines, as a module of a file."""
    monkeypatch.syspath_prepend(tmp_path)

    def of(text, name="function"):
        module = f"{tmp_path.name}_{len(list(tmp_path.glob('*.py')))}"
        (tmp_path / f"{module}.py").write_text(text)
        return getattr(importlib.import_module(module), name)

    return of


def test_the_source_and_the_version_decide(made):
    def digest(text, version="1"):
        return digest_of("mine", made(text), version)

    first = digest(BASE)
    assert digest(f"SCALE = 2\n{BASE}") == first, "not what stands beside it"
    assert digest(BASE.replace("sum", "max")) != first
    assert digest(BASE.replace("depth=3", "depth=4")) != first
    assert digest(BASE, "2") != first


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
    before = digest_of("mine", thing)
    assert before == digest_of("mine", thing)
    change()
    assert digest_of("mine", thing) != before


def test_values_of_closures_sets_and_base_classes_count(made):
    def closed(value):
        return lambda x: x + value

    for one, same, other in ((1, 1, 2), ({"a", "b"}, {"b", "a"}, {"a"})):
        first, second, third = (digest_of("mine", closed(of)) for of in (one, same, other))
        assert first == second != third
    two = [lambda x: x, lambda x: -x]
    assert digest_of("mine", two[0]) != digest_of("mine", two[1])
    classes = "class Base:\n    a = {}\nclass One(Base):\n    pass\n"
    first, same, other = (digest_of("mine", made(classes.format(n), "One")()) for n in (1, 1, 2))
    assert first == same != other
    held = made(
        "def outer():\n    def inner(n):\n        return inner(n)\n    return inner", "outer"
    )
    assert digest_of("mine", held()) == digest_of("mine", held())


def test_where_nothing_can_be_read_name_and_version_decide_and_that_is_said():
    home = {"__name__": "__main__"}
    exec("def typed(x):\n    return x", home)  # noqa: S102 (as in a REPL)
    with Path(__file__).open() as file:
        for thing in (home["typed"], threading.Lock(), lambda: file.name):
            with pytest.warns(UserWarning, match="mine cannot be read.*give another `version`"):
                first = digest_of("mine", thing)
            with pytest.warns(UserWarning, match="cannot be read"):
                assert digest_of("mine", thing, "2") != first


def test_a_name_is_of_this_process_and_can_be_replaced_but_not_taken(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})
    first = register("perturbation", "mine", "mine#o11111111", 1, {})
    assert (
        registered_code("perturbation", "mine")
        is registered_code("perturbation", first.full)
        is first
    )
    assert stored_family("cut:0.5+mine:3") == "cut:0.5+mine#o11111111:3"
    second = register("perturbation", "mine", "mine#o22222222", 2, {})
    assert registered_code("perturbation", "mine") is second
    assert registered_code("perturbation", first.full) is None, "another version"
    assert "mine#o22222222" in str(user_code.missing_code("perturbation", first.full))
    with pytest.raises(UsageError, match="choose another name"):
        register("measure", "ndcg", "ndcg#1", 1, {"NDCG": 0})
    for name in ("", "a b", "a:b", "a@b", "1a", "a,b", "a+b"):
        with pytest.raises(UsageError, match="choose letters, digits"):
            register("measure", name, name, 1, {})
