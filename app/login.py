"""Login: if one is configured, nothing is shown before it.

Streamlit does the OpenID Connect exchange, configured by `[auth]` in its secrets file.
"""

import json
from collections.abc import Mapping

import streamlit as st
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.errors import StreamlitSecretNotFoundError
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME


def require_login() -> None:
    """Show only a log-in page to users who must log in; call it before anything is drawn."""
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
    """True if logins are configured; an unreadable secrets file fails closed."""
    try:
        return "auth" in st.secrets
    except StreamlitSecretNotFoundError as missing:
        if missing.error_id == "no-secrets-found":
            return False
        raise


def has_logged_in(cookies: Mapping[str, str]) -> bool:
    """True if a request comes from a logged-in user, or if no login is required.

    Args:
        cookies: cookies of the request; Streamlit signs the login's.
    """
    if not _configured():
        return True
    secret = get_cookie_secret()

    def signed(name: str) -> bytes | None:
        value = cookies.get(name)
        return decode_signed_value(secret, name, value.encode("latin-1")) if value else None

    cookie = get_cookie_with_chunks(signed, USER_COOKIE_NAME)
    try:
        return bool(cookie and json.loads(cookie).get("is_logged_in"))
    except ValueError:
        return False
