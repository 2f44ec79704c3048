"""Progress on stderr: what is being done, how far, how fast, how long still."""

import sys
import time

from core.progress import Progress

EVERY = 0.2


class ProgressLine:
    """A line that is rewritten on a terminal, and printed now and then elsewhere."""

    def __init__(self, title: str) -> None:
        """Start a line under a title; prints nothing until the first report."""
        self.title = title
        self.start = self.shown = time.monotonic()
        self.unit = ""
        self.first = 0
        self.live = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show one report; at most five a second on a terminal, one in five seconds elsewhere."""
        now = time.monotonic()
        if progress.unit != self.unit:
            self.unit, self.first, self.start = progress.unit, progress.done, now
        if now - self.shown < (EVERY if self.live else 25 * EVERY):
            return
        self.shown = now
        self._print(self._text(progress, now - self.start))

    def _text(self, progress: Progress, seconds: float) -> str:
        done = progress.done - self.first
        rate = done / seconds if seconds > 0 else 0.0
        left = (progress.total - progress.done) / rate if rate else 0.0
        values = "  ".join(f"{name} {value:.4g}" for name, value in progress.values.items())
        pace = f"{rate:.1f}/s, {duration(left)} left" if rate else "starting"
        return f"{self.title}: {progress.done}/{progress.total} {progress.unit} ({pace})  {values}"

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


def duration(seconds: int | float) -> str:
    """Seconds for people.

    >>> duration(75)
    '1 min 15 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
