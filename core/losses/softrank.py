"""SoftRank: expected NDCG when every score carries Gaussian noise.

Only relevant documents have a gain, so only their rank distributions are built.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from shuffleproof.core.losses.masked import exact
from shuffleproof.core.losses.masked import unit_norm as normalised
from shuffleproof.core.losses.rank_distribution import expected_discount


def softrank(
    scores: Float[Tensor, "lists docs"],
    labels: Float[Tensor, "lists docs"],
    mask: Bool[Tensor, "lists docs"],
    deviation: float = 0.1,
    *,
    unit_norm: bool = False,
) -> Float[Tensor, " lists"]:
    """1 − E[NDCG] over the whole list, gain 2^y − 1, discount 1/log2(rank + 1).

    Document i stands above j with probability Φ((s_i − s_j) / (σ√2)); the rank distributions
    follow Taylor et al., WSDM 2008 (Ai et al., SIGIR 2018, Eq. 8). Lists without a relevant
    document are 0.

    Args:
        scores: one a document.
        labels: grades.
        mask: True = real.
        deviation: σ, the standard deviation of the noise on every score.
        unit_norm: divide the scores by their norm first (DLCM's released code).

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(softrank(s, y, y > -1).item(), 4)  # 1 − (1 + 1/log2 3) / 2
    0.1845
    """
    values = exact(scores)
    values = normalised(values, mask) if unit_norm else values.masked_fill(~mask, 0)
    gains = torch.exp2(labels.to(values.dtype).masked_fill(~mask, 0)) - 1
    owner, document = (mask & (gains > 0)).nonzero(as_tuple=True)
    above = _above(values, owner, document, deviation)
    others = mask[owner].scatter(1, document[:, None], value=False)
    places = torch.arange(scores.shape[1], dtype=values.dtype, device=values.device)
    discounts = 1 / torch.log2(places + 2)
    expected = expected_discount(above.masked_fill(~others, 0), discounts)
    ideal = (gains.sort(-1, descending=True).values * discounts).sum(-1)
    shares = gains[owner, document] / ideal[owner] * expected
    ndcg = torch.zeros_like(ideal).index_add(0, owner, shares)
    return torch.where(ideal > 0, 1 - ndcg, 0)


def _above(values: Tensor, owner: Tensor, document: Tensor, deviation: float) -> Tensor:
    """Probability [relevant, docs] that each document of the list stands above the relevant."""
    gaps = values[owner] - values[owner, document][:, None]
    return torch.special.ndtr(gaps / (deviation * math.sqrt(2)))
