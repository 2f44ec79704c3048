"""Conventions of a published number, below a comparison of runs."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.study import parts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.published import answer_of_stored, cells_of, table_of


@st.fragment
def section(key: str, runs: Sequence[str], measure: Measure) -> None:
    """Draw the fields of a run, a measure and a number, then the conventions that give it."""
    left, middle, right = st.columns(3)
    run = left.selectbox("Run", runs, key="published run")
    named = middle.text_input(
        "Measure", measure.without_conventions, key="published measure", max_chars=60,
        placeholder="all", help="Empty: every measure at usual cut-offs.",
    )  # fmt: skip
    text = right.text_input(
        "Published value", key="published value", max_chars=20, placeholder=".2294",
        help="With all printed digits.",
    )  # fmt: skip
    if not text.strip():
        return
    place = study_access.path(key)
    try:
        cells = cells_of(text.strip(), named.strip())
        answer = study_access.compute(key, answer_of_stored, place, run, cells)
    except ShuffleproofError as error:
        st.warning(refusal(error))
        return
    icon = ":material/check_circle:" if answer["matches"] else ":material/info:"
    (st.success if answer["matches"] else st.info)(escaped(answer["finding"]), icon=icon)
    for sentence in answer["notes"]:
        parts.note(sentence)
    data_frame(table_of(cells, answer["rows"]), "published conventions")
