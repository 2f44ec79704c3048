"""Notebooks, written from README and docstrings alone, run cell by cell as a notebook would."""

import ast
import linecache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

APART = {"conftest.py", Path(__file__).name}
NOTEBOOKS = sorted(path for path in Path(__file__).parent.glob("*.py") if path.name not in APART)


def cells(path):
    """The cells of code of a script in percent format."""
    for part in path.read_text(encoding="utf-8").split("# %%")[1:]:
        if not part.startswith(" [markdown]"):
            yield part


def run(cell, names):
    """What a cell's last line shows; None where it shows nothing."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    name = f"<cell {hash(cell)}>"  # as Jupyter does, so that the source of functions can be read
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None


def noted(path):
    """A notebook; one that draws a PDF needs a browser."""
    needs = [pytest.mark.browser] if ".pdf" in path.read_text(encoding="utf-8") else []
    return pytest.param(path, marks=needs, id=path.stem)


@pytest.mark.parametrize("path", [*map(noted, NOTEBOOKS)])
def test_a_notebook_runs_and_shows_something_short(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "store"))
    names = {"__name__": "__main__"}
    shown = [run(cell, names) for cell in cells(path)]
    for one in shown:
        if type(one).__module__.startswith("shuffleproof"):
            assert repr(one).count("\n") < 10
            if hasattr(one, "_repr_html_"):
                assert "<table>" in one._repr_html_()
                assert "<script" not in one._repr_html_()
    for file in tmp_path.iterdir():
        assert file.is_dir() or file.stat().st_size
