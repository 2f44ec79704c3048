"""The first page: what this is, the shuffle in small on the shipped rankers, what to do next."""

from collections.abc import Mapping

import streamlit as st

from shuffleproof.app import address, recent, scoring
from shuffleproof.app.figures import bump
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.core.answers.one_list import moves, verdicts
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained import contrast, list_recipes
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ParameterError

QUESTION = "Will my ranker survive when its input changes?"
WHAT = (
    "A ranker puts the documents of a query in order, and often looks at all of them at once. "
    "Shuffleproof changes what such a ranker is given (the order in which documents are shown, "
    "the initial ranking, the size of the set, its content) and measures how far the answer "
    "follows, query by query. Every number comes from scoring the changed input for real."
)
RECENT = 6


def page(titles: Mapping[str, str]) -> None:
    """Draw the page; titles are of the pages that can be linked to, by path."""
    parts.header("Shuffleproof", QUESTION)
    st.markdown(WHAT)
    st.subheader("Shuffle the documents")
    demonstration()
    st.divider()
    own, recent = st.columns(2, gap="large")
    with own:
        _own_data()
    with recent:
        _recent_work(titles)


@st.fragment
def demonstration() -> None:
    """Draw the shuffle of one sample query; the rest of the page stays as it is."""
    with parts.errors_shown(again=True):
        _demonstration()


def _demonstration() -> None:
    with st.spinner("Opening the sample's rankers …", show_time=True):
        sample = scoring.described(SAMPLE)
        pair = contrast(scoring.rankers_of(sample))
    if len(pair) < 2:
        parts.not_yet(
            "The sample's rankers are not here yet.",
            "One command trains them, in about a minute:",
            "shuffleproof demo",
        )
        return
    shown = str(_order())
    recipe = list_recipes(pair)[0]
    one = scoring.List(SAMPLE, sample.test, recipe, sample.queries[sample.telling])
    listed = scoring.documents(one, (shown,))
    start = ShownOrder().arranged(listed)
    order = ShownOrder.parse(shown).arranged(listed)
    answers = scoring.answers(one, tuple(pair), "initial", shown)
    frames = [(answer.ranker, moves(listed, start, order, answer)) for answer in answers]
    st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=_shuffle)
    for column, (label, frame) in zip(st.columns(2), frames, strict=True):
        with column:
            st.markdown(f"**{label}**")
            st.plotly_chart(
                bump.bump(frame, label, height=360),
                key=f"bump {label}",
                config=parts.PLAIN,
                alt=bump.alt_text(frame, label),
            )
    if shown != "initial":
        parts.finding(verdicts(frames))
    st.caption(
        f"Query {one.query} of the sample, {len(listed)} documents, shown "
        f"{ShownOrder.parse(shown).words()}. Each line runs from where a document is shown to "
        "where the ranker puts it, and on to where it put it in the initial order: level on the "
        "right means not moved. Full marks are relevant documents."
    )


def _order() -> ShownOrder:
    """The order in the address: the initial one, or a shuffle."""
    try:
        asked = ShownOrder.parse(next(iter(address.says("order")), "initial"))
    except ParameterError:
        asked = ShownOrder()
    order = asked if asked.kind == "shuffled" else ShownOrder()
    address.pin("order", str(order))
    return order


def _shuffle() -> None:
    before = _order()
    seed = before.argument if before.kind == "shuffled" else 0
    address.pin("order", str(ShownOrder("shuffled", seed + 1)))


def _own_data() -> None:
    st.subheader("Bring your own data")
    st.markdown(
        "LETOR text (`2 qid:10 1:0.5 2:0.1 # id`), plain or compressed: one file, or a folder "
        "with train, validation and test."
    )
    parts.link("data", "Upload files on the Data page", "upload_file")
    st.caption("Or on the command line:")
    st.code("shuffleproof ingest my-folder --name mine", language="bash", wrap_lines=True)


def _recent_work(titles: Mapping[str, str]) -> None:
    st.subheader("Recent work")
    works = recent.recent(RECENT)
    if not works:
        st.markdown("Nothing yet: studies and trained rankers will be listed here.")
    for work in works:
        with st.container(gap="xxsmall"):
            what = work.title or titles[work.page]
            title = f"{what} on {work.data}" if work.data else what
            if work.data:
                parts.link(work.page, escaped(title), query=work.address)
            else:
                st.markdown(f"**{escaped(title)}**")
            st.caption(escaped(" · ".join(filter(None, (work.number, work.age)))))
