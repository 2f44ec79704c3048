"""Ids and comments as a line of LETOR text can hold them."""

import re
from collections.abc import Iterable

from shuffleproof.core.errors import DataError, quoted

LONGEST_ID = 255
_DOCUMENT = re.compile(rb"[ \t]*docid[ \t]*=[ \t]*([^\x00-\x20]*)", re.IGNORECASE)


def comment_of(text: bytes, document: bytes, place: str) -> bytes:
    """A comment that names a document: as it is where it does, else with the id in front.

    Args:
        text: the comment; empty: there is none.
        document: its id; empty: it has none.
        place: what errors call the data.

    Raises:
        DataError: an id with blanks, or a comment of several lines.

    >>> comment_of(b"clicks = 3", b"d7", "a"), comment_of(b"docid = d7", b"d7", "a")
    (b'docid = d7 clicks = 3', b'docid = d7')
    """
    if len(document.split()) > 1 or document.strip() != document:
        finding = f"the document id {quoted(document.decode(errors='replace'))}"
        raise DataError(place, finding, "An id in LETOR text holds no blanks.")
    named = _DOCUMENT.match(text)
    if document and (named is None or named[1] != document):
        text = b"docid = " + document + (b" " + text if text else b"")
    if b"\n" in text or text.endswith(b"\r"):
        finding = f"a line break in {quoted(text.decode(errors='replace'))}"
        raise DataError(place, finding, "LETOR text is one line a document.")
    return text


def check_queries(names: Iterable[str], place: str) -> None:
    """Refuse query ids that LETOR text cannot hold.

    Raises:
        DataError: there is one.
    """
    for name in names:
        size = len(name.encode(errors="replace"))
        half = any("\ud800" <= letter <= "\udfff" for letter in name)  # of a pair: no text
        if half or not 0 < size <= LONGEST_ID or "#" in name or min(name) <= " ":
            finding = f"the query id {quoted(name)}"
            raise DataError(place, finding, "A qid is 1 to 255 bytes without blanks or #.")
