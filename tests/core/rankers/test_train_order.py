"""`train-order`: the same training rows in another order, really learnt from, hidden by nothing."""

from dataclasses import replace
from itertools import pairwise

import lightgbm
import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.system import reordered
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.canonical import CanonicalLists, in_file_order
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.perturbations.system import Retraining
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import Trial
from shuffleproof.core.studies.workbench import Workbench

NET = "mlp@small"
FIXING = [
    (name, preset)
    for name, entry in RANKERS.items()
    if entry.learns and name not in FIXED
    for preset in entry.presets
]
"""Rankers that fix an order for their training rows, with every preset."""


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("order"))
    recipe = ListRecipe(("feature:3",), depth=15, scores="in-sample")
    return run_to_end(Workbench.open("sample", recipe, store, preset="small"))


@pytest.fixture(scope="module")
def found(workbench):
    """Trees, pairs, a net and a feature under two other orders of the training rows."""
    names = ("lambdamart", "ranksvm", NET, "feature:2")
    artefact = run_to_end(
        Perturbations(names, (("train-order", 1.0),), draws=2, seed=4).run(workbench)
    )
    return artefact, StudyResult.open(artefact.path)


def judged(rankings=1):
    draws = generator(0, "rows")
    lengths = np.array([0, 1, 2, 9, 30])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = draws.normal(size=(offsets[-1], 3)).astype(np.float32)
    labels = np.arange(offsets[-1], dtype=np.float32)  # a name for every document
    ids = tuple(f"q{query}" for query in range(len(lengths)))
    dataset = RankingDataset(features, labels, offsets, ids, (1, 2, 3))
    if not rankings:
        return JudgedLists(dataset, CandidateLists.all_documents(dataset))
    ties = np.round(features[:, :rankings])
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, ties, depth=7))


def lists_of(one):
    """By query: its list's documents, by name, with scores and ranks."""
    found = {}
    for at, (low, high) in enumerate(pairwise(one.lists.offsets.tolist())):
        rows = one.lists.rows[low:high]
        query = int(one.lists.queries[at])
        bounds = one.dataset.offsets[query : query + 2]
        assert ((rows >= bounds[0]) & (rows < bounds[1])).all()
        values = np.column_stack(
            [one.dataset.labels[rows], one.dataset.features[rows], one.lists.prior[low:high],
             one.lists.ranks[low:high]]
        )  # fmt: skip
        found[one.dataset.query_ids[query]] = values
    return found


@pytest.mark.parametrize("rankings", [0, 1, 2])
def test_rows_change_places_and_nothing_else_does(rankings):
    before = judged(rankings)
    after = reordered(before, generator(1, "a"))
    ours, theirs = lists_of(before), lists_of(after)
    assert ours.keys() == theirs.keys()
    for query, documents in ours.items():
        by_name = [one[np.argsort(one[:, 0])] for one in (documents, theirs[query])]
        np.testing.assert_array_equal(*by_name)
    for low, high in pairwise(after.lists.offsets.tolist()):
        rows, prior = after.lists.rows[low:high], after.lists.prior[low:high]
        keys = -prior[:, 0] if rankings else np.zeros(high - low)
        np.testing.assert_array_equal(np.lexsort((rows, keys)), np.arange(high - low))
    np.testing.assert_array_equal(np.sort(after.dataset.labels), before.dataset.labels)
    assert not np.array_equal(after.dataset.labels, before.dataset.labels)
    assert after.dataset.query_ids != before.dataset.query_ids
    assert after.dataset.fingerprint != before.dataset.fingerprint
    same, other = (reordered(before, generator(seed, "a")).dataset for seed in (1, 2))
    assert same.fingerprint == after.dataset.fingerprint != other.fingerprint


@pytest.mark.parametrize(("name", "preset"), FIXING)
def test_a_fixed_order_can_be_left_off_and_changes_no_older_key(name, preset):
    spec = registry.spec(name, preset)
    assert "row_order" not in spec.recipe()
    as_they_come = in_file_order(spec)
    assert as_they_come.recipe() == spec.recipe() | {"row_order": "file"}
    assert as_they_come == registry.spec(name, preset, row_order="file")
    assert replace(as_they_come, row_order="canonical") == spec


def test_rows_in_the_order_of_the_file_are_those_of_the_file():
    one = judged(rankings=0)
    taken = CanonicalLists.of(one, "file")
    np.testing.assert_array_equal(taken.labels, one.dataset.labels)
    np.testing.assert_array_equal(taken.features, one.dataset.features)
    assert taken.lengths.tolist() == [1, 2, 9, 30]
    assert not np.array_equal(CanonicalLists.of(one).labels, one.dataset.labels)


def test_lightgbm_learns_from_the_rows_of_a_draw_and_ours_hides_what_it_costs(workbench, found):
    _, result = found
    test, spec = workbench.prepared.test, registry.spec("lambdamart", "small")
    settings = {
        "objective": "lambdarank", "num_leaves": spec.leaves, "verbosity": -1, "num_threads": 1,
        "learning_rate": spec.learning_rate, "min_data_in_leaf": spec.leaf_documents,
        "lambdarank_truncation_level": spec.truncation, "max_bin": spec.bins,
        "deterministic": True, "force_col_wise": True,
    }  # fmt: skip
    for draw, values in enumerate(result.draws("lambdamart", "train-order", 1.0, "NDCG@10")):
        drawn = generator(4, "train-order", 1.0, draw)
        train = reordered(workbench.prepared.train, drawn).dataset
        rows = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.offsets))
        peer = lightgbm.train(settings, rows, spec.trees)
        scores = peer.predict(test.dataset.features[test.lists.rows]).astype(np.float32)
        expected = evaluate([Measure("NDCG", 10)], test.dataset, test.lists, scores)[0]
        np.testing.assert_array_equal(values, expected)
        lists = JudgedLists(train, CandidateLists.all_documents(train))
        hidden = run_to_end(spec.fit(lists, lists))
        ours = run_to_end(workbench.train(RankerName.parse("lambdamart"))).ranker
        assert hidden.text == ours.text, "the canonical order leaves nothing to the file's"
    change = result.per_query("lambdamart", "train-order", 1.0, "score-change")
    assert change.min() > 0
    draws = result.draws("lambdamart", "train-order", 1.0, "NDCG@10")
    assert np.abs(draws[0] - draws[1]).max() > 0.01


def test_every_ranker_that_learns_is_trained_again_and_others_have_a_reason(workbench, found):
    artefact, result = found
    assert artefact.facts["left_out"]["train-order"] == {
        INITIAL: "it is not computed", "feature:2": "learns from no row",
    }  # fmt: skip
    keys = set()
    for name in ("lambdamart", "ranksvm", NET):
        rows = result.trials[(result.trials.ranker == name) & (result.trials.level == 1)]
        assert rows.draw.tolist() == [0, 1]
        usual = run_to_end(workbench.train(RankerName.parse(name)))
        training = Retraining(workbench, 4)
        for draw in (0, 1):
            kept = run_to_end(training.train(Trial(name, "train-order", 1.0, draw)))
            assert kept.cached
            keys |= {kept.artefact.key, usual.artefact.key}
    assert len(keys) == 9, "three rankers, as they are and for two draws"
    nearly = result.per_query("ranksvm", "train-order", 1.0, "score-change")
    assert nearly.max() < 1e-3, "measured: sums in another order"
