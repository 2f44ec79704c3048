"""Ages in words."""


def age_in_words(seconds: float) -> str:
    """Approximate age in words.

    >>> age_in_words(45), age_in_words(60 * 90), age_in_words(86400 * 3)
    ('just now', '1 hour ago', '3 days ago')
    """
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
