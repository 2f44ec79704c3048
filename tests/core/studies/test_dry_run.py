"""A dry run names the trainings, trials and calls that the work then makes, and writes nothing."""

import json
import re
from argparse import Namespace
from dataclasses import replace

import pytest

from shuffleproof.core.cli import open as opening
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.trainings import recorded_seconds
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.dry_run import DryRun, DryScope, NeededTraining, dry_run, sentence
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from tests import app_tables as tables
from tests import places

CHEAP = ("ranksvm", "lambdamart", "rrf:ranksvm+mart", "feature:1")
UNTRAINED = {
    "benchmark": Benchmark(CHEAP, 2, ("RR",)),
    "set-size": SetSize(CHEAP, (5,), (5, 12), measures=("RR",)),
    "perturbations": Perturbations(CHEAP[:2], (("label-flips", 0.4), ("cut", 0.5)), ("RR",), 2),
}
PARTS = 2


def files(store):
    return {path for path in store.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", STUDIES)
def test_a_stored_study_is_found_and_nothing_is_written(kind, every_study):
    store, studies, _ = every_study
    stored, before = studies[kind], files(store)
    question = STUDIES[kind].of(stored.recipe, stored.facts)
    facts = stored.facts
    dry = dry_run(question, Scope(store, facts["data"], facts["lists"], facts["preset"]))
    assert dry.study == str(stored.key)
    assert dry.is_stored
    assert dry.seconds == []
    first = {**facts["lists"], "queries": 2}
    other = dry_run(*question.limited(Scope(store, facts["data"], first, facts["preset"])))
    assert other.study is None
    assert other.trials > other.stored_trials
    assert files(store) == before


@pytest.mark.parametrize("kind", UNTRAINED)
def test_the_trainings_named_are_those_made(kind, tmp_path):
    store, question = Store(tmp_path), UNTRAINED[kind]
    tables.data_set(store, tables.fold())
    scope = Scope(store, tables.DATA, {"folds": PARTS}, "small")
    before = files(store)
    dry = dry_run(question, scope)
    assert files(store) == before
    lists = [one for one in dry.trainings.values() if one.name.endswith("candidate lists")]
    assert len(lists) >= PARTS, "one for each part, and the initial ranker unless it is studied"
    assert set(dry.missing_seconds) == {None}, "no time is recorded"
    (note,) = dry.notes()
    assert "time unknown" in note
    artefact = run_to_end(question.study(scope))
    made = [
        one
        for one in store.artefacts("ranker")
        if one.facts["name"] in {"ranksvm", "mart", "lambdamart"}
    ]
    assert len(made) == len(dry.missing_seconds)
    assert dry_run(question, scope).study == str(artefact.key)
    repeated = dry_run(question, replace(scope, lists={"folds": PARTS + 1}))
    assert all(one.seconds > 0 for one in repeated.trainings.values() if "lists" in one.name)
    for one in [*store.artefacts("ranker"), *store.artefacts("scores")]:
        store.remove(one.key)
    again = opening.answer_question(question, scope, Namespace(executor=None, max_seconds=None))
    assert again.key == artefact.key, "found without what it was made from"
    assert not [*store.artefacts("ranker"), *store.artefacts("scores")]


def test_a_folder_is_not_read_in(tmp_path):
    with pytest.raises(UsageError, match="shuffleproof ingest"):
        DryScope.of(Scope(Store(tmp_path), str(places.ROOT / "sample_data")))


def test_only_long_or_other_work_is_announced():
    def dry(*trainings, **more):
        return DryRun({str(at): one for at, one in enumerate(trainings)}, **more)

    assert not dry(NeededTraining("dlcm", stored=False, seconds=20.0)).notes()
    assert not dry(NeededTraining("dlcm", stored=True), trials=3).notes()
    assert "50 min" in dry(NeededTraining("dlcm", stored=False, seconds=3000.0)).notes()[0]
    assert "4,260 calls" in dry(calls={"mine:f": 4260}, call_seconds={"mine:f": None}).notes()[0]
    told = []

    def work():
        yield Progress(1, 2, "steps")
        return "made"

    assert opening.run_shown("x", work(), lambda: told.append(1) or DryRun()) == "made"
    assert told


def test_calls_of_a_function_are_counted_and_one_is_timed(
    every_study, tmp_path, capsys, monkeypatch
):
    store, _, _ = every_study
    (tmp_path / "mine.py").write_text(
        "def score(features):\n"
        "    with open('calls.txt', 'a') as calls:\n"
        "        calls.write('x')\n"
        "    return features[:, 0]\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["study", "initial-ranking", "--store", str(store.root), "--data", tables.DATA,
               "--preset", "small", "--initial", "feature:3", "--depth", "10", "--scores",
               "in-sample", "--rankers", "mine:score", "--families", "transpositions",
               "--levels", "0,3,5", "--draws", "2", "--dry-run"]  # fmt: skip
    assert main(command) == 0
    assert "of mine:score: about" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["calls"] == {"mine:score": 5 * 40}
    assert (tmp_path / "calls.txt").read_text() == "xx", "one call a dry run"
    (tmp_path / "calls.txt").unlink()
    certified = ["certify", "mine:score", "--store", str(store.root), "--data", tables.DATA]
    assert main([*certified, "--initial", "feature:3", "--queries", "6"]) == 0
    announced = int(re.search(r"about ([\d,]+) calls", capsys.readouterr().err)[1].replace(",", ""))
    made = len((tmp_path / "calls.txt").read_text())
    assert made == pytest.approx(announced, rel=0.05), "all that the examination scores"


def test_train_names_the_lists_that_it_reads(tmp_path, capsys):
    store = Store(tmp_path)
    tables.data_set(store, tables.fold())
    flags = ["--store", str(tmp_path), "--data", tables.DATA, "--dry-run"]
    assert main(["train", "lambdamart@small", *flags]) == 0
    assert "lists" not in capsys.readouterr().out, "which a ranker of documents does not read"
    assert main(["train", "dlcm@small", "--set", "epochs=3", *flags]) == 0
    told = capsys.readouterr().out
    assert "lambdamart@paper, for the candidate lists: time unknown" in told
    assert "dlcm@small, epochs 3: " in told
    assert not list(store.artefacts("ranker"))


def test_times_are_those_of_the_same_recipe_whatever_its_seed(tmp_path):
    store = Store(tmp_path)
    tables.data_set(store, tables.fold())
    place = ["--store", str(tmp_path), "--data", tables.DATA]
    assert main(["train", "mart@small", *place]) == 0
    assert len(recorded_seconds(store)) == 1
    scope = Scope(store, tables.DATA, None, "small")
    from shuffleproof.core.studies.dry_run import dry_training

    mart = RankerName.parse("mart@small")
    (same,) = dry_training(scope, mart, {"seed": "7"}).trainings.values()
    (other,) = dry_training(scope, mart, {"trees": "7"}).trainings.values()
    assert same.seconds > 0
    assert other.seconds is None


def test_a_form_asks_in_plain_values(tmp_path):
    store = Store(tmp_path)
    tables.data_set(store, tables.fold())
    item = {"store": str(tmp_path), "kind": "card", "question": {"rankers": ["mart"]},
            "data": tables.DATA, "lists": {"folds": PARTS}, "preset": "small"}  # fmt: skip
    assert sentence(item).startswith("4 trainings, ")
