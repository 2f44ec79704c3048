"""The page Worst case: empty, stored, clicked, swapped, run, running, failed; its pictures."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.figures import worst_case as figure
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_case import search as worst_order
from shuffleproof.core.studies.workbench import run_to_end


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


def test_certified_rankers_say_so():
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
