"""Entry point of the dashboard: page configuration and navigation."""

import streamlit as st

from shuffleproof.app import address, login, sidebar, state, tabs

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
login.require_login()
state.page_begun()
tabs.follow()
with address.gather():
    page = sidebar.shown_page()
    part = tabs.open_tab(page)
    sidebar.draw(part.path)
    pages = sidebar.pages(page)
    chosen = st.navigation([*pages.values()], position=sidebar.place(), expanded=True)
    sidebar.search()
    sidebar.links(pages)
    sidebar.buttons(part.docs)
    sidebar.watch()
    chosen.run()
