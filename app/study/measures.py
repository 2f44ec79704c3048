"""The choice of a measure and of the conventions that it stands under."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import address
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.conventions import SWITCHED, derivable

CHOOSABLE = ("ideal", "empty", "ties", "discount")
LABELS = {
    "ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores",
    "short": "Lists shorter than the cut-off",
}  # fmt: skip


def choice(recipe: Mapping[str, Any]) -> Measure:
    """Draw the measure and the switches of its conventions; what was chosen.

    Args:
        recipe: of the study; what it keeps beside measures of relevance is not offered.
    """
    by_name = offered_measures(recipe)
    name = st.selectbox(
        "Measure",
        **address.selectbox("measure", address.option_texts(*by_name), next(iter(by_name))),
    )
    return under_conventions(recipe, by_name)[name]


def offered_measures(recipe: Mapping[str, Any]) -> dict[str, Measure]:
    """The measures of relevance of which a study has values, under default conventions, by text."""
    measures = _parsed([*recipe["measures"], *recipe.get("stored", ())])
    return {str(plain): plain for plain in (Measure(one.name, one.cutoff) for one in measures)}


def as_asked(recipe: Mapping[str, Any], measure: Measure) -> Measure:
    """The measure as the study was asked for it, where it was."""
    wanted = measure.name, measure.cutoff
    same = (one for one in _parsed(recipe["measures"]) if (one.name, one.cutoff) == wanted)
    return next(same, measure)


def _parsed(texts: Sequence[str]) -> list[Measure]:
    """Measures of relevance; what else a study keeps of an answer is written in small letters."""
    return [Measure.parse(text) for text in texts if is_measure(text)]


def can_be_drawn(recipe: Mapping[str, Any], measure: Measure) -> bool:
    """Whether the values of a measure follow from what is stored."""
    return derivable(str(measure), list(recipe.get("stored", recipe["measures"])))


def under_conventions(
    recipe: Mapping[str, Any], by_name: Mapping[str, Measure]
) -> dict[str, Measure]:
    """Draw the switches of the conventions; every measure under what they say.

    A study that was asked for other conventions than the usual ones shows those until they are
    switched; a measure of which nothing is stored under a convention stays as it was asked for.

    Args:
        recipe: of the study.
        by_name: its measures under default conventions, by text.
    """
    asked = {name: as_asked(recipe, measure) for name, measure in by_name.items()}
    if any(str(measure) != name for name, measure in asked.items()) and st.toggle(
        "As the study was asked", value=True, key="asked", bind="query-params",
        help="Off: under conventions chosen here, as far as stored values give them.",
    ):  # fmt: skip
        return asked
    switched = conventions(SWITCHED)
    wanted = {name: measure.under(**switched) for name, measure in by_name.items()}
    return {
        name: measure if can_be_drawn(recipe, measure) else asked[name]
        for name, measure in wanted.items()
    }


def conventions(
    limits: Mapping[str, Sequence[str]],
    names: Sequence[str] = CHOOSABLE,
    usual: Measure = Measure("NDCG"),  # noqa: B008 (frozen)
) -> dict[str, str]:
    """Draw the switches of conventions; what was chosen, by field of `Measure`.

    Args:
        limits: the choices of some of them, where not all can be had.
        names: which ones.
        usual: what they say at first.
    """
    declared = {one.name: one for one in parameters(Measure)}
    chosen = {}
    for name in names:
        now = str(getattr(usual, name))
        options = dict.fromkeys([*limits.get(name, declared[name].choices), now])
        label = LABELS.get(name, name.capitalize())
        found = st.segmented_control(
            label, list(options), default=now, required=True, key=name, bind="query-params",
            help=declared[name].help,
        )  # fmt: skip
        chosen[name] = str(found or now)
    return chosen
