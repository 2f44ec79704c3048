"""Sixteen and more bytes at once inside compiled code, for what LETOR text holds most of: numbers.

A loop over characters ends where the number ends, which the processor cannot foresee; here every
number of up to sixteen characters takes the same steps (cf. Langdale and Lemire 2019,
"Parsing gigabytes of JSON per second").
"""

import os
import platform
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

_tools: Any = cgutils
_tuple_of: Any = types.UniTuple
_BYTE, _PAIR, _HALF, _WORD = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)

SIXTEEN, THIRTY_TWO = 16, 32
_SIXTEEN_BYTES = ir.VectorType(_BYTE, SIXTEEN)
_ZERO, _DOT, _PAST_SPACE, _NOTHING = ord("0"), ord("."), ord(" ") + 1, 255


def _alike(kind: Any, count: int, value: int) -> Any:
    return ir.Constant(ir.VectorType(kind, count), [value] * count)


def _loaded(builder: Any, address: Any, kind: Any) -> Any:
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


@intrinsic
def newlines_at(_typing: Any, address: Any) -> Any:  # noqa: ARG001 (numba's form)
    """How many of the 32 bytes from an address on are newlines."""
    bytes_ = ir.VectorType(_BYTE, THIRTY_TWO)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        text = _loaded(builder, arguments[0], bytes_)
        same = builder.icmp_unsigned("==", text, _alike(_BYTE, THIRTY_TWO, ord("\n")))
        return builder.zext(builder.ctpop(builder.bitcast(same, _HALF)), _WORD)

    return types.int64(types.int64), generate


@intrinsic
def kinds_at(_typing: Any, address: Any) -> Any:  # noqa: ARG001 (numba's form)
    """Which of the sixteen bytes from an address on are what, a bit each, the first byte lowest.

    Three sets of bits: digits, dots, and bytes no larger than a space, which end a token.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        text = _loaded(builder, arguments[0], _SIXTEEN_BYTES)
        tests = (
            builder.icmp_unsigned("<", _digits(builder, text), _alike(_BYTE, SIXTEEN, 10)),
            builder.icmp_unsigned("==", text, _alike(_BYTE, SIXTEEN, _DOT)),
            builder.icmp_unsigned("<", text, _alike(_BYTE, SIXTEEN, _PAST_SPACE)),
        )
        bits = [builder.zext(builder.bitcast(test, _PAIR), _WORD) for test in tests]
        return context.make_tuple(builder, signature.return_type, bits)

    return _tuple_of(types.int64, 3)(types.int64), generate


@intrinsic
def digits_at(_typing: Any, address: Any, length: Any, dot: Any) -> Any:  # noqa: ARG001
    """The integer written by the digits of a token of up to sixteen characters.

    Its character number `dot` is left out; a token without a dot has it at `length`. All else
    that is no digit counts as 0.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        address, length, dot = arguments
        digits = _digits(builder, _loaded(builder, address, _SIXTEEN_BYTES))
        written = builder.icmp_unsigned("<", digits, _alike(_BYTE, SIXTEEN, 10))
        digits = builder.select(written, digits, _alike(_BYTE, SIXTEEN, 0))
        order = ir.Constant(ir.ArrayType(_BYTE, len(_ORDERS)), bytearray(_ORDERS))
        orders = _tools.global_constant(builder.module, "orders_of_digits", order)
        row = builder.add(builder.mul(length, ir.Constant(_WORD, SIXTEEN + 1)), dot)
        place = builder.gep(builder.bitcast(orders, _SIXTEEN_BYTES.as_pointer()), [row])
        return _integer(builder, _shuffled(builder, digits, builder.load(place, align=1)))

    return types.int64(types.int64, types.int64, types.int64), generate


def _digits(builder: Any, text: Any) -> Any:
    return builder.sub(text, _alike(_BYTE, SIXTEEN, _ZERO))


def _orders() -> bytes:
    """For every length and place of the dot: which character goes to each of sixteen places.

    The last digit goes to the last place; places that are left before the first get `_NOTHING`.
    """
    rows = []
    for length in range(SIXTEEN + 1):
        for dot in range(SIXTEEN + 1):
            sources = [place for place in range(length) if place != dot]
            rows.append(bytes([_NOTHING] * (SIXTEEN - len(sources)) + sources))
    return b"".join(rows)


_ORDERS = _orders()
_SHUFFLES = {  # of bytes, 0 where the source is `_NOTHING`; each is in all processors of its kind
    "x86_64": "llvm.x86.ssse3.pshuf.b.128",
    "amd64": "llvm.x86.ssse3.pshuf.b.128",
    "aarch64": "llvm.aarch64.neon.tbl1.v16i8",
    "arm64": "llvm.aarch64.neon.tbl1.v16i8",
}


def _shuffled(builder: Any, digits: Any, order: Any) -> Any:
    """`digits[order]`, 0 where the order says `_NOTHING`."""
    foreign = os.environ.get("NUMBA_CPU_NAME")  # code for a processor that is not this one
    name = None if foreign else _SHUFFLES.get(platform.machine().lower())
    if name is not None:
        kind = ir.FunctionType(_SIXTEEN_BYTES, [_SIXTEEN_BYTES, _SIXTEEN_BYTES])
        shuffle = _tools.get_or_insert_function(builder.module, kind, name)
        return builder.call(shuffle, [digits, order])
    result = _alike(_BYTE, SIXTEEN, 0)
    for place in range(SIXTEEN):
        source = builder.extract_element(order, ir.Constant(_HALF, place))
        inside = builder.and_(source, ir.Constant(_BYTE, SIXTEEN - 1))
        digit = builder.extract_element(digits, inside)
        nothing = builder.icmp_unsigned("==", source, ir.Constant(_BYTE, _NOTHING))
        digit = builder.select(nothing, ir.Constant(_BYTE, 0), digit)
        result = builder.insert_element(result, digit, ir.Constant(_HALF, place))
    return result


def _integer(builder: Any, digits: Any) -> Any:
    """The integer of sixteen digits: neighbours become pairs, pairs fours, fours eights."""
    for narrow, wide, base in ((_BYTE, _PAIR, 10), (_PAIR, _HALF, 100)):
        count = SIXTEEN * _BYTE.width // wide.width
        neighbours = builder.bitcast(digits, ir.VectorType(wide, count))
        both = builder.mul(neighbours, _alike(wide, count, (base << narrow.width) + 1))
        digits = builder.lshr(both, _alike(wide, count, narrow.width))
    fours = builder.bitcast(digits, ir.VectorType(_WORD, 2))
    first = builder.and_(fours, _alike(_WORD, 2, (1 << _HALF.width) - 1))
    second = builder.lshr(fours, _alike(_WORD, 2, _HALF.width))
    eights = builder.add(builder.mul(first, _alike(_WORD, 2, 10**4)), second)
    high, low = (builder.extract_element(eights, ir.Constant(_HALF, place)) for place in range(2))
    return builder.add(builder.mul(high, ir.Constant(_WORD, 10**8)), low)
