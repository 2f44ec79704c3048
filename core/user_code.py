"""Code of users' own that runs in this process: what it is known by, and what is registered.

A function or object is known by a digest of the code that runs (bytecode, constants and the names
that it uses), of its default and closure values, of the globals that it reads, and of what an
object holds: arrays, weights, trees. Comments, blank lines and docstrings do not count. Packages
that are installed count by name and version, modules of one's own by their file.
"""

import dis
import functools
import hashlib
import importlib
import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePath
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
    UnionType,
)
from typing import Any

from shuffleproof.core.errors import DataError, UsageError, quoted

LONGEST = 300  # characters of an error's own words
Frame = tuple[str, int, str]
MARK = "#"
DIGITS = 8
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

_PLAIN = (NoneType, bool, int, float, complex, str, bytes, range, slice, type(...), PurePath)
_UNTOLD = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__annotations__",
        "__abstractmethods__",
        "_abc_impl",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__match_args__",
        "__parameters__",
        "__orig_bases__",
        "__slots__",
        "__slotnames__",
    }
)
"""What a class has beside what somebody wrote into it."""


class _UntellableError(Exception):
    """Something whose content cannot be told: a lock, an open file, a generator."""


@dataclass(frozen=True)
class UserCode:
    """Something that a user registered under a name.

    Attributes:
        kind: what it is: `measure`, `perturbation`, `ranker`.
        name: as it was registered.
        full: the name with the digits of what it is known by, which keys and stored results hold.
        thing: what was registered, with what was declared of it.
    """

    kind: str
    name: str
    full: str
    thing: Any


_REGISTERED: dict[tuple[str, str], UserCode] = {}
"""By kind and name."""


def register(kind: str, name: str, full: str, thing: Any, ours: Mapping[str, Any]) -> UserCode:
    """Let a name mean something from now on, in this process alone; a second time replaces it.

    Args:
        kind: `measure`, `perturbation` or `ranker`.
        name: letters, digits, `_` and `-`.
        full: the name with the digits that it is known by.
        thing: what it means.
        ours: the names that are taken.

    Raises:
        UsageError: a name of the program's own, or one that cannot be written in lists of names.
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


def registered_code(kind: str, name: str) -> UserCode | None:
    """What a name means here, with or without its digits; None: nothing, or another version.

    >>> registered_code("measure", "hits#00000000") is None
    True
    """
    code = _REGISTERED.get((kind, name.partition(MARK)[0]))
    return code if code and name in {code.name, code.full} else None


def names(kind: str) -> list[str]:
    """The names that are registered here."""
    return [name for of, name in _REGISTERED if of == kind]


def full_family(family: str) -> str:
    """A family of perturbations, or a chain of them, with the digits of those of user code.

    Blanks and case are forgiven of what is no user code; whom an attack is made on stays.

    >>> full_family(" Transpositions : 5 + Shuffle shown"), full_family("gradient-sign@My:Score")
    ('transpositions:5+shuffle-shown', 'gradient-sign@My:Score')
    """

    def full(link: str) -> str:
        name, colon, level = (part.strip() for part in link.partition(":"))
        known = registered_code("perturbation", name)
        usual = name if MARK in name else name.casefold().replace(" ", "-")
        return (known.full if known else usual) + colon + level

    links, at, whom = family.partition("@")
    return "+".join(map(full, links.split("+"))) + at + whom


def missing_code(kind: str, name: str) -> UsageError:
    """That something of user code is to be asked which is not registered in this process."""
    bare = name.partition(MARK)[0]
    other = _REGISTERED.get((kind, bare))
    finding = f"is not the {bare} that is registered here, {other.full}" if other else ""
    finding = finding or "is user code that is not registered in this process"
    return UsageError(
        f"{kind} {quoted(name)} {finding}: what is stored of it can be read, and nothing can be "
        f"asked anew; run what registers it (`shuffleproof.{kind}`; in a shell `--with MODULE`)"
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
    except Exception as error:  # whatever somebody's module does
        remedy = (
            "Name a module, as in `import` (no .py), from the folder that holds it; or mend it."
        )
        raise DataError(module, f"it cannot be imported: {failure(error)}", remedy) from error


def digest_of(*things: Any) -> str:
    """What things are known by; empty where something in them cannot be told.

    >>> digest, other = digest_of(lambda x: x + 1), digest_of(lambda x: x + 2)
    >>> digest != other, digest == digest_of(lambda x: x + 1)
    (True, True)
    >>> with open(__file__) as file:
    ...     digest_of(file)
    ''
    """
    teller = _Teller()
    try:
        for thing in things:
            teller.tell(thing)
    except (_UntellableError, RecursionError):
        return ""
    return teller.digest.hexdigest()


class _Teller:
    """Digests what things are, one inside the other; which of two equal things it is is no part."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._within: list[int] = []  # the things that are being told, by id
        self._known: dict[int, tuple[Any, bytes]] = {}  # held, so that no id is used again

    def write(self, tag: str, content: bytes = b"") -> None:
        """A tag and bytes, so that no two things are written alike."""
        self.digest.update(f"{tag} {len(content)}\0".encode())
        self.digest.update(content)

    def tell(self, thing: Any) -> None:
        """Write one thing, whatever it is."""
        if isinstance(thing, _PLAIN) and not isinstance(thing, Enum):
            self.write(type(thing).__name__, repr(thing).encode(errors="surrogatepass"))
        elif id(thing) in self._within:
            depth = len(self._within) - self._within.index(id(thing))
            self.write("within", str(depth).encode())
        else:
            self.write("thing", self._of(thing))

    def _of(self, thing: Any) -> bytes:
        if id(thing) in self._known:
            return self._known[id(thing)][1]
        outer, self.digest = self.digest, hashlib.sha256()
        self._within.append(id(thing))
        write = next((write for kinds, write in _TOLD if isinstance(thing, kinds)), _Teller._object)
        write(self, thing)
        self._within.pop()
        inner, self.digest = self.digest.digest(), outer
        self._known[id(thing)] = (thing, inner)
        return inner

    def _several(self, things: Any) -> None:
        self.write(type(things).__name__, str(len(things)).encode())
        for thing in things:
            self.tell(thing)

    def _set(self, things: Any) -> None:
        digests = [digest_of(thing) for thing in things]
        if "" in digests:
            raise _UntellableError
        self.write("set", "".join(sorted(digests)).encode())

    def _mapping(self, things: Mapping[Any, Any]) -> None:
        self.write("mapping", str(len(things)).encode())
        for name, value in things.items():
            self.tell(name)
            self.tell(value)

    def _code(self, code: CodeType) -> None:
        """Its instructions with what they load: a docstring, which none loads, is no part."""
        self._several((code.co_varnames[: code.co_argcount], code.co_flags, code.co_exceptiontable))
        for instruction in dis.get_instructions(code):
            self.write(instruction.opname)
            self.tell(
                instruction.argval
                if instruction.opcode in dis.hasconst
                else repr(instruction.argval)
            )

    def _function(self, function: FunctionType) -> None:
        if function.__code__.co_filename.startswith((*_libraries(), _OURS, "<frozen")):
            self._named(function)
            return
        home = function.__globals__
        self._code(function.__code__)
        cells = function.__closure__ or ()
        with suppress(ValueError):  # a cell that is not filled yet
            self._several([cell.cell_contents for cell in cells])
        self._several((function.__defaults__, function.__kwdefaults__, vars(function)))
        for name in sorted(_globals_read(function.__code__)):
            if name in home:
                self.write("global", name.encode())
                self.tell(home[name])

    def _class(self, kind: type) -> None:
        self._named(kind)
        if _is_installed(kind.__module__):
            return
        for name, value in sorted(vars(kind).items()):
            if name not in _UNTOLD:
                self.write("member", name.encode())
                self.tell(value)
        self._several(kind.__bases__)

    def _module(self, module: ModuleType) -> None:
        self.write("module", module.__name__.encode())
        file = getattr(module, "__file__", None)
        if _is_installed(module.__name__):
            self.write("version", _version(module.__name__))
        elif file and Path(file).is_file():
            self.write("file", Path(file).read_bytes())

    def _named(self, thing: Any) -> None:
        """By module and name, and by its package's version."""
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if name is None:
            raise _UntellableError
        self.write("name", f"{module}.{name}".encode())
        if module and _is_installed(module):
            self.write("version", _version(module))

    def _built_in(self, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        self._named(function)
        if owner is not None and not isinstance(owner, ModuleType):
            self.tell(owner)

    def _object(self, thing: Any) -> None:
        kind = type(thing)
        self.tell(kind)
        for module, write in _FOREIGN.items():
            if kind.__module__.partition(".")[0] == module and write(self, thing):
                return
        if callable(inner := getattr(thing, "py_func", getattr(thing, "__wrapped__", None))):
            self.tell(inner)  # compiled, or remembering its answers
            return
        try:
            reduced = thing.__reduce_ex__(4)
        except Exception as error:  # a file, a lock, a generator, or somebody's own code
            raise _UntellableError from error
        if isinstance(reduced, str):
            self.write("name", reduced.encode())
            return
        maker, given, *content = reduced
        self._several((maker, given, *content[:1]))
        for more in content[1:3]:  # what lists and mappings hold
            self._several(list(more or ()))

    def _numpy(self, thing: Any) -> bool:
        import numpy as np  # noqa: PLC0415 (loaded already: the thing is NumPy's)

        if isinstance(thing, np.ndarray | np.generic) and not thing.dtype.hasobject:
            self.write(f"{thing.dtype} {thing.shape}", np.ascontiguousarray(thing).tobytes())
            return True
        if isinstance(thing, np.random.Generator):
            self.tell(thing.bit_generator.state)
            return True
        if isinstance(thing, np.ndarray):
            self._several(thing.ravel().tolist())
            return True
        return False

    def _torch(self, thing: Any) -> bool:
        import torch  # noqa: PLC0415 (loaded already: the thing is torch's)

        if isinstance(thing, torch.Tensor):
            bare = thing.detach().cpu().contiguous().reshape(-1)
            content = bare.view(torch.uint8).numpy().tobytes()
            self.write(f"{thing.dtype} {tuple(thing.shape)}", content)
            return True
        if isinstance(thing, torch.dtype | torch.device):
            self.write("torch", repr(thing).encode())
            return True
        return False

    def _lightgbm(self, thing: Any) -> bool:
        if type(thing).__name__ != "Booster":
            return False
        self.write("trees", thing.model_to_string().encode())
        return True

    def _xgboost(self, thing: Any) -> bool:
        if type(thing).__name__ != "Booster":
            return False
        self.write("trees", bytes(thing.save_raw("json")))
        return True


_TOLD: Sequence[tuple[Any, Callable[[_Teller, Any], None]]] = (
    (Enum, lambda teller, member: teller._several((type(member).__qualname__, member.name))),  # noqa: SLF001 (the table of its methods)
    ((tuple, list), _Teller._several),  # noqa: SLF001
    ((set, frozenset), _Teller._set),  # noqa: SLF001
    (Mapping, _Teller._mapping),  # noqa: SLF001
    (CodeType, _Teller._code),  # noqa: SLF001
    (FunctionType, _Teller._function),  # noqa: SLF001
    (MethodType, lambda teller, method: teller._several((method.__func__, method.__self__))),  # noqa: SLF001
    (
        functools.partial,
        lambda teller, call: teller._several((call.func, call.args, call.keywords)),  # noqa: SLF001
    ),
    ((staticmethod, classmethod), lambda teller, method: teller.tell(method.__func__)),
    (property, lambda teller, access: teller._several((access.fget, access.fset, access.fdel))),  # noqa: SLF001
    (ModuleType, _Teller._module),  # noqa: SLF001
    (UnionType, lambda teller, union: teller._several(union.__args__)),  # noqa: SLF001
    (type, _Teller._class),  # noqa: SLF001
    (BuiltinFunctionType, _Teller._built_in),  # noqa: SLF001
)
_FOREIGN: Mapping[str, Callable[[_Teller, Any], bool]] = {
    "numpy": _Teller._numpy,  # noqa: SLF001
    "torch": _Teller._torch,  # noqa: SLF001
    "lightgbm": _Teller._lightgbm,  # noqa: SLF001
    "xgboost": _Teller._xgboost,  # noqa: SLF001
}


def _globals_read(code: CodeType) -> set[str]:
    """The names that a function, or one inside it, looks up among its module's."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
    }
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*map(_globals_read, inner))


@functools.lru_cache(maxsize=1024)
def _is_installed(module: str | None) -> bool:
    """Whether a module is Python's, an installed package's or this program's."""
    if not module or module == "__main__" or module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:  # built in; or a folder without __init__, or made while it ran
        return module in sys.builtin_module_names or hasattr(sys.modules[module], "__path__")
    return file.startswith((*_libraries(), _OURS))


def _version(module: str) -> bytes:
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", "")).encode()


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
    """Where in somebody's files: the innermost line that is no library's, where there is one.

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
    """How many values a function must be given in order, and every name that it takes.

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
