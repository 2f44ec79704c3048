"""What several files of tests need: a store with quickly trained rankers of the sample."""

import os

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch loads: see core/__main__.py


@pytest.fixture(scope="session")
def trained_sample(tmp_path_factory):
    """(store, workbench): two rankers of the sample after three steps, and their certificates."""
    from core.rankers.initial import ListRecipe
    from core.store.artefacts import Store
    from core.studies import invariance
    from core.studies.workbench import Workbench, finished

    store = Store(tmp_path_factory.mktemp("trained"))
    recipe = ListRecipe(("feature:3",), scores="in-sample")
    bench = finished(Workbench.opened("sample", recipe, store))
    short = {"epochs": "1", "steps_per_epoch": "3"}
    found = {name: finished(bench.trained(name, short)) for name in ("dlcm", "setrank-imsab-init")}
    shuffled = ((invariance.FAMILY, 1.0),)
    plan = bench._study("invariance", found, shuffled, invariance.MEASURES, (2, 0))
    rankers = {label: kept.ranker for label, kept in found.items()}
    finished(bench._run(plan, rankers, invariance.measured))
    return store, bench
