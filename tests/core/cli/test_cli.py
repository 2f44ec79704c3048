"""The command line: shapes of the JSON, exit codes, messages, and that work is found again."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core import workers
from shuffleproof.core.cli.arguments import main, parser
from shuffleproof.core.cli.flags import table
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import UsageError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.registry import EVERY
from tests import loading
from tests.synthetic import planted

SUMMARY = {*("ranker", "family", "level", "tau", "set_size", "measure", "mean", "low", "high", "n")}
SMALL = ("--initial", "feature:3", "--depth", "20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of LETOR files with a planted set that trains in a second."""
    target = tmp_path_factory.mktemp("planted")
    fold = planted(queries=(40, 15, 15), seed=1, documents=20)
    for part, name in ((fold.train, "train"), (fold.valid, "vali"), (fold.test, "test")):
        write(part, target / f"{name}.txt")
    return target


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def answered(store, capsys):
    def answer(*arguments, code=0):
        ended = main([*map(str, arguments), "--json", "--store", str(store)])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return json.loads(printed.out)

    return answer


@pytest.fixture
def refused(store, capsys):
    def refuse(*arguments):
        code = main([*map(str, arguments), "--json", "--store", str(store)])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert not printed.out
        return code, printed.err

    return refuse


def test_a_port_in_use_is_refused_before_the_server_starts(refused):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, message = refused("app", "--host", "127.0.0.1", "--port", port)
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in message


def test_a_misspelt_executor_is_refused_before_the_server_starts(refused, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "slrum:long")
    with socket.socket() as other:  # else it would become the server
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, message = refused("app", "--port", other.getsockname()[1])
    assert code == 2
    assert "SHUFFLEPROOF_EXECUTOR: no executor is called 'slrum:long'" in message


def test_what_is_stored_is_answered_without_workers(tmp_path, monkeypatch, capsys):
    def told(*more):
        store = str(tmp_path)
        code = main(["train", "ranknet", "--data", "sample", "--store", store, "--json", *more])
        return code, *capsys.readouterr()

    def workers_of(*_, **__):
        raise UsageError("workers are asked")

    monkeypatch.setattr(workers, "workers_of", workers_of)
    code, printed, _ = told("--executor", "processes:2")
    assert (code, json.loads(printed)["cached"]) == (0, True)
    assert "no executor is called 'rya'" in told("--executor", "rya")[2]
    assert "workers are asked" in told("--executor", "processes:2", "--set", "seed=7")[2]


def test_ingest_doctor_and_the_stored_name(answered, folder):
    told = answered("ingest", folder, "--name", "planted")
    assert told["folds"][0]["name"] == "planted"
    assert told["folds"][0]["queries"] == 70
    found = answered("doctor", "planted")
    assert {"queries", "documents", "features", "labels", "findings"} <= set(found)
    assert found["queries"] == 70
    assert sum(found["labels"].values()) == found["documents"]
    assert all({"code", "severity", "message", "where"} <= set(one) for one in found["findings"])
    assert [row["name"] for row in answered("library", "list", "--kind", "data")["rows"]] == [
        "planted"
    ]


def test_the_same_content_under_its_name_is_no_error_and_other_content_is(
    answered, refused, folder, tmp_path
):
    again = ("ingest", folder, "--name", "twice")
    folds = answered(*again)["folds"]
    assert answered(*again)["folds"] == folds
    before = len(answered("library", "list")["rows"])
    (tmp_path / "one.txt").write_text("".join(f"1 qid:{at} 1:{at}\n" for at in range(9)))
    status, words = refused("ingest", tmp_path / "one.txt", "--name", "twice")
    assert status == 2
    assert "the name twice is in use" in words
    assert len(answered("library", "list")["rows"]) == before


def test_train_reports_and_is_found_again(answered, folder):
    command = ("train", "setrank-imsab@small", "--data", folder, *SMALL, "--set", "epochs=2")
    first = answered(*command)
    keys = {"ranker", "artefact", "cached", "epochs", "valid", "seconds", "documents_at_once"}
    assert set(first) == {"schema", "version"} | keys
    assert (first["ranker"], first["cached"], first["epochs"]) == ("setrank-imsab", False, 2)
    assert 0 < first["valid"]["NDCG@10"] <= 1
    again = answered(*command)
    assert again["cached"]
    assert again["artefact"] == first["artefact"]
    assert again["seconds"] == 0


def studies(answered):
    """The keys of all studies that are stored."""
    rows = answered("library", "list")["rows"]
    return {row["key"] for row in rows if row["key"].startswith("study-")}


def test_study_certify_and_exports(answered, refused, folder, tmp_path):
    rankers = "feature:1,dlcm@small,setrank-imsab@small"
    study = answered(
        *("study", "initial-ranking", "--data", folder, *SMALL, "--rankers", rankers),
        *("--levels", "5,20", "--draws", "2", "--measures", "NDCG@10,NDCG(ideal=shown,ties=row)@5"),
    )
    summary = pd.DataFrame(study["summary"])
    assert set(summary.columns) == SUMMARY
    assert set(summary.level) == {0, 5, 20}
    assert set(summary.measure) == {"NDCG@10", "NDCG(ideal=shown,ties=row)@5"}
    flat = summary[(summary.ranker == "setrank-imsab@small") & (summary.measure == "NDCG@10")]
    assert np.ptp(flat["mean"].to_numpy()) == 0
    for name in ("x.csv", "x.parquet", "x.tex", "x.json"):
        assert answered("export", study["result"], tmp_path / name)["bytes"] > 0
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "x.csv"), pd.read_parquet(tmp_path / "x.parquet"), rtol=1e-9
    )
    answered("export", study["result"], tmp_path / "q.csv", "--per-query")
    every = pd.read_csv(tmp_path / "q.csv", dtype={"query": str})
    over_draws = every.groupby(["ranker", "level", "measure", "query"])["value"].mean()
    means = over_draws.groupby(["ranker", "level", "measure"]).mean()
    of_summary = summary.set_index(["ranker", "level", "measure"])["mean"]
    np.testing.assert_allclose(means, of_summary.loc[means.index], atol=1e-6)
    answered("export", study["result"], tmp_path / "x.md")
    table = (tmp_path / "x.md").read_text()
    assert "| Ranker | 0 | 5 | 20 |" in table
    assert f"| SetRank IMSAB small | {flat['mean'].iloc[0]:.3f} |" in table
    for what, name, flags in (
        *((study["result"], name, "--per-query") for name in ("x.md", "x.html")),
        *(("sample", "y.csv", flags) for flags in ("--figure 1", "--per-query")),
        *(
            (study["result"], "y.csv", flags)
            for flags in ("--part test", "--against dlcm", "--test randomisation")
        ),
    ):
        said = refused("export", what, tmp_path / name, *flags.split())
        assert (said[0], "--per-query" in flags or flags.split()[0] in said[1]) == (2, True)
    answered("export", study["result"], tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert "SetRank IMSAB small" in page
    assert 'src="http' not in page
    before = studies(answered)
    card = answered(
        "certify", "setrank-imsab@small", "--data", folder, *SMALL, "--permutations", "3"
    )
    assert card["invariant"]
    assert card["positions_moved"] == 0
    assert card["permutations"] == 3 * 15
    moved = answered(
        "certify", "dlcm@small", "--data", folder, *SMALL, "--permutations", "3", code=3
    )
    assert moved["verdict"] == "not invariant"
    assert len(studies(answered) - before) == 2, "examinations of stored rankers are kept"
    base = ("--data", folder, *SMALL, "--permutations", "3", "--queries", "2")
    assert (
        answered("certify", "dlcm@small", *base, code=3)["ranker"]
        == moved["ranker"]
        == "dlcm@small"
    )
    trained = answered("train", "dlcm@small", "--data", folder, *SMALL)["artefact"]
    answered("export", trained, tmp_path / "dlcm.run", "--data", folder, *SMALL)
    for name in ("dlcm@small", f"dlcm#{trained.partition('-')[2][:8]}"):
        answered("export", name, tmp_path / "named.run", "--data", folder, *SMALL)
        assert (tmp_path / "named.run").read_bytes() == (tmp_path / "dlcm.run").read_bytes()
    answered("export", "shuffled-2:dlcm@small", tmp_path / "both.run", "--data", folder, *SMALL)
    lines = (tmp_path / "dlcm.run").read_text().splitlines()
    sizes = np.diff(loading.read(folder / "test.txt").dataset.offsets)
    assert len(lines) == np.minimum(sizes, 20).sum()
    assert len(lines[0].split()) == 6
    answered("export", folder, tmp_path / "out.qrels")
    answered("export", folder, tmp_path / "out.txt", "--part", "train")
    again = loading.read(tmp_path / "out.txt").dataset
    assert again.documents == loading.read(folder / "train.txt").dataset.documents


def test_lists_of_one_document_and_all_tied_lists_are_certified_and_stored(answered, tmp_path):
    lines = [f"{row % 3} qid:{row // 6} 1:{row * 37 % 11} 2:{row}\n" for row in range(60)]
    lines += [f"1 qid:tied 1:5 2:{row}\n" for row in range(4)] + ["1 qid:one 1:5 2:0\n"]
    for part in ("train", "vali", "test"):
        (tmp_path / f"{part}.txt").write_text("".join(lines).replace("qid:", f"qid:{part}"))
    base = ("--data", tmp_path, "--initial", "feature:2", "--permutations", "4")
    card = answered("certify", "feature:1", *base)
    assert (card["verdict"], card["queries_silent"]) == ("invariant", 2)
    found = answered("study", "invariance", "--rankers", "feature:1", *base)
    assert found["rows" if "rows" in found else "certificates"][0]["queries"] == 12


def test_certify_a_python_function(answered, refused, folder, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def by_feature(features, ranks):\n    return features[:, 0]\n"
        "def double(features, ranks):\n"
        "    return np.where(features[:, 0] > 0, 1 + 1e-10 * np.arange(len(features)), -1)\n"
        "def tied(features, ranks):\n    return 1 / (1 + np.exp(-99 - np.arange(len(features))))\n"
        "def wrong(features, ranks):\n    return features\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    base = ("--data", folder, *SMALL, "--permutations", "2")
    before = studies(answered)
    assert answered("certify", "mine:tied", *base, code=4)["verdict"] == "inconclusive"
    double = answered("certify", "mine:double", *base, "--queries", "5", code=3)
    assert double["queries_moved"]
    assert double["fresh_processes"]
    more = answered("certify", "mine:by_feature", *base, "--lists", "whole", "duplicates")
    assert more["invariant"]
    assert 2 * 15 <= more["queries"] <= 3 * 15
    assert more["equal_documents"] > 0
    assert refused("certify", "scores:mine.txt", *base)[0] == 1
    code, message = refused("certify", "mine:wrong", *base)
    assert code == 1
    assert "Expected 20 numbers" in message
    assert refused("certify", "mine:absent", *base)[0] == 1
    assert studies(answered) == before, "a function is asked anew each time"
    sys.modules.pop("mine", None)


def test_studies_take_a_python_function_and_notice_that_it_changed(
    answered, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    base = ("--data", folder, *SMALL)
    curves = ("study", "initial-ranking", *base, "--levels", "5", "--draws", "2")

    def mean(rankers="mine:score"):
        sys.modules.pop("mine", None)
        study = answered(*curves, "--rankers", rankers)
        rows = pd.DataFrame(study["summary"])
        return study["result"], rows[rows.ranker == rankers]["mean"].tolist()

    (tmp_path / "mine.py").write_text("def score(features, ranks):\n    return features[:, 2]\n")
    first, values = mean()
    assert mean()[0] == first
    assert mean("feature:3")[1] == values
    # The function's own file is the same from here on; what it reads is not.
    (tmp_path / "weights.txt").write_text("1")
    reading = (
        "import pathlib\n"
        "COLUMN = int(pathlib.Path('weights.txt').read_text())\n"
        "def score(features, ranks):\n    return features[:, COLUMN]\n"
    )
    (tmp_path / "mine.py").write_text(reading)
    second, other = mean()
    assert second != first
    assert mean("feature:2")[1] == other
    (tmp_path / "weights.txt").write_text("2")
    assert mean()[1] == values
    found = answered("study", "invariance", *base, "--rankers", "mine:score,feature:1")
    assert [card["invariant"] for card in found["certificates"]] == [True, True]
    assert found["certificates"][0]["reads"] == ["features", "neighbours", "order", "ranks"]
    sys.modules.pop("mine", None)


def test_the_seed_makes_another_ranker(answered, folder):
    command = ("train", "dlcm@small", "--data", folder, *SMALL, "--set", "epochs=1")
    assert answered(*command)["artefact"] != answered(*command, "--seed", "7")["artefact"]


def test_a_malformed_file_is_named_by_line_and_nothing_is_stored(refused, answered, tmp_path):
    (tmp_path / "bad.txt").write_text("1 qid:1 1:0.5\n1 qid:1 1:zero\n")
    code, message = refused("ingest", tmp_path / "bad.txt", "--name", "bad")
    assert code == 1
    assert "bad.txt:2" in message
    assert "bad" not in [row["name"] for row in answered("library", "list")["rows"]]


def test_ingest_says_what_spoils_a_study_and_doctor_exits_with_three(tmp_path, capsys):
    one = "".join(f"{row % 3 - 1} qid:{row // 4} 1:0.{row} 2:1.5\n" for row in range(24))
    (tmp_path / "train.txt").write_text(one.replace("1 qid", "1.5 qid", 1) + "99 qid:9 1:2 2:1\n")
    (tmp_path / "test.txt").write_text(
        "".join(line.rpartition(" ")[0] + "\n" for line in one.splitlines())
    )
    store = ["--store", str(tmp_path / "store")]
    assert main(["ingest", str(tmp_path), "--name", "odd", *store]) == 0
    assert "The largest label is 99" in capsys.readouterr().out
    assert main(["doctor", "odd", *store]) == 3
    assert "problem" in capsys.readouterr().out
    assert main(["doctor", "sample", *store]) == 0
    printed = capsys.readouterr().out
    assert len(printed.split()) <= 60, printed
    assert "train 28 of 400 queries (7 %), valid 10 of" in printed
    assert main(["doctor", "sample", "--all", *store]) == 0
    assert "train, valid, test: Lists have 36 to 44 documents" in capsys.readouterr().out


def test_every_help_fits_a_screen(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    commands = [name for name in table() if not name.startswith("&")]
    lines = {"": 40} | dict.fromkeys([*commands, *(f"study {kind}" for kind in EVERY)], 25)
    for command, most in lines.items():
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        assert capsys.readouterr().out.count("\n") <= most, command


def test_the_file_of_an_export_may_follow_its_flags():
    parsed = parser().parse_args(["export", "sample", "--part", "test", "out.txt"])
    assert (parsed.part, parsed.out) == ("test", Path("out.txt"))


def test_the_version_is_told_and_control_c_ends_as_shells_have_it(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("shuffleproof 0.")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("shuffleproof.core.cli.arguments.show", interrupted)
    assert main(["list", "measures"]) == 130
    assert "run the command again" in capsys.readouterr().err


def test_a_ranker_of_documents_is_trained_without_lists(folder, tmp_path, capsys):
    """Nor are the parts of a cross-fitting, which only lists take."""
    words = ["train", "ranksvm@small", "--data", str(folder), "--store", str(tmp_path), "--json"]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert not first["cached"]
    kept = {one.name for one in (tmp_path / "artefacts").glob("ranker-*")}
    assert kept == {first["artefact"]}
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["cached"]


def test_what_is_stored_is_answered_where_nothing_may_be_written(tmp_path, monkeypatch, capsys):
    lists = ["--initial", "ranksvm", "--preset", "small", "--store", str(tmp_path)]
    commands = [
        ["study", "initial-ranking", "--rankers", "ranksvm", "--queries", "3", *lists],
        ["train", "ranksvm", *lists],
        ["doctor", "sample", "--store", str(tmp_path)],
    ]
    written = []
    for command in commands:
        assert main(command) in {0, 3}
        written.append(capsys.readouterr().out)
    monkeypatch.delattr(Store, "lock")
    for command, before in zip(commands, written, strict=True):
        assert main(command) in {0, 3}
        told = capsys.readouterr().out
        assert told == before or command[0] == "train", "which says that it was trained earlier"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_every_terminal_prints_and_a_minus_stays_a_minus(encoding):
    """A character that the encoding lacks is replaced; no table ends in an encoding error."""
    code = (
        "import sys; from shuffleproof.core.__main__ import run\n"
        "import shuffleproof.core.cli.arguments as a\n"
        "a.main = lambda words: print('−0.5 τ ☂ \\udcff')\nrun()"
    )
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert done.stderr == b""
    printed = done.stdout.decode(encoding)
    assert printed.strip() == ("−0.5 τ ☂ ?" if encoding == "utf-8" else "-0.5 tau ? ?")


def test_a_pipe_that_ends_early_keeps_the_exit_status(tmp_path):
    """`certify … | head` in a build must not hide that a ranker fails."""
    (tmp_path / "mine.py").write_text(
        "def score(features):\n    return list(range(len(features)))\n"
    )
    command = f"{sys.executable} -m shuffleproof certify mine:score --queries 3 --permutations 1"
    ended = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {command} | true"], cwd=tmp_path, text=True,
        capture_output=True, check=False,
        env={**os.environ, "SHUFFLEPROOF_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert ended.returncode == 3, ended.stderr
    assert "Broken pipe" not in ended.stderr
