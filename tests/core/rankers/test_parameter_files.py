"""Rankers by parameter files: trained as their library does, known by content, refused in words."""

import json

import lightgbm
import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, UnknownNameError, UsageError
from shuffleproof.core.library import entries
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import CONFIGS, RankerName
from shuffleproof.core.rankers.outside.file_ranker import check_opens
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import names
from shuffleproof.core.studies.reproduce import ranker_command
from shuffleproof.core.studies.workbench import Workbench
from tests.synthetic import planted

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

ROUNDS = {
    "lightgbm-config": {"num_iterations": 5, "num_leaves": 4},
    "xgboost-config": {"n_estimators": 5, "max_depth": 2},
    "catboost-config": {"iterations": 5, "depth": 2},
}
STOPPING = {
    "lightgbm-config": {"num_iterations": 200, "early_stopping_round": 2},
    "xgboost-config": {"n_estimators": 200, "early_stopping_rounds": 2},
    "catboost-config": {"iterations": 200, "early_stopping_rounds": 2},
}
FOLD = planted((20, 10, 10), seed=2, documents=15)
TRAIN, VALID, TEST = (
    JudgedLists(part, CandidateLists.all_documents(part)) for part in FOLD.parts.values()
)


@pytest.fixture
def written(tmp_path):
    """A name of a ranker whose parameters are this text."""

    def write(head, content, name="params.json"):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return RankerName.parse(f"{head}:{file}")

    return write


def fitted(name, **changes):
    return run_to_end(registry.spec_of(name, **changes).fit(TRAIN, VALID))


def test_scores_are_those_of_the_library_itself(written):
    parameters = ROUNDS["lightgbm-config"]
    data = lightgbm.Dataset(TRAIN.dataset.features, TRAIN.dataset.labels, group=TRAIN.lists.lengths)
    booster = lightgbm.train(
        {"objective": "lambdarank", "verbosity": -1, "num_threads": 1, **parameters}, data
    )
    scores = fitted(written("lightgbm-config", parameters)).score(TEST.dataset, TEST.lists)
    np.testing.assert_allclose(scores, booster.predict(TEST.dataset.features), rtol=1e-6)


@pytest.mark.parametrize("head", CONFIGS)
def test_a_model_learns_and_is_stored_by_its_content(head, written, tmp_path):
    store = Store(tmp_path / "store")
    workbench = run_to_end(
        Workbench.open("sample", ListRecipe(("feature:3",), 10, "in-sample"), store, "small")
    )
    first = run_to_end(workbench.train(written(head, ROUNDS[head])))
    spaced = written(head, json.dumps(ROUNDS[head], indent=4), "other.json")
    again = run_to_end(workbench.train(spaced))
    assert (first.cached, again.cached) == (False, True)
    assert first.artefact.key == again.artefact.key
    facts = first.artefact.facts
    assert facts["valid"]["NDCG@10"] > 0.4  # by chance: .35
    assert facts["epochs"] == facts["timed"] == 5
    stored = run_to_end(workbench.train(RankerName.parse(first.stored_name)))
    test = workbench.prepared.test
    assert np.array_equal(stored.score(test), first.score(test))
    assert not check_opens([first.artefact.path])
    assert "own parameters" in entries.summary_of(first.artefact)
    other = run_to_end(workbench.train(spaced, {"seed": "3"}))
    assert other.artefact.key != first.artefact.key
    with pytest.raises(UsageError, match="in a file"):
        ranker_command(first.artefact.recipe, "sample")


@pytest.mark.parametrize("head", CONFIGS)
def test_rounds_of_early_stopping_stop(head, written):
    spec = registry.spec_of(written(head, STOPPING[head]))
    reports = list(spec.fit(TRAIN, VALID))
    assert reports[-1].done < 200


def test_a_seed_replaces_that_of_the_file(written):
    name = written("xgboost-config", {"random_state": 7, "subsample": 0.5, "n_estimators": 3})
    assert registry.spec_of(name).recipe()["seed"] == 7
    seeded = registry.spec_of(name, seed="9").recipe()
    assert seeded["parameters"]["random_state"] == seeded["seed"] == 9
    scores = [fitted(name, seed=seed).score(TEST.dataset, TEST.lists) for seed in ("9", "9", "10")]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    with pytest.raises(UnknownNameError, match="eta"):
        registry.spec_of(name, eta="1")
    with pytest.raises(DataError, match=r"params\.json.*the seed is '-1'"):
        registry.spec_of(name, seed="-1")


BAD = [
    ("", "no JSON"),
    ("{learning_rate: 1}", ":1: no JSON"),
    ("[1]", "no object"),
    ('{"seed": "soon"}', "the seed is 'soon'"),
]


@pytest.mark.parametrize(("text", "finding"), BAD)
def test_a_file_that_holds_no_parameters_is_refused(text, finding, written):
    with pytest.raises(DataError, match=rf"params\.json.*{finding}"):
        registry.spec_of(written("xgboost-config", text))


@pytest.mark.parametrize(
    "wrong",
    [{"objective": "nosuch"}, {"learning_rate": "fast"}, {"lerning_rate": 0.1}],
    ids=["objective", "text", "name"],
)
@pytest.mark.parametrize("head", CONFIGS)
def test_what_a_library_refuses_names_file_and_parameter(head, wrong, written):
    (key, value), *_ = wrong.items()
    with pytest.raises(DataError, match=r"params\.json") as raised:
        fitted(written(head, ROUNDS[head] | wrong))
    assert key in str(raised.value) or str(value) in str(raised.value)
    assert "Correct" in raised.value.remedy


@pytest.mark.parametrize("text", ["lightgbm-config:", "lightgbm-config"])
def test_a_name_without_a_file_says_what_to_write(text, capsys):
    assert main(["train", text]) == 2
    assert "lightgbm-config:FILE" in capsys.readouterr().err


def test_a_missing_file_is_named(capsys):
    assert main(["train", "catboost-config:nosuch.json"]) == 1
    assert "nosuch.json: no such file" in capsys.readouterr().err


def test_pages_read_no_files_of_this_machine(written, tmp_path):
    name = str(written("xgboost-config", ROUNDS["xgboost-config"]))
    names.check(names.Names((name,), from_outside=True), "small", Store(tmp_path))
    with pytest.raises(UsageError, match="command line"):
        names.check(names.Names((name,)), "small", Store(tmp_path))
