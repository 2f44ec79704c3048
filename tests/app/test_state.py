"""When pages run by themselves."""

from types import SimpleNamespace

import pytest

from shuffleproof.app import state


class RanAgainError(Exception):
    """The page would run again."""


@pytest.fixture
def session(monkeypatch):
    """The session's values, on a page of which a part is drawn."""

    def rerun():
        raise RanAgainError

    values = {}
    part = SimpleNamespace(fragment_ids_this_run=["part"])
    monkeypatch.setattr(state, "get_script_run_ctx", lambda: part)
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state=values, rerun=rerun))
    return values


def test_a_page_does_not_run_by_itself_while_a_dialog_is_open(session):
    with pytest.raises(RanAgainError):
        state.draw_again()
    state.dialog_opened()
    state.draw_again()
    state.page_begun()
    with pytest.raises(RanAgainError):
        state.draw_again()
