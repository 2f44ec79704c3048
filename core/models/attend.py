"""Attention of projected vectors, in the fastest exact form on the device at hand.

Pang et al., SIGIR 2020, Eq. 3. Tensors are [lists, heads, rows, width];
mask True = a real document.
"""

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Bool, Float
from torch import Tensor

from shuffleproof.core.models.dense import in_float32, lacks_bfloat16, lowers_on_gpu

# Logits a head from which PyTorch's fused attention wins on a CPU, scoring or training, measured:
FUSED_FROM = 96**2
FUSED_FROM_LOW = 600**2  # in bfloat16, whose fused kernels are slow there; here memory decides


def attend(
    query: Float[Tensor, "lists heads queries width"],
    key: Float[Tensor, "lists heads keys width"],
    value: Float[Tensor, "lists heads keys width"],
    mask: Bool[Tensor, "lists keys"] | None,
    scale: float,
) -> Float[Tensor, "lists heads queries width"]:
    """softmax(scale · Q Kᵀ) V over the keys that are real; the faster of the two ways.

    >>> ones = torch.ones(1, 1, 2, 3)
    >>> attend(ones, ones, ones, torch.tensor([[True, False]]), 1.0)[0, 0, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    if lacks_bfloat16(query):
        return in_float32(partial(attend, mask=mask, scale=scale), query, key, value)
    if _prefers_fused(query, key):
        # Broadcast over heads and queries: pads are no keys for any of them
        real = None if mask is None else mask[:, None, None, :]
        return F.scaled_dot_product_attention(query, key, value, attn_mask=real, scale=scale)
    return attention_weights(query, key, mask, scale) @ value


def attention_weights(
    query: Float[Tensor, "lists heads queries width"],
    key: Float[Tensor, "lists heads keys width"],
    mask: Bool[Tensor, "lists keys"] | None,
    scale: float,
) -> Float[Tensor, "lists heads queries keys"]:
    """softmax(scale · Q Kᵀ); exactly 0 at pads. Pang et al., SIGIR 2020, Eq. 3."""
    # Scaled before the product, as the queries are usually smaller than the logits
    logits = (query * scale) @ key.transpose(-1, -2)
    if mask is not None:
        logits = logits.masked_fill(~mask[:, None, None, :], -torch.inf)
    # Without gradients the logits are not read again: in place, as they are the largest tensor
    if not logits.requires_grad and not torch.is_autocast_enabled(logits.device.type):
        return torch.softmax(logits, -1, out=logits)
    return logits.softmax(-1)


def _prefers_fused(query: Tensor, key: Tensor) -> bool:
    if query.device.type != "cpu":
        return True
    logits = query.shape[-2] * key.shape[-2]
    low = query.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    return logits >= (FUSED_FROM_LOW if low else FUSED_FROM)


def attend_projected(  # noqa: PLR0913, PLR0917 (what attention consists of)
    projected: Float[Tensor, "#lists queries _columns"],
    projected_keys: Float[Tensor, "lists keys _columns"] | None,
    mask: Bool[Tensor, "lists keys"] | None,
    heads: int,
    scale: float,
    record: list[Tensor] | None = None,
) -> Float[Tensor, "lists queries width"]:
    """Concatenated heads of softmax(scale · Q Kᵀ) V (Eq. 3 and 4).

    Args:
        projected: queries [lists, rows, width], the same for every list if there is one; without
            `projected_keys`, queries, keys and values next to each other [lists, rows, 3 width].
        projected_keys: keys and values next to each other [lists, keys, 2 width].
        mask: True = a real key; None = all are.
        heads: number of heads.
        scale: factor of Q Kᵀ.
        record: the weights [lists, heads, queries, keys] are appended to it, if given.
    """
    if record is None and lowers_on_gpu(projected):
        from shuffleproof.core.models.gpu import layers  # noqa: PLC0415 (Triton)

        width = projected.shape[-1] // (3 if projected_keys is None else 1)
        if width // heads in layers.HEAD_WIDTHS:
            return layers.attention(projected, projected_keys, mask, heads, scale)
    if projected_keys is None:
        query, key, value = _heads(projected, 3, heads)
    else:
        (query,) = _heads(projected, 1, heads)
        query = query.expand(len(projected_keys), -1, -1, -1)
        key, value = _heads(projected_keys, 2, heads)
    if record is None:
        gathered = attend(query, key, value, mask, scale)
    else:
        record.append(attention_weights(query, key, mask, scale))
        gathered = record[-1] @ value
    return gathered.transpose(1, 2).flatten(2)


def _heads(projected: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Parts of the columns, each as [lists, heads, rows, head width]."""
    lists, rows, _ = projected.shape
    split = projected.view(lists, rows, parts, heads, -1)
    return tuple(part.transpose(1, 2) for part in split.unbind(2))
