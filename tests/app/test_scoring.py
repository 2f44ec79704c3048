"""The server's scoring process: its beginning, its end, and pages that get no answer."""

import logging
from threading import Event

import pytest

from shuffleproof.app import scoring, services
from shuffleproof.core.errors import ScoringError
from shuffleproof.core.store.artefacts import Store
from tests import app_pages


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_process_that_does_not_warm_up_is_told_unless_the_server_ends(
    at_the_end, monkeypatch, caplog
):
    class Killed:
        def start(self):
            raise ScoringError("it was killed", "It was replaced; try again.")

    ending = Event()
    monkeypatch.setattr(scoring, "resident", Killed)
    monkeypatch.setattr(scoring, "_ENDING", ending)
    if at_the_end:
        ending.set()
    with caplog.at_level(logging.WARNING):
        scoring._warm()
    assert ("did not warm up" in caplog.text) is not at_the_end


@pytest.mark.parametrize("path", ["", "invariance", "attention"])
def test_without_an_answer_a_page_says_so_and_lives(path, trained_sample, monkeypatch):
    class Dead:
        def ask(self, *_):
            raise ScoringError("it <b>died</b>", "Try again.", "details")

    monkeypatch.setattr(services, "store", lambda: Store(trained_sample[0].root))
    monkeypatch.setattr(scoring, "resident", Dead)
    scoring._described.clear()
    scoring._scored.clear()
    page = app_pages.opened(path, {"query": "502", "order": "shuffled:990"}, data="sample")
    said = " ".join(one.value for one in page.error)
    assert "died" in said
    assert "<b>" not in said
    assert page.title
