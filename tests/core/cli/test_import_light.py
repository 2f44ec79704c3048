"""What shows a stored result loads neither torch, LightGBM nor Numba: it is there at once."""

import importlib.util
import json
import pkgutil
import subprocess
import sys

import pytest

from shuffleproof.core.data import catalogue
from shuffleproof.core.execution import worker_process
from shuffleproof.core.rankers.outside import function_process
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.registry import STUDIES

pytestmark = pytest.mark.slow

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


def run(names, heavy=HEAVY):
    program = [sys.executable, "-c", PROGRAM.format(heavy=heavy), *names]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_no_module_that_shows_results_loads_them():
    names = [name for package in PACKAGES for name in modules_of(package)]
    ended = run([name for name in (*MODULES, *names) if name not in WITH_TORCH])
    assert ended.returncode == 0, ended.stderr


def test_the_process_of_a_function_loads_numpy_alone():
    """Every certificate starts several; each library is paid for in all of them."""
    program, server = worker_process.PROGRAM, function_process.SERVER.partition(":")[0]
    ended = run([program, server], (*HEAVY, "jaxtyping", "pandas", "scipy", "numba"))
    assert ended.returncode == 0, ended.stderr


COMMANDS = """
import json, sys
from shuffleproof.core.cli.arguments import main
ended = []
for line in json.loads(sys.argv[2]):
    try:
        code = main(line)
    except SystemExit as exit:
        code = exit.code
    ended.append([code, [heavy for heavy in sys.argv[1].split(",") if heavy in sys.modules]])
print(json.dumps(ended))
"""
"""Commands one after the other in one process: what none of them loads, none loads alone."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store that has read the sample."""
    root = tmp_path_factory.mktemp("store")
    catalogue.find(catalogue.SAMPLE, Store(root))
    return root


NUMBERS = "torch,lightgbm,numpy,pandas"
WORK = "torch,lightgbm,numba,pandas,scipy.special"
RESULT = "torch,lightgbm,numba,scipy.stats,plotly,streamlit"


CASES = [
    (NUMBERS, "--help", 0),
    (NUMBERS, "study worst-case --help", 0),
    (NUMBERS, "study no-such", 2),
    (NUMBERS, "train no-such", 2),
    (NUMBERS, "certify dlcm@no-such", 2),
    (NUMBERS, "study card --rankers no-such", 2),
    (NUMBERS, "study benchmark --rankers dlcm --measures NDGC@10", 2),
    (WORK, "study initial-ranking --rankers dlcm --levels none", 2),
    (NUMBERS, "study perturbations --rankers dlcm --families no-such", 2),
    (NUMBERS, "study card --rankers dlcm --families cut:1+no-such", 2),
    (f"{WORK},shuffleproof.core.perturb.registry", "train dlcm --set no_such=1", 2),
    (f"{RESULT},scipy.special", "train dlcm", 0),
    (RESULT, "study initial-ranking --rankers {} --levels 0,1,2,5,10,20,40,80", 0),
    (RESULT, "study benchmark --rankers {} --seeds 2", 0),
    (RESULT, "study card --rankers {} --families transpositions,shuffle-shown", 0),
    (RESULT, "study invariance --rankers {}", 0),
    (RESULT, "study worst-case --rankers {} --budgets 1,2,5 --queries 50", 0),
    (RESULT, "study group-shuffles --orders 4 --queries 50", 0),
    (RESULT, "study training-noise --rankers lambdamart,dlcm --repeats 5", 0),
]


@pytest.fixture(scope="module")
def ended(filled):
    """Exit status, and what was loaded that must not be, of every command by its words."""
    found = {}
    for absent in dict.fromkeys(case[0] for case in CASES):
        words = [words for one, words, _ in CASES if one == absent]
        program = [sys.executable, "-c", COMMANDS, absent]
        lines = json.dumps([line_of(one, filled) for one in words])
        ran = subprocess.run([*program, lines], capture_output=True, text=True, check=True)
        found |= zip(words, json.loads(ran.stdout.splitlines()[-1]), strict=True)
    return found


def line_of(words, store):
    kind = words.split()[1] if words.startswith("study ") else ""
    asked = dict(STUDIES[kind].sample) if kind in STUDIES else {}
    line = words.format(",".join(asked.get("rankers", ()))).split()
    return [*line, *(["--store", str(store)] if "--help" not in line else [])]


@pytest.mark.parametrize(("absent", "words", "code"), CASES)
def test_a_command_loads_only_what_its_answer_takes(absent, words, code, ended):
    """Help and a misspelt name no NumPy, what the sample ships nothing that computes."""
    assert ended[words] == [code, []]
