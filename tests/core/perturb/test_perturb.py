"""Properties that every perturbation keeps, walked over the registry."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import kendalltau

from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import competition_ranks, offsets_of
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.perturb.base import DataPerturbation, Perturbation
from shuffleproof.core.perturb.registry import PERTURBATIONS, parse, perturbation, tau_left
from shuffleproof.core.seeds import generator

FAMILIES = sorted(
    name
    for name, entry in PERTURBATIONS.items()
    if entry.changes <= {"ranking", "order"}
    and not isinstance(entry.at(entry.unchanged), DataPerturbation)
)
RANKING = [name for name in FAMILIES if "ranking" in PERTURBATIONS[name].changes]
RANDOM = [name for name in FAMILIES if PERTURBATIONS[name].random]
TYING = {"tie-storm", "adjacent-inversions"}


def lists_of(lengths, *, rankings=2, ties=False, seed=0):
    """Lists of these lengths whose rows and shown order are scrambled within each list."""
    draws = np.random.default_rng(seed)
    offsets = offsets_of(np.array(lengths, dtype=np.int64))
    count = int(offsets[-1])
    prior = draws.normal(size=(count, rankings)).astype(np.float32)
    if ties:
        prior = np.round(prior)
    rows = np.concatenate(
        [low + draws.permutation(high - low) for low, high in pairwise(offsets)]
        or [np.zeros(0, np.int64)]
    ).astype(np.int64)
    blank = CandidateLists(
        offsets, np.arange(len(lengths)), rows, np.zeros(prior.shape, np.int32), prior
    )
    return blank.reranked(prior) if rankings else blank


def pieces(lists):
    return pairwise(lists.offsets)


def strong(family):
    return perturbation(family, PERTURBATIONS[family].default_levels[-1])


def priors_by_row(lists):
    return lists.prior[np.argsort(lists.rows)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ties", [False, True])
def test_keeps_documents_and_prior_scores(family, ties):
    lists = lists_of([0, 1, 2, 40, 7, 3, 0], ties=ties)
    before = [array.copy() for array in (lists.rows, lists.ranks, lists.prior)]
    for level in PERTURBATIONS[family].default_levels:
        after = perturbation(family, level)(lists, generator(1, family))
        assert np.array_equal(after.offsets, lists.offsets)
        assert np.array_equal(after.queries, lists.queries)
        for low, high in pieces(lists):
            assert sorted(after.rows[low:high]) == sorted(lists.rows[low:high])
            for column in range(2):
                ours, theirs = after.prior[low:high, column], lists.prior[low:high, column]
                if family != "tie-storm":
                    assert np.allclose(np.sort(ours), np.sort(theirs), rtol=0, atol=1e-5)
                if family not in TYING:
                    assert np.array_equal(np.sort(ours), np.sort(theirs))
        for column in range(2):
            ranks = competition_ranks(after.offsets, after.prior[:, column])
            assert np.array_equal(after.ranks[:, column], ranks)
    for array, copy in zip((lists.rows, lists.ranks, lists.prior), before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("family", RANDOM)
def test_same_generator_same_lists_other_generator_others(family):
    lists = lists_of([40, 40, 40])
    level = 0.5 if PERTURBATIONS[family].high == 1 else 8
    change = perturbation(family, level)
    one, same, other = (change(lists, generator(seed, "x")) for seed in (3, 3, 4))
    assert np.array_equal(one.rows, same.rows)
    assert np.array_equal(one.prior, same.prior)
    assert not (np.array_equal(one.rows, other.rows) and np.array_equal(one.prior, other.prior))


@pytest.mark.parametrize("family", FAMILIES)
def test_declares_itself_and_prints_back(family):
    entry = PERTURBATIONS[family]
    assert entry.summary.endswith(".")
    assert entry.source
    for level in entry.default_levels:
        change = perturbation(family, level)
        assert isinstance(change, Perturbation)
        assert (change.family, change.level) == (family, level)
        assert parse(str(change)) == change
        assert ("ranking" in change.changes) == (family in RANKING)
        assert "order" in change.changes


@pytest.mark.parametrize("family", FAMILIES)
def test_level_that_changes_nothing_returns_the_lists(family):
    lists = lists_of([0, 1, 2, 30], ties=True)
    change = perturbation(family, PERTURBATIONS[family].unchanged)
    assert change(lists, generator(0)) is lists
    left = tau_left(lists, lists, change)
    assert np.allclose(left[~np.isnan(left)], 1)


@pytest.mark.parametrize("family", RANKING)
def test_ranking_families_need_a_ranking(family):
    lists = lists_of([3], rankings=0)
    with pytest.raises(UsageError, match="name initial rankers"):
        strong(family)(lists, generator(0))


@pytest.mark.parametrize("family", RANKING)
def test_order_shown_has_no_say_in_a_ranking_perturbation(family):
    lists = lists_of([12, 40, 2], ties=True)
    elsewhere = perturbation("reverse-shown", 1)(lists, generator(0))
    ours = strong(family)(lists, generator(5))
    theirs = strong(family)(elsewhere, generator(5))
    assert np.array_equal(ours.rows, theirs.rows)
    assert np.array_equal(ours.prior, theirs.prior)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in RANKING])
def test_presentation_families_keep_the_ranking_of_every_document(family):
    lists = lists_of([12, 40, 2], ties=True)
    after = strong(family)(lists, generator(5))
    assert np.array_equal(priors_by_row(after), priors_by_row(lists))
    assert not np.array_equal(after.rows, lists.rows)
    bare = lists_of([12, 1], rankings=0)
    assert len(strong(family)(bare, generator(5)).rows) == 13


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ties", [False, True])
def test_tau_reported_is_tau_measured(family, ties):
    lists = lists_of([40, 13, 2, 5], ties=ties)
    for level in PERTURBATIONS[family].default_levels:
        change = perturbation(family, level)
        after = change(lists, generator(2))
        reported = tau_left(lists, after, change)
        for index, (low, high) in enumerate(pieces(lists)):
            mine, theirs = np.argsort(lists.rows[low:high]), np.argsort(after.rows[low:high])
            if family in RANKING:
                columns = [
                    kendalltau(
                        lists.prior[low:high, column][mine], after.prior[low:high, column][theirs]
                    ).statistic
                    for column in range(2)
                ]
            else:
                columns = [kendalltau(mine, theirs).statistic]
            assert reported[index] == pytest.approx(np.mean(columns), nan_ok=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_levels_out_of_bounds_are_refused(family):
    entry = PERTURBATIONS[family]
    wrong = [entry.low - 1, float("nan"), float("inf")]
    wrong += [entry.high + 1] if np.isfinite(entry.high) else []
    wrong += [entry.low + 0.5] if entry.whole else []
    for level in wrong:
        with pytest.raises(ParameterError, match=family):
            perturbation(family, level)


@pytest.mark.parametrize("text", ["transpositions", "transpositions:", "mallows:much"])
def test_texts_without_a_usable_level_are_refused(text):
    with pytest.raises(ParameterError, match="as in"):
        parse(text)


def test_unknown_families_are_refused_and_single_defaults_filled_in():
    with pytest.raises(UnknownNameError, match="transpositions"):
        parse("transposition:3")
    with pytest.raises(UnknownNameError, match="transpositions"):
        perturbation("transposition", 3)
    assert parse("shuffle-shown").level == 1
