"""Small inputs of `data/cases` for models that users bring and for data files."""

import json
import shutil

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import quality
from shuffleproof.core.store.artefacts import Store
from tests import places

CASES = places.DATA / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="needs the folder of cases")


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch, tables_read_here):
    """Runs a command in the folder of cases, in a store of its own: (status, answer or error)."""
    del tables_read_here
    monkeypatch.chdir(CASES)

    def run(*words):
        status = main([*words, "--store", str(tmp_path / "store"), "--json"])
        told = capsys.readouterr()
        return status, json.loads(told.out) if status == 0 else told.err

    run.store = Store(tmp_path / "store")
    return run


def notes_of(told):
    return " ".join(told["folds"][0]["notes"])


def test_line_i_of_a_file_of_scores_is_row_i_of_the_scattered_file(shell, tmp_path):
    assert shell("ingest", "scattered", "--name", "scat")[0] == 0
    status, told = shell("bring", "scores", "scattered_scores.txt", "--data", "scat")
    assert status == 0, told
    run = tmp_path / "s.run"
    words = ("--data", "scat", "--initial", "file-order")
    assert shell("export", told["ranker"], str(run), *words)[0] == 0
    lines = [line.split() for line in run.read_text().splitlines()]
    found = {(query, document): float(score) for query, _, document, _, score, _ in lines}
    test = catalogue.resolve("scat", shell.store).test
    assert test.query_ids == ("18", "19")
    by_query = [[value for (query, _), value in sorted(found.items()) if query == q]
                for q in test.query_ids]  # fmt: skip
    assert by_query == [[9.0, 2.0, 3.0], [1.0, 8.0, 4.0]]
    out = tmp_path / "test.txt"
    assert shell("export", "scat", str(out), "--part", "test")[0] == 0
    written = [line.split()[:2] for line in out.read_text().splitlines()]
    given = [line.split()[:2] for line in (CASES / "scattered" / "test.txt").read_text().split("\n")
             if line]  # fmt: skip
    assert written == given, "an exported part has the order that files of scores are read in"


@pytest.mark.parametrize("file", ["lgb_other_order.txt", "lgb_same_order.txt"])
def test_a_model_of_a_frame_is_matched_by_name(shell, file):
    assert shell("ingest", "models/named.jsonl", "--name", "named")[0] == 0
    status, told = shell("bring", "lightgbm", f"models/{file}", "--data", "named")
    assert status == 0, told
    assert told["columns"] == "names"
    assert told["valid"]["NDCG@10"] == 1.0
    artefact = shell.store.resolve(told["artefact"])
    assert artefact.recipe["ranker"]["columns"] == "names"
    fold = catalogue.resolve("named", shell.store)
    judged = JudgedLists(fold.test, CandidateLists.all_documents(fold.test))
    assert quality(registry.load(artefact.path), judged)["NDCG@10"] == 1.0


def test_a_model_of_other_names_is_refused_with_the_names(shell, tmp_path):
    renamed = (CASES / "models" / "named.jsonl").read_text().replace('"clicks"', '"taps"')
    (tmp_path / "renamed.jsonl").write_text(renamed)
    assert shell("ingest", str(tmp_path / "renamed.jsonl"), "--name", "renamed")[0] == 0
    words = ("bring", "lightgbm", "models/lgb_other_order.txt", "--data", "renamed")
    status, told = shell(*words)
    assert status == 1
    assert all(text in told for text in ("lacks clicks", "does not know taps", "--columns order"))
    status, told = shell(*words, "--columns", "order")
    assert (status, told["columns"]) == (0, "order")
    assert told["valid"]["NDCG@10"] < 1


def test_cells_that_letor_text_leaves_out_are_missing_for_xgboost(shell):
    xgboost = pytest.importorskip("xgboost")
    place = "models/absent.txt"
    assert shell("ingest", "--train", place, "--test", place, "--name", "absent")[0] == 0
    status, told = shell("bring", "xgboost", "models/xgb_absent.json", "--data", "absent")
    assert status == 0, told
    assert any("missing" in sentence for sentence in told["said"])
    test = catalogue.resolve("absent", shell.store).test
    judged = JudgedLists(test, CandidateLists.all_documents(test))
    ranker = registry.load(shell.store.resolve(told["artefact"]).path)
    assert quality(ranker, judged)["NDCG@10"] == pytest.approx(0.9494, abs=5e-5)
    booster = xgboost.Booster(model_file=CASES / "models" / "xgb_absent.json")
    cells = np.where(test.absent_cells(), np.nan, test.features)
    due = booster.predict(xgboost.DMatrix(cells), output_margin=True)
    np.testing.assert_allclose(ranker.score(test, judged.lists), due, rtol=1e-6)
    assert not np.isnan(test.features).any(), "our own rankers read such cells as 0"


@pytest.mark.parametrize("folder", ["parts_val", "parts_letor2"])
def test_parts_are_known_by_their_usual_names(shell, tmp_path, folder):
    shutil.copytree(CASES / folder, tmp_path / folder)
    (tmp_path / folder / "eval.txt").write_text("0 qid:1 1:0.5 2:1\n")
    status, told = shell("ingest", str(tmp_path / folder), "--name", "x")
    assert status == 0, told
    assert notes_of(told) == "Not read: eval.txt."
    valid = next((CASES / folder).glob("val*")).read_text()
    queries = {line.split()[1].removeprefix("qid:") for line in valid.splitlines()}
    assert set(catalogue.resolve("x", shell.store).valid.query_ids) == queries


def test_a_table_with_other_names_of_columns_is_read(shell, tmp_path):
    status, told = shell("ingest", "tables/kaggle.jsonl", "--name", "x")
    assert status == 1
    assert "--columns query=NAME" in told
    words = ("--columns", "query=session_id,label=target")
    assert shell("ingest", "tables/kaggle.jsonl", "--name", "x", *words)[0] == 0
    assert catalogue.resolve("x", shell.store).train.feature_names == ("price", "bm25")
    text = (CASES / "tables" / "kaggle.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    lines = [",".join(map(str, row.values())) for row in ({n: n for n in rows[0]}, *rows)]
    (tmp_path / "kaggle.csv").write_text("\n".join(lines))
    assert shell("ingest", str(tmp_path / "kaggle.csv"), "--name", "csv", *words)[0] == 0
    both = [catalogue.resolve(name, shell.store).fingerprint for name in ("x", "csv")]
    assert both[0] == both[1]
    assert shell("ingest", "models/absent.txt", "--name", "y", *words)[0] == 1
    assert shell("ingest", "tables/kaggle.jsonl", "--name", "y", "--columns", "topic=a")[0] == 2


def test_a_label_in_words_has_a_remedy_for_labels(shell):
    status, told = shell("ingest", "tables/text_label.jsonl", "--name", "x")
    assert status == 1
    assert "column label holds 'Good'" in told
    assert "labels as numbers" in told
    assert "no feature" not in told
