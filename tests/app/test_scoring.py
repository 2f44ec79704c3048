"""The server's scoring process: its beginning and its end."""

import logging
from threading import Event

import pytest

from shuffleproof.app import scoring
from shuffleproof.core.errors import ScoringError


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
