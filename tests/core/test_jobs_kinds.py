"""The table of what can be handed in, and one real training killed on its way."""

import hashlib
import io
import os
import subprocess
import sys
import time

import pytest
import torch

from shuffleproof.core.errors import ArtefactError, DataError, UnknownNameError, UsageError
from shuffleproof.core.execution.jobs import HOME, places
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.jobs import PROGRAM, jobs_of, start_waiting, submit
from shuffleproof.core.library import uploads
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from tests.job_watch import kill, processes, until

FIGURE = {"data": "sample", "rankers": ["dlcm"], "perturbations": [["transpositions", 5]]}


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    kill(processes(tmp_path))


@pytest.fixture
def store(folder):
    return Store(folder / "store")


def test_what_is_left_out_is_the_same_as_its_default(store):
    short = submit(store, "initial-ranking", FIGURE)
    assert submit(store, "initial-ranking", FIGURE | {"draws": 10, "preset": "small"}) == short
    assert submit(store, "initial-ranking", FIGURE | {"draws": 11}).id != short.id


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("train", {"data": "sample"}),
        ("train", {"data": "sample", "ranker": "dlcm", "module": "os"}),
        ("train", {"data": "sample", "ranker": "dlcm", "store": "/"}),
        ("train", {"data": "sample", "ranker": "dlcm", "changes": {"epochs": "-1"}}),
        ("train", {"data": "sample", "ranker": "no-such-ranker"}),
        ("invariance", {"data": "sample", "rankers": ["dlcm"], "seed": float("inf")}),
        ("invariance", {"data": "sample", "rankers": ["dlcm@no-such-preset"]}),
        ("initial-ranking", FIGURE | {"perturbations": [["no-such-family", 1]]}),
        ("initial-ranking", FIGURE | {"measures": ["no-such-measure"]}),
    ],
)
def test_impossible_parameters_are_refused_before_anything_runs(store, kind, parameters):
    with pytest.raises(UsageError):
        submit(store, kind, parameters)
    assert jobs_of(store).list() == ()


@pytest.mark.parametrize("kind", ["os:system", "shuffleproof.core.jobs:main", ""])
def test_nothing_but_the_table_can_be_handed_in(store, kind):
    with pytest.raises(UnknownNameError):
        submit(store, kind, {"data": "sample"})
    with pytest.raises(UnknownNameError):
        jobs_of(store).submit(kind, {})


@pytest.mark.parametrize("ranker", ["os:system", "os:system@small"])
def test_no_function_can_be_handed_in_as_a_ranker(store, ranker):
    for kind, more in (
        ("train", {"ranker": ranker}),
        ("invariance", {"rankers": [ranker]}),
        ("initial-ranking", {"rankers": [ranker], "perturbations": [["shuffle", 1.0]]}),
    ):
        with pytest.raises(UnknownNameError):
            submit(store, kind, {"data": "sample"} | more)


def test_a_name_means_what_it_meant_when_the_work_was_handed_in(store):
    def named(content):
        key = key_of("data", {"content": content})
        store.add(key, {}, lambda folder: (folder / "x").write_text(content) and None)
        store.set_name("mine", key)

    named("first")
    first = submit(store, "train", {"data": "mine", "ranker": "dlcm"})
    named("second")
    second = submit(store, "train", {"data": "mine", "ranker": "dlcm"})
    assert first.id != second.id
    assert first.parameters["pinned"] != second.parameters["pinned"]


@pytest.mark.parametrize("data", [str(HOME / "sample_data"), "../..", "", "data-0123"])
def test_only_stored_data_can_be_named(store, data):
    with pytest.raises(ArtefactError):
        submit(store, "train", {"data": data, "ranker": "dlcm"})


LETOR = b"".join(
    b"%d qid:%d 1:%d 2:0.%d\n" % (row % 3, row // 6, row, row * 7 % 10) for row in range(60)
)


def _ingested(store, *files, **more):
    upload = uploads.spool(store, [(name, io.BytesIO(text)) for name, text in files])
    job = submit(store, "ingest", {"upload": upload, "name": "mine"} | more)
    start_waiting(store)
    until(lambda: jobs_of(store).get(job.id).ended, 60)
    return jobs_of(store).get(job.id)


def test_an_upload_becomes_a_data_set_and_is_read_again_when_that_was_removed(store):
    job = _ingested(store, ("mine.txt", LETOR))
    assert job.state == "done", job.reason
    artefact = store.resolve("mine", "data")
    assert str(artefact.key) == job.result["artefact"][: len(str(artefact.key))]
    assert artefact.facts["documents"] == 60
    assert submit(store, "ingest", job.parameters) == job
    assert submit(store, "train", {"data": "mine", "ranker": "dlcm"}).state == "waiting"
    store.remove(artefact.key)
    assert submit(store, "ingest", job.parameters).state == "waiting"


def test_a_malformed_upload_fails_with_file_and_line_and_without_our_folders(store):
    files = [("train.txt", LETOR), ("test.txt", LETOR + b"2 qid:99 1:x\n")]
    parts = {"train": ["train.txt"], "test": ["../test.txt"]}
    job = _ingested(store, *files, files=parts)
    assert job.state == "failed"
    assert job.reason.startswith("test.txt:61: ")
    assert "Traceback" not in jobs_of(store).log(job.id)
    assert list(store.artefacts("data")) == []


def test_an_upload_is_called_by_a_digest_that_waiting_jobs_know_it_by(store):
    """The first 32 digits of SHA-256 over names and digests, as versions before wrote them."""
    digests = [hashlib.sha256(content).hexdigest() for content in (b"1", b"2")]
    text = f"a/b.txt\0{digests[0]}\0c\0{digests[1]}\0"
    upload = uploads.spool(store, [("c", io.BytesIO(b"2")), ("a/b.txt", io.BytesIO(b"1"))])
    assert upload == hashlib.sha256(text.encode()).hexdigest()[:32]
    for other in (upload[:-1], f"{upload}0"):
        (store.root / "uploads" / other).mkdir()
        with pytest.raises(DataError):
            uploads.folder_of(store, other)
    assert uploads.folder_of(store, upload) == store.root / "uploads" / upload


def test_the_same_files_are_one_upload_and_old_ones_are_cleared(store):
    first = uploads.spool(store, [("a/b.txt", io.BytesIO(b"1")), ("c", io.BytesIO(b"2"))])
    assert uploads.spool(store, [("c", io.BytesIO(b"2")), ("a/b.txt", io.BytesIO(b"1"))]) == first
    assert uploads.spool(store, [("c", io.BytesIO(b"1")), ("a/b.txt", io.BytesIO(b"2"))]) != first
    kept = uploads.spool(store, [("d", io.BytesIO(b"3"))])
    submit(store, "ingest", {"upload": kept, "name": "mine"})
    for upload in (store.root / "uploads").iterdir():
        os.utime(upload, (time.time() - 3700,) * 2)  # more than an hour
    new = uploads.spool(store, [("e", io.BytesIO(b"4"))])
    os.utime(store.root / "uploads" / new, (time.time() - 3500,) * 2)
    uploads.clear(store, jobs_of(store))
    assert {upload.name for upload in (store.root / "uploads").iterdir()} == {kept, new}
    with pytest.raises(DataError, match="Upload them again"):
        uploads.folder_of(store, first)
    with pytest.raises(DataError):
        uploads.folder_of(store, "..")


@pytest.mark.parametrize("files", [[], [("a", b"1"), ("./a", b"2")]])
def test_no_file_and_two_of_a_name_are_refused(store, files):
    with pytest.raises(DataError):
        uploads.spool(store, [(name, io.BytesIO(text)) for name, text in files])
    assert list((store.root / "uploads").iterdir()) == []


def test_the_table_loads_neither_torch_nor_lightgbm():
    script = "import sys, shuffleproof.core.jobs; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, cwd=HOME
    )
    assert KINDS
    assert not set(answer.stdout.decode().split()) & {"torch", "lightgbm", "numba", "pandas"}


@pytest.mark.slow
def test_a_real_training_that_was_killed_ends_as_if_it_had_not_been(folder):
    wanted = {"data": "sample", "ranker": "dlcm", "changes": {"epochs": "10"}}
    wanted["lists"] = {"initial": ["feature:1"]}
    store = Store(folder / "killed")
    job = submit(store, "train", wanted)
    start_waiting(store)
    for turn in range(2):
        until(lambda turn=turn: _epochs(store, job) > 2 * turn, 60)
        _kill(store)
    until(lambda: jobs_of(store).get(job.id).ended, 60)
    ended = jobs_of(store).get(job.id)
    assert (ended.state, ended.attempts) == ("done", 3), ended.reason
    alone, threads = Store(folder / "alone"), torch.get_num_threads()
    as_in_its_slot = int(places()[0].environment["OMP_NUM_THREADS"])  # more add up otherwise
    torch.set_num_threads(as_in_its_slot)
    try:
        own = run_to_end(KINDS["train"](alone, **wanted))
    finally:
        torch.set_num_threads(threads)
    assert _weights(alone, own) == _weights(store, ended.result)


def _weights(store, result):
    artefact = store.resolve(result["artefact"])
    files = [path for path in artefact.path.iterdir() if path.name != "manifest.json"]
    return {path.name: path.read_bytes() for path in files}


def _epochs(store, job):
    progress = jobs_of(store).get(job.id).progress
    return progress["done"] if progress and progress["unit"] == "epochs" else 0


def _kill(store):
    before = jobs_of(store).list("running")[0].attempts
    kill(processes(store.root, PROGRAM[-1]))

    def is_begun_again():
        start_waiting(store)
        return any(job.attempts > before for job in jobs_of(store).list("running"))

    until(is_begun_again)
