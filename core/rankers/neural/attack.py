"""The direction in which each feature of each candidate hurts a network most: its loss's gradient.

For the fast gradient sign attack (Goodfellow, Shlens & Szegedy, ICLR 2015). The loss is the softmax
cross entropy with the judgments, its gradient is that in the normalised features; a normalisation
that keeps order keeps its sign.
"""

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from shuffleproof.core.data.batches import on_device, scoring_plan
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.losses.listwise import softmax_ce
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.neural.feed import (
    document_features,
    feed_order,
    groups_of,
    read_rankings,
)
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.training.network import arithmetic, budgeted, scores_of


def directions(ranker: Ranker, judged: JudgedLists) -> Float32[np.ndarray, "docs features"]:
    """−1, 0 or 1 for each feature of each document of the data set; 0 for what is no candidate.

    Args:
        ranker: a network, which does not change.
        judged: the lists and the labels.

    Raises:
        UsageError: the ranker is no network.
        MissingRankingError: the lists carry fewer initial rankings than it reads.
    """
    if not isinstance(ranker, NeuralRanker):
        raise UsageError(
            f"{ranker.name} is no network: it has no gradient to follow; name one, such as dlcm"
        )
    ranker.check(judged.dataset, judged.lists)
    gradients = np.zeros(judged.dataset.features.shape, dtype=np.float32)
    for group, _ in groups_of(judged.lists):
        order = feed_order(ranker.spec, judged.dataset, group)
        fed_lists = group if order is None else group.shown_as(order)
        gradient = _gradient(ranker, JudgedLists(judged.dataset, fed_lists))
        # A document can be in several lists: `add.at` sums, `+=` would keep one
        np.add.at(gradients, fed_lists.rows, gradient)
    return np.sign(gradients)


def _gradient(
    ranker: NeuralRanker, judged: JudgedLists
) -> Float32[np.ndarray, "candidates features"]:
    """The gradient of the summed loss with respect to the normalised features."""
    lists, dataset = judged.lists, judged.dataset
    features = document_features(ranker.normalisation, dataset, lists.rows)
    whole = on_device(lists, features, dataset.labels[lists.rows], ranker.device)
    slots = read_rankings(whole, ranker.columns)

    def directions_of(budget: int) -> Tensor:
        gradient = torch.zeros_like(slots.features)
        with torch.enable_grad(), arithmetic("fp32", gradient.device.type):
            for batch in slots.batches(list(scoring_plan(slots.lengths, budget))):
                batch.features.requires_grad_()
                scores = scores_of(ranker.network, batch)
                # A sum, so that a document's gradient does not depend on the other lists of a batch
                loss = softmax_ce(scores, batch.labels, batch.mask).sum()
                (gradient[batch.rows],) = torch.autograd.grad(loss, batch.features)
        return gradient

    longest = int(slots.lengths.max(initial=0))
    # The last row belongs to padding
    return budgeted(directions_of, longest, slots.features.device)[:-1].cpu().numpy()
