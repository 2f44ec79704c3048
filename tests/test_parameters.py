"""Declared fields: bounds are inclusive, texts are read by type, refusals say what is allowed."""

from dataclasses import dataclass

import pytest

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import check, parameter, parameters, parsed, replaced


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


def test_what_a_field_allows_is_told_in_words():
    words = {name: one.allowed for name, one in DECLARED.items()}
    assert words["share"] == "between 0 and 1"
    assert words["layers"] == "at least 1"
    assert words["most"] == "at most 9"
    assert words["kind"] == "one of a, b"
    assert words["name"] == str(str)
    assert list(parameters(Recipe())) == list(DECLARED.values())
    assert "other" not in DECLARED
    assert (DECLARED["name"].unit, DECLARED["name"].help) == ("letters", "a name")


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
    for recipe in (parsed(Recipe(), {field: text}), replaced(Recipe(), {field: text, "other": 5})):
        found = getattr(recipe, field)
        assert (found, type(found)) == (value, type(value))
    assert (parsed(Recipe(), {field: text}).other, recipe.other) == (3, 5)


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("ready", "yes", "true or false"),
        ("layers", "2.5", "a whole number"),
        ("share", "much", "a number"),
        ("other", "4", "kind, layers, most, name, rate, ready, share"),
    ],
)
def test_texts_that_mean_nothing_are_refused(field, text, said):
    with pytest.raises(ParameterError, match=said):
        parsed(Recipe(), {field: text})
