"""Entry point of the dashboard: page configuration and navigation."""

import streamlit as st

from shuffleproof.app import address, login, sidebar, state
from shuffleproof.app.navigation import PAGES, SECTIONS

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
login.require_login()
state.page_begun()
with address.gather():
    path = sidebar.shown_path(SECTIONS)
    sidebar.draw(path)
    sections = sidebar.sections(SECTIONS, path)
    chosen = st.navigation(sections, position=sidebar.place(), expanded=True)
    sidebar.search(PAGES)
    sidebar.navigation(sections, chosen)
    sidebar.buttons(PAGES[path].docs)
    sidebar.watch()
    chosen.run()
