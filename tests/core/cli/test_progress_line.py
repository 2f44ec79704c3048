"""The line that tells how far work is: nothing is foretold from nothing."""

import io

import pytest

from shuffleproof.core.cli import open as module
from shuffleproof.core.cli.open import ProgressLine
from shuffleproof.core.progress import Progress
from shuffleproof.core.words import duration


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


def test_before_anything_is_done_it_is_starting(monkeypatch, clock):
    shown, _ = line(monkeypatch, live=False)
    for seconds in (0.0, 9.0):
        told = shown._text(Progress(0, 8, "epochs"), seconds)
        assert told == "study: 0/8 epochs (starting)  "
    shown.first = 0.5
    assert "(starting)" in shown._text(Progress(0, 8, "epochs", part=0.5), 9.0)


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


def test_seconds_are_written_for_people():
    times = [0, 59.4, 60, 3599, 3600, 7325]
    words = ["1 s", "59 s", "1 min", "1 h", "1 h", "2 h 2 min"]
    assert [duration(seconds) for seconds in times] == words


def test_work_that_time_alone_ends_shows_no_total_and_no_time_left(monkeypatch, clock):
    shown, _ = line(monkeypatch, live=False)
    told = shown._text(Progress(22, 23, "trials", part=0.75, spent=0.5), 5.0)
    assert told == "study: 22.8 trials, 50 % of the time budget (4.5/s)  "
