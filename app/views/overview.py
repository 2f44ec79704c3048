"""The first page: what this is, the shuffle in small on the shipped rankers, what to do next."""

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, opened, recent, scoring, state
from shuffleproof.app.pictures import small
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import cards, parts, sample_result
from shuffleproof.app.study.picture import chart
from shuffleproof.core.answers.one_list import moves, verdicts
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained import contrast, list_recipes
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.words import counted

QUESTION = "Will my ranker survive when its input changes?"
WHAT = (
    "A ranker puts the documents of a query in order, and often looks at all of them at once. "
    "Shuffleproof changes what such a ranker is given (the order in which documents are shown, "
    "the initial ranking, the size of the set, its content) and measures how far the answer "
    "follows, query by query. Every number comes from scoring the changed input for real."
)
RECENT = 6
SHOWN = (
    "initial-ranking", "worst-case", "perturbations", "set-size", "group-shuffles", "benchmark",
)  # fmt: skip
"""The kinds of study whose results on the sample are shown."""

ACROSS = 3


def page(titles: Mapping[str, str]) -> None:
    """Draw the page; titles are of the pages that can be linked to, by path."""
    parts.header("Shuffleproof", QUESTION)
    st.markdown(WHAT)
    st.subheader("Shuffle the documents")
    demonstration()
    _gallery(titles)
    works = recent.recent(RECENT)
    if not works:
        _own_data()
        return
    own, made = st.columns(2, gap="large")
    with own:
        _own_data()
    with made:
        _recent_work(works, titles)


@st.fragment
def demonstration() -> None:
    """Draw the shuffle of one sample query; the rest of the page stays as it is."""
    with parts.errors_shown(again=True):
        _demonstration()


def _demonstration() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="cards_verdict"):
        shown = str(_order())
        st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=_shuffle)
        st.button("Reverse", on_click=lambda: _show(_order().turned()))
        st.button("Reset", on_click=lambda: _show(ShownOrder()), disabled=shown == "initial")
        said = st.container()
    with st.container(key="cards_place"):
        legend = _moving(shown, said)
    st.caption(legend)


def _moving(shown: str, said: DeltaGenerator) -> str:
    """Draw the cards in the order shown, and what they say in its place; how to read them."""
    with st.spinner("Opening the sample's rankers …", show_time=True):
        sample = scoring.described(SAMPLE)
        pair = contrast(scoring.rankers_of(sample))
    if len(pair) < 2:
        parts.not_yet(
            "The sample's rankers are not here yet.",
            "One command trains them, in about a minute:",
            "shuffleproof demo",
        )
        return ""
    recipe = list_recipes(pair)[0]
    one = scoring.List(SAMPLE, sample.test, recipe, sample.queries[sample.telling])
    listed = scoring.documents(one, (shown,))
    start = ShownOrder().arranged(listed)
    order = ShownOrder.parse(shown).arranged(listed)
    answers = scoring.answers(one, tuple(pair), "initial", shown)
    frames = [(answer.ranker, moves(listed, start, order, answer)) for answer in answers]
    with said:
        parts.finding(verdicts(frames) if shown != "initial" else "Shuffle: who follows?")
    words = ShownOrder.parse(shown).words()
    answered = [(answer, frame) for answer, (_, frame) in zip(answers, frames, strict=True)]
    drawn = cards.facts(one.query, (start, order), words, answered)
    cards.draw(drawn, "cards", lambda places: _show(ShownOrder.by_hand(places)), _shuffle)
    return (
        f"Query {one.query} of the sample, {counted(len(listed), 'document')}, shown {words}. "
        "Stars: grades. "
        "▲ ▼: places up or down from the answer to the initial order; a coloured edge: it moved."
    )


def _order() -> ShownOrder:
    """The order in the address: the initial one, a shuffle, or made by hand."""
    try:
        asked = ShownOrder.parse(next(iter(address.says("order")), "initial"))
    except ParameterError:
        asked = ShownOrder()
    order = asked if asked.kind in {"initial", "shuffled", "by-hand"} else ShownOrder()
    address.pin("order", str(order))
    return order


def _shuffle() -> None:
    before = _order()
    seed = before.argument if before.kind == "shuffled" else 0
    _show(ShownOrder("shuffled", seed + 1))


def _show(order: ShownOrder) -> None:
    address.pin("order", str(order))


def _own_data() -> None:
    st.subheader("Bring your own data")
    st.markdown(
        "LETOR text (`2 qid:10 1:0.5 2:0.1 # id`), plain or compressed: one file, or a folder "
        "with train, validation and test."
    )
    parts.link("data", "Upload files on the Data page", "upload_file")
    st.caption("Or on the command line:")
    st.code("shuffleproof ingest my-folder --name mine", language="bash", wrap_lines=True)


def _gallery(titles: Mapping[str, str]) -> None:
    """What six studies of the sample found: a picture, a sentence, a link."""
    shipped = ((kind, sample_result.shipped(kind)) for kind in SHOWN)
    found = [(kind, artefact) for kind, artefact in shipped if artefact is not None]
    if found:
        st.subheader("What else the sample shows")
    for row in range(0, len(found), ACROSS):
        places = st.columns(ACROSS)
        for place, (kind, artefact) in zip(places, found[row : row + ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                key = str(artefact.key)
                picture = opened.computed(key, sample_result.picture)
                if picture is not None:
                    figure, alt = small(picture)
                    chart(figure, alt, f"found {kind}", config=sample_result.STILL)
                parts.headline(opened.computed(key, sample_result.headline))
                address = {state.USE: SAMPLE, "study": key}
                parts.link(kind, titles[kind], query=address)


def _recent_work(works: Sequence[recent.Made], titles: Mapping[str, str]) -> None:
    st.subheader("Recent work")
    for work in works:
        with st.container(gap="xxsmall"):
            what = work.title or titles[work.page]
            title = f"{what} on {work.data}" if work.data else what
            if work.data:
                parts.link(work.page, escaped(title), query=work.address)
            else:
                st.markdown(f"**{escaped(title)}**")
            st.caption(escaped(" · ".join(filter(None, (work.number, work.age)))))
