"""Notebooks are no modules: their tests run them, and nobody looks for doctests in them."""

from pathlib import Path

collect_ignore = [
    path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")
]
