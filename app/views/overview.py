"""The first page: purpose, a small shuffle with the shipped rankers, next steps."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import pictures, proposals, recent_work, state, study_access
from shuffleproof.app.figures import style
from shuffleproof.app.navigation import PAGES
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import cards, parts, sample_result
from shuffleproof.app.study.picture import chart
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.rankers.name import RankerName

QUESTION = "What happens to my ranker when its input changes?"
QUESTIONS = {
    "initial-ranking": "A worse initial ranking?",
    "set-size": "Longer lists?",
    "worst-case": "A few bad swaps?",
    "certified-top-k": "Added documents?",
    "benchmark": "Which ranker is best?",
}
"""Questions in a visitor's words, by the page or tab that answers them."""

RECENT = 6
SHOWN = (
    "initial-ranking", "worst-case", "perturbations", "set-size", "group-shuffles", "benchmark",
)  # fmt: skip
"""Kinds of study whose results on the sample are shown."""

ACROSS = 3


def page() -> None:
    """Draw the page."""
    parts.header("Shuffleproof", QUESTION)
    with st.container(key="links_start", horizontal=True):
        parts.link("your-ranker", "Examine your ranker or runs", "input")
        parts.link("data", "Use your own data", "upload_file", {"view": "Add data"})
        parts.link("tour", "Take the tour: five steps", "explore")
    with st.container(key="links_questions", horizontal=True):
        for path, question in QUESTIONS.items():
            parts.link(path, question)
    st.subheader("Shuffle the documents")
    study = sample_result.shipped_study("invariance")
    if study is not None:
        labels = tuple(
            label
            for label, _ in study.recipe["rankers"]
            if RankerName.of(label).base in proposals.CONTRASTING
        )
        found = study_access.compute(str(study.key), sample_result.headline, labels)
        parts.finding(f"All test queries of the sample, shuffled: {found.text}")
    cards.demonstration()
    _gallery()
    works = recent_work.recent_work(RECENT)
    if works:
        _recent_work(works)


def _gallery() -> None:
    """Draw the results of the sample's studies: a picture, a sentence, a link each."""
    shipped = ((kind, sample_result.shipped_study(kind)) for kind in SHOWN)
    studies = [(kind, artefact) for kind, artefact in shipped if artefact is not None]
    if studies:
        st.subheader("More results on the sample")
    for row in range(0, len(studies), ACROSS):
        places = st.columns(ACROSS)
        for place, (kind, artefact) in zip(places, studies[row : row + ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                key = str(artefact.key)
                picture = study_access.compute(key, sample_result.picture)
                if picture is not None:
                    figure = style.thumbnail(pictures.draw(picture))
                    chart(figure, f"found {kind}", config=sample_result.STILL)
                parts.headline(study_access.compute(key, sample_result.headline))
                address = {state.USE: SAMPLE, "study": key}
                parts.link(kind, PAGES[kind].title, query=address)


def _recent_work(works: Sequence[recent_work.RecentWork]) -> None:
    st.subheader("Recent work")
    for work in works:
        with st.container(gap="xxsmall"):
            what = work.title or PAGES[work.page].title
            title = f"{what} on {work.data}" if work.data else what
            if work.data:
                parts.link(work.page, escaped_sentence(title), query=work.address)
            else:
                st.markdown(f"**{escaped_sentence(title)}**")
            parts.note(" · ".join(filter(None, (work.number, work.age))))
