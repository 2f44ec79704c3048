"""Functions that Numba compiles, where the import of Numba waits for the first call.

Numba takes .4 s to load. What shows a stored result names compiled functions and calls none.
"""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled:
    """A function that is compiled at its first call, or when compiled code that calls it is."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        """Keep a function and its options for `numba.njit`."""
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's own form of the function."""
        import numba  # noqa: PLC0415 (only who computes waits for it)

        return numba.njit(cache=True, **self.options)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """Numba's type of a name that compiled code calls."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute."""
        return self.dispatcher(*arguments, **named)


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function without Python objects and keep its code on the disk.

    Args:
        options: of `numba.njit`, such as nogil or fastmath.

    >>> @compiled()
    ... def twice(value):
    ...     return 2 * value
    >>> twice.py_func(3)
    6
    """

    def decorated(function: Function) -> Function:
        return cast("Function", Compiled(function, options))

    return decorated
