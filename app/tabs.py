"""Tabs of a page: their choice above the title, and the open tab, the only one that is drawn."""

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shuffleproof.app import address
from shuffleproof.app.navigation import PAGES, Page, address_of
from shuffleproof.app.study import parts

GO, LEFT = "page to open", "addresses of left tabs"


def open_tab(page: Page) -> Page:
    """Tab in the address, else the first one; the page itself if it has no tabs."""
    if not page.tabs:
        address.pin("tab")
        return page
    wanted = address.says("tab")[-1:]
    tab = next((tab for tab in page.tabs if tab.path in wanted), page.tabs[0])
    address.pin("tab", tab.path)
    return tab


def draw(page: Page) -> None:
    """Draw a page: the choice of its tabs, if it has any, then the open one."""
    tab, key = open_tab(page), f"tabs_{page.path}"
    context = get_script_run_ctx()
    if tab is page or context is None:
        tab.draw()
        return
    if st.session_state.get(key) != tab.path:
        st.session_state[key] = tab.path
    st.segmented_control(
        page.title, [one.path for one in page.tabs], key=key, required=True,
        format_func=lambda path: PAGES[path].title, label_visibility="collapsed",
        on_change=_switch, args=(key, tab.path),
    )  # fmt: skip
    # Widgets of different tabs have the same keys, like those of different pages.
    with context.run_with_active_hash(tab.path):
        tab.draw()


def _switch(key: str, left: str) -> None:
    """Store the address of the tab that is left; the chosen tab opens as it was left."""
    addresses = st.session_state.setdefault(LEFT, {})
    data = st.query_params.get("data")
    addresses[left, data] = {
        name: st.query_params.get_all(name)
        for name in st.query_params
        if name not in address.CARRIED
    }
    tab = st.session_state[key]
    go(tab, addresses.get((tab, data)))


def go(path: str, query: Mapping[str, str | list[str]] | None = None) -> None:
    """Open a page or tab in the next run, from a callback."""
    page, tab = address_of(path)
    st.session_state[GO] = page, {**tab, **(query or {})}


def follow() -> None:
    """Open the page that a callback wants."""
    if GO in st.session_state:
        path, query = st.session_state.pop(GO)
        st.switch_page(parts.page_at(path), query_params=query)
