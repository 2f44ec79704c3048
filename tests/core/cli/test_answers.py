"""The --json of every command: one object with schema and version."""

import argparse
import json

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.cli.answer import VERSION
from shuffleproof.core.cli.arguments import main, parser
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.studies.registry import LISTLESS, STUDIES
from tests import small_collection
from tests.synthetic import planted

SMALL = ("--initial", "feature:3", "--depth", "12")


def commands(root, name=()):
    """Every command's words with its parser."""
    nested = [one for one in root._actions if isinstance(one, argparse._SubParsersAction)]
    if not nested:
        yield " ".join(name), root
    for action in nested:
        for word, command in action.choices.items():
            yield from commands(command, (*name, word))


def command_of(name):
    return name.partition(" --")[0].removesuffix(" RANKER@NAME")


def test_every_command_takes_json():
    found = dict(commands(parser()))
    assert set(found) == {command_of(name) for name in CALLS} | SLOW
    for name, command in found.items():
        assert "--json" in command._option_string_actions, name
        assert command.get_default("command") == name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("planted")
    fold = planted(queries=(30, 12, 12), seed=1, documents=15)
    for part, name in ((fold.train, "train"), (fold.valid, "vali"), (fold.test, "test")):
        write(part, target / f"{name}.txt")
    (target / "pairs.csv").write_text("query,a,b\nq,x,y\nq,y,z\nq,z,x\nq,x,y\nq,y,x\n")
    small_collection.write(target / "texts")
    (target / "q.txt").write_text("1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 b 0\n")
    (target / "x.run").write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n1 Q0 c 3 1 x\n2 Q0 a 1 1 x\n")
    (target / "y.run").write_text("1 Q0 c 1 2 y\n1 Q0 b 2 1 y\n2 Q0 b 1 1 y\n2 Q0 a 1 0 y\n")
    (target / "judged.csv").write_text("query,label,one,two\n1,1,3,0\n1,0,2,1\n2,2,1,0\n")
    (target / "board.csv").write_text("system,web,news\na,.5,.6\nb,.4,\n")
    return target


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def answered(folder, store, capsys):
    def answer(words, **places):
        made = words.format(f=folder, **places).split()
        code = main([*made, "--json", "--store", str(store)])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return json.loads(printed.out)

    return answer


TWO = "--rankers feature:1,feature:2 --data {f} " + " ".join(SMALL)
CALLS = {
    "ingest": "ingest {f} --name planted",
    "ingest-preferences": "ingest-preferences {f}/pairs.csv --name judged",
    "consistency": "consistency judged --best",
    "aggregate": "aggregate judged --with goa,quicksort --calls 2",
    "judge": "judge mine --with tests.small_set:alike --calls 4 --data {f}",
    "ingest-collection": "ingest-collection {f}/texts --name texts",
    "ingest-reranks": "ingest-reranks {f}/x.run --qrels {f}/q.txt --name answers",
    "doctor-collection": "doctor-collection texts",
    "search": "search texts wings --by bm25",
    "train --data collection": "train snrm@small --data texts",
    "candidates": "candidates texts --depth 5 --name of_texts",
    "doctor": "doctor {f}",
    "list": "list measures",
    "train --dry-run": "train ranksvm --dry-run",
    "train": "train ranksvm --data {f} " + " ".join(SMALL),
    "doctor --ranker": "doctor --ranker ranksvm --data {f} " + " ".join(SMALL),
    "tune": "tune ranksvm --preset small --trials 4 --name mine --data {f} " + " ".join(SMALL),
    "certify": "certify feature:1 --permutations 2 --data {f} " + " ".join(SMALL),
    "runs": "runs {f}/x.run {f}/y.run --qrels {f}/q.txt --against x --conventions trec_eval",
    "runs --scores": "runs {f}/judged.csv --scores one,two",
    "which": "which --runs {f}/x.run --qrels {f}/q.txt --value 1.000 --measure RR",
    "study initial-ranking": f"study initial-ranking --levels 5 --draws 1 {TWO}",
    "study invariance": f"study invariance --permutations 2 {TWO}",
    "study card": f"study card --draws 1 {TWO} --out {{f}}/card.json",
    "check": "check --baseline {f}/card.json --junit {f}/o/gate.xml --markdown {f}/gate.md",
    "study benchmark": f"study benchmark --seeds 1 {TWO}",
    "study set-size": f"study set-size --sizes 5,10 {TWO}",
    "study initial-rankings": f"study initial-rankings {TWO}",
    "study perturbations": f"study perturbations --families shuffle-shown --draws 1 {TWO}",
    "study worst-case": f"study worst-case --budgets 1 --draws 1 --queries 2 {TWO}",
    "selftest": "selftest",
    "leaderboard": "leaderboard {f}/board.csv",
    "library list": "library list",
    "library show": "library show planted",
    "library show RANKER@NAME": "library show ranksvm@mine",
    "library export": "library export {f}/all.zip planted",
    "library import": "library import {f}/all.zip",
    "library verify": "library verify",
    "library clean": "library clean",
    "library rename": "library rename planted other",
    "export": "export other {f}/other.csv",
    "study preferences": "study preferences --aggregators goa --draws 1 --queries 2 --sizes 9",
    "study retrieval": "study retrieval --retrievers bm25,ql --seeds 1 --queries 6",
    "study query-noise": "study query-noise --retrievers bm25,ql --levels .5 --seeds 1 --queries 6",
    "study growth": "study growth --retrievers bm25,ql --withheld .3 --seeds 1 --queries 6",
    "study sparsity": "study sparsity --preset small --penalties l1 --strengths 1 --keep 9",
    "library delete": "library delete other --with-dependents",
}
TWO_OF_SAMPLE = "--rankers feature:1,feature:2"
ASKED_DRY = {
    "ablation": "", "group-shuffles": "",
    "perturbations": f"{TWO_OF_SAMPLE} --families shuffle-shown",
}  # fmt: skip
CALLS |= {f"study {kind} --dry-run": f"study {kind} --dry-run" for kind in LISTLESS}
CALLS |= {
    f"study {kind} --dry-run": f"study {kind} --initial feature:3 --dry-run "
    + ASKED_DRY.get(kind, TWO_OF_SAMPLE)
    for kind in STUDIES
}
CALLS |= {
    f"study {kind}": f"study {kind} {TWO}"
    for kind in STUDIES
    if f"study {kind}" not in CALLS and kind not in {"ablation", "group-shuffles"}
}
SLOW = {"demo", "publish", "app", "mcp", "bring", "study ablation", "study group-shuffles"}
"""Those that train, serve or need a file of their own; they answer through the same door."""


def test_every_answer_says_its_schema(answered):
    for name, words in CALLS.items():
        answer = answered(words)
        assert (answer["schema"], answer["version"]) == (
            f"shuffleproof {command_of(name)}",
            VERSION,
        )
        assert len(answer) > 2, name


def test_a_study_whose_time_is_up_before_anything_is_finished_fails(folder, tmp_path, capsys):
    words = "study initial-ranking --levels 5 --draws 1 --rankers feature:1 --initial mart@small"
    words = [*words.split(), "--data", str(folder), "--store", str(tmp_path)]
    assert main([*words, "--max-seconds", "0.000001", "--json"]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert "before the first trial was finished" in printed.err


def test_runs_and_benchmarks_answer_p_marks_and_differences(answered):
    base = f"study benchmark --seeds 1 {TWO} --measures NDCG@5,AP --against random,feature:2"
    for words, baselines in ((base, ["random", "feature:2"]), (CALLS["runs"], ["x"])):
        answer = answered(words)
        assert list(answer["symbols"]) == baselines
        rows = pd.DataFrame(answer["comparisons"])
        assert set(rows.against) == set(baselines)
        assert set(rows.measure) == {row["measure"] for row in answer["table"]}
        assert rows[["difference", "effect"]].notna().any().all()
        few = any("too few queries for a test (fewer than 5)" in line for line in answer["said"])
        assert few == (words == CALLS["runs"])
        assert rows[["p", "low", "high"]].notna().any().all() != few
        assert all(isinstance(row["marks"], str) for row in answer["table"])
        means = {(row["ranker"], row["measure"]): row["mean"] for row in answer["table"]}
        for row in answer["comparisons"]:
            wanted = means[row["ranker"], row["measure"]] - means[row["against"], row["measure"]]
            assert row["difference"] == pytest.approx(wanted, abs=1e-6)
        assert few or any("Marks: a above" in line for line in answer["said"])


def read(path):
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_json(path, precise_float=True)


@pytest.mark.parametrize("kind", ["initial-ranking", "benchmark"])
def test_export_writes_one_frame_in_every_format(answered, folder, kind):
    key = answered(CALLS[f"study {kind}"])["result"]
    asked = "--measures NDCG(ideal=shown)@5,NDCG@1"
    more = [f"{asked} --conventions letor3"] if kind == "benchmark" else []
    for number, flags in enumerate(("", asked, *more)):
        files = [folder / f"{kind}{number}.{ending}" for ending in ("csv", "json")]
        for file in files:
            answered(f"export {key} {file} {flags}")
        csv, other = map(read, files)
        csv = csv.fillna({"marks": ""} if "marks" in csv else {})
        pd.testing.assert_frame_equal(csv, other.reindex(columns=csv.columns), check_dtype=False)
        if flags == asked:
            assert list(dict.fromkeys(csv.measure)) == ["NDCG(ideal=shown)@5", "NDCG@1"]


def test_flags_that_would_do_nothing_are_refused(answered, folder, store, capsys):
    key = answered(CALLS["study initial-ranking"])["result"]
    for what, out in ((key, "x.html"), ("sample", "x.txt"), ("feature:1", "x.run")):
        words = ["export", what, str(folder / out), "--measures", "NDCG@1", "--store", str(store)]
        assert main([*words, "--data", str(folder), *SMALL]) == 2
        assert "leave out --measures" in capsys.readouterr().err
    words = ["export", key, str(folder / "x.csv"), "--measures", "ERR@3", "--store", str(store)]
    assert main(words) == 1
    assert "ERR@3: it cannot be computed from the stored values" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["study benchmark", "runs"])
def test_a_stored_table_is_measured_anew_under_any_convention(answered, folder, what):
    """Gain, cut-off and ties that its values do not give come from the scores stored with it."""
    first = answered(CALLS[what])["result"]
    texts = "NDCG(gain=linear,ties=averaged)@7,ERR(ties=averaged)@4,MeanNDCG(ties=averaged)"
    if what == "runs":  # whose usual conventions are trec_eval's
        texts = texts.replace("MeanNDCG(ties", "MeanNDCG(gain=exp2,ties")
    answered(f"export {first} {folder}/anew.csv --measures {texts}")
    anew = pd.read_csv(folder / "anew.csv").set_index(["ranker", "measure"])["mean"]
    again = answered(f"{CALLS[what].replace(' --conventions trec_eval', '')} --measures {texts}")
    wanted = pd.DataFrame(again["table"]).set_index(["ranker", "measure"])["mean"]
    assert again["result"] != first
    assert len(anew) == len(wanted)
    answered(f"export {first} {folder}/letor.csv --conventions letor4")
    ndcg = set(pd.read_csv(folder / "letor.csv").measure)
    assert "NDCG(discount=letor,ties=row,short=zero)@10" in ndcg
    np.testing.assert_allclose(anew, wanted.loc[anew.index], atol=1e-6)
