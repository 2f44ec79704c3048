"""Bare memory inside compiled code: bytes and array elements by address.

An array that is handed from one compiled function to another costs a reference count, and a row
of LETOR text passes several functions; an address is a number. Nothing here checks bounds.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

_BYTE, _HALF, _WORD, _SINGLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()


def _pointer(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    start = builder.inttoptr(address, kind.as_pointer())
    return builder.gep(start, [index])


@intrinsic
def load(_typing: Any, address: Any) -> Any:  # noqa: ARG001 (numba's form)
    """The eight bytes at an address as a little-endian word; the address needs no alignment."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()), align=1)

    return types.uint64(types.int64), generate


@intrinsic
def byte_at(_typing: Any, address: Any) -> Any:  # noqa: ARG001 (numba's form)
    """The byte at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        return builder.zext(builder.load(pointer), _WORD)

    return types.int64(types.int64), generate


@intrinsic
def trailing_zeros(_typing: Any, word: Any) -> Any:
    """The number of zero bits below the lowest set bit; 64 for zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(word), generate


@intrinsic
def word_of(_typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 (numba's form)
    """Element `index` of an array of u64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        return builder.load(_pointer(builder, arguments[0], arguments[1], _WORD))

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def integer_of(_typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 (numba's form)
    """Element `index` of an array of i64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        return builder.load(_pointer(builder, arguments[0], arguments[1], _WORD))

    return types.int64(types.int64, types.int64), generate


def _store_code(kind: Any, value_type: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions."""
        address, index, value = arguments
        if kind in (_BYTE, _HALF):
            value = builder.trunc(value, kind)
        builder.store(value, _pointer(builder, address, index, kind))
        return _context.get_dummy_value()

    return types.void(types.int64, types.int64, value_type), generate


@intrinsic
def put_word(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Set element `index` of an array of u64."""
    return _store_code(_WORD, types.uint64)


@intrinsic
def put_integer(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Set element `index` of an array of i64."""
    return _store_code(_WORD, types.int64)


@intrinsic
def put_single(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Set element `index` of an array of f32."""
    return _store_code(_SINGLE, types.float32)


@intrinsic
def put_byte(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Set element `index` of an array of u8 to the lowest byte of a value."""
    return _store_code(_BYTE, types.int64)


@intrinsic
def put_half(_typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Set element `index` of an array of u32 to the lower half of a value."""
    return _store_code(_HALF, types.int64)
