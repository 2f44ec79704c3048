"""Cost of a training: counted by torch itself, corrected by what this machine did."""

import dataclasses
import itertools
import subprocess
import sys

import pytest

from shuffleproof.core.execution.machine import machine
from shuffleproof.core.experiment import cost
from shuffleproof.core.experiment.cost import Cost, Sizes, TimedTraining
from shuffleproof.core.models import size
from shuffleproof.core.models.config import DLCM_PRESETS, SETRANK_PRESETS
from shuffleproof.core.rankers.registry import RANKERS, spec
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of

FEATURES = 46
SIZES = Sizes(lists=470, rows=15556, valid_rows=5000, features=FEATURES)
SETRANKS = [
    dataclasses.replace(config, block=block, rankings=rankings)
    for config, block, rankings in itertools.product(
        SETRANK_PRESETS.values(), ("msab", "imsab"), (0, 3)
    )
]
DLCMS = [
    dataclasses.replace(config, **changes)
    for config in DLCM_PRESETS.values()
    for changes in ({}, {"two_directions": True}, {"first_layer": 0})
]


def network(config):
    from shuffleproof.core.models.dlcm import DLCM
    from shuffleproof.core.models.setrank import SetRank

    return (DLCM if config in DLCMS else SetRank)(FEATURES, config)


@pytest.mark.parametrize("config", [*SETRANKS, *DLCMS], ids=lambda one: type(one).__name__)
def test_parameters_are_those_of_the_network(config):
    made = sum(parameter.numel() for parameter in network(config).parameters())
    assert size.parameters(config, FEATURES) == made


@pytest.mark.parametrize("config", SETRANKS[1::2], ids=lambda one: f"{one.block}-{one.width}")
@pytest.mark.parametrize("documents", [1, 40])
def test_flops_of_setrank_are_those_that_torch_counts(config, documents):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    ranks = torch.arange(documents).view(1, -1, 1).repeat(1, 1, config.rankings)
    with FlopCounterMode(display=False) as counter:
        network(config)(torch.ones(1, documents, FEATURES), None, ranks, torch.ones_like(ranks))
    assert size.forward_flops(config, FEATURES, documents) == counter.get_total_flops()


@pytest.mark.parametrize("config", DLCMS, ids=lambda one: f"{one.context}-{one.first_layer}")
def test_flops_of_dlcm_are_what_torch_counts_and_the_recurrence(config):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    dlcm = network(config)
    with FlopCounterMode(display=False) as counter:
        dlcm.score(dlcm.embed(torch.ones(1, 40, FEATURES)))
    recurrence = 40 * 2 * size.layers(config) * 3 * config.hidden_width(FEATURES) ** 2
    counted = counter.get_total_flops()
    assert size.forward_flops(config, FEATURES, 40) in {counted, counted + recurrence}


def test_an_epoch_is_three_passes_over_train_and_one_over_valid():
    recipe = spec("setrank-imsab", "small")
    one = size.forward_flops(recipe.model, FEATURES, 15556 / 470)
    found = cost.estimate(recipe, SIZES).flops
    assert found == pytest.approx(one * (3 * 470 + 5000 / (15556 / 470)))


def test_small_sets_repeat_their_pass():
    few = dataclasses.replace(SIZES, lists=47, rows=1556)
    once, often = (
        cost.estimate(spec("setrank-imsab", "small", least_steps=least), few).flops
        for least in (1, 7)
    )
    one = size.forward_flops(spec("setrank-imsab", "small").model, FEATURES, 1556 / 47)
    assert often - once == pytest.approx(2 * one * 3 * 47)  # 3 passes of 3 steps, one was there


def test_patience_makes_the_range_and_its_absence_none():
    patient = cost.estimate(spec("setrank-imsab", "small"), SIZES)
    assert patient.steps == 30
    endless = cost.estimate(spec("setrank-imsab", "small", patience=None), SIZES)
    assert patient.low < endless.low < endless.high == patient.high


def test_nothing_measured_is_a_wider_range_than_something_measured():
    recipe = spec("dlcm", "small")
    epoch = cost.epoch_seconds(recipe, SIZES)
    rough = cost.estimate(recipe, SIZES)
    known = cost.estimate(recipe, SIZES, [TimedTraining("dlcm", epoch, 1.0)])
    assert (rough.measured, known.measured) == (0, 1)
    assert rough.low < known.low < known.high < rough.high
    start = cost.START_SECONDS["dlcm"]  # a ratio of 1 is expected where none is known
    doubted, sure = ((one.low - start / 2, one.high - 2 * start) for one in (rough, known))
    assert doubted[0] * cost.ROUGH == pytest.approx(sure[0] * cost.KNOWN)
    assert doubted[1] / cost.ROUGH == pytest.approx(sure[1] / cost.KNOWN)


def test_a_slow_machine_is_known_to_be_slow():
    recipe = spec("dlcm", "small", patience=None)
    epoch = cost.epoch_seconds(recipe, SIZES)
    slow = cost.estimate(recipe, SIZES, [TimedTraining("dlcm", epoch, 10.0)])
    took = 10 * 30 * epoch
    assert slow.low < took + cost.START_SECONDS["dlcm"] < slow.high
    assert took / slow.low < 3
    assert slow.high / took < 3


@pytest.mark.parametrize(
    "other",
    [
        TimedTraining("setrank", 1.0, 9.0),
        TimedTraining("dlcm", 1e6, 9.0),
        TimedTraining("dlcm", 1e-6, 9.0),
    ],
)
def test_other_families_and_other_sizes_say_nothing(other):
    recipe = spec("dlcm", "small")
    assert cost.estimate(recipe, SIZES, [other]) == cost.estimate(recipe, SIZES)


@pytest.mark.parametrize("name", ["feature:3", "random", "ideal"])
def test_what_is_not_fitted_takes_a_moment(name):
    assert cost.estimate(spec(name), SIZES).high <= 1


@pytest.mark.parametrize("name", ["lambdamart", "mart"])
def test_trees_cost_by_tree_and_row(name):
    small, large = (cost.epoch_seconds(spec(name, "small"), s) for s in (SIZES, more_rows()))
    assert small < large < 10 * small
    assert cost.estimate(spec(name, "small"), SIZES).steps == 100


def more_rows():
    return dataclasses.replace(SIZES, rows=10 * SIZES.rows)


def kept(store, recipe, **facts):
    facts = {
        "machine": machine(), "timed": 20, "seconds": 40.0, "lists": 470, "rows": 15556,
        "valid_rows": 5000, "features": FEATURES,
    } | facts  # fmt: skip
    content = {"ranker": recipe.recipe(), "lists": "all documents"}
    key = key_of("ranker", content, (repr(sorted(facts.items())),))
    store.add(key, content, lambda folder: (folder / "x").write_text("x") and None, facts)


def test_what_this_machine_did_is_read_from_the_store(tmp_path):
    store = Store(tmp_path)
    for recipe in (spec("setrank-imsab", "small"), spec("lambdamart", "small")):
        kept(store, recipe)
        kept(store, recipe, machine="another one")
        kept(store, recipe, timed=0)
    found = {one.family: one for one in cost.timed_trainings(store)}
    assert found.keys() == {"setrank", "trees"}
    epoch = cost.epoch_seconds(spec("setrank-imsab", "small"), SIZES)
    loading = cost.START_SECONDS["setrank"] / 2
    assert found["setrank"].ratio == pytest.approx((40.0 - loading) / (20 * epoch))
    assert cost.timed_trainings(Store(tmp_path / "own", bundled=(tmp_path,))) == []


def test_a_ranker_that_is_trained_says_what_the_next_one_takes(tmp_path):
    from shuffleproof.core.data.lists import CandidateLists, JudgedLists
    from shuffleproof.core.data.synthetic import planted
    from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
    from shuffleproof.core.rankers.fit_cache import fit_or_load as fitted
    from shuffleproof.core.studies.workbench import run_to_end

    part = planted((30, 1, 1), documents=20).train
    store, judged = Store(tmp_path), JudgedLists(part, CandidateLists.all_documents(part))
    recipe = spec("lambdamart", "small", trees=5)
    run_to_end(fitted(recipe, judged, judged, ALL_DOCUMENTS, store))
    assert [one.family for one in cost.timed_trainings(store)] == ["trees"]
    assert (
        cost.estimate(recipe, Sizes.of(judged, judged), cost.timed_trainings(store)).measured == 1
    )


def test_a_recipe_of_another_version_is_passed_over(tmp_path):
    store = Store(tmp_path)
    recipe = spec("lambdamart", "small").recipe() | {"flux": 3}
    content = {"ranker": recipe, "lists": "all documents"}
    facts = {"machine": machine(), "timed": 1, "seconds": 1.0}
    store.add(key_of("ranker", content), content, lambda f: (f / "x").touch(), facts)
    assert cost.timed_trainings(store) == []


def test_jobs_side_by_side_take_as_long_as_their_longest():
    one, two = Cost(0, 0.0, 1, 10.0, 20.0, 0), Cost(0, 0.0, 1, 40.0, 50.0, 0)
    assert cost.total_seconds([one, two]) == (50.0, 70.0)
    assert cost.total_seconds([one, two], slots=2) == (40.0, 50.0)
    assert cost.total_seconds([]) == (0.0, 0.0)


def test_no_torch_and_no_lightgbm_are_loaded():
    script = (
        "import sys\nfrom shuffleproof.core.experiment import cost\n"
        "from shuffleproof.core.rankers.registry import spec\n"
        "cost.estimate(spec('dlcm'), cost.Sizes(1, 2, 3, 4))\n"
        "cost.estimate(spec('lambdamart'), cost.Sizes(1, 2, 3, 4))\n"
        "assert not {'torch', 'lightgbm'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", [name for name, entry in RANKERS.items() if entry.learns])
def test_every_ranker_that_learns_is_timed_and_read_back_from_what_was_stored(name):
    own = spec(name, "small")
    assert cost.family(own) in cost.START_SECONDS
    assert cost.spec_of(own.recipe()) == own


def test_the_pairs_of_an_additive_frank_grow_with_the_square_of_a_list():
    recipe = spec("frank-additive", "small")

    def of_pairs(rows, lists):
        of_cells = cost.epoch_seconds(recipe, Sizes(10**15, rows, 0, 5))
        return cost.epoch_seconds(recipe, Sizes(lists, rows, 0, 5)) - of_cells

    assert of_pairs(2000, 10) == pytest.approx(4 * of_pairs(1000, 10), rel=1e-6)
    assert of_pairs(2000, 20) == pytest.approx(2 * of_pairs(1000, 10), rel=1e-6)
    assert of_pairs(1000, 0) == pytest.approx(of_pairs(1000, 1))
    each = (2 + recipe.tried) * cost.PAIR_SECONDS
    assert of_pairs(1000, 1) == pytest.approx(1e6 * each, rel=1e-6)


@pytest.mark.parametrize("name", ["rankboost", "frank-additive"])
def test_every_cell_is_read_twice_a_round_of_boosting(name):
    few, many = (cost.epoch_seconds(spec(name, "small"), Sizes(5, 100, 0, n)) for n in (3, 7))
    assert many - few == pytest.approx(2 * 100 * 4 * cost.CELL_PRODUCT_SECONDS)
