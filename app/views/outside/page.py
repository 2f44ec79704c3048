"""The page of rankers that were made elsewhere: runs, scores, models, functions."""

import streamlit as st

from shuffleproof.app import state
from shuffleproof.app.study import parts
from shuffleproof.app.views.outside import ranker as outside_ranker
from shuffleproof.app.views.outside import runs as outside_runs

QUESTION = "You have a ranker of your own: how good is it, and does it survive?"
RUNS, FILE, FUNCTION = "TREC runs", "Scores or a model", "A Python function"
EXAMPLE = '''# mine.py
def score(features, ranks):
    """One list: float32 [documents, features], int32 [documents, rankings] -> [documents]."""
    return features[:, 2] - 0.1 * ranks[:, 0]


def score_many(features, mask, ranks):
    """Several lists at once: a leading axis more, mask True = a document."""
    return features[:, :, 2] - 0.1 * ranks[:, :, 0]
'''


def page() -> None:
    """Draw the choice of what there is, then what is to be done with it."""
    parts.header("From outside", QUESTION)
    ways = {RUNS: outside_runs.section, FILE: outside_ranker.section, FUNCTION: _function}
    way = st.segmented_control(
        "What you have", list(ways), default=RUNS, required=True, key="have", bind="query-params"
    )
    ways[way or RUNS]()


def _function() -> None:
    data = state.data()
    st.markdown(
        "A function is code, and this page runs none that comes over the web. Name it on the "
        "command line, in the folder that holds its file; results appear on the pages as they are "
        "found."
    )
    st.code(EXAMPLE, language="python")
    flag = "" if data == "sample" else f" --data '{data}'"
    st.code(
        f"shuffleproof certify mine:score{flag}\n"
        f"shuffleproof study initial-ranking --rankers mine:score,lambdamart{flag}\n"
        f"shuffleproof study card --rankers mine:score{flag}",
        language="bash", wrap_lines=True,
    )  # fmt: skip
    st.caption(
        "Nothing is known of what a function reads, so everything is scored for real: edit its "
        "file and its trials run anew."
    )
