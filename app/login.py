"""The door: where a login is configured, nothing is shown before it.

Streamlit does the OpenID Connect exchange; it is configured by `[auth]` in its secrets file.
"""

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError


def required() -> None:
    """Show only a way to log in to whoever must and has not; call it before anything is drawn."""
    if not _configured():
        return
    if st.user.is_logged_in:
        st.sidebar.button("Log out", on_click=st.logout, icon=":material/logout:")
        return
    st.title("Shuffleproof")
    st.markdown("This dashboard asks you to log in.")
    st.button("Log in", on_click=st.login, type="primary", icon=":material/login:")
    st.stop()


def _configured() -> bool:
    """Whether logins are; a secrets file that cannot be read fails closed, one absent is no."""
    try:
        return "auth" in st.secrets
    except StreamlitSecretNotFoundError as missing:
        if missing.error_id == "no-secrets-found":
            return False
        raise
