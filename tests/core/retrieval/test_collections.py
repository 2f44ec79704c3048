"""Collections: every published form read alike, what is malformed told by file and line."""

import gzip
import io
import json
import tarfile
from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue, display_texts
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, LetorError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import candidates, planted, text
from shuffleproof.core.retrieval import collection as table
from shuffleproof.core.retrieval.doctor import examine_collection
from shuffleproof.core.retrieval.ingest import CollectionFormat, find, ingest
from shuffleproof.core.retrieval.recipe import TOKENISERS, Analysis
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection, retriever_entry
from shuffleproof.core.store.artefacts import Store, default_store
from tests.places import DATA

TEXTS = {"1": "Flow over wings", "2": "heat in slabs", "3": "no such <b>thing</b>"}
QUERIES = {"1": "heated slabs", "2": "flows"}


def smart(at, numbers=(1, 2)):
    mark = "".join(
        f".I {n}\n.T\ntitle {n}\n.A\nsomebody\n.W\n{said}\n" for n, said in TEXTS.items()
    )
    (at / "tiny.all").write_text(mark)
    asked = zip(numbers, QUERIES.values(), strict=True)
    (at / "tiny.qry").write_text("".join(f".I {n:03}\n.W\n{said}\n" for n, said in asked))
    (at / "tinyqrel").write_text("1 2 2\n1 1 1\n2 1 1\n2 9 1\n")


def slashes(at):
    (at / "doc-text").write_text("".join(f"{n}\n{said}\n   /\n" for n, said in TEXTS.items()))
    (at / "query-text").write_text("".join(f"{n}\n{said}\n/\n" for n, said in QUERIES.items()))
    (at / "rlv-ass").write_text("1\n 2 1\n   /\n2\n 1 9 /\n")


def trec(at):
    said = "".join(
        f"<DOC>\n<DOCNO> {n} </DOCNO>\n<TITLE>title {n}</TITLE>\n<TEXT>{said}</TEXT>\n</DOC>\n"
        for n, said in TEXTS.items()
    )
    with gzip.open(at / "docs.trec.gz", "wt") as file:
        file.write(said)
    asked = "".join(
        f"<top>\n<num> Number: {n}\n<title> {said}\n<desc> Description:\nno\n</top>\n"
        for n, said in QUERIES.items()
    )
    (at / "topics.txt").write_bytes(asked.replace("\n", "\r\n").encode())
    (at / "qrels.txt").write_text("1 0 2 2\n1 Q0 1 1\n2 0 1 1\n2 0 9 1\n")


def pages(at):
    with tarfile.open(at / "pages.tar.gz", "w:gz") as archive:
        for name, said in TEXTS.items():
            raw = f"<html><pre>\n\ntitle {name}\n\n{said}\n\n1\t5\t1\n</pre></html>\n".encode()
            entry = tarfile.TarInfo(f"{name}.html")
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    trec(at)
    (at / "docs.trec.gz").unlink()


def beir(at):
    rows = [{"_id": n, "title": f"title {n}", "text": said} for n, said in TEXTS.items()]
    (at / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rows = [{"_id": n, "text": said} for n, said in QUERIES.items()]
    (at / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (at / "qrels").mkdir()
    table = "query-id\tcorpus-id\tscore\n1\t2\t2\n1\t1\t1\n2\t1\t1\n2\t9\t1\n"
    (at / "qrels" / "test.tsv").write_text(table)


def tables(at):
    lines = [f"{n}\ttitle {n}\t{said}" for n, said in TEXTS.items()]
    (at / "documents.tsv").write_text("id\ttitle\ttext\n" + "\n".join(lines))
    (at / "queries.tsv").write_text("\n".join("\t".join(pair) for pair in QUERIES.items()))
    (at / "qrels.tsv").write_text("1\t0\t2\t2\n1\t0\t1\t1\n2\t0\t1\t1\n2\t0\t9\t1\n")


WRITERS = (smart, slashes, trec, pages, beir, tables)


@pytest.mark.parametrize("write", WRITERS)
def test_every_form_gives_the_same_documents_queries_and_judgments(tmp_path, write):
    source = tmp_path / "source"
    source.mkdir()
    write(source)
    store = Store(tmp_path / "store")
    run_to_end(ingest(source, "tiny", store))
    read = find("tiny", store)
    assert list(read.doc_ids) == ["1", "2", "3"]
    assert read.query_ids == ("1", "2")
    assert read.queries == tuple(QUERIES.values())
    assert [text.strip() for text in read.texts][:2] == list(TEXTS.values())[:2]
    assert [title for title in read.titles if title] in ([], ["title 1", "title 2", "title 3"])
    graded = write is not slashes
    assert read.judgments(0) == ({1: 2, 0: 1} if graded else {1: 1, 0: 1})
    assert read.judgments(1) == {0: 1}
    assert read.relevant(1) == 2
    assert list(read.judged_ids)[-1] == "9"
    assert read.digest == table.digest_of(read)
    assert len(list(store.artefacts("collection"))) == 1


def test_numbers_that_fit_as_positions_alone_are_positions(tmp_path):
    smart(tmp_path, numbers=(4, 8))
    read = find(str(tmp_path), Store(tmp_path / ".store"))
    assert read.judgments(1) == {0: 1}
    assert "positions" in " ".join(read.notes)
    with pytest.raises(DataError, match="--numbers"):
        run_to_end(
            ingest(tmp_path, None, Store(tmp_path / ".store"), CollectionFormat(numbers="ids"))
        )


MALFORMED = {
    "text without a field": (smart, "tiny.all", ".I 1\nwords\n", "tiny.all:2"),
    "no end": (trec, "docs.trec.gz", "<DOC>\n<DOCNO>1</DOCNO>\n", "docs.trec.gz:1"),
    "no number": (trec, "docs.trec.gz", "\n<DOC>\nwords\n</DOC>\n", "docs.trec.gz:2"),
    "no JSON": (beir, "corpus.jsonl", '{"_id": "1", "text": "a"}\n{"_id"\n', "corpus.jsonl:2"),
    "columns": (tables, "documents.tsv", "1\ta\n2\n", "documents.tsv:2"),
    "no end of a list": (slashes, "doc-text", "1\nwords\n", "doc-text:1"),
    "a grade of words": (trec, "qrels.txt", "1 0 2 good\n", "qrels.txt:1"),
    "grades apart": (trec, "qrels.txt", "1 0 2 1\n1 0 2 2\n", "qrels.txt:2"),
    "a lone return": (tables, "documents.tsv", "1\ta\rb\n", "documents.tsv:1"),
    "no format that is known": (beir, "corpus.jsonl", '\n["1", "a"]\n', "corpus.jsonl:2"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_named_with_the_line(tmp_path, case):
    write, name, said, place = MALFORMED[case]
    write(tmp_path)
    (tmp_path / name).write_bytes(said.encode())
    with pytest.raises(LetorError) as told:
        run_to_end(ingest(tmp_path, None, Store(tmp_path / ".store")))
    assert f"{place}: " in str(told.value)
    assert not list(Store(tmp_path / ".store").artefacts())


def test_a_folder_with_neither_documents_nor_queries_is_refused_as_a_whole(tmp_path):
    (tmp_path / "notes.txt").write_text("some words\n")
    with pytest.raises(DataError, match="no text collection"):
        find(str(tmp_path), Store(tmp_path / ".store"))


def test_the_first_document_of_a_table_may_be_empty(tmp_path):
    tables(tmp_path)
    (tmp_path / "documents.tsv").write_text("1\t\n2\tflow\n")
    found = find(str(tmp_path), Store(tmp_path / ".store"))
    assert list(found.texts) == ["", "flow"]


def terms_of(analysis, said):
    words = TOKENISERS[analysis.tokeniser].findall(said.lower())
    return [term for term in map(analysis.term_of(), words) if term]


def test_terms_are_those_of_the_analysis_and_unknown_words_are_counted(tmp_path):
    smart(tmp_path)
    store = Store(tmp_path / ".store")
    read = find(str(tmp_path), store)
    for analysis in (Analysis(), Analysis("letters", "none", "none"), Analysis("blanks", "lucene")):
        tokens = text.stored_tokens(replace(read, analysis=analysis), store)
        for place in range(len(read)):
            terms = [tokens.terms[token] for token in tokens.documents.of(place)]
            assert terms == terms_of(analysis, read.document(place))
        asked = [terms_of(analysis, query) for query in read.queries]
        known = [[term for term in terms if term in tokens.terms] for terms in asked]
        assert [[tokens.terms[t] for t in tokens.queries.of(q)] for q in range(2)] == known
        lost = [len(a) - len(b) for a, b in zip(asked, known, strict=True)]
        assert tokens.queries.unknown.tolist() == lost
        counts = np.bincount(tokens.documents.tokens)
        assert tokens.collection_frequency.tolist() == counts.tolist()
        inside = [set(tokens.documents.of(place).tolist()) for place in range(3)]
        df = [sum(term in own for own in inside) for term in range(len(tokens.terms))]
        assert tokens.document_frequency.tolist() == df


def test_a_collection_keeps_how_its_texts_become_terms(tmp_path, capsys):
    at = tmp_path / "files"
    at.mkdir()
    smart(at)
    store = Store(tmp_path / "store")
    usual = run_to_end(ingest(at, "usual", store))
    assert "analysis" not in usual.recipe  # as collections of before
    assert run_to_end(ingest(at, "usual", store, analysis=Analysis())).key == usual.key
    plain = Analysis("blanks", "none", "none")
    other = run_to_end(ingest(at, "plain", store, analysis=plain))
    assert other.key != usual.key
    assert other.facts["digest"] == usual.facts["digest"]  # the same texts
    found = find("plain", store)
    assert found.analysis == plain
    assert "tokeniser blanks" in " ".join(found.notes)
    flags = ("--tokeniser", "letters", "--stop-words", "lucene", "--stemmer", "english")
    place = ("--name", "flags", "--store", str(store.root))
    assert told(capsys, "ingest-collection", str(at), *flags, *place)[0] == 0
    assert find("flags", store).analysis == Analysis("letters", "lucene", "english")


def test_a_vocabulary_of_some_documents_lacks_the_words_of_others(tmp_path):
    smart(tmp_path)
    read = find(str(tmp_path), Store(tmp_path / ".store"))
    tokens = run_to_end(text.tokenise(read, np.array([0, 2])))
    assert "slab" not in tokens.terms
    assert tokens.documents.unknown.tolist() == [0, 3, 0]


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the public collections")
@pytest.mark.parametrize(
    ("name", "form", "sizes"),
    [
        ("cranfield", "auto", (1400, 225, 1837, 0)),
        ("cranfield", "trec", (1400, 225, 1837, 0)),
        ("cacm", "auto", (3204, 64, 796, 55)),
        ("npl_vaswani", "auto", (11429, 93, 2083, 0)),
    ],
)
def test_public_collections_have_their_published_sizes(tmp_path, name, form, sizes):
    artefact = run_to_end(ingest(DATA / name, name, Store(tmp_path), CollectionFormat(form)))
    read = find(name, Store(tmp_path))
    lost = int((read.judged == table.MISSING).sum())
    assert (len(read), len(read.query_ids), len(read.judged), lost) == sizes
    if form == "auto" and name == "cranfield":  # 1 is Cleverdon's best; query 1, document 13
        assert read.judgments(0)[12] == 1
        assert "Grade 1 is best" in " ".join(artefact.facts["notes"])


def test_grades_below_0_are_not_relevant_and_told(tmp_path):
    trec(tmp_path)
    with (tmp_path / "qrels.txt").open("a") as file:
        file.write("2 0 2 -1\n")
    store = Store(tmp_path / "store")
    artefact = run_to_end(ingest(tmp_path, "mine", store))
    assert "Below 0 means not relevant: 1 judgment became 0." in artefact.facts["notes"]
    assert find("mine", store).judgments(1)[1] == 0


def judged(at, *, shift=0, turned=False):
    """40 queries of a word each, and of each word three documents with more and more of it."""
    words = [f"word{number}" for number in range(40)]
    told = [(q, d, " ".join([words[q]] * (2 * d + 1))) for q in range(40) for d in range(3)]
    rows = [{"_id": f"d-{q}-0{d}", "text": f"{said} text {q} {d}"} for q, d, said in told]
    (at / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rows = [{"_id": str(q), "text": word} for q, word in enumerate(words)]
    (at / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [f"{(q + shift) % 40} 0 d-{q}-0{d} {3 - d if turned else d + 1}" for q, d, _ in told]
    (at / "qrels.txt").write_text("\n".join(lines))


def codes(at, store=".store"):
    store = Store(at / store)
    return {
        one.code: one for one in examine_collection(IndexedCollection(find(str(at), store), store))
    }


def test_the_doctor_names_what_misleads(tmp_path):
    for name in ("right", "shifted", "turned", "soiled"):
        (tmp_path / name).mkdir()
    judged(tmp_path / "right")
    assert codes(tmp_path / "right") == {}
    judged(tmp_path / "shifted", shift=1)
    assert codes(tmp_path / "shifted")["query-numbers"].severity == "problem"
    judged(tmp_path / "turned", turned=True)
    assert "--grades small" in codes(tmp_path / "turned")["grades-reversed"].action
    soiled = tmp_path / "soiled"
    judged(soiled)
    with (soiled / "corpus.jsonl").open("a") as file:
        file.write('\n{"_id": "copy", "text": "word0 text 0 0"}\n{"_id": "empty", "text": "the"}\n')
    with (soiled / "qrels.txt").open("a") as file:
        file.write("\n3 0 d-3-1 1\n")
    found = codes(soiled)
    assert set(found) == {"duplicates", "empty-text", "judged-missing"}
    assert "copy = d-0-00" in found["duplicates"].message
    assert "empty" in found["empty-text"].message
    assert "perhaps d-3-01" in found["judged-missing"].message


def told(capsys, *words):
    code = main([*words, "--json"])
    out, err = capsys.readouterr()
    assert out, (words, code, err)
    return code, json.loads(out)


def test_commands_read_search_and_examine_a_collection(tmp_path, capsys):
    judged(tmp_path)
    store = ("--store", str(tmp_path / ".store"))
    code, read = told(capsys, "ingest-collection", str(tmp_path), "--name", "mine", *store)
    assert (code, read["schema"]) == (0, "shuffleproof ingest-collection")
    assert (read["documents"], read["queries"], read["judgments"]) == (120, 40, 120)
    code, network = told(capsys, "train", "snrm@small", "--data", "mine", *store)
    assert (code, network["cached"], network["epochs"]) == (0, False, 60)
    assert told(capsys, "train", "snrm", "--preset", "small", "--data", "mine", *store)[1]["cached"]
    for name in ("fnrm", "cnrm"):
        assert told(capsys, "train", f"{name}@small", "--data", "mine", *store)[0] == 0
    learnt = {one.name: f"{one.name}@small" for one in RETRIEVERS.values() if one.presets}
    by = [learnt.get(name, name) for name in RETRIEVERS]
    names = ",".join(by)
    question = ("search", "mine", "word7 never", "--by", names, "-k", "2")
    code, found = told(capsys, *question, *store)
    assert (code, found["version"], found["unknown"]) == (0, 3, 1)
    first = {row["retriever"]: row["document"] for row in found["rows"] if row["rank"] == 1}
    assert set(first) == set(by)
    assert all(document.startswith("d-7-") for document in first.values())
    make = ("candidates", "mine", "--depth", "2", "--features", "--name", "mine_ltr", *store)
    code, made = told(capsys, *make)
    assert (code, made["queries"], made["documents"], made["features"]) == (0, 40, 80, 9)
    fold = catalogue.resolve("mine_ltr", Store(tmp_path / ".store"))
    part, read = fold.test, find("mine", Store(tmp_path / ".store"))
    for row, (query, document) in enumerate(
        zip(np.repeat(part.query_ids, 2), part.doc_ids, strict=True)
    ):
        places = list(read.doc_ids)
        assert part.labels[row] == read.judgments(int(query))[places.index(document)]
        asked = ("search", "mine", f"word{query}", "--by", "bm25", *store)
        scores = {one["document"]: one["score"] for one in told(capsys, *asked)[1]["rows"]}
        assert part.features[row, 0] == pytest.approx(scores[document])
        assert part.texts[row] == read.document(places.index(document))
    run = tmp_path / "made" / "bm25.run"
    code, wrote = told(capsys, "export", "mine", "--run", str(run), "-k", "3", *store)
    assert (code, wrote["retriever"], wrote["bytes"]) == (0, "bm25", run.stat().st_size)
    own = [line.split() for line in run.read_text().splitlines()]
    assert len(own) == wrote["rows"]
    assert [line[3] for line in own if line[0] == read.query_ids[7]][:3] == ["1", "2", "3"]
    assert {line[2] for line in own if line[0] == read.query_ids[7]} <= set(read.doc_ids)
    assert main(["export", "mine", *store]) == 2
    assert "name one file" in capsys.readouterr().err


def test_pages_call_documents_and_queries_of_candidates_by_their_texts(tmp_path):
    collection, store = planted.planted_collection(), Store(tmp_path)
    for _ in range(2):  # made, then found
        made = run_to_end(
            candidates.make_candidates(IndexedCollection(collection, store), 3, None, ("bm25",))
        )
        fingerprint = made.facts["fingerprint"]
        called = display_texts.find(fingerprint, store)
        display_texts.forget(fingerprint, store)
    queries = dict(zip(collection.query_ids, collection.queries, strict=True))
    assert called.queries["text"].to_dict() == queries
    places = [list(collection.doc_ids).index(one) for one in called.documents.index]
    assert called.documents["title"].tolist() == [collection.titles[at] for at in places]
    assert called.documents["snippet"].tolist() == [collection.snippet(at) for at in places]
    fold = catalogue.resolve(str(made.key), store)
    shown = {one for part in (fold.train, fold.valid, fold.test) for one in part.doc_ids}
    assert set(called.documents.index) == shown


def test_a_snippet_is_the_beginning_of_a_text_without_its_title():
    texts = TextColumn.of(["Heat in  slabs. It flows.", "word " * 60, ""])
    titles = TextColumn.of(["Heat in slabs.", "", "only a title"])
    made = replace(planted.planted_collection(), texts=texts, titles=titles)
    assert [made.snippet(place) for place in range(3)] == [
        "It flows.", " ".join(["word"] * 40) + " …", "",
    ]  # fmt: skip


def test_a_learnt_retriever_gives_a_feature_and_its_network_is_in_the_key(tmp_path, monkeypatch):
    indexed = IndexedCollection(
        planted.planted_collection(), Store(tmp_path, default_store().bundled)
    )
    by = ("bm25", "snrm@small")
    made = run_to_end(candidates.make_candidates(indexed, 5, None, by))
    fold = catalogue.resolve(str(made.key), indexed.store)
    part, latent = fold.test, retriever_entry("snrm@small").build(indexed)
    places = {one: at for at, one in enumerate(indexed.collection.doc_ids)}
    query = list(indexed.collection.query_ids).index(part.query_ids[0])
    found = latent.search([indexed.collection.queries[query]], len(indexed.collection))
    scores = dict(zip(found.documents.tolist(), found.scores.tolist(), strict=True))
    for row in range(part.offsets[1]):
        due = scores.get(places[part.doc_ids[row]], min(scores.values()))
        assert part.features[row, 1] == pytest.approx(due, rel=1e-6)
    monkeypatch.setattr(type(retriever_entry("snrm@small")), "network", lambda *_: "another")
    other = run_to_end(candidates.make_candidates(indexed, 5, None, by))
    assert other.recipe["candidates"]["networks"] == ["another", "another"]
    assert other.key != made.key
