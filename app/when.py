"""Ages in words."""

import time


def age_in_words(since: float | None) -> str:
    """Approximate age in words of a POSIX time; None: now.

    >>> [age_in_words(time.time() - seconds) for seconds in (45, 60 * 90, 86400 * 3)]
    ['just now', '1 hour ago', '3 days ago']
    """
    seconds = 0.0 if since is None else time.time() - since
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
