"""A bar of tqdm for each piece of work under way: in a terminal, a log and a notebook."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from shuffleproof.core.progress import Progress

LIVE, LOGGED = 0.2, 5.0
"""Seconds between two lines on a terminal, and in a file."""

_SHOWN: ContextVar[bool] = ContextVar("shown", default=True)


class ProgressBar:
    """The progress of one piece of work, a bar for each of its stages in turn."""

    def __init__(self, title: str, *, shown: bool | None = None) -> None:
        """Start under a title; nothing is drawn before the first report.

        Args:
            title: before the bar.
            shown: draw it; by default as `bars` says.
        """
        self.title, self.shown = title, _SHOWN.get() if shown is None else shown
        self.unit, self.bar = "", None

    def __call__(self, progress: Progress) -> None:
        """Draw one report, if the last one was drawn long enough ago."""
        if not self.shown:
            return
        bar = self._bar(progress)
        timed = progress.spent is not None
        bar.total = None if timed else progress.total
        values = {name: f"{value:.4g}" for name, value in progress.values.items()}
        if timed:
            bar.set_postfix_str(progress.spent_in_words(), refresh=False)
        elif values:
            bar.set_postfix(values, refresh=False)
        bar.update(round(progress.done + progress.part, 1) - bar.n)

    def _bar(self, progress: Progress) -> Any:
        if self.bar is None or progress.unit != self.unit:
            self.close()
            notebook = "IPython" in sys.modules
            tqdm = import_module("tqdm.auto" if notebook else "tqdm").tqdm
            seconds = LIVE if notebook or sys.stderr.isatty() else LOGGED
            self.unit = progress.unit
            self.bar = tqdm(
                total=progress.total, desc=f"{self.title}: {self.unit}", leave=False, miniters=0,
                mininterval=seconds, delay=seconds,
            )  # fmt: skip
        return self.bar

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        self.bar = None


@contextmanager
def bars(*, progress: bool) -> Iterator[None]:
    """Within this block commands draw bars, or none."""
    token = _SHOWN.set(progress)
    try:
        yield
    finally:
        _SHOWN.reset(token)
