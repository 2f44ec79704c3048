"""Annotations are checked at every call in a test run: those of shapes, and all others.

`--jaxtyping-packages` decorates every function and dataclass of the core. Its own wrapper binds the
arguments anew and checks the parameters twice, at tens of microseconds a call, which was more than
half of the suite. Here Beartype alone checks what names no axis; what does is checked by Beartype
in a context of jaxtyping, in which an axis has one size in the parameters and in the result.
"""

import functools
import inspect
from typing import ForwardRef, TypeVar, get_args

import jaxtyping

JAXTYPED = jaxtyping.jaxtyped


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
    yields = inspect.isgeneratorfunction(thing) or inspect.iscoroutinefunction(thing)
    if yields or any("{" in str(hint) for hint in hints) or any(map(is_text, hints)):
        return JAXTYPED(thing, typechecker=typechecker)
    return in_context(thing, typechecker) if any(map(names_axes, hints)) else typechecker(thing)


def in_context(function, typechecker):
    """The function, checked; the axes that its annotations name are its own."""
    inner = typechecker(function)

    @functools.wraps(function)
    def called(*given, **named):
        with JAXTYPED("context"):
            return inner(*given, **named)

    return called


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
