"""Claims: one owner a unit, abandoned ones are taken over, whatever the clocks say."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.execution import claims
from shuffleproof.core.execution.claims import Claims, ClaimTakenError, Folder, UnitsDone, values_of
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, fit_or_load, ranker_key
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.cells import Cell, run_cells
from shuffleproof.core.studies.study import Memory, Trial


@pytest.fixture
def two(tmp_path):
    made = [Claims(Folder(tmp_path), lease=0.2, beat=0.05) for _ in range(2)]
    yield made
    for one in made:
        one.close()


def test_a_claim_whose_owner_died_is_swept_and_others_stay(tmp_path):
    """Its unit was stored, so nobody looks for it any more."""
    own = Claims(Folder(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name, process in (("dead", gone.pid), ("alive", os.getpid())):
        assert own.at.create(name, json.dumps({"place": claims.place(), "process": process}))
    assert own.at.create("elsewhere", json.dumps({"place": "another", "process": gone.pid}))
    own.sweep()
    assert own.at.names() == ["alive", "elsewhere"]


def test_a_unit_has_one_owner_at_a_time(two):
    first, second = two
    with first.working("unit"):
        assert not second.is_free("unit")
        with pytest.raises(ClaimTakenError, match="unit"), second.working("unit"):
            pass
    assert second.is_free("unit")
    with second.working("unit"):
        pass
    assert (first.done, second.done) == (1, 1)


def test_of_many_that_want_a_unit_at_once_one_gets_it(tmp_path):
    got, start = [], threading.Barrier(8)

    def want():
        own = Claims(Folder(tmp_path))
        start.wait()
        try:
            with own.working("unit"):
                got.append(1)
                time.sleep(0.3)
        except ClaimTakenError:
            pass
        own.close()

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [1]


def test_the_claim_of_a_process_that_is_gone_is_taken_over_at_once(tmp_path, two):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    owner = {"place": claims.place(), "process": gone.pid}
    (tmp_path / "unit").write_text(json.dumps(owner))
    with two[0].working("unit"):
        assert json.loads((tmp_path / "unit").read_text())["process"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_who_held_a_claim_to_be_abandoned_too_late_takes_no_fresh_one(tmp_path, two):
    """Two observers see the same dead owner; one has taken over before the other does."""
    path = tmp_path / "unit"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path.write_text(json.dumps({"place": claims.place(), "process": gone.pid}))
    dead = two[1]._abandoned_claim("unit")
    with two[0].working("unit"):
        mine = path.read_text()
        assert not two[1].at.buried("unit", dead)
        assert path.read_text() == mine
        with pytest.raises(ClaimTakenError), two[1].working("unit"):
            pass
    assert two[1].at.buried("unit", dead), "now it is gone"
    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_was_taken_over_is_not_given_back_by_who_had_it(tmp_path, two):
    with two[0].working("unit"):
        path = tmp_path / "unit"
        path.write_text('{"place": "another machine", "process": 1, "id": "theirs"}')
    assert "theirs" in path.read_text()


@pytest.mark.parametrize("text", ['{"place": "another machine", "process": 1}', "", "{"])
@pytest.mark.parametrize("skew", [-1e6, 0, 1e6])
def test_a_claim_of_another_machine_is_abandoned_a_lease_after_its_last_touch(
    tmp_path, two, text, skew, monkeypatch
):
    now = time.monotonic()
    path = tmp_path / "unit"
    path.write_text(text)
    os.utime(path, (time.time() + skew,) * 2)  # its machine's clock is wrong by so much
    seconds = iter((0, 0.12, 0.24, 0.39))
    monkeypatch.setattr(claims.time, "monotonic", lambda: now + next(seconds))
    assert not two[0].is_free("unit")
    os.utime(path, (time.time() + skew + 1,) * 2)
    assert not two[0].is_free("unit")
    assert not two[0].is_free("unit")  # touched within the lease
    with two[0].working("unit"):
        pass


def test_a_unit_whose_owner_was_stopped_and_holds_its_lock_is_done_without_it(
    tmp_path, monkeypatch
):
    """Schedulers stop processes (SIGSTOP): the claim lapses, the lock does not."""
    part = planted((20, 1, 1), documents=10).train
    judged = JudgedLists(part, CandidateLists.all_documents(part))
    recipe, store = registry.spec("ranknet@small", epochs="2"), Store(tmp_path)
    key = ranker_key(recipe, ALL_DOCUMENTS, part.fingerprint, part.fingerprint)
    checkpoint = store.workspace(key) / "checkpoint.safetensors"
    checkpoint.write_bytes(b"of the one that was stopped")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    own = Claims(Folder(tmp_path / "claims"))
    owner = json.dumps({"place": claims.place(), "process": gone.pid})
    assert Folder(tmp_path / "claims").create(str(key), owner)
    monkeypatch.setattr(claims, "STOPPED_OWNER", 0.1)
    token = claims.SHARING.set(own)
    try:
        with store.lock(key), store.lock(key, 0.0) as held:
            assert not held
            made = run_to_end(fit_or_load(recipe, judged, judged, ALL_DOCUMENTS, store))
    finally:
        claims.SHARING.reset(token)
        own.close()
    assert not made.cached
    assert store.find(key) is not None


def test_a_touch_does_not_write_a_claim_anew_that_is_given_back(two):
    """In an object store a touch reads and writes: what is removed in between would be there."""
    own, touching, over = two[0], threading.Event(), threading.Event()

    class Slow(Folder):
        def touch(self, name, text):
            touching.set()
            time.sleep(0.1)
            (self.path / name).write_text(text)
            over.set()

    own.at = Slow(own.at.path)
    with own.working("unit"):
        assert touching.wait(20)
    assert over.wait(20)
    assert own.at.names() == []


def test_a_claim_that_is_no_text_is_abandoned_like_others(tmp_path):
    (tmp_path / "unit").write_bytes(b"\xff\xfe\x00")
    own = Claims(Folder(tmp_path), lease=0.0)
    assert own.owner("unit") == "another worker"
    assert not own.is_free("unit")
    time.sleep(0.01)
    assert own.is_free("unit")


def test_a_claim_is_touched_as_long_as_its_owner_works(two, monkeypatch):
    monkeypatch.setattr(claims, "_is_alive", lambda _: True)
    first, second = two
    with first.working("unit"):
        end = time.monotonic() + 0.6  # three leases
        while time.monotonic() < end:
            assert not second.is_free("unit")
            time.sleep(0.05)


def test_a_worker_does_its_share_and_counts_what_is_inside_another_unit_once(tmp_path):
    told = []
    own = Claims(Folder(tmp_path), most=2, after_unit=lambda: told.append(1))
    with own.working("cell"), own.working("training within"):
        pass
    with pytest.raises(ZeroDivisionError), own.working("fails"):
        _ = 1 / 0
    assert (own.done, len(told)) == (1, 1)
    with own.working("second"):
        pass
    with pytest.raises(UnitsDone), own.working("third"):
        pass
    assert list(tmp_path.iterdir()) == []
    own.close()


def test_what_another_is_at_is_passed_over_and_told_in_the_end():
    done = []

    def work(name, *, taken=False):
        yield Progress(0, 1, "steps")
        if taken:
            raise ClaimTakenError(name)
        done.append(name)
        return name

    assert run_to_end(values_of([work("a"), work("b")])) == ["a", "b"]
    with pytest.raises(ClaimTakenError, match="c"):
        run_to_end(values_of([work("c", taken=True), work("d")]))
    assert done == ["a", "b", "d"]


def test_where_nothing_is_shared_nothing_is_claimed():
    with claims.claim_unit("unit"), claims.claim_unit("unit"):
        pass


def test_a_cell_that_another_worker_finished_meanwhile_is_not_done_again(tmp_path):
    """It is looked up, then its claim is won: in between it may have been done."""
    cell = Cell(Trial("dlcm", "benchmark", 0.0, 0), 0, "ab" * 32)
    theirs = ({"queries": 1}, {"values": np.ones((1, 1), np.float32)})

    class Records(Memory):
        looks = 0

        def get(self, digest):
            self.looks += 1
            if self.looks == 2:
                self.put(digest, *theirs)
            return super().get(digest)

    def compute(_cell):
        raise AssertionError("done again")
        yield

    own = Claims(Folder(tmp_path))
    token = claims.SHARING.set(own)
    try:
        assert run_to_end(run_cells([cell], Records(), compute)) == {cell.digest: theirs}
    finally:
        claims.SHARING.reset(token)
        own.close()
