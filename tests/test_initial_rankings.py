"""Table 4: conditions, what is exchanged at test time, the verdict, and the ordinals' geometry."""

import numpy as np
import pytest

from core.data.lists import JudgedLists
from core.errors import DataError, UsageError
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate
from core.rankers.initial import ListRecipe
from core.rankers.ordinal_geometry import geometries, geometry
from core.seeds import generator
from core.store.artefacts import Store
from core.studies import initial_rankings, initial_rankings_table
from core.studies.claims import HOLDS, NOT, UNTOLD, rising
from core.studies.initial_rankings import ANTI, NONE, ORACLE, TRAINED, conditions
from core.studies.result import StudyResult
from core.studies.workbench import Workbench, finished

INITIAL = ("feature:3", "feature:1")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("initial"))
    return finished(Workbench.opened("sample", ListRecipe(INITIAL, 8), store, "small"))


@pytest.fixture(scope="module")
def made(bench, monkeypatch_module):
    """The study with a network of three steps, as fast as it can be."""
    from core.models.config import SETRANK_PRESETS
    from core.training import recipe

    short = {
        name: preset.__class__(**{**vars(preset), "epochs": 1, "steps_per_epoch": 3})
        for name, preset in recipe.SETRANK_TRAINING.items()
    }
    monkeypatch_module.setattr("core.rankers.recipes._SETRANK", (SETRANK_PRESETS, short))
    names = ("setrank-imsab", "setrank-imsab-init")
    plan = initial_rankings.planned(bench, names, ("feature:2", ORACLE, ANTI))
    return plan, StudyResult.open(finished(initial_rankings.run(bench, plan)).path)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


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


def test_replacing_rankings_change_neither_candidates_nor_the_order_shown(bench):
    test = finished(initial_rankings.extended(bench, (*INITIAL, ORACLE, ANTI)))
    before = bench.prepared.test.lists
    np.testing.assert_array_equal(test.lists.rows, before.rows)
    np.testing.assert_array_equal(test.lists.ranks[:, :2], before.ranks)
    labels = test.dataset.labels[test.lists.rows]
    for one, two in zip(test.lists.offsets[:-1], test.lists.offsets[1:], strict=True):
        falling = labels[one:two][np.argsort(test.lists.ranks[one:two, 2])]
        assert (np.diff(falling) <= 0).all()
        rising_ = labels[one:two][np.argsort(test.lists.ranks[one:two, 3])]
        assert (np.diff(rising_) >= 0).all()


def test_a_row_of_an_initial_ranking_is_that_ranking(made, bench):
    _, result = made
    test: JudgedLists = bench.prepared.test
    expected = evaluate(
        [Measure.parse("NDCG@10")], test.dataset, test.lists, test.lists.prior[:, 1].copy()
    )[0]
    found = result.per_query("initial: feature:1", TRAINED, 0.0, "NDCG@10")
    np.testing.assert_array_equal(found, expected)


def test_a_condition_is_the_network_reading_other_ranks(made, bench):
    plan, result = made
    kept = finished(bench.trained("setrank-imsab-init"))
    test = finished(initial_rankings.extended(bench, plan.initial))
    for condition, columns in conditions(1, plan.initial):
        scores = kept.ranker.reading(columns).score(test.dataset, test.lists)
        expected = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
        found = result.per_query("setrank-imsab-init", condition, 0.0, "NDCG@10")
        np.testing.assert_array_equal(found, expected)


def test_the_table_compares_with_the_ranker_as_trained(made):
    _, result = made
    frame = initial_rankings_table.table(result, "NDCG@10")
    own = frame[frame.ranker == "setrank-imsab-init"].set_index("condition")
    for condition in own.index[1:]:
        expected = own["mean"][condition] - own["mean"][TRAINED]
        assert own["change"][condition] == pytest.approx(expected, abs=1e-6)
        low, high = own["change_low"][condition], own["change_high"][condition]
        assert low <= own["change"][condition] + 1e-9
        assert own["change"][condition] <= high + 1e-9
    assert np.isnan(own["change"][TRAINED])
    assert "without any initial ranking" in initial_rankings_table.finding(result, "NDCG@10")
    assert initial_rankings_table.claim(result, "NDCG@10") is None  # no ranker of many


def test_behind_a_condition_stand_its_queries_the_most_damaged_first(made):
    _, result = made
    frame = initial_rankings_table.queries(result, ("setrank-imsab-init", NONE), "NDCG@10")
    table = initial_rankings_table.table(result, "NDCG@10").set_index(["ranker", "condition"])
    assert frame["change"].is_monotonic_increasing
    expected = table["change"]["setrank-imsab-init", NONE]
    assert frame["change"].mean() == pytest.approx(expected, abs=1e-6)


def test_more_initial_rankings_than_the_lists_carry_are_refused(bench):
    with pytest.raises(UsageError, match="name more with --initial"):
        initial_rankings.planned(bench, ("setrank-imsab-multi-init",))


def test_a_verdict_needs_every_step_to_be_more_than_chance():
    draw = generator(0, "verdict")
    low = draw.uniform(size=60)
    noise = draw.normal(0, 0.01, 60)
    noise -= noise.mean()
    assert rising([("a", low), ("b", low + 0.1 + noise), ("c", low + 0.2)]).word == HOLDS
    assert rising([("a", low), ("b", low + 0.1 + noise), ("c", low)]).word == NOT
    assert rising([("a", low), ("b", low + noise), ("c", low + 0.2)]).word == UNTOLD
    (step,) = rising([("a", low), ("b", low + 0.1 + noise)]).steps
    assert step.difference == pytest.approx(0.1)
    assert step.low < 0.1 < step.high


def test_geometry_is_cosine_length_and_principal_components():
    table = generator(0, "geometry").normal(size=(6, 4)).astype(np.float32)
    found = geometry(table)
    one, two = table[1].astype(float), table[4].astype(float)
    expected = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert found.similarity[1, 4] == pytest.approx(expected)
    centred = table - table.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    assert found.explained[0] == pytest.approx(variances[0] / variances.sum(), rel=1e-5)
    assert found.plane.var(axis=0).sum() * 6 == pytest.approx(variances[:2].sum(), rel=1e-5)


def test_the_geometry_of_a_stored_ranker(made, bench):
    stored = finished(bench.trained("setrank-imsab-init")).artefact.path
    (found,) = geometries(stored, ranks=10)
    assert found.similarity.shape == (10, 10)
    assert np.diag(found.similarity) == pytest.approx(1.0)
    with pytest.raises(DataError, match="no ordinal embeddings"):
        geometries(finished(bench.trained("setrank-imsab")).artefact.path)
