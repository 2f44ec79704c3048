"""Slides of a presentation: figures that the user added, kept in the store, and the HTML export."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import publish, report, services
from shuffleproof.app.figures.style import for_projector, on_paper
from shuffleproof.app.figures.text import alt_text
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact

KIND, FILE = "slide", "figure.json"


@dataclass(frozen=True, eq=False)
class Slide:
    """One slide.

    Attributes:
        title: sentence above the figure.
        caption: line below it: data set, queries, seeds, measure.
        figure: the figure.
    """

    title: str
    caption: str
    figure: go.Figure


def add(slide: Slide) -> Artefact:
    """Store a slide; an equal one is stored once.

    Raises:
        ArtefactError: the disk is full or may not be written to.
    """
    recipe = {"title": slide.title, "caption": slide.caption, "figure": slide.figure.to_json()}
    key = key_of(KIND, recipe)
    shown = {"title": slide.title, "caption": slide.caption}

    def write(folder: Path) -> None:
        (folder / FILE).write_text(recipe["figure"], encoding="utf-8")

    return services.store().add(key, shown, write)


def own_slides() -> dict[str, Slide]:
    """Slides that the user added, by key, in the order in which they were added."""
    stored = sorted(services.artefacts(KIND), key=services.arrival_order)
    return {str(artefact.key): _opened(str(artefact.key)) for artefact in stored}


@st.cache_resource(max_entries=64, show_spinner=False)
def _opened(key: str) -> Slide:
    artefact = services.store().resolve(key, KIND)
    figure = json.loads((artefact.path / FILE).read_text(encoding="utf-8"))
    return Slide(artefact.recipe["title"], artefact.recipe["caption"], go.Figure(figure))


def remove(key: str) -> None:
    """Remove a slide that the user added."""
    store = services.store()
    store.remove(store.meant(key, KIND))


def draw_button(slide: Callable[[], Slide], key: str) -> None:
    """Draw the button that adds a figure to the presentation."""
    if st.button("Add to presentation", icon=":material/slideshow:", key=f"{key}.slide"):
        add(slide())
        st.toast("The figure is a slide of the page Present.", icon=":material/slideshow:")


def as_html(slides: Sequence[Slide], shuffle: str) -> str:
    """All slides as one HTML file that needs no network; arrow keys go through them.

    Args:
        slides: slides in their order.
        shuffle: the first slide, as `publish.shuffle_html` makes it; empty: none.
    """
    pages = [shuffle] if shuffle else []
    for slide in slides:
        figure = for_projector(on_paper(slide.figure))
        picture = figure.to_html(full_html=False, include_plotlyjs=False)
        pages.append(
            f"<h2>{html.escape(slide.title)}</h2><figure role='img' "
            f"aria-label='{html.escape(alt_text(figure))}'>{picture}</figure>"
            f"<p class='said'>{html.escape(slide.caption)}</p>"
        )
    body = "".join(f"<section class='slide'>{page}</section>" for page in pages)
    script = f"{{ {publish.asset('slides.js')} }}"  # a block: the shuffle has a script too
    content = f"{body}<script>{script}</script>"
    return report.page("Shuffleproof", content, publish.packed_plotly())
