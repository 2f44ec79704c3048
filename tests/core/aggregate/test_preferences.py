"""Preferences from files of every form, in the store and out; what is wrong is told by its line."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.aggregate import preference_store
from shuffleproof.core.aggregate.preferences import open_, pairs_of_rankings, save
from shuffleproof.core.aggregate.reading import PreferenceFormat, read
from shuffleproof.core.aggregate.registry import Terms, aggregate
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.store.artefacts import Store

ROWS = [("q", "x", "y", 1.0), ("q", "y", "z", 0.25), ("r", "z", "x", 0.5)]


def written(folder, name):
    path = folder / name
    frame = pd.DataFrame(ROWS, columns=["query", "a", "b", "preference"])
    if name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        separator = {"csv": ",", "tsv": "\t", "ssv": ";", "gz": ","}[name.rpartition(".")[2]]
        frame.to_csv(path, sep=separator, index=False, header=not name.startswith("bare"))
    return path


@pytest.mark.parametrize(
    "name", ["p.csv", "p.tsv", "p.ssv", "p.csv.gz", "p.jsonl", "p.parquet", "bare.csv"]
)
def test_every_form_of_pairs_says_the_same(tmp_path, name):
    found = read([written(tmp_path, name)])
    assert found.query_ids == ("q", "r")
    assert found.items == (("x", "y", "z"), ("z", "x"))
    values = found.pairs(0).values
    assert values[0, 1] == 1
    assert values[1, 0] == 0
    assert (values[1, 2], values[2, 1]) == (0.25, 0.75)
    assert np.isnan(values[0, 2]), "a pair that nobody judged is missing, not a tie"
    assert found.pairs(1).values[0, 1] == 0.5


def test_answers_without_preference_are_votes_and_both_directions_stay_apart(tmp_path):
    (tmp_path / "votes.csv").write_text("query,a,b\nq,x,y\nq,y,x\nq,x,y\n")
    values = read([tmp_path / "votes.csv"]).pairs(0).values
    assert values[0, 1] == pytest.approx(2 / 3)
    assert values[1, 0] == pytest.approx(1 / 3)
    (tmp_path / "both.csv").write_text("query,a,b,preference\nq,x,y,.9\nq,y,x,.6\n")
    values = read([tmp_path / "both.csv"]).pairs(0).values
    assert (values[0, 1], values[1, 0]) == (0.9, 0.6), "a is shown first where nobody says who was"
    (tmp_path / "first.csv").write_text("query,a,b,preference,first\nq,x,y,.9,b\nq,x,y,.6,x\n")
    values = read([tmp_path / "first.csv"]).pairs(0).values
    assert (values[0, 1], values[1, 0]) == (0.6, pytest.approx(0.1))


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl", "pairs.parquet"])
def test_who_stands_first_because_it_won_does_not_settle_what_was_never_asked(tmp_path, name):
    won = [("q", winner, loser) for winner, loser in itertools.combinations("zyxwvu", 2)]
    frame = pd.DataFrame(won, columns=["query", "a", "b"])
    if name.endswith("csv"):
        frame.to_csv(tmp_path / name, index=False)
    elif name.endswith("jsonl"):
        frame.to_json(tmp_path / name, orient="records", lines=True)
    else:
        frame.to_parquet(tmp_path / name)
    found = read([tmp_path / name])
    assert found.items == (tuple("uvwxyz"),)
    values = found.pairs(0).values
    assert np.nanmin(np.triu(values.T, 1)[np.triu_indices(6, 1)]) == 1, "each keeps its winner"
    everything = aggregate("goa", found.pairs(0))
    assert "".join(found.items[0][place] for place in everything.order) == "zyxwvu"
    nothing = aggregate("goa", found.pairs(0), Terms(calls=0))
    assert "".join(found.items[0][place] for place in nothing.order) == "uvwxyz"


def test_vote_lists_judges_weights_and_logs_are_read(tmp_path):
    text = "query;a;b;preference;votes;judge\nq;x;y;1,-1,0,1;;m\nq;x;y;tie;4;n\n"
    (tmp_path / "lists.csv").write_text(text)
    found = read([tmp_path / "lists.csv"])
    assert found.judges == ("m", "n")
    assert found.pairs(0).values[0, 1] == pytest.approx((4 * 0.625 + 4 * 0.5) / 8)
    log = "--- q x y\nWhich?\nResponse: 2\n\nResponse: 2\n@ q y x !\n"
    (tmp_path / "log").write_text(log)
    values = read([tmp_path / "log"]).pairs(0).values
    assert (values[0, 1], values[1, 0]) == (0, 0), "the second of the two, whichever it was"


def test_matrices_rankings_and_runs(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[0, 0.9, np.nan], [0.4, 0, 1], [np.nan, 0.5, 0]]))
    values = read([tmp_path / "m.npy"]).pairs(0).values
    assert np.isnan(np.diag(values)).all()
    assert (values[0, 1], values[1, 0]) == (0.9, 0.4)
    text = "2 qid:1 1:1 2:NULL #docid = d\n0 qid:1 1:2 2:1 #docid = e\n"
    (tmp_path / "agg.txt").write_text(text)
    with pytest.raises(ShuffleproofError, match="--direction small"):
        read([tmp_path / "agg.txt"], PreferenceFormat(columns={}))
    kept = {
        nulls: read([tmp_path / "agg.txt"], PreferenceFormat(direction="small", nulls=nulls))
        for nulls in ("missing", "last")
    }
    wanted = r"25\.0 % of the ranks are missing.*--nulls"
    with pytest.raises(DataError, match=wanted):
        read([tmp_path / "agg.txt"], PreferenceFormat(direction="small"))
    assert kept["missing"].labels[0].tolist() == [2, 0]
    assert kept["missing"].pairs(0).values[0, 1] == 1, "the ranker that says nothing has no vote"
    assert kept["last"].pairs(0).values[0, 1] == 0.5
    for name, scores in (("s", (2, 1)), ("t", (3, 4))):
        lines = [f"1 Q0 {item} 1 {score} {name}" for item, score in zip("de", scores, strict=True)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines))
    runs = read([tmp_path / "s.run", tmp_path / "t.run"])
    assert runs.judges == ("s", "t")
    assert runs.pairs(0).values[0, 1] == 0.5


def test_rankings_count_by_votes():
    pairs = pairs_of_rankings(np.array([[3, 2, 1], [1, 2, np.nan], [2, 1, np.nan]], np.float32))
    assert pairs.weights[0, 1] == pytest.approx(2 / 3)
    assert pairs.weights[0, 2] == pytest.approx(1 / 3), "one ranker of three says so"
    assert pairs.values[0, 2] == 1


BAD = {
    "twice.csv": ("query,a,b,preference\nq,x,y,.5\nq,x,y,.6\n", 3, "--repeats"),
    "outside.csv": ("query,a,b,preference\nq,x,y,1.5\n", 2, "--malformed"),
    "below.csv": ("query,a,b,preference\nq,x,y,-0.1\n", 2, "--malformed"),
    "votes.csv": ("q;x;y;1,0-1\n", 1, "--malformed"),
    "columns.csv": ("query,a\nq,x\n", 1, "--columns"),
    "called.csv": ("query,left,right\nq,x,y\n", 1, "--columns"),
    "short.csv": ("query,a,b\nq,x\n", 2, "A line reads"),
    "itself.csv": ("query,a,b\nq,x,x\n", 2, "leave the line out"),
    "first.csv": ("query,a,b,preference,first\nq,x,y,1,z\n", 2, "one of the two"),
    "many.csv": ("query,a,b,preference,votes\nq,x,y,1,0\n", 2, "how many answers"),
    "json.jsonl": ('{"query": "q", "a": "x", "b": "y"}\n{"query"\n', 2, "Write it again"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_with_file_line_and_remedy(tmp_path, name):
    text, line, remedy = BAD[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ShuffleproofError) as told:
        read([path])
    place = f"line {line}" if name.endswith("jsonl") else f"{name}:{line}"
    assert place in str(told.value)
    assert remedy in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["query,a,b\n", "query,a,b,preference\nq,x,y,?\n", "query,a,b,preference\nq,x,x,.5\n"],
)
def test_a_table_without_a_preference_is_refused(tmp_path, text):
    (tmp_path / "none.csv").write_text(text)
    with pytest.raises(DataError, match=r"none\.csv: no preferences\. A line reads: query, a, b"):
        read([tmp_path / "none.csv"], PreferenceFormat(malformed="skip"))


def test_policies_settle_what_would_be_an_error(tmp_path):
    (tmp_path / "t.csv").write_text(BAD["twice.csv"][0] + "q,y,z,nonsense\n")
    values = {
        repeats: read([tmp_path / "t.csv"], PreferenceFormat(repeats=repeats, malformed="skip"))
        for repeats in ("votes", "first", "last")
    }
    assert {name: found.pairs(0).values[0, 1] for name, found in values.items()} == {
        "votes": 0.55, "first": 0.5, "last": 0.6,
    }  # fmt: skip
    assert any("1 malformed answer left out (t.csv:4)" in note for note in values["votes"].notes)


def test_preferences_are_stored_by_content(tmp_path):
    store = Store(tmp_path / "store")
    paths = [written(tmp_path, "p.csv")]
    artefact = preference_store.ingest(paths, "mine", store)
    assert preference_store.ingest(paths, "again", store).key == artefact.key
    assert (
        preference_store.ingest(paths, None, store, PreferenceFormat(repeats="votes")).key
        != artefact.key
    )
    found = preference_store.find("mine", store)
    fresh = read(paths)
    assert json.dumps(found.items) == json.dumps(fresh.items)
    for query in range(fresh.queries):
        np.testing.assert_array_equal(found.pairs(query).values, fresh.pairs(query).values)


def test_preferences_travel_in_archives_and_damaged_ones_are_refused(tmp_path, capsys):
    path = written(tmp_path, "p.csv")
    here, there = (["--store", str(tmp_path / name)] for name in ("here", "there"))
    assert main(["ingest-preferences", str(path), "--name", "mine", *here]) == 0
    assert main(["library", "export", str(tmp_path / "all.zip"), "mine", *here]) == 0
    assert main(["library", "import", str(tmp_path / "all.zip"), *there]) == 0
    capsys.readouterr()
    assert main(["consistency", "mine", "--json", *there]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 3
    found = read([path])
    save(replace(found, a=found.a + 7), tmp_path)
    with pytest.raises(ShuffleproofError, match="Ingest the preferences again"):
        open_(tmp_path)


def test_orders_of_labelled_items_are_told(tmp_path, capsys):
    path, here = tmp_path / "votes.txt", ["--store", str(tmp_path / "store")]
    lines = [
        "2 qid:7 1:3 2:3 #docid = x",
        "0 qid:7 1:1 2:1 #docid = y",
        "1 qid:7 1:2 2:2 #docid = z",
    ]
    path.write_text("\n".join(lines) + "\n")
    ingest = ["ingest-preferences", str(path), "--format", "rankings", "--direction", "small"]
    assert main([*ingest, "--name", "votes", *here]) == 0
    capsys.readouterr()
    assert main(["aggregate", "votes", "--with", "goa", "--json", *here]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["order"] == ["y", "z", "x"]


def test_two_runs_of_one_tag_are_refused_where_they_rank_the_same_item(tmp_path):
    for name, score in (("s", 1), ("t", 2)):
        (tmp_path / f"{name}.run").write_text(f"1 Q0 d 1 {score} same\n1 Q0 e 2 0 same\n")
    with pytest.raises(DataError, match=r"a second rank of .d. by same.*its own tag"):
        read([tmp_path / "s.run", tmp_path / "t.run"])
