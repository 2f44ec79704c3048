"""What people do to queries: typing errors, words left out, repeated, in another order.

A word is what stands between blanks. Each has a number from 0 to 1 of its own, drawn for the query,
the kind of noise and the seed, and is changed where that is below the level: so what a low level
changes a high one changes too, and every retriever reads the same texts.
"""

from collections.abc import Callable, Mapping

import numpy as np

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.seeds import generator

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Words = list[str]
Noise = Callable[[Words, np.ndarray, np.random.Generator], Words]
"""The words of a query, which of them are changed, draws: the words afterwards."""


def _typed(word: str, draws: np.random.Generator) -> str:
    """A word with one typing error: neighbours exchanged, a letter lost, doubled or wrong."""
    how, at = int(draws.integers(4)), int(draws.integers(len(word)))
    wrong = LETTERS[int(draws.integers(len(LETTERS)))]
    at = min(at, len(word) - 2) if how == 0 else at
    before, here, after = word[:at], word[at], word[at + 1 :]
    return before + (after[:1] + here + after[1:], after, here + here + after, wrong + after)[how]


def _typos(words: Words, changed: np.ndarray, draws: np.random.Generator) -> Words:
    typed = [_typed(word, draws) if len(word) > 1 else word for word in words]
    return [new if hit else old for old, new, hit in zip(words, typed, changed, strict=True)]


def _dropped(words: Words, changed: np.ndarray, _draws: np.random.Generator) -> Words:
    return [word for word, hit in zip(words, changed, strict=True) if not hit]


def _repeated(words: Words, changed: np.ndarray, _draws: np.random.Generator) -> Words:
    return [word for word, hit in zip(words, changed, strict=True) for _ in range(1 + hit)]


def _shuffled(words: Words, changed: np.ndarray, draws: np.random.Generator) -> Words:
    order = np.argsort(draws.random(len(words)), kind="stable")
    places = np.arange(len(words))
    places[changed] = order[changed[order]]
    return [words[place] for place in places]


KINDS: Mapping[str, tuple[Noise, str]] = {
    "typos": (_typos, "words with a typing error"),
    "drop": (_dropped, "words left out"),
    "repeat": (_repeated, "words said twice"),
    "shuffle": (_shuffled, "words put in each other's places"),
}
"""Of every kind what it does, and what its level is a share of."""


def noisy(text: str, kind: str, level: float, seed: int) -> str:
    """A query's text after noise; the same text, kind, level and seed give the same.

    >>> noisy("laminar flow past a plate", "repeat", 1.0, 0)
    'laminar laminar flow flow past past a a plate plate'
    >>> noisy("laminar flow", "drop", 1.0, 0), noisy("laminar  flow", "typos", 0.0, 0)
    ('', 'laminar flow')

    Args:
        text: of the query.
        kind: of `KINDS`.
        level: the share of its words that are changed, as a probability, from 0 to 1.
        seed: of the draw.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in KINDS:
        raise UnknownNameError("noise", kind, KINDS)
    words, draws = text.split(), generator(seed, "query noise", kind, text)
    return " ".join(KINDS[kind][0](words, draws.random(len(words)) < level, draws))
