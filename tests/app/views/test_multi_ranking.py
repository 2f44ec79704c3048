"""The page of several rankings in every state, and the geometry of what was learnt of ranks."""

import json
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import save_file

from shuffleproof.app import rescoring
from shuffleproof.app.study_access import compute
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import signed
from tests import app_folded as folded
from tests import app_pages
from tests import app_sizes as made
from tests import app_tables as tables
from tests.app_pages import words


def trained(store, fold):
    """A ranker with two tables of ordinals, as the store keeps one: nothing is fitted."""
    spec = registry.spec("setrank-imsab-init", "small", rankings="2", ordinals="16")
    lists = tables.LISTS | {"initial": list(made.INITIALS), "depth": 12}
    recipe = {"ranker": spec.recipe(), "lists": lists}
    fingerprints = (fold.train.fingerprint, fold.valid.fingerprint)
    drawn = generator(0, "ordinals").normal(size=(2, 16, 8)).astype(np.float32)

    def write(place):
        save_file({"network/ordinal.tables": drawn}, place / "network.safetensors")
        (place / "ranker.json").write_text(json.dumps({"recipe": spec.recipe()}))

    facts = {"name": "setrank-imsab-init", "valid": {"NDCG@10": 0.5}}
    return store.add(key_of("ranker", recipe, fingerprints), recipe, write, facts)


@pytest.fixture(scope="module")
def home(tmp_path_factory, fold):
    """A store with a study and a trained ranker, which no test changes."""
    folder = tmp_path_factory.mktemp("rankings")
    tables.data_set(Store(folder), fold)
    trained(Store(folder), fold)
    return folder, made.rankings_in(Store(folder), fold)


@pytest.fixture
def stored(home, dashboard):
    dashboard(home[0])
    return home[1]


opened = partial(app_pages.opened, "initial-rankings")


def test_dots_finding_verdict_and_exports(stored):
    test = opened()
    result = StudyResult.open(stored.path)
    claimed = sections.claim_text(sections.claim(result, "NDCG@5"))
    assert with_display_names(claimed) in words(test)
    assert "NDCG@5 · gain: 2^y − 1 · ideal: judged" in words(test)
    table = sections.table(result, "NDCG@5").set_index(["ranker", "condition"])
    numbers = next(one.value for one in test.dataframe if "change_p" in one.value)
    assert len(numbers) == len(table)
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert {"HTML", "SVG", "CSV", "LaTeX", "Recipe (JSON)", "Report (HTML)"} <= labels
    assert any("--initial mart@small,ranksvm@small" in one.value for one in test.code)


def test_changes_conventions_and_rankers_are_choices(stored):
    none = opened(x="change", show=["setrank-imsab"])
    assert "Nothing to draw" in words(none)


def test_behind_a_dot_stand_its_queries(stored):
    point = ("setrank-imsab-init", "without any")
    test = opened(**{"behind dot": point})
    frame = compute(str(stored.key), sections.queries, point, "NDCG@5")
    assert f"query {frame['query'][0]} loses most: {signed(frame['change'][0])}" in words(test)
    table = next(one.value for one in test.dataframe if "as_trained" in one.value)
    assert list(table["query"]) == list(frame["query"])
    assert test.query_params["condition"] == "without any"
    test.selectbox(key="dot").set_value(("setrank-imsab", "as trained")).run()
    assert "reads no initial ranking: there is one condition" in words(test)


def test_behind_a_query_stand_both_answers(stored, monkeypatch):
    asked = []

    def moves(function, _artefact, query, **question):
        asked.append((function.rpartition(":")[2], question | {"query": query}))
        return tables.two_answers()

    monkeypatch.setattr(rescoring, "ranker_of", lambda _trials, _seed: "ranker-1")
    monkeypatch.setattr(rescoring, "moves", moves)
    monkeypatch.setattr(rescoring, "features", lambda: (7,))
    test = opened(**{"behind dot": ("setrank-imsab-init", "oracle for mart@small")})
    query = test.selectbox(key="of").options[0]
    test.selectbox(key="of").set_value(query).run()
    assert not test.exception, test.exception
    ((what, question),) = asked
    assert (what, question["query"], question["before"]) == ("conditions", query, None)
    assert question["initial"][question["now"][0]] == "oracle"
    assert "with oracle in the place of MART small" in words(test)


def asked():
    lists = {"initial": list(made.INITIALS)}
    return {"data": tables.DATA, "rankers": list(made.NOISE), "lists": lists,
            "swaps": list(made.SWAPS), "measures": list(made.ASKED)}  # fmt: skip
