"""Text of users shown as the text it is: names, ids, comments and quoted lines."""

import re

MARKS = re.compile(
    r"[\\`*_{}\[\]<>#|~$!]"  # emphasis, code, links, images, headings, tables, formulas, HTML
    r"|[:@](?=\S)|(?<=www)\.|&(?=[#\w])"  # addresses, emoji and icons, entities
    r"|^[-+=]|^\d+[.)]"  # lists and underlined headings
)


def escaped(text: str) -> str:
    r"""Text that Streamlit's Markdown shows letter by letter: no link, image, colour or formula.

    >>> print(escaped("![x](http://e.org/x.png) 1 < 2"))
    \!\[x\](http\://e.org/x.png) 1 \< 2
    >>> print(escaped("1. www.e.org"))
    1\. www\.e.org
    """
    return MARKS.sub(lambda mark: f"{mark[0][:-1]}\\{mark[0][-1]}", " ".join(text.split()))
