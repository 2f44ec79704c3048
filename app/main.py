"""Page configuration and navigation, nothing else."""

import streamlit as st

from app.views import initial_ranking

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
st.navigation(
    {
        "Studies": [
            st.Page(initial_ranking.page, title="Initial ranking", url_path="initial-ranking")
        ]
    }
).run()
