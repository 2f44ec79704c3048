"""Aggregators: the true order of consistent preferences, their definitions, their bounds."""

import itertools

import evalica
import numpy as np
import pytest
from scipy.optimize import minimize

from shuffleproof.core.aggregate import kemeny as kemeny_module
from shuffleproof.core.aggregate import kernels, registry, scores
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.oracle import Oracle, PaidPairs
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.aggregate.registry import AGGREGATORS, Terms, aggregate
from shuffleproof.core.errors import ParameterError, UnknownNameError


def pairs_of(values):
    values = np.array(values, float)
    np.fill_diagonal(values, np.nan)
    return Pairs(values, np.isfinite(values).astype(float))


def consistent(order, strength=0.9):
    rank = np.argsort(order)
    return pairs_of(np.where(rank[:, None] < rank[None, :], strength, 1 - strength))


def tournament(items, random, kind="probabilities"):
    upper = random.random((items, items))
    upper = {"probabilities": upper, "wins": upper > 0.5, "tenths": upper.round(1)}[kind]
    return pairs_of(np.triu(upper, 1) + np.tril(1 - upper.T, -1))


def agreement(values, order):
    return sum(values[i, j] for i, j in itertools.combinations(order, 2))


def loss(values, order):
    return sum(values[j, i] for i, j in itertools.combinations(order, 2))


@pytest.mark.parametrize("name", AGGREGATORS)
def test_consistent_preferences_give_the_true_order(name):
    random = np.random.default_rng(0)
    for items in (1, 2, 3, 9, 40):
        order = random.permutation(items)
        for strength in (0.9, 1.0):
            found = aggregate(name, consistent(order, strength), Terms(seed=items))
            assert found.order.tolist() == order.tolist()
            assert found.complete
            assert found.unanswered == 0


@pytest.mark.parametrize("name", AGGREGATORS)
def test_no_pair_is_read_that_was_not_paid_for(name):
    """Whatever stands where it did not look, it answers the same; and a budget is kept."""
    random = np.random.default_rng(1)
    for draw in range(5):
        whole = tournament(14, random, "tenths")
        known = PaidPairs.all_of(whole.weights)
        order = AGGREGATORS[name].order(Terms(seed=draw).task(known, None))
        assert known.pairs[0] == known.read.sum()
        read = known.read | known.read.T if AGGREGATORS[name].adaptive else known.paid
        other = tournament(14, random).weights
        poisoned = PaidPairs.all_of(np.where(read, whole.weights, other))
        again = AGGREGATORS[name].order(Terms(seed=draw).task(poisoned, None))
        assert order.tolist() == again.tolist()
        for calls in (0, 1, 17, 91):
            oracle = Oracle(whole)
            steps = registry.order_by_asking(name, PaidPairs.nothing(14), Terms(calls, draw))
            found = registry.order_by_judge(steps, oracle)
            assert oracle.calls == found.calls <= calls
            assert sorted(found.order.tolist()) == list(range(14))
        free = aggregate(name, whole, Terms(seed=draw))
        assert found.order.tolist() == free.order.tolist(), "enough calls are as good as all"
        assert found.calls == free.calls


@pytest.mark.parametrize("name", AGGREGATORS)
def test_seeds_reproduce_and_equivariance_is_as_declared(name):
    random = np.random.default_rng(2)
    differs = 0
    for draw in range(8):
        whole = tournament(16, random)
        first = aggregate(name, whole, Terms(seed=draw)).order
        assert first.tolist() == aggregate(name, whole, Terms(seed=draw)).order.tolist()
        numbering = random.permutation(16)
        moved = Pairs(whole.values[np.ix_(numbering, numbering)], whole.votes)
        second = numbering[aggregate(name, moved, Terms(seed=draw)).order]
        if name == "copeland":  # whole numbers, which tie: items of a number may change places
            first, second = (scores.copeland(whole.weights)[order] for order in (first, second))
        differs += first.tolist() != second.tolist()
        other = aggregate(name, whole, Terms(seed=draw + 100)).order
        first = aggregate(name, whole, Terms(seed=draw)).order
        assert AGGREGATORS[name].random or first.tolist() == other.tolist()
    assert not (AGGREGATORS[name].equivariant and differs)
    if AGGREGATORS[name].random or name == "fuzzy-merge":
        assert differs, "an aggregator that is declared not to be equivariant would show it here"


def test_ties_go_by_row_and_missing_pairs_are_counted():
    tied = pairs_of(np.full((6, 6), 0.5))
    for name in AGGREGATORS:
        assert aggregate(name, tied).order.tolist() == list(range(6)), name
    holes = pairs_of(np.full((6, 6), np.nan))
    for name in AGGREGATORS:
        found = aggregate(name, holes)
        assert found.order.tolist() == list(range(6)), name
        assert found.calls == 0
        assert found.unanswered > 0


def goa_by_definition(f):
    left, order = list(range(len(f))), []
    while left:
        potential = {v: sum(f[v, u] - f[u, v] for u in left if u != v) for v in left}
        order.append(max(left, key=lambda v: (round(potential[v], 9), -v)))
        left.remove(order[-1])
    return order


def sop_by_definition(f):
    points = [sum(f[i, j] / (f[i, j] + f[j, i]) for j in range(len(f)) if i != j)
              for i in range(len(f))]  # fmt: skip
    return sorted(range(len(f)), key=lambda i: (-round(points[i], 9), i))


def gain_by_definition(f):
    points = [sum(f[i, j] - f[j, i] for j in range(len(f)) if i != j) for i in range(len(f))]
    return sorted(range(len(f)), key=lambda i: (-round(points[i], 9), i))


def quicksort_by_definition(f, items):
    if len(items) < 2:
        return list(items)
    pivot, *others = items
    before = [i for i in others if (f[i, pivot], pivot) > (f[pivot, i], i)]
    after = [i for i in others if i not in before]
    return [*quicksort_by_definition(f, before), pivot, *quicksort_by_definition(f, after)]


def test_definitions_read_literally():
    random = np.random.default_rng(3)
    for items in (2, 5, 30):
        for kind in ("probabilities", "wins", "tenths"):
            whole = tournament(items, random, kind)
            two_sided = pairs_of(random.random((items, items)).round(1) + 0.05)
            for pairs in (whole, two_sided):
                f = pairs.values
                assert aggregate("goa", pairs).order.tolist() == goa_by_definition(f)
                assert aggregate("gain", pairs).order.tolist() == gain_by_definition(f)
                assert aggregate("sop", pairs).order.tolist() == sop_by_definition(f)
                start = Terms(seed=5).task(PaidPairs.all_of(f), None).random_order(0)
                wanted = quicksort_by_definition(f, start.tolist())
                assert aggregate("quicksort", pairs, Terms(seed=5)).order.tolist() == wanted
    whole = tournament(40, random)
    start = np.arange(40)
    merged = [
        kernels.fuzzy_merge(*PaidPairs.all_of(whole.values).arrays, start, window)
        for window in (1, 40)
    ]
    assert merged[0].tolist() == merge_sorted(whole.values, list(range(40)))
    assert merged[1].tolist() == aggregate("goa", whole).order.tolist(), "n heads: greedy order"


def merge_sorted(f, items):
    """Bottom-up: runs of 1, 2, 4 … items are merged two by two."""
    runs = [[item] for item in items]
    while len(runs) > 1:
        merged = []
        for pair in itertools.zip_longest(runs[::2], runs[1::2], fillvalue=()):
            (left, right), run = map(list, pair), []
            while left and right:
                run.append((left if f[left[0], right[0]] >= f[right[0], left[0]] else right).pop(0))
            merged.append([*run, *left, *right])
        runs = merged
    return runs[0]


def test_the_top_is_right_for_fewer_calls():
    order = np.random.default_rng(4).permutation(200)
    for name in ("quicksort", "heap-top-k", "sliding-window"):
        few = aggregate(name, consistent(order), Terms(top=10))
        assert few.order[:10].tolist() == order[:10].tolist()
        assert few.calls < aggregate(name, consistent(order)).calls / 2, name


def best(values):
    return min(loss(values, order) for order in itertools.permutations(range(len(values))))


def test_kemeny_is_the_best_of_all_orders():
    random = np.random.default_rng(5)
    for items in (3, 5, 7, 8):
        for kind in ("probabilities", "wins", "tenths"):
            whole = tournament(items, random, kind)
            holes = random.random((items, items)) < 0.3
            sparse = pairs_of(np.where(holes | holes.T, np.nan, whole.values))
            for pairs in (whole, sparse) if items < 8 else (whole,):
                found = kemeny(pairs.weights)
                costs = np.nan_to_num(pairs.values)
                assert found.exact
                assert found.cost == pytest.approx(found.bound)
                assert found.cost == pytest.approx(loss(costs, found.order))
                assert found.cost == pytest.approx(best(costs))


def test_bounds_stand_below_the_best_order(monkeypatch):
    random = np.random.default_rng(6)
    tight = 0
    for draw in range(20):
        whole = tournament(12, random, ("probabilities", "wins")[draw % 2])
        exact = kemeny(whole.weights)
        with monkeypatch.context() as patch:
            patch.setattr(kemeny_module, "SUBSETS", 2)
            found = kemeny(whole.weights)
        assert found.bound <= exact.cost + 1e-6
        assert found.cost >= exact.cost - 1e-6
        assert found.cost == pytest.approx(loss(whole.values, found.order))
        if found.exact:
            assert found.cost == pytest.approx(exact.cost)
        tight += found.exact
    assert tight < 20


def test_the_greedy_order_agrees_with_half_of_the_best_at_least():
    """Cohen, Schapire & Singer 1999, theorem 3; for whatever weights, scc-greedy likewise."""
    random = np.random.default_rng(7)
    for draw in range(2000):
        items = 2 + draw % 9
        kind = ("probabilities", "wins", "tenths")[draw % 3]
        f = random.random((items, items)) ** 3 if draw % 4 == 0 else None
        pairs = tournament(items, random, kind) if f is None else pairs_of(f)
        total = np.nansum(pairs.values)
        most = total - kemeny(pairs.weights).cost
        for name in ("goa", "scc-greedy"):
            order = aggregate(name, pairs).order
            assert agreement(pairs.values, order) >= most / 2 - 1e-9


def test_quicksort_loses_twice_the_best_at_most_in_expectation():
    """Over all pivots, exactly: the mean loss of every order of 6 items that pivots come from.

    Ailon & Mohri 2010, theorem 3; for two grades the loss on pairs of unlike grades is at most
    that of the preferences themselves.
    """
    random = np.random.default_rng(8)
    starts = [np.array(start) for start in itertools.permutations(range(6))]
    for draw in range(40):
        pairs = tournament(6, random, ("wins", "probabilities")[draw % 2])
        f = pairs.values
        orders = [kernels.quicksort(*PaidPairs.all_of(f).arrays, start, 6) for start in starts]
        if draw % 2 == 0:
            mean = np.mean([loss(f, order) for order in orders])
            assert mean <= 2 * kemeny(f).cost + 1e-9
        grades = random.integers(0, 2, 6)
        unlike = [(i, j) for i in range(6) for j in range(6) if grades[i] > grades[j]]
        majority = np.array([[f[i, j] > f[j, i] for j in range(6)] for i in range(6)])
        own = sum(majority[j, i] for i, j in unlike)
        ranks = [np.argsort(order) for order in orders]
        mean = np.mean([sum(rank[j] < rank[i] for i, j in unlike) for rank in ranks])
        assert mean <= own + 1e-9


def test_strengths_are_the_likeliest():
    random = np.random.default_rng(9)
    wins = random.integers(1, 9, (7, 7)).astype(float)
    np.fill_diagonal(wins, np.nan)

    def unlikely(logs):
        gaps = logs[:, None] - logs[None, :]
        own = np.nansum(wins * np.log1p(np.exp(-gaps)))
        return own + (np.log1p(np.exp(-logs)) + np.log1p(np.exp(logs))).sum()

    wanted = minimize(unlikely, np.zeros(7), tol=1e-12).x
    np.testing.assert_allclose(scores.bradley_terry(wins), wanted, atol=1e-4)


def test_scores_agree_with_a_library():
    """evalica's counting and average win rate on every pair of a set of votes."""
    random = np.random.default_rng(10)
    wins = random.integers(1, 9, (8, 8)).astype(float)
    np.fill_diagonal(wins, np.nan)
    share = wins / (wins + wins.T)
    rows = [(i, j) for i in range(8) for j in range(8) if i != j for _ in range(int(wins[i, j]))]
    left, right = ([str(side[at]) for side in rows] for at in (0, 1))
    theirs = evalica.average_win_rate(left, right, [evalica.Winner.X] * len(rows)).scores
    ours = scores.borda(share)
    wanted = [int(name) for name in theirs.sort_values(ascending=False).index]
    assert scores.by_falling_score(ours).tolist() == wanted


def test_a_chain_that_stops_at_the_top_and_fused_ranks_by_hand():
    won = consistent([0, 1], 1.0)
    d = scores.DAMPING / 2
    top = 1 - (0.5 * (1 - scores.DAMPING) + d)  # leaves of the walk at 1, a step at a time
    shares = scores.mc4(won.weights)
    stays = (1 - scores.DAMPING) / 2 + d
    assert shares[1] == pytest.approx(d / (1 - stays + d))
    assert top == pytest.approx(1 - stays)
    rankings = np.array([[3, 2, 1], [3, 2, 1], [1, 3, np.nan]], np.float32)
    found = aggregate("rrf", consistent([2, 1, 0]), rankings=rankings)
    assert found.order.tolist() == [0, 1, 2]
    assert 2 / 61 + 1 / 62 > 2 / 62 + 1 / 61 > 2 / 63
    assert found.calls == 0


def test_mistakes_are_told():
    whole = consistent([0, 1])
    with pytest.raises(UnknownNameError, match="did you mean kemeny"):
        aggregate("kemney", whole)
    with pytest.raises(ParameterError, match="calls is '-1'"):
        Terms(calls=-1)
    with pytest.raises(ParameterError, match="top is '0'"):
        Terms(top=0)
