"""Every new network trains: above the best single feature, the same twice, the same resumed."""

from typing import NamedTuple

import numpy as np
import pytest

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import quality
from shuffleproof.core.studies.workbench import run_to_end
from tests.synthetic import planted

pytestmark = pytest.mark.slow

NETS = (
    "ranknet", "lambdarank", "frank", "listnet", "mlp", "gsf",
    "setrank-imsab-multi-init", "dlcm-listmle", "dlcm-softrank",
    "setrank-msab", "setrank-imsab", "setrank-msab-init", "setrank-imsab-init", "dlcm",
    "dlcm-without-init",
)  # fmt: skip
LOSSES = (
    "approx-ndcg", "neural-ndcg", "list-mle", "softrank", "hinge", "mse", "attention-rank",
    "softmax-ce",
)  # fmt: skip
MARGIN = 0.1
"""NDCG@10 on validation above the best single feature, which has .44 on the small fold."""


class Parts(NamedTuple):
    """What nets learn from and are judged by, and NDCG@10 of single features of each part."""

    every: list[JudgedLists]
    shown: list[JudgedLists]
    singles: list[dict[int, float]]


def judged_parts(fold):
    """All documents, and lists by the four features that are best in training, of each part."""
    datasets = (fold.train, fold.valid, fold.test)
    every = [JudgedLists(one, CandidateLists.all_documents(one)) for one in datasets]
    singles = [single_features(one) for one in every]
    best = sorted(singles[0], key=singles[0].__getitem__, reverse=True)[:4]
    shown = []
    for dataset in datasets:
        prior = np.stack([dataset.feature(feature) for feature in best], 1)
        shown.append(JudgedLists(dataset, CandidateLists.ranked_by(dataset, prior, 40)))
    return Parts(every, shown, singles)


def single_features(judged):
    """NDCG@10 of each feature, by its id."""
    return {
        feature: quality(registry.spec(f"feature:{feature}").ranker, judged)["NDCG@10"]
        for feature in judged.dataset.feature_ids
    }


@pytest.fixture(scope="module")
def small():
    return judged_parts(planted((120, 50, 1), seed=1, documents=20))


@pytest.fixture(scope="module")
def sample():
    return judged_parts(planted())


def trained(name, parts, workspace=None, **changes):
    """The ranker of a recipe, the lists that it is judged by, and the losses of its epochs."""
    spec = registry.spec(name, "small", **changes)
    lists, reports = parts.every if spec.fits_documents else parts.shown, []
    ranker = run_to_end(spec.fit(*lists[:2], workspace), reports.append)
    return ranker, lists, [report.values["loss"] for report in reports if not report.part]


def gain(ranker, lists, parts):
    """NDCG@10 on validation above the best single feature's."""
    of = parts.singles[1]
    single = registry.spec(f"feature:{max(of, key=of.__getitem__)}").ranker
    return quality(ranker, lists[1])["NDCG@10"] - quality(single, lists[1])["NDCG@10"]


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_trains_a_net(name, small):
    """Far above the best single feature, and the loss itself falls."""
    ranker, lists, losses = trained("mlp", small, loss=name, epochs=10)
    assert gain(ranker, lists, small) > MARGIN
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", NETS)
def test_small_presets_on_the_sample_are_far_above_the_best_single_feature(name, sample):
    """Within six or ten epochs of thirty: the best is kept, so that more are no worse."""
    epochs = 6 if name.startswith(("setrank", "dlcm")) else 10
    ranker, lists, losses = trained(name, sample, epochs=epochs)
    assert losses[-1] < losses[0]
    sets = name.startswith(("gsf", "setrank", "dlcm"))
    reached = gain(ranker, lists, sample)
    assert reached > (0.25 if sets else 0.15)  # what was measured: .27 to .35, .15 to .17
