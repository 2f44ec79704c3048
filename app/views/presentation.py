"""The presentation: a live shuffle, findings, the user's slides; arrow keys go through them."""

from functools import partial
from typing import cast

import streamlit as st

from shuffleproof.app import (
    address,
    benchmarks,
    exports,
    pictures,
    publish,
    services,
    sidebar,
    slides,
    state,
    study_access,
    tabs,
)
from shuffleproof.app.figures.style import for_projector
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.slides import Slide
from shuffleproof.app.study import cards, parts, sample_result
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark.sections import main_measure
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.sections import Picture

SHUFFLE = "shuffle"
"""Name of the first slide in the address."""


def page() -> None:
    """Draw one slide."""
    findings = _findings(state.data()) or _findings(SAMPLE)
    own = slides.own_slides()
    keys = [SHUFFLE, *findings, *own]
    key = address.settle_choice("study", address.option_texts(*keys), SHUFFLE)
    with st.container(key="presented"):
        if key == SHUFFLE:
            st.title("The same documents, shown in another order")
            cards.demonstration()
        elif key in findings:
            answer = study_access.compute(key, sample_result.headline)
            _draw(_of_study(findings[key]), parts.headline_words(answer))
        else:
            _draw(own[key], f"**{escaped_sentence(own[key].title)}**")
    _controls(keys, key, findings)


def _of_study(artefact: Artefact) -> Slide:
    """Headline, caption and first picture of a study."""
    key = str(artefact.key)
    picture = cast("Picture", study_access.compute(key, sample_result.picture))
    title = study_access.compute(key, sample_result.headline).text
    measures = artefact.recipe.get("measures", ())
    measure = main_measure(measures) if artefact.recipe["kind"] == benchmarks.KIND else ""
    return Slide(title, exports.study_caption(artefact, measure), pictures.draw(picture))


def _draw(slide: Slide, title: str) -> None:
    st.title(title)
    # Phones have no place for the letters of a projector.
    is_wide = sidebar.place() == "hidden"
    figure = cached_figure(for_projector, slide.figure) if is_wide else slide.figure
    chart(figure, "presented picture", config=parts.PLAIN, height="stretch")
    st.caption(escaped_sentence(slide.caption))


def _controls(keys: list[str], key: str, findings: dict[str, Artefact]) -> None:
    """Draw the buttons below the slide."""
    at = keys.index(key)
    with st.container(horizontal=True, vertical_alignment="center", key="presenting"):
        for label, icon, step, shortcut in (
            ("Previous", "arrow_back", -1, "Left"), ("Next", "arrow_forward", 1, "Right"),
        ):  # fmt: skip
            st.button(
                label, icon=f":material/{icon}:", type="tertiary", shortcut=shortcut,
                on_click=partial(_show, keys[(at + step) % len(keys)]),
            )  # fmt: skip
        st.caption(f"{at + 1} of {len(keys)}")
        if key != SHUFFLE and key not in findings:
            st.button(
                "Remove this slide", icon=":material/delete:", type="tertiary",
                on_click=_remove, args=(key,),
            )  # fmt: skip
        menu = st.popover(
            "Download", icon=":material/download:", type="tertiary", key="slides",
            on_change="rerun",
        )  # fmt: skip
        if menu.open:
            with menu:
                parts.downloads([_file(findings)], "slides")
        of = findings.get(key)
        query = {state.USE: str(of.facts.get("data") or SAMPLE), "study": key} if of else {}
        st.button(
            "Leave", icon=":material/close:", type="tertiary", shortcut="Escape",
            on_click=tabs.go, args=(str(of.recipe["kind"]) if of else "", query),
        )  # fmt: skip


def _file(findings: dict[str, Artefact]) -> exports.File:
    """All slides as one HTML file."""

    def make() -> bytes:
        every = [*map(_of_study, findings.values()), *slides.own_slides().values()]
        return slides.as_html(every, publish.shuffle_html(SAMPLE, [])).encode()

    return exports.File("All slides (HTML, works offline)", "slides.html", make)


def _show(key: str) -> None:
    st.session_state["study"] = key


def _remove(key: str) -> None:
    slides.remove(key)
    _show(SHUFFLE)


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
