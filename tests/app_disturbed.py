"""A store with a card, a study of perturbations and a worst case, and their pages opened on it."""

import json
from importlib import import_module

import streamlit as st

from shuffleproof.app import scoring
from shuffleproof.core.execution.this_job import THIS_JOB
from shuffleproof.core.jobs import submit
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


def alts(page):
    return [chart.proto.alt for chart in page.get("plotly_chart")]


def clicked(module, monkeypatch, chart, *facts):
    """The session after a click on a mark with these facts."""
    session = {chart: {"selection": {"points": [{"customdata": list(facts)}]}}}
    monkeypatch.setattr(module.st, "session_state", session)
    return session


def begun(workbench, kind):
    """A small study of a kind as a generator, to be stopped after some reports."""
    if kind == "card":
        return Card(RANKERS, FAMILIES, draws=1, seed=5).run(workbench)
    if kind == "worst-case":
        return WorstCase(RANKERS, budgets=(1,), queries=3, seed=5, draws=1).run(workbench)
    return Perturbations(RANKERS, MANY, draws=1, seed=5).run(workbench)


def running(desk, workbench, kind, reports, parameters):
    """A job at work, whose study has announced itself and got so far."""
    given = {"data": "sample", "rankers": list(RANKERS), "draws": 1, "seed": 5} | parameters
    job = submit(desk.store, kind, given)
    token = THIS_JOB.set(job.id)
    work = begun(workbench, kind)
    for _ in range(reports):
        next(work)
    work.close()
    THIS_JOB.reset(token)
    held = desk.run(job, 3)
    return desk.jobs.get(held.digest)


def failed(desk, kind, parameters):
    """A page whose last job failed, and the job."""
    job = submit(desk.store, kind, parameters)
    desk.end(desk.run(job), "failed", reason="no ranker is called 'dlmc'")
    return job
