"""A page of the dashboard opened as a visitor does, and what it says."""

from streamlit.testing.v1 import AppTest

from tests import app_tables as tables
from tests.app_jobs import plain


def drawn(path):
    from shuffleproof.app.navigation import PAGES

    PAGES[path].draw()


def opened(path, query=None, **session):
    """A page at this address, with these choices in its session."""
    page = AppTest.from_function(drawn, default_timeout=60, kwargs={"path": path})
    for name, value in (query or {}).items():
        page.query_params[name] = value
    for name, value in ({"data": tables.DATA} | session).items():
        page.session_state[name] = value
    page.run()
    assert not page.exception, page.exception
    return page


def markdown(page):
    kinds = ("markdown", "caption", "info", "warning", "error", "subheader", "success")
    return " ".join(element.value for kind in kinds for element in getattr(page, kind))


def words(page):
    """The same as people read it."""
    return plain(markdown(page))
