"""The robustness card: what became of the answer, and the numbers of a row by hand."""

import numpy as np
import pytest
import scipy.stats

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.kinds.card import study as card
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.card.sections import percentiles, resampled_areas
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end

FAMILY = "transpositions"


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("card"))
    return run_to_end(Workbench.open("sample", ListRecipe(("feature:3",), 12), store, "small"))


@pytest.fixture(scope="module")
def result(workbench):
    return StudyResult.open(run_to_end(Card(("feature:1",), draws=2).run(workbench)).path)


def judged():
    labels = np.array([2, 0, 1, 0, 0], np.float32)
    dataset = RankingDataset(np.zeros((5, 1), np.float32), labels, np.array([0, 3, 4, 4, 5]),
                             ("a", "b", "c", "d"), (1,))  # fmt: skip
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def test_flips_and_moves_are_counted_by_hand():
    base = judged()
    before = np.array([3, 2, 1, 0, 0], np.float32)  # list a answers rows 0, 1, 2
    after = np.array([1, 3, 2, 0, 0], np.float32)  # … and now rows 1, 2, 0
    found = dict(zip(card.OWN, card.answer_changes(base, before, base, after), strict=True))
    np.testing.assert_array_equal(found["flip-top-1"], [1, 0, np.nan, 0])
    np.testing.assert_array_equal(found["flip-top-10"], [0, 0, np.nan, 0])
    assert found["moved-grade-2"][0] == 2  # row 0: from the first place to the third
    assert found["moved-grade-1"][0] == 1
    assert found["moved-grade-0"][0] == 1
    assert np.isnan(found["moved-grade-4"]).all()


def test_an_answer_is_the_same_whatever_order_it_is_shown_in():
    base = judged()
    scores = np.array([3, 2, 1, 0, 0], np.float32)
    order = np.array([2, 0, 1, 3, 4])
    shown = JudgedLists(base.dataset, base.lists.shown_as(order))
    found = card.answer_changes(base, scores, shown, scores[order])
    assert np.nanmax(np.abs(found)) == 0


def test_the_initial_ranking_falls_and_a_ranker_of_documents_does_not(result):
    frame = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker")
    flat, initial = frame.loc["feature:1"], frame.loc[INITIAL]
    assert flat["kept"] == flat["area"] == 1
    assert flat["flip-top-1"] == flat["worst_change"] == 0
    assert flat["worst"] == "none (certified)"
    assert flat["kept_low"] == flat["kept_high"] == flat["area_low"] == 1
    assert initial["kept_low"] < initial["kept"] < initial["kept_high"] < 1
    assert initial["area_low"] < initial["area"] < initial["area_high"] < 1
    assert np.isnan(initial["milliseconds_a_list"])
    assert initial["kept"] < 0.9
    assert initial["flip-top-1"] > 0.5
    assert frame["milliseconds_a_list"].min() > 0


def test_a_row_is_what_its_definitions_say(result):
    initial = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker").loc[INITIAL]
    levels = list(dict.fromkeys(result.trials.level))
    values = [result.per_query(INITIAL, FAMILY, level, "NDCG@10") for level in levels]
    change = np.sort((values[-1] - values[0]).astype(float))
    worst = change[: int(0.05 * len(change))]
    assert initial["cvar"] == pytest.approx(
        (worst.sum() + (0.05 * len(change) - len(worst)) * change[len(worst)])
        / (0.05 * len(change))
    )
    assert initial["worst_change"] == pytest.approx(change[0])
    means = np.array([value.mean() for value in values], float)
    area = np.trapezoid(means, levels) / (levels[-1] - levels[0]) / means[0]
    assert initial["area"] == pytest.approx(area, rel=1e-5)


def test_the_interval_of_the_kept_share_is_that_of_the_headlines_test(result):
    initial = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker").loc[INITIAL]
    levels = list(dict.fromkeys(result.trials.level))
    before, after = (result.per_query(INITIAL, FAMILY, levels[at], "NDCG@10") for at in (0, -1))
    change = (after - before).astype(float)
    interval = scipy.stats.ttest_1samp(change, 0).confidence_interval(0.95)
    kept = 1 + np.array([interval.low, interval.high]) / before.mean(dtype=float)
    assert [initial["kept_low"], initial["kept_high"]] == pytest.approx(kept, rel=1e-6)


def test_intervals_of_areas_are_those_of_resampled_queries():
    draws = np.random.default_rng(0)
    before = draws.uniform(0.2, 0.8, 60)
    noise = draws.normal(0, 0.1, 60)
    noisy = np.stack([before, before + noise - noise.mean() + 0.005])  # keeps 101 %, by chance
    values = {"certified": np.stack([before, before]), "noisy": noisy}
    area = resampled_areas(values, np.array([0.0, 1.0]), np.random.default_rng(1), 2000)
    assert percentiles(area["certified"]) == (1.0, 1.0)
    ratio = scipy.stats.bootstrap(
        (noisy[1], before), lambda end, start: (end.mean() / start.mean() + 1) / 2, paired=True,
        vectorized=False, method="percentile", n_resamples=2000, rng=3,
    ).confidence_interval  # fmt: skip
    assert percentiles(area["noisy"]) == pytest.approx(tuple(ratio), abs=0.002)


def test_the_level_of_breakdown_is_one_that_was_measured(result):
    frame = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker")
    assert np.isnan(frame.loc[INITIAL, "below_initial"])
    start = result.per_query(INITIAL, FAMILY, 0.0, "NDCG@10").mean()
    levels = list(dict.fromkeys(result.trials.level))
    means = [result.per_query("feature:1", FAMILY, level, "NDCG@10").mean() for level in levels]
    below = [level for level, mean in zip(levels, means, strict=True) if mean < start]
    found = frame.loc["feature:1", "below_initial"]
    assert found == below[0] if below else np.isnan(found)


def first_feature(features, ranks):
    del ranks
    return features[:, 0]


def test_a_callable_has_a_card_too(workbench):
    work = Card((f"{__name__}:first_feature",), ("shuffle-shown",), draws=1).run(workbench)
    frame = card_table.cards(StudyResult.open(run_to_end(work).path), "shuffle-shown", "NDCG@10")
    assert frame["kept"].tolist() == [1, 1]


def test_families_that_change_documents_make_no_card(workbench):
    with pytest.raises(UsageError, match="changes more than the order"):
        next(Card(("no ranker is trained",), ("distractors",)).run(workbench))
