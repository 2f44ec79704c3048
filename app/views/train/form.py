"""The form of the page Train: rankers, preset, initial rankers, and all settings on demand.

The cost is shown above the button. Stored trainings are listed and not repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import streamlit as st

from shuffleproof.app import address, data_sets, forms, jobs, proposals, state, training
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import parts
from shuffleproof.core.experiment.trainings import (
    FitSize,
    PlannedTraining,
    time_of,
    trainings_in_words,
)
from shuffleproof.core.parameters import with_changes
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName, with_display_names
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.words import counted

OPENED = "settings opened"
RUNS, DIGITS = "runs", 16
"""Address key of the trainings whose curves are shown; digits of their ids there."""


@st.fragment
@parts.errors_shown()
def form(data: FitSize) -> None:
    """Draw the form; a control redraws only this fragment."""
    st.subheader("New training")
    data_sets.draw_problems(data.data)
    names, preset, lists = _three(data)
    if not names:
        st.info("Choose at least one ranker.")
        return
    if not lists:
        st.info("Choose at least one initial ranker: it selects and orders the candidates.")
        return
    if not preset:
        st.info("These rankers have no preset in common: train them one after the other.")
        return
    lists, changes = _settings(lists, names, preset)
    planner = training.planner(data)
    plans = [planner.plan_training(lists, name.at(preset), changes[name]) for name in names]
    wanted = [plan for plan in plans if not plan.stored]
    label = f"Train {counted(len(wanted), 'ranker')}" if wanted else "Train"
    st.caption(_first(data, lists, plans))
    button = st.container()
    st.markdown(
        "\n".join(
            f"- **{with_display_names(_called(plan))}**: {_summary(plan.name)}. "
            + (":green[Already trained.]" if plan.stored else f"{time_of([plan.seconds])}.")
            for plan in plans
        )
    )
    if button.button(label, type="primary", disabled=not wanted, key="train now"):
        _handed_in([training.parameters(data, lists, plan) for plan in wanted])


def _handed_in(parameters_of_jobs: Sequence[Mapping[str, Any]]) -> None:
    """Submit trainings and show them: their ids go into the address."""
    ids = []
    for parameters in parameters_of_jobs:
        job = jobs.submit("train", dict(parameters))
        st.toast(escaped_sentence(f"{jobs.name(job)}: {'found' if job.ended else 'queued'}"))
        ids.append(job.id[:DIGITS])
    address.pin(RUNS, *ids)
    st.rerun()  # the whole page: the curves are outside of this fragment


def _first(data: FitSize, lists: ListRecipe, plans: Sequence[PlannedTraining]) -> str:
    """Sentence on the trainings to run, including those of the candidate lists."""
    wanted = {plan.key: plan.seconds for plan in plans if not plan.stored}
    if not wanted:
        return "All of these are already trained."
    of_lists = training.planner(data).of_lists(lists)
    wanted |= {plan.key: plan.seconds for plan in of_lists if not plan.stored}
    return f"{trainings_in_words(wanted.values())}, the candidate lists included."


def _three(data: FitSize) -> tuple[list[RankerName], str | None, ListRecipe | None]:
    """Draw the main controls: rankers, preset, initial rankers."""
    usual, lists = proposals.for_training()
    groups = training.groups()
    offered = training.with_tuned(chain.from_iterable(groups.values()))
    missing = state.missing_option("train", offered)
    chosen = st.multiselect(
        "Rankers",
        **address.multiselect("train", address.option_texts(*offered), proposals.CONTRASTING),
        wrap=True, format_func=with_display_names,
        help="One job per ranker. Type to search. Tuned presets follow their ranker.",
    )  # fmt: skip
    state.instead("ranker", missing, *map(with_display_names, chosen))
    names = [*map(RankerName.parse, chosen)]
    preset = _preset(names, usual)
    known = list(dict.fromkeys([*lists.initial, *training.initial_rankers(data)]))
    initial = st.multiselect(
        "Initial rankers",
        **address.multiselect("initial", address.option_texts(*known), lists.initial),
        format_func=with_display_names,
        help="The first selects and orders the candidates; rankers that end in -init read all "
        "of them.",
    )
    return names, preset, replace(lists, initial=tuple(initial)) if initial else None


def _preset(names: Sequence[RankerName], usual: str) -> str | None:
    """Draw the choice of a preset that all these rankers have; None if there is none.

    Rankers that name their own preset are ignored.
    """
    without = [name.base for name in names if not name.preset]
    if names and not without:
        return usual
    offered = training.presets(without)
    if not offered or not names:
        return None
    return parts.segments(
        "Preset", "preset", {name: name for name in offered},
        usual if usual in offered else offered[0],
        help="; ".join(f"**{name}**: {training.PRESETS[name]}" for name in offered),
    )  # fmt: skip


def _settings(
    lists: ListRecipe, names: list[RankerName], preset: str
) -> tuple[ListRecipe, dict[RankerName, dict[str, str]]]:
    """Draw all other fields, one tab per ranker and one for lists; return changed values.

    The fields are many, so they are drawn only after the first opening.
    """
    changes: dict[RankerName, dict[str, str]] = {name: {} for name in names}
    more = st.expander(
        "All settings", icon=":material/tune:", key="all settings", on_change="rerun"
    )
    if more.open:
        st.session_state[OPENED] = True
    if not st.session_state.get(OPENED):
        return lists, changes
    with more:
        tabs = st.tabs([*map(str, names), "lists"])
        for tab, name in zip(tabs, names, strict=False):
            with tab:
                changes[name] = _fields(name.at(preset))
        with tabs[-1]:
            lists = with_changes(lists, forms.recipe_form(lists, "lists", columns=2))
    return lists, changes


def _fields(name: RankerName) -> dict[str, str]:
    spec, key = registry.spec_of(name), f"{name.base}.{name.preset}"
    if not isinstance(spec, NeuralSpec):
        return forms.recipe_form(spec, key, columns=2)
    fixed = FIXED.get(name.base, {})
    changes: dict[str, str] = {}
    for title, part in (("model", spec.model), ("training", spec.training)):
        free = [field.name for field in fields(part) if field.name not in fixed]
        st.markdown("**Network**" if title == "model" else "**Training**")
        changes |= forms.recipe_form(part, f"{key}.{title}", only=free, columns=2)
    return changes


def _called(plan: PlannedTraining) -> str:
    """Name of the ranker; with its preset, if that is not one of the common presets."""
    return plan.name if plan.preset in training.PRESETS else f"{plan.name}@{plan.preset}"


def _summary(name: str) -> str:
    entry = registry.RANKERS[name]
    source = f" ({entry.source})" if any(map(str.isalnum, entry.source)) else ""
    return escaped_sentence(entry.summary + source)
