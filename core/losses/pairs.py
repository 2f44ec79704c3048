"""Pairs of documents, and the generic pairwise loss: cost and weight of a pair are arguments.

A pair (i, j) is at [i, j] in the list's square and counts if document i has the higher grade.
Squares are [lists, docs, docs] without features. Batches are split into pieces whose squares fit a
budget, so that memory is linear in the documents of a batch times the list length.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact

SQUARE = 1 << 22  # most pairs in memory, padding included: 16 MiB of float32

Part = Callable[[Tensor], Tensor]
"""Margins s_i − s_j of pairs with y_i > y_j → costs, finite for finite margins."""

PairWeighting = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(scores, grades, mask), padding 0 → constant weights that broadcast to the square."""


def pair_mask(grades: Lists, mask: Mask) -> Bool[Tensor, "lists docs docs"]:
    """True at [i, j] where both documents are real and i has the higher grade.

    >>> pair_mask(torch.tensor([[1.0, 0.0]]), torch.ones(1, 2).bool()).tolist()
    [[[False, True], [False, False]]]
    """
    higher = grades[:, :, None] > grades[:, None, :]
    return higher & mask[:, :, None] & mask[:, None, :]


def pairwise(scores: Lists, labels: Lists, mask: Mask, part: Part, weigh: PairWeighting) -> PerList:
    """Σ w_ij · part(s_i − s_j) over the pairs with y_i > y_j; 0 for a list without pairs.

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        part: cost of a pair, from its margin.
        weigh: weights of pairs; gradients do not pass through it.

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
    """Loss over lists whose squares may exceed the memory budget together.

    Lists that fit the budget are computed together, others in pieces. Backward computes each piece
    again instead of storing its squares.
    """
    lists, docs = scores.shape
    lists_per_piece = max(1, SQUARE // max(1, docs * docs))
    if lists <= lists_per_piece:
        return function(scores, grades, mask)
    pieces = zip(
        *(torch.split(part, lists_per_piece) for part in (scores, grades, mask)), strict=True
    )
    # Checkpoints only help backward; without it they would compute twice
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
    # Masked before `part`: infinite gradients of other pairs would pass `where` as NaN.
    margins = (values[:, :, None] - values[:, None, :]).masked_fill(~pairs, 0)
    with torch.no_grad():
        weights = weigh(values, grades, mask)
    return torch.where(pairs, weights * part(margins), 0).sum((1, 2))
