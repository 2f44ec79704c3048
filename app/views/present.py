"""Findings on a projector: one sentence, one picture; arrow keys go on, Escape leaves."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from shuffleproof.app import address, benchmarks, opened, pictures, services, sidebar, state
from shuffleproof.app.figures.projected import projected
from shuffleproof.app.study import parts, sample_result
from shuffleproof.app.study.picture import chart, drawn
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import STUDIES


def page(titles: Mapping[str, str]) -> None:
    """Draw one finding; titles are of the pages of studies, by path."""
    found = _findings(state.data()) or _findings(SAMPLE)
    if not found:
        parts.header("Presentation", "What has been found here?")
        parts.not_yet("No study with a picture is stored yet.", "Run one on a page of a study.")
        return
    keys = list(found)
    key = address.one("study", address.named(*keys), keys[0])
    at, kind = keys.index(key), str(found[key].recipe["kind"])
    with st.container(key="presented"):
        told = opened.computed(key, sample_result.headline)
        st.title(parts.headline_words(told))
        shown = opened.computed(key, sample_result.picture)
        if shown is not None:
            figure, alt = pictures.drawn(shown)
            large = figure if sidebar.place() == "sidebar" else drawn(projected, figure)
            chart(
                large, alt, "presented picture", config=parts.PLAIN
            )  # a telephone is no projector
    with st.container(horizontal=True, vertical_alignment="center", key="presenting"):
        for label, icon, step, shortcut in (
            ("Previous", "arrow_back", -1, "Left"), ("Next", "arrow_forward", 1, "Right"),
        ):  # fmt: skip
            st.button(
                label, icon=f":material/{icon}:", type="tertiary", shortcut=shortcut,
                on_click=partial(_show, keys[(at + step) % len(keys)]),
            )  # fmt: skip
        st.caption(f"{titles[kind]} · {at + 1} of {len(keys)}")
        if st.button("Leave", icon=":material/close:", type="tertiary", shortcut="Escape"):
            query = {state.USE: str(found[key].facts.get("data") or SAMPLE), "study": key}
            st.switch_page(parts.page_at(kind), query_params=query)


def _show(key: str) -> None:
    st.session_state["study"] = key


def _findings(data: str) -> dict[str, Artefact]:
    """A study of every kind that has a picture: the one of the address, else what came first."""
    asked, found = address.says("study"), {}
    for kind in STUDIES:
        stored = benchmarks.stored(data).values() if kind == benchmarks.KIND else ()
        came = sorted(stored or services.studies(kind, data), key=services.arrived)
        first = next((one for one in came if str(one.key) in asked), next(iter(came), None))
        if first and opened.computed(str(first.key), sample_result.picture) is not None:
            found[str(first.key)] = first
    return found
