"""The worst-case study: certificates, parts, budgets in real lists, and what it stores."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_moves import inversions
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.initial import InitialRanker, ListRecipe
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.worst_case import study as worst_case
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.kinds.worst_case.sections import columns, table
from shuffleproof.core.studies.kinds.worst_case.study import RANDOM, Plan
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench

NDCG = Measure("NDCG", 10)


@pytest.fixture(scope="module")
def judged():
    draw = generator(0, "worst")
    offsets = np.concatenate([[0], np.cumsum([6, 0, 1, 2, 12, 9])])
    features = draw.normal(size=(offsets[-1], 1)).astype(np.float32)
    dataset = RankingDataset(
        features=features,
        labels=draw.integers(0, 3, len(features)).astype(np.float32),
        offsets=offsets,
        query_ids=tuple("abcdef"),
        feature_ids=(1,),
    )
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, features))


@dataclass
class Toy:
    """Scores by a feature; reads what it says."""

    name: str = "toy"
    reads: frozenset = frozenset({"features"})
    rankings: int = 0
    asked: int = 0

    def score(self, dataset, lists):
        self.asked += 1
        return dataset.features[lists.rows, 0].copy()

    def save(self, directory):
        raise AssertionError(directory)


class ByPosition(Toy):
    """Scores by the position shown, whatever it says."""

    def score(self, dataset, lists):
        del dataset
        self.asked += 1
        place = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], lists.lengths)
        return (-place).astype(np.float32)


def attack(judged, ranker, target="ranking"):
    return Attack(ranker, judged, target, NDCG)


def test_infinite_scores_leave_a_search_its_guide(judged):
    class Masked(ByPosition):
        def score(self, dataset, lists):
            masked = lists.rows % 3 == 0
            return np.where(masked, -np.inf, super().score(dataset, lists)).astype(np.float32)

    one = attack(judged, Masked(), "shown")
    assert np.isfinite(one.values(np.arange(30)[None])[1]).all()
    worst = run_to_end(one.find_worst(Search("greedy", "inversions", 3)))
    assert worst.values[3].sum() < worst.values[0].sum()


def test_the_guide_is_the_covariance_of_scores_and_gains_over_the_spread(judged):
    lists = judged.lists
    scores = generator(0, "guide").normal(size=len(lists.rows))
    gains = 2.0 ** judged.dataset.labels[lists.rows].astype(np.float64) - 1
    assert (gains == 0).any(), "documents that are not relevant gain nothing"
    expected = [
        np.cov(scores[low:high], gains[low:high], ddof=0)[0, 1] / scores[low:high].std()
        if high - low > 1
        else 0.0
        for low, high in pairwise(lists.offsets)
    ]
    found = attack(judged, InitialRanker())._guide(lists, scores)
    np.testing.assert_allclose(found, np.array(expected) / gains.max(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("target", ["ranking", "shown"])
def test_an_order_moves_the_documents_and_nothing_else(judged, target):
    one = attack(judged, Toy(), target)
    (order,) = one.random_orders("inversions", 4, 1, 0)
    after = one.rearranged(order)
    lists = judged.lists
    assert np.array_equal(after.rows, lists.rows[order])  # shown by the ranking, no ties
    if target == "ranking":
        assert np.array_equal(after.prior[:, 0], lists.prior[:, 0])
    else:
        assert np.array_equal(after.prior, lists.prior[order])
    same = one.rearranged(np.arange(len(order)))
    assert np.array_equal(same.rows, lists.rows)
    assert np.array_equal(same.ranks, lists.ranks)


def test_the_ranking_is_rearranged_in_whatever_order_documents_are_shown(judged):
    """Places are those of the ranking: the document at place order[p] takes the score of p."""
    bounds = pairwise(judged.lists.offsets)
    turned = np.concatenate([np.arange(low, high)[::-1] for low, high in bounds])
    shown = JudgedLists(judged.dataset, judged.lists.shown_as(turned))
    one = attack(shown, Toy())
    (order,) = one.random_orders("inversions", 4, 1, 0)
    after = one.rearranged(order)
    ranked = judged.lists.rows  # the first place of every list first
    best_first = np.lexsort((-after.prior[:, 0], np.repeat(np.arange(len(after)), after.lengths)))
    assert after.rows[best_first].tolist() == ranked[order].tolist()
    assert shown.lists.rows[one.holders].tolist() == ranked.tolist()
    assert attack(shown, Toy(), "shown").holders.tolist() == list(range(len(ranked)))


@pytest.mark.parametrize("unit", ["inversions", "exchanges"])
def test_values_are_the_measure_of_the_order_found(judged, unit):
    one = attack(judged, InitialRanker())
    worst = run_to_end(one.find_worst(Search(unit=unit, budget=3)))
    as_is = evaluate([NDCG], judged.dataset, judged.lists, judged.lists.prior[:, 0])[0]
    np.testing.assert_allclose(worst.values[0], as_is)
    for budget in range(4):
        lists = one.rearranged(worst.orders[budget])
        expected = evaluate([NDCG], judged.dataset, lists, lists.prior[:, 0])[0]
        np.testing.assert_allclose(worst.values[budget], expected)
    random = one.values(one.random_orders(unit, 3, 20, 1))[0]
    assert np.all(worst.values[3] <= random.mean(axis=0))
    assert worst.values[3].sum() < as_is.sum()


def test_invariant_rankers_are_certified_by_real_permutations(judged):
    toy = Toy()
    proof = attack(judged, toy).certificate
    assert (proof.proven, proof.deviation, proof.permutations) == (True, 0.0, 60)
    assert toy.asked > 10, "every order is really scored"
    assert not attack(judged, InitialRanker()).certificate.proven
    assert attack(judged, InitialRanker(), "shown").certificate.proven
    liar = attack(judged, ByPosition()).certificate
    assert not liar.proven
    assert liar.deviation > 0.1


def test_lists_without_a_ranking_are_refused(judged):
    bare = JudgedLists(judged.dataset, CandidateLists.all_documents(judged.dataset))
    with pytest.raises(MissingRankingError):
        attack(bare, Toy())
    assert attack(bare, Toy(), "shown").certificate.proven


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("worst"))
    recipe = ListRecipe(("feature:3",), depth=10, scores="in-sample")
    return run_to_end(Workbench.open("sample", recipe, store))


@pytest.fixture(scope="module")
def artefact(workbench):
    work = WorstCase(("feature:1",), budgets=(4, 1), draws=3, queries=30, seed=2).run(workbench)
    return run_to_end(work)


def test_random_mean_against_worst_found(workbench, artefact):
    result = StudyResult.open(artefact.path)
    frame = table(result)
    assert list(frame.columns) == tables.keys(columns())
    assert frame.budget.tolist() == [1, 4, 1, 4]
    certified = frame[frame.ranker == "feature:1"]
    assert certified.certified.all()
    assert np.all(certified[["random_damage", "worst_damage", "low", "high"]] == 0)
    hurt = frame[frame.ranker == INITIAL]
    assert not hurt.certified.any()
    assert np.all(hurt.worst_damage > hurt.random_damage)
    assert np.all((hurt.low <= hurt.worst_damage) & (hurt.worst_damage <= hurt.high))
    assert hurt.worst_damage.is_monotonic_increasing
    trials = result.trials
    assert set(trials.family) == {RANDOM, "greedy"}
    for budget in (1.0, 4.0):  # what was drawn beside it is no worse than what was found
        worst = result.per_query(INITIAL, "greedy", budget, "NDCG@10")
        assert np.all(worst <= result.draws(INITIAL, RANDOM, budget, "NDCG@10").min(axis=0))
    drawn = trials[(trials.ranker == INITIAL) & (trials.family == RANDOM) & (trials.level == 4)]
    assert len(drawn) == 3
    second = attack(workbench.test_lists(30), InitialRanker()).part(np.arange(worst_case.PART, 30))
    orders = second.random_orders(Search().unit, 4, 3, 2 + 1)  # each part has its own seed
    values = result.draws(INITIAL, RANDOM, 4.0, "NDCG@10")[:, worst_case.PART :]
    np.testing.assert_array_equal(values, second.values(orders)[0].astype(np.float32))
    assert drawn.tau.to_numpy() == pytest.approx(1 - 2 * 4 / 45, abs=0.02)  # ten documents a list
    assert result.facts["certificates"]["feature:1"]["permutations"] == 300
    assert result.facts["effort"][INITIAL]["evaluated"] > 30 * 9


def test_the_orders_are_stored_and_keep_their_budget(workbench, artefact):
    base = workbench.test_lists(30)
    orders = worst_case.worst_orders(artefact, INITIAL)
    assert orders.shape == (3, len(base.lists.rows))
    distances = inversions(orders.astype(np.int64), base.lists.offsets)
    assert distances[0].max() == 0
    assert distances[1].max() == 1
    assert distances[2].max() <= 4
    result = StudyResult.open(artefact.path)
    lists = attack(base, InitialRanker()).rearranged(orders[2].astype(np.int64))
    values = evaluate([NDCG], base.dataset, lists, lists.prior[:, 0])[0]
    np.testing.assert_array_equal(result.per_query(INITIAL, "greedy", 4.0, "NDCG@10"), values)


def test_found_again_drawn_while_it_runs_and_resumed(workbench, artefact, monkeypatch):
    again = run_to_end(
        WorstCase(("feature:1",), budgets=(1, 4), draws=3, queries=30, seed=2).run(workbench)
    )
    assert again.key == artefact.key
    result = StudyResult.open(artefact.path)
    plan = Plan.of(result.recipe)
    assert plan.recipe() == {name: plan.recipe()[name] for name in result.recipe}
    longer = replace(plan, search=replace(plan.search, places=plan.search.places + 1))
    for cell, other in zip(plan.cells(30), longer.cells(30), strict=True):
        assert (cell.digest == other.digest) == (cell.row.family == RANDOM), "drawn anew by nothing"
    facts = dict(result.facts)
    seen = RunningStudy(result.recipe, result.query_ids, facts).result(workbench.store)
    np.testing.assert_array_equal(seen.values, result.values)
    half = {cell.digest: workbench.store.records.get(cell.digest) for cell in plan.cells(30)[:3]}
    part = plan.assemble(half, result.query_ids, facts)
    assert set(part.trials.family) == {RANDOM}
    early = table(part)
    assert early["worst"].isna().all()
    assert set(early["ranker"]) == {INITIAL}
    whole = table(result).set_index(["ranker", "budget"])
    expected = whole.loc[[(INITIAL, 1), (INITIAL, 4)], "random"]
    assert early["random"].tolist() == expected.tolist(), "random means stand there first"
