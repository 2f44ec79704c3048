import json
import subprocess
import sys
from functools import lru_cache

import numpy as np
import pytest

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.experiment.ranker_sets import NAMED
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.parameters import parameters
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.initial import initial_spec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED, LATER, PRESETS, NeuralSpec
from shuffleproof.core.rankers.theorems import theorem_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.training.recipe import TrainingRecipe
from tests.core.rankers.test_invariance_real import judged, untrained

NAMES = [name.replace("<id>", "3") for name in registry.RANKERS]
ALL = [(name, preset) for name in NAMES for preset in registry.entry(name).presets]
KINDS = (SetRankConfig, DLCMConfig, GroupConfig, UnivariateConfig, TrainingRecipe)
UNIVARIATE = ("ranknet", "lambdarank", "frank", "listnet", "mlp")
NEURAL = [(name, preset) for name in FIXED for preset in PRESETS]


@pytest.mark.parametrize(("name", "preset"), ALL)
def test_every_ranker_has_a_recipe_in_plain_json(name, preset):
    spec = registry.spec(name, preset)
    assert isinstance(spec, RankerSpec)
    assert spec.name == name
    assert spec.reads <= {"features", "order", "ranks", "neighbours"}
    recipe = spec.recipe()
    assert json.loads(json.dumps(recipe, allow_nan=False)) == recipe
    assert registry.spec(name, preset).recipe() == recipe


@pytest.mark.parametrize(("name", "preset"), NEURAL)
def test_a_neural_recipe_is_made_again_from_its_json(name, preset):
    spec = registry.spec(name, preset)
    assert NeuralSpec.of_recipe(json.loads(json.dumps(spec.recipe()))) == spec


def test_nets_of_single_documents_are_fitted_on_all_documents_and_can_rank_initially():
    for name in FIXED:
        assert registry.spec(name).fits_documents == (name in UNIVARIATE)
    for name in UNIVARIATE:
        assert initial_spec(RankerName.parse(f"{name}@small")).name == name
    with pytest.raises(UsageError, match="gsf"):
        initial_spec(RankerName.parse("gsf@small"))


def test_all_rankers_are_those_that_learn():
    fitted = {name for name, entry in registry.RANKERS.items() if entry.learns}
    assert set(NAMED["all"]) == fitted - {"mlp"}, "mlp is a net for trying losses"


def test_fields_that_came_later_stand_in_no_recipe_at_the_value_of_before():
    for name, preset in NEURAL:
        recipe = registry.spec(name, preset).recipe()
        told = LATER.keys() & (recipe["model"].keys() | recipe["training"].keys())
        assert told <= ({"hidden_features"} if preset == "tuned" else set())
    for name, changes in (
        ("dlcm", {"cell": "lstm"}),
        ("mlp", {"loss": "approx-ndcg", "temperature": 0.5}),
        ("frank", {"pair_weights": "grades", "steepness": 2.0}),
        ("lambdarank", {"cutoff": None}),
    ):
        spec = registry.spec(name, "small", **changes)
        recipe = spec.recipe()
        told = recipe["model"] | recipe["training"]
        assert {field: told[field] for field in changes} == changes
        assert NeuralSpec.of_recipe(json.loads(json.dumps(recipe))) == spec


def test_the_values_of_before_are_the_defaults():
    values = {one.name: one.default for kind in KINDS for one in parameters(kind)}
    assert {name: values[name] for name in LATER} == LATER


def test_fields_are_overridden_by_flat_name_typed_or_as_text():
    typed = registry.spec("setrank-imsab", "small", depth=3, learning_rate=0.02, clip=None)
    text = registry.spec("setrank-imsab", "small", depth="3", learning_rate="0.02", clip="none")
    assert typed == text
    assert (typed.model.depth, typed.training.learning_rate, typed.training.clip) == (3, 0.02, None)
    assert registry.spec("lambdamart", "small", trees="7") == registry.spec(
        "lambdamart", "small", trees=7
    )


def test_model_and_training_share_no_field_name():
    training = {declared.name for declared in parameters(TrainingRecipe)}
    for name in FIXED:
        model = registry.spec(name).model
        assert not training & {declared.name for declared in parameters(model)}


@pytest.mark.parametrize(
    ("name", "preset", "changes"),
    [
        ("setrank", "paper", {}),
        ("feature:<id>", "paper", {}),
        ("feature:x", "paper", {}),
        ("dlcm", "best", {}),
        ("dlcm", "paper", {"widht": 3}),
        ("dlcm", "paper", {"learning_rate": -1.0}),
        ("dlcm", "paper", {"epochs": "many"}),
        ("dlcm", "paper", {"feed": "shuffled"}),
        ("dlcm-without-init", "paper", {"feed": "shown"}),
        ("setrank-msab", "paper", {"block": "imsab"}),
        ("setrank-msab", "paper", {"rankings": 1}),
        ("setrank-msab", "paper", {"heads": 7}),
        ("setrank-imsab-multi-init", "paper", {"rankings": 3}),
        ("ranknet", "paper", {"loss": "frank"}),
        ("ranknet", "paper", {"layers": "10,10"}),
        ("gsf", "paper", {"grouping": "exhaustive"}),
        ("setrank-msab", "paper", {"normalisation": "unknown"}),
    ],
)
def test_what_makes_no_ranker_is_wrong_usage(name, preset, changes):
    with pytest.raises(UsageError):
        registry.spec(name, preset, **changes)


def test_a_folder_without_a_ranker_is_refused(tmp_path):
    with pytest.raises(ArtefactError, match=r"no ranker\.json"):
        registry.load(tmp_path)
    (tmp_path / "ranker.json").write_text('{"family": "oracle"}')
    with pytest.raises(ArtefactError, match="oracle"):
        registry.load(tmp_path)


@lru_cache
def made(name):
    """A ranker: a network with its first weights, any other fitted on a few lists."""
    lists = JudgedLists(*judged([12, 1, 7, 30]))
    spec = registry.spec(name, "small")
    if not isinstance(spec, NeuralSpec):
        return run_to_end(spec.fit(lists, lists))
    return untrained(name, normalisation="none")


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_that_was_saved_is_opened_and_scores_as_before(name, tmp_path):
    dataset, lists = judged([12, 1, 7, 30], rankings=4)
    made(name).save(tmp_path)
    found = registry.load(tmp_path).score(dataset, lists)
    np.testing.assert_array_equal(found, made(name).score(dataset, lists))


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_keeps_the_protocol_and_reads_what_it_says(name):
    dataset, lists = judged([12, 0, 1, 7, 30], rankings=4)
    ranker = made(name)
    assert isinstance(ranker, Ranker)
    assert ranker.name == name
    assert ranker.score(dataset, lists.select(np.zeros(0, np.int64))).shape == (0,)
    if ranker.reads <= {"features"}:
        by_row = np.zeros((dataset.documents, 1), np.float32)
        by_row[lists.rows, 0] = ranker.score(dataset, lists)
        shown = perturbation("shuffle-shown", 1)(lists, generator(0))
        alone = CandidateLists.ranked_by(dataset, by_row, depth=1)
        for other in (shown, alone):
            found = ranker.score(dataset, other)
            np.testing.assert_allclose(found, by_row[other.rows, 0], rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_that_reads_no_order_has_a_theorem(name):
    assert (theorem_of(made(name)) is None) == ("order" in made(name).reads)


def test_listing_and_recipes_load_neither_torch_nor_lightgbm():
    code = (
        "import sys\n"
        "from shuffleproof.core.rankers import registry\n"
        f"for name in {NAMES!r}:\n"
        "    registry.spec(name, 'paper').recipe()\n"
        "print([name for name in ('torch', 'lightgbm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
