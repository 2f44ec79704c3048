"""Error texts of libraries that read model files, as the end of our messages."""

import re

from shuffleproof.core.errors import quoted

_NOISE = re.compile(
    r"\[[0-9:]{8}\] "
    r"|\S*/\S+\.(?:cc|h|cpp|hpp|cu):\d+: "
    r"| at \S+\.(?:cc|h|cpp|hpp|cu), line \d+"
    r"|Check failed: (?:.* : (?=\S))?"
)
"""Times, places in a library's source, and the condition before a sentence."""


def in_its_words(library: str, message: object) -> str:
    r"""A sentence that quotes a library, without times and places in its source.

    >>> in_its_words("XGBoost", "[02:23:55] /w/json.cc:184: Invalid cast.\nStack trace:\n 1")
    "XGBoost says: 'Invalid cast'"
    """
    text = str(message).partition("Stack trace")[0].strip()
    if "Traceback of TorchScript" in text:  # the sentence stands last
        text = text.splitlines()[-1]
    line = " ".join(text.split())
    return f"{library} says: {quoted(re.sub(_NOISE, '', line).strip(' .:'))}"
