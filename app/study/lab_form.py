"""The form of a lab's study: a widget for every field, the work it needs, one button.

Lab data have no candidate lists and no presets, so the form has the question's fields alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from shuffleproof.app import forms, services
from shuffleproof.app.plain import refusal
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.study.needed_work import needed_work
from shuffleproof.core.aggregate.disturbances import DISTURBANCES
from shuffleproof.core.aggregate.registry import AGGREGATORS
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.parameters import Parameter, parameters, text_of, value_of
from shuffleproof.core.retrieval.registry import RETRIEVERS
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.listless.retrievers import label
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.reproduce import command_of

OFFERED: Mapping[str | None, tuple[Mapping[str, Any], Callable[[str], str]]] = {
    "retrievers": (RETRIEVERS, label),
    "aggregators": (AGGREGATORS, lambda name: AGGREGATORS[name].title),
    "disturbances": (DISTURBANCES, lambda name: DISTURBANCES[name].title),
}
"""Options of a field of names, with labels; retrievers can also be typed (fusions, presets)."""

Studies = Mapping[str, type[ListlessQuestion]]


@st.fragment
def draw(studies: Studies, data: str) -> None:
    """Draw the form; `studies` are the kinds that the named data allow."""
    kind = next(iter(studies))
    if len(studies) > 1:
        kind = str(
            st.selectbox(
                "Study",
                list(studies),
                key="new.kind",
                format_func=lambda field: studies[field].title,
            )
        )
    fields = tuple(parameters(studies[kind]))
    main = next(field for field in fields if field.several)
    values = {main.name: _widget(main, kind)}
    others = [field for field in fields if field is not main]
    words = ", ".join(forms.label_of(field).lower() for field in others)
    with st.popover(words[:1].upper() + words[1:], icon=":material/tune:"):
        values |= {field.name: _widget(field, kind) for field in others}
    try:
        question = studies[kind].from_plain(_read(fields, values))
        question.check(Scope(services.store(), data))
        needed = needed_work(question, {"data": data})
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/error:")
        return
    st.markdown(f"{needed}. Stored work is never repeated.")
    if st.button("Run", type="primary", key="new.run"):
        job_panel.hand_in(job_panel.Panel(kind), {"data": data} | asdict(question))
    parts.shell(command_of(question, {"data": data}))


def _widget(declared: Parameter, kind: str) -> Any:
    """Draw a field; several values are chosen from OFFERED names, or typed."""
    key = f"new.{kind}.{declared.name}"
    if not declared.several:
        return forms.widget(declared, declared.default, key)
    title, words = forms.label_of(declared), forms.help_of(declared)
    if declared.names not in OFFERED:
        return st.text_input(title, value=text_of(declared.default), key=key, help=words)
    known, human = OFFERED[declared.names]
    return tuple(
        st.multiselect(
            title, list(dict.fromkeys([*declared.default, *known])), default=declared.default,
            key=key, help=words, wrap=True, format_func=human,
            accept_new_options=declared.names == "retrievers",
        )
    )  # fmt: skip


def _read(fields: tuple[Parameter, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the fields; typed text has command-line syntax."""
    return {
        field.name: value_of(field, value) if field.several and isinstance(value, str) else value
        for field in fields
        for value in [values[field.name]]
    }
