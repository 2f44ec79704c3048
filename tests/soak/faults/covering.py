"""Which tests run which lines of `core`, and which of them are asked about a fault."""

import ast
import collections
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.soak.faults.places import ROOT, Fault, files, is_compiled


@dataclass
class Ran:
    """The lines that the tests of a file run.

    Attributes:
        tests: by name, seconds of computing, whether it passed, what its text is known by.
        lines: by "file|function|text", the numbers of the tests that run it.
    """

    tests: dict[str, list[Any]] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def read(cls, place: Path) -> "Ran":
        """What was written down; nothing where nothing was."""
        found = json.loads(place.read_text()) if place.exists() else {"tests": {}, "lines": {}}
        return cls(found["tests"], found["lines"])

    def digest(self, test: str) -> str:
        """What a test's text was known by; empty where the test was not there."""
        return (*self.tests.get(test, (0, 0, "")), "?")[2]

    def add(self, test: str, facts: list[Any] | None, lines: Iterable[str]) -> None:
        """Adds a test with its lines, or lines to a test that is there."""
        if facts and test in self.tests:  # its number goes on to mean what it was
            names = [f"{name} (before)" if name == test else name for name in self.tests]
            facts_of = [[0, False, ""] if n == test else f for n, f in self.tests.items()]
            self.tests = dict(zip(names, facts_of, strict=True))
        if facts:
            self.tests[test] = facts
        if test in self.tests:
            number = list(self.tests).index(test)
            for line in lines:
                self.lines.setdefault(line, []).append(number)


class Covering:
    """Which tests run which lines, as a session wrote it down file by file."""

    def __init__(self, work: Path) -> None:
        """Reads what was written down; tests that fail without a fault are left out."""
        self.took: dict[str, float] = {}
        self.breadth: collections.Counter[str] = collections.Counter()
        self.by_line: dict[str, set[str]] = collections.defaultdict(set)
        self.by_function: dict[str, set[str]] = collections.defaultdict(set)
        for place in (work / "lines").glob("*.json"):
            found = Ran.read(place)
            names = list(found.tests)
            passed = {name for name, facts in found.tests.items() if facts[1]}
            self.took |= {name: facts[0] for name, facts in found.tests.items()}
            for line, tests in found.lines.items():
                those = {names[test] for test in tests} & passed
                self.by_line[line] |= those
                self.by_function[line.rpartition("|")[0]] |= those
                self.breadth.update(those)
        self.mentions = mentions()

    def chosen(self, fault: Fault, budget: float, *, anew: bool = False) -> tuple[list[str], int]:
        """(the tests to run, how many there are) for a fault: the narrowest and quickest first.

        Args:
            fault: what was put in.
            budget: seconds that the tests took without it, at most.
            anew: modules are loaded again, of a few files of tests.
        """
        module = fault.file.removesuffix(".py").replace("/", ".")
        found = self.of_loading(fault, module) if anew else self.covering(fault)
        files_found = set(map(file_of, found))
        near = {file for file in files_found if imports(file, module) or is_kin(file, module)}

        def weight(test: str) -> float:
            far = 1 if file_of(test) in near else 4
            return far * (0.02 + self.took[test]) * (20 + self.breadth[test])

        chosen, spent, of = [], 0.0, {}
        for test in sorted(found, key=weight):
            if anew and file_of(test) not in of and len(of) >= FILES_ANEW:
                continue
            spent += self.took[test]
            if chosen and spent > budget:
                break
            of.setdefault(file_of(test), len(of))
            chosen.append(test)
        return sorted(chosen, key=lambda test: of[file_of(test)]), len(found)

    def covering(self, fault: Fault) -> set[str]:
        """The tests that run its line; of what is compiled, those that call it.

        A line that was written since then is asked of the tests of its function.
        """
        name = f"{fault.file}|{fault.function}"
        if found := self.by_line.get(f"{name}|{fault.text}"):
            return found
        if self.mentions[name][1]:
            return self.naming({fault.function})
        return self.by_function[name]

    def of_loading(self, fault: Fault, module: str) -> set[str]:
        """The tests of what depends on a value that is made when the module is loaded."""
        inside = [name for name in self.by_function if name.startswith(f"{fault.file}|")]
        found = self.naming(assigned(fault)).union(*(self.by_function[name] for name in inside))
        return found | {test for test in self.took if imports(file_of(test), module)}

    def naming(self, names: set[str]) -> set[str]:
        """The tests of functions that name one of these, also through what is made from it."""
        found, before = set(), -1
        while len(names) > before:
            before = len(names)
            for made, said in made_at_load():
                names = names | (made if said & names else set())
            for function, (said, compiled) in self.mentions.items():
                if said & names:
                    found |= self.by_function.get(function, set())
                    names = names | ({function.rpartition("|")[2]} if compiled else set())
        return found

    def limits(self, fault: Fault, chosen: list[str]) -> tuple[float, float]:
        """Seconds of computing and by the clock after which these tests hang.

        What numba compiles is compiled anew first.
        """
        took = sum(self.took[test] for test in chosen)
        took += 60 if is_compiled((ROOT / fault.file).read_text()) else 0
        return 30 + 4 * took, 120 + 12 * took


FILES_ANEW = 12  # files of tests that are loaded again for one fault


def file_of(test: str) -> str:
    """The file that a test stands in."""
    return test.partition("::")[0]


@cache
def tree_of(file: str) -> ast.Module:
    """A file of ours, parsed."""
    return ast.parse((ROOT / file).read_bytes())


def mentions() -> dict[str, tuple[set[str], bool]]:
    """Of every function of `core`: the names in it, and whether numba compiles it."""
    found = {}
    for file in files():
        for node in tree_of(file).body:
            owner, inside = ("", [node])
            if isinstance(node, ast.ClassDef):
                owner, inside = f"{node.name}.", node.body
            for one in inside:
                if isinstance(one, ast.FunctionDef):
                    said = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
                    said |= {n.attr for n in ast.walk(one) if isinstance(n, ast.Attribute)}
                    compiled = any(is_compiled(ast.unparse(deco)) for deco in one.decorator_list)
                    found[f"{file}|{owner}{one.name}"] = said, compiled
    return found


def assigned(fault: Fault) -> set[str]:
    """The names to which the statement of a fault gives a value: constants, a class, a function."""
    for node in tree_of(fault.file).body:
        if node.lineno <= fault.line <= node.end_lineno:
            return names_made(node)
    return set()


def names_made(node: ast.stmt) -> set[str]:
    """The names to which a statement of a module gives a value."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name}
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


@cache
def made_at_load() -> list[tuple[set[str], set[str]]]:
    """(names made, names in it) of the assignments that modules of `core` consist of."""
    found = []
    for file in files():
        for node in tree_of(file).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                said = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
                said |= {one.attr for one in ast.walk(node.value) if isinstance(one, ast.Attribute)}
                found.append((names_made(node), said))
    return found


@cache
def imports(file: str, module: str) -> bool:
    """Whether a file of tests names a module, or is the module (its doctests)."""
    if file.startswith("core/"):
        return file.removesuffix(".py").replace("/", ".") == module
    text = (ROOT / file).read_text()
    package, _, name = module.rpartition(".")
    return module in text or (f"{package} import" in text and name in text)


def is_kin(file: str, module: str) -> bool:
    """Whether a file of tests is called after a module, its family or its room.

    >>> is_kin("tests/core/data/test_letor.py", "shuffleproof.core.data.letor.kernel")
    True
    """
    word = Path(file).stem.removeprefix("test_").partition("_")[0]
    named = any(part.startswith(word) for part in module.split(".")[-2:])
    return file.startswith("tests/") and named


def texts(ran: dict[str, list[int]]) -> Iterable[str]:
    """ "file|function|text of the line" of the lines that ran."""
    for name, lines in ran.items():
        source = text_of(name.partition("|")[0])
        yield from {f"{name}|{source[line - 1].strip()}" for line in lines}


@cache
def text_of(file: str) -> list[str]:
    """The lines of a file of ours."""
    return (ROOT / file).read_text().splitlines()


def written_down(work: Path, file: str) -> Path:
    """Where the lines are kept that the tests of a file run."""
    place = work / "lines" / f"{file.replace('/', '.')}.json"
    place.parent.mkdir(exist_ok=True)
    return place
