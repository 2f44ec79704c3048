"""Training labels that tell nothing apart are refused in a sentence, for every ranker."""

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import check_selection, check_training_labels
from shuffleproof.core.rankers.registry import RANKERS

FITTED = [name for name, entry in RANKERS.items() if entry.learns]


def judged(labels, queries):
    docs = len(labels) // queries
    features = np.arange(len(labels), dtype=np.float32)[:, None]
    bounds = np.arange(queries + 1, dtype=np.int64) * docs
    ids = tuple(map(str, range(queries)))
    dataset = RankingDataset(features, np.array(labels, np.float32), bounds, ids, (1,))
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


@pytest.mark.parametrize("name", FITTED)
def test_one_label_everywhere_is_refused_by_every_fitted_ranker(name):
    spec = registry.spec(name, "small")
    with pytest.raises(DataError, match=f"{name}: every label of its 2 training queries is 3"):
        check_training_labels(spec, judged([3] * 6, 2))
    check_training_labels(spec, judged([0, 0, 1, 0, 0, 0], 2))


@pytest.mark.parametrize("name", FITTED)
def test_labels_that_differ_between_queries_alone_teach_grades_and_no_order(name):
    between, spec = judged([0, 0, 2, 2], 2), registry.spec(name, "small")
    if name == "mart":
        check_training_labels(spec, between)
    else:
        with pytest.raises(DataError, match="in none of its 2 training queries"):
            check_training_labels(spec, between)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("label", [np.nan, np.inf, -np.inf])
def test_a_label_that_is_no_number_is_refused_by_every_fitted_ranker(name, label):
    odd, spec = judged([0, 1, 0, 1, label, 0], 2), registry.spec(name, "small")
    told = rf"query 1: a label of {label:g}, 1 document in all\. Give every .* a number"
    with pytest.raises(DataError, match=f"training {told}"):
        check_training_labels(spec, odd)
    with pytest.raises(DataError, match=f"validation {told}"):
        check_selection(spec, odd)


def test_a_label_without_a_gain_is_no_validation_and_fractions_and_negatives_are():
    for name in FITTED:
        spec = registry.spec(name, "tuned")
        check_selection(spec, judged([0, 1.5, -1, 99, 1023, 0], 2))
        with pytest.raises(DataError, match=r"query 0: a label of 1024, 2 .* at most 1023"):
            check_selection(spec, judged([0, 1, 1024, 99, 2000, 0], 2))
    check_training_labels(registry.spec("ranksvm", "paper"), judged([0, 1, 1024, 99, 2000, 0], 2))


def test_a_pointwise_loss_learns_grades_and_what_is_not_fitted_learns_nothing():
    between = judged([0, 0, 2, 2], 2)
    check_training_labels(registry.spec("mlp", "small", loss="mse"), between)
    check_training_labels(registry.spec("random", "paper"), judged([0, 0], 1))


@pytest.mark.parametrize("name", ["mart", "mlp"])
def test_the_cache_refuses_before_it_fits(name, tmp_path):
    from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, fit_or_load
    from shuffleproof.core.store.artefacts import Store

    zero = judged([0] * 4, 1)
    with pytest.raises(DataError, match="every label of its 1 training query is 0"):
        next(fit_or_load(registry.spec(name, "small"), zero, zero, ALL_DOCUMENTS, Store(tmp_path)))


@pytest.mark.parametrize("name", FITTED)
def test_a_validation_part_of_one_label_is_refused_where_something_is_selected_on_it(name):
    zero, told = judged([0] * 6, 2), judged([0, 0, 0, 1, 0, 0], 2)
    for preset in RANKERS[name].presets:
        spec = registry.spec(name, preset)
        recipe = spec.recipe()
        setting = recipe.get("patience") or recipe.get("tried", 1) > 1
        check_selection(spec, told)
        if "training" in recipe or setting:
            with pytest.raises(DataError, match=f"{name}: in none of its 2 validation queries"):
                check_selection(spec, zero)
        else:
            check_selection(spec, zero)
    if "training" in recipe:
        check_selection(registry.spec(name, preset, epochs=1), zero)


def test_grades_between_queries_are_selected_on_where_the_loss_is():
    between = judged([0, 0, 2, 2], 2)
    check_selection(registry.spec("mart", "tuned"), between)
    check_selection(registry.spec("mlp", "small", loss="mse", selection="valid-loss"), between)
    with pytest.raises(DataError, match="or train one epoch"):
        check_selection(registry.spec("mlp", "small", loss="mse"), between)
    with pytest.raises(DataError, match="or train without patience"):
        check_selection(registry.spec("lambdamart", "tuned"), between)
