"""One piece of work: a function named `module:function`, JSON in, JSON out, failures as values."""

import importlib
import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import MissingPackageError, ParameterError, ShuffleproofError

LONGEST_DETAILS = 4000


@dataclass(frozen=True)
class Failure:
    """Why an item has no result.

    Attributes:
        message: one line for people.
        details: the end of the traceback, or of what the dead worker wrote to stderr.
    """

    message: str
    details: str = ""


def function_named(function: str) -> Callable[[Any], Any]:
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


def do_item(function: str, item: str) -> str:
    """Do one item: the JSON text of its answer, whatever happens short of dying.

    Args:
        function: `module:function`.
        item: the function's argument as JSON text.
    """
    try:
        return json.dumps({"result": function_named(function)(json.loads(item))})
    except ShuffleproofError as error:
        return json.dumps({"message": str(error), "details": ""})
    except Exception as error:  # noqa: BLE001 (the caller decides what a failed item means)
        if missing := MissingPackageError.of(error):
            return json.dumps({"message": str(missing), "details": ""})
        details = traceback.format_exc()[-LONGEST_DETAILS:]
        return json.dumps({"message": f"{type(error).__name__}: {error}", "details": details})


def outcome(answer: str) -> Any:
    """The result in an answer, or its Failure."""
    content = json.loads(answer)
    return content["result"] if "result" in content else Failure(**content)
