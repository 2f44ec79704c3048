"""Noise in queries: typing errors, and words left out, repeated or shuffled.

Words are separated by blanks. Each word has a random number from 0 to 1, drawn by query, kind of
noise and seed. It is changed if the number is below the level. A higher level therefore changes all
words of a lower one, and every retriever reads the same texts.
"""

from collections.abc import Callable, Mapping

import numpy as np

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.seeds import generator

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Words = list[str]
Noise = Callable[[Words, np.ndarray, np.random.Generator], Words]
"""Function of the words of a query, a mask of the changed ones, and draws: the new words."""


def _typed(word: str, draws: np.random.Generator) -> str:
    """Word with one typing error: swapped neighbours, or a letter lost, doubled or replaced."""
    how, at = int(draws.integers(4)), int(draws.integers(len(word)))
    wrong = LETTERS[int(draws.integers(len(LETTERS)))]
    at = min(at, len(word) - 2) if how == 0 else at  # a swap needs a next letter
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
    # The changed places receive each other's words, in a random order; the rest stay
    places[changed] = order[changed[order]]
    return [words[place] for place in places]


KINDS: Mapping[str, tuple[Noise, str]] = {
    "typos": (_typos, "words with a typing error"),
    "drop": (_dropped, "words left out"),
    "repeat": (_repeated, "words said twice"),
    "shuffle": (_shuffled, "words put in each other's places"),
}
"""Function of each kind, and the description of its level."""


def noisy(text: str, kind: str, level: float, seed: int) -> str:
    """Noisy text of a query; deterministic for the same text, kind, level and seed.

    `level` is the probability from 0 to 1 that a word is changed; `kind` is of `KINDS`.

    >>> noisy("laminar flow past a plate", "repeat", 1.0, 0)
    'laminar laminar flow flow past past a a plate plate'
    >>> noisy("laminar flow", "drop", 1.0, 0), noisy("laminar  flow", "typos", 0.0, 0)
    ('', 'laminar flow')

    Raises:
        UnknownNameError: an unknown kind.
    """
    if kind not in KINDS:
        raise UnknownNameError("noise", kind, KINDS)
    words, draws = text.split(), generator(seed, "query noise", kind, text)
    return " ".join(KINDS[kind][0](words, draws.random(len(words)) < level, draws))
