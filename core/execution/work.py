"""A function by its name, and the failure of a piece of work as a value."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import ParameterError

LONGEST_DETAILS = 4000


@dataclass(frozen=True)
class Failure:
    """Reason why an item has no result.

    Attributes:
        message: one line for people.
        details: the end of the traceback, or of what the dead worker wrote to stderr.
    """

    message: str
    details: str = ""


def function_named(function: str) -> Callable[..., Any]:
    """The function called `module:function`.

    Raises:
        ParameterError: the text has another form, or there is no such module or function.

    >>> function_named("math:sqrt")(9)
    3.0
    """
    module, colon, name = function.partition(":")
    if not (colon and module and name):
        raise ParameterError("function", function, "written as module:function")
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError("function", function, f"importable ({error})") from error
    if not callable(target):
        raise ParameterError("function", function, "a function")
    return target
