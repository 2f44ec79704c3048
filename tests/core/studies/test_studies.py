"""Studies: the plan is pure, trials are never repeated, carried scores are the real ones."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.experiment.score_reuse import ScoreCache
from shuffleproof.core.metrics import rounding
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers import initial
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies import noise, run
from shuffleproof.core.studies.kinds.invariance import study as invariance
from shuffleproof.core.studies.kinds.invariance.certificate import per_query
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE, NOT
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Memory, Study, plan
from shuffleproof.core.studies.workbench import run_to_end
from tests.bench import studies as bench

LEVELS = (0.0, 1.0, 5.0, 20.0)


def random_lists():
    """Lists of 0 to 30 documents with three features, ranked by the first."""
    draw = generator(0, "studies")
    lengths = np.array([0, 1, 2, 8, 12, 30, 30])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = draw.normal(size=(offsets[-1], 3)).astype(np.float32)
    labels = np.clip(np.round(features[:, 0] + draw.normal(size=len(features))), 0, 4)
    dataset = RankingDataset(
        features=features,
        labels=labels.astype(np.float32),
        offsets=offsets,
        query_ids=tuple(f"q{i}" for i in range(len(lengths))),
        feature_ids=(1, 2, 3),
    )
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, features[:, :1]))


@pytest.fixture(scope="module")
def judged():
    return random_lists()


@dataclass
class FeatureRanker:
    """Scores by one feature; reads nothing else; counts how often it is asked."""

    name: str = "by-feature"
    reads: frozenset = frozenset({"features"})
    rankings: int = 0
    asked: list = field(default_factory=list)

    column = 0

    def score(self, dataset, lists):
        self.asked.append(len(lists))
        return dataset.features[lists.rows, self.column].copy()

    def save(self, directory):
        raise AssertionError(directory)


@dataclass
class PositionRanker(FeatureRanker):
    """Scores by the place at which a document is shown, so any new order changes its answer."""

    name: str = "by-position"
    reads: frozenset = frozenset({"order"})

    def score(self, dataset, lists):
        del dataset
        self.asked.append(len(lists))
        place = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], lists.lengths)
        return (-place).astype(np.float32)


@dataclass
class LiarRanker(PositionRanker):
    """Claims to read features only, but follows the input order."""

    name: str = "liar"
    reads: frozenset = frozenset({"features"})


@dataclass
class ExactLiarRanker(LiarRanker):
    """The liar in float64: what it says of its rounding excuses nothing."""

    def exact_scores(self, dataset, lists):
        return self.score(dataset, lists).astype(np.float64)


def figure3(rankers, draws=3, measures=("NDCG@10",)):
    return Study(
        kind="initial-ranking",
        rankers=tuple((ranker.name, f"digest of {ranker.name}") for ranker in rankers),
        lists="lists",
        initial=("feature:1",),
        perturbations=tuple(("transpositions", level) for level in LEVELS),
        measures=measures,
        draws=draws,
        seed=3,
    )


def ran(study, judged, rankers, records):
    step = run.measured_by([Measure.parse(text) for text in study.measures])
    by_label = {ranker.name: ranker for ranker in rankers}
    return run_to_end(run_study(study, judged, by_label, records, step))


def test_rounding_that_float64_scores_explain_refutes_nothing():
    ranker, base = bench.untrained("setrank-imsab", "paper"), bench.random_lists(20)
    scores = ranker.score(base.dataset, base.lists)
    variants = [perturbation("shuffle", 1)(base.lists, generator(1, i)) for i in range(3)]
    scored = ScoreCache(ranker, base).score(variants)
    assert scored.deviation > score_floor.of_scores(base.lists.offsets, scores).doubt.min()
    assert scored.carried


@dataclass
class LuckyRanker(FeatureRanker):
    """Exact in every order but the one in which the lists lie, by `off` of their spread."""

    off: float = 5e-5

    def exact_scores(self, dataset, lists):
        return dataset.features[lists.rows, 0].astype(np.float64)

    def score(self, dataset, lists):
        exact = self.exact_scores(dataset, lists)
        spread = rounding.scales(lists.offsets, exact).spread.max()
        lies = np.array([np.all(np.diff(lists.rows[a:b]) > 0) for a, b in pairwise(lists.offsets)])
        return (exact + self.off * spread * np.repeat(lies, lists.lengths)).astype(np.float32)


@pytest.mark.parametrize(("off", "carried"), [(5e-5, True), (1e-2, False)])
def test_scores_that_are_off_in_one_order_alone_are_rounding_where_they_are_near(
    judged, off, carried
):
    owners = np.repeat(np.arange(len(judged.lists)), judged.lists.lengths)
    in_file_order = np.lexsort((judged.lists.rows, owners))
    lists = JudgedLists(judged.dataset, judged.lists.shown_as(in_file_order))
    variants = [perturbation("shuffle-shown", 1)(lists.lists, generator(1, i)) for i in range(3)]
    scored = ScoreCache(LuckyRanker(off=off), lists).score(variants)
    assert scored.deviation > 0
    assert scored.carried == carried


@pytest.mark.parametrize("ranker", [LiarRanker(), ExactLiarRanker()])
def test_a_ranker_that_lies_about_what_it_reads_is_found_out(judged, ranker):
    variants = [perturbation("shuffle", 1)(judged.lists, generator(1, i)) for i in range(5)]
    scored = ScoreCache(ranker, judged).score(variants)
    assert not scored.carried
    assert scored.deviation > 0
    if not hasattr(ranker, "exact_scores"):
        assert len(ranker.asked) == 1 + 3 + 5, "the base, the proofs, the variants: no more"
    np.testing.assert_array_equal(scored.scores[4], ranker.score(judged.dataset, variants[4]))


def test_figure3_flat_for_features_falling_for_the_initial_ranking(judged):
    rankers = [initial.InitialRanker(), FeatureRanker(), PositionRanker()]
    result = ran(figure3(rankers), judged, rankers, Memory())
    summary = result.summary()
    curve = {label: group["mean"].to_numpy() for label, group in summary.groupby("ranker")}
    assert np.ptp(curve["by-feature"]) == 0
    assert curve["initial ranking"][0] > curve["initial ranking"][-1]
    # The lists are shown by the perturbed ranking, so position and initial ranking are one.
    np.testing.assert_allclose(curve["by-position"], curve["initial ranking"], atol=1e-6)
    assert list(summary.columns) == [
        *("ranker", "family", "level", "tau", "set_size", "measure", "mean", "low", "high", "n")
    ]
    assert (summary.low <= summary["mean"]).all()
    assert (summary["mean"] <= summary.high).all()


@pytest.mark.parametrize("measure", ["AP", "GMAP", "NumRelRet"])
def test_the_interval_of_a_measure_holds_its_mean_sum_or_geometric_mean(judged, measure):
    rankers = [FeatureRanker(), PositionRanker()]
    summary = ran(figure3(rankers, measures=(measure,)), judged, rankers, Memory()).summary()
    assert (summary["low"] < summary["mean"]).all()
    assert (summary["mean"] < summary["high"]).all()


def test_finished_trials_are_not_repeated(judged, tmp_path):
    ranker = PositionRanker()
    records = Records(tmp_path)
    study = figure3([ranker])
    step = run.measured_by([Measure.parse("NDCG@10")])
    work = run_study(study, judged, {ranker.name: ranker}, records, step)
    next(work)
    next(work)
    work.close()
    asked = len(ranker.asked)
    resumed = ran(study, judged, [ranker], records)
    fresh = ran(study, judged, [PositionRanker()], Memory())
    np.testing.assert_array_equal(resumed.values, fresh.values)
    steady = 1 + noise.REPEATS  # the lists as they are, to know whether it is deterministic
    assert len(ranker.asked) - asked == steady + 2 * 3  # two of the four levels were stored
    again = len(ranker.asked)
    ran(study, judged, [ranker], records)
    assert len(ranker.asked) == again


def test_a_trial_depends_on_itself_alone(judged):
    """Adding a ranker or a level changes no value of what was there."""
    small = figure3([PositionRanker()])
    big = figure3([FeatureRanker(), PositionRanker()])
    alone = ran(small, judged, [PositionRanker()], Memory())
    beside = ran(big, judged, [FeatureRanker(), PositionRanker()], Memory())
    for level in LEVELS:
        np.testing.assert_array_equal(
            alone.per_query("by-position", "transpositions", level, "NDCG@10"),
            beside.per_query("by-position", "transpositions", level, "NDCG@10"),
        )
    trial = plan(small)[0]
    assert small.digest_of(trial) == big.digest_of(trial)


@dataclass
class Rounder(FeatureRanker):
    """Rounds by the input order: two scores 1e-6 apart come out either way, now and then."""

    name: str = "rounder"
    reads: frozenset = frozenset({"features", "order"})

    def exact_scores(self, dataset, lists):
        pairs = np.floor(dataset.features[lists.rows, 0].astype(np.float64))
        return pairs + 5e-7 * (lists.rows % 2)

    def score(self, dataset, lists):
        place = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], lists.lengths)
        rounding = np.where(place % 2, 1e-6, -1e-6)
        return (self.exact_scores(dataset, lists) + rounding).astype(np.float32)


def test_a_near_tie_that_rounding_turns_round_has_not_moved(judged):
    scores = Rounder().score(judged.dataset, judged.lists)
    floor, _ = score_floor.measure_floor(Rounder(), judged, scores)
    assert 1.9e-6 < floor.doubt.min() <= floor.doubt.max() < 4e-6  # twice what float32 is off
    card = run_to_end(invariance.certify(Rounder(), judged, 10, 0))
    assert (card.verdict, card.positions_moved) == (INCONCLUSIVE, 0)

    class Unmeasured(Rounder):
        exact_scores = None

        def score(self, dataset, lists):
            pairs = Rounder.exact_scores(self, dataset, lists)
            place = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], lists.lengths)
            return (pairs + np.where(place % 2, 1e-6, -1e-6)).astype(np.float32)

    unmeasured = run_to_end(invariance.certify(Unmeasured(), judged, 10, 0))
    assert unmeasured.verdict == INCONCLUSIVE, "rounding or an effect: nothing says which"


def test_poor_arithmetic_hides_nothing_behind_its_floor(judged):
    """Scores that depend on the other lists of the batch are a fault, not a floor."""

    class Leaky(FeatureRanker):
        def score(self, dataset, lists):
            first = lists.queries[0] if len(lists) else 0
            return (dataset.features[lists.rows, 0] * (1 + first)).astype(np.float32)

    scores = Leaky().score(judged.dataset, judged.lists)
    floor, company = score_floor.measure_floor(Leaky(), judged, scores)
    assert company.any()
    assert (floor.doubt <= score_floor.of_scores(judged.lists.offsets, scores).doubt).all()


@pytest.mark.parametrize("leaks", [True, False])
def test_a_faint_leak_between_lists_is_none_of_rounding(judged, leaks):
    """Below what is looked at in float64, where it is seen; what float32 alone does is excused."""

    class Faint(FeatureRanker):
        def exact_scores(self, dataset, lists):
            scores = dataset.features[lists.rows, 0].astype(np.float64)
            return scores * (1 + 3e-6 * len(lists)) if leaks else scores

        def score(self, dataset, lists):
            scores = self.exact_scores(dataset, lists)
            whole = len(lists) == len(judged.lists)
            return (scores * (1 if leaks or whole else 1 + 1.5e-5)).astype(np.float32)

    scores = Faint().score(judged.dataset, judged.lists)
    _, company = score_floor.measure_floor(Faint(), judged, scores)
    assert company.any() == leaks


def test_per_query_damage_sorts_the_worst_first(judged):
    ranker = PositionRanker()
    study = Study(
        "invariance", ((ranker.name, "d"),), "", (), (("shuffle-shown", 1.0),),
        invariance.MEASURES, 4, 0, invariance.STORED,
    )  # fmt: skip
    work = run_study(study, judged, {ranker.name: ranker}, Memory(), invariance.measure_variants)
    found = run_to_end(work)
    frame = per_query(found, ranker.name)
    assert list(frame.moved) == sorted(frame.moved, reverse=True)
    assert frame.moved.iloc[-1] == 0
    assert set(frame.verdict[frame.moved > 0]) == {NOT}
