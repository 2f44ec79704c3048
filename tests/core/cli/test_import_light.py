"""What shows a stored result loads neither torch nor LightGBM: a page opens at once."""

import importlib.util
import pkgutil
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_of_the_package_loads_them(package):
    names = [name for name in modules_of(package) if name not in WITH_TORCH]
    ended = run(names)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", MODULES)
def test_registries_recipes_and_results_do_not_load_them(name):
    assert importlib.util.find_spec(name) is not None
    ended = run([name])
    assert ended.returncode == 0, ended.stderr


def test_the_exceptions_are_still_needed():
    for name in WITH_TORCH:
        assert "loads torch" in run([name]).stderr
