"""Small faults that can be put into `core`, each at one place of one file.

A fault is told by its file, the text of its line, and what becomes of it: line numbers move with
every change above them, so that nothing is looked up by them.
"""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
QUIET_KEYWORDS = {
    "strict", "cache", "nogil", "copy", "stacklevel", "help", "width", "indent", "frozen", "repr",
    "ensure_ascii", "flush", "daemon", "allow_pickle", "kw_only",
}  # fmt: skip
QUIET_CALLS = {
    "print", "ljust", "rjust", "center", "cast", "TypeVar", "njit", "compiled", "info", "debug",
    "warning",
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One fault: `new` stands in `file` instead of the bytes `start` to `end`."""

    file: str
    line: int
    function: str  # the outermost function or method; "" for what runs when the module is loaded
    text: str
    kind: str
    change: str
    start: int
    end: int
    new: str

    def undone(self) -> "Fault":
        """The same place with nothing wrong: what fails there fails by itself."""
        was = (ROOT / self.file).read_bytes()[self.start : self.end].decode()
        return replace(self, kind="none", change="none", new=was)

    def applied(self) -> str:
        """The whole text of the file with the fault in it, its lines where they were."""
        text = (ROOT / self.file).read_bytes()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()


def is_compiled(source: str) -> bool:
    """Whether Numba compiles a function of it."""
    return "njit(" in source or "compiled(" in source


def files() -> list[str]:
    """The files of `core` in which faults are put, sorted."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "core").rglob("*.py"))


def drawn(
    count: int, seed: int, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> list[Fault]:
    """So many places of all there are, and one of the faults that each allows."""
    names = [n for n in files() if (not only or n.startswith(only)) and not n.startswith(skip)]
    places = [place for name in names for place in sites(name)]
    generator = random.Random(seed)
    chosen = generator.sample(places, min(count, len(places)))
    return [generator.choice(place) for place in chosen]


def there(fault: Fault) -> Fault | None:
    """A fault where its line stands now; none where there is no such line any more."""
    if fault.file not in files():
        return None
    found = [one for place in sites(fault.file) for one in place if alike(one, fault)]
    return min(found, key=lambda one: abs(one.line - fault.line), default=None)


def alike(one: Fault, other: Fault) -> bool:
    """Whether two faults are the same but for their place."""
    parts = ("file", "function", "text", "change", "new")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


def sites(file: str) -> Iterator[list[Fault]]:
    """Every place of a file where a fault can stand, with the faults that it allows."""
    source = (ROOT / file).read_bytes()
    yield from Finder(file, source).found(ast.parse(source))


class Finder:
    """Walks a module and finds its faults."""

    def __init__(self, file: str, source: bytes) -> None:
        """Nothing is read but the text that is handed over."""
        self.file, self.source = file, source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def found(self, node: ast.AST, function: str = "") -> Iterator[list[Fault]]:
        """The places in a node and below it."""
        if quiet(node):
            return
        made = [self.fault(node, function, *change) for change in changes(node)]
        if made:
            yield made
        if condition := getattr(node, "test", None):
            negated = ast.UnaryOp(ast.Not(), condition)
            yield [self.fault(condition, function, "negation", "negated", negated)]
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "type_params", "format_spec"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.found(child, self.inside(node, field, function))

    @staticmethod
    def inside(node: ast.AST, field: str, function: str) -> str:
        """The name of the outermost function that the child belongs to; `Class.` on the way."""
        if function and not function.endswith("."):
            return function
        if isinstance(node, ast.ClassDef) and field == "body":
            function = f"{function}{node.name}."
        if isinstance(node, ast.FunctionDef) and field == "body":
            return f"{function}{node.name}"
        return function

    def fault(self, node: ast.AST, function: str, kind: str, change: str, to: ast.AST) -> Fault:
        """The fault that puts `to` in a node's place, on as many lines as it had."""
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        spare = "\n" * (node.end_lineno - node.lineno)
        new = ast.unparse(to)
        new = f"{new}{spare}" if isinstance(to, ast.stmt) else f"({new}{spare})"
        text = self.lines[node.lineno - 1].decode().strip()
        name = "" if function.endswith(".") else function
        was = ast.unparse(node)
        told = change if len(was) > 60 else f"{change}: {was}"
        return Fault(self.file, node.lineno, name, text, kind, told, start, end, new)


def quiet(node: ast.AST) -> bool:
    """Whether nothing below it is an answer: errors, texts, layout, types."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case (
            ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.If(test=ast.Compare(left=ast.Name(id="__name__")))
            | ast.Assign(targets=[ast.Name(id="__all__")])
        ):
            return True
        case ast.keyword(arg=name):
            return name in QUIET_KEYWORDS
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in QUIET_CALLS or name.endswith(("Error", "Warning"))
    return False


def changes(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """(kind, what becomes of it, the node instead) of every fault at a node itself."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for place, op in enumerate(ops):
                other = COMPARED[type(op)]()
                new = [*ops[:place], other, *ops[place + 1 :]]
                yield "comparison", f"{sign(op)} → {sign(other)}", ast.Compare(left, new, others)
        case ast.BinOp() | ast.AugAssign() | ast.UnaryOp():
            yield from of_operation(node)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "boolean", f"{sign(op)} → {sign(other)}", ast.BoolOp(other, values)
        case ast.Constant(value=bool() | int() | float() as value):
            for new in neighbours(value):
                yield "constant", f"{value} → {new}", ast.Constant(new)
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            for name, bounds in moved(part):
                yield "slice", name, ast.Subscript(value, bounds)


def of_operation(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """The faults of arithmetic, of signs and of `not`."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if computed(node):
            other = COMPUTED[type(op)]()
            yield "arithmetic", f"{sign(op)} → {sign(other)}", ast.BinOp(left, other, right)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in COMPUTED:
            other = COMPUTED[type(op)]()
            text = f"{sign(op)}= → {sign(other)}="
            yield "arithmetic", text, ast.AugAssign(target, other, value)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "arithmetic", "minus dropped", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "negation", "not dropped", operand


def moved(part: ast.Slice) -> Iterator[tuple[str, ast.Slice]]:
    """A slice with one of its bounds one further or one less; those that are numbers are left."""
    for op in (ast.Add(), ast.Sub()):
        for name in ("lower", "upper"):
            bound = getattr(part, name)
            if bound is not None and not isinstance(bound, ast.Constant):
                bounds = {"lower": part.lower, "upper": part.upper, "step": part.step}
                bounds[name] = ast.BinOp(bound, op, ast.Constant(1))
                yield f"{name} bound {sign(op)} 1", ast.Slice(**bounds)


def computed(node: ast.BinOp) -> bool:
    """Whether an operation computes a number (or a set), and is not a text or a type."""
    texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.ListComp)
    for side in (node.left, node.right):
        if isinstance(side, texts):
            return False
        if isinstance(side, ast.Constant) and not isinstance(side.value, (int, float)):
            return False
        if isinstance(side, ast.Name) and side.id in {
            "int",
            "str",
            "float",
            "Path",
            "bool",
            "dict",
        }:
            return False
        if isinstance(side, ast.BinOp) and not computed(side):
            return False
    return type(node.op) in COMPUTED


def neighbours(value: float) -> list[float]:
    """What is near a constant: one more or less, half or twice, the other truth value."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if abs(value) < 1024 else [value * 2]
    return [value * 2.0, value / 2.0] if value else [1.0]


SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+",
    ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>", ast.And: "and",
    ast.Or: "or",
}  # fmt: skip


def sign(op: ast.AST) -> str:
    """How an operator is written."""
    return SIGNS[type(op)]
