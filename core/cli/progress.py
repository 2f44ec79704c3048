"""Progress on stderr: what is being done, how far, how fast, how long still."""

import sys
import time

from shuffleproof.core.progress import Progress

EVERY = 0.2
FEW, EARLY = 3, 0.05
"""Units and the share of all before which no end is foretold: the first warm up and train."""


class ProgressLine:
    """A line that is rewritten on a terminal, and printed now and then elsewhere."""

    def __init__(self, title: str) -> None:
        """Start a line under a title; prints nothing until the first report."""
        self.title = title
        self.start = self.shown = time.monotonic()
        self.unit = ""
        self.first = 0.0
        self.live = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show one report; at most five a second on a terminal, one in five seconds elsewhere."""
        now = time.monotonic()
        if progress.unit != self.unit:
            self.unit, self.start = progress.unit, now
            self.first = progress.done + progress.part
        if now - self.shown < (EVERY if self.live else 25 * EVERY):
            return
        self.shown = now
        self._print(self._text(progress, now - self.start))

    def _text(self, progress: Progress, seconds: float) -> str:
        done = progress.done + progress.part
        rate = (done - self.first) / seconds if seconds > 0 else 0.0
        known = progress.part > 0 or done - self.first >= max(FEW, EARLY * progress.total)
        left = f", {duration((progress.total - done) / rate)} left" if rate > 0 and known else ""
        values = "  ".join(f"{name} {value:.4g}" for name, value in progress.values.items())
        pace = f"{_rate(rate)}{left}" if rate > 0 else "starting"
        far = f"{done:.1f}" if progress.part else f"{progress.done}"
        return f"{self.title}: {far}/{progress.total} {progress.unit} ({pace})  {values}"

    def _print(self, text: str) -> None:
        if self.live:
            sys.stderr.write("\r\x1b[2K" + text[:150])
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.live and self.unit:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def _rate(rate: float) -> str:
    """Units a second, or seconds a unit where one takes longer than ten.

    >>> _rate(12.34), _rate(0.02)
    ('12.3/s', '50 s each')
    """
    return f"{rate:.1f}/s" if rate >= 0.1 else f"{duration(1 / rate)} each"


def duration(seconds: int | float) -> str:
    """Seconds for people.

    >>> duration(75)
    '1 min 15 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
