"""Page configuration and navigation, nothing else."""

import streamlit as st

from app import state
from app.views import data, initial_ranking, invariance, overview

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
state.choose_data()
st.navigation(
    {
        "Start": [
            st.Page(overview.page, title="Overview", url_path="overview", default=True),
            st.Page(data.page, title="Data", url_path="data"),
        ],
        "Studies": [
            st.Page(invariance.page, title="Invariance", url_path="invariance"),
            st.Page(initial_ranking.page, title="Initial ranking", url_path="initial-ranking"),
        ],
    }
).run()
