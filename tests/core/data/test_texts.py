"""A side file of what documents say is kept with a data set, for the functions that take texts."""

import gzip
import json

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.library import imports
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.outside import function_process
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker, digest_of_texts
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store

CSV = 'document,lang,text\nd0,en,"two\nlines, ""quoted"""\nd1,de,grün\nelse,,never asked\n\nd5,,\n'
JSON = "\n".join(
    json.dumps({"document": name, "text": text, "lang": "en"})
    for name, text in (("d0", 'two\nlines, "quoted"'), ("d1", "grün"), ("else", "x"), ("d5", ""))
)
EXPECTED = {"d0": 'two\nlines, "quoted"', "d1": "grün", "d5": ""}


@pytest.fixture
def letor(tmp_path, monkeypatch):
    """Six queries of two documents, d0 to d11; a document's only feature is its number."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{n % 2} qid:{n // 2} 1:{n} # docid = d{n}" for n in range(12)]
    (tmp_path / "own.txt").write_text("\n".join(lines))
    (tmp_path / "mine.py").write_text(
        "def score(texts, documents):\n    return [len(text) + len(name) for text, name in"
        " zip(texts, documents)]\n"
    )
    return tmp_path


def ingested(letor, content, name="side.csv"):
    (letor / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    store = Store(letor / "store")
    reading = catalogue.ReadingOptions(texts=letor / name)
    (artefact,) = run_to_end(catalogue.ingest(letor / "own.txt", None, store, reading))
    return store, artefact


@pytest.mark.parametrize(
    "content", [CSV, CSV.replace(",", "\t"), JSON, gzip.compress(CSV.encode(), mtime=0)]
)
def test_texts_are_kept_with_the_data_and_with_nothing_else_of_it(letor, content):
    store, artefact = ingested(letor, content)
    expected = EXPECTED
    if isinstance(content, str) and "\t" in content:
        expected = EXPECTED | {"d0": 'two\nlines\t "quoted"'}
    fold = catalogue.resolve(str(artefact.key), store)
    found = {
        name: text
        for part in (fold.train, fold.valid, fold.test)
        for name, text in zip(part.doc_ids, part.texts, strict=True)
    }
    assert found == dict.fromkeys((f"d{n}" for n in range(12)), "") | expected
    assert any(
        note.startswith("Texts of 3 of 12 named documents") for note in artefact.facts["notes"]
    )
    (without,) = run_to_end(catalogue.ingest(letor / "own.txt", None, store))
    assert without.key != artefact.key
    assert without.facts["fingerprint"] == artefact.facts["fingerprint"], "rankers are shared"
    lists = CandidateLists.all_documents(fold.test)
    ranker = CallableRanker.from_name("mine:score")
    names = [fold.test.doc_ids[row] for row in lists.rows.tolist()]
    np.testing.assert_array_equal(
        ranker.score(fold.test, lists), [len(found[name]) + len(name) for name in names]
    )
    assert digest_of_texts(ranker.reads, fold.test) != digest_of_texts(ranker.reads, fold.train)
    assert not digest_of_texts(ranker.reads, catalogue.resolve(str(without.key), store).test)
    run_to_end(archive.write(store, [artefact], letor / "all.zip"))
    other = Store(letor / "other")
    run_to_end(imports.read_archive(letor / "all.zip", other))
    assert list(catalogue.resolve(str(artefact.key), other).test.texts) == list(fold.test.texts)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "side.csv: neither Parquet nor"),
        ("document,text\nd1,a\nd1,b\n", "side.csv: row 2 is a second text of document 'd1'"),
        ("document,text\nother,a\n", "it has a text of none of the 12 named documents"),
        ('{"document": "d1"}\n', "side.csv: no columns document and text"),
        ('{"document": 1, "text": "a"}\n', "side.csv: row 1 holds a document or text that is no"),
        (gzip.compress(CSV.encode(), mtime=0)[:-9], "damaged or incomplete"),
    ],
)
def test_side_files_that_are_none_are_told_by_line_and_nothing_is_stored(letor, content, words):
    with pytest.raises(DataError, match=words):
        ingested(letor, content)
    assert not list(Store(letor / "store").artefacts())


def test_a_function_of_texts_is_certified_from_the_shell(letor, capsys):
    (letor / "side.csv").write_text(CSV)
    store = ["--store", str(letor / "store")]
    asked = ["certify", "mine:score", "--data", "mine", "--initial", "feature:1", *store]
    assert main(["ingest", "own.txt", "--name", "mine", "--texts", "nowhere.csv", *store]) == 1
    assert main(["ingest", "own.txt", "--name", "mine", "--texts", "side.csv", *store]) == 0
    assert "Texts of 3 of 12 named documents" in capsys.readouterr().out
    main([*asked, "--permutations", "2", "--jobs", "2", "--json"])
    assert function_process.jobs_allowed() == 1, "--jobs counts for one command"
    answer = json.loads(capsys.readouterr().out)
    assert {"documents", "texts"} <= set(answer["reads"])
    assert answer["sentence"].endswith("It reads document ids and documents' texts.")
