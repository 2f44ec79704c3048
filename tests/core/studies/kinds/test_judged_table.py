"""Tables of judged rows: values of the whole table, whatever is read at a time, and refusals."""

import re

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import paired_t
from shuffleproof.core.studies.kinds.benchmark import judged_table
from shuffleproof.core.studies.kinds.benchmark.judged_table import measure_table

MEASURES = [Measure.parse("NDCG@10"), Measure.parse("AP")]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 30, size=40)
    count = int(lengths.sum())
    return pd.DataFrame({
        "qid": np.repeat(np.arange(40), lengths),
        "grade": random.choice(4, size=count),
        "old": random.normal(size=count).astype(np.float32).round(1),  # with ties
        "new": 1.0 + random.normal(size=count) * 1e-9,  # equal in float32
    })  # fmt: skip


def written(frame, folder, ending="parquet", name="table"):
    path = folder / f"{name}.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    return path


def expected(rows):
    bounds = np.append(np.flatnonzero(rows["qid"].diff() != 0), len(rows))
    judged = RankingDataset(
        np.zeros((len(rows), 0), np.float32), rows["grade"].to_numpy(np.float32), bounds,
        tuple(map(str, range(len(bounds) - 1))), (),
    )  # fmt: skip
    places = (-rows.groupby("qid")["new"].rank(ascending=False)).to_numpy(np.float32)
    lists = CandidateLists.all_documents(judged)
    return np.stack([
        evaluate(MEASURES, judged, lists, scores)
        for scores in (rows["old"].to_numpy(np.float32), places)
    ])  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 7, 50, 1 << 20])
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_values_are_those_of_the_whole_table(rows, tmp_path, monkeypatch, at_once, ending):
    monkeypatch.setattr(judged_table, "ROWS", at_once)
    found = measure_table(written(rows, tmp_path, ending), MEASURES)
    assert (found.systems, found.rows) == (("old", "new"), len(rows))
    np.testing.assert_array_equal(found.values, expected(rows))


@pytest.mark.parametrize("at_once", [2, 1 << 20])
def test_queries_of_csv_are_texts(tmp_path, monkeypatch, at_once):
    """No id is a number: 007 is not 7, and a later id may be a word."""
    monkeypatch.setattr(judged_table, "ROWS", at_once)
    lines = ["007,1,.5", "7,0,.2", "7,1,.1", "7,0,.3", "u7,1,.1"]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["query,label,ours", *lines]))
    found = measure_table(path, [Measure.parse("RR")])
    np.testing.assert_allclose(found.values, [[[1, 1 / 3, 1]]])


def test_names_of_queries_may_be_texts_and_columns_are_chosen(rows, tmp_path):
    named = rows.assign(qid=[f"topic {query}" for query in rows["qid"]], title="a text")
    path = written(named.rename(columns={"qid": "session", "grade": "clicked"}), tmp_path)
    columns = {"query": "session", "label": "clicked"}
    found = measure_table(path, MEASURES, columns, ["new"])
    np.testing.assert_array_equal(found.values, expected(rows)[1:])


def test_means_and_differences_are_those_of_the_values(rows, tmp_path):
    found = measure_table(written(rows, tmp_path), MEASURES[:1])
    old, new = expected(rows)[:, 0]
    mean, _ = found.means()
    assert mean["mean"] == pytest.approx(old.mean())
    assert mean["low"] < mean["mean"] < mean["high"]
    (difference,) = found.differences("old")
    assert (difference["ranker"], difference["baseline"], difference["n"]) == ("new", "old", 40)
    assert difference["p"] == pytest.approx(paired_t(new, old).p_value)
    assert difference["difference"] == pytest.approx(np.mean(new.astype(float) - old))
    with pytest.raises(ShuffleproofError, match="newer"):
        found.differences("newer")


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda rows: pd.concat([rows, rows[:1]]), r"row 593: the query was already there"),
        (lambda rows: rows.assign(old=rows["old"].where(rows.index != 5)), "row 6, old: no number"),
        (lambda rows: rows.assign(old="high"), "old: text among the numbers"),
        (lambda rows: rows.drop(columns="grade"), "no column label or relevance or grade or rel"),
        (lambda rows: rows[["qid", "grade"]], "no column of scores"),
        (lambda rows: rows[:0], "no rows"),
        (lambda rows: rows.assign(qid=rows["qid"].astype(float).where(rows.index > 2)), "no query"),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_cannot_be_measured_is_named(rows, tmp_path, broken, words, ending):
    path = written(broken(rows), tmp_path, ending)
    with pytest.raises(ShuffleproofError, match=words):
        measure_table(path, MEASURES)


def test_a_damaged_table_is_refused(rows, tmp_path):
    path = written(rows, tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=re.escape(str(path))):
        measure_table(path, MEASURES)
