"""Numbers in files and flags are ASCII decimals: what Python alone would take is refused."""

import numpy as np
import pytest

from shuffleproof.core.data import trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import LetorError
from shuffleproof.core.numerals import is_count, number, whole
from shuffleproof.core.rankers.outside.file_ranker import FileScores
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table

ODD = [
    "1_0",
    "١٢",
    "１",
    "nan",
    "inf",
    "1e400",
    "",
    "0x1",
    "1e",
    "1,5",
    "--1",
    "1 2",
    "\N{MINUS SIGN}1",
]
TOO_LONG = "9" * 300
QRELS = "".join(f"q 0 d{one} {one % 3}\n" for one in range(9))


@pytest.mark.parametrize("text", [*ODD, TOO_LONG * 2])
def test_no_number_is_taken_for_one(text):
    with pytest.raises(ValueError, match="is not a decimal number"):
        number(text)


@pytest.mark.parametrize("text", [*ODD, TOO_LONG, "1.0", "1e3"])
def test_no_whole_number_is_taken_for_one(text):
    with pytest.raises(ValueError, match="is not a whole number"):
        whole(text)
    assert not is_count(text)


@pytest.mark.parametrize(
    "grade", [*[one for one in ODD if one.split() == [one]], TOO_LONG, "1.5", "16777217"]
)
def test_grades_are_whole_numbers(grade, tmp_path):
    path = tmp_path / "qrels"
    path.write_text(f"1 0 d1 2\n1 0 d2 {grade}\n", encoding="utf-8")
    with pytest.raises(LetorError, match=rf"{path}:2: .* where a whole number is due"):
        trec.read_qrels(path)


@pytest.mark.parametrize("score", [*[one for one in ODD if one.split() == [one]], TOO_LONG * 2])
def test_scores_of_runs_are_decimal_numbers(score, tmp_path):
    path = tmp_path / "run"
    path.write_text(f"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 {score} t\n", encoding="utf-8")
    with pytest.raises(LetorError, match=rf"{path}:2: .* where a number is due"):
        trec.read_run(path)


@pytest.mark.parametrize("score", [*[one for one in ODD if one], TOO_LONG, "3.5e38"])
def test_scores_in_files_are_decimal_numbers(score, tmp_path):
    path = tmp_path / "scores"
    path.write_text(f"0.5\n{score}\n", encoding="utf-8")
    with pytest.raises(LetorError, match=rf"{path}:2: "):
        FileScores.read(str(path), lists_of(2))


@pytest.mark.parametrize("read", [trec.read_run, trec.read_qrels])
def test_lines_that_end_with_cr_alone_are_refused(read, tmp_path):
    path = tmp_path / "mac"
    path.write_bytes(b"1 Q0 d1 1 2.5 t\r1 Q0 d2 2 1.5 t\r")
    with pytest.raises(LetorError, match=r"mac:1: a carriage return that ends no line"):
        read(path)


def test_columns_are_apart_by_ascii_blanks_alone(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("1 0 d\N{NO-BREAK SPACE}1 2\n", encoding="utf-8")
    assert trec.read_qrels(path) == {"1": {"d\N{NO-BREAK SPACE}1": 2}}


def lists_of(*lengths):
    """A data set of lists so long, without features."""
    rows = sum(lengths)
    return RankingDataset(
        np.zeros((rows, 0), np.float32), np.zeros(rows, np.float32),
        np.concatenate([[0], np.cumsum(lengths)]), tuple(map(str, range(len(lengths)))), (),
        doc_ids=TextColumn.of([f"d{row}" for row in range(rows)]),
    )  # fmt: skip


def compared(tmp_path, scores):
    """The comparison of a run with these scores."""
    (tmp_path / "qrels").write_text(QRELS)
    lines = [f"q Q0 d{place} 0 {score} t\n" for place, score in enumerate(scores)]
    (tmp_path / "run").write_text("".join(lines))
    return outside_runs.compare_runs(tmp_path / "qrels", [tmp_path / "run"], ["NDCG@5"])


RANKS = [4, 1, 8, 2, 7, 0, 3, 6, 5]


@pytest.mark.parametrize(
    "written",
    [
        [f"{rank}e-60" for rank in RANKS],
        [f"{16777216 + rank}" for rank in RANKS],
        [f"{rank + 1}e300" for rank in RANKS],
        [f"-{9 - rank}e-300" for rank in RANKS],
        [f"0.5000000{rank}e-3" for rank in RANKS],
    ],
)
def test_runs_are_ranked_in_double_precision(written, tmp_path):
    plain, other = compared(tmp_path, RANKS), compared(tmp_path, written)
    means = [benchmark_table.means(one, one.measures)["mean"].item() for one in (plain, other)]
    assert means[0] == means[1]
    assert "scores" not in plain.recipe  # and so its key is what it was
    assert other.recipe["scores"] == "float64"
    assert outside_runs.uncovered_topics(other.facts) == []


def test_ties_that_double_precision_makes_are_counted(tmp_path):
    scores = ["1", "1.0", "1.00000000000000000001", "1e-400", "0", "2", "3", "4", "5"]
    (sentence,) = outside_runs.uncovered_topics(compared(tmp_path, scores).facts)
    assert sentence.startswith("2 documents of t tie with another only because double precision")
