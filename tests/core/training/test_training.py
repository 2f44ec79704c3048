import numpy as np
import pytest
import torch

from shuffleproof.core.data.batches import on_device
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import (
    ArtefactError,
    DataError,
    DivergedError,
    MissingRankingError,
)
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural import ranker as neural
from shuffleproof.core.seeds import generator
from shuffleproof.core.training import checkpoint, loop, network
from shuffleproof.core.training.loop import (
    RunState,
    TrainingData,
    _batches,
    learning_rate,
    train,
)
from shuffleproof.core.training.recipe import TrainingRecipe
from shuffleproof.core.training.step import kept_features
from tests.synthetic import planted

SMALL = (60, 20, 40)


def judged(part, depth=15):
    """The part's documents ranked by feature 3, which is related to relevance."""
    prior = np.ascontiguousarray(part.features[:, 2:3])
    return JudgedLists(part, CandidateLists.ranked_by(part, prior, depth))


FOLD = planted(SMALL, seed=11, documents=20)
TRAIN, VALID, TEST = judged(FOLD.train), judged(FOLD.valid), judged(FOLD.test)


def fitted(spec, workspace=None, lists=(TRAIN, VALID)):
    """The ranker of a spec, and the reports of its epochs."""
    ranker, reports = told(spec, workspace, lists)
    return ranker, [report for report in reports if not report.part]


@pytest.mark.parametrize("name", ["setrank-imsab", "dlcm", "pair-net"])
def test_a_small_training_is_the_same_whatever_cores_there_are(name):
    spec, before, trained = registry.spec(name, "small", epochs="2"), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            ranker, _ = fitted(spec, lists=(judged(FOLD.train, 19), VALID))
            assert torch.get_num_threads() == threads
            torch.set_num_threads(1)
            trained.append(ranker.score(TEST.dataset, TEST.lists).tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(set(trained)) == 1


def told(spec, workspace=None, lists=(TRAIN, VALID)):
    """The ranker of a spec, and all reports on the way."""
    run, reports = spec.fit(*lists, workspace), []
    while True:
        try:
            reports.append(next(run))
        except StopIteration as finished:
            return finished.value, reports


def ndcg(scores, part):
    measure = Measure.parse("NDCG@10")
    return mean_of(measure, evaluate([measure], part.dataset, part.lists, scores)[0])


def small(name, **changes):
    return registry.spec(name, "small", **({"epochs": 4, "patience": None} | changes))


@pytest.mark.parametrize("name", ["setrank-imsab-init", "dlcm-without-init"])
def test_equal_recipes_give_equal_rankers_and_other_seeds_others(name):
    before = torch.random.get_rng_state()
    first, second, other = (fitted(small(name, seed=seed))[0] for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    scores = [ranker.score(TEST.dataset, TEST.lists) for ranker in (first, second, other)]
    assert np.array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2])


@pytest.mark.parametrize("selection", ["valid-ndcg@10", "valid-loss"])
def test_the_best_epoch_is_kept(selection):
    ranker, reports = fitted(small("dlcm", selection=selection, epochs=8, learning_rate=0.02))
    values = [report.values["valid"] for report in reports]
    best = int(np.argmax(values)) + 1
    assert ranker.facts == {
        "epochs": 8, "best_epoch": best, "best_value": pytest.approx(values[best - 1])
    }  # fmt: skip
    if selection == "valid-ndcg@10":
        scores = ranker.score(VALID.dataset, VALID.lists)
        assert ndcg(scores, VALID) == pytest.approx(max(values), abs=1e-6)


def test_every_step_is_reported():
    """60 lists in batches of 16 are 4 steps; the last fifth of an epoch is its validation."""
    _, reports = told(small("dlcm", epochs=2, batch_lists=16))
    shares = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    assert [report.done + report.part for report in reports] == pytest.approx(shares)


def test_patience_ends_a_run_that_gets_no_better():
    _, reports = fitted(small("dlcm", epochs=50, patience=2, learning_rate=1e-9))
    assert len(reports) == 3
    assert [report.values["best_epoch"] for report in reports] == [1, 1, 1]


def test_lists_drawn_with_replacement_are_equally_likely():
    lengths = np.array([4, 0, 5, 6, 3])
    recipe = TrainingRecipe("attention-rank", sampling="replacement", steps_per_epoch=500)
    seen = np.concatenate(_batches(lengths, recipe, np.random.default_rng(0)))
    drawn = np.random.default_rng(0).integers(0, 4, 500 * recipe.batch_lists)
    assert np.bincount(seen).tolist() == np.bincount(np.array([0, 2, 3, 4])[drawn]).tolist()


def test_small_sets_repeat_their_pass_until_an_epoch_has_its_least_steps():
    """20 lists in batches of 8 are 3 steps a pass; 7 steps take 3 passes of every list."""
    lengths = np.full(20, 5)
    recipe = TrainingRecipe(batch_lists=8, least_steps=7)
    seen = np.concatenate(_batches(lengths, recipe, np.random.default_rng(0)))
    np.testing.assert_array_equal(np.bincount(seen), np.full(20, 3))


def test_a_loss_that_is_no_number_is_said_clearly():
    spec = small("setrank-msab", learning_rate=0.25, normalisation="none")
    features = TRAIN.dataset.features.copy()
    features[:, 0] = np.nan
    broken = RankingDataset(
        features, TRAIN.dataset.labels.copy(), TRAIN.dataset.offsets.copy(),
        TRAIN.dataset.query_ids, TRAIN.dataset.feature_ids,
    )  # fmt: skip
    with pytest.raises(DivergedError, match=r"setrank-msab: .* epoch 1 .*learning_rate .*0.25"):
        fitted(spec, lists=(JudgedLists(broken, TRAIN.lists), VALID))


def test_what_cannot_be_trained_on_is_refused():
    nothing = JudgedLists(TRAIN.dataset, TRAIN.lists.select(np.empty(0, np.int64)))
    with pytest.raises(DataError, match="no training list"):
        fitted(small("dlcm"), lists=(nothing, VALID))
    with pytest.raises(MissingRankingError):
        fitted(small("setrank-msab-init", rankings=2))
    with pytest.raises(DataError, match="5 ordinals"):
        fitted(small("setrank-msab-init", ordinals=5))


def test_the_gradient_is_clipped():
    """SGD at rate 1: a step is the gradient, so its norm is the clip at most."""
    recipe = TrainingRecipe(
        optimiser="sgd", learning_rate=1.0, clip=0.01, epochs=1, steps_per_epoch=1
    )
    spec = small("dlcm")
    features = TRAIN.dataset.features[TRAIN.lists.rows]
    lists = on_device(TRAIN.lists, features, TRAIN.dataset.labels[TRAIN.lists.rows])
    net = network.built(spec.model, features.shape[1], 0)
    before = network.weights_of(net)
    list(train(net, TrainingData("dlcm", lists, lists, TRAIN), recipe))
    after = network.weights_of(net)
    norm = sum(float((after[name] - before[name]).square().sum()) for name in before) ** 0.5
    assert norm == pytest.approx(0.01, rel=1e-3)


def test_relative_sampling_stays_within_the_table():
    config = registry.spec("setrank-msab-init", "small", ordinals=50).model
    lengths = np.array([1, 20, 50])
    draws = np.random.default_rng(0)
    starts = np.stack([network.sampled_starts(config, lengths, draws) for _ in range(2000)])
    assert starts.min(axis=0).tolist() == [0, 0, 0]
    assert starts.max(axis=0).tolist() == [49, 30, 0]
    still = registry.spec("setrank-msab-init", "small", relative_ordinals=False).model
    assert network.sampled_starts(still, lengths, draws) is None


def test_the_stall_schedule_lowers_the_rate_when_the_loss_exceeds_those_before():
    recipe = TrainingRecipe(learning_rate=0.5, schedule="stall", decay=0.8, stall_epochs=3)
    state, rates = RunState(), []
    for loss in (3.0, 2.0, 1.0, 2.5, 3.5, 3.4, 9.0):
        rates.append(learning_rate(recipe, 0.0, state.decays))
        state = state.after_loss(recipe, loss)
    assert rates == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4])
    assert learning_rate(recipe, 0.0, state.decays) == pytest.approx(0.32)


EPOCHS = 9


def spec_of(name):
    if name == "dlcm":  # momentless optimiser, decaying rate
        changes = {"optimiser": "sgd", "learning_rate": 0.3, "schedule": "stall"}
    else:
        changes = {"schedule": "cosine", "selection": "valid-loss"}
    return small(name, epochs=EPOCHS, **changes)


@pytest.mark.parametrize("name", ["setrank-imsab-init", "dlcm"])
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(name, tmp_path):
    begun = spec_of(name).fit(TRAIN, VALID, tmp_path)
    while next(begun).share * EPOCHS < 3.3:  # to the middle of the fourth epoch
        pass
    begun.close()
    resumed, reports = fitted(spec_of(name), tmp_path)
    assert [report.done for report in reports] == [*range(4, EPOCHS + 1)]
    whole, _ = fitted(spec_of(name))
    assert resumed.facts == whole.facts
    for key, value in network.weights_of(whole.network).items():
        assert torch.equal(network.weights_of(resumed.network)[key], value), key


def test_a_stopped_run_leaves_a_checkpoint_of_its_recipe_alone(tmp_path):
    run = small("dlcm").fit(TRAIN, VALID, tmp_path)
    while next(run).part:
        pass
    run.close()
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint.FILE]
    with pytest.raises(ArtefactError, match="another recipe"):
        fitted(small("dlcm", seed=9), tmp_path)
    (tmp_path / checkpoint.FILE).write_bytes(b"cut short")
    with pytest.raises(ArtefactError, match=r"cannot be read.*Remove it: the training then starts"):
        fitted(small("dlcm"), tmp_path)


def test_a_finished_run_is_not_repeated(tmp_path):
    whole, _ = fitted(small("dlcm"), tmp_path)
    again, reports = fitted(small("dlcm"), tmp_path)
    assert reports == []
    scores = [ranker.score(TEST.dataset, TEST.lists) for ranker in (whole, again)]
    assert np.array_equal(*scores)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ["setrank-msab", "setrank-imsab-init", "dlcm"])
def test_cuda_trains_to_the_cpus_losses(name, monkeypatch):
    losses = {}
    for device in ("cpu", "cuda"):
        monkeypatch.setattr(neural, "device", lambda _, device=device: device)
        _, reports = fitted(small(name, epochs=1))
        losses[device] = reports[0].values["loss"]
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=1e-4)


def test_hidden_features_are_hidden_from_whole_lists_and_the_others_grow_as_much():
    shape = (64, 1, 40)
    found = kept_features(shape, 0.5, generator(0, "hidden"))
    assert set(np.unique(found).tolist()) == {0.0, 2.0}
    assert found.mean() == pytest.approx(1.0, abs=0.08)
    assert (found[0] != found[1]).any()
    assert np.array_equal(found, kept_features(shape, 0.5, generator(0, "hidden")))


def test_a_steps_rate_is_that_of_the_middle_of_the_step(monkeypatch):

    shares, rate = [], loop.learning_rate

    def noted(recipe, share, state):
        shares.append(share)
        return rate(recipe, share, state)

    monkeypatch.setattr(loop, "learning_rate", noted)
    fitted(small("dlcm", epochs=3, steps_per_epoch=4))
    assert shares == pytest.approx([(step + 0.5) / 12 for step in range(12)])


def test_the_validation_loss_is_the_mean_over_its_lists():
    twice = np.tile(np.arange(len(VALID.lists)), 2)
    parts = (VALID, JudgedLists(VALID.dataset, VALID.lists.select(twice)))
    spec = small("mlp", epochs=1, selection="valid-loss")
    once, often = (fitted(spec, lists=(TRAIN, part))[1][0].values["valid"] for part in parts)
    assert once == pytest.approx(often, rel=1e-4)
    assert once != 0
