"""Declared fields: bounds are inclusive, texts are read by type, refusals say what is allowed."""

import re
from dataclasses import dataclass, is_dataclass

import pytest

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import check, parameter, parameters, with_changes
from shuffleproof.core.rankers.registry import RANKERS, spec


@dataclass(frozen=True)
class Recipe:
    share: float = parameter(0.5, "a share", low=0.0, high=1.0)
    layers: int = parameter(2, "layers", low=1)
    most: int | None = parameter(None, "at most so many", high=9)
    sizes: tuple[int, ...] | None = parameter(None, "sizes", low=1)
    kind: str = parameter("a", "a kind", choices=("a", "b"))
    ready: bool = parameter(default=False, help="is it ready")
    name: str = parameter("x", "a name", unit="letters")
    rate: int | float = parameter(1, "a rate")
    other: int = 3

    def __post_init__(self):
        check(self)


DECLARED = {one.name: one for one in parameters(Recipe)}


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("share", [0.0, 1.0, 0.3], [-1e-9, 1.0 + 1e-9, float("nan"), "0.5"]),
        ("layers", [1, 10**6], [0, "1"]),
        ("most", [9, -5, None], [10, "9"]),
        ("sizes", [(1, 2), (), None], [(2, 0), (0,)]),
        ("kind", ["a", "b"], ["c", "", "ab"]),
    ],
)
def test_bounds_are_inclusive_and_what_is_beyond_is_refused(field, good, bad):
    for value in good:
        assert getattr(Recipe(**{field: value}), field) == value
    for value in bad:
        with pytest.raises(ParameterError, match=DECLARED[field].allowed):
            Recipe(**{field: value})


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("share", "0.25", 0.25),
        ("layers", "4", 4),
        ("most", "4", 4),
        ("most", "None", None),
        ("kind", "b", "b"),
        ("ready", "TRUE", True),
        ("ready", "false", False),
        ("name", "none", "none"),
        ("rate", "2", 2),
        ("rate", "2.5", 2.5),
    ],
)
def test_texts_are_read_by_the_fields_type(field, text, value):
    for recipe in (
        with_changes(Recipe(), {field: text}),
        with_changes(Recipe(), {field: text, "other": 5}),
    ):
        found = getattr(recipe, field)
        assert (found, type(found)) == (value, type(value))
    assert (with_changes(Recipe(), {field: text}).other, recipe.other) == (3, 5)


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("ready", "yes", "true or false"),
        ("layers", "2.5", "a whole number"),
        ("share", "much", "a number"),
        ("other", "4", "known: kind, layers, most, name, rate, ready, share"),
    ],
)
def test_texts_that_mean_nothing_are_refused(field, text, said):
    with pytest.raises(UsageError, match=said):
        with_changes(Recipe(), {field: text})


BOUNDS = """
SetRankConfig: kernels 1..1000, kernel_width 1e-06.., kernel_layer 1.., width 1.., depth 1..64,
  heads 1.., feed_forward 1.., inducing_points 1.., inducing_deviation 0.., norm_epsilon 0..0.01,
  rankings 0..64, ordinals 1..1000000, ordinal_deviation 0..
TrainingRecipe: temper 0..20, deviation 1e-06.., temperature 0.0001..100, cutoff 1..,
  steepness 0.001..1000, documents 2.., learning_rate 1e-09..10, weight_decay 0..1,
  hidden_features 0..0.95, decay 0.01..1, stall_epochs 1.., warm_up 0..1, batch_lists 1..,
  batch_documents 1.., steps_per_epoch 1.., least_steps 1.., epochs 1.., patience 1..,
  clip 1e-06.., seed 0..
DLCMConfig: first_layer 0..65536, total_width 0.., hidden 0.., heads 1..1024
GroupConfig: group 1..256, shuffles 1..4096
LambdaMARTSpec: trees 1.., leaves 2..131072, learning_rate 1e-06..1, leaf_documents 1..2147483647,
  truncation 1..2147483647, bins 2..65535, feature_share 0.01..1, l2 0.., patience 1..,
  least_trees 1.., seed 0..2147483647
MARTSpec: trees 1.., leaves 2..131072, learning_rate 1e-06..1, leaf_documents 1..2147483647,
  truncation 1..2147483647, bins 2..65535, feature_share 0.01..1, l2 0.., patience 1..,
  least_trees 1.., seed 0..2147483647
PairNetSpec: pairs 1..1000000, seed 0..2147483647, hidden 2..4096, epochs 1..10000,
  batch_pairs 1..1000000, learning_rate 1e-07..1, decay 0..10
PairTreesSpec: pairs 1..1000000, seed 0..2147483647, trees 1.., leaves 2..131072,
  learning_rate 1e-06..1, leaf_pairs 1..2147483647
RankSVMSpec: cost 1e-09..1000000000, tried 1..12, tolerance 1e-12..0.1, steps 1..
IRSVMSpec: cost 1e-09..1000000000, tried 1..12, tolerance 1e-12..0.1, steps 1.., cutoff 1..
RankBoostSpec: rounds 1.., bins 2..256, learning_rate 0.001..1, patience 1..
FRankAdditiveSpec: rounds 1.., bins 2..256, learning_rate 0.001..1, patience 1.., tried 1..
"""
"""What recipes have allowed: those that are stored stay right."""


def test_recipes_allow_what_they_did():
    specs = [spec(name) for name, entry in RANKERS.items() if entry.learns]
    parts = [value for one in specs for value in vars(one).values() if is_dataclass(value)]
    owners = dict.fromkeys([*map(type, (*specs, *parts))])
    lines = {
        one.__name__: ", ".join(map(bounds, filter(bounds, parameters(one)))) for one in owners
    }
    said = dict(re.findall(r"^(\w+): (.*)$", BOUNDS.replace("\n ", ""), re.MULTILINE))
    assert {name: line for name, line in lines.items() if line} == said


def bounds(field):
    low, high = ("" if one is None else f"{one:.10g}" for one in (field.low, field.high))
    return f"{field.name} {low}..{high}" if low or high else ""
