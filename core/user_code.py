"""Users' functions and objects: their names in this process, and the digests in their keys.

A digest covers the source text of a function or class, its version, and values: closures, defaults,
attributes and weights of an object, parameters. Functions and globals that the source only names
are not in it: give another `version` when they change.
"""

import functools
import hashlib
import importlib
import inspect
import io
import pickle
import re
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from shuffleproof.core.errors import DataError, UsageError, quoted

LONGEST = 300  # characters of an error's own words
Frame = tuple[str, int, str]
MARK = "#"
DIGITS = 8
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class UserCode:
    """A function or object that is registered under a name.

    Attributes:
        kind: `measure`, `perturbation` or `ranker`.
        name: as it was registered.
        full: the name with digits of its digest, which keys and stored results hold.
        thing: the function or object, with its options.
    """

    kind: str
    name: str
    full: str
    thing: Any


_REGISTERED: dict[tuple[str, str], UserCode] = {}
"""By kind and name."""


def register(kind: str, name: str, full: str, thing: Any, ours: Mapping[str, Any]) -> UserCode:
    """Register a name in this process; a second time replaces it.

    Args:
        kind: `measure`, `perturbation` or `ranker`.
        name: letters, digits, `_` and `-`.
        full: the name with digits of its digest.
        thing: the function or object, with its options.
        ours: built-in names.

    Raises:
        UsageError: a built-in name, or one that cannot be written in lists of names.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{quoted(name)} cannot be the name of a {kind}: choose letters, digits, _ and -, a "
            "letter first"
        )
    if name.casefold() in {our_name.casefold() for our_name in ours}:
        raise UsageError(f"{name} is a {kind} of Shuffleproof's own: choose another name")
    code = _REGISTERED[kind, name] = UserCode(kind, name, full, thing)
    return code


def decorating(register_thing: Callable[..., Any]) -> Callable[..., Any]:
    """Make `register_thing(name, thing, **options)` a decorator too, bare or with arguments.

    An empty name means the object's own.
    """

    @functools.wraps(register_thing)
    def registers(name: Any = None, *thing: Any, **options: Any) -> Any:
        if thing:
            return register_thing(name or "", *thing, **options)
        if name is None or isinstance(name, str):
            return lambda target: (register_thing(name or "", target, **options), target)[1]
        register_thing("", name, **options)
        return name

    return registers


def registered_code(kind: str, name: str) -> UserCode | None:
    """The registration of a name, with or without its digits; None: there is none, or another one.

    >>> registered_code("measure", "hits#00000000") is None
    True
    """
    code = _REGISTERED.get((kind, name.partition(MARK)[0]))
    return code if code and name in {code.name, code.full} else None


def names(kind: str) -> list[str]:
    """The names that are registered here."""
    return [name for of, name in _REGISTERED if of == kind]


def missing_code(kind: str, name: str) -> UsageError:
    """The error for user code that is to be called and is not registered in this process."""
    bare = name.partition(MARK)[0]
    other = _REGISTERED.get((kind, bare))
    finding = f"is not the {bare} that is registered here, {other.full}" if other else ""
    finding = finding or "is user code that is not registered in this process"
    return UsageError(
        f"{kind} {quoted(name)} {finding}: stored results can be read, but nothing new can be "
        f"computed. Register it by `shuffleproof.{kind}`, or in a shell by `--with MODULE`"
    )


def importable_name(thing: Any) -> str:
    """The `module:function` by which another process finds a function; empty where there is none.

    >>> importable_name(inspect.signature), importable_name(lambda: 0), importable_name(3)
    ('inspect:signature', '', '')
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    home = sys.modules.get(module or "")
    if module == "__main__" or getattr(home, "__file__", None) is None:
        return ""
    return f"{module}:{name}" if getattr(home, name, None) is thing else ""


def import_module_of_user(module: str) -> None:
    """Import a module that registers user code, looked up from the current folder first.

    Raises:
        DataError: there is none, or its import failed.
    """
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever a user's module does
        remedy = (
            "Name a module, as in `import` (no .py), from the folder that holds it; or mend it."
        )
        raise DataError(module, f"it cannot be imported: {failure(error)}", remedy) from error


def digest_of(name: str, thing: Any, version: str = "1", parameters: Any = ()) -> str:
    """The digest of a function or object: its source text, its version and its values.

    Where a source cannot be read (a REPL, a C function) or a value cannot be pickled, a warning
    says so, and name, version and what can be read decide.

    >>> digest, other = (digest_of("f", lambda x, a=a: x + a) for a in (1, 2))
    >>> digest != other, digest_of("f", len, "2") != digest_of("f", len, "1")
    (True, True)
    """
    content = io.BytesIO()
    inner = inspect.unwrap(thing) if callable(thing) else thing
    coded = inner if isinstance(inner, type | FunctionType) else type(inner)
    source = source_of(coded)
    unreadable = "" if source or _is_installed(coded) else "source"
    try:
        _SourcePickler(content).dump((thing, version, parameters))
    except Exception:  # noqa: BLE001 (whatever objects of users do when they are pickled)
        content, unreadable = io.BytesIO(f"{name}\0{version}\0{source}".encode()), "values"
    if unreadable:
        warnings.warn(
            f"the {unreadable} of {name or type(thing).__name__} cannot be read, so changes of it "
            "go unnoticed: give another `version` whenever it changes",
            stacklevel=4,
        )
    return hashlib.sha256(content.getvalue()).hexdigest()


def source_of(thing: Any) -> str:
    """The source text of a function or class; empty where it cannot be read.

    Of a class in a notebook, whose text Python does not find, that of its methods.
    """
    with suppress(OSError, TypeError):
        text = inspect.getsource(thing)
        if getattr(thing, "__name__", "") == "<lambda>":  # a line may hold several
            text += str([column for *_, column in thing.__code__.co_positions()])
        return text
    methods = vars(thing).values() if isinstance(thing, type) else ()
    return "".join(source_of(method) for method in methods if isinstance(method, FunctionType))


class _SourcePickler(pickle.Pickler):
    """Writes values as pickles; a function or class of a user as its source and what it holds."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self._written: list[Any] = []

    def persistent_id(self, thing: Any) -> Any:
        """The value that is written in place of another; None: its pickle."""
        if isinstance(thing, set | frozenset):  # whose order differs between processes
            return sorted(map(repr, thing))
        if hasattr(thing, "untyped_storage") and not isinstance(thing, type):
            import torch  # noqa: PLC0415 (loaded already: the thing is a tensor)

            content = thing.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            return str(thing.dtype), tuple(thing.shape), content.numpy().tobytes()
        thing = inspect.unwrap(thing) if callable(thing) else thing
        is_code = isinstance(thing, FunctionType | type) and not _is_installed(thing)
        if not is_code or not (source := source_of(thing)):
            return None
        if any(thing is known for known in self._written):
            return source
        self._written.append(thing)
        if isinstance(thing, type):
            return source, thing.__bases__
        values = [cell.cell_contents for cell in thing.__closure__ or ()]
        return source, thing.__defaults__, thing.__kwdefaults__, values


def _is_installed(thing: Any) -> bool:
    """True of what is Python's, an installed package's or Shuffleproof's own."""
    home = sys.modules.get(getattr(thing, "__module__", None) or "")
    code = getattr(thing, "__code__", None)
    file = code.co_filename if code else getattr(home, "__file__", None) or ""
    return file.startswith((*_libraries(), _OURS, "<frozen")) or home is sys.modules["builtins"]


_OURS = str(Path(__file__).parent)
_IMPORTER = str(Path(importlib.__file__).parent)


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({str(Path(paths[name])) + "/" for name in kinds})


def failure(error: BaseException) -> str:
    r"""An exception as its traceback ends, and the line of the user's own files.

    >>> failure(ValueError("too \x1b[31mfew"))
    'ValueError: too [31mfew'
    """
    last_line = traceback.format_exception_only(error)[-1]
    shown = "".join(letter if letter.isprintable() else " " for letter in last_line)
    words = " ".join(shown.split())[:LONGEST]
    line = user_line(error)
    return f"{words} ({line})" if line else words


def user_line(error: BaseException) -> str:
    """The line of the user's own files that an exception comes from; empty where it is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return place([(error.filename, error.lineno or 0, "")])
    trace = traceback.extract_tb(error.__traceback__)
    return place([(frame.filename, frame.lineno or 0, frame.name) for frame in trace])


def place(frames: Sequence[Frame]) -> str:
    """Place in a user's files: the innermost line outside libraries, if there is one.

    Args:
        frames: file, line and function, the innermost last.

    >>> place([("lab/mine.py", 3, "score"), (traceback.__file__, 9, "_exit")])
    'lab/mine.py:3 in score'
    >>> place([])
    ''
    """
    known = [frame for frame in frames if not frame[0].startswith((_OURS, "<frozen", _IMPORTER))]
    user_frames = [frame for frame in known if not frame[0].startswith(_libraries())] or known
    if not user_frames:
        return ""
    file, line, function = user_frames[-1]
    with suppress(ValueError):  # elsewhere
        file = str(Path(file).relative_to(Path.cwd()))
    return f"{file}:{line}" + (f" in {function}" if function not in {"", "<module>"} else "")


def parameters_of(function: Callable[..., Any]) -> tuple[int, frozenset[str]]:
    """Number of required positional values of a function, and all names of its parameters.

    >>> parameters_of(lambda labels, cutoff=None, *, judged=(): 0)[0]
    1
    """
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # something compiled
        return 1, frozenset()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        parameter
        for parameter in declared
        if parameter.kind in kinds and parameter.default is parameter.empty
    ]
    return len(needed), frozenset(parameter.name for parameter in declared)
