"""The study of perturbations: carrying stays honest, labels train, attacks attack, trials last."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.experiment.score_reuse import ScoreCache, shared_source
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.levels import levels_of, pairs_of
from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of, parse, perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.initial import InitialRanker, ListRecipe
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.univariate import RandomRanker
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import run as running
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.perturbations import applicability, sections, study
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.perturbations.study import Trials
from shuffleproof.core.studies.kinds.perturbations.system import (
    OWN,
    Retraining,
    answer_changes,
    measured_by,
)
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Memory, Study, Trial, plan
from shuffleproof.core.studies.workbench import Workbench
from tests.core.studies import test_studies
from tests.core.studies.test_studies import random_lists


@pytest.fixture(scope="module")
def judged():
    return random_lists()


class FeatureRanker(test_studies.FeatureRanker):
    """Scores by a feature that the lists are not ranked by."""

    column = 1


@dataclass
class CentredRanker(FeatureRanker):
    """Scores by the distance from the list's mean, so it reads the neighbours."""

    name: str = "centred"
    reads: frozenset = frozenset({"features", "neighbours"})

    def score(self, dataset, lists):
        values = super().score(dataset, lists).astype(np.float64)
        owner = np.repeat(np.arange(len(lists)), lists.lengths)
        mean = np.bincount(owner, values, len(lists)) / np.maximum(lists.lengths, 1)
        return -np.abs(values - mean[owner]).astype(np.float32)


@dataclass
class Liar(CentredRanker):
    """Says that it reads nothing at all."""

    name: str = "liar"
    reads: frozenset = frozenset()


SAMPLES = [
    "transpositions:5",
    "reversed-pairs:3",
    "shuffle-shown:1",
    "label-shown:1",
    "cut:0.4",
    "sample:0.4",
    "remove-top:2",
    "singleton:1",
    "distractors:3",
    "duplicates:2",
    "feature-noise:0.5",
    "missing-mean:0.3",
    "shuffle-shown:1+cut:0.4",
    "feature-noise:0.5+transpositions:3",
]


@pytest.mark.parametrize("text", SAMPLES)
@pytest.mark.parametrize("kind", [FeatureRanker, CentredRanker, InitialRanker, Liar])
def test_carried_scores_are_the_real_ones_whatever_changes(judged, kind, text):
    ranker = kind()
    variants = [perturb(parse(text), judged, generator(1, text, draw)) for draw in range(5)]
    scored = ScoreCache(ranker, judged).score_judged(variants)
    for variant, scores in zip(variants, scored.scores, strict=True):
        np.testing.assert_array_equal(scores, ranker.score(variant.dataset, variant.lists))
    changes = parse(text).changes
    if kind is FeatureRanker:
        grown = text.startswith(("distractors", "duplicates"))
        assert scored.carried == ("features" not in changes and not grown)
    if kind is CentredRanker:
        assert scored.carried == (not changes & {"features", "set"})
    if kind is InitialRanker:
        assert scored.carried == (changes == {"features"})
    if kind is Liar:  # where it was caught its scores were computed
        grown = text.startswith(("distractors", "duplicates"))
        assert scored.carried == (changes <= {"order", "ranking"})
        assert (scored.deviation > 0) == (not scored.carried and not grown)


def test_shared_documents_are_found_in_smaller_and_larger_lists(judged):
    for text in SAMPLES:
        variant = perturb(parse(text), judged, generator(2, text))
        source = shared_source(judged, variant)
        shared = source >= 0
        assert shared.any()
        np.testing.assert_array_equal(
            judged.dataset.labels[judged.lists.rows[source[shared]]],
            variant.dataset.labels[variant.lists.rows[shared]],
        )
        np.testing.assert_array_equal(
            judged.lists.queries[np.repeat(np.arange(7), judged.lists.lengths)[source[shared]]],
            variant.lists.queries[np.repeat(np.arange(7), variant.lists.lengths)[shared]],
        )


def test_answers_are_compared_over_shared_documents(judged):
    ranker = FeatureRanker()
    before = ranker.score(judged.dataset, judged.lists)
    smaller = perturb(parse("remove-top:2"), judged, generator(0))
    same = answer_changes(judged, before, smaller, ranker.score(smaller.dataset, smaller.lists))
    assert same[:3].min() == 1
    assert same[3].max() == 0
    turned = answer_changes(judged, before, judged, -before)
    names = dict(zip(OWN, turned, strict=True))
    assert names["answer-tau"][3:].tolist() == [-1] * 4
    assert names["kept-top-1"][1:4].tolist() == [1, 0, 0]
    assert names["kept-top-10"][3] == 1
    assert names["score-change"][6] == pytest.approx(2 * np.abs(before[-30:]).max())


def ran(judged, rankers, pairs, records, draws=3):
    made = Study(
        kind=Perturbations.kind,
        rankers=tuple((ranker.name, f"digest of {ranker.name}") for ranker in rankers),
        lists="lists",
        initial=("feature:1",),
        perturbations=tuple(pairs),
        measures=("NDCG@10", *OWN),
        draws=draws,
        seed=0,
    )
    step = measured_by([Measure("NDCG", 10)])
    by_label = {ranker.name: ranker for ranker in rankers}
    return made, run_to_end(run_study(made, judged, by_label, records, step))


def test_a_study_over_all_families_that_are_scored(judged):
    pairs = [
        (family, entry.default_levels[-1])
        for family, entry in PERTURBATIONS.items()
        if entry.of_input and family != "gradient-sign"
    ]
    rankers = [InitialRanker(), FeatureRanker(), CentredRanker()]
    memory = Memory()
    made, result = ran(judged, rankers, pairs, memory, draws=2)
    trials = result.trials
    assert len(trials) == len(plan(made)) == len(memory)
    drawn = trials.groupby("family")["draw"].max() + 1
    assert {family: drawn[family] == 2 for family, _ in pairs} == {
        family: PERTURBATIONS[family].random for family, _ in pairs
    }
    assert result.values.shape == (len(trials), 1 + len(OWN), 7)
    cut = trials[trials.family == "cut"]
    assert np.all(cut.set_size < judged.lists.lengths.mean())
    assert np.all(trials[trials.family == "distractors"].set_size > judged.lists.lengths.mean())
    again = ran(judged, rankers, pairs, memory, draws=2)[1]
    np.testing.assert_array_equal(again.values, result.values)
    summary = result.summary()
    assert set(summary.measure) == {"NDCG@10", *OWN}
    noise = result.per_query(INITIAL, "feature-noise", 1.0, "answer-tau")
    assert np.all(noise == 1)


def test_perturbed_data_sets_are_made_again_and_not_kept(judged):
    point = running.Point(perturbation("feature-noise", 0.5), judged, seed=4)
    first, again = point.variant(1), point.variant(1)
    assert first is not again
    np.testing.assert_array_equal(first[0].dataset.features, again[0].dataset.features)
    lists = running.Point(perturbation("transpositions", 5), judged, seed=4)
    assert lists.variant(0) is lists.variant(0)


def test_labels_are_not_for_scoring_alone(judged):
    with pytest.raises(UsageError, match="study perturbations"):
        ran(judged, [FeatureRanker()], [("label-noise", 0.5)], Memory())


def test_the_attacked_ranker_is_part_of_a_trials_key():
    made = Study("perturbations", (("a", "1"), ("b", "2")), "l", (), (), ("NDCG@10",), 1, 0)
    one, other = (Trial("a", f"gradient-sign@{name}", 0.5, 0) for name in "ab")
    assert made.digest_of(one) != made.digest_of(other)
    stranger = replace(made, rankers=(("a", "1"), ("b", "3")))
    assert made.digest_of(one) == stranger.digest_of(one)
    assert made.digest_of(other) != stranger.digest_of(other)
    assert levels_of("label-shown") == [0.0, -1.0, 1.0]


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("perturbations"))
    recipe = ListRecipe(("feature:3",), depth=15, scores="in-sample")
    return run_to_end(Workbench.open("sample", recipe, store))


@pytest.fixture(scope="module")
def small(workbench):
    """The workbench with few queries."""
    prepared = workbench.prepared
    few = {
        part: JudgedLists(whole.dataset, whole.lists.select(np.arange(20)))
        for part, whole in (("train", prepared.train), ("valid", prepared.valid))
    }
    test = JudgedLists(prepared.test.dataset, prepared.test.lists.select(np.arange(12)))
    return replace(workbench, prepared=replace(prepared, **few, test=test))


@pytest.fixture(scope="module")
def result(small):
    """A study of a tree ensemble under labels, an order and a chain."""
    pairs = pairs_of(["label-noise", "clicks-position", "transpositions:5+cut"], None)
    pairs = tuple((family, level) for family, level in pairs if level in {0.0, 0.4, 10.0})
    question = Perturbations(("ranksvm", "random"), pairs, draws=2, seed=3)
    artefact = run_to_end(question.run(small))
    return artefact, StudyResult.open(artefact.path), question


def test_labels_are_learnt_anew(small, result):
    artefact, found, _ = result
    rows = found.trials[found.trials.ranker == "ranksvm"]
    noisy = rows[(rows.family == "label-noise") & (rows.level == 0.4)]
    assert len(noisy) == 2
    for row in noisy.itertuples():
        trial = Trial("ranksvm", "label-noise", 0.4, row.draw)
        training = Retraining(small, 3)
        lists = training.train_lists(trial)
        assert np.mean(lists.dataset.labels != small.fold.train.labels) > 0.2
        kept = run_to_end(training.train(trial))
        assert kept.cached
        test = small.prepared.test
        scores = kept.ranker.score(test.dataset, test.lists)
        expected = evaluate([Measure("NDCG", 10)], test.dataset, test.lists, scores)[0]
        values = found.draws("ranksvm", "label-noise", 0.4, "NDCG@10")[row.draw]
        np.testing.assert_array_equal(values, expected)
    change = found.per_query("ranksvm", "label-noise", 0.4, "score-change")
    assert change.max() > 0
    learnless = {INITIAL: "it is not trained", "random": "learns from no label"}
    assert artefact.facts["left_out"]["label-noise"] == learnless
    assert artefact.facts["changes"]["label-noise"] == ["labels"]


def test_facts_are_those_of_the_lists_and_the_rankers(small, result):
    facts, lists = result[0].facts, small.prepared.test.lists
    assert (facts["queries"], facts["candidates"]) == (12, len(lists.rows))
    assert (facts["data"], facts["lists"]["depth"], facts["preset"]) == ("sample", 15, small.preset)
    assert facts["reads"]["ranksvm"] == ["features"]
    assert facts["units"]["clicks-position"] == entry_of("clicks-position").unit
    assert list(facts["left_out"]) == ["label-noise", "clicks-position"]
    assert facts["reached"] == {}


def test_levels_that_some_lists_do_not_reach_are_told_with_their_number(judged):
    pairs = [("remove-top", level) for level in (0.0, 1.0, 7.0, 8.0, 40.0)]
    of_each = {"1": 5, "7": 4, "8": 3, "40": 0}
    assert study._lists_reaching(judged, [("cut", 0.5), *pairs]) == {"remove-top": of_each}


def test_the_lists_as_they_are_stand_in_every_study(small, result):
    _, found, _ = result
    assert found.recipe["perturbations"][0] == ["transpositions", 0.0]
    values = study.as_is(found, "ranksvm", "NDCG@10")
    clean = found.per_query("ranksvm", "label-noise", 0.0, "NDCG@10")
    np.testing.assert_array_equal(values, clean)
    chain = "transpositions:5+cut"
    assert found.trials[(found.trials.family == chain)].draw.max() == 1
    assert entry_of(chain).random_before


def test_a_study_is_found_again_and_drawn_while_it_runs(small, result, monkeypatch):
    artefact, found, question = result

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(Retraining, "train", never)
    again = run_to_end(question.run(small))
    assert again.key == artefact.key
    seen = RunningStudy(found.recipe, found.query_ids, found.facts).result(small.store)
    np.testing.assert_array_equal(seen.values, found.values)
    assert set(stored_summary(artefact.path).measure) == {"NDCG@10", *OWN}


def test_what_cannot_be_done_is_said(small):
    with pytest.raises(UsageError, match=r"no family applies.*cannot be trained again"):
        next(Perturbations(("ranksvm#12ab",), (("label-noise", 0.2),)).run(small))
    with pytest.raises(UsageError, match="no network among the rankers"):
        run_to_end(Perturbations(("random",), (("gradient-sign", 0.2),)).run(small))
    with pytest.raises(UsageError, match="name a network"):
        run_to_end(Perturbations(("random",), (("gradient-sign@dlcm", 0.2),)).run(small))


@pytest.fixture(scope="module")
def nets(workbench):
    """Two networks after a few steps, on the whole training part."""
    short = {"epochs": "2", "steps_per_epoch": "8"}
    return {
        name: run_to_end(workbench.train(RankerName.parse(name), short)).ranker
        for name in ("dlcm-without-init", "setrank-imsab")
    }


def test_an_attack_raises_the_loss_of_its_network_and_follows_its_gradient(workbench, nets):
    from shuffleproof.core.rankers.neural.attack import directions

    test = workbench.prepared.test
    few = JudgedLists(test.dataset, test.lists.select(np.arange(20)))

    def loss(ranker, judged):
        """−Σ a^y log a^s over the lists."""
        total, scores = 0.0, ranker.score(judged.dataset, judged.lists).astype(np.float64)
        for low, high in zip(judged.lists.offsets, judged.lists.offsets[1:], strict=False):
            labels = judged.dataset.labels[judged.lists.rows[low:high]].astype(np.float64)
            weights = np.where(labels > 0, np.exp(labels), 0)
            part = scores[low:high]
            log = part - part.max() - np.log(np.exp(part - part.max()).sum())
            total -= (weights / max(weights.sum(), 1e-9) * log).sum()
        return total

    for name, ranker in nets.items():
        signs = directions(ranker, few)
        assert set(np.unique(signs)) <= {-1, 0, 1}
        others = np.setdiff1d(np.arange(test.dataset.documents), few.lists.rows)
        assert np.all(signs[others] == 0)
        armed = study.AttackFactory({name: ranker}, few)
        attacked = perturb(armed(f"gradient-sign@{name}", 0.05), few, generator(0))
        before = loss(ranker, few)
        assert loss(ranker, attacked) > before
        flipped = replace(armed(f"gradient-sign@{name}", 0.05), directions=-signs)
        assert loss(ranker, perturb(flipped, few, generator(0))) < before
    with pytest.raises(UsageError, match="no network"):
        directions(InitialRanker(), few)


@pytest.fixture(scope="module")
def asked(small, nets):
    """A network, a ranker that draws and one that is fixed, trained and asked otherwise."""
    short = {"epochs": "2", "steps_per_epoch": "8"}
    net = run_to_end(small.train(RankerName.parse("setrank-imsab"), short))
    names = (f"setrank-imsab#{net.artefact.key.digest[:12]}", "random", "feature:2")
    pairs = (("bfloat16", 1.0), ("threads", 1.0), ("batches", 1.0), ("batches", 5.0))
    machine = run_to_end(Perturbations(names, pairs, draws=2).run(small))
    seeds = run_to_end(Perturbations(names[1:], (("train-seed", 1.0),), draws=2).run(small))
    return names[0], StudyResult.open(machine.path), StudyResult.open(seeds.path)


def test_rankers_asked_otherwise_are_measured_where_it_means_something(small, asked):
    net, found, seeds = asked
    test = small.prepared.test
    ranker = run_to_end(small.identified(RankerName.parse(net))).ranker
    (low,) = ranker.score_variants(test.dataset, [test.lists], precision="bf16")
    before = ranker.score(test.dataset, test.lists)
    change = found.per_query(net, "bfloat16", 1.0, "score-change")
    assert change.max() == pytest.approx(np.abs(low - before).max())
    values = evaluate([Measure("NDCG", 10)], test.dataset, test.lists, low)[0]
    np.testing.assert_array_equal(found.per_query(net, "bfloat16", 1.0, "NDCG@10"), values)
    exact = [("threads", 1.0), ("batches", 1.0), ("batches", 5.0)]
    for family, level in exact:  # float32 sums differ in their last bits
        assert found.per_query(net, family, level, "score-change").max() < change.max() / 10
    drawn = found.trials[found.trials.ranker == net].groupby("family").draw.max()
    assert drawn.to_dict() == {"bfloat16": 0, "threads": 0, "batches": 1, "transpositions": 0}
    assert found.per_query("random", "batches", 5.0, "score-change").max() == 0, "measured"
    assert study.as_is(found, net, "NDCG@10").shape == (12,)
    spread = seeds.draws("random", "train-seed", 1.0, "NDCG@10")
    expected = [RandomRanker(seed).score(test.dataset, test.lists) for seed in (1, 2)]
    for values, scores in zip(spread, expected, strict=True):
        own = evaluate([Measure("NDCG", 10)], test.dataset, test.lists, scores)[0]
        np.testing.assert_array_equal(values, own)


def test_what_means_nothing_has_no_values_and_a_reason(small, asked):
    _, found, seeds = asked
    left = found.facts["left_out"]
    assert set(left["bfloat16"]) == set(left["threads"]) == {INITIAL, "random", "feature:2"}
    assert left["batches"] == {INITIAL: "it is not computed"}
    assert left["bfloat16"]["feature:2"] == "no bfloat16 arithmetic"
    assert seeds.facts["left_out"]["train-seed"]["feature:2"] == "no randomness in training"
    for result in (found, seeds):
        told = result.facts["left_out"]
        rows = result.trials.groupby(["ranker", "family"]).groups
        assert not [(ranker, family) for ranker, family in rows if ranker in told.get(family, {})]
    with pytest.raises(UsageError, match=r"bfloat16 does not apply .*random .no bfloat16"):
        run_to_end(Perturbations(("random",), (("bfloat16", 1.0),)).run(small))
    with pytest.raises(UsageError, match="changes no input"):
        run_to_end(InitialRanking(("random",), (("batches", 1.0),)).run(small))
    with pytest.raises(UsageError, match="cannot be trained again"):
        next(Perturbations(("rrf:dlcm+gsf",), (("train-seed", 1.0),)).run(small))


def test_a_family_that_cannot_run_stops_no_other(small):
    """All labels 0: ranksvm has nothing to learn, feature:2 never learns; cut goes on."""
    flat = "label-flips@" + "/".join(["1_0_0_0_0"] * 5)
    levels = (1.0, 1.0, 0.1, 0.0, 0.5)
    families = (flat, "train-seed", "gradient-sign", "cut", "cut")
    pairs = tuple(zip(families, levels, strict=True))
    artefact = run_to_end(Perturbations(("ranksvm", "feature:2"), pairs, draws=1).run(small))
    told, found = artefact.facts["left_out"], StudyResult.open(artefact.path)
    assert told[flat]["ranksvm"].startswith("training failed, every label of its ")
    assert told[flat]["feature:2"] == "learns from no label"
    assert (
        set(told["train-seed"]) == set(told["gradient-sign"]) == {INITIAL, "ranksvm", "feature:2"}
    )
    assert set(found.trials["family"]) == {"cut"}
    assert len(found.trials) == 6
    frame = sections.losses(found, "NDCG@10")
    assert set(frame["family"]) == {"cut"}
    assert study.as_is(found, "ranksvm", "NDCG@10").shape == (12,)


class Fading(CentredRanker):
    """Answers for the lists as they are alone."""

    def score(self, dataset, lists):
        if len(lists.rows) < self.whole:
            raise DataError("fading", "it ended its own process", "Correct it.")
        return super().score(dataset, lists)


def test_a_ranker_that_fails_once_perturbed_takes_no_other_with_it(small):
    fading = Fading()
    fading.whole = len(small.prepared.test.lists.rows)
    rankers = {"steady": CentredRanker(), "fading": fading}
    made = Study(
        kind=Perturbations.kind,
        rankers=tuple((label, f"digest of {label}") for label in rankers),
        lists="lists",
        initial=("feature:1",),
        perturbations=(("cut", 0.0), ("cut", 0.5)),
        measures=("NDCG@10", *OWN),
        draws=1,
        seed=0,
    )
    told = {"cut": {}}
    run_to_end(Trials(small, made, rankers, Memory(), told).run())
    assert set(told["cut"]) == {"fading"}
    assert "ended its own process" in told["cut"]["fading"]


def test_lists_without_an_initial_ranking_skip_the_families_of_it():
    found = applicability.inapplicable_rankers(
        ["shuffle", "cut", "cut:0.5+shuffle"], [INITIAL, "dlcm"], rankings=0
    )
    assert {family: len(why) for family, why in found.items()} == {
        "shuffle": 2, "cut": 0, "cut:0.5+shuffle": 2,
    }  # fmt: skip


LOSSES = pd.DataFrame(
    [
        ("a", "shuffle", 0.0, 0.0), ("a", "shuffle", 1.0, 0.2), ("a", "shuffle", 2.0, 0.1),
        ("a", "mallows", 0.0, 0.0), ("a", "mallows", 5.0, -0.1),
        ("b", "shuffle", 0.0, 0.0), ("b", "shuffle", 1.0, np.nan), ("b", "shuffle", 2.0, 0.15),
        ("b", "mallows", 5.0, 0.3),
    ],
    columns=["ranker", "family", "level", "loss"],
)  # fmt: skip


def test_the_last_level_of_each_family_is_shown():
    found = sections.last_levels(LOSSES)
    rows = [("a", "shuffle"), ("a", "mallows"), ("b", "shuffle"), ("b", "mallows")]
    assert list(zip(found.ranker, found.family, strict=True)) == rows
    np.testing.assert_array_equal(found.level, [2, 5, 2, 5])
    assert found.loss.tolist() == pytest.approx([0.1, -0.1, 0.15, 0.3])


def test_the_trials_of_a_family_keep_their_values():
    trials = pd.DataFrame({"family": ["f", "g", "f", "g"], "draw": [0, 1, 2, 3]})
    whole = StudyResult({}, trials, np.arange(4, dtype=np.float32).reshape(4, 1, 1), ("q",), {})
    found = sections.of_family(whole, "g")
    assert found.trials.to_dict("list") == {"family": ["g", "g"], "draw": [1, 3]}
    assert found.trials.index.tolist() == [0, 1]
    assert found.values.ravel().tolist() == [1, 3]
