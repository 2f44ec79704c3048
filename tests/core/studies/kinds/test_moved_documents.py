"""Moves of one document: certified ≤ true ≤ attacked, for every kind of ranker."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.boosting.box_search import Leaves
from shuffleproof.core.rankers.linear.box_bounds import DenseLayers
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.rankers.univariate import FeatureRanker, IdealRanker
from shuffleproof.core.studies.kinds.certified_top_k.changed_lists import ListOfOne
from shuffleproof.core.studies.kinds.certified_top_k.moved_documents import (
    FARTHEST,
    MovedDocument,
    bounds_of,
    units,
)
from shuffleproof.core.studies.kinds.certified_top_k.study import is_alone

K, PARTS = 3, 200


@cache
def dataset(seed, features=3, queries=12, documents=10):
    """Random lists whose labels depend on the features, also jointly."""
    draws = np.random.default_rng(seed)
    values = draws.normal(size=(queries * documents, features)).astype(np.float32)
    values *= np.float32(10.0) ** np.arange(features, dtype=np.float32)
    product_of_signs = np.sign(values[:, 0] * values[:, 1])
    labels = np.clip(np.round(values[:, 0] + product_of_signs + 1), 0, 4).astype(np.float32)
    offsets = np.arange(queries + 1) * documents
    names = tuple(map(str, range(queries)))
    return RankingDataset(values, labels, offsets, names, tuple(range(1, features + 1)))


def judged(data):
    return JudgedLists(data, CandidateLists.ranked_by(data, data.feature(1)[:, None]))


def fitted(name, seed, **changed):
    lists = judged(dataset(seed))
    return run_to_end(registry.spec(name, "small", **changed).fit(lists, lists))


def network(name, seed=0, data=None, **changed):
    """A network with random weights, which are larger than those that training starts with."""
    data = dataset(0) if data is None else data
    spec = registry.spec(name, "small", seed=seed, **changed)
    torch.manual_seed(seed)
    ranker = NeuralRanker.untrained(spec, fit("z-score", data), data.feature_ids, "cpu")
    with torch.no_grad():
        for one, parameter in ranker.network.named_parameters():
            parameter.mul_(2) if "norm" not in one else None
        for module in ranker.network.modules():
            if hasattr(module, "running_var"):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
    return ranker


def moved(ranker, data):
    """Every document of a data set that is not in the top of its list."""
    lists, unit = judged(data), units(data)
    for at in range(len(lists.lists)):
        start = ListOfOne.of(lists, at)
        scores = start.scores(ranker)
        for place in np.argsort(-scores, kind="stable")[K:].tolist():
            yield MovedDocument(ranker, is_alone(ranker), unit, K, start, scores, place)


def radii(ranker, data, parts=PARTS):
    bounds = bounds_of(ranker, data.feature_ids)
    return np.array([one.radii(bounds, parts) for one in moved(ranker, data)])


def least_move_of_trees(leaves, document, unit, last):
    """Least move by all combinations of the nearest value in each interval of each feature."""
    values = []
    for at, own in enumerate(document):
        ends = np.concatenate([leaves.low[:, at], leaves.high[:, at], [own]])
        values.append(np.unique(ends[np.isfinite(ends)]))
    every = np.array(list(product(*values)), dtype=np.float32)
    moves = (np.abs(every - document.astype(np.float64)) / unit).max(axis=1)
    every, moves = every[moves < FARTHEST], moves[moves < FARTHEST]
    scores = np.zeros(len(every))
    for value, low, high in zip(leaves.values, leaves.low, leaves.high, strict=True):
        scores += value * ((low <= every) & (every <= high)).all(axis=1)
    return moves[scores.astype(np.float32) >= last].min(initial=FARTHEST)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("lambdamart", {"trees": 12, "leaves": 5, "leaf_documents": 5, "bins": 15}),
        ("mart", {"trees": 12, "leaves": 5, "leaf_documents": 5, "bins": 15}),
        ("rankboost", {"rounds": 20, "bins": 12}),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_moves_of_trees_are_those_of_all_combinations(name, changed, seed):
    ranker, data = fitted(name, seed, **changed), dataset(seed + 10)
    leaves = Leaves.of(ranker)
    documents = list(moved(ranker, data))
    found = radii(ranker, data)
    assert len(found) >= 80
    for document, (certified, attacked) in zip(documents, found, strict=True):
        if document.scores[document.place] < document._last:
            features = document.start.dataset.features[document.place]
            least = least_move_of_trees(leaves, features, document.unit, document._last)
            assert certified == attacked == least


@pytest.mark.parametrize("name", ["lambdamart", "mart", "rankboost", "frank-additive"])
def test_leaves_sum_to_the_scores(name):
    ranker, data = fitted(name, 1), dataset(5)
    leaves = Leaves.of(ranker)
    inside = (leaves.low <= data.features[:, None]) & (data.features[:, None] <= leaves.high)
    scores = ranker.score(data, CandidateLists.all_documents(data))
    assert inside.all(axis=2).astype(float) @ leaves.values == pytest.approx(scores, rel=1e-6)


def test_a_search_that_ends_early_gives_bounds():
    """With few splits the certificate is smaller, and the attack's move larger."""
    ranker, data = fitted("lambdamart", 3, trees=100, leaves=16, leaf_documents=2), dataset(13)
    early, whole = radii(ranker, data, parts=1), radii(ranker, data, parts=5000)
    assert (whole[:, 0] == whole[:, 1]).all()
    assert (early[:, 0] <= whole[:, 0]).all()
    assert (whole[:, 1] <= early[:, 1]).all()
    assert (early[:, 0] < early[:, 1]).any()


@pytest.mark.parametrize("normalisation", ["z-score", "quantile", "min-max", "log1p-z"])
def test_linear_rankers_are_exact(normalisation):
    ranker, data = fitted("ranksvm", 1, normalisation=normalisation), dataset(11)
    found = radii(ranker, data)
    assert (found[:, 0] <= found[:, 1]).all()
    assert found[:, 0] == pytest.approx(found[:, 1], rel=2e-3, abs=1e-5)
    if normalisation == "z-score":
        # In deviations of the training documents: the gap over Σ |w|
        unit, bounds = units(dataset(1)), bounds_of(ranker, data.feature_ids)
        for document in moved(ranker, data):
            certified, _ = replace(document, unit=unit).radii(bounds, 0)
            gap = max(document._last - document.scores[document.place], 0)
            least = gap / np.abs(ranker.weights).sum()
            assert certified == pytest.approx(least, rel=1e-3, abs=1e-5)


def test_one_feature_moves_to_the_last_of_the_top():
    data = dataset(4)
    found = radii(FeatureRanker(2), data)
    gaps = [one._last - one.scores[one.place] for one in moved(FeatureRanker(2), data)]
    assert found[:, 0] == pytest.approx(np.array(gaps) / units(data)[1], rel=1e-3)


def test_features_that_are_not_read_move_freely():
    found = radii(IdealRanker(), dataset(4))
    assert set(found.ravel()) == {0.0, FARTHEST}  # 0: a tie with the last of the top


NETS = [
    {"layers": "16", "activation": "tanh"},
    {"layers": "8x8", "activation": "relu", "norm": "batch"},
    {"layers": "8x8x8", "activation": "elu"},
    {"layers": "8x8", "activation": "tanh"},
    {"layers": "none"},
]


@pytest.mark.parametrize("changed", NETS, ids=str)
def test_bounds_of_networks_hold_in_the_box(changed):
    draws, data = np.random.default_rng(0), dataset(0)
    for seed in range(10):
        ranker = network("mlp", seed, **changed)
        layers = DenseLayers.of(ranker, data.feature_ids)
        for move in (0.01, 0.3, 3.0):
            middle, reach = data.features[seed].astype(float), move * units(data)
            shares = draws.uniform(-1, 1, (400, 3))
            shares = np.where(draws.random((400, 1)) < 0.5, np.sign(shares), shares)
            inside = (middle + reach * shares).astype(np.float32)
            tries = RankingDataset(
                inside, np.zeros(400, np.float32), np.array([0, 400]), ("a",), data.feature_ids
            )
            scores = ranker.score(tries, CandidateLists.all_documents(tries))
            bound = layers.upper(middle - reach, middle + reach)
            assert scores.max() <= bound
            if changed["layers"] == "none":
                assert bound == pytest.approx(scores.max(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("changed", NETS, ids=str)
def test_no_grid_of_moves_breaks_a_certificate(changed):
    """The least move on a grid of two features is between the certificate and the attack's."""
    data = dataset(6, features=2, queries=6)
    ranker = network("mlp", 3, data, **changed)
    bounds, certified_some = bounds_of(ranker, data.feature_ids), 0
    for document in moved(ranker, data):
        certified, attacked = document.radii(bounds, 0)
        assert certified <= attacked
        certified_some += certified > 0
        shares = np.array(list(product(np.linspace(-1, 1, 41), repeat=2)))
        own = document.start.dataset.features[document.place]
        tries = own + 1.5 * attacked * document.unit * shares
        entering = shares[document._margins(tries) >= 0] * 1.5 * attacked
        assert np.abs(entering).max(axis=1).min(initial=FARTHEST) >= certified * (1 - 1e-6)
    assert certified_some > 20


@pytest.mark.parametrize("name", ["setrank-imsab", "setrank-msab-init", "dlcm", "gsf"])
def test_rankers_of_lists_have_an_attack_alone(name):
    """The document found is in the top when the changed data set itself is scored."""
    data = dataset(0)
    ranker, lists = network(name), judged(data)
    documents = list(moved(ranker, data))[:20]
    bounds, entered = bounds_of(ranker, data.feature_ids), 0
    assert bounds is None
    for document in documents:
        own = document.start.dataset.features[document.place].astype(float)
        move, found = document._nearest(own + FARTHEST * document.unit * document._direction(own))
        certified, attacked = document.radii(bounds, 0)
        assert attacked == 0 or (np.isnan(certified) and attacked <= move)
        if move == FARTHEST:
            continue
        row = int(data.query_ids.index(document.start.dataset.query_ids[0])) * 10 + document.place
        features = data.features.copy()
        places = lists.lists.rows.tolist()
        start = row - document.place
        features[places[start + document.place]] = found
        changed = replace(data, features=features, fingerprint="")
        scores = ranker.score(changed, lists.lists)[start : start + 10]
        assert (scores > scores[document.place] + 1e-5).sum() < K
        entered += 1
    assert entered > 5


def test_layer_norm_and_absent_numbers_have_no_certificate():
    data = dataset(0)
    assert bounds_of(network("mlp", norm="layer"), data.feature_ids) is None
    ranker = FeatureRanker(1)
    broken = data.features.copy()
    broken[:] = np.nan
    document = next(moved(ranker, data))
    start = replace(document.start, dataset=replace(
        document.start.dataset, features=broken[:10], fingerprint=""
    ))  # fmt: skip
    assert np.isnan(replace(document, start=start).radii(None, 0)).all()
