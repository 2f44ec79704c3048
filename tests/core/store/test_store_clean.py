"""What nobody needs goes when asked, what somebody needs stays; flipped bytes are found."""

import json
import os
import time

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.catalogue import ingest
from shuffleproof.core.data.examination import examine
from shuffleproof.core.library import cleaning
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store import locks, manifest
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests.core.library.test_library import LETOR

PAIRS = [("transpositions", 5.0)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def bench_of(store, folder):
    (folder / "set.txt").write_text(LETOR)
    run_to_end(ingest(folder / "set.txt", "mine", store))
    return run_to_end(Workbench.open("mine", ListRecipe(("feature:1",)), store, "small"))


def aged(root, seconds=2 * 86_400):
    """Everything in a folder, as if it had been written some days ago."""
    for path in (root, *root.rglob("*")):
        os.utime(path, (time.time() - seconds,) * 2)


def records(store):
    return {path.stem for path in (store.root / "records").rglob("*.safetensors")}


def test_trials_go_with_the_last_study_that_needs_them(store, tmp_path, capsys):
    workbench = bench_of(store, tmp_path)
    few = run_to_end(InitialRanking(("ideal",), tuple(PAIRS), draws=2).run(workbench))
    kept = records(store)
    more = run_to_end(InitialRanking(("ideal", "feature:2"), tuple(PAIRS), draws=3).run(workbench))
    run_to_end(Invariance(("feature:2",), 2, 0).run(workbench))
    every = records(store)
    aged(store.root)
    assert [one for one in cleaning.waste(store) if one.what.startswith("trials")] == []
    store.remove(more.key)
    command = ["library", "clean", "--store", str(store.root)]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["removed"]
    assert records(store) == every  # only told
    assert main([*command, "--yes"]) == 0
    assert "Freed" in capsys.readouterr().out
    left = records(store)
    assert kept < left < every
    assert (
        run_to_end(InitialRanking(("ideal",), tuple(PAIRS), draws=2).run(workbench)).key == few.key
    )
    store.remove(few.key)
    cleaning.clean(cleaning.waste(store), store)
    assert left - records(store) == kept
    assert records(store)  # those of the two other studies


def test_every_kind_of_study_can_name_its_trials(store, tmp_path):
    workbench = bench_of(store, tmp_path)
    names, pairs = ["feature:2"], (("transpositions", 5.0),)
    run_to_end(Perturbations(tuple(names), pairs, draws=1).run(workbench))
    run_to_end(WorstCase(tuple(names), budgets=(1,), queries=2, draws=1).run(workbench))
    run_to_end(Card(tuple(names), draws=1).run(workbench))
    run_to_end(benchmark.run([workbench], Benchmark(tuple(names), 1, ("NDCG@10",)), "mine"))
    kinds = {one.recipe["kind"] for one in store.artefacts("study")}
    assert kinds == {"perturbations", "worst-case", "card", "benchmark"}
    assert cleaning._needed_records(store) >= records(store)
    assert records(store)


def test_a_study_under_way_keeps_its_trials(store, tmp_path):
    workbench = bench_of(store, tmp_path)
    work = InitialRanking(("ideal",), tuple(PAIRS), draws=2).run(workbench)
    for progress in work:
        if progress.unit == "trials" and progress.done:
            break
    work.close()
    begun = records(store)
    assert begun
    aged(store.root)
    assert not {one.path.stem for one in cleaning.waste(store)} & begun


def test_where_a_study_cannot_name_its_trials_all_stay(store, tmp_path):
    workbench = bench_of(store, tmp_path)
    study = run_to_end(InitialRanking(("ideal",), tuple(PAIRS), draws=2).run(workbench))
    store.records.put("0" * 64, {}, {"values": np.zeros(3)})
    aged(store.root)
    assert {one.path.stem for one in cleaning.waste(store)} == {"0" * 64}
    (study.path / "study.json").write_text("{}")
    assert cleaning.waste(store) == []


def test_what_was_left_behind_goes_and_what_is_young_stays(store, capsys):
    key = key_of("thing", {})
    store.add(key, {}, lambda place: (place / "x").touch())
    left = [
        store.root / "unpacking-abc" / "file", store.root / "incoming" / "a.1" / "file",
        store.root / "uploads" / ("0" * 32) / "file", store.root / "exports" / "a.zip",
        store.root / "workspaces" / "thing-0000000000000000" / "file",
        store.root / "names" / "torn", store.root / "tags" / "thing-0000000000000000.json",
    ]  # fmt: skip
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
    young = {one.what for one in cleaning.waste(store)}
    assert young == {"unfinished files of killed processes", "damaged names",
                     "tags of earlier versions"}  # fmt: skip
    aged(store.root, 40 * 86_400)
    assert main(["library", "clean", "--store", str(store.root), "--yes"]) == 0
    assert not [path for path in left if path.exists()]
    assert store.find(key) is not None
    assert main(["library", "clean", "--store", str(store.root)]) == 0
    assert "Nothing can go: all of it is needed." in capsys.readouterr().out
    checkpoint = store.root / "workspaces" / "ranker-1" / "checkpoint.safetensors"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(bytes(2_000_000))
    assert "2.0 MB for work that was stopped: kept for a month" in cleaning.nothing_found(store)


def test_an_examination_stays_as_long_as_its_data(store, tmp_path):
    (tmp_path / "set.txt").write_text(LETOR)
    (data,) = run_to_end(ingest(tmp_path / "set.txt", "mine", store))
    run_to_end(examine(data, store))
    aged(store.root)
    assert cleaning.waste(store) == []
    store.remove(data.key)
    assert "examinations of data sets that are gone" in {one.what for one in cleaning.waste(store)}


def test_what_another_process_is_unpacking_stays(store):
    folder = store.root / "incoming" / "archive.0"
    folder.mkdir(parents=True)
    (folder / "train.txt").touch()
    with locks.hold_lock(folder.with_name(f"{folder.name}.lock")):
        assert cleaning.waste(store) == []
    assert [one.path for one in cleaning.waste(store)] == [folder]


def test_damaged_records_are_verified_and_deleted_by_name(store, capsys):
    store.records.put("ab" * 10, {"one": 1}, {})
    store.records.put("cd" * 10, {"one": 2}, {})
    path = next((store.root / "records").rglob("abab*.safetensors"))
    path.write_bytes(path.read_bytes().replace(b"1", b"7"))
    place = ["--store", str(store.root)]
    assert main(["library", "verify", *place]) == 1
    said = capsys.readouterr().out
    assert (path.name in said, "1 damaged" in said, "cdcd" in said) == (True, True, False)
    assert main(["library", "delete", path.name, *place]) == 0
    assert main(["library", "verify", *place]) == 0


def test_flipped_bytes_of_large_files_are_found_by_verify(store, capsys):
    keys = [key_of("thing", {"number": number}) for number in range(2)]
    size = manifest.CHECKED_ON_FIND + 10
    for key in keys:
        store.add(key, {}, lambda place: (place / "x").write_bytes(b"x" * size) and None)
    command = ["library", "verify", "--store", str(store.root)]
    assert main([*command, str(keys[0])]) == 0
    assert "all files intact" in capsys.readouterr().out
    path = store.root / "artefacts" / str(keys[1]) / "x"
    path.write_bytes(b"y" + path.read_bytes()[1:])
    assert store.find(keys[1]) is not None  # opening does not see it
    assert main(command) == 1
    said = capsys.readouterr().out
    assert str(keys[1]) in said
    assert "SHA-256" in said
    assert main([*command, str(keys[0])]) == 0
