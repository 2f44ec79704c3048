"""The artefact store: content keys, atomicity, several processes, damage."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import locks, manifest
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.damaged_entries import damaged_entries, remove
from shuffleproof.core.store.keys import ArtefactKey, canonical_json, key_of
from tests import places

ROOT = places.ROOT

PRELUDE = """
import sys, time
from pathlib import Path
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
store, recipe = Store(Path(sys.argv[1])), {"width": 8}
key = key_of("thing", recipe)
def write(directory):
    (directory / "deep").mkdir()
    (directory / "deep" / "weights").write_bytes(b"w" * 2_000_000)
    (directory / "config.json").write_text("{}")
"""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def started(code: str, root: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(root), *more],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def key(number: int = 0, kind: str = "thing") -> ArtefactKey:
    return key_of(kind, {"number": number})


def stored(store: Store, number: int = 0, size: int = 10):
    return store.add(
        key(number), {"number": number}, lambda directory: fill(directory / "weights", size)
    )


def fill(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


# --- keys ---------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_key_ignores_order_and_survives_a_json_round_trip(recipe):
    import json

    backwards = dict(reversed(list(recipe.items())))
    again = json.loads(json.dumps(recipe))
    assert key_of("x", recipe) == key_of("x", backwards) == key_of("x", again)


@given(json_values, json_values)
def test_keys_differ_where_json_differs(one, other):
    import json

    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (key_of("x", {"v": one}) == key_of("x", {"v": other})) == same


def test_key_depends_on_kind_inputs_and_their_order():
    keys = [
        key_of("a", {}),
        key_of("b", {}),
        key_of("a", {}, ["1", "2"]),
        key_of("a", {}, ["2", "1"]),
    ]
    assert len(set(keys)) == 4
    assert key_of("a", {"v": (1, 2)}) == key_of("a", {"v": [1, 2]})


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: 2}, {"a": [object()]}, Path("x"), {1, 2}, b"x"]
)
def test_key_refuses_what_json_cannot_say(value):
    with pytest.raises(ParameterError, match="recipe"):
        key_of("x", {"value": value})


def test_float_text_is_the_shortest_that_reads_back():
    assert canonical_json([0.1, 1e300, 1.0, -0.0]) == "[0.1,1e+300,1.0,-0.0]"


@pytest.mark.parametrize(("kind", "digest"), [("../x", "0" * 64), ("a", "xyz"), ("", "0" * 64)])
def test_key_parts_are_file_name_safe(kind, digest):
    with pytest.raises(ParameterError):
        ArtefactKey(kind, digest)


# --- one process --------------------------------------------------------------------------------


def test_add_find_and_keep(store):
    assert store.find(key()) is None
    first = store.add(key(), {"number": 0}, lambda d: fill(d / "w", 3), {"valid": 0.5})
    found = store.find(key())
    assert found == first
    assert (found.recipe, found.facts, found.size) == ({"number": 0}, {"valid": 0.5}, 3)
    assert (found.path / "w").read_bytes() == b"xxx"
    again = store.add(key(), {"number": 0}, lambda _: pytest.fail("written twice"))
    assert again == first
    store.verify(found)
    assert list(store.artefacts()) == list(store.artefacts("thing")) == [first]
    assert not list(store.artefacts("dataset"))


def test_workspace_lives_until_add(store):
    workspace = store.workspace(key())
    fill(workspace / "checkpoint", 1)
    assert (store.workspace(key()) / "checkpoint").exists()
    stored(store)
    assert not workspace.exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_failing_disk_stores_nothing_and_says_what_to_do(store, number):
    def write(directory):
        fill(directory / "half", 10)
        raise OSError(number, os.strerror(number))

    with pytest.raises(ArtefactError, match="SHUFFLEPROOF_HOME"):
        store.add(key(), {}, write)
    assert store.find(key()) is None
    assert not list((store.root / "incoming").iterdir())


def test_full_disk_told_by_a_library_is_recognised(store):
    class LibraryError(Exception):
        pass

    def write(_):
        raise LibraryError("I/O error: No space left on device (os error 28)")

    with pytest.raises(ArtefactError, match="no space left"):
        store.add(key(), {}, write)


def test_other_errors_pass_through_and_leave_nothing(store):
    def write(directory):
        fill(directory / "half", 10)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.add(key(), {}, write)
    assert store.find(key()) is None
    assert not list((store.root / "incoming").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_home_is_told(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(ArtefactError, match="SHUFFLEPROOF_HOME"):
        stored(Store(tmp_path / "home"))


def test_a_manifest_of_its_own_is_refused(store):
    with pytest.raises(ArtefactError, match="Rename"):
        store.add(key(), {}, lambda d: fill(d / manifest.MANIFEST, 1))


# --- damage -------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def cut_manifest(path: Path) -> None:
    truncate(path.parent / manifest.MANIFEST)
    truncate(path.parent / manifest.MANIFEST)


def empty_manifest(path: Path) -> None:
    (path.parent / manifest.MANIFEST).write_text("[]")


DAMAGES = [
    truncate,
    flip,
    Path.unlink,
    cut_manifest,
    empty_manifest,
    lambda path: fill(path.parent / "stranger", 1),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_on_opening(store, damage):
    artefact = stored(store)
    damage(artefact.path / "weights")
    with pytest.raises(ArtefactError, match="library delete"):
        store.find(key())
    with pytest.raises(ArtefactError):
        store.verify(artefact)


def test_large_files_are_digested_by_verify_alone(store):
    artefact = stored(store, size=manifest.CHECKED_ON_FIND + 1)
    flip(artefact.path / "weights")
    assert store.find(key()) == artefact
    with pytest.raises(ArtefactError, match="SHA-256"):
        store.verify(artefact)


def test_listing_leaves_unreadable_artefacts_out(store):
    good, bad = stored(store, 1), stored(store, 2)
    (bad.path / manifest.MANIFEST).write_text("{")
    assert list(store.artefacts()) == [good]


# --- names, bundled roots -----------------------------------------------------------------------


def test_resolve_by_name_key_and_prefix(store):
    first, second = stored(store, 1), stored(store, 2)
    store.set_name("My best ranker", first.key)
    digest = first.key.digest
    for text in ("My best ranker", str(first.key), digest, digest[:12], f"thing-{digest[:8]}"):
        assert store.resolve(text) == store.resolve(text, "thing") == first
    with pytest.raises(ArtefactError, match=str(second.key)):
        store.resolve("thing-")
    for text, kind in (("nothing", None), ("My best ranker", "dataset"), ("", None)):
        with pytest.raises(ArtefactError, match="My best ranker"):
            store.resolve(text, kind)
    store.set_name("My best ranker", second.key)
    assert store.resolve("My best ranker") == second


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 61, "a\n"])
def test_names_are_file_name_safe(store, name):
    artefact = stored(store)
    with pytest.raises(ParameterError):
        store.set_name(name, artefact.key)


def test_of_what_is_damaged_a_link_goes_and_what_it_leads_to_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").write_text("1234")
    store = Store(tmp_path / "store")
    (store.root / "names").mkdir(parents=True)
    link, folder = store.root / "names" / "link", store.root / "names" / "folder"
    link.symlink_to(tmp_path / "mine")
    folder.mkdir()
    (folder / "file").touch()
    for one in damaged_entries(store):
        remove(store, one)
    assert list((store.root / "names").iterdir()) == []
    assert (tmp_path / "mine" / "work").read_text() == "1234"


def test_names_need_an_artefact_and_survive_damage_with_a_message(store):
    with pytest.raises(ArtefactError, match="Store it before"):
        store.set_name("x", key())
    store.set_name("x", stored(store).key)
    (store.root / "names" / "x").write_text("{")
    (store.root / "names" / "folder").mkdir()
    assert store.names() == {}
    assert [(one.what, one.name) for one in damaged_entries(store)] == [
        ("name", "folder"),
        ("name", "x"),
    ]


def test_bundled_is_found_never_written(tmp_path):
    bundle = Store(tmp_path / "bundle")
    artefact = stored(bundle)
    bundle.set_name("shipped", artefact.key)
    before = sorted((path, path.stat().st_mtime_ns) for path in bundle.root.rglob("*"))
    store = Store(tmp_path / "home", (bundle.root,))
    assert store.find(key()) == store.resolve("shipped") == stored(store) == artefact
    assert list(store.artefacts()) == [artefact]
    with pytest.raises(ArtefactError, match="comes with the program"):
        store.remove(key())
    other = stored(store, 1)
    store.set_name("shipped", other.key)
    assert store.resolve("shipped") == other
    assert before == sorted((path, path.stat().st_mtime_ns) for path in bundle.root.rglob("*"))


def test_remove_takes_names_along(store):
    artefact = stored(store)
    store.set_name("x", artefact.key)
    store.remove(artefact.key)
    assert store.find(artefact.key) is None
    assert store.names() == {}
    with pytest.raises(ArtefactError, match="not in the store"):
        store.remove(artefact.key)


def test_default_store_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "chosen"))
    assert default_store().root == tmp_path / "chosen"
    monkeypatch.delenv("SHUFFLEPROOF_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store().root == tmp_path / "shuffleproof"


# --- several processes --------------------------------------------------------------------------


def test_processes_adding_the_same_key_agree(tmp_path):
    code = "print(store.add(key, recipe, write).path)"
    workers = [started(code, tmp_path) for _ in range(4)]
    outputs = [worker.communicate(timeout=60) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, outputs
    assert len({out for out, _ in outputs}) == 1
    store = Store(tmp_path)
    store.verify(store.find(key_of("thing", {"width": 8})))
    assert not list((tmp_path / "incoming").iterdir())


def test_lock_lets_one_process_do_the_work(tmp_path):
    code = """
with store.lock(key):
    if store.find(key) is None:
        with open(Path(sys.argv[1]) / "worked", "a") as file: file.write("once ")
        time.sleep(0.3)
        store.add(key, recipe, write)
"""
    workers = [started(code, tmp_path) for _ in range(3)]
    for worker in workers:
        _, stderr = worker.communicate(timeout=60)
        assert worker.returncode == 0, stderr
    assert (tmp_path / "worked").read_text() == "once "
    assert not list((tmp_path / "locks").iterdir())


def test_a_crowd_adding_removing_and_dying_leaves_a_sound_store(tmp_path):
    code = """
import contextlib
import random
from shuffleproof.core.errors import ArtefactError
draws = random.Random(sys.argv[2])
for _ in range(60):
    recipe = {"number": draws.randrange(12)}
    store.add(key_of("thing", recipe), recipe, lambda d: (d / "w").write_bytes(b"x" * 1000))
    choice = draws.random()
    if choice < 0.2:
        with store.lock(key_of("thing", recipe)):
            store.find(key_of("thing", recipe))
    elif choice < 0.5:
        with contextlib.suppress(ArtefactError):  # another process removed it
            store.remove(key_of("thing", recipe))
"""
    workers = [started(code, tmp_path, str(number)) for number in range(5)]
    time.sleep(0.5)
    workers[0].kill()
    for worker in workers:
        _, stderr = worker.communicate(timeout=60)
        assert worker.returncode == 0 or worker is workers[0], stderr
    store = Store(tmp_path)
    stored(store, 99)  # what is new sweeps what the killed one left
    assert not list((tmp_path / "incoming").iterdir())
    for artefact in store.artefacts():
        store.verify(artefact)


def killed_in(code: str, root: Path) -> None:
    worker = started(code, root)
    assert worker.stdout.readline() == "there\n"
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=60)


KILLED_WHILE_WRITING = """
def half(directory):
    write(directory)
    print("there", flush=True)
    time.sleep(60)
store.add(key, recipe, half)
"""


def test_kill_in_the_middle_of_add_leaves_nothing_found_and_is_swept(tmp_path):
    store, recipe = Store(tmp_path), {"width": 8}
    killed_in(KILLED_WHILE_WRITING, tmp_path)
    assert store.find(key_of("thing", recipe)) is None
    assert list(store.artefacts()) == []
    left = {path.suffix for path in (tmp_path / "incoming").iterdir()}
    assert len(left) == 2  # the folder and its lock
    stored(store, 1)
    assert not list((tmp_path / "incoming").iterdir())
    assert store.find(key_of("thing", recipe)) is None


def test_the_living_are_not_swept(tmp_path):
    worker = started(KILLED_WHILE_WRITING.replace("60", "1"), tmp_path)
    assert worker.stdout.readline() == "there\n"
    stored(Store(tmp_path), 1)
    _, stderr = worker.communicate(timeout=60)
    assert worker.returncode == 0, stderr
    Store(tmp_path).verify(Store(tmp_path).find(key_of("thing", {"width": 8})))


def test_kill_releases_the_lock(tmp_path):
    killed_in("with store.lock(key):\n    print('there', flush=True); time.sleep(60)", tmp_path)
    store = Store(tmp_path)
    start = time.monotonic()
    with store.lock(key_of("thing", {"width": 8})):
        assert time.monotonic() - start < 5


def test_lock_excludes_threads(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(50):
            with locks.hold_lock(tmp_path / "a.lock"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0002)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200
    assert set(most) == {1}
    assert not list(tmp_path.iterdir())
