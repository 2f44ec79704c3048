"""Side files of what documents and queries are called: read, refused by line, kept by content."""

import json

import pandas as pd
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue, display_texts
from shuffleproof.core.errors import DataError
from shuffleproof.core.facade import studies
from shuffleproof.core.library import cleaning
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of

ROWS = [
    {"docid": "d0", "title": 'two\nlines, "quoted"', "url": "https://e.org/0", "snippet": "NA"},
    {"docid": "d1", "title": "<b>grün</b>", "url": "javascript:alert(1)", "snippet": ""},
    {"docid": "else", "title": "x", "url": "", "snippet": ""},
]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Six queries of two documents, d0 to d11."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{n % 2} qid:{n // 2} 1:{n} # docid = d{n}" for n in range(12)]
    (tmp_path / "own.txt").write_text("\n".join(lines))
    store = Store(tmp_path / "store")
    (artefact,) = run_to_end(catalogue.ingest(tmp_path / "own.txt", "mine", store))
    return store, artefact


def written(path, rows, how):
    frame = pd.DataFrame(rows)
    if how == "parquet":
        frame.to_parquet(path)
    elif how == "arrow":
        frame.to_feather(path)
    elif how == "jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows))
    else:
        text = "\n" + frame.to_csv(index=False, sep="\t" if how == "tabs" else ",") + "\n\n"
        if how == "gzip":
            frame.to_csv(path, index=False, compression="gzip")
        else:
            path.write_text(text)
    return path


@pytest.mark.parametrize("how", ["csv", "tabs", "gzip", "jsonl", "parquet", "arrow"])
def test_every_format_says_the_same_and_what_does_not_fit_is_named(data, tmp_path, how):
    store, artefact = data
    side = display_texts.read_side_file(written(tmp_path / "side", ROWS, how), "documents")
    _, notes = display_texts.attach(artefact, store, [side])
    texts = display_texts.find(artefact.facts["fingerprint"], store)
    assert texts.documents.to_dict("index") == {
        "d0": {key: value for key, value in ROWS[0].items() if key != "docid"},
        "d1": {"title": "<b>grün</b>", "url": "", "snippet": ""},
    }
    assert "2 of 12 documents have a text" in notes[0]
    assert "1 row of ids that the data does not have, passed over: row 3. " in notes[1]
    assert "row 2. Write them as https" in notes[2]
    assert side.rows["row"].tolist() == [1, 2, 3]


def test_texts_are_kept_by_content_and_no_key_of_the_data_changes(data, tmp_path):
    store, artefact = data
    fingerprint, before = artefact.facts["fingerprint"], catalogue.find("mine", store).key
    queries = [{"qid": "0", "text": "find it", "tag": "web"}]
    keys = []
    for rows, kind in (
        (ROWS, "documents"),
        (queries, "queries"),
        (ROWS[:1], "documents"),
        (ROWS, "documents"),
    ):
        path = written(tmp_path / f"{kind}.csv", rows, "csv")
        kept, _ = display_texts.attach(artefact, store, [display_texts.read_side_file(path, kind)])
        keys.append(kept.key)
        assert [one.key for one in store.artefacts(display_texts.KIND)] == [kept.key]
    assert keys[1] == keys[3] != keys[2]
    texts = display_texts.find(fingerprint, store)
    assert texts.queries.to_dict("index") == {"0": {"text": "find it", "tag": "web"}}
    assert len(texts.documents) == 2
    assert catalogue.find("mine", store).key == before
    store.remove(artefact.key)
    assert "texts of data sets that are gone" in {one.what for one in cleaning.waste(store)}
    display_texts.forget(fingerprint, store)
    assert display_texts.find(fingerprint, store) is None


FEW = "docid,title\nd1,a\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("docd,title\nd1,a\n", "no column docid; its columns are 'docd', 'title'"),
        ("docid,titel\nd1,a\n", "no column title nor url nor snippet; its columns"),
        (FEW + "d1,b\nd2,c\nd2,d\n", "side: row 2 is a second document of 'd1'. Leave one"),
        (FEW + " ,b\n", "side: row 2 has no docid. Leave one row"),
        ('{"docid": "d1", "title": "a"}\n[]\n', "side: .*line 2 is no object"),
        ("docid,title\nother,a\n", "knows none of the 12 documents of own.*: d0, d1"),
    ],
)
def test_bad_side_files_are_told_by_line_with_a_remedy(data, tmp_path, content, words):
    store, artefact = data
    (tmp_path / "side").write_text(content)
    with pytest.raises(DataError, match=words) as refused:
        display_texts.attach(
            artefact, store, [display_texts.read_side_file(tmp_path / "side", "documents")]
        )
    assert refused.value.remedy
    assert not list(store.artefacts(display_texts.KIND))


def test_data_without_document_ids_says_so(tmp_path):
    (tmp_path / "own.txt").write_text("\n".join(f"{n % 2} qid:{n // 2} 1:{n}" for n in range(12)))
    store = Store(tmp_path / "store")
    (artefact,) = run_to_end(catalogue.ingest(tmp_path / "own.txt", "mine", store))
    side = display_texts.read_side_file(written(tmp_path / "side.csv", ROWS, "csv"), "documents")
    with pytest.raises(DataError, match=r"its documents have no ids.*#docid = …"):
        display_texts.attach(artefact, store, [side])


def test_shell_and_python_take_side_files_with_the_data_or_later(data, tmp_path, capsys):
    store, artefact = data
    documents = written(tmp_path / "docs.csv", ROWS, "csv")
    queries = written(tmp_path / "q.jsonl", [{"qid": "1", "text": "a b"}], "jsonl")
    flags = ["--store", str(store.root)]
    assert main(["ingest", "--name", "mine", "--documents", str(documents), *flags]) == 0
    assert "2 of 12 documents have a text" in capsys.readouterr().out
    assert main(["ingest", "own.txt", "--name", "x", "--query-texts", "nowhere", *flags]) == 1
    assert "x" not in store.names(), "side files are read before anything is stored"
    opened = studies.ingest(
        "own.txt", "again", store=store.root, progress=False, documents=documents, queries=queries
    )
    assert any("1 of 6 queries have a text" in note for note in opened.notes)
    texts = display_texts.find(artefact.facts["fingerprint"], store)
    assert (len(texts.documents), len(texts.queries)) == (2, 1)


def test_texts_that_an_earlier_version_stored_as_parquet_still_open(tmp_path):
    store = Store(tmp_path / "store")
    documents = pd.DataFrame({"docid": ["d0"], "title": ["A"], "url": [""], "snippet": ["x"]})
    queries = pd.DataFrame({"qid": ["1"], "text": ["cats"], "tag": [""]})

    def write(folder):
        documents.to_parquet(folder / "documents.parquet")
        queries.to_parquet(folder / "queries.parquet")

    recipe = {"of": "f" * 64, "documents": "0", "queries": "1"}
    key = key_of(display_texts.KIND, recipe)
    store.add(key, recipe, write, {"fingerprint": "f" * 64, "notes": {}})
    found = display_texts.find("f" * 64, store)
    pd.testing.assert_frame_equal(found.documents.reset_index(), documents, check_dtype=False)
    pd.testing.assert_frame_equal(found.queries.reset_index(), queries, check_dtype=False)
