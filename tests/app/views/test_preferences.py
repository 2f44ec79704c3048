"""The page Preferences: its study, a query's order for so many calls, its cycles, other sets."""

import shlex
from functools import partial

import numpy as np
import pytest

from shuffleproof.core.aggregate import planted
from shuffleproof.core.aggregate.consistency import agreement_of
from shuffleproof.core.aggregate.judges import OFFERED
from shuffleproof.core.aggregate.oracle import Oracle, PaidPairs
from shuffleproof.core.aggregate.registry import Terms, aggregate, order_by_asking, order_by_judge
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.data.catalogue import find
from shuffleproof.core.store.artefacts import Store
from tests import app_pages
from tests.app_jobs import desk
from tests.app_pages import words

SAMPLE = planted.planted_preferences()
opened = partial(app_pages.opened, "preferences", data="sample")


@pytest.fixture
def store(dashboard, tmp_path):
    return dashboard(tmp_path)


def shown(page, column):
    (frame,) = (one.value for one in page.dataframe if column in one.value)
    return frame


@pytest.mark.usefixtures("store")
def test_a_query_is_ordered_for_so_many_calls():
    query, calls = 3, 40
    pairs, items = SAMPLE.pairs(query), SAMPLE.items[query]
    page = opened(query={"asked": "q4", "aggregator": "quicksort", "calls": str(calls)})
    made = aggregate("quicksort", pairs, Terms(calls=calls))
    assert list(shown(page, "against")["item"]) == [items[item] for item in made.order]
    assert f"agrees with {agreement_of(pairs, made.order):.3f} of" in words(page)
    assert f"compared {calls} of 120 pairs and would compare" in words(page)
    every = opened(query={"asked": "q4", "aggregator": "quicksort"})
    assert "would ask" not in words(every)


@pytest.mark.usefixtures("store")
def test_what_is_asked_next_is_what_the_aggregator_lacks():
    pairs = SAMPLE.pairs(3)
    known, judge, asked = PaidPairs.nothing(pairs.items), Oracle(pairs), []
    steps = order_by_asking("heap-top-k", known, Terms(calls=30, top=3))
    made = order_by_judge(steps, lambda couples: asked.append(couples) or judge(couples))
    both = np.concatenate([*asked, made.following])
    assert len({frozenset(pair) for pair in both.tolist()}) == len(both), "nothing is asked twice"
    assert sum(map(len, asked)) == 30
    assert len(made.following) > 0
    assert aggregate("goa", pairs, Terms(calls=pairs.count)).complete


def test_the_cost_stands_before_the_button_and_the_job_asks_what_the_command_asks(
    tmp_path, monkeypatch
):
    find("sample", Store(tmp_path))
    table = desk(Store(tmp_path), monkeypatch)
    address = "http://127.0.0.1:1/judge"
    monkeypatch.setenv(OFFERED, address)
    page = opened(judging=True)
    assert "100 calls at most" in words(page)
    page.number_input(key="judge price").set_value(0.002).run()
    page.number_input(key="judge queries").set_value(1).run()
    page.selectbox(key="judge pairs").set_value("all").run()
    page.number_input(key="judge calls").set_value(30).run()
    assert "30 calls at most" in words(page)
    assert "0.06 at 0.002 a call" in words(page)
    command = next(one.value for one in page.code if "shuffleproof judge" in one.value)
    assert "--calls 30 --queries 1 --jobs 4" in command
    parsed = vars(parser().parse_args(shlex.split(command)[1:]))
    page.button(key="judge now").click().run()
    (job,) = table.jobs.list()
    told = {"judge": address, "pairs": "all", "calls": 30, "queries": 1, "orders": "both"}
    assert told.items() <= job.parameters.items()
    assert {name: parsed[name] for name in told} == told
    assert (parsed["name"], parsed["jobs"]) == (job.parameters["name"], job.parameters["at_once"])
