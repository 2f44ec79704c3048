"""`recurrence_steps.py` on float32 arrays, compiled: one pass over each row.

A loop reads few arrays and none that it writes a part of: else the compiler cannot show that they
lie apart, and computes one number at a time.
"""

from typing import no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled

ONE, TWO = np.float32(1), np.float32(2)
LARGEST, HALF, LOG2E = np.float32(87), np.float32(0.5), np.float32(1.44269504)
LN2, LN2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
EXPONENT, BIAS = np.int32(23), np.int32(127)
P0, P1, P2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
P3, P4, P5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
"""eˣ ≈ 1 + x + x² p(x) for x in ±½ ln 2 (Cephes, `expf.c`)."""
FAST = {"reassoc", "contract"}


@compiled(inline="always", fastmath=FAST, error_model="numpy")
@no_type_check
def sigmoid(value: np.float32) -> np.float32:
    """1 / (1 + e⁻ˣ), where e⁻ˣ = 2ᵏ eʳ; NaN stays NaN."""
    # exp(±87) is the range of float32; 2ᵏ is made from exponent bits below
    power = min(max(-value, -LARGEST), LARGEST)
    whole = np.floor(power * LOG2E + HALF)
    # ln 2 in two parts: the first is exact in float32 times k
    rest = power - whole * LN2 - whole * LN2_REST
    series = ((((P0 * rest + P1) * rest + P2) * rest + P3) * rest + P4) * rest + P5
    scale = np.int32((np.int32(whole) + BIAS) << EXPONENT).view(np.float32)
    return ONE / (ONE + (series * rest * rest + rest + ONE) * scale)


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def resets(step: tuple, saved: tuple) -> None:
    """As in `recurrence_steps`."""
    before, _, place, active = step
    gates, inner, states = saved
    hidden = states.shape[2]
    for row in range(active):
        gate, earlier, product = gates[place, row], states[before, row], inner[place, row]
        for unit in range(2 * hidden):
            gate[unit] = sigmoid(gate[unit])
        for unit in range(hidden):
            product[unit] = gate[unit] * earlier[unit]


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def mixes(step: tuple, saved: tuple) -> None:
    """As in `recurrence_steps`."""
    before, after, place, active = step
    gates, _, states = saved
    hidden = states.shape[2]
    for row in range(active):
        earlier, state, gate = states[before, row], states[after, row], gates[place, row]
        keep, candidate = gate[hidden : 2 * hidden], gate[2 * hidden :]
        for unit in range(hidden):
            candidate[unit] = TWO * sigmoid(TWO * candidate[unit]) - ONE
        for unit in range(hidden):
            state[unit] = candidate[unit] + keep[unit] * (earlier[unit] - candidate[unit])


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def mixes_after(step: tuple, saved: tuple, bias: np.ndarray) -> None:
    """As in `recurrence_steps`."""
    before, after, place, active = step
    gates, inner, states = saved
    hidden = states.shape[2]
    for row in range(active):
        earlier, state, gate = states[before, row], states[after, row], gates[place, row]
        keep, candidate, product = gate[hidden : 2 * hidden], gate[2 * hidden :], inner[place, row]
        for unit in range(2 * hidden):
            gate[unit] = sigmoid(gate[unit])
        for unit in range(hidden):
            product[unit] += bias[unit]
        for unit in range(hidden):
            state[unit] = gate[unit] * product[unit]
        for unit in range(hidden):
            candidate[unit] = TWO * sigmoid(TWO * (candidate[unit] + state[unit])) - ONE
        for unit in range(hidden):
            state[unit] = candidate[unit] + keep[unit] * (earlier[unit] - candidate[unit])


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def into_products(step: tuple, saved: tuple, back: tuple) -> None:
    """As in `recurrence_steps`."""
    before, _, place, active = step
    gates, _, states = saved
    grad, carried, of_inputs, _ = back
    hidden = states.shape[2]
    for row in range(active):
        earlier, gate, of_input = states[before, row], gates[place, row], of_inputs[place, row]
        keep, candidate = gate[hidden : 2 * hidden], gate[2 * hidden :]
        of_keep, of_candidate = of_input[hidden : 2 * hidden], of_input[2 * hidden :]
        of_state, of_output = carried[row], grad[row, place]
        for unit in range(hidden):
            of_state[unit] += of_output[unit]
        for unit in range(hidden):
            of_new = of_state[unit] * (ONE - keep[unit])
            of_candidate[unit] = of_new * (ONE - candidate[unit] * candidate[unit])
        for unit in range(hidden):
            of_new = of_state[unit] * (ONE - keep[unit])
            of_keep[unit] = of_new * keep[unit] * (earlier[unit] - candidate[unit])


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def into_resets(step: tuple, saved: tuple, back: tuple) -> None:
    """As in `recurrence_steps`."""
    _, _, place, active = step
    gates, inner, _ = saved
    _, carried, of_inputs, of_inner = back
    hidden = carried.shape[1]
    for row in range(active):
        gate, product, of_product = gates[place, row], inner[place, row], of_inner[row]
        keep, of_state, of_reset = gate[hidden : 2 * hidden], carried[row], of_inputs[place, row]
        for unit in range(hidden):
            of_reset[unit] = of_product[unit] * product[unit] * (ONE - gate[unit])
        for unit in range(hidden):
            of_state[unit] = of_state[unit] * keep[unit] + of_product[unit] * gate[unit]


@compiled(nogil=True, fastmath=FAST, error_model="numpy")
@no_type_check
def into_products_after(step: tuple, saved: tuple, back: tuple) -> None:
    """As in `recurrence_steps`."""
    into_products(step, saved, back)
    _, _, place, active = step
    gates, inner, _ = saved
    _, carried, of_inputs, of_inner = back
    hidden = carried.shape[1]
    for row in range(active):
        gate, product, of_product = gates[place, row], inner[place, row], of_inner[place, row]
        keep, of_state, of_input = gate[hidden : 2 * hidden], carried[row], of_inputs[place, row]
        of_candidate = of_input[2 * hidden :]
        for unit in range(hidden):
            of_product[unit] = of_candidate[unit] * gate[unit]
        for unit in range(hidden):
            of_input[unit] = of_product[unit] * product[unit] * (ONE - gate[unit])
        for unit in range(hidden):
            of_state[unit] *= keep[unit]
