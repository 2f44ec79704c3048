"""The page Worst case: empty, stored, clicked, swapped, run, running, failed; its pictures."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app import disturbed_lists, study_access
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_case import search as worst_order
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.worst_case import sections
from shuffleproof.core.studies.workbench import run_to_end
from tests import app_disturbed as made
from tests import app_folded as folded


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    return made.bench_in(tmp_path_factory.mktemp("worst"))


@pytest.fixture(scope="module")
def stored(workbench):
    return made.made(workbench, "worst-case")


@pytest.fixture
def desk(workbench, stored, monkeypatch):
    desk = made.desk_of(workbench.store, monkeypatch)
    yield desk
    shutil.rmtree(desk.jobs.folder, ignore_errors=True)


def test_a_stored_search_is_drawn_with_its_finding_and_certificates(desk, stored):
    page = made.opened("worst-case")
    table = study_access.compute(str(stored.key), sections.table)
    said = made.words(page)
    assert "feature:1: certified 0. It reads nothing of the initial ranking" in said
    assert "NDCG@10 · gain: 2^y − 1 · ideal: judged" in said
    pd.testing.assert_frame_equal(page.dataframe[0].value, table, check_dtype=False)
    folded.menus(page)
    labels = {button.label for button in page.get("download_button")}
    assert {"HTML", "CSV", "Recipe (JSON)"} <= labels


def test_behind_a_point_are_its_queries_and_the_worst_order(desk, stored):
    frame = study_access.compute(str(stored.key), sections.queries, INITIAL, 2)
    table = study_access.compute(str(stored.key), sections.table).set_index(["ranker", "budget"])
    assert -frame["change"].mean() == pytest.approx(table.loc[(INITIAL, 2), "worst_damage"])
    assert (np.diff(frame["change"]) >= 0).all()
    page = made.opened("worst-case", point=INITIAL, at=2, of=frame["query"][0])
    said = made.words(page)
    assert f"query {frame['query'][0]} loses most" in said
    assert "within 2 exchanges of the initial ranking" in said
    assert "Choose how many places take part" in said
    moves = disturbed_lists.worst_list(stored, (INITIAL, 2), frame["query"][0])
    assert int(moves["moved"].sum()) >= 2
    assert int((moves["shown"] != moves["shown_before"]).sum()) <= 4, "two exchanges at most"


def test_the_map_of_exchanges_is_scored_when_asked_for(desk, stored):
    query = study_access.compute(str(stored.key), sections.queries, INITIAL, 1)["query"][0]
    page = made.opened("worst-case", point=INITIAL, of=query, places=12)
    found = disturbed_lists.swaps(stored, INITIAL, query, 12)
    costs = np.array(found["costs"], dtype=float)
    np.testing.assert_array_equal(costs, costs.T)
    worst = -study_access.compute(str(stored.key), sections.queries, INITIAL, 1)["change"][0]
    # the search tried the first six places, and random exchanges anywhere
    assert costs[:6, :6].max() - 1e-6 <= worst <= costs.max() + 1e-6
    assert f"it costs {costs.max():.3f} NDCG@10" in made.words(page)
    page.selectbox(key="point").set_value("feature:1").run()
    assert "reads nothing of what is exchanged" in made.words(page)


@pytest.mark.parametrize(
    ("search", "budget"),
    [
        (Search(places=6), 3),
        (Search(unit="exchanges", places=6, candidates=8), 3),
        (Search(method="beam", places=5, width=2), 3),
    ],
)
def test_the_cost_said_is_never_below_what_is_scored(search, budget):
    offsets = np.array([0, 8])
    weights = 1 / np.log2(np.arange(8) + 2)

    def objective(orders):
        values = (orders % 3 == 0) @ weights
        return values[:, None], values[:, None]

    work = worst_order(offsets, objective, replace(search, budget=budget))
    assert 1 < run_to_end(work).evaluated <= search.orders(budget) + 1


def test_certified_rankers_say_so_and_marks_at_edges_are_relevant():
    row = {"as_is": 0.5, "random": 0.5, "worst": 0.4, "random_damage": 0.0, "low": 0.0,
           "high": 0.2}  # fmt: skip
    frame = pd.DataFrame(
        [
            {"ranker": "dlcm", "budget": 2, "worst_damage": 0.1, "certified": False} | row,
            {"ranker": "mart", "budget": 2, "worst_damage": 0.0, "certified": True} | row,
        ]
    )
    drawn = figure.damages(frame, "RR", "inversions")
    texts = [label.text for label in drawn.layout.annotations if label.name == "end"]
    assert texts == ["DLCM", "MART<br>certified 0"]
    searched = frame.assign(worst_damage=[0.1, np.nan], low=[0.0, np.nan], high=[0.2, np.nan])
    assert len(figure.damages(searched, "RR", "inversions").data) == len(drawn.data) - 2
    assert drawn.data[2].x[0] == 0, "curves begin at no damage"
    map_ = figure.swaps([[0, 0.2], [0.2, 0]], ["<a>", "b"], [1.0, 0.0], "RR")
    assert list(map_.data[1].x) == [1]
