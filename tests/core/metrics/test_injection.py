"""Certificates against injected documents: never broken, tight where they can be, and covered."""

from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
import pytest
import scipy.optimize

from shuffleproof.core.metrics.injection import (
    ROUNDING,
    AllSets,
    Bounds,
    clean_share,
    dirty_sets,
    stays,
)


def means(documents, size, share_of):
    """Mean share of every document; `share_of` gives the shares of a set of places."""
    totals, counts = np.zeros(documents), np.zeros(documents)
    for chosen in combinations(range(documents), size):
        totals[[*chosen]] += share_of(chosen)
        counts[[*chosen]] += 1
    return totals / counts


def random_shares(draws, documents, size):
    """Shares of the sets of a list whose first documents are mostly the best."""
    ratings = draws.normal(-np.arange(documents), 0.5)
    return {
        chosen: np.array(draws.dirichlet(np.exp(3 * ratings[[*chosen]]) + 0.01))
        for chosen in combinations(range(documents), size)
    }


def leaves(scores, place, kept):
    """True if at least `kept` other documents reach the score of a document."""
    return (np.delete(scores, place) >= scores[place]).sum() >= kept


def obeying(clean, documents, size, masks):
    """Scores after documents were added, each with a bit mask of the originals that it favours.

    In a set with added documents the favoured originals share 1; without one, the added do.
    """

    def share_of(chosen):
        if max(chosen) < documents:
            return clean[chosen]
        added = [masks[place - documents] for place in chosen if place >= documents]
        favoured = [
            place < documents and all(mask >> place & 1 for mask in added) for place in chosen
        ]
        if not any(favoured):
            favoured = [place >= documents for place in chosen]
        return np.array(favoured) / sum(favoured)

    return means(documents + len(masks), size, share_of)


@pytest.mark.parametrize(
    ("documents", "injected", "size", "lists"),
    [(4, 1, 2, 30), (5, 1, 2, 20), (6, 1, 2, 20), (4, 2, 2, 12), (5, 1, 3, 20), (6, 1, 3, 20)],
)
def test_no_document_of_the_grid_breaks_a_certificate(documents, injected, size, lists):
    """Added documents of a grid: their feature is the set of originals that they favour.

    Where the shares of pairs are 0 or 1 and one document is added, the grid holds the worst case:
    bound and worst case are equal.
    """
    draws, met = np.random.default_rng(documents * 10 + injected), set()
    for _ in range(lists):
        clean = random_shares(draws, documents, size)
        clean = {chosen: (one == one.max()).astype(float) for chosen, one in clean.items()}
        scores = means(documents, size, clean.__getitem__)
        bounds = Bounds.exact(scores, size)
        grid = list(combinations_with_replacement(range(2**documents), injected))
        after = [obeying(clean, documents, size, masks) for masks in grid]
        for place, kept in product(range(documents), range(1, documents + injected + 1)):
            certified = bounds.is_certified(place, injected, kept)
            broken = any(leaves(one, place, kept) for one in after)
            assert not (certified and broken)
            if (size, injected) == (2, 1):
                assert certified != broken
            met.add((certified, broken))
    assert {(True, False), (False, True)} <= met


@pytest.mark.parametrize(("documents", "injected", "size"), [(7, 1, 2), (8, 1, 3), (6, 2, 3)])
def test_bound_and_worst_case_over_all_rankers_are_equal(documents, injected, size):
    """The worst case of any shares of the injected sets is a linear program."""
    draws, met = np.random.default_rng(size), set()
    for _ in range(4):
        scores = means(documents, size, random_shares(draws, documents, size).__getitem__)
        every = range(documents + injected)
        for place, kept in product(range(0, documents, 2), range(1, documents + injected, 2)):
            certified = Bounds.exact(scores, size).is_certified(place, injected, kept)
            worst = any(
                can_rise(scores, place, rivals, injected, size)
                for rivals in combinations(set(every) - {place}, kept)
            )
            assert certified != worst
            met.add(certified)
    assert met == {True, False}


def can_rise(scores, place, rivals, injected, size):
    """True if shares of the injected sets let all rivals reach a document's score."""
    documents = len(scores)
    sets = [
        chosen for chosen in combinations(range(documents + injected), size)
        if chosen[-1] >= documents and set(chosen) & set(rivals)
    ]  # fmt: skip
    cells = [(at, rival) for at, chosen in enumerate(sets) for rival in rivals if rival in chosen]
    in_set = np.array([[at == one for at, _ in cells] for one in range(len(sets))], float)
    of_rival = np.array([[rival == one for _, rival in cells] for one in rivals], float)
    clean = np.append(scores, np.zeros(injected))
    needed = comb(documents - 1, size - 1) * (scores[place] - clean[[*rivals]])
    limits = np.append(np.ones(len(sets)), -needed)
    found = scipy.optimize.linprog(
        np.zeros(len(cells)), np.vstack([in_set, -of_rival]), limits, bounds=(0, 1)
    )
    return found.status == 0


def test_the_bound_of_the_issue_is_the_case_of_one_rival():
    for documents, injected, size in product((5, 20, 40), (1, 3), (2, 3, 5)):
        share = clean_share(documents, injected, size)
        assert dirty_sets(documents, injected, size, (1, 0)) == pytest.approx((1 - share) / share)


def test_few_documents_stay_and_too_few_places_do_not():
    scores = np.array([1.0, 0.0, 0.0])
    assert Bounds.exact(scores, 2).is_certified(2, 2, 5)  # five documents in five places
    assert not Bounds.exact(scores, 2).is_certified(0, 3, 3)  # the injected ones take all places
    assert not Bounds.exact(scores, 5).is_certified(0, 1, 3)  # no clean set of five


@pytest.mark.parametrize(("chance", "rounds"), [(0.02, 60), (0.3, 60), (0.9, 300)])
def test_bounds_of_drawn_sets_cover(chance, rounds):
    """All bounds of a list hold together in at least 95 % of the draws."""
    draws = np.random.default_rng(rounds)
    true = np.clip(chance + np.linspace(-0.02, 0.08, 30), 0, 1)
    covered = []
    for _ in range(400):
        shares = draws.binomial(rounds, true) / rounds
        bounds = Bounds.of_sample(shares, 5, rounds)
        covered.append(((bounds.low <= true) & (true <= bounds.high)).all())
        assert (bounds.low <= shares).all()
        assert (shares <= bounds.high).all()
    assert np.mean(covered) >= 0.95
    wide = Bounds.of_sample(true, 5, rounds)
    narrow = Bounds.of_sample(true, 5, 10 * rounds)
    assert (narrow.high - narrow.low < wide.high - wide.low).all()


@pytest.mark.parametrize("size", [2, 3])
def test_removal_and_duplication_are_exact(size):
    """A ranker of multisets: shares depend on the values of a set alone."""
    values = np.random.default_rng(size).normal(size=6)

    def shares_of(places):
        powers = np.exp(values[[*places]] - np.mean(values[[*places]]) ** 2 * values[[*places]])
        return powers / powers.sum()

    members = np.array([*combinations(range(6), size)])
    pairs = [[shares_of((d, *[e] * (size - 1)))[0] for e in range(6)] for d in range(6)]
    sets = AllSets(members, np.array([*map(shares_of, members)]), np.array(pairs))
    without, twice = sets.without(), sets.duplicated()
    for changed in range(6):
        left = np.delete(np.arange(6), changed)
        expected = means(5, size, lambda chosen, left=left: shares_of(left[[*chosen]]))
        assert without[changed][left] == pytest.approx(expected)
        more = np.append(np.arange(6), changed)
        expected = means(7, size, lambda chosen, more=more: shares_of(more[[*chosen]]))
        assert twice[changed] == pytest.approx(expected[:6])
        assert twice[changed][changed] == pytest.approx(expected[6])


def test_ties_count_against_a_document():
    assert stays(np.array([3.0, 2.0, 1.0]), 1, 2)
    assert not stays(np.array([3.0, 2.0, 2.0]), 1, 2)
    assert not stays(np.array([3.0, 2.0, 2.0 - ROUNDING / 2]), 1, 2)
