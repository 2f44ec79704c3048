"""Every new network trains: above the best single feature, the same twice, the same resumed."""

import numpy as np
import pytest

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import quality
from shuffleproof.core.studies.workbench import run_to_end

NETS = (
    "ranknet", "lambdarank", "frank", "listnet", "mlp", "gsf",
    "setrank-imsab-multi-init", "dlcm-listmle", "dlcm-softrank",
)  # fmt: skip
OTHERS = (
    "setrank-msab", "setrank-imsab", "setrank-msab-init", "setrank-imsab-init", "dlcm",
    "dlcm-without-init",
)  # fmt: skip
LOSSES = ("approx-ndcg", "neural-ndcg", "list-mle", "softrank", "hinge", "mse", "attention-rank")
MARGIN = 0.1
"""NDCG@10 on validation above the best single feature, which has .44 on the small fold."""
FOLD = planted((120, 50, 1), seed=1, documents=20)


def parts(fold, ranked_by):
    """(all documents, lists by four features) of the training and the validation part."""
    every, shown = [], []
    for dataset in (fold.train, fold.valid):
        prior = np.stack([dataset.feature(feature) for feature in ranked_by], 1)
        every.append(JudgedLists(dataset, CandidateLists.all_documents(dataset)))
        shown.append(JudgedLists(dataset, CandidateLists.ranked_by(dataset, prior, 40)))
    return every, shown


def best_features(dataset):
    judged = JudgedLists(dataset, CandidateLists.all_documents(dataset))
    values = {
        feature: quality(registry.spec(f"feature:{feature}").ranker, judged)["NDCG@10"]
        for feature in dataset.feature_ids
    }
    return sorted(values, key=values.__getitem__, reverse=True)


def trained(name, fold, workspace=None, **changes):
    spec = registry.spec(name, "small", **changes)
    every, shown = parts(fold, best_features(fold.train)[:4])
    train, valid = every if spec.fits_documents else shown
    return run_to_end(spec.fit(train, valid, workspace)), valid


def gain(name, fold, **changes):
    """NDCG@10 on validation above the best single feature's."""
    ranker, valid = trained(name, fold, **changes)
    single = registry.spec(f"feature:{best_features(fold.valid)[0]}").ranker
    return quality(ranker, valid)["NDCG@10"] - quality(single, valid)["NDCG@10"]


@pytest.mark.parametrize("name", NETS)
def test_a_few_epochs_are_far_above_the_best_single_feature(name):
    assert gain(name, FOLD, epochs=8, learning_rate=0.01) > MARGIN


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_trains_a_net(name):
    assert gain("mlp", FOLD, loss=name, epochs=10) > MARGIN


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NETS, *OTHERS])
def test_small_presets_on_the_sample_are_far_above_the_best_single_feature(name):
    """Within ten epochs of thirty: the best epoch is kept, so that more are no worse."""
    sets = name.startswith(("gsf", "setrank", "dlcm"))
    reached = gain(name, planted(), epochs=10)
    assert reached > (0.25 if sets else 0.15)  # what was measured: .27 to .35, .16 and .17


@pytest.mark.parametrize(
    ("name", "changes"), [("gsf", {}), ("mlp", {"norm": "batch"}), ("dlcm", {"cell": "lstm"})]
)
def test_a_killed_run_goes_on_to_the_same_weights(name, changes, tmp_path):
    fold = planted((20, 5, 1), seed=2, documents=12)
    whole, valid = trained(name, fold, epochs=4, **changes)
    spec = registry.spec(name, "small", epochs=4, **changes)
    every, shown = parts(fold, best_features(fold.train)[:4])
    train, valid = every if spec.fits_documents else shown
    run = spec.fit(train, valid, tmp_path)
    while next(run).done < 2:
        pass
    run.close()
    resumed = run_to_end(spec.fit(train, valid, tmp_path))
    again = resumed.score(valid.dataset, valid.lists)
    assert np.array_equal(again, whole.score(valid.dataset, valid.lists))
