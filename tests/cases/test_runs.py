"""Runs, judgments and recorded rerankings of the kinds that public bug reports describe."""

import json

import pytest

from shuffleproof.core.cli.arguments import main
from tests import places

CASES = places.DATA / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"cases absent: {CASES}")


@pytest.fixture
def compared(tmp_path, capsys):
    """Status, JSON answer and error of `runs` over files of the cases."""

    def run(qrels, path, *words):
        files = ["--qrels", str(CASES / "runs" / qrels), str(CASES / path)]
        status = main(["runs", *files, *words, "--json", "--store", str(tmp_path / "store")])
        out, err = capsys.readouterr()
        return status, json.loads(out) if status == 0 else {}, err

    return run


def means(answer):
    return {row["measure"]: round(row["mean"], 4) for row in answer["table"]}


@pytest.mark.parametrize("name", ["ndcg_cut_10", "nDCG@10", "NDCG@10"])
def test_names_of_other_tools_have_their_gain(compared, name):
    status, answer, _ = compared("small.qrels", "runs/plain.run", "--measures", name)
    assert status == 0
    assert list(means(answer).values()) == [0.6641]
    assert any("Conventions: trec_eval" in sentence for sentence in answer["said"])
    _, answer, _ = compared("small.qrels", "runs/plain.run", "--measures", "NDCG(gain=exp2)@10")
    assert list(means(answer).values()) == [0.6561]


def test_a_blank_in_an_id_is_a_malformed_line(compared):
    status, _, err = compared("small.qrels", "runs/space_in_docid.run")
    assert status == 1
    assert "space_in_docid.run:5: malformed" in err


def test_ranks_that_contradict_scores_are_counted(compared):
    status, answer, _ = compared(
        "small.qrels", "runs/rank_contradicts_score.run", "--measures", "NDCG(gain=exp2)@10"
    )
    assert status == 0
    assert list(means(answer).values()) == [0.5062]
    assert any("15 of 15 lines" in sentence for sentence in answer["said"])


@pytest.mark.parametrize("measure", ["NDCG(gain=exp2)@10", "DCG(gain=exp2)@10", "ERR"])
def test_grades_whose_gain_overflows_are_refused(compared, measure):
    run = "runs/rank_contradicts_score.run"
    status, _, err = compared("large_grades.qrels", run, "--measures", measure)
    assert status == 1
    assert "gain=linear" in err or measure == "ERR"
    status, answer, _ = compared("large_grades.qrels", run, "--measures", "NDCG@10,DCG@10,AP")
    assert status == 0
    assert means(answer)["DCG(gain=linear,ties=trec)@10"] == pytest.approx(1148.889, abs=1e-3)


@pytest.mark.parametrize(("bundle", "value"), [("lightgbm", 1.0), ("allrank", 1.0)])
def test_ties_by_row_are_ties_by_line(compared, bundle, value):
    words = ("--measures", "NDCG@10", "--conventions", bundle)
    _, answer, _ = compared("tie.qrels", "runs/tie.run", *words)
    assert list(means(answer).values()) == [value]


def test_whole_grades_written_as_decimals_are_read(compared):
    _, answer, _ = compared("quepid.qrels", "runs/plain.run", "--measures", "NDCG@10")
    assert list(means(answer).values()) == [0.6641]


@pytest.mark.parametrize(
    ("path", "value"), [("rankllm.jsonl", 1.0), ("mteb_predictions.json", 1.0)]
)
def test_recorded_rerankings_with_document_ids_are_read(compared, path, value):
    words = ("--measures", "P@1")
    _, answer, _ = compared("small.qrels", f"rerankers/{path}", *words)
    topics = 3 - sum(answer["missing"].values())
    assert list(means(answer).values()) == [round(value * topics / 3, 4)]


@pytest.mark.parametrize(
    ("path", "what"), [("cohere.jsonl", "Cohere"), ("openinference.jsonl", "OpenInference")]
)
def test_other_recorded_rerankings_are_refused_by_name(compared, path, what):
    status, _, err = compared("small.qrels", f"rerankers/{path}")
    assert status == 1
    assert what in err
    assert "topic Q0 document rank score tag" in err


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"301": {"D0": 1' + "0" * 400 + "}}", '{"301": {"D0": "NaN"}}', "[1]", "{}"],
)
def test_crafted_json_is_refused(compared, tmp_path, text):
    path = tmp_path / "crafted.json"
    path.write_text(text)
    status, _, err = compared("small.qrels", path)
    assert status == 1
    assert "crafted.json: JSON" in err


def test_an_escape_and_the_byte_it_stands_for_stay_apart(compared, tmp_path):
    path = tmp_path / "bytes.run"
    path.write_bytes(b"301 Q0 D\xff 1 9 sys\n301 Q0 D\\xff 2 8 sys\n")
    status, _, err = compared("small.qrels", path)
    assert status == 1
    assert "bytes.run:1: bytes that are not UTF-8" in err
