"""The button "Docs" shows the documentation of the page, and from there any other page."""

import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import navigation
from tests import docs

NAMES = [page.stem for page in docs.PAGES]


def drawn(topic):
    from shuffleproof.app import documentation

    documentation.show(topic)


def with_button():
    from shuffleproof.app import sidebar

    sidebar.buttons("papers")


@pytest.mark.parametrize("page", docs.PAGES, ids=NAMES)
def test_a_page_of_the_documentation_is_shown_without_dead_links(page):
    text = AppTest.from_function(drawn, kwargs={"topic": page.stem}).run().markdown[0].value
    assert text.startswith(page.read_text(encoding="utf-8").partition("\n")[0])
    assert ".md)" not in text
    assert "<!--" not in text


def test_the_button_opens_the_documentation_of_the_page():
    page = AppTest.from_function(with_button).run()
    assert not page.selectbox
    page.button[1].click().run()
    assert page.selectbox[0].value == "papers"
    assert page.selectbox[0].options == NAMES
    assert {page.docs for page in navigation.PAGES.values()} < set(NAMES)
