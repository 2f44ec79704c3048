"""Table 3: lists of every size, what is stored of them, and the verdict on the paper's claim."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ArtefactError, MissingRankingError, ParameterError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import resolved_rankers
from shuffleproof.core.studies.kinds.set_size import feasibility, sections
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.set_size.study import stabilities
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.workbench import Workbench, run_to_end

RECIPE = ListRecipe(("feature:3",), scores="in-sample")
SIZES = (5, 20, 60)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("sizes"))


def scope(store):
    return Scope(store, lists=RECIPE.plain())


@pytest.fixture(scope="module")
def workbenches(store):
    return run_to_end(set_size.open_cells(SIZES, scope(store)))


@pytest.fixture(scope="module")
def result(workbenches):
    asked = SetSize(("feature:1", "file-order"), (5,))
    return StudyResult.open(run_to_end(set_size.run(workbenches, asked)).path)


def test_every_ranker_is_tested_at_every_size_and_short_lists_are_counted(result, workbenches):
    frame = sections.curves(result, "NDCG@10")
    assert set(frame.ranker) == {"initial ranking", "ideal", "feature:1", "file-order"}
    assert set(frame["size"]) == set(SIZES)
    lengths = frame.set_index(["ranker", "size"]).mean_length["ideal"]
    assert lengths[5] == 5
    whole = np.diff(workbenches[5].fold.test.offsets)
    assert whole.max() < 60
    assert lengths[60] == pytest.approx(whole.mean())
    assert result.facts["shorter"] == {str(size): int((whole < size).sum()) for size in SIZES}
    assert result.facts["shorter"]["60"] == result.facts["queries"]


def test_short_lists_are_counted_among_the_studied_queries_alone(store):
    few = Scope(store, lists={**RECIPE.plain(), "queries": 3})
    found = StudyResult.open(run_to_end(SetSize(("feature:1",), (5,)).answer(few)).path)
    assert max(found.facts["shorter"].values()) <= found.facts["queries"] == 3


def test_the_ceiling_rises_and_is_one_of_the_shown(result):
    curve = sections.curves(result, "NDCG@10").set_index(["ranker", "size"])["mean"]["ideal"]
    assert curve[5] < curve[20] <= curve[60]
    shown = result.per_query("ideal", "any", 5.0, "NDCG(empty=skip,ideal=shown)@10")
    assert shown[~np.isnan(shown)] == pytest.approx(1.0)


def test_a_ranker_of_single_documents_is_perfectly_stable(result):
    for size in SIZES:
        tau = result.per_query("feature:1", "any", float(size), set_size.ORDER)
        shift = result.per_query("feature:1", "any", float(size), set_size.SHIFT)
        assert tau[~np.isnan(tau)] == pytest.approx(1.0)
        assert shift[~np.isnan(shift)] == pytest.approx(0.0, abs=1e-6)


def test_stability_is_tau_and_root_mean_square_over_the_shared_documents():
    draw = generator(0, "stability")
    dataset = RankingDataset(
        np.zeros((9, 1), np.float32), np.zeros(9, np.float32), np.array([0, 7, 9]), ("a", "b"), (1,)
    )
    prior = draw.normal(size=(9, 1)).astype(np.float32)
    small, large = (
        JudgedLists(dataset, CandidateLists.ranked_by(dataset, prior, depth)) for depth in (4, 7)
    )
    one = draw.normal(size=len(small.lists.rows)).astype(np.float32)
    two = draw.normal(size=len(large.lists.rows)).astype(np.float32)
    found = stabilities(small, one, large, two)
    at = dict(zip(large.lists.rows[:7], two[:7], strict=True))
    there = np.array([at[row] for row in small.lists.rows[:4]], dtype=np.float64)
    here = one[:4].astype(np.float64)
    assert found[0, 0] == pytest.approx(stats.kendalltau(here, there).statistic, abs=1e-6)
    moved = (there - there.mean()) - (here - here.mean())
    assert found[1, 0] == pytest.approx(np.sqrt((moved**2).mean()) / here.std(), rel=1e-5)


@pytest.mark.parametrize(
    ("bounds", "orders"), [([0, 0, 1], [np.nan, np.nan]), ([0, 3, 4], [1.0, np.nan])]
)
def test_one_shared_document_or_none_has_no_stability(bounds, orders):
    documents = bounds[-1]
    dataset = RankingDataset(
        np.zeros((documents, 1), np.float32), np.zeros(documents, np.float32), np.array(bounds),
        ("a", "b"), (1,),
    )  # fmt: skip
    judged = JudgedLists(dataset, CandidateLists.all_documents(dataset))
    scores = np.arange(documents, 0, -1).astype(np.float32)
    found = stabilities(judged, scores, judged, scores)
    np.testing.assert_array_equal(found[0], orders)
    np.testing.assert_array_equal(found[1], np.array(orders) - 1)


def by_first_feature(features, _ranks):
    return features[:, 0]


def test_combinations_functions_and_stored_rankers_are_taken(workbenches):
    function = f"{__name__}:by_first_feature"
    name = RankerName.parse("rrf:feature:1+feature:2")
    kept = run_to_end(workbenches[5].train(name)).artefact.key
    names = ("rrf:feature:1+feature:2", function, f"rrf:feature:1+feature:2#{kept.digest}")
    asked = SetSize(names, (5,))
    assert {row.family for row in set_size.plan_sizes(workbenches, asked).rows} == {"any"}
    found = StudyResult.open(run_to_end(set_size.run(workbenches, asked)).path)
    for size in SIZES:
        judged = workbenches[size].prepared.test
        fused = run_to_end(workbenches[size].train(name)).ranker
        own = {
            names[0]: fused.score(judged.dataset, judged.lists),
            function: judged.dataset.features[judged.lists.rows, 0],
        }
        own |= {names[2]: own[names[0]]}
        for label, answer in own.items():
            measure = [Measure.parse("NDCG@10")]
            expected = evaluate(measure, judged.dataset, judged.lists, answer)[0]
            np.testing.assert_array_equal(
                found.per_query(label, "any", float(size), "NDCG@10"), expected
            )


def test_a_combination_of_networks_has_a_row_for_every_size(workbenches):
    names = ("rrf:setrank-msab-init+feature:1", "shuffled:dlcm")
    plan = set_size.plan_sizes(workbenches, SetSize(names, (5, 20), seeds=3))
    rows = [(row.label, row.size, row.seeds, row.largest) for row in plan.rows[2:]]
    assert rows == [
        (names[0], 5, 1, 256), (names[0], 20, 1, 256), (names[1], 5, 1, None),
        (names[1], 20, 1, None),
    ]  # fmt: skip
    with pytest.raises(MissingRankingError):
        set_size.plan_sizes(workbenches, SetSize(("setrank-imsab-multi-init",), (5,)))


def test_networks_with_ordinals_are_not_asked_beyond_their_table(workbenches):
    names = ("setrank-msab-init@small", "setrank-msab@small")
    plan = set_size.plan_sizes(workbenches, SetSize(names, (5,)))
    rows = {row.label: row for row in plan.rows}
    assert rows["setrank-msab-init@small"].largest == 256
    short = set_size.Plan(
        tuple(set_size.Row(**{**vars(row), "largest": 20}) for row in plan.rows),
        plan.sizes, plan.lists, plan.measures, plan.stored,
    )  # fmt: skip
    assert {cell.row.level for cell in short.cells()} == {5.0, 20.0}


def test_a_stored_network_is_tested_as_it_was_trained_and_among_its_own_size(workbenches):
    short = {"epochs": "1", "steps_per_epoch": "1"}
    kept = run_to_end(workbenches[5].train(RankerName.parse("dlcm"), short)).artefact.key
    name = f"dlcm#{kept.digest[:12]}"
    plan = set_size.plan_sizes(workbenches, SetSize((name,), (20,)))
    assert [row.size for row in plan.rows if row.label == name] == [5]
    others = {size: workbench for size, workbench in workbenches.items() if size != 5}
    with pytest.raises(UsageError, match="trained on lists of 5, which are not tested on"):
        set_size.plan_sizes(others, SetSize((name,), (20,)))


def test_wrong_sizes_are_refused_and_one_twice_is_one(workbenches, store):
    assert list(run_to_end(set_size.open_cells((5, 5), scope(store)))) == [5]
    with pytest.raises(ParameterError):
        run_to_end(set_size.open_cells((0,), scope(store)))
    with pytest.raises(UsageError, match="add it to --sizes"):
        set_size.plan_sizes(workbenches, SetSize(("setrank-msab",), (7,)))
    with pytest.raises(ArtefactError):
        set_size.plan_sizes(workbenches, SetSize(("dlcm#1234",), (5,)))


def made(losses, facts=None):
    """A result in which every ranker of `losses` has these losses from 40 to 240."""
    draw = generator(0, "made")
    queries = len(next(iter(losses.values())))
    rows, values = [], []
    for label, loss in losses.items():
        home = draw.uniform(0.5, 0.9, queries)
        for size, value in ((40.0, home), (240.0, home - loss)):
            rows.append(
                {"ranker": label, "family": "40", "level": size, "draw": 0, "tau": 1.0}
                | {"set_size": size}
            )
            values.append([value, np.ones(queries), np.zeros(queries)])
    recipe = {"measures": ["NDCG@10"], "stored": ["NDCG@10", set_size.ORDER, set_size.SHIFT]}
    ids, facts = tuple(map(str, range(queries))), facts or {"queries": queries}
    return StudyResult(recipe, pd.DataFrame(rows), np.array(values, np.float32), ids, facts)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((0.0, 0.1, 0.2), "holds"),
        ((0.2, 0.1, 0.3), "does not hold"),
        ((0.1, 0.1, 0.1), "inconclusive"),
    ],
)
def test_the_claim_is_told_by_two_paired_tests(means, verdict):
    noise = generator(1, "noise").normal(0, 0.02, (3, 80))
    noise -= noise.mean(axis=1, keepdims=True)
    names = ("setrank-imsab", "setrank-msab", "dlcm-without-init")
    result = made({name: mean + row for name, mean, row in zip(names, means, noise, strict=True)})
    found = sections.claim(result, "NDCG@10")
    assert str(found["verdict"]).startswith(verdict)
    assert [step["difference"] for step in found["steps"]] == pytest.approx(
        [means[1] - means[0], means[2] - means[1]], abs=1e-6
    )
    assert verdict in found["text"]


def test_without_the_three_rankers_nothing_is_claimed(result):
    assert sections.claim(result, "NDCG@10") == {}


@pytest.mark.parametrize(("away", "words"), [(0.8, "gains 0.100"), (0.5, "loses 0.200")])
def test_the_headline_states_the_plain_difference_and_that_of_the_ceiling(away, words):
    """A ranker whose NDCG rises loses nothing, however far the ideal order rises."""
    result = made({"dlcm": np.full(80, -0.1), set_size.CEILING: np.full(80, -0.3)})
    result.values[:, 0, :] = np.repeat([[0.7], [away], [0.7], [1.0]], 80, axis=1)
    headline = sections.headline(result, View(rankers=("dlcm",)))
    assert words in headline.text
    assert f"the ideal order {'' if away > 0.7 else 'gains '}0.300" in headline.text
    assert headline.tier == ("fails" if away < 0.7 else "robust")


THREE = ("setrank-imsab", "setrank-msab", "dlcm-without-init")


@pytest.mark.parametrize(
    ("longest", "sizes"),
    [
        (0, (40,)),
        (1, (1,)),
        (39, (9, 19, 39)),
        (40, (10, 20, 40)),
        (79, (10, 20, 40)),
        (80, (20, 40, 80)),
        (159, (20, 40, 80)),
        (160, (40, 80, 160)),
        (239, (40, 80, 160)),
        (240, (40, 240)),
        (499, (40, 240)),
        (500, (40, 240, 500)),
    ],
)
def test_sizes_are_proposed_as_far_as_a_list_reaches(longest, sizes):
    assert feasibility.proposed_sizes(np.array([0, longest])) == sizes


def test_nothing_is_claimed_of_a_size_that_no_list_reaches():
    lengths = np.array([30, 39, 100])
    facts = {"queries": 3} | feasibility.counts(lengths, (40, 240))
    result = made({name: np.array([0.1, 0.2, 0.3]) for name in THREE}, facts)
    assert sections.claim(result, "NDCG@10") == {}
    frame = sections.curves(result, "NDCG@10")
    assert (frame.loc[frame["size"] == 240, "reaching"] == 0).all()


def test_where_few_lists_reach_the_longer_size_they_are_counted():
    lengths = np.array([30, 90, 400, 41])
    facts = {"queries": 4} | feasibility.counts(lengths, (40, 240))
    result = made({name: np.full(4, 0.1) for name in THREE}, facts)
    frame = sections.curves(result, "NDCG@10")
    assert (frame.loc[frame["size"] == 240, "reaching"] == 1).all()
    assert sections.claim(result, "NDCG@10")["tested_on"] == 240


@pytest.mark.parametrize(
    ("name", "drawn", "alone", "fed"),
    [
        ("dlcm", True, False, True),
        ("gsf", True, False, False),
        ("mart", True, True, False),  # its seed stands in the recipe itself
        ("ranksvm", False, True, False),
        ("feature:1", False, True, False),
    ],
)
def test_what_a_study_has_to_know_of_a_ranker(name, drawn, alone, fed, workbenches):
    found = resolved_rankers.resolve(RankerName.parse(name), workbenches[5])
    assert (found.stochastic, found.pointwise, found.reads_order) == (drawn, alone, fed)


@pytest.mark.parametrize(
    ("label", "first", "fed"),
    [("rrf:a+b", True, True), ("rrf:a+b", False, False), ("shuffled:a", True, False)],
)
def test_a_combination_is_fed_where_a_member_is_but_not_by_shuffles(label, first, fed):
    members = [
        resolved_rankers.ResolvedRanker(
            "a", {}, stochastic=True, pointwise=True, reads_order=first, max_length=40, rankings=1
        ),
        resolved_rankers.ResolvedRanker(
            "b", {}, stochastic=True, pointwise=False, depth=20, max_length=30
        ),
    ]
    found = resolved_rankers._resolved_combination(RankerName.parse(label), members)
    assert (found.reads_order, found.stochastic, found.pointwise) == (fed, False, False)
    assert (found.depth, found.rankings, found.max_length) == (20, 1, 30)


def test_what_comes_from_outside_is_not_drawn(workbenches, monkeypatch):
    def identified(_self, _name):
        yield from ()
        return SimpleNamespace(digest="1" * 64)

    monkeypatch.setattr(Workbench, "identified", identified)
    found = resolved_rankers.resolve(RankerName.parse("mine:score"), workbenches[5])
    assert (found.stochastic, found.pointwise) == (False, True)
