"""Text of users shown as the text it is: names, ids, comments and quoted lines."""

import re

from shuffleproof.core.rankers.name import named

MARKS = re.compile(
    r"[\\`*_{}\[\]<>#|~$!]"  # emphasis, code, links, images, headings, tables, formulas, HTML
    r"|:(?=[^\s/])|&(?=[#\w])"  # directives like :red, entities
    r"|^[-+=]|^\d+[.)]"  # lists and underlined headings
)
SHORT = re.compile(
    r"(:(?=//)|www(?=\.)|@(?=\w)"  # addresses
    r"|:(?=[\w+/-]+\\?:))",  # emoji and icons; the 100 of file.txt:100: is one
    re.IGNORECASE,
)
JOINER = "\u2060"
"""Takes no room and breaks no line, where Streamlit looks past backslashes."""


def escaped(text: str) -> str:
    r"""Text that Streamlit's Markdown shows letter by letter: no link, image, colour or formula.

    >>> print(escaped("![x](y) :red[1] < 2"))
    \!\[x\](y) \:red\[1\] \< 2
    >>> print(escaped("1. a_b"))
    1\. a\_b
    >>> escaped("http://e.org :100:") == f"http:{JOINER}//e.org \\:{JOINER}100:"
    True
    """
    marked = MARKS.sub(lambda mark: f"{mark[0][:-1]}\\{mark[0][-1]}", " ".join(text.split()))
    return SHORT.sub(rf"\1{JOINER}", marked)


def told(sentence: str) -> str:
    r"""A sentence of ours as `escaped` has it, with the names of rankers for their labels.

    >>> print(told("setrank-imsab-init loses [0.1] to mart"))
    SetRank IMSAB + init loses \[0.1\] to MART
    """
    return escaped(named(sentence))
