"""Every command of README and docs runs, or is planned to its end where it takes too long.

A small data set is called `mq2008`, functions are `mine:score` and `rankers:score`, and the key
of a stored study replaces the one in the texts. Blocks of Python that import Shuffleproof run too.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.studies.registry import LISTLESS
from tests import docs, small_collection
from tests.places import ROOT
from tests.small_set import LETOR

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [page.read_text(encoding="utf-8") for page in docs.PAGES if page.stem != "commands"]
PYTHON = re.findall(
    r"^```python\n(import shuffleproof(?:.*\n)*?)^```", "\n".join((README, *PAGES)), re.MULTILINE
)
KEY = "study-0123456789abcdef"

PLANNED = ("train ", "study ")
"""What trains for minutes or more: all of it but the trainings is done, by `--dry-run`."""

INSTEAD = {
    "certify mine:score": "certify mine:score --initial file-order --queries 2 --data mq2008",
    "certify setrank-imsab": "certify feature:1 --initial file-order --queries 2 --data mq2008",
    "certify rankers:score": "certify rankers:score --initial file-order --permutations 2 "
    "--queries 2 --data mq2008",
    "tune lambdamart": "tune ranksvm --trials 3 --initial file-order --data mq2008",
    "doctor --ranker onnx:model.onnx": "doctor --ranker mine:score --like feature:1 --initial "
    "file-order --data mq2008",
    "doctor --ranker": "doctor --ranker mine:score --initial file-order --data mq2008",
}
"""The same with less to train or to score."""

ELSEWHERE = {
    "make ": "the fresh machine itself",
    "demo": "tests/core/cli/test_sample.py",
    "publish": "tests/app/test_publish.py",
    "app": "tests/app/test_server.py",
    "mcp": "tests/core/cli/test_agents.py",
    "check ": "tests/core/gate/test_check.py",
    "bring onnx": "tests/core/rankers/test_model_files.py",
    "study card --data ours": "tests/core/gate/test_check.py",
    "certify http": "tests/core/rankers/test_endpoint.py",
    "ingest t.txt": "tests/core/studies/kinds/test_rerankers.py",
    "ingest-reranks ": "tests/core/studies/kinds/test_rerankers.py",
    "study rerankers ": "tests/core/studies/kinds/test_rerankers.py",
    f"export {KEY} figure3.pdf": "tests/app/test_browser_journey.py",
    f"export {KEY} mine.png": "tests/app/test_browser_journey.py",
}

STATUS = {"doctor": {0, 3}, "certify": {0, 3, 4}, "which": {0, 3}}
"""Exit statuses beside 0, where a finding has one."""


def commands():
    """The command lines in blocks of code, without comments, and in cells of README's table."""
    text = "\n".join((README, *PAGES))
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`(shuffleproof [^`]+)` \|$", README, re.MULTILINE)
    found = (re.split(r" +#| > ", line)[0].strip() for line in lines)
    return [line for line in found if re.match(r"(shuffleproof|make) ", line)]


def starting(line, table):
    """What a table holds for a line, by how it begins; None where it holds nothing."""
    return next((value for start, value in table.items() if line.startswith(start)), None)


LINES = [line.removeprefix("shuffleproof ") for line in commands()]
RUN = [line for line in dict.fromkeys(LINES) if starting(line, ELSEWHERE) is None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder of the files that the texts name."""
    folder = tmp_path_factory.mktemp("readme")
    for fold in ("MQ2008/Fold1", "data/fold1"):
        (folder / fold).mkdir(parents=True)
        for part in ("train", "vali", "test"):
            (folder / fold / f"{part}.txt").write_text(LETOR)
    for name in ("S1", "S2", "S3", "S4", "Fold1.test", "Fold2.test", "Fold3.test"):
        own = f"qid:{int.from_bytes(name.encode()[:5]) % 10_000}"
        (folder / f"{name}.txt").write_text(LETOR.replace("qid:", own))
    for module in ("mine", "rankers"):
        function = "def score(features, ranks):\n    return features[:, 0]\n"
        function += (
            "def prefer(query, a, b):\n    return a['features'] > b['features'] and 1 or 0\n"
        )
        (folder / f"{module}.py").write_text(function)
    rows = np.random.default_rng(0).random((60, 2))
    data = lightgbm.Dataset(rows, rows[:, 0] > 0.5)
    model = lightgbm.train({"verbosity": -1, "num_threads": 1, "num_leaves": 3}, data, 2)
    model.save_model(folder / "model.txt")
    (folder / "test.txt").write_text(LETOR)
    for library in ("lightgbm", "xgboost", "catboost"):
        (folder / f"{library}.json").write_text('{"learning_rate": 0.1}')
    (folder / "scores.txt").write_text("0.5\n" * len(LETOR.splitlines()))
    (folder / "judged.csv").write_text("query,a,b\nq,x,y\nq,y,z\nq,z,x\n")
    rows = {"session_id": [1, 1, 2], "clicked": [1, 0, 1], "old": [1.0, 2, 1], "new": [2.0, 1, 1]}
    pd.DataFrame(rows).to_parquet(folder / "judged.parquet")
    small_collection.write(folder / "FOLDER")
    (folder / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n")
    for run in ("a", "b"):
        (folder / f"{run}.run").write_text(f"1 Q0 {run} 1 2.0 {run}\n")
    return folder


@pytest.fixture(scope="module")
def key(folder):
    """Key of a stored study."""
    store = ["--store", str(folder / "store")]
    assert main(["ingest", str(folder / "MQ2008/Fold1"), "--name", "mq2008", *store]) == 0
    study = "study initial-ranking --rankers feature:1 --levels 0,1 --draws 1 --data mq2008"
    assert main([*shlex.split(study), "--initial", "file-order", *store]) == 0
    assert main(["train", "lambdamart", "--data", "mq2008", "--preset", "small", *store]) == 0
    assert main(["ingest-collection", str(folder / "FOLDER"), "--name", "cranfield", *store]) == 0
    (study,) = (folder / "store" / "artefacts").glob("study-*")
    return study.name


@pytest.mark.parametrize("line", RUN)
def test_a_line_of_the_texts_does_its_work(line, folder, key, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = shlex.split((starting(line, INSTEAD) or line).replace(KEY, key))
    planned = line.startswith(PLANNED)
    listless = "--preset" in words or words[1] in LISTLESS
    preset = [] if listless else ["--preset", "small"]
    more = ["--dry-run", *preset] if planned and preset else []
    more += ["--dry-run"] if planned and not more else []
    store = "new" if words[0] in {"ingest", "ingest-collection"} else "store"
    shutil.rmtree(folder / "new", ignore_errors=True)
    status = main([*words, *more, "--store", str(folder / store)])
    said = capsys.readouterr()
    assert status in STATUS.get(words[0], {0}), said.err


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON)
def test_a_block_of_python_runs(block, tmp_path):
    (tmp_path / "script.py").write_text(block)
    environment = os.environ | {"SHUFFLEPROOF_HOME": str(tmp_path / "store")}
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, check=True)


QUOTED = re.findall(
    r"^```\nshuffleproof ([^\n]+)\n(?:[^`]*\n)?```\n```text\n([^`]+)```", README, re.MULTILINE
)


@pytest.mark.slow
@pytest.mark.parametrize(("line", "quoted"), QUOTED)
def test_the_readme_quotes_the_answer(line, quoted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    function = re.search(r"```python\n(def score.*?)```", README, re.DOTALL)
    (tmp_path / "mine.py").write_text(function[1])
    assert main([*shlex.split(line), "--store", "store"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert [part for part in " ".join(quoted.split()).split(" … ") if part not in printed] == []


def test_the_readme_is_short():
    assert len(QUOTED) == 2
    assert len(README.split()) <= 900


def test_there_is_a_line_for_every_exception():
    for start in (*ELSEWHERE, *INSTEAD):
        assert any(line.startswith(start) for line in LINES), start
