"""Text collections of the kinds that public bug reports describe, and crafted ones."""

import io
import tarfile
import time
from contextlib import suppress

import pytest

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import collection as table
from shuffleproof.core.retrieval.ingest import ingest
from shuffleproof.core.store.artefacts import Store
from tests import places

CASES = places.DATA / "cases" / "collections"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"cases absent: {CASES}")


def read(folder, store):
    return table.open_(run_to_end(ingest(folder, None, Store(store))).path)


def judged(read_collection):
    """(query, document, grade) of every judgment."""
    bounds = read_collection.judged_offsets.tolist()
    return [
        (query, read_collection.judged_ids[row], int(read_collection.grades[row]))
        for at, query in enumerate(read_collection.query_ids)
        for row in range(bounds[at], bounds[at + 1])
    ]


@needs_cases
@pytest.mark.parametrize("case", ["null_title", "qrels_jsonl", "parquet"])
def test_published_forms_are_read(case, tmp_path):
    found = read(CASES / case, tmp_path)
    assert list(found.doc_ids)[:3] == ["d1", "d2", "d3"]
    assert found.queries == ("who eats cheese", "what is green")
    assert judged(found) == [("q1", "d2", 1), ("q2", "d3", 1)]
    if case == "null_title":
        assert found.titles[3] == ""


def beir(folder, corpus='{"_id": "d", "text": "x"}\n', qrels="q\td\t1\n", queries=None):
    """A collection in BEIR's form."""
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(corpus)
    (folder / "queries.jsonl").write_text(queries or '{"_id": "q", "text": "x"}\n')
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def smart(folder, documents=".I 1\n.W\nx\n", qrels="1 0 1 1\n"):
    """A collection in the form of Cranfield and CISI."""
    folder.mkdir()
    (folder / "c.all").write_text(documents)
    (folder / "c.qry").write_text(".I 1\n.W\nx\n")
    (folder / "c.rel").write_text(qrels)
    return folder


def test_judgments_of_cisi_and_of_quepid(tmp_path):
    folder = smart(tmp_path / "cisi", qrels="     1      1\t0\t0.000000\n")
    assert judged(read(folder, tmp_path / "s")) == [("1", "1", 1)]
    folder = beir(tmp_path / "quepid", qrels="q 0 d 2.0\n")
    assert judged(read(folder, tmp_path / "s")) == [("q", "d", 2)]


def test_ids_with_lone_surrogates_stay_apart(tmp_path):
    lines = [f'{{"_id": "\\ud80{digit}", "text": "x"}}\n' for digit in range(3)]
    found = read(beir(tmp_path / "c", "".join(lines), "q 0 \\ud801 1\n"), tmp_path / "s")
    assert len(set(found.doc_ids)) == 3


CRAFTED = {
    "list": {"corpus": '{"_id": ["d"], "text": "x"}\n'},
    "deep": {"corpus": '{"_id": ' + "[" * 100_000 + "\n"},
    "digits": {"corpus": '{"_id": 1%s, "text": "x"}\n' % ("0" * 5000)},
    "grade": {"qrels": "q\td\t1%s\n" % ("0" * 400)},
    "large grade": {"qrels": "q\td\t10000000000\n"},
    "json grade": {"qrels": '{"query-id": "q", "corpus-id": ["d"], "score": 1}\n'},
    "deep grade": {"qrels": '{"query-id": ' + "[" * 100_000 + "\n"},
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_refused(name, tmp_path):
    with pytest.raises(ShuffleproofError):
        read(beir(tmp_path / "c", **CRAFTED[name]), tmp_path / "s")


def test_entities_with_many_digits_are_no_character(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    text = "<DOC><DOCNO>1</DOCNO>\n<TEXT>a &#" + "9" * 5000 + "; b</TEXT></DOC>\n"
    (folder / "docs.trec").write_text("<DOC>\n" + text.removeprefix("<DOC>"))
    (folder / "topics.txt").write_text("<top>\n<num> Number: 1\n<title> a\n</top>\n")
    assert read(folder, tmp_path / "s").texts[0] == "a \ufffd b"


BLANKS = " " * 300_000
LINEAR = {
    "mark": lambda at: smart(at, ".I 1\n.W x" + BLANKS + "x\n"),
    "marks": lambda at: smart(at, ".I 1\n.W" + BLANKS + "x\ny\n.T\nz\n"),
    "num": lambda at: trec(at, topic="<num>" * 60_000 + BLANKS + "<title> x"),
    "num of blanks": lambda at: trec(at, topic="<num>" + BLANKS + "<title> x"),
    "docno": lambda at: trec(at, document="<DOCNO>1" + "<DOCNO>" * 60_000),
}


def trec(folder, topic="<num> 1 <title> x", document="<DOCNO>1</DOCNO> x"):
    """A collection in the form of TREC."""
    folder.mkdir()
    (folder / "docs.trec").write_text(f"<DOC>\n{document}\n</DOC>\n")
    (folder / "topics.txt").write_text(f"<top>\n{topic}\n</top>\n")
    return folder


@pytest.mark.parametrize("name", LINEAR)
def test_no_text_takes_quadratic_time(name, tmp_path):
    folder = LINEAR[name](tmp_path / "c")
    begun = time.process_time()
    with suppress(ShuffleproofError):
        read(folder, tmp_path / "s")
    assert time.process_time() - begun < 3  # minutes before


def test_an_archive_that_unpacks_to_much_is_refused(tmp_path):
    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("corpus.jsonl")
        member.size = 3 << 29
        head = member.tobuf()
        archive.fileobj.write(head)
    begun = time.process_time()
    with pytest.raises(ShuffleproofError, match="decompression bomb"):
        read(path, tmp_path / "s")
    assert time.process_time() - begun < 1


def test_members_of_an_archive_are_read(tmp_path):
    folder = beir(tmp_path / "c")
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        for file in sorted(folder.iterdir()):
            text = file.read_bytes()
            member = tarfile.TarInfo(file.name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    assert judged(read(tmp_path / "c.tar.gz", tmp_path / "s")) == [("q", "d", 1)]
