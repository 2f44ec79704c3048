"""Commands of the shell as functions: the same flags, checks and work, with values for texts."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from inspect import Parameter, Signature, signature
from os import PathLike
from typing import Any, TypeVar

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.arguments import flags_of, function_at, parser
from shuffleproof.core.errors import FLAG, ShuffleproofError, UnknownNameError, UsageError
from shuffleproof.core.parameters import text_of

Function = TypeVar("Function", bound=Callable[..., Any])

SHARED = frozenset({"json", "store", "device"})
"""Flags that a function has no use for, or says otherwise."""


@contextmanager
def arguments_for_flags() -> Iterator[None]:
    """Let refusals name arguments of Python where they name flags of the shell; a decorator too.

    >>> with arguments_for_flags():
    ...     raise UsageError("cut them (--depth 40), or take --max-seconds (--set)")
    Traceback (most recent call last):
    shuffleproof.core.errors.UsageError: cut them (depth=40), or take max_seconds= (field=value)
    """
    try:
        yield
    except ShuffleproofError as error:
        message = str(error).replace("--set", "field=value")
        message = FLAG.sub(lambda flag: flag[1].replace("-", "_") + (flag[2] or "="), message)
        error.args = (message,)
        raise


@arguments_for_flags()
def answer(command: str, places: Sequence[Any], flags: Mapping[str, Any]) -> Answer:
    """Answer of a command.

    Args:
        command: its name.
        places: its arguments without a flag.
        flags: by their names with underscores; None and False: not given.

    Raises:
        ShuffleproofError: as the command refuses or fails.
    """
    known = {flag.dest: flag for flag in flags_of(command) if flag.option_strings}
    words = [command]
    for name, value in flags.items():
        if name not in known:
            raise UnknownNameError(f"argument of {command}", name, set(known) - SHARED)
        flag = known[name].option_strings[0]
        if value is None or value is False:
            continue
        if known[name].nargs == 0:
            words.append(flag)
        elif known[name].nargs == "+":
            several = [value] if isinstance(value, str | PathLike) else value
            words += [flag, *map(str, several)]
        else:
            words.append(f"{flag}={_text(value)}")
    stderr = io.StringIO()
    try:
        with redirect_stderr(stderr):
            chosen = parser().parse_args([*words, *(["--"] if places else []), *map(str, places)])
    except SystemExit:
        last = stderr.getvalue().strip().splitlines()[-1]
        why = last.partition(": ")[2].partition(". `shuffleproof ")[0].removeprefix("--")
        raise UsageError(f"{command}: {why}; give it what its help names") from None
    result: Answer = function_at(chosen.answer)(chosen)
    return result


def _text(value: Any) -> str:
    """The text of a value; width and height are written 640x360.

    >>> _text((640, 360)), _text(("a", "b")), _text((0.5, 0.25, 0.25))
    ('640x360', 'a,b', '0.5,0.25,0.25')
    """
    if isinstance(value, tuple | list) and len(value) == 2:
        width, height = value
        if isinstance(width, int) and isinstance(height, int):
            return f"{width}x{height}"
    return text_of(value)


def takes_flags(command: str, *without: str) -> Callable[[Function], Function]:
    """A decorator: signature and docstring name the flags that a function takes as `**flags`.

    Args:
        command: whose flags they are.
        without: those that it does not take, beside those that are its own arguments.
    """

    def named(function: Function) -> Function:
        every = signature(function).parameters.values()
        arguments = [argument for argument in every if argument.kind is not Parameter.VAR_KEYWORD]
        absent = {*SHARED, *without, *(argument.name for argument in arguments)}
        flags = [
            flag for flag in flags_of(command) if flag.option_strings and flag.dest not in absent
        ]
        more = [
            Parameter(flag.dest, Parameter.KEYWORD_ONLY, default=flag.default) for flag in flags
        ]
        function.__signature__ = Signature([*arguments, *more])  # type: ignore[attr-defined]
        helps = (
            f"    {flag.dest}: {(flag.help or ', '.join(flag.choices or ())).replace('%%', '%')}"
            for flag in flags
        )
        function.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), *helps])
        return function

    return named
