"""What would be made is said before it is made, and is what is made then."""

import json
from argparse import Namespace
from dataclasses import replace

import pytest

from shuffleproof.core.cli import open as opening
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.cost import Cost
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.rehearsal import DryRun, Ledger, RehearsedScope, Step, rehearse
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
def test_a_stored_study_is_known_and_nothing_is_written(kind, every_study):
    store, studies, _ = every_study
    stored, before = studies[kind], files(store)
    question = STUDIES[kind].of(stored.recipe, stored.facts)
    facts = stored.facts
    dry = rehearse(question, Scope(store, facts["data"], facts["lists"], facts["preset"]))
    assert dry.study == str(stored.key)
    assert dry.span == (0.0, 0.0)
    first = {**facts["lists"], "queries": 2}
    asked, scope = question.limited(Scope(store, facts["data"], first, facts["preset"]))
    other = rehearse(asked, scope)
    assert other.study is None
    (trials,) = other.trials
    assert 0 < trials.low <= trials.high
    assert files(store) == before


@pytest.mark.parametrize("kind", UNTRAINED)
def test_what_is_said_to_be_trained_is_what_is_trained(kind, tmp_path):
    store, question = Store(tmp_path), UNTRAINED[kind]
    tables.data_set(store, tables.fold())
    scope = Scope(store, tables.DATA, {"folds": PARTS}, "small")
    before = files(store)
    dry = RehearsedScope.of(scope)
    run_to_end(question.study(dry))
    told, (of_lists,) = DryRun.of(dry.ledger), dry.ledger.lists.values()
    assert files(store) == before
    assert of_lists[1].steps == 3, "the initial ranker, and one for each part"
    assert told.notes() == [f"lists: {of_lists[0]}, are made first because the study reads them"]
    artefact = run_to_end(question.study(scope))
    made = {
        one.key.digest
        for one in store.artefacts("ranker")
        if one.facts["name"] in {"ranksvm", "mart", "lambdamart"}
    }
    named = dry.ledger.initial | set(dry.ledger.rankers)
    assert made > named
    assert len(made) == len(named) + PARTS + len(dry.ledger.again)
    assert rehearse(question, scope).study == str(artefact.key)
    for one in [*store.artefacts("ranker"), *store.artefacts("scores")]:
        store.remove(one.key)
    again = opening.answer_question(question, scope, Namespace(executor=None, max_seconds=None))
    assert again.key == artefact.key, "found without what it was made from"
    assert not [*store.artefacts("ranker"), *store.artefacts("scores")]


def test_a_folder_is_not_read_in(tmp_path):
    with pytest.raises(UsageError, match="shuffleproof ingest"):
        RehearsedScope.of(Scope(Store(tmp_path), str(places.ROOT / "sample_data")))


def test_long_work_is_announced_and_stored_work_is_not(every_study, capsys, monkeypatch):
    store, _, _ = every_study
    long = DryRun((), (Step("dlcm@paper", low=3000.0, high=9000.0), Step("mart", stored=True)))
    assert long.is_long
    assert not replace(long, rankers=(Step("dlcm", low=100.0, high=1000.0),)).is_long
    monkeypatch.setattr("shuffleproof.core.studies.rehearsal.rehearse", lambda *_: long)
    command = ["study", "card", "--store", str(store.root), "--data", tables.DATA, "--preset",
               "small", "--initial", "feature:3", "--depth", "10", "--scores", "in-sample",
               "--rankers", "feature:1", "--families", "shuffle", "--draws"]  # fmt: skip
    assert main([*command, "2", "--seed", "6"]) == 0
    assert capsys.readouterr().err == ""
    assert opening.run_shown("x", _reported(), lambda: long) == "made"
    told = capsys.readouterr().err
    assert "50 min to 2 h 30 min on this machine (dlcm@paper" in told
    assert "--preset small or tuned, --queries N" in told
    assert main([*command, "3", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rankers"] == json.loads(
        json.dumps([vars(one) for one in long.rankers])
    )


def _reported():
    from shuffleproof.core.progress import Progress

    yield Progress(1, 2, "steps")
    return "made"


def test_a_ranker_that_the_lists_fit_is_counted_once():
    costs = Cost(0, 0.0, 1, 1.0, 2.0, 0)
    ledger = Ledger({("f", "mart"): ("lists", costs)}, {"a"}, {"a": ("mart", False, costs)})
    assert DryRun.of(ledger).span == (1.0, 2.0)


def test_train_says_what_it_would_train(tmp_path, capsys):
    store = Store(tmp_path)
    tables.data_set(store, tables.fold())
    flags = ["--store", str(tmp_path), "--data", tables.DATA, "--dry-run"]
    assert main(["train", "lambdamart@small", *flags]) == 0
    assert "lists" not in capsys.readouterr().out, "which a ranker of documents does not read"
    assert main(["train", "dlcm@small", "--set", "epochs=3", *flags]) == 0
    told = capsys.readouterr().out
    assert "candidates by lambdamart@paper, cross-fitted" in told
    assert "dlcm@small, epochs 3: " in told
    assert not list(store.artefacts("ranker"))
    assert "one worker" not in told
    shared = ["train", "dlcm@small", *flags, "--executor", "processes:2"]
    assert main(shared) == 0
    assert "on this machine by one worker, which makes one after" in capsys.readouterr().out
    assert main([*shared, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workers"] == 1
