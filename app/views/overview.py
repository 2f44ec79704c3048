"""The first page: purpose, a small shuffle with the shipped rankers, next steps."""

from collections.abc import Mapping, Sequence

import streamlit as st

from shuffleproof.app import pictures, recent_work, state, study_access
from shuffleproof.app.figures import style
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import cards, parts, sample_result
from shuffleproof.app.study.picture import chart
from shuffleproof.core.data.catalogue import SAMPLE

QUESTION = "What happens to my ranker when its input changes?"
WHAT = (
    "Shuffleproof shuffles, truncates and corrupts the lists your ranker sees, and reports how "
    "much NDCG that costs, query by query. Every number comes from re-running the model."
)
RECENT = 6
SHOWN = (
    "initial-ranking", "worst-case", "perturbations", "set-size", "group-shuffles", "benchmark",
)  # fmt: skip
"""Kinds of study whose results on the sample are shown."""

ACROSS = 3


def page(titles: Mapping[str, str]) -> None:
    """Draw the page; `titles` are titles of linkable pages, by path."""
    parts.header("Shuffleproof", QUESTION)
    st.markdown(WHAT)
    with st.container(key="links_tour"):
        parts.link("tour", "Take the tour: five steps on the sample", "explore")
    st.subheader("Shuffle the documents")
    cards.demonstration()
    _gallery(titles)
    works = recent_work.recent_work(RECENT)
    if not works:
        _own_data()
        return
    left, right = st.columns(2, gap="large")
    with left:
        _own_data()
    with right:
        _recent_work(works, titles)


def _own_data() -> None:
    st.subheader("Your ranker")
    st.markdown(
        "A function, a model file, scores, runs, a reranker's address or its recorded answers."
    )
    parts.link("outside", "Examine your ranker", "input")
    st.subheader("Your data")
    st.markdown(
        "LETOR text (`2 qid:10 1:0.5 2:0.1 # docid = a`) or tables: one file, or a folder with "
        "train, validation and test."
    )
    parts.link("data", "Upload files on the Data page", "upload_file", {"view": "Add data"})
    st.caption("Or on the command line:")
    parts.shell("shuffleproof ingest my-folder --name mine")


def _gallery(titles: Mapping[str, str]) -> None:
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
                parts.link(kind, titles[kind], query=address)


def _recent_work(works: Sequence[recent_work.RecentWork], titles: Mapping[str, str]) -> None:
    st.subheader("Recent work")
    for work in works:
        with st.container(gap="xxsmall"):
            what = work.title or titles[work.page]
            title = f"{what} on {work.data}" if work.data else what
            if work.data:
                parts.link(work.page, escaped_sentence(title), query=work.address)
            else:
                st.markdown(f"**{escaped_sentence(title)}**")
            parts.note(" · ".join(filter(None, (work.number, work.age))))
