"""Invariance shown by real permutations, through the whole path: lists, batches, scores."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from shuffleproof.core.data import batches, features, ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural import ranker as neural
from shuffleproof.core.studies.kinds.invariance import study as invariance
from shuffleproof.core.training import network

WITHOUT_ORDINALS = ("setrank-msab", "setrank-imsab")
WITH_ORDINALS = ("setrank-msab-init", "setrank-imsab-init")
WIDTH = 8
TOLERANCE = 1e-5


def untrained(name, preset="small", **changes):
    """A ranker with its first weights; invariance is no matter of training."""
    spec = registry.spec(name, preset, **changes)
    fresh = network.built(spec.model, WIDTH, 7).eval()
    ids = tuple(range(1, WIDTH + 1))
    plain = features.Normalisation("none", np.empty((0, WIDTH)))
    return neural.NeuralRanker(spec, fresh, plain, ids, {})


def ramp(ranker):
    """Ordinals on a line, so that the scores of neighbouring ranks stand apart."""
    tables = ranker.network.ordinal.tables.data
    steps = torch.linspace(0, 1, tables.shape[1])[:, None]
    tables.copy_(steps * tables[0, 0] * 5)
    return ranker


def judged(lengths, grades=None, rankings=1, seed=0, span=0.1):
    """Lists of documents strung along one direction, so that their scores stand well apart.

    The initial rankings follow the string; with `grades` many tie.
    """
    generator = np.random.default_rng(seed)
    offsets = ragged.offsets_of(np.asarray(lengths, dtype=np.int64))
    docs = int(offsets[-1])
    place = ragged.places_of(offsets) / np.maximum(np.repeat(lengths, lengths), 1)
    centres = generator.normal(size=(len(lengths), WIDTH)).repeat(lengths, axis=0)
    along = generator.normal(size=WIDTH)
    values = (centres + span * place[:, None] * along).astype(np.float32)
    dataset = RankingDataset(
        values,
        generator.integers(0, 5, docs).astype(np.float32),
        offsets,
        tuple(str(index) for index in range(len(lengths))),
        tuple(range(1, WIDTH + 1)),
    )
    prior = np.tile(place[:, None], (1, rankings))
    if grades is not None:
        prior = np.floor(prior * grades)
    return dataset, CandidateLists.ranked_by(dataset, prior.astype(np.float32))


def deviation_and_moves(ranker, dataset, lists, permutations=2):
    """Largest score deviation and positions moved when the same lists are shown otherwise."""
    by_row = np.zeros(dataset.documents, dtype=np.float32)
    by_row[lists.rows] = ranker.score(dataset, lists)
    before = ragged.order_within(lists.offsets, -by_row[lists.rows], lists.rows)
    deviation, moved = 0.0, 0
    shuffle = perturbation("shuffle-shown", 1.0)
    for seed in range(permutations):
        shown = shuffle(lists, np.random.default_rng(seed))
        scores = ranker.score(dataset, shown)
        deviation = max(deviation, float(np.abs(scores - by_row[shown.rows]).max(initial=0)))
        after = ragged.order_within(shown.offsets, -scores, shown.rows)
        moved += int((lists.rows[before] != shown.rows[after]).sum())
    return deviation, moved


@pytest.mark.parametrize("name", WITHOUT_ORDINALS + WITH_ORDINALS)
@pytest.mark.parametrize("length", [2, 3, 40, 95, 97, 240, 500])
def test_setrank_moves_no_position_at_any_set_size(name, length):
    dataset, lists = judged([length] * 2)
    ranker = untrained(name)
    if name in WITH_ORDINALS:
        ranker = ramp(untrained(name, ordinals=500))
    deviation, moved = deviation_and_moves(ranker, dataset, lists)
    assert deviation < TOLERANCE
    assert moved == 0


@pytest.mark.parametrize("name", WITH_ORDINALS)
@pytest.mark.parametrize("rankings", [1, 3])
def test_tied_initial_scores_keep_invariance(name, rankings):
    dataset, lists = judged([40, 7, 1, 0, 120], grades=4, rankings=rankings, span=0.5)
    ranker = ramp(untrained(name, rankings=rankings))
    deviation, moved = deviation_and_moves(ranker, dataset, lists)
    assert deviation < TOLERANCE
    assert moved == 0


@pytest.mark.parametrize("name", WITH_ORDINALS)
def test_ties_by_shown_position_break_invariance(name):
    dataset, lists = judged([40, 7, 1, 0, 120], grades=4)
    ranker = untrained(name, tied_ranks="first", ordinal_deviation=0.3)
    assert "order" in ranker.reads
    deviation, moved = deviation_and_moves(ranker, dataset, lists)
    assert deviation > 1e-3
    assert moved > 0


@pytest.mark.parametrize("name", ["dlcm", "dlcm-without-init"])
@pytest.mark.parametrize("length", [2, 40, 240])
def test_dlcm_moves(name, length):
    dataset, lists = judged([length] * 8)
    deviation, _ = deviation_and_moves(untrained(name), dataset, lists)
    assert deviation > 1e-4


@pytest.mark.parametrize("name", ["setrank-msab", "setrank-imsab", "setrank-imsab-init", "dlcm"])
def test_padding_and_other_queries_change_no_score(name):
    dataset, lists = judged([40, 3, 1, 38, 39, 200, 0, 40], seed=2)
    ranker = untrained(name)
    together = ranker.score(dataset, lists)
    for index in range(len(lists)):
        alone = ranker.score(dataset, lists.select(np.array([index])))
        inside = slice(lists.offsets[index], lists.offsets[index + 1])
        assert np.abs(together[inside] - alone).max(initial=0) < TOLERANCE
    padded = batches.on_device(lists, dataset.features[lists.rows], dataset.labels[lists.rows])
    batch = padded.batch(np.arange(len(lists)))  # one batch, everything padded to 200
    scores = network.scores_of(ranker.network, batch).detach()
    assert np.abs(scores[batch.mask].numpy() - together).max() < TOLERANCE


def certificate(ranker, dataset, lists, permutations=3):
    return run_to_end(invariance.certify(ranker, JudgedLists(dataset, lists), permutations, 0))


@pytest.mark.parametrize("name", WITHOUT_ORDINALS + WITH_ORDINALS)
@pytest.mark.parametrize("preset", ["small", "paper"])
def test_the_floor_is_what_float32_really_does(name, preset):
    """Random vectors: among thousands of gaps some are as narrow as rounding is wide."""
    dataset, lists = judged([250, 3, 90, 1, 40], grades=7, span=0.0)
    dataset = replace(dataset, features=dataset.features + noise(dataset.documents))
    card = certificate(untrained(name, preset), dataset, lists)
    assert 0 < card.max_score_deviation <= card.numeric_floor < TOLERANCE / 2
    assert (card.invariant, card.positions_moved) == (True, 0)


def test_float64_scores_are_those_of_float32_and_more():
    dataset, lists = judged([12, 0, 30, 1])
    for name in ("setrank-msab-init", "dlcm", "dlcm-without-init"):
        ranker = untrained(name)
        narrow, wide = ranker.score(dataset, lists), ranker.exact_scores(dataset, lists)
        assert wide.dtype == np.float64
        assert 0 < np.abs(narrow - wide).max() < 1e-5
        assert next(ranker.network.parameters()).dtype == torch.float32


def test_the_floor_hides_nobody_who_follows_the_order():
    dataset, lists = judged([40] * 6, grades=6)
    tied = certificate(untrained("setrank-msab-init", tied_ranks="first"), dataset, lists)
    dlcm = certificate(untrained("dlcm"), dataset, lists)
    for card in (tied, dlcm):
        assert not card.invariant
        assert card.positions_moved > 0
        assert card.numeric_floor < TOLERANCE / 2


def noise(documents):
    return np.random.default_rng(3).normal(size=(documents, WIDTH)).astype(np.float32)
