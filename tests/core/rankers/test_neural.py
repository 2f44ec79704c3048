import json

import numpy as np
import pytest
import torch

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import NORMALISATIONS, fit
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, MissingRankingError, ShapeError
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural import ranker as neural
from shuffleproof.core.rankers.neural.feed import document_features, feed_order
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.training.network import built
from tests.synthetic import planted

CASES: dict[str, tuple[str, dict]] = {
    **{name: (name, {}) for name in FIXED},
    "gsf circular": ("gsf", {"grouping": "circular"}),
    "gsf circular shown": ("gsf", {"grouping": "circular", "feed": "shown"}),
    "gsf exhaustive": ("gsf", {"group": 2, "grouping": "exhaustive"}),
    "gsf one": ("gsf", {"group": 1}),
    "gsf sum linear": ("gsf", {"layers": "none", "aggregation": "sum"}),
    "dlcm lstm": ("dlcm", {"cell": "lstm", "two_directions": True}),
    "mlp batch": ("mlp", {"norm": "batch"}),
    "mlp query": ("mlp", {"normalisation": "query-z-score"}),
}
"""Every neural ranker of the registry, and what else its fields can make of it."""
NAMES = tuple(CASES)
FOLD = planted((8, 2, 12), seed=3, documents=30)
DATASET = FOLD.test


def ranker_of(name, device="cpu", **changes):
    base, own = CASES[name]
    spec = registry.spec(base, "small", **own, **changes)
    network = built(spec.model, len(DATASET.feature_ids), 5).to(device).eval()
    normalisation = fit(spec.training.normalisation, FOLD.train)
    return neural.NeuralRanker(spec, network, normalisation, DATASET.feature_ids, {})


def some_lists(rankings=4, depth=20):
    prior = np.random.default_rng(0).integers(0, 12, (DATASET.documents, rankings))
    lists = CandidateLists.ranked_by(DATASET, prior.astype(np.float32), depth)
    lengths = np.minimum(lists.lengths, np.arange(len(lists)) * 3)  # ragged, one empty
    kept = np.concatenate(
        [np.arange(start, start + length) for start, length in zip(lists.offsets, lengths)]  # noqa: B905
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cut = CandidateLists(
        offsets, lists.queries, lists.rows[kept], lists.ranks[kept], lists.prior[kept]
    )
    return cut.reranked(cut.prior.copy())


def variants_of(lists):
    draws = np.random.default_rng(1)
    families = [("transpositions", 3.0), ("shuffle-shown", 1.0), ("reverse", 1.0), ("shuffle", 1.0)]
    changed = [perturbation(family, level)(lists, draws) for family, level in families]
    return [lists, *changed, changed[0], lists]


@pytest.mark.parametrize("name", NAMES)
def test_variants_score_as_each_would_alone(name, monkeypatch):
    monkeypatch.setattr(neural, "GROUP", 70)  # several groups of lists
    ranker, variants = ranker_of(name), variants_of(some_lists())
    together = ranker.score_variants(DATASET, variants)
    for variant, scores in zip(variants, together, strict=True):
        assert scores == pytest.approx(ranker.score(DATASET, variant), abs=1e-6)


def test_a_list_that_repeats_is_scored_once(monkeypatch):
    seen = []
    real = neural.held_scores

    def counted(network, lists, *rest, **named):
        seen.append(len(lists.lengths))
        return real(network, lists, *rest, **named)

    monkeypatch.setattr(neural, "held_scores", counted)
    lists = some_lists()
    other = perturbation("reverse-shown", 1.0)(lists, np.random.default_rng(0))
    ranker_of("dlcm").score_variants(DATASET, [lists, other, lists, other])
    assert seen == [2 * len(lists) - 1]  # the empty list reversed is itself; the second is not


def test_variants_of_nothing():
    empty = some_lists().select(np.empty(0, np.int64))
    ranker = ranker_of("dlcm")
    assert ranker.score_variants(DATASET, []) == []
    assert [len(scores) for scores in ranker.score_variants(DATASET, [empty, empty])] == [0, 0]
    assert len(ranker.score(DATASET, empty)) == 0
    with pytest.raises(ShapeError):
        ranker.score_variants(DATASET, [empty, some_lists()])


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_rankers_score_alike(name, tmp_path):
    ranker, lists = ranker_of(name), some_lists()
    ranker.save(tmp_path)
    loaded = registry.load(tmp_path)
    assert loaded.spec == ranker.spec
    assert (loaded.name, loaded.reads, loaded.rankings) == (
        ranker.name, ranker.reads, ranker.rankings,
    )  # fmt: skip
    assert np.array_equal(loaded.score(DATASET, lists), ranker.score(DATASET, lists))
    head = json.loads((tmp_path / "ranker.json").read_text())
    assert head["family"] == "neural"
    assert head["recipe"] == json.loads(json.dumps(ranker.spec.recipe()))


def test_what_does_not_fit_is_refused():
    lists = some_lists(rankings=1)
    ranker = ranker_of("setrank-imsab-init", rankings=2)
    with pytest.raises(MissingRankingError):
        ranker.score(DATASET, lists)
    other = RankingDataset(
        DATASET.features.copy(), DATASET.labels.copy(), DATASET.offsets.copy(),
        DATASET.query_ids, tuple(range(2, 12)),
    )  # fmt: skip
    with pytest.raises(ShapeError):
        ranker_of("dlcm").score(other, lists)
    with pytest.raises(DataError, match="10 ordinals"):
        ranker_of("setrank-msab-init", ordinals=10).score(DATASET, lists)


def test_a_shuffled_feed_is_a_permutation_of_places_drawn_by_query():
    lists = some_lists()
    spec = registry.spec("dlcm-without-init", "small")
    order = feed_order(spec, DATASET, lists)
    assert np.array_equal(np.sort(order), np.arange(len(lists.rows)))
    owner = np.repeat(np.arange(len(lists)), lists.lengths)
    assert np.array_equal(owner[order], owner)
    alone = feed_order(spec, DATASET, lists.select(np.array([5])))
    start, end = lists.offsets[5:7]
    assert np.array_equal(alone, order[start:end] - start)
    shown = perturbation("reverse-shown", 1.0)(lists, np.random.default_rng(0))
    assert np.array_equal(feed_order(spec, DATASET, shown), order)
    other = registry.spec("dlcm-without-init", "small", seed=1)
    assert not np.array_equal(feed_order(other, DATASET, lists), order)
    places = np.concatenate(
        [
            feed_order(registry.spec("dlcm-without-init", "small", seed=seed), DATASET, lists)[
                start:end
            ]
            - start
            for seed in range(200)
        ]
    ).reshape(200, -1)
    expected = (end - start - 1) / 2
    assert places.mean(axis=0) == pytest.approx(np.full(end - start, expected), abs=1.5)


def test_a_shuffled_feed_is_undone_on_the_scores():
    lists = some_lists()
    ranker, plain = ranker_of("dlcm-without-init"), ranker_of("dlcm")
    plain.network.load_state_dict(ranker.network.state_dict())
    order = feed_order(ranker.spec, DATASET, lists)
    expected = np.empty(len(order), np.float32)
    expected[order] = plain.score(DATASET, lists.shown_as(order))
    assert ranker.score(DATASET, lists) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", NORMALISATIONS)
def test_a_document_is_normalised_alike_whatever_is_scored_with_it(kind):
    normalisation = fit(kind, FOLD.train)
    whole = normalisation.apply(DATASET.features, DATASET.offsets)
    rows = np.random.default_rng(2).permutation(DATASET.documents)[:100]
    assert np.array_equal(document_features(normalisation, DATASET, rows), whole[rows])


def test_bf16_is_close_and_fp32_is_exact():
    lists, ranker = some_lists(), ranker_of("setrank-imsab-init")
    exact = ranker.score(DATASET, lists)
    (rough,) = ranker.score_variants(DATASET, [lists], "bf16")
    assert rough == pytest.approx(exact, abs=0.05)
    assert np.abs(rough - exact).max() > 0
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", NAMES)
def test_cuda_scores_as_the_cpu_does(name):
    lists = some_lists()
    expected = ranker_of(name).score(DATASET, lists)
    found = ranker_of(name, "cuda").score(DATASET, lists)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
