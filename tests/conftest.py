"""What several files of tests need: a store with quickly trained rankers of the sample."""

import os
import shutil
import sys
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch loads: see core/__main__.py
if "PYTEST_XDIST_WORKER" in os.environ:  # tests that run side by side share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")


MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module():
    """Streamlit's page tests put a page in the place of `__main__`; spawned processes read it."""
    sys.modules["__main__"] = MAIN
    yield
    sys.modules["__main__"] = MAIN


@pytest.fixture(scope="session")
def trained_sample(tmp_path_factory):
    """(store, workbench): two rankers of the sample after three steps, and their certificates."""
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.store.artefacts import Store
    from shuffleproof.core.studies.kinds.invariance.question import Invariance
    from shuffleproof.core.studies.workbench import Workbench, finished

    store = Store(tmp_path_factory.mktemp("trained"))
    recipe = ListRecipe(("feature:3",), scores="in-sample")
    bench = finished(Workbench.opened("sample", recipe, store))
    short = {"epochs": "1", "steps_per_epoch": "3"}
    found = {name: finished(bench.trained(name, short)) for name in ("dlcm", "setrank-imsab-init")}
    named = [f"{name}#{kept.artefact.key.digest[:8]}" for name, kept in found.items()]
    finished(Invariance(tuple(named), 2, 0).run(bench))
    shutil.copytree(store.root, untouched(store))
    return store, bench


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
def every_study(tmp_path_factory):
    """(store, artefacts by kind, folder of the runs): a small study of every kind."""
    from tests.every_study import made

    return made(tmp_path_factory.mktemp("studies"))


def untouched(store):
    """Where the store lies as it was before any test wrote into it."""
    return store.root.with_name(f"{store.root.name}-untouched")


@pytest.fixture
def trained_root(trained_sample, tmp_path):
    """A store's root with the trained sample and nothing that other tests did."""
    return Path(shutil.copytree(untouched(trained_sample[0]), tmp_path / "store"))
