"""Triton kernels of SetRank's layers: what lies between two matrix products is read once.

`gpu_layers.py` launches them. Numbers are read in the type they are stored in, sums are float32.
"""

import torch
import triton
import triton.language as tl

LOW = tl.constexpr(-1e30)
"""The logit of a key that is not there: finite, since a first block may have no other."""


@triton.jit
def _block(at, row, rows, stride, cell):
    """Some rows of a head; 0 where there are none."""
    return tl.load(at + row[:, None] * stride + cell, mask=(row < rows)[:, None], other=0.0)


@triton.jit
def _logits(q, k, real, column, keys, scale, MASKED: tl.constexpr):
    """Logits to the base 2, and LOW at keys that are not there; which ones are."""
    there = column < keys
    if MASKED:
        there = there & (tl.load(real + column, mask=there, other=0) != 0)
    logits = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
    return tl.where(there[None, :], logits, LOW), there


@triton.jit
def attend(
    query, key, value, real, out, norms, scale, queries, keys,
    query_list, query_row, key_list, key_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """softmax(scale · Q Kᵀ) V of one head for ROWS queries; norms: log₂ of each row's sum."""
    list_, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    row, unit = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    cell = head * WIDTH + unit[None, :]
    q, asks = _block(query + list_ * query_list, row, queries, query_row, cell), row < queries
    peak = tl.full((ROWS,), LOW, dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    gathered = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for first in range(0, keys, KEYS):
        column = first + tl.arange(0, KEYS)
        k = _block(key + list_ * key_list, column, keys, key_row, cell)
        v = _block(value + list_ * key_list, column, keys, key_row, cell)
        logits, _real = _logits(q, k, real + list_ * keys, column, keys, scale, MASKED)
        higher = tl.maximum(peak, tl.max(logits, 1))
        weights, kept = tl.exp2(logits - higher[:, None]), tl.exp2(peak - higher)
        total = total * kept + tl.sum(weights, 1)
        gathered = gathered * kept[:, None]
        gathered += tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        peak = higher
    there = out + (list_ * queries + row[:, None]) * (HEADS * WIDTH) + cell
    found = (gathered / total[:, None]).to(out.dtype.element_ty)
    tl.store(there, found, mask=asks[:, None])
    tl.store(norms + tl.program_id(0) * queries + row, peak + tl.log2(total), mask=asks)


@triton.jit
def _of_logits(q, k, v, gathered, grad, norm, real, column, keys, scale, MASKED: tl.constexpr):
    """The weights of some queries on some keys, and the gradient of their scaled products."""
    logits, there = _logits(q, k, real, column, keys, scale, MASKED)
    weights = tl.where(there[None, :], tl.exp2(logits - norm[:, None]), 0.0)
    of_weights = tl.dot(grad, tl.trans(v), input_precision="ieee")
    along = tl.sum(gathered.to(tl.float32) * grad.to(tl.float32), 1)
    return weights, (weights * (of_weights - along[:, None]) * scale).to(k.dtype)


@triton.jit
def attend_backward(
    query, key, value, real, out, norms, of_out, of_query, of_key, of_value, scale, queries, keys,
    query_list, query_row, key_list, key_row, of_query_row, of_key_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr, ALL_KEYS: tl.constexpr,
):  # fmt: skip
    """The gradients of KEYS keys and values of a head; of its queries too, where those are all."""
    list_, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    column, unit = tl.program_id(1) * KEYS + tl.arange(0, KEYS), tl.arange(0, WIDTH)
    cell, stride = head * WIDTH + unit[None, :], HEADS * WIDTH
    k = _block(key + list_ * key_list, column, keys, key_row, cell)
    v = _block(value + list_ * key_list, column, keys, key_row, cell)
    of_k = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    of_v = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    for first in range(0, queries, ROWS):
        row = first + tl.arange(0, ROWS)
        q = _block(query + list_ * query_list, row, queries, query_row, cell)
        gathered = _block(out + list_ * queries * stride, row, queries, stride, cell)
        grad = _block(of_out + list_ * queries * stride, row, queries, stride, cell)
        asks = row < queries
        norm = tl.load(norms + tl.program_id(0) * queries + row, mask=asks, other=0.0)
        weights, of_logits = _of_logits(
            q, k, v, gathered, grad, norm, real + list_ * keys, column, keys, scale, MASKED
        )
        of_v += tl.dot(tl.trans(weights.to(grad.dtype)), grad, input_precision="ieee")
        of_k += tl.dot(tl.trans(of_logits), q, input_precision="ieee")
        if ALL_KEYS:
            of_q = tl.dot(of_logits, k, input_precision="ieee").to(of_query.dtype.element_ty)
            there = of_query + (list_ * queries + row[:, None]) * of_query_row + cell
            tl.store(there, of_q, mask=asks[:, None])
    there = (list_ * keys + column[:, None]) * of_key_row + cell
    tl.store(of_key + there, of_k.to(of_key.dtype.element_ty), mask=(column < keys)[:, None])
    tl.store(of_value + there, of_v.to(of_value.dtype.element_ty), mask=(column < keys)[:, None])


@triton.jit
def attend_backward_queries(
    query, key, value, real, out, norms, of_out, of_query, scale, queries, keys,
    query_list, query_row, key_list, key_row, of_query_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """The gradient of ROWS queries of a head."""
    list_, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    row, unit = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    cell, stride = head * WIDTH + unit[None, :], HEADS * WIDTH
    q, asks = _block(query + list_ * query_list, row, queries, query_row, cell), row < queries
    gathered = _block(out + list_ * queries * stride, row, queries, stride, cell)
    grad = _block(of_out + list_ * queries * stride, row, queries, stride, cell)
    norm = tl.load(norms + tl.program_id(0) * queries + row, mask=asks, other=0.0)
    of_q = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for first in range(0, keys, KEYS):
        column = first + tl.arange(0, KEYS)
        k = _block(key + list_ * key_list, column, keys, key_row, cell)
        v = _block(value + list_ * key_list, column, keys, key_row, cell)
        _weights, of_logits = _of_logits(
            q, k, v, gathered, grad, norm, real + list_ * keys, column, keys, scale, MASKED
        )
        of_q += tl.dot(of_logits, k, input_precision="ieee")
    there = of_query + (list_ * queries + row[:, None]) * of_query_row + cell
    tl.store(there, of_q.to(of_query.dtype.element_ty), mask=asks[:, None])


@triton.jit
def _normed(x, branch, shift, row, column, rows, x_rows, width, epsilon, SHIFTED: tl.constexpr):
    """Each row of x + branch + shift less its mean, over its deviation; 1 over that; the mask."""
    inside = (row[:, None] < rows) & (column[None, :] < width)
    of_x = (row % x_rows)[:, None] * width + column[None, :]
    total = tl.load(x + of_x, mask=inside, other=0.0).to(tl.float32)
    of_branch = row[:, None] * width + column[None, :]
    total += tl.load(branch + of_branch, mask=inside, other=0.0).to(tl.float32)
    if SHIFTED:
        total += tl.load(shift + column, mask=column < width, other=0.0)[None, :]
    centred = tl.where(inside, total - (tl.sum(total, 1) / width)[:, None], 0.0)
    over_deviation = tl.rsqrt(tl.sum(centred * centred, 1) / width + epsilon)[:, None]
    return centred * over_deviation, over_deviation, inside


@triton.jit
def add_norm(
    x, branch, shift, weight, bias, out, rows, x_rows, width, epsilon,
    SHIFTED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """LayerNorm(x + branch + shift); x has `x_rows` rows, which repeat."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    normed, _over_deviation, inside = _normed(
        x, branch, shift, row, column, rows, x_rows, width, epsilon, SHIFTED
    )
    factor = tl.load(weight + column, mask=column < width, other=0.0)[None, :]
    added = tl.load(bias + column, mask=column < width, other=0.0)[None, :]
    there = out + row[:, None] * width + column[None, :]
    tl.store(there, (normed * factor + added).to(out.dtype.element_ty), mask=inside)


@triton.jit
def add_norm_backward(
    x, branch, shift, weight, of_out, of_sum, parts, rows, x_rows, width, epsilon,
    SHIFTED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradient of x + branch, and this program's part of those of weight, bias and shift."""
    column = tl.arange(0, COLUMNS)
    factor = tl.load(weight + column, mask=column < width, other=0.0)
    of_weight = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    of_bias = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    of_shift = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        normed, over_deviation, inside = _normed(
            x, branch, shift, row, column, rows, x_rows, width, epsilon, SHIFTED
        )
        there = row[:, None] * width + column[None, :]
        grad = tl.load(of_out + there, mask=inside, other=0.0).to(tl.float32)
        of_weight += grad * normed
        of_bias += grad
        grad = grad * factor[None, :]
        along = tl.sum(grad * normed, 1) / width
        grad = grad - (tl.sum(grad, 1) / width)[:, None] - normed * along[:, None]
        grad = tl.where(inside, grad * over_deviation, 0.0)
        tl.store(of_sum + there, grad.to(of_sum.dtype.element_ty), mask=inside)
        if SHIFTED:
            of_shift += grad
    part = parts + tl.program_id(0) * (3 if SHIFTED else 2) * width + column
    tl.store(part, tl.sum(of_weight, 0), mask=column < width)
    tl.store(part + width, tl.sum(of_bias, 0), mask=column < width)
    if SHIFTED:
        tl.store(part + 2 * width, tl.sum(of_shift, 0), mask=column < width)


@triton.jit
def columns_backward(
    grad, result, through, parts, rows, width,
    RELU: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradient before relu, and this program's part of its sums over the rows."""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < width)
        there = row[:, None] * width + column[None, :]
        of_row = tl.load(grad + there, mask=inside, other=0.0)
        if RELU:
            of_row = tl.where(tl.load(result + there, mask=inside, other=0.0) > 0, of_row, 0.0)
            tl.store(through + there, of_row.to(through.dtype.element_ty), mask=inside)
        total += of_row.to(tl.float32)
    tl.store(parts + tl.program_id(0) * width + column, tl.sum(total, 0), mask=column < width)


def try_out(values: torch.Tensor) -> None:
    """Compile and run a kernel on [1, width] float32: raises whatever is wrong with Triton here."""
    with torch.cuda.device_of(values):  # type: ignore[no-untyped-call]
        add_norm[(1,)](
            values, values, values, values, values, values, 1, 1, values.shape[1], 1.0,
            SHIFTED=False, ROWS=1, COLUMNS=16,
        )  # fmt: skip
