"""Escaping of users' text for Markdown: names, ids, comments and quoted lines."""

import re

from shuffleproof.core.errors import FLAG
from shuffleproof.core.rankers.name import with_display_names

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
FIELDS = {
    "initial": "initial rankers", "set": "all settings", "data": "data set",
    "nulls": "NULL and NaN cells",
}  # fmt: skip
"""Labels in forms of flags whose name differs from the field's."""

JOINER = "\u2060"
"""Word joiner (zero width), for places where Streamlit ignores backslashes."""


def escaped(text: str) -> str:
    r"""Text escaped for Streamlit's Markdown: no link, image, colour or formula.

    >>> print(escaped("![x](y) :red[1] < 2"))
    \!\[x\](y) \:red\[1\] \< 2
    >>> print(escaped("1. a_b"))
    1\. a\_b
    >>> escaped("http://e.org :100:") == f"http:{JOINER}//e.org \\:{JOINER}100:"
    True
    """
    marked = MARKS.sub(lambda mark: f"{mark[0][:-1]}\\{mark[0][-1]}", " ".join(text.split()))
    return SHORT.sub(rf"\1{JOINER}", marked)


def refusal(error: Exception | str) -> str:
    r"""Message of the core, escaped, with labels of forms in place of flags.

    >>> print(refusal("cut them (--depth 40), or name more with --initial"))
    cut them (“depth” 40), or name more with “initial rankers”
    """

    def words(flag: re.Match[str]) -> str:
        label = FIELDS.get(flag[1], flag[1].replace("-", " "))
        return f"“{label}”" + flag[0][len(f"--{flag[1]}") :]

    return escaped(FLAG.sub(words, str(error)))


def escaped_sentence(sentence: str) -> str:
    r"""Sentence, escaped, with display names of rankers in place of labels.

    >>> print(escaped_sentence("setrank-imsab-init loses [0.1] to mart"))
    SetRank IMSAB + init loses \[0.1\] to MART
    """
    return escaped(with_display_names(sentence))
