"""The presentation: the shuffle first, findings with captions, the user's slides, the HTML file."""

import json
import re

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import services, slides
from shuffleproof.app.slides import Slide
from shuffleproof.core.store.artefacts import Store, default_store
from tests.golden import script

MINE = Slide("Mine is <best>", "ours · n = 3 queries", go.Figure(go.Scatter(x=[1, 2], y=[3, 4])))


@pytest.fixture
def store(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", default_store().bundled)
    monkeypatch.setattr(services, "store", lambda: store)
    return store


def opened(**query):
    page = AppTest.from_function(script, default_timeout=240, kwargs={"path": "present"})
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def press(page, label):
    return next(one for one in page.button if one.label == label).click().run()


def test_the_shuffle_is_first_and_every_finding_has_a_caption(store):
    page = opened()
    assert "Shuffle" in [one.label for one in page.button]
    count = int(re.search(r"1 of (\d+)", " ".join(one.value for one in page.caption))[1])
    assert count > 8
    for _ in range(count - 1):
        page = press(page, "Next")
        caption = page.caption[0].value.replace("\\", "")
        assert " · study-" in caption
        assert caption.count(" · ") >= 2
        assert len(page.get("plotly_chart")) == 1
    assert "Shuffle" in [one.label for one in press(page, "Next").button]


def test_an_added_slide_is_shown_last_and_can_be_removed(store):
    key = str(slides.add(MINE).key)
    assert str(slides.add(MINE).key) == key
    assert [*slides.own_slides()] == [key]
    page = press(opened(), "Previous")
    assert "Mine is" in page.title[0].value
    assert page.query_params["study"] in (key, [key])
    page = press(page, "Remove this slide")
    assert not slides.own_slides()
    assert not [*store.artefacts(slides.KIND)]


def test_the_file_holds_every_slide_and_needs_no_network():
    text = slides.as_html([MINE, MINE], "<p>shuffle</p>")
    assert text.count("class='slide'") == 3
    assert "Mine is &lt;best&gt;" in text
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text)


def test_a_slide_keeps_its_figure(store):
    key = str(slides.add(MINE).key)
    kept = slides.own_slides()[key]
    assert (kept.title, kept.caption) == (MINE.title, MINE.caption)
    assert json.loads(kept.figure.to_json())["data"] == json.loads(MINE.figure.to_json())["data"]
