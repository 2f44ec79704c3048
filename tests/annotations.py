"""Annotations are checked at every call in a test run: those of shapes, and all others.

`--jaxtyping-packages` decorates every function and dataclass of the core. Its own wrapper binds the
arguments anew and checks the parameters twice, at tens of microseconds a call, which was more than
half of the suite. Here Beartype alone checks what names no axis; what does is checked by Beartype
in a context of jaxtyping, in which an axis has one size in the parameters and in the result. That
takes tens of microseconds too, and depends on types and shapes alone where the annotations say no
more: a call with those of a call before, and an answer with those of its answer, is right as well.
"""

import functools
import inspect
import threading
from types import UnionType
from typing import Any, ForwardRef, TypeVar, Union, get_args, get_origin

import jaxtyping

JAXTYPED = jaxtyping.jaxtyped
REMEMBERED = 5000
"""Calls unlike each other that are remembered of a function."""


def checked(thing=None, *, typechecker):
    """Decorate as `jaxtyping.jaxtyped` does, which the import hook asks for by that name."""
    if thing is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(thing):
        made = vars(thing).get("__init__")
        if "__dataclass_fields__" in vars(thing) and made and not hasattr(made, "__wrapped__"):
            thing.__init__ = checked(made, typechecker=typechecker)
        return thing
    hints = list(inspect.get_annotations(thing).values())
    if any(getattr(hint, "__module__", "").startswith("triton.") for hint in hints):
        return thing  # Triton compiles it, and calls it by what it is
    yields = inspect.isgeneratorfunction(thing) or inspect.iscoroutinefunction(thing)
    if yields or any("{" in str(hint) for hint in hints) or any(map(is_text, hints)):
        return JAXTYPED(thing, typechecker=typechecker)
    return in_context(thing, typechecker) if any(map(names_axes, hints)) else typechecker(thing)


def in_context(function, typechecker):
    """The function, checked; the axes that its annotations name are its own."""
    waiting, right = threading.local(), {}

    @functools.wraps(function)
    def answered(*given, **named):
        answer = waiting.__dict__.pop("answer", None)
        return function(*given, **named) if answer is None else answer[0]

    inner = typechecker(answered)

    @functools.wraps(function)
    def called(*given, **named):
        with JAXTYPED("context"):
            return inner(*given, **named)

    if not all(map(by_shape, inspect.get_annotations(function).values())):
        return called

    @functools.wraps(function)
    def remembered(*given, **named):
        asked = (*map(facts, given), *named, *map(facts, named.values()))
        answers = right.get(asked)
        if answers is None:
            answer = called(*given, **named)
            if len(right) >= REMEMBERED:
                right.clear()
            right[asked] = {facts(answer)}
            return answer
        answer = function(*given, **named)
        if facts(answer) not in answers:
            waiting.answer = (answer,)
            called(*given, **named)
            answers.add(facts(answer))
        return answer

    return remembered


def by_shape(hint):
    """Whether type and shape of a value say if it fits an annotation."""
    if hint is None or hint is Any:
        return True
    if get_origin(hint) in (Union, UnionType) or (
        get_origin(hint) is tuple and ... not in get_args(hint)
    ):
        return all(map(by_shape, get_args(hint)))
    return isinstance(hint, type) and not (get_args(hint) or getattr(hint, "_is_protocol", False))


def facts(value):
    """Type of a value and, of an array, its shape and the type of its numbers."""
    kind = type(value)
    if kind is tuple:
        return (kind, *map(facts, value))
    numbers = getattr(value, "dtype", None)
    return kind if numbers is None else (kind, numbers, value.shape)


def is_text(hint):
    """Whether an annotation is, or holds, a name that is still to be looked up."""
    if isinstance(hint, list | tuple):
        return any(map(is_text, hint))
    return isinstance(hint, str | ForwardRef) or any(map(is_text, get_args(hint)))


def names_axes(hint):
    """Whether an annotation speaks of an array's axes."""
    if isinstance(hint, list | tuple):
        return any(map(names_axes, hint))
    if isinstance(hint, TypeVar):
        return names_axes((hint.__bound__, *hint.__constraints__))
    return isinstance(hint, type(jaxtyping.AbstractArray)) or names_axes(get_args(hint))
