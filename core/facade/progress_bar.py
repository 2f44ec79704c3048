"""A bar for each piece of work under way: in a terminal and in a notebook."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from shuffleproof.core.cli.open import SHOWN_BY, ProgressLine, ShowsProgress
from shuffleproof.core.progress import Progress


class ProgressBar:
    """The progress of one piece of work, a bar of tqdm for each of its stages in turn."""

    def __init__(self, title: str) -> None:
        """Nothing is shown before the first report."""
        self.title, self.unit = title, ""
        self.bar: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show one report; tqdm draws at most ten a second."""
        if self.bar is None or progress.unit != self.unit:
            self.close()
            self.unit, tqdm = progress.unit, import_module("tqdm.auto").tqdm
            self.bar = tqdm(total=progress.total, desc=f"{self.title}: {self.unit}", leave=False)
        timed = progress.spent is not None
        self.bar.total = None if timed else progress.total
        values = {name: f"{value:.4g}" for name, value in progress.values.items()}
        if timed:
            self.bar.set_postfix_str(progress.spent_in_words(), refresh=False)
        elif values:
            self.bar.set_postfix(values, refresh=False)
        far = progress.done + progress.part if progress.part else progress.done
        self.bar.update(far - self.bar.n)

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        self.bar = None


class Silent:
    """Shows nothing."""

    def __init__(self, title: str) -> None:
        """Begin, with nothing to show."""

    def __call__(self, progress: Progress) -> None:
        """Take a report, and show nothing."""

    def close(self) -> None:
        """End, with nothing to take away."""


def bar(title: str, *, progress: bool) -> ShowsProgress:
    """What shows the progress of one piece of work.

    Args:
        title: of the work.
        progress: whether to show any: by a bar, or where tqdm is not installed by a line on
            standard error, as the commands have it.
    """
    if not progress:
        return Silent(title)
    return ProgressBar(title) if find_spec("tqdm") else ProgressLine(title)


@contextmanager
def bars(*, progress: bool) -> Iterator[None]:
    """Within this block the progress of commands is shown as `bar` shows it."""
    token = SHOWN_BY.set(lambda title: bar(title, progress=progress))
    try:
        yield
    finally:
        SHOWN_BY.reset(token)
