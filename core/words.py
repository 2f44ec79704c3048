"""Numbers and what they count, in words that agree."""


def one_line(text: str) -> str:
    r"""A text without line breaks, for where one would end a comment or a table's row.

    >>> one_line("a\nb \u2028 c")
    'a b c'
    """
    return " ".join(text.split())


def counted(number: int, one: str, several: str = "") -> str:
    """So many of something, thousands with commas.

    Args:
        number: how many.
        one: what one of them is called.
        several: what others are called; by default `one` with an s, or ies for a y.

    >>> counted(1, "query"), counted(2000, "query"), counted(0, "draw"), counted(2, "cry", "cries")
    ('1 query', '2,000 queries', '0 draws', '2 cries')
    """
    ending = f"{one[:-1]}ies" if one.endswith("y") and one[-2:-1] not in "aeiou" else f"{one}s"
    return f"{number:,} {one if number == 1 else several or ending}"
