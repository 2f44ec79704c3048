"""Forms from recipes: every widget has the field's bounds, and what is typed parses back."""

import dataclasses

import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app.forms import as_text, changes
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.parameters import check, parameter, parameters, with_changes
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.training.recipe import TrainingRecipe


@dataclasses.dataclass(frozen=True)
class Every:
    """One field of each kind."""

    count: int = parameter(3, "how many <b>documents</b>", low=1, high=9, unit="documents")
    rate: float = parameter(0.005, "how fast", low=0.0)
    depth: int | None = parameter(40, "how deep; none: all", low=1)
    kind: str = parameter("a", "which one", choices=("a", "b"))
    still: bool = parameter(True, "whether")  # noqa: FBT003 (the default of a parameter)
    name: str = parameter("x_y", "what it is called")
    inner: str = "not a parameter"

    def __post_init__(self):
        check(self)


def form():
    import streamlit as st
    from tests_every import Every

    from shuffleproof.app.forms import recipe_form

    st.session_state["changes"] = recipe_form(Every(), "form", columns=2)


@pytest.fixture
def page(monkeypatch):
    import sys
    import types

    module = types.ModuleType("tests_every")
    module.Every = Every
    monkeypatch.setitem(sys.modules, "tests_every", module)
    return AppTest.from_function(form).run()


def test_nothing_is_changed_at_first(page):
    assert not page.exception
    assert page.session_state["changes"] == {}


def test_widgets_carry_bounds_choices_units_and_help(page):
    count = page.number_input(key="form.count")
    assert (count.min, count.max, count.value, count.step) == (1, 9, 3, 1)
    assert count.label == "Count (documents)"
    assert "between 1 and 9" in count.help
    assert r"\<b\>" in count.help
    rate = page.number_input(key="form.rate")
    assert rate.value == 0.005
    assert rate.step == pytest.approx(0.0001)
    assert page.selectbox(key="form.kind").options == ["a", "b"]
    assert "empty: none" in page.number_input(key="form.depth").help


def test_what_is_changed_parses_back(page):
    page.number_input(key="form.count").set_value(7)
    page.number_input(key="form.rate").set_value(0.025)
    page.number_input(key="form.depth").set_value(None)
    page.selectbox(key="form.kind").set_value("b")
    page.toggle(key="form.still").set_value(False)
    page.text_input(key="form.name").set_value("other")
    page.run()
    found = page.session_state["changes"]
    assert found == {
        "count": "7", "rate": "0.025", "depth": "none", "kind": "b", "still": "false",
        "name": "other",
    }  # fmt: skip
    wanted = Every(count=7, rate=0.025, depth=None, kind="b", still=False, name="other")
    assert with_changes(Every(), found) == wanted


@pytest.mark.parametrize(
    "recipe",
    [ListRecipe(), TrainingRecipe(), SetRankConfig(), DLCMConfig(), GroupConfig(),
     UnivariateConfig(), LambdaMARTSpec()],
    ids=lambda recipe: type(recipe).__name__,
)  # fmt: skip
def test_every_recipe_of_the_core_is_drawn_and_round_trips_as_text(recipe):
    values = {one.name: getattr(recipe, one.name) for one in parameters(recipe)}
    assert changes(recipe, values) == {}
    assert with_changes(recipe, {name: as_text(value) for name, value in values.items()}) == recipe

    def draw(recipe):
        import streamlit as st

        from shuffleproof.app.forms import recipe_form

        st.session_state["changes"] = recipe_form(recipe, "f")

    page = AppTest.from_function(draw, args=(recipe,)).run()
    assert not page.exception
    assert page.session_state["changes"] == {}
