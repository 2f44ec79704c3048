"""Text of users shown as the text it is: names, ids, comments and quoted lines."""

import re

MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=@/])")


def escaped(text: str) -> str:
    r"""Text that Streamlit's Markdown shows letter by letter: no link, image, colour or formula.

    >>> print(escaped("![x](http://e.org/x.png)"))
    \!\[x\]\(http\:\/\/e\.org\/x\.png\)
    """
    return MARKS.sub(r"\\\1", " ".join(text.split()))
