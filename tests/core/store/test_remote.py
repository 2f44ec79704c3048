"""A store in an object store: copies are checked, what is half there is not there."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.execution import claims
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.store import remote
from shuffleproof.core.store.artefacts import Store, default_store, store_at
from shuffleproof.core.store.board import ObjectClaims, board_of, name_for
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.verified import verify_files

KEY = key_of("data", {"made": "for a test"}, [])


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Opens the same object store as another machine does, which has no copies yet."""
    monkeypatch.setattr(remote, "FRESH", 0.0)

    def opened(home):
        monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / home))
        return Store(store_at(f"file://{tmp_path}/bucket/").root)

    return opened


def fill(folder):
    (folder / "inside").mkdir()
    (folder / "inside" / "a.bin").write_bytes(b"abc")
    (folder / "b.txt").write_text("words")


def added(store, key=KEY):
    return store.add(key, {}, fill, {})


@pytest.fixture
def kind_free(monkeypatch):
    """Artefacts of any recipe: what a kind must say is another test's."""
    from shuffleproof.core.store import manifest

    monkeypatch.setattr(manifest, "check_kind", lambda *_: None)


def test_what_one_machine_makes_another_finds_and_removes(homes, tmp_path, kind_free):
    mine, other = homes("mine"), homes("other")
    assert mine.root != other.root
    assert other.find(KEY) is None
    made = added(mine)
    mine.set_name("first", KEY)
    (listed,) = other.artefacts()
    assert (listed.key, listed.path.exists()) == (KEY, False)
    assert other.resolve("first").key == KEY
    found = other.find(KEY)
    assert found.path.is_relative_to(other.root)
    assert (found.path / "inside" / "a.bin").read_bytes() == b"abc"
    assert found.created == made.created
    before = (found.path / "b.txt").stat().st_mtime_ns
    assert other.find(KEY).path == found.path
    assert (found.path / "b.txt").stat().st_mtime_ns == before, "copied once"
    other.remove(KEY)
    assert homes("third").find(KEY) is None
    assert homes("third").names() == {}
    assert [*(tmp_path / "bucket" / "artefacts").rglob("*.*")] == []


def test_what_has_no_manifest_yet_is_not_there_and_is_made_again(homes, tmp_path, kind_free):
    mine = homes("mine")
    added(mine)
    there = tmp_path / "bucket" / "artefacts" / str(KEY)
    (there / "manifest.json").unlink()  # whoever wrote it died before the end
    other = homes("other")
    assert other.find(KEY) is None
    assert list(other.artefacts()) == []
    added(other)
    assert (there / "manifest.json").is_file()
    assert homes("third").find(KEY) is not None


def test_half_of_an_artefact_is_never_seen_by_who_names_the_folder_by_its_path(
    homes, tmp_path, monkeypatch, kind_free
):
    seen, publish = [], Store._publish

    def killed(store, content, key):
        seen.append(Store(tmp_path / "bucket").find(key))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_publish", killed)
        with pytest.raises(KeyboardInterrupt):
            added(homes("mine"))
    assert seen == [None]
    monkeypatch.setattr(Store, "_publish", publish)
    assert Store(tmp_path / "bucket").find(KEY) is None
    added(homes("mine"))
    assert Store(tmp_path / "bucket").find(KEY) is not None


@pytest.mark.parametrize("slower", ["before its files", "between its files", "before its manifest"])
def test_of_two_who_send_an_artefact_at_once_one_is_kept_whole(
    tmp_path, monkeypatch, kind_free, slower
):
    """They measured other times, so that files of the two do not go together."""
    url = f"memory://{tmp_path.name}-{slower.replace(' ', '-')}"
    stores = [
        Store(remote.copy_of(url, tmp_path / home)) for home in ("slower", "quicker", "third")
    ]

    def add(number):
        stores[number].add(KEY, {}, lambda place: fill_with_times(place, str(number)), {})

    def fill_with_times(place, text):
        fill(place)
        (place / "times.json").write_text(text)

    files = stores[0].remote._file_system[0]
    put_file, create, put = files.put_file, remote.Remote.create, []

    def putting(*given, **more):
        put.append(given)
        if len(put) == {"before its files": 1, "between its files": 3}.get(slower):
            add(1)
        put_file(*given, **more)

    def creating(self, name, content):
        if slower == "before its manifest" and name.endswith("manifest.json") and len(put) == 3:
            add(1)
        return create(self, name, content)

    monkeypatch.setattr(files, "put_file", putting)
    monkeypatch.setattr(remote.Remote, "create", creating)
    add(0)
    found = stores[2].find(KEY)
    assert (found.path / "times.json").read_text() == "1"
    assert run_to_end(verify_files(stores[2], [found])) == []
    assert len(stores[2].remote.names(f"artefacts/{KEY}")) == 4, "of the other one nothing is left"


def test_what_is_opened_by_many_at_once_says_its_address(tmp_path):
    url, found = f"file://{tmp_path}/bucket", []
    start = threading.Barrier(8)

    def opened():
        start.wait()
        place = remote.copy_of(url, tmp_path / "home")
        found.append(json.loads((place / "remote.json").read_text())["url"])

    workers = [threading.Thread(target=opened) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [url] * 8
    assert [path.name for path in Path(remote.copy_of(url, tmp_path / "home")).iterdir()] == [
        "remote.json"
    ]


def test_a_damaged_object_is_refused_and_no_copy_stays(homes, tmp_path, kind_free):
    added(homes("mine"))
    there = tmp_path / "bucket" / "artefacts" / str(KEY)
    (there / "b.txt").write_text("sword")
    other = homes("other")
    with pytest.raises(ArtefactError, match="SHA-256"):
        other.find(KEY)
    assert not (other.root / "artefacts").exists()
    (there / "b.txt").unlink()
    with pytest.raises(ArtefactError, match="the object store"):
        other.find(KEY)
    entry = json.loads((there / "manifest.json").read_text())
    entry["files"]["../../../outside"] = entry["files"].pop("b.txt")
    (there / "manifest.json").write_text(json.dumps(entry))
    with pytest.raises(ArtefactError, match="a path"):
        other.find(KEY)
    assert not [*tmp_path.rglob("outside")]


def test_nothing_is_kept_here_that_could_not_be_sent(homes, tmp_path, monkeypatch, kind_free):
    mine = homes("mine")
    (tmp_path / "bucket").write_text("in the way")
    with pytest.raises(ArtefactError, match="does not answer") as refused:
        added(mine)
    assert "credentials" in str(refused.value)
    assert not (mine.root / "artefacts").exists()
    (tmp_path / "bucket").unlink()
    assert added(mine).key == KEY


def test_records_names_and_presets_are_those_of_all_machines(homes):
    mine, other = homes("mine"), homes("other")
    digest = "0123456789abcdef"
    assert digest not in other.records
    mine.records.put(digest, {"value": 1}, {"scores": np.arange(3.0)})
    assert digest in other.records
    meta, arrays = other.records.get(digest)
    assert (meta, arrays["scores"].tolist()) == ({"value": 1}, [0.0, 1.0, 2.0])
    assert other.records.get("f" * 16) is None
    named_presets.save(NamedPreset("dlcm", "mine", "tuned", {"seed": 3}), mine)
    (preset,) = named_presets.stored_presets(other)
    assert (str(preset), preset.fields) == ("dlcm@mine", {"seed": 3})
    assert named_presets.find(homes("third"), "dlcm", "mine") == preset
    assert named_presets.remove(other, "dlcm@mine")
    for home in ("other", "fourth"):
        assert named_presets.find(homes(home), "dlcm", "mine") is None
    assert named_presets.remove(other, "dlcm@mine") is None


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_object_is_claimed_by_one_and_taken_over_when_nobody_touches_it(homes):
    both = [
        claims.Claims(ObjectClaims(homes(home).remote), lease=0.3, beat=0.05)
        for home in ("mine", "other")
    ]
    first, second = both
    place = second.at
    with first.working("unit"):
        before = place.read_claim("unit")
        with pytest.raises(claims.ClaimTakenError), second.working("unit"):
            pass
        until(lambda: place.read_claim("unit") != before)  # it was touched
    assert place.read_claim("unit") is None
    assert place.create("unit", json.dumps({"place": "another machine", "process": 1}))
    assert not second.is_free("unit")
    assert not place.buried("unit", "what it said before")
    until(lambda: second.is_free("unit"))
    with second.working("unit"):
        assert not first.is_free("unit")
    for one in both:
        one.close()


def test_of_many_that_create_an_object_one_does_and_nobody_sees_half_of_it(homes, monkeypatch):
    place, start, made = homes("mine").remote, threading.Barrier(8), []
    monkeypatch.setattr(type(place._file_system[0]), "exists", lambda *_, **__: False)

    def create():
        start.wait()
        made.append(place.create("claims/unit", b"mine" * 1000))

    workers = [threading.Thread(target=create) for _ in range(8)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        assert place.read("claims/unit") in {None, b"mine" * 1000}
    assert sorted(made) == [False] * 7 + [True]


def test_assignments_and_their_counts_are_those_of_all_machines(homes):
    mine, other = board_of(homes("mine")), board_of(homes("other"))
    name = name_for(mine)
    mine.post(name, "do it")
    assert (other.names(), other.read(name)) == ([name], "do it")
    for board in (mine, other, other):
        board.count(name)
    assert mine.units(name) == 3
    other.take_back(name)
    mine.count(name)
    assert (mine.names(), mine.read(name), mine.units(name)) == ([], None, 0)


def test_a_damaged_copy_is_fetched_anew_and_damage_there_is_told(homes, tmp_path, kind_free):
    made = added(homes("mine"))
    (made.path / "b.txt").write_text("wards")
    mine, other = homes("mine"), homes("other")
    assert (mine.find(KEY).path / "b.txt").read_text() == "words"
    assert run_to_end(verify_files(other, [*other.artefacts()], there=True)) == []
    (tmp_path / "bucket" / "artefacts" / str(KEY) / "b.txt").write_text("wards")
    (damaged,) = run_to_end(verify_files(other, [*other.artefacts()], there=True))
    assert "SHA-256" in damaged.found
    with pytest.raises(ArtefactError, match=f"{KEY}: b.txt"):
        other.find(KEY)


def test_what_is_no_address_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for place in (
        "nonsense://bucket",
        "s3://",
        "s3:/bucket",
        "file://host/x",
        "memory://x",
        "http://h",
        "",
    ):
        with pytest.raises(UsageError, match="name a folder, or an address"):
            store_at(place)
    assert not list(tmp_path.iterdir())


def test_the_users_own_store_may_be_an_address(tmp_path, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", f"file://{tmp_path}/bucket")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    store = default_store()
    assert store.remote.url == f"file://{tmp_path}/bucket"
    assert store.root.is_relative_to(tmp_path / "data" / "shuffleproof" / "copies")
    assert store.bundled


def test_what_does_not_answer_at_once_is_named(tmp_path):
    with pytest.raises(ArtefactError, match=r"127\.0\.0\.1:1/x: the object store"):
        remote.copy_of("ftp://127.0.0.1:1/x", tmp_path)
