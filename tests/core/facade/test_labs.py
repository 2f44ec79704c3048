"""Text collections and preferences from Python: the same answers as the commands give."""

import json

import pytest

import shuffleproof as sp
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import ArtefactError, UnknownNameError
from shuffleproof.core.store.artefacts import Store, default_store
from tests import small_collection

JUDGED = "query,a,b\nq1,x,y\nq1,y,z\nq1,z,x\nq2,x,y\n"


def told(capsys, *words):
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_collection_is_read_in_searched_studied_and_made_a_data_set(tmp_path, capsys):
    small_collection.write(tmp_path / "files")
    store = Store(tmp_path / "store", default_store().bundled)
    mine = sp.ingest_collection(tmp_path / "files", "mine", store=store, progress=False)
    at = ("--store", str(store.root))
    found = mine.search("heated slabs", by="bm25,lsi", k=3)
    rows = told(capsys, "search", "mine", "heated slabs", "--by", "bm25,lsi", "-k", "3", *at)[
        "rows"
    ]
    assert found.to_dict("records") == rows
    result = mine.retrieval("bm25,lsi", seeds=1, queries=4)
    asked = ("--data", "mine", "--retrievers", "bm25,lsi", "--seeds", "1", "--queries", "4")
    assert told(capsys, "study", "retrieval", *asked, *at)["result"] == result.directory.name
    assert result.finding
    assert result.figure()
    assert not len(mine.doctor())
    fold = mine.candidates("mine_ltr", depth=5)
    assert fold.scope.data == "mine_ltr"
    assert fold.lists["test"].dataset.features.shape[1] == 3
    with pytest.raises(UnknownNameError, match="retrievers"):
        mine.retrieval(retriever="bm25")
    varied = mine.retrieval("bm25", vary="queries", noise="typos", levels=[0.5], seeds=1)
    assert varied.recipe["kind"] == "query-noise"
    with pytest.raises(UnknownNameError, match="did you mean queries"):
        mine.retrieval(vary="query-noise")
    with pytest.raises(ArtefactError):
        sp.open_collection("nothing", store=store)


def test_preferences_are_read_in_examined_and_aggregated(tmp_path, capsys):
    (tmp_path / "judged.csv").write_text(JUDGED)
    store = Store(tmp_path / "store", default_store().bundled)
    mine = sp.ingest_preferences(tmp_path / "judged.csv", "mine", store=store, progress=False)
    at = ("--store", str(store.root))
    found = told(capsys, "consistency", "mine", *at)
    assert {name: value for name, value in mine.consistency().items() if name != "cycles"} == {
        name: found[name] for name in mine.consistency() if name != "cycles"
    }
    assert mine.consistency()["cyclic_triads"] == 1
    orders = mine.aggregate(["goa", "kemeny"])
    rows = told(capsys, "aggregate", "mine", "--with", "goa,kemeny", *at)["rows"]
    assert orders.to_dict("records") == rows
    assert "mine" in repr(mine)
    result = sp.open_preferences(store=store, progress=False).preferences()
    assert result.table().shape[0]
