"""The tour: five steps on the sample, each with one sentence and one picture."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from shuffleproof.app import address, pictures, state, study_access
from shuffleproof.app.study import cards, parts, sample_result
from shuffleproof.app.study.picture import chart
from shuffleproof.core.data.catalogue import SAMPLE


@dataclass(frozen=True)
class Step:
    """One step of the tour.

    Attributes:
        title: heading.
        text: explanation, one or two sentences.
        draw: function that draws the picture.
    """

    title: str
    text: str
    draw: Callable[[], None]


def _reasons() -> None:
    left, right = st.columns(2, gap="large")
    left.markdown(
        "**DLCM reads the list from one document to the next.** The documents before it "
        "change its score. Another input order gives another ranking."
    )
    right.markdown(
        "**SetRank lets every document attend to the whole set.** Attention is a sum over the "
        "set, and a sum does not depend on the order of its terms. So the ranking stays the same."
    )
    parts.link(
        "invariance", "See it for every query on the page Invariance", query={state.USE: SAMPLE}
    )


def _study(kind: str, label: str) -> None:
    """Draw the sample's study of a kind, and a link to its page."""
    artefact = sample_result.shipped_study(kind)
    if artefact is None:
        parts.not_yet(
            "The sample's studies are not here.", "One command makes them:", "make sample"
        )
        return
    key = str(artefact.key)
    parts.headline(study_access.compute(key, sample_result.headline))
    shown = study_access.compute(key, sample_result.picture)
    if shown is not None:
        chart(pictures.draw(shown), f"tour {kind}", config=parts.PLAIN)
    parts.link(kind, label, query={state.USE: SAMPLE, "study": key})


def _own_data() -> None:
    st.code(
        "shuffleproof ingest my-folder --name mine\n"
        "shuffleproof train dlcm --data mine\n"
        "shuffleproof certify dlcm --data mine",
        language="bash",
    )
    parts.link("data", "Upload LETOR files", "upload_file", {"view": "Add data"})
    parts.link("outside", "Add a ranker, a model or TREC runs", "input")


STEPS = (
    Step(
        "Shuffle the documents",
        "Press Shuffle. Both rankers get the same documents in another order. Whose ranking "
        "changes?",
        cards.demonstration,
    ),
    Step(
        "Why one ranking changes",
        "The difference is in how the two networks read a list.",
        _reasons,
    ),
    Step(
        "Degrade the initial ranking",
        "Now the initial ranking gets worse, a few swaps at a time. Which ranker loses?",
        partial(_study, "initial-ranking", "Open this study"),
    ),
    Step(
        "Find the worst case",
        "Random changes are mild. A search finds the few inversions with the largest loss.",
        partial(_study, "worst-case", "Open this study"),
    ),
    Step(
        "Test your own",
        "Repeat this with your own data and ranker: here or on the command line.",
        _own_data,
    ),
)


def page() -> None:
    """Draw the step in the address."""
    numbers = {at: (str(at),) for at in range(1, len(STEPS) + 1)}
    at = address.settle_choice("step", numbers, 1)
    step = STEPS[at - 1]
    parts.header(f"{at}. {step.title}", step.text)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Back", on_click=_go, args=(at - 1,), disabled=at == 1)
        st.button(
            "Next", type="primary", on_click=_go, args=(at + 1,), disabled=at == len(STEPS),
            icon=":material/arrow_forward:",
        )  # fmt: skip
        st.caption(f"Step {at} of {len(STEPS)}, on the sample that comes with the program")
    step.draw()


def _go(to: int) -> None:
    st.session_state["step"] = to
