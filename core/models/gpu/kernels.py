"""Triton kernels of SetRank's layers: what lies between two matrix products is read once.

`gpu/layers.py` launches them. Numbers are read in the type they are stored in, sums are float32.
"""

from typing import no_type_check

import triton
import triton.language as tl

LOW = tl.constexpr(-1e30)
"""The logit of a key that is not there: finite, since a first block may have no other."""

LOG2E = tl.constexpr(1.4426950408889634)


@no_type_check
@triton.jit
def _block(at, row, rows, stride, cell):
    """Some rows of a head; 0 where there are none."""
    return tl.load(at + row[:, None] * stride + cell, mask=(row < rows)[:, None], other=0.0)


@no_type_check
@triton.jit
def _is_real(real, column, keys, MASKED: tl.constexpr):
    """Mask of the keys that exist."""
    there = column < keys
    if MASKED:
        there = there & (tl.load(real + column, mask=there, other=0) != 0)
    return there


@no_type_check
@triton.jit
def _attend_block(
    q, key, value, real, first, keys, key_row, cell, scale, peak, total, gathered,
    FIRST: tl.constexpr, MASKED: tl.constexpr, WHOLE: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Some keys more for a softmax that is under way: its peak, its sum and what it gathers.

    FIRST: nothing was gathered before. WHOLE: none of the KEYS keys lies past the end.
    """
    column = first + tl.arange(0, KEYS)
    k, v = _block(key, column, keys, key_row, cell), _block(value, column, keys, key_row, cell)
    logits = tl.dot(q, tl.trans(k), input_precision="ieee")
    if MASKED or not WHOLE:
        logits = tl.where(_is_real(real, column, keys, MASKED)[None, :], logits, LOW)
    higher = tl.max(logits, 1)
    if not FIRST:
        higher = tl.maximum(peak, higher)
    base = tl.where(higher > LOW, higher, 0.0) * scale  # a product of LOW is not exact
    weights = tl.exp2(logits * scale - base[:, None])
    of_block, sums = tl.dot(weights.to(v.dtype), v, input_precision="ieee"), tl.sum(weights, 1)
    if not FIRST:
        rescale = tl.exp2((peak - higher) * scale)
        of_block, sums = gathered * rescale[:, None] + of_block, total * rescale + sums
    return higher, sums, of_block


@no_type_check
@triton.jit
def attend(
    query, key, value, real, out, norms, scale, queries, keys,
    query_list, query_row, key_list, key_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr, ALL_KEYS: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """softmax(scale · Q Kᵀ) V of one head for ROWS queries; norms: log₂ of each row's sum.

    ALL_KEYS: there are KEYS keys at most.
    """
    list_, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    row, unit = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    cell = head * WIDTH + unit[None, :]
    q, asks = _block(query + list_ * query_list, row, queries, query_row, cell), row < queries
    key, value, real = key + list_ * key_list, value + list_ * key_list, real + list_ * keys
    scale = scale * LOG2E
    peak = tl.full((ROWS,), LOW, dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    gathered = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    if ALL_KEYS:
        peak, total, gathered = _attend_block(
            q, key, value, real, 0, keys, key_row, cell, scale, peak, total, gathered,
            FIRST=True, MASKED=MASKED, WHOLE=False, KEYS=KEYS,
        )  # fmt: skip
    else:
        whole = keys // KEYS * KEYS
        for first in range(0, whole, KEYS):
            peak, total, gathered = _attend_block(
                q, key, value, real, first, keys, key_row, cell, scale, peak, total, gathered,
                FIRST=False, MASKED=MASKED, WHOLE=True, KEYS=KEYS,
            )  # fmt: skip
        if whole < keys:
            peak, total, gathered = _attend_block(
                q, key, value, real, whole, keys, key_row, cell, scale, peak, total, gathered,
                FIRST=False, MASKED=MASKED, WHOLE=False, KEYS=KEYS,
            )  # fmt: skip
    there = out + (list_ * queries + row[:, None]) * (HEADS * WIDTH) + cell
    attended = (gathered / total[:, None]).to(out.dtype.element_ty)
    tl.store(there, attended, mask=asks[:, None])
    norm = peak * scale + tl.log2(total)
    tl.store(norms + tl.program_id(0) * queries + row, norm, mask=asks)


@no_type_check
@triton.jit
def _along(gathered, grad):
    """Each row's product of what it gathered with its gradient."""
    return tl.sum(gathered.to(tl.float32) * grad.to(tl.float32), 1)


@no_type_check
@triton.jit
def _backward_block(
    k, v, there, query, out, norms, alongs, of_out, of_query, first, scale, queries,
    query_row, of_query_row, stride, cell, of_k, of_v,
    MASKED: tl.constexpr, ROWS: tl.constexpr, ALL_KEYS: tl.constexpr,
):  # fmt: skip
    """Contribution of ROWS queries to the gradients of some keys and values.

    Logits have one key per row, so that two of the products use them directly.
    """
    row = first + tl.arange(0, ROWS)
    asks = row < queries
    q = _block(query, row, queries, query_row, cell)
    grad = _block(of_out, row, queries, stride, cell)
    norm = tl.load(norms + row, mask=asks, other=0.0)
    if ALL_KEYS:
        along = _along(_block(out, row, queries, stride, cell), grad)
    else:
        along = tl.load(alongs + row, mask=asks, other=0.0)
    logits = tl.dot(k, tl.trans(q), input_precision="ieee")
    weights = tl.exp2(logits * (scale * LOG2E) - norm[None, :])
    if MASKED or ALL_KEYS:  # keys past the end have no part in the gradient of queries
        weights = tl.where(there[:, None], weights, 0.0)
    of_v += tl.dot(weights.to(grad.dtype), grad, input_precision="ieee")
    of_weights = tl.dot(v, tl.trans(grad), input_precision="ieee")
    of_logits = (weights * (of_weights - along[None, :])).to(k.dtype)
    of_k += tl.dot(of_logits, q, input_precision="ieee")
    if ALL_KEYS:
        of_q = tl.dot(tl.trans(of_logits), k, input_precision="ieee") * scale
        place = of_query + row[:, None] * of_query_row + cell
        tl.store(place, of_q.to(of_query.dtype.element_ty), mask=asks[:, None])
    return of_k, of_v


@no_type_check
@triton.jit
def attend_backward(
    query, key, value, real, out, norms, alongs, of_out, of_query, of_key, of_value, scale,
    queries, keys, query_list, query_row, key_list, key_row, of_query_row, of_key_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr, ALL_KEYS: tl.constexpr,
    ALL_ROWS: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """The gradients of KEYS keys and values of a head; of its queries too, where those are all.

    ALL_ROWS: there are ROWS queries at most.
    """
    list_, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    column, unit = tl.program_id(1) * KEYS + tl.arange(0, KEYS), tl.arange(0, WIDTH)
    cell, stride, start = head * WIDTH + unit[None, :], HEADS * WIDTH, list_ * queries
    k = _block(key + list_ * key_list, column, keys, key_row, cell)
    v = _block(value + list_ * key_list, column, keys, key_row, cell)
    there = _is_real(real + list_ * keys, column, keys, MASKED)
    query, of_query = query + list_ * query_list, of_query + start * of_query_row
    out, of_out = out + start * stride, of_out + start * stride
    norms = norms + tl.program_id(0) * queries
    alongs = alongs + tl.program_id(0) * queries
    of_k = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    of_v = tl.zeros((KEYS, WIDTH), dtype=tl.float32)
    if ALL_ROWS:
        of_k, of_v = _backward_block(
            k, v, there, query, out, norms, alongs, of_out, of_query, 0, scale, queries,
            query_row, of_query_row, stride, cell, of_k, of_v, MASKED, ROWS, ALL_KEYS,
        )  # fmt: skip
    else:
        for first in range(0, queries, ROWS):
            of_k, of_v = _backward_block(
                k, v, there, query, out, norms, alongs, of_out, of_query, first, scale, queries,
                query_row, of_query_row, stride, cell, of_k, of_v, MASKED, ROWS, ALL_KEYS,
            )  # fmt: skip
    place, inside = (list_ * keys + column[:, None]) * of_key_row + cell, (column < keys)[:, None]
    tl.store(of_key + place, (of_k * scale).to(of_key.dtype.element_ty), mask=inside)
    tl.store(of_value + place, of_v.to(of_value.dtype.element_ty), mask=inside)


@no_type_check
@triton.jit
def attend_backward_queries(
    query, key, value, real, out, norms, alongs, of_out, of_query, scale, queries, keys,
    query_list, query_row, key_list, key_row, of_query_row,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """The gradient of ROWS queries of a head; alongs: see `_along`, for those of the keys."""
    list_, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    row, unit = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    cell, stride = head * WIDTH + unit[None, :], HEADS * WIDTH
    asks, numbered = row < queries, tl.program_id(0) * queries + row
    q = _block(query + list_ * query_list, row, queries, query_row, cell)
    grad = _block(of_out + list_ * queries * stride, row, queries, stride, cell)
    along = _along(_block(out + list_ * queries * stride, row, queries, stride, cell), grad)
    tl.store(alongs + numbered, along, mask=asks)
    norm = tl.load(norms + numbered, mask=asks, other=0.0)
    of_q = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for first in range(0, keys, KEYS):
        column = first + tl.arange(0, KEYS)
        k = _block(key + list_ * key_list, column, keys, key_row, cell)
        v = _block(value + list_ * key_list, column, keys, key_row, cell)
        logits = tl.dot(q, tl.trans(k), input_precision="ieee")
        weights = tl.exp2(logits * (scale * LOG2E) - norm[:, None])
        there = _is_real(real + list_ * keys, column, keys, MASKED)
        weights = tl.where(there[None, :], weights, 0.0)
        of_weights = tl.dot(grad, tl.trans(v), input_precision="ieee")
        of_logits = (weights * (of_weights - along[:, None])).to(k.dtype)
        of_q += tl.dot(of_logits, k, input_precision="ieee")
    place = of_query + (list_ * queries + row[:, None]) * of_query_row + cell
    tl.store(place, (of_q * scale).to(of_query.dtype.element_ty), mask=asks[:, None])


@no_type_check
@triton.jit
def _normed(x, branch, shift, row, column, rows, x_rows, width, epsilon, SHIFTED: tl.constexpr):
    """Each row of x + branch + shift less its mean, over its deviation; 1 over that; the mask."""
    row = row.to(tl.int64)
    inside = (row[:, None] < rows) & (column[None, :] < width)
    of_x = (row % x_rows)[:, None] * width + column[None, :]
    total = tl.load(x + of_x, mask=inside, other=0.0).to(tl.float32)
    of_branch = row[:, None] * width + column[None, :]
    total += tl.load(branch + of_branch, mask=inside, other=0.0).to(tl.float32)
    if SHIFTED:
        total += tl.load(shift + column, mask=column < width, other=0.0)[None, :]
    centred = tl.where(inside, total - (tl.sum(total, 1) / width)[:, None], 0.0)
    variance = tl.sum(centred * centred, 1) / width + epsilon
    over_deviation = tl.rsqrt(tl.where(row < rows, variance, 1.0))[:, None]  # epsilon may be 0
    return centred * over_deviation, over_deviation, inside


@no_type_check
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
    there = out + row.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(there, (normed * factor + added).to(out.dtype.element_ty), mask=inside)


@no_type_check
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
    step = tl.num_programs(0) * ROWS
    for first in tl.range(tl.program_id(0) * ROWS, rows, step, num_stages=3):
        row = first + tl.arange(0, ROWS)
        normed, over_deviation, inside = _normed(
            x, branch, shift, row, column, rows, x_rows, width, epsilon, SHIFTED
        )
        there = row.to(tl.int64)[:, None] * width + column[None, :]
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


@no_type_check
@triton.jit
def columns_backward(
    grad, result, through, parts, rows, width,
    RELU: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradient before relu, and this program's part of its sums over the rows."""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    step = tl.num_programs(0) * ROWS
    for first in tl.range(tl.program_id(0) * ROWS, rows, step, num_stages=4):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < width)
        there = row.to(tl.int64)[:, None] * width + column[None, :]
        of_row = tl.load(grad + there, mask=inside, other=0.0)
        if RELU:
            of_row = tl.where(tl.load(result + there, mask=inside, other=0.0) > 0, of_row, 0.0)
            tl.store(through + there, of_row.to(through.dtype.element_ty), mask=inside)
        total += of_row.to(tl.float32)
    tl.store(parts + tl.program_id(0) * width + column, tl.sum(total, 0), mask=column < width)


@no_type_check
@triton.jit
def sum_rows(parts, sums, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The sum of the rows of a matrix, in float32."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < width)
        there = parts + row.to(tl.int64)[:, None] * width + column[None, :]
        total += tl.load(there, mask=inside, other=0.0).to(tl.float32)
    column_sums = tl.sum(total, 0).to(sums.dtype.element_ty)
    tl.store(sums + column, column_sums, mask=column < width)
