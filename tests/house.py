"""`make house` prints files and lines, imports among pages, and modules with one importer."""

import ast
import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "shuffleproof."


def modules():
    """Every module of `core` and `app`: its dotted name (without the package's) and its path."""
    paths = [path for top in ("core", "app") for path in sorted((ROOT / top).rglob("*.py"))]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return dict(zip((name.removesuffix(".__init__") for name in names), paths, strict=True))


def imported(path, known):
    """The modules of ours that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name.removeprefix(PACKAGE) for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            base = node.module.removeprefix(PACKAGE)
            found |= {base} | {f"{base}.{one.name}" for one in node.names}
    return {name for name in found if name in known}


def counted():
    """The figures by what they count."""
    known = modules()
    uses = {name: imported(path, known) - {name} for name, path in known.items()}
    importers = Counter(one for found in uses.values() for one in found)
    figures = {
        "app/views: imports of one page by another": sum(
            one.startswith("app.views.") and one.split(".")[2] != name.split(".")[2]
            for name, found in uses.items()
            if name.startswith("app.views.")
            for one in found
        ),
        "modules with exactly one importer": sum(importers[name] == 1 for name in known),
    }
    for place in ("core", "core/studies", "app", "app/views", "tests"):
        paths = list((ROOT / place).rglob("*.py"))
        figures[f"{place}: files"] = len(paths)
        texts = (path.read_text(encoding="utf-8") for path in paths)
        figures[f"{place}: lines"] = sum(len(text.splitlines()) for text in texts)
    return figures


if __name__ == "__main__":
    print(json.dumps(counted(), indent=1))
