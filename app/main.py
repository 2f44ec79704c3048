"""Page configuration and navigation, nothing else."""

import streamlit as st

from shuffleproof.app import address, login, sidebar
from shuffleproof.app.navigation import SECTIONS, TITLES

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
login.required()
with address.gathered():
    sidebar.draw()
    sections = sidebar.sections(SECTIONS, sidebar.shown_path(SECTIONS))
    chosen = st.navigation(sections, position=sidebar.place(), expanded=True)
    sidebar.search(TITLES)
    sidebar.navigation(sections, chosen)
    sidebar.present()
    sidebar.watch()
    chosen.run()
