"""Every kind of study is run, described and resumed by the same few functions."""

import json
import shutil
from dataclasses import fields, replace
from itertools import count

import numpy as np
import pytest

from shuffleproof.core.cli.studies import answer_of, text_of
from shuffleproof.core.errors import UnfinishedError, UsageError
from shuffleproof.core.progress import Progress, limit_seconds, run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import MANIFEST
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies import engine, reproduce, study
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import TIMES, StudyResult
from shuffleproof.core.studies.study import Memory, Plan, Study, plan
from tests import places
from tests.golden import written

CORE = places.ROOT / "core"
RECIPES = {kind: json.loads(written(kind).read_text()) for kind in STUDIES}
STUDY = Study(
    "card", (("a", "1" * 64), ("b", "2" * 64)), "lists", (), (("cut", 0.5),), ("RR",), 3, 0
)
IDS = ("q1", "q2")


def record(value):
    return {"tau": 1.0, "set_size": 2.0}, {"values": np.full((1, 2), value, np.float32)}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.mark.parametrize("kind", STUDIES)
def test_a_recipe_is_read_and_written_as_it_stands(kind):
    recipe = RECIPES[kind]["recipe"]
    made = engine.plan_of(recipe)
    assert isinstance(made, Plan)
    assert made.recipe() == recipe
    assert key_of("study", made.recipe()).digest == RECIPES[kind]["key"]
    assert study.plan_of(type(made), made.recipe()) == made
    left = [one.name for one in fields(made) if one.init and one.default != ()]
    for name in left:
        whole = {other: value for other, value in recipe.items() if other != name}
        try:
            engine.plan_of(whole)
        except LookupError:
            continue
        default = next(one.default for one in fields(made) if one.name == name)
        assert getattr(engine.plan_of(whole), name) == default


def test_a_study_is_announced_worked_stored_and_found(store, monkeypatch):
    asked = []

    def facts():
        asked.append("facts")
        return {"data": "mine"}

    def work(known):
        asked.append([one.facts for one in engine.running_studies(store, "card")])
        yield from ()
        found = {digest: record(0.5) for digest in STUDY.digests(2)}
        extra = {"beside.safetensors": {"orders": np.arange(3)}}
        return replace(STUDY.assemble(found, IDS, known | {"more": 1}), files=extra)

    first = run_to_end(engine.run(store, STUDY, IDS, facts, work))
    assert asked == ["facts", [{"data": "mine"}]]
    assert first.facts == {"data": "mine", "more": 1}
    assert (first.path / "beside.safetensors").is_file()
    assert not list(engine.running_studies(store, "card"))
    monkeypatch.delattr(Store, "lock")  # nothing is written where all is stored
    assert run_to_end(engine.run(store, STUDY, IDS, facts, work)).key == first.key
    assert len(asked) == 2, "what is stored is found, nothing is asked for or worked"


def test_a_study_that_finds_nothing_is_refused(store):
    def work(_):
        yield from ()

    with pytest.raises(UsageError, match="nothing to measure"):
        run_to_end(engine.run(store, STUDY, IDS, dict, work))
    assert store.find(key_of("study", STUDY.recipe())) is None


def test_records_are_read_again_when_there_is_one_more(store, monkeypatch):
    read = []
    monkeypatch.setattr(Records, "get", lambda _, digest, get=Records.get: (
        read.append(digest), get(store.records, digest))[1])  # fmt: skip
    key = key_of("study", STUDY.recipe())
    with store.lock(key):
        engine.register(store, key, STUDY, IDS, {"data": "mine"})
    digests = STUDY.digests(2)
    for many, digest in enumerate(digests[:2], start=1):
        store.records.put(digest, *record(many / 8))
        read.clear()
        for _ in range(3):
            (begun,) = engine.running_studies(store, "card")
            result = begun.result(store)
            assert result.values[:, 0, 0].tolist() == [one / 8 for one in range(1, many + 1)]
        assert len(read) == len(digests), "once for every record that there may be"


def test_a_ranker_that_no_digest_tells_is_kept_in_memory_alone():
    memory = Memory()
    memory.put(STUDY.digests(2)[0], *record(0.5))
    found = engine.so_far(STUDY, memory, IDS, {})
    assert found.trials.ranker.tolist() == [plan(STUDY)[0].ranker]
    assert engine.so_far(STUDY, Memory(), IDS, {}) is None


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_of_the_first_queries_stopped_anywhere_answers_and_goes_on(
    kind, every_study, tmp_path
):
    shared, studies, _ = every_study
    store = Store(shutil.copytree(shared.root, tmp_path / "store"))
    whole = StudyResult.open(studies[kind].path)
    asked, facts = STUDIES[kind].of(whole.recipe, whole.facts), whole.facts
    first = {**facts["lists"], "queries": 2}
    question, scope = asked.limited(Scope(store, facts["data"], first, facts["preset"]))
    stops = 0
    for reports in range(99):
        work = limit_seconds(reports, question.study(scope), clock=count().__next__)
        try:
            artefact = run_to_end(work)
        except UnfinishedError:
            continue
        stopped, answer = artefact.facts.get("stopped"), answer_of(artefact)
        assert answer["stopped"] == stopped
        assert "The first 2 of 40 test queries." in text_of(artefact)
        if stopped is None:
            break
        stops += 1
        assert 0 < stopped["done"] <= stopped["of"]
        assert f"{stopped['done']} of {stopped['of']} trials" in text_of(artefact)
        assert answer["result"] is None
        assert store.find(artefact.key) is None
        assert store.find(key_of("study", artefact.recipe)) is None
    # One ranker is one step of a certificate; rerankers are examined when all calls are there
    assert stops or kind in {"invariance", "rerankers"}
    found = StudyResult.open(artefact.path)
    assert artefact.key != studies[kind].key
    assert found.query_ids == whole.query_ids[:2]
    assert found.trials.ranker.tolist() == whole.trials.ranker.tolist()
    assert "--queries 2" in reproduce.study_command(artefact.recipe, artefact.facts)


def test_a_study_without_time_for_anything_says_so(store):
    def work(_):
        yield Progress(1, 9, "epochs of dlcm")
        yield Progress(9, 9, "epochs of dlcm")

    running = engine.run(store, STUDY, IDS, dict, work)
    with pytest.raises(UnfinishedError, match=r"1 of 9 epochs of dlcm under way"):
        run_to_end(limit_seconds(60, running, clock=iter([0, 61]).__next__))
    last = engine.run(store, STUDY, IDS, dict, lambda _: whole_at_its_last_report())
    assert run_to_end(limit_seconds(60, last, clock=iter([0, 61]).__next__)).key.kind == "study"


def whole_at_its_last_report():
    yield Progress(9, 9, "trials")
    return STUDY.assemble({digest: record(0.5) for digest in STUDY.digests(2)}, IDS, {})


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_of_stored_trials_is_the_same_bytes_as_one_made_at_once(
    kind, every_study, tmp_path
):
    made, studies, _ = every_study
    store = Store(shutil.copytree(made.root, tmp_path / "copy"))
    stored, before = studies[kind], stored_files(store, studies[kind].key)
    store.remove(stored.key)
    question = STUDIES[kind].of(stored.recipe, stored.facts)
    facts = stored.facts
    again = question.study(Scope(store, facts["data"], facts["lists"], facts["preset"]))
    assert run_to_end(again).key == stored.key
    assert stored_files(store, stored.key) == before


def stored_files(store, key):
    """What is stored of a study, but for what a clock measured and when it was stored."""
    folder = store.find(key).path
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in {TIMES, MANIFEST}
    }
