"""The page of set size in every state: empty, stored, other conventions, at work, failed."""

from functools import partial

import numpy as np
import pytest

from shuffleproof.app import rescoring
from shuffleproof.app.plain import escaped
from shuffleproof.app.study_access import compute
from shuffleproof.app.views import set_size as run
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.set_size import sections
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import signed
from tests import app_folded as folded
from tests import app_pages
from tests import app_sizes as made
from tests import app_tables as tables
from tests.app_pages import words


@pytest.fixture(scope="module")
def home(tmp_path_factory, fold):
    """A store with a study, which no test changes."""
    folder = tmp_path_factory.mktemp("sizes")
    tables.data_set(Store(folder), fold)
    return folder, made.sizes_in(Store(folder), fold)


@pytest.fixture
def stored(home, dashboard):
    dashboard(home[0])
    return home[1]


opened = partial(app_pages.opened, "set-size")


def test_curves_map_finding_verdict_and_exports(stored):
    test = opened(drawn="mean")
    result = StudyResult.open(stored.path)
    claimed = sections.claim_text(sections.claim(result, "NDCG@5"))
    assert with_display_names(claimed) in words(test)
    assert str(stored.key) in test.query_params["study"]
    assert "7 of 40 below 12 documents" in words(test)
    assert "DLCM <was> left" in words(test)
    assert escaped("<was>") in " ".join(one.value for one in test.caption)
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert {"HTML", "SVG", "CSV", "LaTeX", "Recipe (JSON)", "Report (HTML)"} <= labels
    assert any("--trained-on 3,6" in one.value for one in test.code)


def test_conventions_and_the_size_trained_on_change_at_once(stored):
    test = opened(drawn="mean", home=6, ideal="shown", measure="NDCG@10", cells="shift")
    frame = compute(str(stored.key), sections.curves, "NDCG(ideal=shown)@10")
    frame = frame.set_index(["ranker", "trained_on", "size"])["mean"]
    relevant = (frame["ideal", "any", 3] * 40).round(4)  # 1 where a relevant document is shown
    assert relevant == int(relevant)
    assert "NDCG@10 · gain: 2^y − 1 · ideal: shown" in words(test)


def test_behind_a_cell_stand_its_queries(stored):
    test = opened(cell="dlcm-without-init|3|12")
    key, point = str(stored.key), ("dlcm-without-init", "3", 12)
    at, frame = compute(key, sections.queries, point, "NDCG@5")
    assert at == ("3", 3)
    assert f"query {frame['query'][0]} loses most: {signed(frame['change'][0])}" in words(test)
    table = next(one.value for one in test.dataframe if "home" in one.value)
    assert list(table["query"]) == list(frame["query"])
    assert test.query_params["cell"] == "dlcm-without-init|3|12"
    test.selectbox(key="against").set_value("6|12").run()
    _, other = compute(key, sections.queries, point, "NDCG@5", ("6", 12))
    table = next(one.value for one in test.dataframe if "home" in one.value)
    assert list(table["change"]) == list(other["change"])
    assert "From trained on 6, lists of 12 to trained on 3, lists of 12" in words(test)
    assert "cell" not in opened(cell="nobody|3|12").query_params


def test_behind_a_query_stand_both_answers(stored, monkeypatch):
    test = opened(cell="setrank-msab|3|12", of="q5")
    query = test.selectbox(key="of").options[0]
    test.selectbox(key="of").set_value(query).run()
    assert "is not stored, so it cannot be asked again here" in words(test)
    asked = []

    def moves(function, _artefact, query, **question):
        asked.append((function.rpartition(":")[2], question | {"query": query}))
        return tables.two_answers()

    monkeypatch.setattr(rescoring, "ranker_of", lambda _trials, _seed: "ranker-1")
    monkeypatch.setattr(rescoring, "moves", moves)
    monkeypatch.setattr(rescoring, "features", lambda: (7,))
    folded.tables(test)
    assert not test.exception, test.exception
    ((what, question),) = asked
    assert (what, question["query"]) == ("sizes", query)
    assert (question["now"], question["before"]) == (["ranker-1", 12], ["ranker-1", 3])
    assert "1 document joined the list" in words(test)
    table = next(one.value for one in test.dataframe if "kind" in one.value)
    assert list(table["feature 7"]) == [0.5, 0.25, 0.125]


def asked():
    return {
        "data": tables.DATA, "rankers": list(made.FOLLOWS), "trained_on": [3, 6],
        "sizes": list(made.SIZES), "measures": list(made.ASKED),
    }  # fmt: skip


def test_sizes_are_proposed_as_long_as_lists_are(store):
    assert run.usual_values(tables.DATA)["sizes"] == (3, 6, 13)  # its longest test list
    assert run.usual_values("nothing of the kind")["sizes"] == (40, 240, 500)


def test_the_drawn_values_are_those_stored(stored):
    frame = compute(str(stored.key), sections.curves, "NDCG@5")
    values = StudyResult.open(stored.path).per_query("setrank-imsab", "3", 6.0, "NDCG@5")
    row = frame[
        (frame.ranker == "setrank-imsab") & (frame.trained_on == "3") & (frame["size"] == 6)
    ]
    assert row["mean"].item() == pytest.approx(float(np.mean(values, dtype=float)), abs=1e-6)
