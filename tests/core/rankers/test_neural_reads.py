"""What each network declares to read is what can change its scores; rankings left out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import MissingRankingError, ParameterError
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural import ranker as neural
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.training.network import built
from tests.synthetic import planted

DATASET = planted((8, 2, 12), seed=3, documents=30).test
CASES = [
    *((name, {}) for name in FIXED),
    ("gsf", {"grouping": "circular"}),
    ("gsf", {"grouping": "circular", "feed": "shown", "norm": "layer"}),
    ("gsf", {"group": 2, "grouping": "exhaustive"}),
    ("gsf", {"group": 1}),
    ("dlcm", {"cell": "lstm", "direction": "highest-first"}),
    ("mlp", {"norm": "batch", "activation": "elu"}),
    ("mlp", {"layers": "none"}),
]
every = pytest.mark.parametrize(("name", "changes"), CASES)
CLOSE = 2e-6


def ranker_of(name, **changes):
    spec = registry.spec(name, "small", **changes)
    network = built(spec.model, len(DATASET.feature_ids), 5).eval()
    for tables in (value for key, value in network.named_parameters() if "tables" in key):
        torch.nn.init.normal_(tables)
    return neural.NeuralRanker(spec, network, fit("z-score", DATASET), DATASET.feature_ids, {})


def lists_of(rankings=4, seed=0):
    prior = np.random.default_rng(seed).normal(size=(DATASET.documents, rankings))
    return CandidateLists.ranked_by(DATASET, prior.astype(np.float32), 20)


def by_row(ranker, lists):
    return dict(zip(lists.rows.tolist(), ranker.score(DATASET, lists).tolist(), strict=True))


def moved(ranker, lists, other):
    """The largest difference of a document's score in both."""
    before, after = by_row(ranker, lists), by_row(ranker, other)
    return max(abs(after[row] - before[row]) for row in after)


@every
def test_the_order_shown_changes_scores_where_it_is_read_and_nowhere_else(name, changes):
    ranker, lists = ranker_of(name, **changes), lists_of()
    shuffled = perturbation("shuffle-shown", 1.0)(lists, np.random.default_rng(1))
    difference = moved(ranker, lists, shuffled)
    assert difference > 1e-4 if "order" in ranker.reads else difference < CLOSE


@every
def test_neighbours_change_scores_where_they_are_read_and_nowhere_else(name, changes):
    ranker, lists = ranker_of(name, **changes), lists_of()
    half = np.flatnonzero(lists.ranks[:, 0] < 10)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(
        np.repeat(np.arange(len(lists)), lists.lengths)[half], minlength=len(lists)))])  # fmt: skip
    less = CandidateLists(
        offsets, lists.queries, lists.rows[half], lists.ranks[half], lists.prior[half]
    )
    difference = moved(ranker, lists, less)
    assert difference > 1e-4 if "neighbours" in ranker.reads else difference < CLOSE


@every
def test_initial_ranks_change_scores_where_they_are_read_and_nowhere_else(name, changes):
    ranker, lists = ranker_of(name, **changes), lists_of()
    other = np.random.default_rng(7).normal(size=lists.prior.shape).astype(np.float32)
    ranks = lists.reranked(other)
    back = np.argsort(ranks.rows, kind="stable")[np.argsort(np.argsort(lists.rows, kind="stable"))]
    same_order = ranks.shown_as(back)
    assert np.array_equal(same_order.rows, lists.rows)
    difference = moved(ranker, lists, same_order)
    assert difference > 1e-4 if "ranks" in ranker.reads else difference == 0


def multi(**changes):
    return ranker_of("setrank-imsab-multi-init", ordinal_table="own", **changes)


def columns(lists, chosen):
    chosen = list(chosen)
    return replace(lists, ranks=lists.ranks[:, chosen].copy(), prior=lists.prior[:, chosen].copy())


def test_rankings_that_are_swapped_are_read_where_they_now_are():
    ranker, lists = multi(), lists_of()
    swapped = columns(lists, (2, 0, 3, 1))
    assert moved(ranker, lists, swapped) > 1e-3
    again = ranker.reading((1, 3, 0, 2))
    assert np.array_equal(again.score(DATASET, swapped), ranker.score(DATASET, lists))


def test_a_ranking_left_out_contributes_nothing():
    ranker, lists = multi(), lists_of()
    without = ranker.reading((0, None, 2, 3))
    ranker.network.ordinal.tables.data[1] = 0
    expected = ranker.score(DATASET, lists)
    assert without.score(DATASET, lists) == pytest.approx(expected, abs=CLOSE)
    fewer = columns(lists, (0, 2, 3))
    shorter = ranker.reading((0, None, 1, 2))
    assert shorter.rankings == 3
    assert shorter.score(DATASET, fewer) == pytest.approx(expected, abs=CLOSE)
    (varied,) = shorter.score_variants(DATASET, [fewer])
    assert varied == pytest.approx(expected, abs=CLOSE)
    with pytest.raises(MissingRankingError):
        ranker.score(DATASET, fewer)


@pytest.mark.parametrize("changes", [{}, {"ordinal_direction": "worst-first"}])
def test_without_any_ranking_it_is_the_ranker_without_ordinals(changes):
    ranker, lists = multi(**changes), lists_of()
    blind = ranker.reading(())
    assert (blind.rankings, blind.reads) == (0, {"features", "neighbours"})
    ranker.network.ordinal.tables.data[:] = 0
    nothing = columns(lists, ())
    expected = ranker.score(DATASET, lists)
    assert blind.score(DATASET, nothing) == pytest.approx(expected, abs=CLOSE)
    assert blind.exact_scores(DATASET, nothing) == pytest.approx(expected, abs=1e-4)


def test_variants_that_differ_in_a_ranking_left_out_are_scored_once_and_alike():
    lists = lists_of()
    other = lists.prior.copy()
    other[:, 1] = -other[:, 1]
    back = lists.reranked(other)
    without = multi().reading((0, None, 2, 3))
    first, second = without.score_variants(DATASET, [lists, back])
    assert np.array_equal(first, second)


def test_a_changed_reading_is_saved_with_the_ranker(tmp_path):
    ranker = multi().reading((3, None, 0, 1))
    ranker.save(tmp_path)
    assert registry.load(tmp_path).columns == (3, None, 0, 1)


@pytest.mark.parametrize("wrong", [(0, 1, 2, 3, 4), (-1,)])
def test_columns_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError):
        multi().reading(wrong)
