"""Tests the tests: puts one small fault at a time into a copy of `core` and counts those noticed.

`python -m tests.soak.mutate --count 60 --seed 7 --only core/metrics` draws places of comparisons,
arithmetic and small constants. For each, the tests that import the file run until one fails, then
the goldens, the walks over registries and the tests of commands. A fault takes about a minute.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
}  # fmt: skip
IGNORED = {"annotation", "returns", "decorator_list", "format_spec"}
GENERAL = (
    "tests/test_golden.py", "tests/core/rankers/test_registry.py", "tests/core/cli",
    "tests/core/perturb/test_perturb_registry.py", "tests/core/studies",
)  # fmt: skip
LIMIT = 1800
"""Seconds after which a run counts as noticed: the fault made it hang."""


@dataclass(frozen=True)
class Fault:
    """`new` stands in the file in the place of the characters from `start` to `end`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str


def swapped(node: ast.AST) -> ast.AST | None:
    """The node with another operator or constant; None where there is none to change."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPPED:
            return ast.Compare(node.left, [SWAPPED[type(operator)]()], node.comparators)
        case ast.BinOp() if type(node.op) in SWAPPED and not isinstance(node.left, ast.Constant):
            return ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        case ast.BoolOp():
            return ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        case ast.Constant(value=value) if type(value) in {int, float} and abs(value) <= 10:
            return ast.Constant(value + 1)
    return None


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that computes something: no annotations, no parts of formatted texts."""
    yield tree
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            if (
                name not in IGNORED
                and isinstance(child, ast.AST)
                and type(child) is not ast.JoinedStr
            ):
                yield from nodes(child)


def faults(file: Path, root: Path = ROOT) -> Iterator[Fault]:
    """Every fault of a file."""
    text = file.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(text)):
        new = swapped(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            old, name = text[start:end].decode(), file.relative_to(root).as_posix()
            yield Fault(name, node.lineno, start, end, old, f"({ast.unparse(new)})")


def tests_of(file: str, root: Path) -> list[str]:
    """The files of tests that name the module of a file."""
    module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    named = f"shuffleproof.{module}", f"from shuffleproof.{package} import"
    found = []
    for test in sorted(root.glob("tests/**/test_*.py")):
        text = test.read_text()
        if named[0] in text or (named[1] in text and f" {name}" in text):
            found.append(test.relative_to(root).as_posix())
    return found


def is_noticed(fault: Fault, root: Path) -> bool:
    """Whether a test of the copy fails with the fault in it."""
    place = root / fault.file
    sound = place.read_bytes()
    place.write_bytes(sound[: fault.start] + fault.new.encode() + sound[fault.end :])
    try:
        return not all(
            passes(tests, root) for tests in (tests_of(fault.file, root), GENERAL) if tests
        )
    finally:
        place.write_bytes(sound)


def passes(tests: list[str] | tuple[str, ...], root: Path) -> bool:
    """Whether these tests pass in the copy."""
    environment = os.environ | {"PYTHONPATH": str(root / ".types")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    try:
        ended = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def copied(place: Path) -> Path:
    """A copy of what git knows of this tree, found by the import name in place of the tree."""
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()  # noqa: S607
    for name in names:
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    for name, folder in {"sample_data": "sample_data", "streamlit": ".streamlit"}.items():
        (place / ".types" / "shuffleproof" / name).symlink_to(place / folder)
    return place


def main(arguments: list[str]) -> int:
    """Draw faults, print those that no test notices, and the share of those noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="core", help="a folder or file of core")
    chosen = parser.parse_args(arguments)
    files = sorted(path for path in (ROOT / "core").rglob("*.py"))
    wanted = [path for path in files if path.relative_to(ROOT).as_posix().startswith(chosen.only)]
    every = [fault for path in wanted for fault in faults(path)]
    drawn = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder).resolve())
        for number, fault in enumerate(drawn, 1):
            found = is_noticed(fault, root)
            noticed += found
            if not found:
                sys.stdout.write(f"{fault.file}:{fault.line}: {fault.old} -> {fault.new}\n")
            sys.stdout.write(f"{noticed} of {number} noticed\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
