"""The line that tells how far work is: nothing is foretold from nothing."""

import io

import pytest

from shuffleproof.core.cli import open as module
from shuffleproof.core.cli.open import ProgressLine
from shuffleproof.core.progress import Progress


class Terminal(io.StringIO):
    def __init__(self, *, live):
        super().__init__()
        self.live = live

    def isatty(self):
        return self.live


@pytest.fixture
def clock(monkeypatch):
    times = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: times[0])
    return times


def line(monkeypatch, *, live):
    out = Terminal(live=live)
    monkeypatch.setattr("sys.stderr", out)
    return ProgressLine("study"), out


@pytest.mark.parametrize(("live", "pause"), [(True, 0.2), (False, 5.0)])
def test_it_is_shown_now_and_then_and_ends_where_it_was_live(monkeypatch, clock, live, pause):
    shown, out = line(monkeypatch, live=live)
    shown.close()
    assert out.getvalue() == ""
    for at in (0.9 * pause, pause, 1.5 * pause, 2.1 * pause):
        clock[0] = at
        shown(Progress(3, 8, "epochs"))
    assert out.getvalue().count("study: 3/8 epochs") == 2
    told = out.getvalue()
    shown.close()
    assert out.getvalue() == told + ("\r\x1b[2K" if live else "")
