import json
import subprocess
import sys

import pytest

from core.errors import ArtefactError, ParameterError, UnknownNameError, UsageError
from core.models.config import DLCMConfig, SetRankConfig
from core.parameters import parameters
from core.rankers import registry
from core.rankers.base import RankerSpec
from core.rankers.recipes import FIXED, PRESETS, NeuralSpec

NAMES = [name.replace("<id>", "3") for name in registry.RANKERS]
ALL = [(name, preset) for name in NAMES for preset in registry.entry(name).presets]
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


@pytest.mark.parametrize("name", FIXED)
def test_presets_give_different_recipes(name):
    recipes = {json.dumps(registry.spec(name, preset).recipe()) for preset in PRESETS}
    assert len(recipes) == len(PRESETS)


def test_what_each_ranker_reads():
    reads = {name: registry.spec(name).reads for name in NAMES}
    plain = {"features", "neighbours"}
    assert reads["setrank-msab"] == reads["setrank-imsab"] == plain
    assert reads["setrank-msab-init"] == reads["setrank-imsab-init"] == plain | {"ranks"}
    assert reads["dlcm"] == reads["dlcm-without-init"] == plain | {"order"}
    assert reads["lambdamart"] == reads["mart"] == reads["feature:3"] == {"features"}
    first = registry.spec("setrank-msab-init", tied_ranks="first")
    assert first.reads == plain | {"ranks", "order"}
    assert registry.spec("setrank-msab", tied_ranks="first").reads == plain
    assert [registry.spec(name).rankings for name in FIXED] == [0, 0, 1, 1, 0, 0]
    assert registry.spec("setrank-msab-init", rankings=4).rankings == 4


def test_presets_are_those_of_the_papers():
    paper, released = (registry.spec("setrank-imsab-init", preset) for preset in PRESETS[:2])
    assert isinstance(paper.model, SetRankConfig)
    assert (paper.model.width, paper.model.depth, paper.model.heads) == (256, 6, 8)
    assert paper.model.inducing_points == 20
    assert paper.training.loss == "attention-rank"
    assert (paper.training.optimiser, paper.training.learning_rate) == ("adam", 0.001)
    assert paper.training.selection == "valid-ndcg@10"
    training = released.training
    assert (training.loss, training.learning_rate) == ("softmax-ce", 0.0005)
    assert (training.batch_lists, training.sampling, training.clip) == (32, "replacement", 5.0)
    assert training.steps_per_epoch * training.epochs == 10_000
    assert training.steps_per_epoch == 100
    assert (training.selection, training.patience) == ("valid-loss", None)
    assert training.normalisation == "min-max"
    for preset in ("paper", "released"):
        dlcm = registry.spec("dlcm", preset)
        assert isinstance(dlcm.model, DLCMConfig)
        training = dlcm.training
        assert (training.optimiser, training.learning_rate, training.decay) == ("sgd", 0.5, 0.8)
        assert (training.schedule, training.clip, training.batch_lists) == ("stall", 5.0, 256)
        assert training.steps_per_epoch * training.epochs == 10_000


def test_fields_are_overridden_by_flat_name_typed_or_as_text():
    typed = registry.spec("setrank-imsab", "small", depth=3, learning_rate=0.02, clip=None)
    text = registry.spec("setrank-imsab", "small", depth="3", learning_rate="0.02", clip="none")
    assert typed == text
    assert (typed.model.depth, typed.training.learning_rate, typed.training.clip) == (3, 0.02, None)
    assert registry.spec("lambdamart", "small", trees="7") == registry.spec(
        "lambdamart", "small", trees=7
    )


def test_model_and_training_share_no_field_name():
    spec, dlcm = registry.spec("setrank-msab"), registry.spec("dlcm")
    training = {declared.name for declared in parameters(spec.training)}
    for model in (spec.model, dlcm.model):
        assert not training & {declared.name for declared in parameters(model)}


@pytest.mark.parametrize(
    ("name", "preset", "changes"),
    [
        ("setrank", "paper", {}),
        ("feature:", "paper", {}),
        ("feature:<id>", "paper", {}),
        ("feature:x", "paper", {}),
        ("dlcm", "best", {}),
        ("lambdamart", "best", {}),
        ("dlcm", "paper", {"widht": 3}),
        ("dlcm", "paper", {"learning_rate": -1.0}),
        ("dlcm", "paper", {"epochs": "many"}),
        ("dlcm", "paper", {"feed": "shuffled"}),
        ("dlcm-without-init", "paper", {"feed": "shown"}),
        ("setrank-msab", "paper", {"block": "imsab"}),
        ("setrank-msab", "paper", {"rankings": 1}),
        ("setrank-msab-init", "paper", {"rankings": 0}),
        ("setrank-msab", "paper", {"heads": 7}),
        ("setrank-msab", "paper", {"loss": "mse"}),
        ("setrank-msab", "paper", {"normalisation": "unknown"}),
    ],
)
def test_what_makes_no_ranker_is_wrong_usage(name, preset, changes):
    with pytest.raises(UsageError):
        registry.spec(name, preset, **changes)


def test_errors_name_what_is_known():
    with pytest.raises(UnknownNameError, match="setrank-imsab-init"):
        registry.spec("setrank")
    with pytest.raises(ParameterError, match="learning_rate"):
        registry.spec("dlcm", widht=3)


def test_a_folder_without_a_ranker_is_refused(tmp_path):
    with pytest.raises(ArtefactError, match=r"no ranker\.json"):
        registry.load(tmp_path)
    (tmp_path / "ranker.json").write_text('{"family": "oracle"}')
    with pytest.raises(ArtefactError, match="oracle"):
        registry.load(tmp_path)


def test_listing_and_recipes_load_neither_torch_nor_lightgbm():
    code = (
        "import sys\n"
        "from core.rankers import registry\n"
        f"for name in {NAMES!r}:\n"
        "    registry.spec(name, 'paper').recipe()\n"
        "print([name for name in ('torch', 'lightgbm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
