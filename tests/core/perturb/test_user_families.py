"""Perturbations of user code: what their function returns is what happens to every list."""

from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core import user_code
from shuffleproof.core.errors import DataError, ParameterError, UnknownNameError, UsageError
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of, parse, tau_left
from shuffleproof.core.perturb.user_families import perturbation
from shuffleproof.core.seeds import generator
from tests.core.perturb.test_perturb_feasibility import judged_lists


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})


def rotated(ranks, generator, level):
    return np.roll(np.arange(len(ranks)), -level)


def after(text, judged=None):
    return perturb(parse(text), judged or judged_lists(), generator(0, "a"))


def test_an_order_shown_changes_alone():
    perturbation("turn", rotated)
    judged = judged_lists()
    found = after("turn:1", judged)
    for low, high in pairwise(judged.lists.offsets.tolist()):
        assert (
            found.lists.rows[low:high].tolist() == np.roll(judged.lists.rows[low:high], -1).tolist()
        )
    assert sorted(entry_of("turn").changes) == ["order"]
    for row, rank in zip(found.lists.rows, found.lists.ranks, strict=True):
        assert rank == judged.lists.ranks[judged.lists.rows == row]


def test_a_ranking_changes_with_the_order_shown():
    perturbation("turn", rotated, changes="ranking")
    judged = judged_lists()
    found, change = after("turn:1", judged), parse("turn:1")
    for low, high in pairwise(judged.lists.offsets.tolist()):
        assert (
            found.lists.rows[low:high].tolist() == np.roll(judged.lists.rows[low:high], -1).tolist()
        )
        assert found.lists.ranks[low:high, 0].tolist() == list(range(high - low))
    assert sorted(change.changes) == ["order", "ranking"]
    left = tau_left(judged.lists, found.lists, change)
    lengths = judged.lists.lengths
    due = 1 - 4 * (lengths - 1) / np.maximum(lengths * (lengths - 1), 1)
    np.testing.assert_allclose(left[lengths > 1], due[lengths > 1], atol=1e-6)


def test_documents_leave_and_the_others_keep_their_order():
    @perturbation(changes="set", levels=(1, 2), whole=True)
    def without_last(ranks, generator, level, labels):
        assert len(labels) == len(ranks)
        return np.arange(max(len(ranks) - level, 1))[::-1]

    judged = judged_lists()
    found = after("without_last:1", judged)
    kept = np.maximum(judged.lists.lengths - 1, np.minimum(judged.lists.lengths, 1))
    assert found.lists.lengths.tolist() == kept.tolist()
    entry = entry_of("without_last")
    assert entry.default_levels == (0.0, 1.0, 2.0)
    assert not entry.brings
    with pytest.raises(ParameterError, match="whole number"):
        entry.at(0.5)


def test_level_0_asks_nothing_and_draws_are_shared_and_repeatable():
    @perturbation
    def drawn(ranks, generator, level):
        return generator.permutation(len(ranks))

    judged = judged_lists()
    assert after("drawn:0", judged) is judged
    one, other = after("drawn:1", judged), after("drawn:1", judged)
    assert one.lists.rows.tolist() == other.lists.rows.tolist()
    assert one.lists.rows.tolist() != judged.lists.rows.tolist()
    chained = after("drawn:1+cut:0.5", judged)
    assert chained.lists.lengths.tolist() == after("cut:0.5", judged).lists.lengths.tolist()
    assert parse(str(parse("drawn:1+cut:0.5"))) is not None


def test_its_name_holds_what_it_is_known_by_and_what_it_changes():
    perturbation("turn", rotated, changes="ranking")
    first = str(parse("turn:2"))
    assert first.startswith("turn#r")
    assert str(parse(first)) == first
    perturbation("turn", lambda ranks, _, __: np.arange(len(ranks)), changes="ranking")
    assert str(parse("turn:2")) != first
    with pytest.raises(UsageError, match="not the turn that is registered here"):
        after(first)


@pytest.mark.parametrize(("letter", "changes"), [
    ("o", ["order"]), ("r", ["order", "ranking"]), ("s", ["set"]),
])  # fmt: skip
def test_what_is_stored_of_a_family_is_read_where_it_is_not_registered(letter, changes):
    family = f"gone#{letter}0123abcd"
    entry = entry_of(family)
    assert (entry.family, sorted(entry.changes), entry.draws(3.5, 4)) == (family, changes, 4)
    assert str(parse(f"{family}:2.5")) == f"{family}:2.5"
    assert entry_of(f"{family}:2+cut").brings is False
    with pytest.raises(UsageError, match="can be read, but nothing new can be computed"):
        after(f"{family}:1")
    with pytest.raises(UnknownNameError):
        entry_of("gone")


def failing(ranks, generator, level):
    return 1 / 0


@pytest.mark.parametrize(("function", "changes", "message"), [
    (failing, "order", r"failed: ZeroDivisionError: .*test_user_families.py:\d+ in failing"),
    (lambda ranks, _, __: ranks[:1] * 0, "ranking", "Return each of 0"),
    (lambda _, __, ___: None, "order", "it returned nothing"),
    (lambda ranks, _, __: ranks + 0.5, "order", "Return each of 0"),
    (lambda ranks, _, __: ranks[:0], "set", "one or more of 0"),
    (lambda _, __, ___: [0, 0], "set", "one or more of 0"),
    (lambda _, __, ___: [99], "set", r"it returned \[99\]"),
])  # fmt: skip
def test_what_is_no_permutation_is_told_with_its_query(function, changes, message):
    perturbation("wrong", function, changes=changes)
    with pytest.raises(DataError, match=message) as told:
        after("wrong:1")
    assert "query " in str(told.value)


def test_names_and_functions_that_cannot_be_are_refused_with_a_remedy():
    for name in PERTURBATIONS:
        with pytest.raises(UsageError, match="choose another name"):
            perturbation(name, rotated)
    with pytest.raises(UsageError, match="must be a function of one list"):
        perturbation("two", lambda ranks, _: ranks)
    with pytest.raises(UsageError, match="say one of order, ranking, set"):
        perturbation("mine", rotated, changes="labels")
