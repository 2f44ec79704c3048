"""The library: what needs what, names, and archives that another machine opens."""

import json
import os
import shutil
import zipfile

import numpy as np
import pytest

from shuffleproof.core.answers import scoring
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.catalogue import ingest
from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.experiment import list_sources
from shuffleproof.core.library import entries as library
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import query_answers as tables_query
from shuffleproof.core.studies.kinds.perturbations.query import replay_trial
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import small_set
from tests.small_set import LETOR


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with a data set, a ranker trained on it and a study of both."""
    return small_set.made(tmp_path_factory.mktemp("library"))


LISTS = ListRecipe(("mart@small",), depth=5, folds=2)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A store with a ranker of lists that a fitted ranker cut, and a study of it."""
    folder = tmp_path_factory.mktemp("fitted")
    return small_set.made(folder, LISTS, "dlcm", {"epochs": "1"}.items(), 5.0, draws=2)


def initial_of(store):
    """The initial ranker of these lists and its scores, as stored."""
    (scores,) = store.artefacts("scores")
    whole = [one for one in store.artefacts("ranker") if one.recipe["lists"] == "all documents"]
    (ranker,) = (one for one in whole if one.recipe["ranker"]["name"] == "mart")
    return ranker, scores


def asked(store, ranker, study):
    """The question of a page that looks at one query of the study's one trial."""
    return {
        "store": str(store.root), "data": "mine", "recipe": LISTS.plain(),
        "query": StudyResult.open(study.path).query_ids[0], "lists": study.recipe["lists"],
        "ranker": str(ranker.key), "family": "transpositions",
        "level": 5.0, "draw": 1, "seed": 0,
    }  # fmt: skip


def test_the_initial_ranker_and_its_scores_are_needed_and_keep_from_being_deleted(fitted, capsys):
    store, ranker, study, workbench = fitted
    initial, scores = initial_of(store)
    found = {entry.key: entry for entry in library.entries(store)}
    parts = {entry.key for entry in found.values() if entry.part}
    prints = [
        part.fingerprint
        for part in (workbench.fold.train, workbench.fold.valid, workbench.fold.test)
    ]
    (source,) = list_sources.sources(LISTS, prints)
    assert set(source.parts) == parts
    assert (source.ranker, source.scores) == (initial.key, scores.key)
    assert found[study.key].needs >= {initial.key, scores.key, ranker.key}
    assert found[ranker.key].needs >= {initial.key, scores.key}
    assert initial.key in found[scores.key].needs
    assert not any(entry.needs & parts for entry in found.values())
    for one in (initial, scores):
        made = {entry.key for entry in library.dependents(found.values(), one.key)}
        assert made >= {study.key, ranker.key}
        assert main(["library", "delete", str(one.key), "--store", str(store.root)])
        said = capsys.readouterr().err
        assert str(study.key) in said
        assert "--with-dependents" in said
        assert store.find(one.key) is not None


def test_a_damaged_ranker_is_deleted_alone_and_what_was_made_from_it_stays(
    fitted, tmp_path, capsys
):
    store, ranker, study, _ = fitted
    copy = Store(shutil.copytree(store.root, tmp_path / "copy"))
    damaged = next(path for path in copy.find(ranker.key).path.iterdir() if path.suffix != ".json")
    os.truncate(damaged, 10)
    assert main(["library", "delete", str(ranker.key), "--store", str(copy.root)]) == 0
    assert str(ranker.key) in capsys.readouterr().out
    assert copy.find(ranker.key) is None
    assert copy.find(study.key) is not None


def imported(fitted, folder):
    """An empty store after it took in the study with all that it needs."""
    store, _, study, _ = fitted
    chosen = library.with_dependencies(library.entries(store), [study.key])
    run_to_end(archive.write(store, [entry.artefact for entry in chosen], folder / "all.zip"))
    other = Store(folder / "other")
    run_to_end(archive.read_archive(folder / "all.zip", other))
    return other


def test_a_study_taken_along_is_looked_at_elsewhere_and_nothing_is_trained(fitted, tmp_path):
    store, ranker, study, _ = fitted
    other = imported(fitted, tmp_path)
    before = {str(one.key) for one in other.artefacts()}
    assert not any("without part" in str(one.recipe) for one in other.artefacts())
    assert replay_trial(asked(other, ranker, study)) == replay_trial(asked(store, ranker, study))
    assert {str(one.key) for one in other.artefacts()} == before


def test_where_the_initial_ranker_is_gone_a_page_is_told_so_and_trains_nothing(fitted, tmp_path):
    _, ranker, study, _ = fitted
    other = imported(fitted, tmp_path)
    for one in initial_of(other):
        other.remove(one.key)
    before = {str(one.key) for one in other.artefacts()}
    item = asked(other, ranker, study)
    two = {**item, "initial": ["mart@small", "oracle"], "preset": "small", "before": None,
           "now": [1]}  # fmt: skip
    size = {**item, "digests": {"5": item["lists"]}, "before": [str(ranker.key), 5],
            "now": [str(ranker.key), 5]}  # fmt: skip
    for ask, question in (
        (replay_trial, item), (scoring.documents, item | {"features": []}),
        (tables_query.conditions, two), (tables_query.sizes, size),
    ):  # fmt: skip
        with pytest.raises(DataError, match="initial ranker mart@small is not stored") as refused:
            ask(question)
        assert "import an archive" in str(refused.value)
    assert {str(one.key) for one in other.artefacts()} == before
    assert not list((other.root / "workspaces").glob("*"))


def test_what_replaces_an_initial_ranking_is_not_trained_either(fitted):
    store, ranker, study, _ = fitted
    before = {str(one.key) for one in store.artefacts()}
    item = asked(store, ranker, study) | {"preset": "small", "before": None, "now": [1]}
    answer = tables_query.conditions(item | {"initial": ["mart@small", "oracle"]})
    assert len(answer["label"]) == LISTS.depth
    with pytest.raises(DataError, match="ranksvm"):
        tables_query.conditions(item | {"initial": ["mart@small", "rrf:mart+ranksvm@small"]})
    assert {str(one.key) for one in store.artefacts()} == before
    prints = ["a", "b", "c"]
    known = list_sources.test_rankers(["ranksvm", "oracle", "mart#12"], "small", LISTS, prints)
    assert list(known) == ["ranksvm"]


def test_every_entry_says_what_it_is_and_what_it_needs(made):
    store, ranker, study, _ = made
    found = {entry.key: entry for entry in library.entries(store)}
    (data,) = (entry for entry in found.values() if entry.key.kind == "data")
    assert data.name == "mine"
    assert data.summary.startswith("12 queries, 72 documents")
    assert found[ranker.key].needs == {data.key}
    assert found[study.key].needs == {data.key, ranker.key}
    assert found[ranker.key].seconds == ranker.facts["seconds"]
    dependents = {entry.key for entry in library.dependents(found.values(), data.key)}
    assert dependents == {ranker.key, study.key}
    assert not library.dependents(found.values(), study.key)
    needed = {entry.key for entry in library.with_dependencies(found.values(), [study.key])}
    assert needed == {data.key, ranker.key, study.key}


def test_an_archive_opens_in_an_empty_store_with_names(made, tmp_path):
    store, _, study, _ = made
    chosen = library.with_dependencies(library.entries(store), [study.key])
    out = tmp_path / "all.zip"
    run_to_end(archive.write(store, [entry.artefact for entry in chosen], out))
    other = Store(tmp_path / "other")
    taken = run_to_end(archive.read_archive(out, other))
    assert {one.key for one in taken} == {entry.key for entry in chosen}
    for one in taken:
        other.verify(one)
    assert other.names()["mine"].kind == "data"
    before, after = StudyResult.open(study.path), StudyResult.open(other.find(study.key).path)
    np.testing.assert_array_equal(before.values, after.values)
    workbench = run_to_end(Workbench.open("mine", ListRecipe(("feature:1",)), other, "small"))
    assert run_to_end(workbench.train(RankerName.parse("mart"), {"trees": "3"})).cached
    assert len(run_to_end(archive.read_archive(out, other))) == len(
        chosen
    )  # again: nothing changes


def test_a_name_that_is_taken_gets_a_number(made, tmp_path):
    store, *_ = made
    (tmp_path / "other.txt").write_text(LETOR.replace("qid:1 ", "qid:77 "))
    other = Store(tmp_path / "other")
    run_to_end(ingest(tmp_path / "other.txt", "mine", other))
    data = [entry.artefact for entry in library.entries(store) if entry.key.kind == "data"]
    run_to_end(archive.write(store, data, tmp_path / "data.zip"))
    run_to_end(archive.read_archive(tmp_path / "data.zip", other))
    assert set(other.names()) == {"mine", "mine 2"}
    assert other.names()["mine 2"] == data[0].key


def altered(source, target, change):
    """A copy of an archive with its entries changed: (name, bytes) → (name, bytes) or None."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            found = change(entry.filename, old.read(entry))
            if found is not None:
                new.writestr(*found)


def test_an_archive_of_an_earlier_version_with_tags_opens(made, tmp_path):
    store, ranker, *_ = made
    run_to_end(archive.write(store, [ranker], tmp_path / "new.zip"))
    tags = {"tags": {str(ranker.key): ["for the paper"]}}
    altered(tmp_path / "new.zip", tmp_path / "old.zip", lambda name, content: (
        name, json.dumps(json.loads(content) | tags) if name == archive.HEAD else content
    ))  # fmt: skip
    other = Store(tmp_path / "other")
    (taken,) = run_to_end(archive.read_archive(tmp_path / "old.zip", other))
    assert taken.key == ranker.key
    assert library.damaged_entries(other) == []


def flipped(name, content):
    if name.endswith("ranker.json"):
        content = content.replace(b"mart", b"mort", 1)
    return name, content


HARM = {
    "a changed file": flipped,
    "a missing file": lambda name, content: None if name.endswith("model.txt") else (name, content),
    "no head": lambda name, content: None if name == archive.HEAD else (name, content),
    "another version": lambda name, content: (
        (name, json.dumps(json.loads(content) | {"version": 99}))
        if name == archive.HEAD
        else (name, content)
    ),
    "a path that climbs": lambda name, content: (
        (name.replace("/model.txt", "/../../../model.txt"), content)
    ),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_archive_is_refused_and_leaves_nothing(made, tmp_path, harm):
    store, ranker, *_ = made
    whole, broken = tmp_path / "whole.zip", tmp_path / "broken.zip"
    run_to_end(archive.write(store, [ranker], whole))
    altered(whole, broken, HARM[harm])
    other = Store(tmp_path / "other")
    with pytest.raises(DataError):
        run_to_end(archive.read_archive(broken, other))
    assert not list(other.artefacts())
    assert not list(tmp_path.rglob("model.txt"))
    assert not list(other.root.glob("unpacking-*"))


def test_a_bomb_and_a_text_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(archive.HEAD, json.dumps({"version": 1, "artefacts": ["data-0"]}))
        bomb.writestr("data-0/x", bytes(300_000_000))
    (tmp_path / "text.zip").write_text("no archive")
    for name in ("bomb.zip", "text.zip", "nowhere.zip"):
        with pytest.raises(DataError):
            run_to_end(archive.read_archive(tmp_path / name, Store(tmp_path / "store")))
    assert not (tmp_path / "store").exists()


def test_renaming_and_deleting(made, tmp_path):
    store, ranker, study, _ = made
    chosen = library.with_dependencies(library.entries(store), [study.key])
    run_to_end(archive.write(store, [entry.artefact for entry in chosen], tmp_path / "a.zip"))
    own = Store(tmp_path / "own")
    run_to_end(archive.read_archive(tmp_path / "a.zip", own))
    by_key = {entry.key: entry for entry in library.entries(own)}
    library.rename(own, by_key[ranker.key], "my trees")
    library.rename(own, by_key[ranker.key], "best trees")
    assert own.names()["best trees"] == ranker.key
    assert "my trees" not in own.names()
    with pytest.raises(ArtefactError, match="name of"):
        library.rename(own, by_key[study.key], "best trees")
    gone = [by_key[ranker.key], *library.dependents(by_key.values(), ranker.key)]
    freed = library.remove(own, gone)
    assert freed == sum(entry.artefact.size for entry in gone)
    assert {entry.key.kind for entry in library.entries(own)} == {"data"}


def test_the_commands_show_one(made, capsys):
    store, ranker, study, _ = made
    place = ["--json", "--store", str(store.root)]
    assert main(["library", "show", str(study.key), *place]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["needs"] == sorted(told["needs"])
    assert str(ranker.key) in told["needs"]
    assert told["command"].startswith("shuffleproof study initial-ranking --rankers 'mart#")
    assert "question = InitialRanking(" in told["python"]
    assert any("Friedman" in work for work in told["references"])
    assert "the data set mine" in told["methods"]
    assert told["recipe"]["kind"] == "initial-ranking"
    assert main(["library", "show", str(ranker.key), *place]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "shuffleproof train mart@small --data mine --set trees=3"
    assert str(study.key) in told["needed_by"]
