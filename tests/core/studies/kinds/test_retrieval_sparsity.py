"""The study of sparsity: each way alone, gates first, pruning as written, found again."""

import json

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import planted, snrm
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.retrieval import question
from shuffleproof.core.studies.kinds.retrieval import sparsity as sections
from shuffleproof.core.studies.kinds.retrieval import sparsity as study
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View

ASKED = (
    "study retrieval --vary=sparsity --preset small --penalties l1,flops --strengths .001,10 "
    "--keep 5,1000 --seeds 1 --queries 12"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("sparsity"))


@pytest.fixture(scope="module")
def result(store):
    assert main([*ASKED.split(), "--store", str(store.root)]) == 0
    (artefact,) = store.artefacts("study")
    return StudyResult.open(artefact.path)


def test_presets_and_penalties_are_those_that_there_are():
    assert set(question.PRESETS) == set(snrm.PRESETS)
    for penalty in question.PENALTIES:
        assert study.recipe_of("small", penalty, 0.5, 0).training.penalty == penalty


@pytest.mark.parametrize("way", [*question.PENALTIES, study.PRUNING])
def test_each_way_acts_alone(way):
    training = study.recipe_of("tuned", way, 7.0, 3).training
    assert (training.document_target, training.query_target) == (0, 0)
    assert (training.keep_document, training.keep_query, training.keep_share) == (0, 0, 1.0)
    assert training.seed == 3
    assert training.strength == (0.0 if way == study.PRUNING else 7.0)


def test_a_heavier_penalty_leaves_fewer_dimensions_and_pruning_the_largest(store, result):
    told = sections.points(result).set_index(["way", "level"])["nonzeros_document"]
    for penalty in ("l1", "flops"):
        assert told[penalty, 10.0] < told[penalty, 0.001]
    assert told["pruning", 5.0] <= 5
    indexed = IndexedCollection(planted.planted_collection(), store)
    recipe = study.recipe_of("small", study.PRUNING, 5.0, 0)
    latent = snrm.load(indexed, run_to_end(snrm.LEARNER.training(indexed, recipe)), recipe)
    whole, left = latent.index.vectors, study.prune_latent(latent, 5).index.vectors
    for row in range(0, 480, 97):
        values = whole[[row]].toarray()[0]
        kept = left[[row]].toarray()[0]
        largest = np.argsort(-values, kind="stable")[:5]
        assert sorted(np.flatnonzero(kept)) == sorted(p for p in largest.tolist() if values[p] > 0)
        assert np.array_equal(kept[largest], values[largest])
    queries = study.prune_latent(latent, 9).vectors(planted.planted_collection().queries)
    assert np.diff(queries.indptr).max() <= 3


def test_what_is_dense_is_never_best(result):
    found = sections.points(result)
    dense = found["dense_in_disguise"].astype(bool)
    assert dense.any(), "without a penalty and hardly pruned"
    own = found[~dense].sort_values("mean").iloc[-1]
    assert f"{own['mean']:.3f}" in sections.headline(result, View()).text


def test_the_answer_is_found_again(store, result, capsys):
    capsys.readouterr()
    assert main([*ASKED.split(), "--store", str(store.root), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["result"] == result.directory.name
    assert len(answer["points"]) == 6
    assert main([*ASKED.split(), "--store", str(store.root), "--dry-run"]) == 0
    assert f"stored as {answer['result']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"), [("--penalties l2", "l1"), ("--strengths ,", "at least one")]
)
def test_wrong_questions_are_refused(store, capsys, flags, said):
    assert main(["study", "sparsity", *flags.split(), "--store", str(store.root)]) in {1, 2}
    assert said in capsys.readouterr().err
