"""How the house stands: `make house` prints files, lines, imports among pages, lone importers.

What is counted is what the layers are meant to keep small; `--json` prints it for a comparison.
"""

import argparse
import ast
import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "shuffleproof."
BESIDE = (
    "core.experiment.", "core.answers.", "core.library.", "core.jobs", "core.job_kinds",
    "core.tuning",
)  # fmt: skip
"""What stood in `core/studies` when its lines were first counted, and counts among them still."""


def modules():
    """Every module of `core` and `app`: its dotted name (without the package's) and its path."""
    found = {}
    for top in ("core", "app"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


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


def lines(paths):
    """Lines of files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def counted():
    """The figures by what they count."""
    known = modules()
    uses = {name: imported(path, known) - {name} for name, path in known.items()}
    importers = Counter(one for found in uses.values() for one in found)
    pages_named_once = sum(importers[name] == 1 for name in uses["app.navigation"])
    inside = {name: path for name, path in known.items() if path.name != "__init__.py"}
    studies = [path for path in inside.values() if path.is_relative_to(ROOT / "core" / "studies")]
    flat = [path for path in studies if path.parent == ROOT / "core" / "studies"]
    pages = [path for path in inside.values() if path.is_relative_to(ROOT / "app" / "views")]
    shared = [path for path in inside.values() if path.is_relative_to(ROOT / "app" / "study")]
    arrows = sum(
        one.startswith("app.views.") and one.split(".")[2] != name.split(".")[2]
        for name, found in uses.items()
        if name.startswith("app.views.")
        for one in found
    )
    command_line = list((ROOT / "core" / "cli").glob("*.py"))
    report = list((ROOT / "app").glob("report*.py"))
    beside = [path for name, path in inside.items() if name.startswith(BESIDE)]
    upper = [*studies, *beside, *pages, *shared, *command_line, *report]
    shells = [path for path in studies if "store.lock(key)" in path.read_text(encoding="utf-8")]
    return {
        "core/studies: files": len(studies),
        "core/studies: files outside of rooms": len(flat),
        "core/studies: lines": lines(studies),
        "app/views and app/study: files": len(pages) + len(shared),
        "app/views and app/study: lines": lines([*pages, *shared]),
        "app/views: imports of one page by another": arrows,
        "studies, pages, command line and report: lines": lines(upper),
        "copies of the shell that runs a study": len(shells),
        "core and app: files": len(inside),
        "core and app: lines": lines(inside.values()),
        "modules with exactly one importer": sum(importers[name] == 1 for name in inside),
        "of these, pages that the navigation names": pages_named_once,
        "tests: files": len(list((ROOT / "tests").rglob("*.py"))),
        "tests: lines": lines((ROOT / "tests").rglob("*.py")),
    }


def main():
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="for a comparison")
    found = counted()
    if parser.parse_args().json:
        print(json.dumps(found, indent=1))
        return
    width = max(map(len, found))
    for name, figure in found.items():
        print(f"{name:<{width}}  {figure:>7,}")


if __name__ == "__main__":
    main()
