"""The ablation page in every state: empty, stored, other choices, at work, failed."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.plain import escaped
from shuffleproof.app.study_access import compute
from shuffleproof.app.views import ablation as view
from shuffleproof.core import jobs
from shuffleproof.core.studies.kinds.ablation import sections
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.result import StudyResult
from tests import app_folded as folded
from tests import app_pages
from tests import app_tables as tables
from tests.app_pages import markdown, words


@pytest.fixture
def stored(store, fold):
    return tables.ablation_in(store, fold)


opened = partial(app_pages.opened, "ablation")


def test_a_stored_ablation_is_drawn_said_and_sourced(stored):
    test = opened()
    StudyResult.open(stored.path)
    assert str(stored.key) in test.query_params["study"]
    frame = test.dataframe[0].value
    assert list(frame["variant"]) == list(tables.EFFECTS)
    assert set(frame["seconds"]) == {12.0}
    said = markdown(test)
    assert f"- **loss softmax-ce** — {escaped('paper: both terms; released: <one>')}" in said
    assert "one seed" in said
    folded.menus(test)
    command = next(code.value for code in test.code if "study ablation --ranker" in code.value)
    assert "--towards released" in command
    labels = {button.label for button in test.get("download_button")}
    assert {"HTML", "PNG", "CSV", "Parquet", "LaTeX", "Markdown", "Recipe (JSON)",
            "Report (HTML)"} <= labels  # fmt: skip


def test_conventions_change_at_once_from_stored_values(stored):
    test = opened()
    test.segmented_control(key="empty").set_value("skip")
    test.selectbox(key="measure").set_value("NDCG@3")
    test.run()
    assert not test.exception
    assert "NDCG@3 · gain: 2^y − 1 · ideal: judged · no relevant: left out" in words(test)
    wanted = compute(str(stored.key), sections.table, "NDCG(empty=skip)@3")
    np.testing.assert_allclose(test.dataframe[0].value["mean"], wanted["mean"])
    opened(empty="nan")


def test_the_queries_of_a_variant_are_drawn_and_one_can_be_chosen(stored, monkeypatch):
    query = StudyResult.open(stored.path).query_ids[3]
    test = opened(variant="released", effect="robustness")
    assert "released against paper: " in words(test)
    monkeypatch.setattr(view.scoring, "describe", lambda _data: None)
    monkeypatch.setattr(view.scoring, "rankers_of", lambda _data: [])
    gone = opened(variant="released", of=query)
    assert "not stored any more: run the ablation again" in words(gone)
    answers = pd.DataFrame({"document": ["a", "b"], "label": [1.0, 0.0], "initial": [1, 2],
                            "released": [2, 1], "paper": [1, 2]})  # fmt: skip
    monkeypatch.setattr(view, "_answers", lambda *_asked: answers)
    test = opened(variant="released", of=query)
    assert f"Query {query}, the lists as they are" in words(test)


def handed_in(store):
    asked = {"data": tables.DATA, "ranker": "setrank-imsab", "sizes": "small",
             "towards": ["released"], "levels": [0.0, 20.0], "draws": 2}  # fmt: skip
    return jobs.submit(store, "ablation", asked)


def test_every_network_with_three_recipes_is_offered():
    assert {"setrank-imsab-init", "setrank-msab", "dlcm", "gsf", "ranknet"} <= set(view.RANKERS)
    assert ablation.BASE == "paper"
