"""Fields that the forms of several studies have: rankers, preset, measures, initial ranker."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import proposals, training
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe

FIRST_MEASURE = "NDCG@10"


def rankers(data: str, before: Sequence[str], without: Collection[str], help_: str) -> list[str]:
    """Draw the choice of rankers: those of before, those brought to the data set, all there are.

    Args:
        data: the data set.
        before: chosen at first.
        without: those of the registry that are not offered.
        help_: what may be written into the field.
    """
    plain = [name for name in registry.RANKERS if name not in without]
    found: list[str] = st.multiselect(
        "Rankers", list(dict.fromkeys([*before, *proposals.brought(data), *plain])),
        default=list(before), wrap=True, accept_new_options=True, key="new.rankers", help=help_,
    )  # fmt: skip
    return found


def preset(names: Iterable[str], usual: str, place: Any = st) -> str:
    """Draw the choice of a preset.

    Args:
        names: rankers that must have it.
        usual: chosen at first.
        place: where it is drawn.
    """
    presets = training.presets(list(names)) or list(training.PRESETS)
    return str(
        place.selectbox(
            "Preset", presets, index=presets.index(usual) if usual in presets else 0,
            key="new.preset",
            help="  \n".join(f"{name}: {words}" for name, words in training.PRESETS.items()),
        )
    )  # fmt: skip


def measures(first: str = FIRST_MEASURE, place: Any = st) -> str:
    """Draw the field of measures, which are parted by semicolons."""
    return str(
        place.text_input(
            "Measures", value=first, key="new.measures",
            help="Separated by ; — NDCG at 1, 3, 5 and 10 is kept under all conventions anyway.",
        )
    )  # fmt: skip


def known_initial(data: str) -> list[str]:
    """What may be an initial ranker of a data set."""
    try:
        return training.initial_rankers(training.fitting(data))
    except ShuffleproofError:  # it is gone, its studies are not; or it is several folds together
        return []


def initial(data: str, usual: ListRecipe) -> list[str]:
    """Draw the choice of the initial ranker of the candidate lists."""
    found: list[str] = st.multiselect(
        "Initial ranker", list(dict.fromkeys([*usual.initial, *known_initial(data)])),
        default=list(usual.initial), accept_new_options=True, key="new.initial",
        help="The first one cuts and orders the lists; feature:<id> takes any feature.",
    )  # fmt: skip
    return found
