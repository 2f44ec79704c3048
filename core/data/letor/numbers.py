"""Decimal text to float32 inside compiled code, exact.

The value of a token is `float32(float64(token))`, each rounding to nearest even, as NumPy and
Python give it. Short decimals take one exact division (Clinger 1990); longer ones are bounded
from both sides, and the one in a hundred million whose bounds disagree is left to the caller.
"""

from typing import no_type_check

import numba
import numpy as np

from shuffleproof.core.data.letor.memory import byte_at, trailing_zeros
from shuffleproof.core.data.letor.vectors import SIXTEEN, digits_at, kinds_at

# What became of one number token.
FINE, MISSING, BAD, OVERFLOW, UNDECIDED, CLIPPED = range(6)

SPACE, TAB, NEWLINE, RETURN, HASH, COLON = 32, 9, 10, 13, 35, 58
PLUS, MINUS, DOT, ZERO, NINE = 43, 45, 46, 48, 57
LARGEST = float(np.finfo(np.float32).max)
BEYOND = LARGEST + 2.0**103
"""From here on float32 rounds to infinity; below it, to its largest number."""

MOST_DIGITS = 19  # of a mantissa held in 64 bits
LOWEST_POWER, HIGHEST_POWER = -350, 308
POWERS = np.array([float(f"1e{power}") for power in range(LOWEST_POWER, HIGHEST_POWER + 1)])
SLACK = 2.0**-50  # relative error of mantissa × power in float64, generously

_U = np.uint64
_ASCII_ZEROS = _U(0x3030303030303030)
_PAST_NINE = _U(0x7676767676767676)
_HIGH_BITS = _U(0x8080808080808080)
_EIGHT, _FULL = _U(8), _U(64)
_TENS, _PAIRS = _U(2561), _U(0x00FF00FF00FF00FF)
_HUNDREDS, _QUADS = _U(6553601), _U(0x0000FFFF0000FFFF)
_NIBBLES, _MYRIADS = _U(0x0F0F0F0F0F0F0F0F), _U(42949672960001)
_SIXTEEN, _THIRTY_TWO, _TEN = _U(16), _U(32), _U(10)
_EXACT = _U(2**53)
_LOWER_CASE = 32
_SIGNED, _PAST_SIXTEEN, _ALL_SIXTEEN = SIXTEEN + 1, 1 << SIXTEEN, (1 << SIXTEEN) - 1
_SCALE = np.outer([1.0, -1.0], 10.0 ** np.maximum(np.arange(_SIGNED) - 1, 0)).ravel()
"""What a number is divided by: by characters from its dot on, again for negative ones."""


@no_type_check
@numba.njit(cache=True, inline="always")
def digits_in(word: np.uint64) -> np.uint64:
    """How many of the eight characters, from the first on, are digits, times 8 (in bits)."""
    value = word ^ _ASCII_ZEROS
    beyond = ((value + _PAST_NINE) | value) & _HIGH_BITS
    return _U(trailing_zeros(beyond)) & ~_U(7)


@no_type_check
@numba.njit(cache=True, inline="always")
def eight_digits(word: np.uint64, bits: np.uint64) -> np.uint64:
    """The integer written by the first `bits` / 8 characters of the word, all digits; 0 by none."""
    half = (_FULL - bits) >> _U(1)  # no shift is by all 64
    word = ((word ^ _ASCII_ZEROS) << half) << half
    word = ((word & _NIBBLES) * _TENS) >> _EIGHT
    word = ((word & _PAIRS) * _HUNDREDS) >> _SIXTEEN
    return ((word & _QUADS) * _MYRIADS) >> _THIRTY_TWO


@no_type_check
@numba.njit(cache=True, inline="always")
def short_number(address: int) -> tuple[np.float32, int, bool]:
    """(value, address after, whether it was written as digits, perhaps with a minus and a dot).

    The common notation, up to fifteen digits and sixteen characters, without a branch that
    depends on them; anything else, and any number not followed by a space or newline, is left to
    `number`.
    """
    digits, dots, ends = kinds_at(address)
    length = trailing_zeros(ends | _PAST_SIXTEEN)
    before = (1 << length) - 1
    digits, dots = digits & before, dots & before
    negative = np.int64(byte_at(address) == MINUS)
    dot = trailing_zeros(dots | (1 << length))
    scale = _SCALE[_U(length - dot + negative * _SIGNED)]  # an index that is never below 0
    value = np.float64(digits_at(address, length, dot)) / scale
    character = byte_at(address + length)
    plain = (
        (digits | dots | negative) == before
        and dots & (dots - 1) == 0
        and 0 < digits < _ALL_SIXTEEN
        and (character == SPACE or character == NEWLINE)  # noqa: PLR1714, SIM109 (a set is slower)
    )
    return np.float32(value), address + length, plain


@no_type_check
@numba.njit(cache=True)
def ends_token(character: int) -> bool:
    """Whether a number may be followed by this character."""
    return character in (SPACE, NEWLINE, TAB, RETURN, HASH)


@no_type_check
@numba.njit(cache=True)
def number(address: int) -> tuple[np.float32, int, int]:
    """One number at an address, whatever its notation.

    Returns:
        (value, address after it, FINE | MISSING | BAD | OVERFLOW | UNDECIDED | CLIPPED).
    """
    negative = byte_at(address) == MINUS
    after = address + 1 if negative or byte_at(address) == PLUS else address
    mantissa, power, after, digits = _mantissa(after)
    if digits == 0:
        return _word(address)
    marker = byte_at(after) | _LOWER_CASE
    if marker == ord("e"):
        exponent, after, written = _exponent(after + 1)
        if not written:
            return np.float32(0), after, BAD
        power += exponent
    if not ends_token(byte_at(after)):
        return np.float32(0), after, BAD
    value, status = rounded(mantissa, power)
    return (-value if negative else value), after, status


@no_type_check
@numba.njit(cache=True)
def _mantissa(address: int) -> tuple[np.uint64, int, int, int]:
    """(digits as an integer, power of ten that belongs to it, address after, digits written)."""
    mantissa, power, significant, written, fraction = _U(0), 0, 0, 0, False
    while True:
        character = byte_at(address)
        if ZERO <= character <= NINE:
            written += 1
            if significant < MOST_DIGITS:
                mantissa = mantissa * _TEN + _U(character - ZERO)
                significant += 1 if mantissa > _U(0) else 0
                power -= 1 if fraction else 0
            else:
                power += 0 if fraction else 1
        elif character == DOT and not fraction:
            fraction = True
        else:
            return mantissa, power, address, written
        address += 1


@no_type_check
@numba.njit(cache=True)
def _exponent(address: int) -> tuple[int, int, bool]:
    """(exponent, cut at ±100 000, address after it, whether there were digits)."""
    sign = byte_at(address)
    address += 1 if sign in (PLUS, MINUS) else 0
    first_digit, exponent = address, 0
    while ZERO <= byte_at(address) <= NINE:
        exponent = min(exponent * 10 + byte_at(address) - ZERO, 100_000)
        address += 1
    return (-exponent if sign == MINUS else exponent), address, address > first_digit


@no_type_check
@numba.njit(cache=True)
def rounded(mantissa: np.uint64, power: int) -> tuple[np.float32, int]:
    """(float32 of mantissa × 10^power, FINE | OVERFLOW | UNDECIDED | CLIPPED).

    What float32 rounds to infinity is cut to its largest; from 1.8e308 on it is OVERFLOW.
    """
    if mantissa == _U(0) or power < LOWEST_POWER:
        return np.float32(0), FINE
    if mantissa <= _EXACT and -22 <= power <= 22:
        exact = np.float64(mantissa)
        scale = POWERS[abs(power) - LOWEST_POWER]
        exact = exact / scale if power < 0 else exact * scale
        return (np.float32(exact), FINE) if exact <= LARGEST else (np.float32(LARGEST), CLIPPED)
    if power > HIGHEST_POWER:
        return np.float32(0), OVERFLOW
    if power > 22 and np.float64(mantissa) * POWERS[power - 10 - LOWEST_POWER] > 1.8e298:
        return np.float32(0), OVERFLOW
    near = np.float64(mantissa) * POWERS[power - LOWEST_POWER]
    low, high = np.float32(near * (1.0 - SLACK)), np.float32(near * (1.0 + SLACK))
    if low > LARGEST:
        return np.float32(LARGEST), CLIPPED
    return low, (FINE if low == high else UNDECIDED)


@no_type_check
@numba.njit(cache=True)
def _word(address: int) -> tuple[np.float32, int, int]:
    """A token that is no number: MISSING for NULL and NaN, OVERFLOW for infinity, else BAD."""
    sign = byte_at(address) == MINUS or byte_at(address) == PLUS
    start = address + 1 if sign else address
    after = start
    letters = 0
    while not ends_token(byte_at(after)) and after < start + 8:
        letters = (letters << 8) | (byte_at(after) | _LOWER_CASE)
        after += 1
    if letters in (_packed_null, _packed_nan) and ends_token(byte_at(after)):
        return np.float32(np.nan), after, MISSING
    if letters in (_packed_inf, _packed_infinity) and ends_token(byte_at(after)):
        return np.float32(0), after, OVERFLOW
    return np.float32(0), after, BAD


def _packed_letters(word: str) -> int:
    letters = 0
    for character in word:
        letters = (letters << 8) | ord(character)
    return letters


_packed_null, _packed_nan = _packed_letters("null"), _packed_letters("nan")
_packed_inf, _packed_infinity = _packed_letters("inf"), _packed_letters("infinity")
