"""What comes into a store from elsewhere: refused in one sentence, or contained and removable."""

import json
import math
import shutil
import stat
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.core.answers.trained_rankers import studied_on, trained_on
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ArtefactError, DataError, ParameterError
from shuffleproof.core.library import entries as library
from shuffleproof.core.library import imports
from shuffleproof.core.rankers.boosting import trees
from shuffleproof.core.store import archive, manifest, plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.damaged_entries import damaged_entries
from shuffleproof.core.studies.workbench import run_to_end
from tests import small_set


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with a data set, a ranker of it and a study, and an archive of all three."""
    folder = tmp_path_factory.mktemp("doors")
    changes = {"trees": "3", "leaf_documents": "2"}
    store, _, study, workbench = small_set.made(folder, changes=changes.items(), level=5.0, draws=2)
    whole = folder / "all.zip"
    entries = library.with_dependencies(library.entries(store), [study.key])
    run_to_end(archive.write(store, [one.artefact for one in entries], whole))
    return store, workbench, whole


@pytest.fixture
def poisonable(made, tmp_path):
    """A copy of the store to be spoilt."""
    return Store(Path(shutil.copytree(made[0].root, tmp_path / "spoilt")))


POISON = {
    "recipe null": {"recipe": None},
    "recipe a list": {"recipe": []},
    "facts text": {"facts": "x"},
    "created a number": {"created": 5},
    "created no time": {"created": "yesterday"},
    "created without a zone": {"created": "2026-11-22T10:00:00"},
    "files a list": {"files": []},
    "a size that is text": {"files": {"x": {"bytes": "3", "sha256": "0" * 64}}},
    "a path that climbs": {"files": {"../x": {"bytes": 3, "sha256": "0" * 64}}},
    "another format": {"format": 99},
    "no key": {"digest": "x"},
    "another kind": {"kind": "study"},
    "NaN": {"facts": {"seconds": math.nan}},
    "nested without end": {"facts": {"x": json.loads("[" * 90 + "]" * 90)}},
}
OF_RANKERS = POISON | {
    "an empty recipe": {"recipe": {}},
    "a ranker without a name": {"recipe": {"ranker": {}}},
    "a name that is a number": {"recipe": {"ranker": {"name": 3}}},
    "a quality that is text": {"facts": {"valid": {"NDCG@10": "high"}}},
    "seconds true": {"facts": {"seconds": True}},
}
POISONS = {"ranker": OF_RANKERS, "study": POISON | {"no kind": {"recipe": {"rankers": []}}},
           "data": POISON | {"a count that is text": {"facts": {"queries": "x"}}}}  # fmt: skip


def poisoned(text, change):
    return json.dumps(json.loads(text) | change)


def altered(source, target, change):
    """A copy of an archive, each entry changed: (name, bytes) → bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, change(entry.filename, old.read(entry)))
    return target


def refused(capsys, *command):
    """The one sentence that a command ends with."""
    assert main(list(map(str, command))) == 1
    said = capsys.readouterr().err.strip().splitlines()
    sentences = [line for line in said if line.startswith("shuffleproof: ")]
    assert len(sentences) == 1, said
    assert "Traceback" not in "".join(said)
    assert "defect of ours" not in "".join(said)
    return sentences[0]


@pytest.mark.parametrize("kind", POISONS)
def test_poisoned_manifests_are_refused_at_import(made, tmp_path, capsys, kind):
    for poison, change in POISONS[kind].items():
        if change.get("kind") == kind:
            continue
        spoilt = altered(made[2], tmp_path / "spoilt.zip", lambda name, content, change=change: (
            poisoned(content, change)
            if name.startswith(kind) and name.endswith(manifest.MANIFEST) else content
        ))  # fmt: skip
        place = tmp_path / "other"
        said = refused(capsys, "library", "import", spoilt, "--store", place)
        assert "spoilt.zip" in said, poison
        assert kind in said, poison
        assert not list(Store(place).artefacts()), poison
        assert not list((place / "incoming").glob("*")), poison


@pytest.mark.parametrize("kind", POISONS)
def test_a_store_poisoned_before_is_listed_and_cleared(made, poisonable, capsys, kind):
    store, workbench = poisonable, made[1]
    (victim,) = (one for one in store.artefacts(kind) if "without part" not in str(one.recipe))
    path = store.root / "artefacts" / str(victim.key) / manifest.MANIFEST
    sound = path.read_text()
    others = {entry.key for entry in library.entries(store)} - {victim.key}
    for poison, change in POISONS[kind].items():
        path.write_text(poisoned(sound, change))
        if manifest_is_right(path.parent):
            continue
        assert {entry.key for entry in library.entries(store)} == others, poison
        assert [one.name for one in library.damaged_entries(store)] == [str(victim.key)], poison
        prints = (workbench.fold.train.fingerprint, workbench.fold.valid.fingerprint)
        trained_on(store, *prints)
        studied_on(store, workbench.fold.fingerprint)
        assert main(["library", "list", "--store", str(store.root)]) == 0, poison
        assert str(victim.key) in capsys.readouterr().out.partition("Damaged")[2], poison
    assert main(["library", "delete", str(victim.key), "--store", str(store.root)]) == 0
    assert library.damaged_entries(store) == []
    assert not path.parent.exists()


def manifest_is_right(directory):
    try:
        manifest.listed_artefact(directory)
    except ArtefactError:
        return False
    return True


def test_recipes_and_facts_that_no_version_writes_are_shown_as_damaged(poisonable):
    """Their types are right, and still nothing can be said of them."""
    (ranker,) = poisonable.artefacts("ranker")
    path = ranker.path / manifest.MANIFEST
    recipe = {"ranker": {"name": "lightgbm"}, "lists": {"initial": [{}], "depth": -1}}
    path.write_text(poisoned(path.read_text(), {"recipe": recipe}))
    assert ranker.key not in {entry.key for entry in library.entries(poisonable)}
    assert [one.name for one in library.damaged_entries(poisonable)] == [str(ranker.key)]


def page():
    import sys

    from shuffleproof.app.navigation import PAGES

    PAGES[sys.page].draw()


@pytest.mark.parametrize("name", ["", "library", "train"])
def test_pages_open_on_a_poisoned_store(poisonable, monkeypatch, name):
    import streamlit as st

    for kind in POISONS:
        (victim, *_) = poisonable.artefacts(kind)
        path = victim.path / manifest.MANIFEST
        path.write_text(poisoned(path.read_text(), {"recipe": None, "facts": "x", "created": 5}))
    (poisonable.root / "names" / "torn").write_text("{")
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(poisonable.root))
    monkeypatch.setattr("shuffleproof.app.services.default_store", lambda: poisonable)
    monkeypatch.setattr("sys.page", name, raising=False)
    st.cache_resource.clear()
    st.cache_data.clear()
    test = AppTest.from_function(page, default_timeout=120).run()
    assert not test.exception
    if name == "library":
        assert "4 damaged files" in test.warning[0].value
        test.button(key="damaged name torn").click().run()
        assert "3 damaged files" in test.warning[0].value
        assert not (poisonable.root / "names" / "torn").exists()
    st.cache_resource.clear()


# --- names and tags -----------------------------------------------------------------------------


def test_reserved_names_are_refused_everywhere(made, tmp_path, capsys):
    store, _, whole = made
    (ranker,) = store.artefacts("ranker")
    for name in ("sample", str(ranker.key), "data-0123456789abcdef"):
        with pytest.raises(ParameterError):
            store.set_name(name, ranker.key)
        key = next(str(one.key) for one in store.artefacts("data"))
        called = {"names": {name: key}}
        spoilt = altered(whole, tmp_path / "spoilt.zip", lambda place, content, called=called: (
            poisoned(content, called) if place == archive.HEAD else content
        ))  # fmt: skip
        said = refused(capsys, "library", "import", spoilt, "--store", tmp_path / "other")
        assert f"{name!r}, already in use" in said
    assert not list(Store(tmp_path / "other").artefacts())
    place = store.root / "names" / "sample"
    place.write_text(json.dumps({"kind": "ranker", "digest": ranker.key.digest}))
    try:
        assert "sample" not in store.names()
        assert [one.what for one in damaged_entries(store)] == ["name"]
    finally:
        place.unlink()


def test_damaged_names_and_old_tags_stop_nothing(poisonable, capsys):
    (ranker,) = poisonable.artefacts("ranker")
    names, tags = poisonable.root / "names", poisonable.root / "tags"
    tags.mkdir()
    (names / "folder").mkdir()
    (names / "list").write_text("[1]")
    (names / "deep").write_text("[" * 5000)
    (names / "long").write_text(" " * 100_000)
    (names / "bytes").write_bytes(b"\xff\xfe")
    (tags / f"{ranker.key}.json").write_text("5")
    (tags / "data-0000000000000000.json").mkdir()
    assert set(poisonable.names()) == {"mine"}
    for command in (["library", "list"], ["library", "show", "mine"]):
        assert main([*command, "--store", str(poisonable.root)]) == 0
    told = capsys.readouterr().out
    assert len(damaged_entries(poisonable)) == 5
    assert "clean --yes` (5):" in told


# --- forged and damaged archives ----------------------------------------------------------------


def test_what_came_in_says_from_where_in_list_show_and_page(made, tmp_path, capsys):
    place = tmp_path / "other"
    assert main(["library", "import", str(made[2]), "--store", str(place)]) == 0
    for entry in library.entries(Store(place)):
        assert entry.artefact.imported.source == "all.zip"
    assert all(one.imported is None for one in made[0].artefacts())
    capsys.readouterr()
    assert main(["library", "list", "--store", str(place)]) == 0
    assert capsys.readouterr().out.count("imported from all.zip on ") == 3
    assert main(["library", "show", "mine", "--store", str(place), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"]["from"] == "all.zip"
    run_to_end(
        imports.read_archive(made[2], Store(place))
    )  # again: it still says when it came first


FORGED = {
    "ranker": lambda content: content.replace('"trees": 3', '"trees": 4'),
    "study": lambda content: content.replace('"draws": 2', '"draws": 3'),
    "data": lambda content: content.replace('"fingerprint": "', '"fingerprint": "0', 1),
}


@pytest.mark.parametrize("kind", FORGED)
def test_an_entry_whose_key_does_not_follow_from_its_recipe_is_refused(
    made, tmp_path, capsys, kind
):
    def change(name, content):
        if name.startswith(kind) and name.endswith(manifest.MANIFEST):
            forged = FORGED[kind](content.decode())
            assert forged != content.decode()
            return forged
        return content

    spoilt = altered(made[2], tmp_path / "forged.zip", change)
    said = refused(capsys, "library", "import", spoilt, "--store", tmp_path / "other")
    assert "forged" in said or "fingerprint" in said
    assert not list(Store(tmp_path / "other").artefacts())


def test_documents_that_are_not_those_of_the_fingerprint_are_refused(made, tmp_path):
    """Every digest of the archive holds: only the content is another data set's."""
    own = Store(Path(shutil.copytree(made[0].root, tmp_path / "own")))
    (data,) = own.artefacts("data")
    files = {path.name: path.read_bytes() for path in data.path.iterdir()}
    content = files["train.safetensors"]
    header = int.from_bytes(content[:8], "little")
    start = 8 + header + json.loads(content[8 : 8 + header])["labels"]["data_offsets"][0]
    flipped = np.float32(7).tobytes()
    (data.path / "train.safetensors").write_bytes(content[:start] + flipped + content[start + 4 :])
    text = json.loads(files[manifest.MANIFEST])
    (data.path / manifest.MANIFEST).unlink()
    manifest.write(data.path, data.key, text["recipe"], text["facts"])
    run_to_end(archive.write(own, [own.find(data.key)], tmp_path / "data.zip"))
    with pytest.raises(DataError, match="another fingerprint"):
        run_to_end(imports.read_archive(tmp_path / "data.zip", Store(tmp_path / "other")))


FORGED_TREES = {
    "LightGBM crashes": lambda model: model[: len(model) // 2],
    "a branch that leads back": lambda model: model.replace("=-1 2 4 ", "=-1 0 4 ", 1),
    "a leaf that is not there": lambda model: model.replace("=-1 2 4 ", "=-9 2 4 ", 1),
    "a feature that is not there": lambda model: model.replace(
        "split_feature=0", "split_feature=9"
    ),
}
"""Changes of trees, of the same length: LightGBM reads no other."""


@pytest.mark.parametrize("forgery", FORGED_TREES)
def test_trees_that_would_end_a_process_are_refused_at_import(made, tmp_path, capsys, forgery):
    """Every digest of the archive holds, and the key: only opening tells."""
    own = Store(Path(shutil.copytree(made[0].root, tmp_path / "own")))
    (ranker,) = own.artefacts("ranker")
    model = (ranker.path / trees.MODEL).read_text()
    forged = FORGED_TREES[forgery](model)
    assert forged != model
    (ranker.path / trees.MODEL).write_text(forged)
    (ranker.path / manifest.MANIFEST).unlink()
    manifest.write(ranker.path, ranker.key, ranker.recipe, ranker.facts)
    needed = library.with_dependencies(library.entries(own), [ranker.key])
    run_to_end(archive.write(own, [one.artefact for one in needed], tmp_path / "trees.zip"))
    place = tmp_path / "other"
    said = refused(capsys, "library", "import", tmp_path / "trees.zip", "--store", place)
    assert f"{ranker.key}: it cannot be opened as a ranker: " in said
    assert str(tmp_path) not in said.replace(str(tmp_path / "trees.zip"), "")
    assert not list(Store(place).artefacts())
    assert not list((place / "incoming").glob("*"))


def test_what_an_archive_is_read_whole_of_is_small(made, tmp_path, capsys):
    size = plain_json.MOST_BYTES
    for name in (archive.HEAD, "ranker-"):
        spoilt = altered(made[2], tmp_path / "large.zip", lambda place, content, name=name: (
            content + b" " * size
            if place.startswith(name) and place.endswith(".json") else content
        ))  # fmt: skip
        assert "bytes" in refused(capsys, "library", "import", spoilt, "--store", tmp_path / "o")
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as new:
        new.writestr("x", "")
    content = bytearray(many.read_bytes())
    content[-10:-6] = (archive.MOST_DIRECTORY + 1).to_bytes(4, "little")
    many.write_bytes(content)
    said = refused(capsys, "library", "import", many, "--store", tmp_path / "o")
    assert "table of contents" in said


@pytest.mark.parametrize(
    ("name", "taken"),
    [("é" * 100, True), ("é" * 100 + "x", False), ("d/" * 7 + "f", True), ("d/" * 8 + "f", False)],
)
def test_names_in_an_archive_are_bounded_in_bytes_and_in_folders(tmp_path, name, taken):
    path = tmp_path / "names.zip"
    with zipfile.ZipFile(path, "w") as new:
        new.writestr(name, "")
    refusal = nullcontext() if taken else pytest.raises(DataError, match="an entry")
    with refusal, archive.open_archive(path) as found:
        assert found.namelist() == [name]


@pytest.mark.parametrize("ends", [[2, 10**9], [2, -1], [2, 1], [2]])
def test_texts_that_point_outside_of_their_bytes_are_refused(ends):
    """Compiled code reads them without looking: such a data set ends the process."""
    blob, ends = np.zeros(4, dtype=np.uint8), np.array(ends)
    assert not imports._is_inside(TextColumn(blob, np.array([0, 2][: len(ends)]), ends), 2)
    assert imports._is_inside(TextColumn(blob, np.array([0, 2]), np.array([2, 4])), 2)
    assert imports._is_inside(None, 2)


# --- whose store it is --------------------------------------------------------------------------


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_store_is_its_owners_alone(tmp_path):
    from shuffleproof.core.store.keys import key_of

    def stored(root):
        return Store(root).add(key_of("x", {}), {}, lambda place: (place / "f").touch())

    for folders in ("home", "another/home", "of/several/new/ones"):
        stored(tmp_path / "new" / folders)
        assert mode(tmp_path / "new" / folders) == 0o700
    old = tmp_path / "old"
    for folder in ("artefacts", "names"):
        (old / folder).mkdir(parents=True)
    old.chmod(0o755)
    assert list(Store(old).artefacts()) == []
    assert mode(old) == 0o755  # reading changes nothing
    stored(old)
    assert mode(old) == 0o700
    mixed = tmp_path / "mixed"
    (mixed / "artefacts").mkdir(parents=True)
    (mixed / "thesis").mkdir()
    for folder in (mixed, mixed / "artefacts", mixed / "thesis"):
        folder.chmod(0o755)
    stored(mixed)
    assert [mode(mixed / name) for name in ("", "artefacts", "thesis")] == [0o755, 0o700, 0o755]
