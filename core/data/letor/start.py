"""What the first lines of a file hide that is no fault of their writing."""

from pathlib import Path

from shuffleproof.core.data.doctor import LARGEST, SQUARED
from shuffleproof.core.data.letor.read import START
from shuffleproof.core.data.letor.stream import Limits, blocks


def beyond_squares(path: Path, name: str) -> str:
    """The first value whose square is no float32, in a sentence; empty: the start has none.

    Args:
        path: of the file.
        name: what the sentence calls it.

    Raises:
        DataError: a damaged file.
    """
    for block in blocks(path, name, Limits(block_bytes=START)):
        text = block.buffer[: block.end].tobytes()
        for number, line in enumerate(text.split(b"\n"), block.first_line):
            found = _beyond(line.partition(b"#")[0].decode(errors="replace").split())
            if found:
                return (
                    f"{name}:{number}: {found}, whose square is no float32: the feature has no "
                    "mean and no deviation. Correct it, or normalise by quantiles."
                )
        break
    return ""


def _beyond(words: list[str]) -> str:
    """Which cell of a row is beyond, and what it holds."""
    query = next((word[4:] for word in words[1:2] if word.startswith("qid:")), "")
    of = f" of query {query}" if query else ""
    for word in words[1:]:
        feature, _, value = word.partition(":")
        if feature != "qid" and _is_beyond(value):
            return f"feature {feature}{of} is {value}"
    return ""


def _is_beyond(value: str) -> bool:
    try:
        return SQUARED < abs(float(value)) < LARGEST
    except ValueError:  # the check of the lines names it
        return False
