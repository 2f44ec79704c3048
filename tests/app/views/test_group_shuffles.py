"""The page of GSF's shuffles in every state: empty, stored, one ranker, at work, refused."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.group_shuffles import sections
from shuffleproof.core.studies.kinds.group_shuffles import study as group_shuffles
from shuffleproof.core.studies.result import StudyResult
from tests import app_folded as folded
from tests import app_pages
from tests import app_tables as tables

NAMES = ("gsf@small", "gsf@tuned")
SHUFFLES = (1, 4, 16)


def planned():
    rankers = tuple((name, name[-1] * 64) for name in NAMES)
    lists = key_of("lists", tables.LISTS, (tables.fold().fingerprint,)).digest
    return group_shuffles.Plan(
        rankers, NAMES[:1], lists, ("lambdamart@small",), SHUFFLES, 8, 0, None
    )


def facts_of(fold):
    return {
        "data": tables.DATA, "reads": {name: ["features"] for name in NAMES}, "queries": 40,
        "candidates": 480, "set_size": 12.0, "lists": tables.LISTS, "preset": "small",
        "own": {"gsf@small": ["sampled", 4], "gsf@tuned": ["exhaustive", 0]},
        "fingerprints": [fold.fingerprint],
    }  # fmt: skip


@pytest.fixture
def stored(store):
    """The study as a run stores it: an error of 1/√S, rounding alone for all pairs."""
    fold, plan = tables.fold(), planned()
    rows, values = [], []
    for cell in plan.cells():
        noise = generator(int(cell.row.level), cell.row.ranker).uniform(0.9, 1.1, 40)
        error = noise / np.sqrt(cell.row.level) if cell.row.level else np.full(40, 1e-7)
        values.append([error, np.ones(40), 1 - error / 4])
        rows.append(
            {
                "ranker": cell.row.ranker,
                "family": cell.row.family,
                "level": cell.row.level,
                "draw": 0,
                "tau": 1.0,
                "set_size": 12.0,
                "seconds": 0.5,
            }
        )
    ids, facts = tuple(map(str, range(40))), facts_of(fold)
    cube = np.array(values, dtype=np.float32)
    result = StudyResult(plan.recipe(), pd.DataFrame(rows), cube, ids, facts)
    return store.add(key_of("study", plan.recipe()), plan.recipe(), result.save, facts)


opened = partial(app_pages.opened, "group-shuffles")


def test_a_stored_study_is_drawn_said_and_taken_away(stored):
    test = opened()
    result = StudyResult.open(stored.path)
    assert str(stored.key) in test.query_params["study"]
    (_chart,) = test.get("plotly_chart")
    own = test.dataframe[0].value.query("ranker == 'GSF small' and shuffles == 4")
    assert own["error"].item() == pytest.approx(0.5, rel=0.05)  # 1/√4
    slopes = next(one.value for one in test.dataframe if "slope" in one.value)
    assert slopes["slope"].tolist() == sections.slopes(result)["slope"].tolist()
    frame = test.dataframe[0].value
    assert frame["shuffles"].tolist() == [1, 4, 16, 0, 1, 4, 16]
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert {"PNG", "CSV", "LaTeX", "Recipe (JSON)", "Report (HTML)"} <= labels
    command = next(code.value for code in test.code if "--shuffles 1,4,16" in code.value)
    assert "--rankers gsf@small,gsf@tuned" in command
