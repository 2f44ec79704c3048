"""What shows a stored result loads neither torch nor LightGBM: a page opens at once."""

import importlib.util
import pkgutil
import subprocess
import sys

HEAVY = ("torch", "lightgbm")
PACKAGES = (
    "shuffleproof.core.aggregate",
    "shuffleproof.core.data",
    "shuffleproof.core.execution",
    "shuffleproof.core.metrics",
    "shuffleproof.core.perturb",
    "shuffleproof.core.store",
)
MODULES = (
    "shuffleproof.core.rankers.base",
    "shuffleproof.core.rankers.registry",
    "shuffleproof.core.studies.result",
    "shuffleproof.core.studies.study",
)
WITH_TORCH = {"shuffleproof.core.data.batches"}  # the only ragged → padded place, for the models

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    loaded = [heavy for heavy in {heavy!r} if heavy in sys.modules]
    if loaded:
        sys.exit(f"{{name}} loads {{', '.join(loaded)}}")
"""


def modules_of(package):
    found = importlib.util.find_spec(package)
    walked = pkgutil.walk_packages(found.submodule_search_locations, package + ".")
    return [package, *(module.name for module in walked)]


def run(names):
    program = [sys.executable, "-c", PROGRAM.format(heavy=HEAVY), *names]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_no_module_that_shows_results_loads_them():
    names = [name for package in PACKAGES for name in modules_of(package)]
    ended = run([name for name in (*MODULES, *names) if name not in WITH_TORCH])
    assert ended.returncode == 0, ended.stderr


def test_the_exceptions_are_still_needed():
    for name in WITH_TORCH:
        assert "loads torch" in run([name]).stderr
