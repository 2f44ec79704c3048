"""Listwise losses: attention rank, softmax cross entropy, ListNet, ListMLE.

Every loss is a pure function of (scores, labels, mask), each [lists, docs], to one value per list;
mask True = a real document. Float64 scores are computed in float64, all others in float32.
A list with nothing to learn from contributes exactly 0 and gradients of exactly 0.
"""

import torch
from torch import Tensor

from shuffleproof.core.kernels.triton_here import compiles_for
from shuffleproof.core.losses.masked import (
    Lists,
    Mask,
    PerList,
    attention_of_labels,
    exact,
    grades_differ,
    without_pads,
)
from shuffleproof.core.losses.masked import unit_norm as normalised

LONGEST_IN_ONE = 4096
"""Length of the longest list that one program of a kernel can hold."""


def attention_rank(scores: Lists, labels: Lists, mask: Mask) -> PerList:
    """Cross entropy of two attention distributions, with both terms.

    −Σ a^y log a^s + (1 − a^y) log(1 − a^s), with a^s = softmax(s). Lists of one document and
    lists without a relevant one are 0. Ai et al., SIGIR 2018, Eq. 11.

    >>> ones = torch.ones(1, 2)
    >>> round(attention_rank(0 * ones, torch.tensor([[1.0, 0.0]]), ones.bool()).item(), 4)  # 2 ln 2
    1.3863
    """
    if _has_kernel(scores):
        from shuffleproof.core.losses.gpu_listwise import AttentionRank  # noqa: PLC0415 (Triton)

        losses: Tensor = AttentionRank.apply(  # type: ignore[no-untyped-call]
            scores.float(), labels, mask
        )
        return losses
    logits = without_pads(exact(scores), mask)
    target = attention_of_labels(labels.to(logits.dtype), mask)
    attention = logits.log_softmax(-1)
    # Eq. 11; SetRank prints it without the leading minus sign
    terms = target * attention + (1 - target) * _log_complement(logits, attention)
    learnable = (target.sum(-1) > 0) & (mask.sum(-1) > 1)
    return -torch.where(mask & learnable[:, None], terms, 0).sum(-1)


def softmax_ce(scores: Lists, labels: Lists, mask: Mask, temper: float = 1.0) -> PerList:
    """−Σ a^y log a^s with a^y ∝ exp(temper · y) where y > 0, as in SetRank's released code.

    >>> ones = torch.ones(1, 2)
    >>> round(softmax_ce(0 * ones, torch.tensor([[1.0, 0.0]]), ones.bool()).item(), 4)  # ln 2
    0.6931
    """
    logits = without_pads(exact(scores), mask)
    target = attention_of_labels(labels.to(logits.dtype), mask, temper)
    return -torch.where(target > 0, target * logits.log_softmax(-1), 0).sum(-1)


def listnet(scores: Lists, labels: Lists, mask: Mask) -> PerList:
    """−Σ p^y log p^s of the top document, with p^y = softmax(labels), p^s = softmax(scores).

    ListNet with k = 1 (Cao et al., ICML 2007). Unlike in `softmax_ce`, documents of grade 0
    have weight e^0. Lists whose documents all share one label are 0: there is no order to learn.

    >>> ones = torch.ones(1, 2)
    >>> round(listnet(0 * ones, torch.tensor([[1.0, 0.0]]), ones.bool()).item(), 4)  # ln 2
    0.6931
    """
    logits = without_pads(exact(scores), mask)
    grades = labels.to(logits.dtype).masked_fill(~mask, 0)
    target = without_pads(grades, mask).softmax(-1)
    learnable = grades_differ(grades, mask)
    return -torch.where(mask & learnable[:, None], target * logits.log_softmax(-1), 0).sum(-1)


def list_mle(scores: Lists, labels: Lists, mask: Mask, *, unit_norm: bool = False) -> PerList:
    """Negative log-likelihood of the ranking by labels under the Plackett–Luce model.

    Documents of equal label have no order; drawing one would make the loss depend on a seed or on
    the input order. The l-th of m tied documents (l from 0) is divided by the mass of all documents
    not above them, less l/m of their own (Efron, JASA 1977). Without ties this is ListMLE (Xia et
    al., ICML 2008). With equal scores inside a tie it equals the loss of each of its orders.
    Lists whose documents all share one label are 0: there is no order to learn.

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        unit_norm: divide the scores by their norm first (DLCM's released code).

    >>> s, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(list_mle(s, y, y > -1).item(), 4)  # log(1 + e^-1)
    0.3133
    """
    values = exact(scores)
    if unit_norm:
        values = normalised(values, mask)
    # Any finite number: infinite pads would give NaN gradients through `where`
    values = values.masked_fill(~mask, 0)
    # Grades rise, pads are last: the cumulated mass of levels is that of all documents not above.
    grades, order = labels.to(values.dtype).masked_fill(~mask, torch.inf).sort(-1)
    values, real = values.gather(-1, order), mask.gather(-1, order)
    # Efron needs sums over tied documents; lists differ in their ties
    level, place, size = _levels(grades)
    tied = _log_sum_by_level(without_pads(values, real), level)
    below = tied.logcumsumexp(-1).gather(-1, level)
    # Efron: l/m of the mass of the tied block leaves before its l-th document
    share = place.to(values.dtype) / size * (tied.gather(-1, level) - below).exp()
    terms = below + torch.log1p(-share) - values
    learnable = (real & (level > 0)).any(-1)
    return torch.where(real & learnable[:, None], terms, 0).sum(-1)


def _has_kernel(scores: Lists) -> bool:
    """True if one Triton kernel can replace some seventy kernels of PyTorch for these scores."""
    lists, docs = scores.shape
    fits = scores.dtype != torch.float64 and lists > 0 and 0 < docs <= LONGEST_IN_ONE
    return fits and compiles_for(scores.device)


def _log_complement(logits: Lists, attention: Lists) -> Lists:
    """log(1 − a): from the sum over the others for the top document, by log1p for the rest.

    All other documents have a ≤ 1/2, where log1p(−a) is accurate and its gradient bounded.
    """
    top = torch.zeros_like(logits, dtype=torch.bool)
    top.scatter_(-1, logits.argmax(-1, keepdim=True), value=True)
    log_sum_of_others = without_pads(logits, ~top).logsumexp(-1, keepdim=True)
    of_top = log_sum_of_others - logits.logsumexp(-1, keepdim=True)
    return torch.where(top, of_top, torch.log1p(-attention.masked_fill(top, -1.0).exp()))


def _levels(grades: Lists) -> tuple[Tensor, Tensor, Tensor]:
    """Level of each of the rising grades, 0-based place in the level, size of the level."""
    opens = torch.zeros_like(grades, dtype=torch.long)
    opens[:, 1:] = grades[:, 1:] != grades[:, :-1]
    level = opens.cumsum(-1)
    sizes = torch.zeros_like(level).scatter_add_(-1, level, torch.ones_like(level))
    start = sizes.cumsum(-1) - sizes
    position = torch.arange(grades.shape[-1], device=grades.device)
    return level, position - start.gather(-1, level), sizes.gather(-1, level)


def _log_sum_by_level(values: Lists, level: Tensor) -> Lists:
    """Log-sum-exp of the values of each level; very low in slots without a level."""
    low = torch.finfo(values.dtype).min / 2
    highest = torch.full_like(values, low).scatter_reduce(-1, level, values.detach(), "amax")
    shifted = (values - highest.gather(-1, level)).exp()
    sums = torch.zeros_like(values).scatter_add(-1, level, shifted)
    used = sums > 0
    return torch.where(used, highest + sums.masked_fill(~used, 1).log(), low)
