"""Windows of texts, as input of networks of words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data.ragged import offsets_of, places_of, segment_ids
from shuffleproof.core.retrieval.text import EncodedTexts, TokenisedCollection

AT_ONCE = 4096
"""Maximum number of words per batch of a network; a longer text is a batch of its own."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Reader of texts as windows for a network.

    Attributes:
        window: number of words in a window.
        padding: place of padding words, after the last term.
        unread: mask of terms that are too rare to be read; False for padding.
        padded: True if every text is padded to one length.
    """

    window: int
    padding: int
    unread: np.ndarray
    padded: bool = False

    @classmethod
    def over(
        cls, tokens: TokenisedCollection, window: int, rarest: int, *, padded: bool = False
    ) -> "Windows":
        """Reader of a collection's texts; words in fewer than `rarest` documents are not read."""
        unread = np.append(tokens.document_frequency < rarest, [False])
        return cls(window, len(tokens.terms), unread, padded)

    def of(
        self,
        texts: EncodedTexts,
        length: int = 0,
        most: int = 0,
        draw: np.random.Generator | None = None,
    ) -> tuple[Int64[np.ndarray, "windows n"], Int64[np.ndarray, " windows"], np.ndarray]:
        """(words of windows, text of each window, factor of each text's sum).

        A text shorter than a window is one padded window; a text without words has none.

        Args:
            texts: their terms.
            length: of padded pooling.
            most: maximum number of windows per text, drawn at random; 0: all.
            draw: random generator.
        """
        n, lengths = self.window, texts.lengths
        before = 0
        # short texts: one padded window
        counts = np.where(lengths, np.maximum(lengths - n + 1, 1), 0)
        if self.padded:
            lengths, before = np.minimum(lengths, length), n // 2
            counts = np.where(lengths, np.minimum(lengths + before, length), 0)
        chosen = np.minimum(counts, most) if most else counts
        offsets = offsets_of(chosen)
        owners = segment_ids(offsets)
        starts = places_of(offsets)
        if draw is not None and most:
            drawn = draw.integers(0, np.maximum(counts, 1)[owners])
            # all windows of shorter texts
            starts = np.where((counts > most)[owners], drawn, starts)
        places = starts[:, None] - before + np.arange(n)
        inside = (places >= 0) & (places < lengths[owners][:, None])
        tokens = np.append(texts.tokens, self.padding).astype(np.int64)
        # Positions outside the text point to the padding token appended at the end
        at = np.where(inside, texts.offsets[:-1][owners][:, None] + places, len(texts.tokens))
        words = tokens[at]
        words = np.where(self.unread[words], self.padding, words)
        scale = 1.0 / np.maximum(chosen, 1)
        if self.padded:
            # Padded pooling divides by the fixed length; the factor corrects for drawn windows
            scale = counts / np.maximum(chosen, 1) / length
        return words, owners, scale.astype(np.float32)


def batch_bounds(texts: EncodedTexts) -> Iterator[tuple[int, int]]:
    """Bounds (first text, last text + 1) of the batches of a network."""
    groups = (np.cumsum(np.maximum(texts.lengths, 1)) - 1) // AT_ONCE
    yield from pairwise(np.flatnonzero(np.diff(groups, prepend=-1, append=-1)).tolist())
