"""Table 4: conditions, what is exchanged at test time, the verdict, and the ordinals' geometry."""

import numpy as np
import pytest
from scipy import stats

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import adjusted_tests, holm, t_interval
from shuffleproof.core.rankers.combining import Fusion
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies import query_answers as tables_query
from shuffleproof.core.studies.kinds.initial_rankings import sections
from shuffleproof.core.studies.kinds.initial_rankings import study as initial_rankings
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import (
    ANTI,
    NONE,
    ORACLE,
    TRAINED,
    conditions,
    extended_lists,
    order_in,
)
from shuffleproof.core.studies.names import swaps_named
from shuffleproof.core.studies.paired_differences import HOLDS, INCONCLUSIVE, NOT, rising_verdict
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end

INITIAL = ("feature:3", "feature:1")


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("initial"))
    return run_to_end(Workbench.open("sample", ListRecipe(INITIAL, 8), store, "small"))


@pytest.fixture(scope="module")
def made(workbench, monkeypatch_module):
    """The study with a network of three steps, as fast as it can be."""
    from shuffleproof.core.rankers.neural import recipes

    for family in ("_SETRANK", "_DLCM"):
        models, training = getattr(recipes, family)
        short = {
            name: preset.__class__(**{**vars(preset), "epochs": 1, "steps_per_epoch": 3})
            for name, preset in training.items()
        }
        monkeypatch_module.setattr(recipes, family, (models, short))
    names = ("setrank-imsab", "setrank-imsab-init", "dlcm", "rrf:setrank-imsab-init+feature:1")
    asked = InitialRankings(names, ("feature:2", ORACLE, ANTI))
    plan = initial_rankings.plan_conditions(workbench, asked)
    return plan, StudyResult.open(run_to_end(asked.run(workbench)).path)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.mark.parametrize("column", [0, 1])
def test_a_row_of_an_initial_ranking_is_that_ranking(made, workbench, column):
    test = workbench.prepared.test
    scores = test.lists.prior[:, column].copy()
    expected = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
    found = made[1].per_query(f"initial: {INITIAL[column]}", TRAINED, 0.0, "NDCG@10")
    np.testing.assert_array_equal(found, expected)


def test_every_ranking_is_left_out_once_and_every_other_put_in_its_place():
    assert conditions(0, INITIAL) == [(TRAINED, ())]
    assert conditions(1, ("a", "b")) == [
        (TRAINED, (0,)), (NONE, (None,)), ("b for a", (1,)),
    ]  # fmt: skip
    assert conditions(2, ("a", "b", ORACLE)) == [
        (TRAINED, (0, 1)),
        ("without a", (None, 1)),
        ("without b", (0, None)),
        (NONE, (None, None)),
        ("oracle for a", (2, 1)),
    ]


def test_replacing_rankings_change_neither_candidates_nor_the_order_shown(workbench):
    test = run_to_end(extended_lists(workbench, (*INITIAL, ORACLE, ANTI)))
    before = workbench.prepared.test.lists
    np.testing.assert_array_equal(test.lists.rows, before.rows)
    np.testing.assert_array_equal(test.lists.ranks[:, :2], before.ranks)
    labels = test.dataset.labels[test.lists.rows]
    for one, two in zip(test.lists.offsets[:-1], test.lists.offsets[1:], strict=True):
        falling = labels[one:two][np.argsort(test.lists.ranks[one:two, 2])]
        assert (np.diff(falling) <= 0).all()
        rising_ = labels[one:two][np.argsort(test.lists.ranks[one:two, 3])]
        assert (np.diff(rising_) >= 0).all()


def test_a_condition_is_the_network_reading_other_ranks(made, workbench):
    plan, result = made
    kept = run_to_end(workbench.train(RankerName.parse("setrank-imsab-init")))
    test = run_to_end(extended_lists(workbench, plan.initial))
    for condition, columns in conditions(1, plan.initial):
        scores = kept.ranker.reading(columns).score(test.dataset, test.lists)
        expected = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
        found = result.per_query("setrank-imsab-init", condition, 0.0, "NDCG@10")
        np.testing.assert_array_equal(found, expected)


def test_a_network_that_is_fed_is_fed_in_the_order_that_is_put_in_place(made, workbench):
    plan, result = made
    asked = [row.condition for row in plan.rows if row.label == "dlcm"]
    assert asked == [TRAINED, *(f"{swap} for feature:3" for swap in plan.initial[1:])]
    ranker = run_to_end(workbench.train(RankerName.parse("dlcm"))).ranker
    test = run_to_end(extended_lists(workbench, plan.initial))
    worst = JudgedLists(test.dataset, test.lists.shown_as(order_in(test.lists, 4)))
    scores = ranker.score(worst.dataset, worst.lists)
    expected = evaluate([Measure.parse("NDCG@10")], worst.dataset, worst.lists, scores)[0]
    found = result.per_query("dlcm", "anti-oracle for feature:3", 0.0, "NDCG@10")
    np.testing.assert_array_equal(found, expected)


def test_a_combination_reads_what_its_members_read(made, workbench):
    plan, result = made
    label = "rrf:setrank-imsab-init+feature:1"
    test = run_to_end(extended_lists(workbench, plan.initial))
    parts = RankerName.parse(label).parts
    network, alone = (run_to_end(workbench.train(part)).ranker for part in parts)
    fused = combine([network.reading((None,)), alone], Fusion())
    scores = fused.score(test.dataset, test.lists)
    expected = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
    np.testing.assert_array_equal(result.per_query(label, NONE, 0.0, "NDCG@10"), expected)


def test_what_takes_an_initial_rankings_place_says_its_preset_and_reads_no_ranking():
    assert swaps_named(["rrf:mart+feature:3"], "small") == ["rrf:mart@small+feature:3"]
    with pytest.raises(UsageError, match="cannot be the initial one"):
        swaps_named(["dlcm"], "small")


def test_one_query_is_answered_again_as_the_study_did(made, workbench, monkeypatch):
    plan, _ = made
    ranker = run_to_end(workbench.train(RankerName.parse("setrank-imsab-init")))
    query = workbench.fold.test.query_ids[3]
    item = {
        "store": str(workbench.store.root), "data": "sample", "recipe": workbench.recipe.plain(),
        "lists": plan.lists, "preset": "small", "initial": list(plan.initial), "query": query,
        "ranker": str(ranker.artefact.key), "before": None, "now": [4], "features": [2],
    }  # fmt: skip
    found = tables_query.conditions(item)
    test = run_to_end(extended_lists(workbench, plan.initial))
    rows = test.lists.rows[test.lists.offsets[3] : test.lists.offsets[4]]
    for side, reading in (("_before", ranker.ranker), ("", ranker.ranker.reading((4,)))):
        expected = reading.score(test.dataset, test.lists)[test.lists.offsets[3] :][: len(rows)]
        np.testing.assert_allclose(found[f"score{side}"], expected, rtol=1e-5)
        order = np.argsort(-np.array(found[f"score{side}"]))
        assert np.array(found[f"answered{side}"])[order].tolist() == list(range(1, len(rows) + 1))
        assert sorted(found[f"shown{side}"]) == list(range(1, len(rows) + 1))
    labels = np.array(found["label"])[np.argsort(found["shown"])]
    assert (np.diff(labels) >= 0).all()  # anti-oracle
    assert [after for _, after in found["features"]["2"]] == pytest.approx(
        test.dataset.feature(2)[rows]
    )
    same = np.zeros(len(rows), np.float32)
    monkeypatch.setattr(tables_query, "scores_under", lambda *_: same)
    several = tables_query.conditions({**item, "before": [0, 4], "now": [4, 0]})
    assert several["shown"] == found["shown"]  # under the first that is read
    assert several["shown_before"] == found["shown_before"]
    with pytest.raises(DataError, match=r"(no longer|is not) stored"):
        tables_query.conditions({**item, "initial": [*plan.initial, "ranksvm@tuned"], "now": [5]})
    with pytest.raises(DataError, match="not the data set that the study saw"):
        tables_query.conditions({**item, "lists": "0" * 64})


def test_one_query_at_two_sizes(made, workbench):
    recipe, features = (
        workbench.recipe.plain(),
        [run_to_end(workbench.train(RankerName.parse(f"feature:{at}"))) for at in (1, 2)],
    )
    digests = {
        str(size): key_of("lists", recipe | {"depth": size}, (workbench.fold.fingerprint,)).digest
        for size in (4, 8)
    }
    keys = [str(kept.artefact.key) for kept in features]
    item = {
        "store": str(workbench.store.root), "data": "sample", "recipe": recipe, "digests": digests,
        "query": workbench.fold.test.query_ids[0], "before": [keys[0], 4], "now": [keys[1], 8],
    }  # fmt: skip
    found = tables_query.sizes(item)
    assert found["kind"] == ["kept"] * 4 + ["new"] * 4
    whole = workbench.prepared.test
    rows = whole.lists.rows[:8]
    assert found["score_before"] == [*whole.dataset.feature(1)[rows[:4]].tolist(), *[None] * 4]
    assert found["score"] == pytest.approx(whole.dataset.feature(2)[rows])
    assert sorted(found["answered_before"][:4]) == [1, 2, 3, 4]


def test_the_table_compares_with_the_ranker_as_trained(made):
    _, result = made
    frame = sections.table(result, "NDCG@10")
    own = frame[frame.ranker == "setrank-imsab-init"].set_index("condition")
    for condition in own.index[1:]:
        expected = own["mean"][condition] - own["mean"][TRAINED]
        assert own["change"][condition] == pytest.approx(expected, abs=1e-6)
        low, high = own["change_low"][condition], own["change_high"][condition]
        assert low <= own["change"][condition] + 1e-9
        assert own["change"][condition] <= high + 1e-9
    changed = frame[frame["change"].notna()]
    apart = (changed["change_low"] > 0) | (changed["change_high"] < 0)
    assert list(apart) == list(changed["change_p"] <= 0.05)
    assert np.isnan(own["change"][TRAINED])
    assert sections.claim(result, "NDCG@10") is None  # no ranker of many


def test_more_initial_rankings_than_the_lists_carry_are_refused(workbench):
    with pytest.raises(UsageError, match="name more with --initial"):
        initial_rankings.plan_conditions(workbench, InitialRankings(("setrank-imsab-multi-init",)))


def test_a_verdict_needs_every_step_to_be_more_than_chance():
    draw = generator(0, "verdict")
    low = draw.uniform(size=60)
    noise = draw.normal(0, 0.01, 60)
    noise -= noise.mean()
    assert rising_verdict([("a", low), ("b", low + 0.1 + noise), ("c", low + 0.2)]).word == HOLDS
    assert rising_verdict([("a", low), ("b", low + 0.1 + noise), ("c", low)]).word == NOT
    assert rising_verdict([("a", low), ("b", low + noise), ("c", low + 0.2)]).word == INCONCLUSIVE
    (step,) = rising_verdict([("a", low), ("b", low + 0.1 + noise)]).steps.itertuples()
    assert step.difference == pytest.approx(0.1)
    assert step.low < 0.1 < step.high


def test_a_step_among_two_counts_after_holms_adjustment():
    draw = generator(0, "steps")
    start = draw.uniform(size=30)
    noise = draw.normal(0, 1, 30)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    down = start - 0.4 * np.ones(30) + noise  # t = -2.19: p .037 alone, .073 as one of two
    assert stats.ttest_rel(down, start).pvalue == pytest.approx(0.037, abs=0.001)
    assert rising_verdict([("a", start), ("b", down)]).word == NOT
    told = rising_verdict([("a", start), ("b", down), ("c", down + 0.01 * noise)])
    assert told.word == INCONCLUSIVE
    step, _ = told.steps.itertuples()
    assert step.p == pytest.approx(2 * stats.ttest_rel(down, start).pvalue)
    assert step.low < 0 < step.high
    assert "after Holm's adjustment for 2 comparisons" in told.text


def test_adjusted_intervals_say_what_adjusted_p_says():
    draw = generator(0, "adjusted")
    seen = set()
    for _ in range(60):
        shifts = draw.uniform(-1.1, 1.1, 5)
        values = draw.normal(size=(5, 15)) + shifts[:, None]
        values[4, 1:] = np.nan  # one query is no test, and is not counted
        p, low, high = adjusted_tests(values)
        raw = [stats.ttest_1samp(own, 0.0).pvalue for own in values[:4]]
        np.testing.assert_allclose(p[:4], holm(np.array(raw)))
        apart = (low[:4] > 0) | (high[:4] < 0)
        np.testing.assert_array_equal(apart, p[:4] <= 0.05)
        for own, bound in zip(values[:4], low[:4], strict=True):
            single, many = (t_interval(own, 1 - 0.05 / count)[0] for count in (1, 4))
            assert many - 1e-12 <= bound <= single + 1e-12
        assert np.isnan([p[4], low[4], high[4]]).all()
        seen |= set(apart.tolist())
    assert seen == {True, False}
