"""What several files of tests need: a store with quickly trained rankers of the sample."""

import fcntl
import functools
import gc
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")  # how fast an example is says more of what else the machine does

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch loads: see core/__main__.py
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in many images: each process compiles all
sys.dont_write_bytecode = False
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start `… &` with it ignored
if "PYTEST_XDIST_WORKER" in os.environ:  # tests that run side by side share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.pop("COLUMNS", None)  # that of who watches the tests, by which tables would fold

if not any(Path("/dev").glob("nvidia[0-9]*")):  # Triton's kernels run on the CPU: see core/*/gpu_*
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is first imported

MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True, scope="module")
def loaded_once():
    """Streamlit looks through all objects after every run of a page: those loaded by now stay."""
    gc.freeze()


@pytest.fixture(autouse=True)
def main_module():
    """Streamlit's page tests put a page in the place of `__main__`; spawned processes read it.

    Ctrl-C is Python's own for every test, whatever a server of an earlier one had it mean.
    """
    sys.modules["__main__"] = MAIN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    sys.modules["__main__"] = MAIN


@pytest.fixture
def tables_read_here(monkeypatch):
    """Tables are read in this process: a guarded one takes a second to start."""
    from shuffleproof.core.data import tables

    def replies(arguments, _place, memory):
        return tables.replies(json.loads(json.dumps(arguments)), memory)

    monkeypatch.setattr(tables, "_replies_of_process", replies)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Fills a folder once a run, however many processes test side by side; nobody changes it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def folder(name, fill):
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / name).exists():
                fill(filled := tmp_path_factory.mktemp(name))
                filled.rename(shared / name)
        return shared / name

    return folder


@pytest.fixture(scope="session")
def components_scanned_once():
    """Streamlit reads what every installed package declares for each page test: here once."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session")
def untouched_sample(made_once):
    """A store as it was before any test wrote into it: see `trained_sample`."""
    from shuffleproof.core.experiment.ranker_sets import expand
    from shuffleproof.core.studies.kinds.invariance.question import Invariance
    from shuffleproof.core.studies.workbench import run_to_end

    def fill(root):
        workbench = sample_bench(root)
        short = {"epochs": "1", "steps_per_epoch": "3"}
        nets = expand(("dlcm", "setrank-imsab-init")).values()
        trained = (run_to_end(workbench.train(name, short)).artefact for name in nets)
        stored = tuple(f"{one.recipe['ranker']['name']}#{one.key.digest[:8]}" for one in trained)
        run_to_end(Invariance(stored, 2, 0).run(workbench))

    return made_once("trained", fill)


def sample_bench(root):
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.store.artefacts import Store
    from shuffleproof.core.studies.workbench import Workbench, run_to_end

    recipe = ListRecipe(("feature:3",), scores="in-sample")
    return run_to_end(Workbench.open("sample", recipe, Store(root)))


@pytest.fixture(scope="session")
def trained_sample(untouched_sample, tmp_path_factory):
    """(store, workbench): two rankers of the sample after three steps, and their certificates."""
    workbench = sample_bench(
        shutil.copytree(untouched_sample, tmp_path_factory.mktemp("own") / "store")
    )
    return workbench.store, workbench


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The dashboard over a store that holds nothing but what is shipped."""
    from tests import browser

    with browser.served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium, driven by Playwright."""
    from tests import browser

    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=browser.chromium(), args=list(browser.FLAGS)
        )
        yield found
        found.close()


@pytest.fixture(scope="session")
def every_study(made_once, tmp_path_factory):
    """(store, artefacts by kind, folder of the runs): a small study of every kind."""
    from tests import every_study

    place = made_once("studies", every_study.made)
    return every_study.opened(shutil.copytree(place, tmp_path_factory.mktemp("own") / "studies"))


@pytest.fixture
def trained_root(untouched_sample, tmp_path):
    """A store's root with the trained sample and nothing that other tests did."""
    return Path(shutil.copytree(untouched_sample, tmp_path / "store"))
