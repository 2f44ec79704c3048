import io

import numpy as np
import pytest

from shuffleproof.core.data import trec
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, LetorError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from tests import loading, places

DATA = places.DATA
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the real data folder")
TEXT = (
    b"2 qid:7 1:0.5 #docid = GX1 inc = 1\n0 qid:7 1:0.25 #docid = GX2\n"
    b"1 qid:7 1:0.75 #docid = GX3\n1 qid:9 1:3 # docid = GX1\n0 qid:9 1:3\n"
)


@pytest.fixture
def dataset():
    return loading.read(io.BytesIO(TEXT)).dataset


@pytest.mark.parametrize("name", ["out.run", "out.run.gz"])
def test_runs_are_written_best_first_and_read_back(dataset, tmp_path, name):
    lists = CandidateLists.all_documents(dataset)
    scores = np.array([0.1, 1e-30, 3.4e38, 1 / 3, 1 / 3], dtype=np.float32)
    trec.write_run(tmp_path / name, dataset, lists, scores, tag="mine")
    run = trec.read_run(tmp_path / name)
    assert run.tag == "mine"
    assert {topic: list(found) for topic, found in run.scores.items()} == {
        "7": ["GX3", "GX1", "GX2"],
        "9": ["GX1", "9.2"],
    }
    assert run.lines == 5
    expected = {"GX1": scores[0], "GX2": scores[1], "GX3": scores[2]}
    assert {name: np.float32(score) for name, score in run.scores["7"].items()} == expected
    assert [file.name for file in tmp_path.iterdir()] == [name]
    trec.write_run(tmp_path / "a", dataset, lists, dataset.features[:, 0].copy())
    lines = (tmp_path / "a").read_text().splitlines()
    assert lines[0] == "7 Q0 GX3 1 0.75 shuffleproof"
    assert [line.split()[3] for line in lines] == ["1", "2", "3", "1", "2"]


def test_judgments_are_written_and_read_back(dataset, tmp_path):
    trec.write_qrels(tmp_path / "qrels", dataset)
    assert trec.read_qrels(tmp_path / "qrels") == {
        "7": {"GX1": 2, "GX2": 0, "GX3": 1},
        "9": {"GX1": 1, "9.2": 0},
    }


def test_measures_of_written_files_equal_ours(dataset, tmp_path):
    import ir_measures

    trec.write_qrels(tmp_path / "qrels", dataset)
    lists = CandidateLists.all_documents(dataset)
    trec.write_run(tmp_path / "run", dataset, lists, np.arange(5, dtype=np.float32))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    found = ir_measures.iter_calc([ir_measures.RR], qrels, run)
    assert {metric.query_id: metric.value for metric in found} == {"7": 1.0, "9": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"7 Q0 a 1 0.5 t\n7 Q0 a\n", ":2: 3 columns instead of 6"),
        (b"7 Q0 a 1 high t\n", ":1: 'high' where a number is due"),
        (b"7 Q0 a 1 nan t\n", ":1: 'nan' where a number is due"),
        (b"7 Q0 a 1 1 t\n\n7 Q0 a 2 1 t\n", ":3: a document that this topic has already"),
        (b"\n \n", "no lines"),
        (b"\x1f\x8b\x08\x00", "damaged"),
        (b"7 Q0 a\0 1 1 t\n", "binary data"),
    ],
)
def test_malformed_runs(text, message, tmp_path):
    (tmp_path / "a.run").write_bytes(text)
    with pytest.raises(DataError) as caught:
        trec.read_run(tmp_path / "a.run")
    assert message in str(caught.value)


def test_malformed_judgments(tmp_path):
    def read(text):
        (tmp_path / "a.qrels").write_bytes(text)
        return trec.read_qrels(tmp_path / "a.qrels")

    with pytest.raises(LetorError, match="where a whole number is due"):
        read(b"1 0 a 0.5\n")
    with pytest.raises(LetorError, match="has already"):
        read(b"1 0 a 1\n1 0 a 2\n")
    assert read(b"1\t0\ta\t-1\r\n1 0 a -1") == {"1": {"a": -1}}
    beir = b"query-id\tcorpus-id\tscore\n1\ta\t2\n"
    assert read(beir) == {"1": {"a": 2}}
    with pytest.raises(LetorError, match="3 columns"):
        read(beir.partition(b"\n")[2])


def test_output_refuses_what_columns_cannot_hold(dataset, tmp_path):
    lists = CandidateLists.all_documents(dataset)
    scores = np.zeros(5, dtype=np.float32)
    with pytest.raises(DataError, match="no blanks"):
        trec.write_run(tmp_path / "a", dataset, lists, scores, tag="two words")
    twice = lists.shown_as(np.array([0, 0, 2, 3, 4]))
    with pytest.raises(DataError, match="same name"):
        trec.write_run(tmp_path / "a", dataset, twice, scores)
    halves = loading.read(io.BytesIO(b"0.5 qid:1 1:1\n")).dataset
    with pytest.raises(DataError, match="whole numbers"):
        trec.write_qrels(tmp_path / "a", halves)
    assert list(tmp_path.iterdir()) == []


@needs_data
def test_published_runs_and_judgments():
    folder = DATA / "trec_eval_testdata"
    run = trec.read_run(folder / "results.test.gz")
    assert [len(scores) for scores in run.scores.values()] == [500, 500, 500]
    assert sum(map(len, trec.read_qrels(folder / "qrels.test.gz").values())) == 3681
    assert trec.read_run(folder / "results.trunc.gz").lines == 584
    robust = trec.read_qrels(DATA / "trec_robust03/robust03_qrels.txt.gz")
    assert (len(robust), sum(map(len, robust.values()))) == (100, 128_796)
    tabs = trec.read_run(DATA / "trec_robust03/input.UIUC03Rd1.gz")
    assert (tabs.tag, tabs.lines, len(tabs.scores)) == ("UIUC03Rd1", 100_000, 100)
    cranfield = trec.read_qrels(DATA / "cranfield/cranqrel.trec.txt.gz")
    assert len(cranfield) == 225


def test_what_a_run_retrieved_unjudged_is_not_judged(tmp_path):
    import pytrec_eval

    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n1 0 c 1\n1 0 e -1\n1 0 f 0\n")
    ranking = ("b", "x", "a", "e", "c")
    (tmp_path / "r").write_text("".join(f"1 Q0 {d} 1 {-i} r\n" for i, d in enumerate(ranking)))
    grades, run = trec.read_qrels(tmp_path / "q"), trec.read_run(tmp_path / "r")
    whole = outside_runs.judge_runs(grades, {"r": run})
    measures = [
        Measure.parse(text) for text in ("Bpref", "AP", "NDCG(gain=linear)", "Judged@2", "Judged")
    ]
    ranked = outside_runs.as_ranked(whole.lists["r"], whole.scores["r"])
    values = evaluate(measures, whole.dataset, whole.lists["r"], ranked)
    scores = {"1": dict(run.scores["1"])}
    theirs = pytrec_eval.RelevanceEvaluator(grades, {"bpref", "map", "ndcg"}).evaluate(scores)["1"]
    wanted = [theirs["bpref"], theirs["map"], theirs["ndcg"], 1 / 2, 3 / 5]
    assert values[:, 0] == pytest.approx(wanted)


def test_every_file_that_is_read_is_reported(tmp_path):
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    for name in ("x", "y", "z"):
        (tmp_path / name).write_text(f"1 Q0 a 1 2 {name}\n1 Q0 b 2 1 {name}\n")
    work = outside_runs.measure_runs(tmp_path / "q", [tmp_path / name for name in "xyz"], ["AP"])
    seen = []
    result = run_to_end(work, seen.append)
    assert [(one.done, one.total) for one in seen] == [(at, 5) for at in range(1, 6)]
    assert list(result.facts["files"].values()) == ["x", "y", "z"]
