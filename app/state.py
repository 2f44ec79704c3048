"""What is chosen once for every page: the data set in use. It is kept in the address."""

import streamlit as st

from app import services
from core.data.catalogue import KIND, SAMPLE

WANTED = "data wanted"


def data_sets() -> list[str]:
    """The names of the data sets there are, the shipped sample first."""
    named = [name for name, key in services.store().names().items() if key.kind == KIND]
    return [SAMPLE, *(name for name in named if name != SAMPLE)]


def choose_data() -> None:
    """Draw the choice of the data set at the top of the sidebar."""
    if WANTED in st.session_state:
        st.session_state["data"] = st.session_state.pop(WANTED)
    st.sidebar.selectbox("Data set", data_sets(), key="data", bind="query-params")


def use_data(name: str) -> None:
    """Use another data set from now on: the page runs again."""
    st.session_state[WANTED] = name
    st.rerun()


def data() -> str:
    """The data set in use."""
    return st.session_state.get("data") or SAMPLE
