"""Preferences of the kinds that public bug reports describe: battles, verdicts, quoted CSV."""

import json

import numpy as np
import pytest

from shuffleproof.core.aggregate import preference_store
from shuffleproof.core.aggregate.reading import read
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import DataError, LetorError, ShuffleproofError
from shuffleproof.core.store.artefacts import Store
from tests import places

CASES = places.DATA / "cases" / "preferences"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"cases absent: {CASES}")


def judged(preferences):
    """(query, a, b, value) of every judgment."""
    return [
        (query, *(preferences.items[at][item] for item in (a, b)), value)
        for at, query in enumerate(preferences.query_ids)
        for a, b, value in zip(
            preferences.a[preferences.rows(at)].tolist(),
            preferences.b[preferences.rows(at)].tolist(),
            preferences.value[preferences.rows(at)].tolist(),
            strict=True,
        )
    ]


BATTLES = [
    ("q1", "red", "blue", 1.0),
    ("q2", "blue", "green", 0.0),
    ("q3", "red", "green", 0.5),
    ("q4", "green", "red", 0.5),
]


@needs_cases
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("battles_no_query.csv", [("all", *battle[1:]) for battle in BATTLES]),
        ("battles.csv", BATTLES),
        ("battles.jsonl", BATTLES[:2]),
        ("verdicts.csv", [("q1", "d1", "d2", 1.0), ("q1", "d2", "d3", 0.0), ("q1", "d1", "d3", 1)]),
        ("self.csv", [("q1", "x", "y", 1.0)]),
        ("comma_in_quotes.csv", [("first, query", "d1", "d2", 1.0)]),
    ],
)
def test_published_forms_are_understood(file, expected):
    preferences = read([CASES / file])
    assert judged(preferences) == expected
    assert bool(preferences.notes) == (file == "self.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"q,1","a ""x""",b,1\n', [("q,1", 'a "x"', "b", 1.0)]),
        ("a,b,preference\nx,y,0.25\n", [("all", "x", "y", 0.25)]),
        ("topic;model_a;model_b;winner\nt;x;y;y\n", [("t", "x", "y", 0.0)]),
        ('query,a,b,preference\n"q\nr",x,y,1\n', [("q\nr", "x", "y", 1.0)]),
        ("q x y\nq y z\n", [("q", "x", "y", 1.0), ("q", "y", "z", 1.0)]),
        ("chosen,rejected\nx,y\nz,x\n", [("all", "x", "y", 1.0), ("all", "z", "x", 1.0)]),
        ("prompt,rejected,chosen\nq,x,y\n", [("q", "y", "x", 1.0)]),
        ("query,a,b,chosen\nq,x,y,y\n", [("q", "x", "y", 0.0)]),
    ],
)
def test_csv_is_read_as_csv(tmp_path, text, expected):
    path = tmp_path / "p.csv"
    path.write_text(text)
    assert judged(read([path])) == expected


VERDICTS = {
    "[[A>>B]]": 1.0,
    "[[B>A]]": 0.0,
    "My final verdict is: [[A=B]]": 0.5,
    "My final verdict is: Assistant B is significantly better: [[B>>A]]": 0.0,
    "A is not bad. Still, my verdict is [[B]].": 0.0,
    "My verdict is not [[A]]": None,
    "Therefore, Response A is better": None,
    "I first thought [[A]], but finally [[B]]": None,
    "The winner is not [[A]]": None,
    "Rating: [[5]]": None,
    "The wrong answer is: [[A]]": None,
    "The weaker one is A, so: [[B]]": None,
}


@pytest.mark.parametrize("text", VERDICTS)
def test_a_verdict_in_a_sentence_is_read_or_refused(tmp_path, text):
    path = tmp_path / "p.csv"
    path.write_text(f'query,a,b,preference\nq,x,y,"{text}"\nq,B,z,1\n')
    if VERDICTS[text] is None:
        with pytest.raises(LetorError, match=r"p\.csv:2.*--malformed skip"):
            read([path])
    else:
        assert judged(read([path]))[0] == ("q", "x", "y", VERDICTS[text])


def test_a_verdict_that_names_the_item_of_the_other_side_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("query,a,b,preference\nq,B,A,Verdict: [[A]]\n")
    with pytest.raises(LetorError, match="--values"):
        read([path])


def test_values_map_words(tmp_path, capsys):
    path = tmp_path / "p.csv"
    path.write_text("query,a,b,preference\nq,x,y,win\nq,y,z,loss\n")
    with pytest.raises(LetorError, match="win"):
        read([path])
    words = ["ingest-preferences", str(path), "--name", "p", "--values", "win=1,loss=0", "--json"]
    assert main([*words, "--store", str(tmp_path / "s")]) == 0
    key = json.loads(capsys.readouterr().out)["key"]
    preferences = preference_store.find(key, Store(tmp_path / "s"))
    assert judged(preferences) == [("q", "x", "y", 1.0), ("q", "y", "z", 0.0)]


def test_unknown_columns_are_named(tmp_path):
    for name, text in (
        ("p.csv", "prompt,left,right,better\np,x,y,x\n"),
        ("p.jsonl", '{"prompt": "p", "left": "x", "right": "y"}\n'),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=r"prompt, left, right.*--columns"):
            read([tmp_path / name])


def crafted(folder):
    """Files that are no preferences."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {
        "lists.jsonl": '{"query": ["q"], "a": "x", "b": "y"}\n',
        "objects.jsonl": '{"query": "q", "a": {"x": 1}, "b": "y"}\n',
        "digits.jsonl": '{"query": "q", "a": "x", "b": "y", "preference": 1%s}\n' % ("0" * 400),
        "votes.jsonl": '{"query": "q", "a": "x", "b": "y", "votes": 1%s}\n' % ("0" * 400),
        "deep.jsonl": '{"query": ' + "[" * 100_000 + "\n",
        "quote.csv": 'query,a,b\n"q,x,y\n',
        "twice.csv": "query,a,a,b\nq,x,y,z\n",
        "zero.csv": "query,a,b\nq,x\0,y\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    table = pa.table({"query": [["q"]], "a": ["x"], "b": ["y"]})
    pq.write_table(table, folder / "lists.parquet")
    (folder / "cut.parquet").write_bytes((folder / "lists.parquet").read_bytes()[:90])
    np.savez(folder / "m.npz", np.zeros((2, 2)))
    (folder / "m.npz").rename(folder / "archive.npy")
    np.save(folder / "huge.npy", np.zeros((2, 2)))
    head = (folder / "huge.npy").read_bytes()
    (folder / "huge.npy").write_bytes(head.replace(b"(2, 2), }", b"(1000000, 1000000), }"[:9]))
    return sorted(folder.iterdir())


def test_crafted_files_are_refused(tmp_path):
    for path in crafted(tmp_path):
        with pytest.raises(ShuffleproofError):
            read([path])


def test_bytes_and_their_escape_are_not_taken_for_one_item(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"q,d\xff,e\nq,d\\xff,e\n")
    with pytest.raises(DataError, match="UTF-8"):
        read([path])


def test_a_log_with_many_blanks_is_read_at_once(tmp_path):
    path = tmp_path / "log"
    path.write_text("--- t x y\nResponse:" + " " * 3_000_000 + "1 1\nResponse: 2\n")
    with pytest.raises(LetorError, match="response '1 1'"):  # quadratic before: hours
        read([path])
