"""Tied pairs: pairs of a list's documents with equal scores."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int64

from shuffleproof.core.words import counted

SAID = 0.01
"""Share of tied pairs above which a note warns that ties can change the measures."""


def tied_share(
    offsets: Int64[np.ndarray, " bounds"], scores: Float[np.ndarray, " candidates"]
) -> float:
    """Share of pairs of documents in the same list with equal scores; 0 without pairs.

    >>> tied_share(np.array([0, 3, 4]), np.array([1.0, 1.0, 2.0, 1.0]))
    0.3333333333333333
    >>> tied_share(np.array([0, 1, 2]), np.array([1.0, 1.0]))
    0.0
    """
    lengths = np.diff(offsets)
    pairs = int((lengths * (lengths - 1) // 2).sum())
    if not pairs:
        return 0.0
    lists = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((scores, lists))
    # Runs of equal scores end where the score or the list changes
    falls = np.flatnonzero((np.diff(scores[order]) != 0) | (np.diff(lists[order]) != 0)) + 1
    sizes = np.diff(np.concatenate([[0], falls, [len(scores)]]))
    return int((sizes * (sizes - 1) // 2).sum()) / pairs


def tied_in_words(shares: Mapping[str, float]) -> list[str]:
    """One sentence on the rankings with many tied pairs, or none.

    >>> tied_in_words({"bm25": 0.123, "ql": 0.01})
    ['12.3 % of the pairs of bm25 have equal scores: how ties count can move the measures.']
    >>> tied_in_words({"ql": 0.01})
    []
    """
    affected = [f"{100 * share:.1f} % of {name}" for name, share in shares.items() if share > SAID]
    if not affected:
        return []
    head, *tail = affected
    subject = ", ".join([head.replace(" % of", " % of the pairs of", 1), *tail])
    return [f"{subject} have equal scores: how ties count can move the measures."]


def merged_in_words(name: str, documents: int) -> str:
    """Sentence on ties that are not in the file but come from double precision.

    >>> merged_in_words("mine.txt", 1).partition(" only ")[0]
    '1 document of mine.txt ties with another'
    """
    subject = f"{counted(documents, 'document')} of {name} {'ties' if documents == 1 else 'tie'}"
    return f"{subject} with another only because double precision does not tell their scores apart."
