"""Nobody but `core.rankers.name` takes a ranker's name apart: a rule of the house, as a program."""

import ast
import re
from pathlib import Path

import pytest

from shuffleproof.core.rankers import registry

ROOT = Path(__file__).resolve().parents[3]
METHODS = frozenset(
    {"partition", "rpartition", "split", "rsplit", "find", "index", "count", "startswith",
     "endswith", "removeprefix", "removesuffix"}
)  # fmt: skip
MARKS = frozenset({"@", "#", "~"})
PARTS = re.compile(
    r"(scores|lightgbm|xgboost|rrf|mean-rank|shuffled)[:@#]?|(feature|initial): ?|setrank.*|dlcm.*"
    r"|.*-?(without|multi)?-init"
)
PATTERN = re.compile(r"@\\w|@#|#\[")
CALLED = frozenset({"name", "label", "ranker", "leaf", "plain", "initial"})
"""What variables that hold a ranker's name are called: these are not cut at colons either."""

ELSE = {
    "app/door.py": "the user of an address",
    "core/retrieval/reading.py": "what begins a reference to a character in HTML",
    "core/data/letor/write.py": "what begins a comment in LETOR text",
    "core/errors.py": "a measure's cut-off: measures are written name@k",
    "core/execution/devices.py": "a device: cuda:0",
    "core/perturb/names.py": "whom a perturbation attacks, which is a name as a whole",
    "core/perturb/registry.py": "whom a perturbation attacks, which is a name as a whole",
    "core/perturb/wording.py": "whom a perturbation attacks, which is a name as a whole",
    "core/rankers/name.py": "the names themselves",
    "core/retrieval/name.py": "the names of retrievers",
}
"""Where such marks are something else, and what."""

TAKEN_APART = """
label.partition("@")[0]
name.split("#")
"@" in label
label.startswith(f"{SCORES}:")
label.startswith("dlcm") and "without-init" not in label
name.endswith(("-multi-init", "-init"))
str(row["ranker"]).partition("@")[0]
leaf.partition(":")
made.split("+") if name.split("+") else ()
frame["ranker"].str.startswith("initial: ")
re.compile(r"@\\w+")
re.split(r"(?=[@# ])", label)
""".strip().splitlines()
"""How names were taken apart before there was a value for them."""


def texts_of(node):
    """The texts in an argument: a constant, the constants of a tuple or of an f-string."""
    return [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def called(node):
    """What a variable or attribute is called; empty for other expressions."""
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def is_telling(text):
    return text in MARKS or text in registry.RANKERS or bool(PARTS.fullmatch(text))


def offences(source):
    """The lines that take a name apart, by string methods, by `in` or by patterns."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            left = texts_of(node.left) if isinstance(node.left, ast.Constant) else []
            if any(text in MARKS or text.endswith("-init") for text in left):
                yield node.lineno
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        given = [text for argument in node.args[:1] for text in texts_of(argument)]
        whose = called(node.func.value)
        if (
            (node.func.attr in METHODS and any(map(is_telling, given)))
            or (node.func.attr in METHODS and whose in CALLED and set(given) & {":", "+"})
            or (whose == "re" and any(map(PATTERN.search, given)))
        ):
            yield node.lineno


@pytest.mark.parametrize("line", TAKEN_APART)
def test_the_rule_sees_how_a_name_is_taken_apart(line):
    assert list(offences(line))


@pytest.mark.parametrize("where", ELSE)
def test_the_exceptions_are_still_needed(where):
    assert list(offences((ROOT / where).read_text(encoding="utf-8")))


@pytest.mark.parametrize("top", ["core", "app"])
def test_names_of_rankers_are_taken_apart_in_one_place(top):
    found = {}
    for path in sorted((ROOT / top).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        lines = [] if where in ELSE else sorted(set(offences(path.read_text(encoding="utf-8"))))
        found |= {where: lines} if lines else {}
    assert found == {}, "parse it: RankerName.parse(text), or .of(label) of a result's label"
