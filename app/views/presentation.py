"""Findings on a projector: one sentence, one picture; arrow keys navigate, Escape leaves."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from shuffleproof.app import address, benchmarks, pictures, services, sidebar, state, study_access
from shuffleproof.app.figures.style import for_projector
from shuffleproof.app.study import parts, sample_result
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import STUDIES


def page(titles: Mapping[str, str]) -> None:
    """Draw one finding; `titles` are titles of the study pages, by path."""
    findings = _findings(state.data()) or _findings(SAMPLE)
    if not findings:
        parts.header("Presentation", "What are the results so far?")
        parts.not_yet("No study with a picture is stored yet.", "Run one on a page of a study.")
        return
    keys = list(findings)
    key = address.settle_choice("study", address.option_texts(*keys), keys[0])
    at, kind = keys.index(key), str(findings[key].recipe["kind"])
    with st.container(key="presented"):
        answer = study_access.compute(key, sample_result.headline)
        st.title(parts.headline_words(answer))
        shown = study_access.compute(key, sample_result.picture)
        if shown is not None:
            figure = pictures.draw(shown)
            large = figure if sidebar.place() == "sidebar" else cached_figure(for_projector, figure)
            chart(large, "presented picture", config=parts.PLAIN)  # no projector layout on a phone
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
            query = {state.USE: str(findings[key].facts.get("data") or SAMPLE), "study": key}
            st.switch_page(parts.page_at(kind), query_params=query)


def _show(key: str) -> None:
    st.session_state["study"] = key


def _findings(data: str) -> dict[str, Artefact]:
    """One study of every kind with a picture: the address's, else the first stored."""
    wanted, findings = address.says("study"), {}
    for kind in STUDIES:
        stored = benchmarks.stored_benchmarks(data).values() if kind == benchmarks.KIND else ()
        studies = sorted(stored or services.studies(kind, data), key=services.arrival_order)
        chosen = next(
            (artefact for artefact in studies if str(artefact.key) in wanted),
            next(iter(studies), None),
        )
        if chosen and study_access.compute(str(chosen.key), sample_result.picture) is not None:
            findings[str(chosen.key)] = chosen
    return findings
