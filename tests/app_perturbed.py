"""A store with a card, a study of perturbations and a worst case, and their pages opened on it."""

import json
from importlib import import_module

import streamlit as st

from shuffleproof.app import scoring
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import app_jobs, app_pages

RANKERS = ("feature:1", "feature:2")
FAMILIES = ("transpositions", "shuffle-shown")
MANY = (
    ("cut", 0.0), ("cut", 0.5), ("distractors", 0.0), ("distractors", 3.0), ("shuffle", 0.0),
    ("shuffle", 0.5), ("shuffle", 1.0), ("shuffle:1+shuffle-shown", 0.0),
    ("shuffle:1+shuffle-shown", 1.0),
)  # fmt: skip


class Here:
    """Answers questions as the resident process does, in this one."""

    def ask(self, what, item):
        module, _, name = what.partition(":")
        return json.loads(json.dumps(getattr(import_module(module), name)(item)))


def bench_in(folder):
    store = Store(folder)
    return run_to_end(Workbench.open("sample", ListRecipe(("feature:3",), 12), store, "small"))


def made(workbench, kind):
    """A stored study of a kind, of rankers that take no training."""
    if kind == "card":
        return run_to_end(Card(RANKERS, FAMILIES, draws=2).run(workbench))
    if kind == "worst-case":
        search = {"unit": "exchanges", "places": 6}
        asked = WorstCase(RANKERS, search=search, budgets=(1, 2), queries=12)
        return run_to_end(asked.run(workbench))
    return run_to_end(Perturbations(RANKERS, MANY, draws=2).run(workbench))


def desk_of(store, monkeypatch):
    """Jobs moved by hand over a store, and lists scored in this process."""
    st.cache_data.clear()
    st.cache_resource.clear()
    monkeypatch.setattr(scoring, "resident", Here)
    return app_jobs.desk(store, monkeypatch)


def opened(kind, query=None, **session):
    return app_pages.opened(kind, query, **{"data": "sample"} | session)


def words(page):
    return app_jobs.words(page) + app_jobs.plain(" ".join(one.value for one in page.warning))
