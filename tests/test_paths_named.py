"""Files that the documents name are there, and modules that docstrings name."""

import ast
import re
from functools import cache

import pytest

from tests import docs
from tests.places import ROOT

TEXTS = ("README.md", *(f"docs/{page.name}" for page in docs.PAGES))
IN_BACKTICKS = re.compile(r"`([\w.*<>-][\w.*<>/-]*)(?::[^`]*)?`")
ENDINGS = (".py", ".md", ".toml", ".txt", ".sqlite", "/")
NOT_THERE = {
    "BENCHMARKS.md": "made by `make bench`",
    ".github/workflows/ranker.yml": "in the project of who holds a ranker to its card",
    "mine.py": "the reader's own ranker",
    "app/pages/": "a folder that must not be",
    "jobs/jobs.sqlite": "in a store",
    ".venv/bin/": "made by `make setup`",
    ".venv/bin/shuffleproof": "made by `make setup`",
    ".streamlit/secrets.toml": "written where there is a login",
}
"""Paths that the documents name and that are none of the project, and what they are."""


def paths_of(text):
    """What stands in backticks outside blocks of code and looks like a file or a folder."""
    told = IN_BACKTICKS.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return {one for one in told if "/" in one.strip("/") or one.endswith(ENDINGS)}


def is_there(path):
    """Whether a file or folder is called so: from a top, or anywhere where it is a name alone."""
    shape = re.sub(r"<\w+>", "*", path).rstrip("/")
    tops = [ROOT / top for top in (".", "core", "core/studies", "app")]
    found = [top.glob(f"{shape}{ending}") for top in tops for ending in ("", ".py")]
    if "/" not in shape:
        found += [(ROOT / top).rglob(shape) for top in ("core", "app", "tests")]
    return any(next(one, None) for one in found)


@pytest.mark.parametrize("name", TEXTS)
def test_files_and_folders_that_a_text_names_are_there(name):
    named = paths_of((ROOT / name).read_text(encoding="utf-8"))
    assert sorted(one for one in named - set(NOT_THERE) if not is_there(one)) == []


def test_what_is_none_of_the_project_is_still_named():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in TEXTS]
    assert set(NOT_THERE) <= set().union(*map(paths_of, texts))


IN_CODE = re.compile(r"`(?:shuffleproof\.)?((?:core|app|kinds)\.[\w.]+)")
ROOMS = ("", "core/studies/")
"""Where what docstrings and comments name by dots lies: `kinds.…` is short for a study's."""


@cache
def words_of(path):
    """Every name that a module binds, imports or reads, at any depth."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = {getattr(node, kind, None) for node in nodes for kind in ("name", "id", "arg", "attr")}
    return found | {
        one.name for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names
    }


def is_known(dotted):
    """Whether a folder or a module is called so, or a name in one."""
    for room in ROOMS:
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            place = ROOT / (room + "/".join(parts[:end]))
            if place.with_suffix(".py").is_file():
                return not parts[end:] or parts[end] in words_of(place.with_suffix(".py"))
            if place.is_dir() and end == len(parts):
                return True
    return False


def test_modules_and_what_is_in_them_are_called_as_docstrings_say():
    named = {
        (str(path.relative_to(ROOT)), dotted.rstrip("."))
        for top in ("core", "app")
        for path in (ROOT / top).rglob("*.py")
        for dotted in IN_CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert sorted(one for one in named if not is_known(one[1])) == []
    assert is_known("core.parameters.text_of")
    assert not is_known("core.parameters.parsed")
    assert not is_known("core.no_such_room.text_of")
