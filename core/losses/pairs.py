"""Pairs of documents, and the one pairwise loss: what a pair costs and weighs is handed in.

A pair (i, j) stands in the list's square at [i, j] and counts where document i has the higher
grade. Squares are [lists, docs, docs], never with features beside them, and lists are taken in
pieces whose squares stay within a budget: memory is linear in the documents of a batch times the
list length.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact

SQUARE = 1 << 22  # pairs whose squares are held at once, padding included: 16 MiB of float32

Part = Callable[[Tensor], Tensor]
"""Margins s_i − s_j of pairs with y_i > y_j → what each costs, finite wherever the margin is."""

PairWeighting = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(scores, grades, mask), padding 0 → weights that spread over the square; constants."""


def pair_mask(grades: Lists, mask: Mask) -> Bool[Tensor, "lists docs docs"]:
    """True at [i, j] where both documents are real and i has the higher grade.

    >>> pair_mask(torch.tensor([[1.0, 0.0]]), torch.ones(1, 2).bool()).tolist()
    [[[False, True], [False, False]]]
    """
    higher = grades[:, :, None] > grades[:, None, :]
    return higher & mask[:, :, None] & mask[:, None, :]


def pairwise(scores: Lists, labels: Lists, mask: Mask, part: Part, weigh: PairWeighting) -> PerList:
    """Σ w_ij · part(s_i − s_j) over the pairs with y_i > y_j; 0 where a list has none.

    Args:
        scores: one a document.
        labels: grades.
        mask: True = real.
        part: what a pair costs by its margin.
        weigh: what a pair weighs; gradients do not pass through it.

    >>> s, y = torch.tensor([[3.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    >>> pairwise(s, y, y >= 0, lambda margin: -margin, lambda *_: torch.ones(1)).tolist()  # 2 − 1
    [1.0]
    """
    values = exact(scores).masked_fill(~mask, 0)
    grades = labels.to(values.dtype).masked_fill(~mask, 0)
    return in_pieces(partial(_sum_over_pairs, part, weigh), values, grades, mask)


def in_pieces(
    function: Callable[[Tensor, Tensor, Tensor], Tensor], scores: Lists, grades: Lists, mask: Mask
) -> PerList:
    """A loss over lists whose squares need not be held at once.

    Lists that fit the budget are computed together; the others piece by piece, and each piece is
    computed again on the way back instead of being kept.
    """
    lists, docs = scores.shape
    lists_per_piece = max(1, SQUARE // max(1, docs * docs))
    if lists <= lists_per_piece:
        return function(scores, grades, mask)
    pieces = zip(
        *(torch.split(part, lists_per_piece) for part in (scores, grades, mask)), strict=True
    )
    if not scores.requires_grad:
        return torch.cat([function(*piece) for piece in pieces])
    return torch.cat(
        [checkpoint(function, *piece, use_reentrant=False, preserve_rng_state=False)
         for piece in pieces]
    )  # fmt: skip


def _sum_over_pairs(
    part: Part, weigh: PairWeighting, values: Tensor, grades: Tensor, mask: Tensor
) -> Tensor:
    pairs = pair_mask(grades, mask)
    margins = (values[:, :, None] - values[:, None, :]).masked_fill(~pairs, 0)
    with torch.no_grad():
        weights = weigh(values, grades, mask)
    return torch.where(pairs, weights * part(margins), 0).sum((1, 2))
