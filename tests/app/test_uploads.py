"""Uploads: drafts on the disk; hostile files, folders and archives that the job reads."""

import gc
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app import uploads
from shuffleproof.app.uploads import FOLDER, PARTS, UNSORTED, Draft, ReadingOptions
from shuffleproof.core import jobs
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests.core.data.test_hostile_files import DAMAGED, MALFORMED_LINES

LETOR = b"".join(
    b"%d qid:%d 1:0.%d 2:%d #docid = D%d\n" % (row % 3, row // 4, row, row % 7, row)
    for row in range(60)
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: False)
    return Store(tmp_path / "store")


@pytest.fixture
def draft(store):
    draft = Draft(store)
    yield draft
    draft.clear()


def folders(store):
    return sorted(path.name for path in (store.root / "uploads").iterdir())


def read_in(store, job):
    """Do the job as a worker would."""
    return run_to_end(jobs.KINDS[job.kind](store, **job.parameters))


def test_files_are_on_the_disk_at_once_and_gone_with_the_draft(store):
    draft = Draft(store)
    spooled = draft.add("train", "a.txt", io.BytesIO(LETOR))
    assert (spooled.part, spooled.name, spooled.bytes) == ("train", "a.txt", len(LETOR))
    assert (draft.folder / "train" / "a.txt").read_bytes() == LETOR
    del draft
    gc.collect()
    assert folders(store) == []


def test_a_session_that_ends_takes_its_files_along_and_others_stay(store):
    first, second = Draft(store), Draft(store)
    for draft in (first, second):
        draft.add("test", "b", io.BytesIO(b"x"))
    first.clear()
    assert first.over
    assert not second.over
    assert folders(store) == [second.folder.name]


@pytest.mark.parametrize(
    "name", ["../../escape.txt", "/etc/passwd", "..\\..\\win.txt", "a/../../b", "\0", "", "." * 300]
)
@pytest.mark.parametrize("part", ["train", FOLDER])
def test_no_name_leaves_the_draft(draft, name, part):
    draft.add(part, name, io.BytesIO(b"x"))
    written = [path for path in draft.store.root.rglob("*") if path.is_file()]
    assert len(written) == 1
    assert written[0].resolve().is_relative_to(draft.folder.resolve())


def test_the_same_name_twice_is_refused_and_the_first_kept(draft):
    draft.add("train", "x/a.txt", io.BytesIO(b"first"))
    with pytest.raises(DataError, match="there already"):
        draft.add("train", "a.txt", io.BytesIO(b"second"))
    assert [file.bytes for file in draft.files()] == [5]


def test_a_draft_is_bounded_and_what_did_not_fit_is_gone(draft, monkeypatch):
    monkeypatch.setattr(uploads, "LARGEST", 100)
    draft.add("train", "a", io.BytesIO(bytes(60)))
    with pytest.raises(DataError, match="no room for more than 40 bytes"):
        draft.add("train", "b", io.BytesIO(bytes(60)))
    assert [file.name for file in draft.files()] == ["a"]
    monkeypatch.setattr(uploads, "SPARE", 1 << 60)
    with pytest.raises(DataError, match="free some disk space"):
        draft.add("train", "c", io.BytesIO(b"x"))


class Breaking(io.BytesIO):
    def read(self, _size=-1):
        raise OSError(28, "No space left on device")


def test_a_write_that_breaks_leaves_nothing(draft):
    with pytest.raises(OSError, match="No space"):
        draft.add("train", "a", Breaking(b"x"))
    assert draft.files() == []


def test_parts_become_a_data_set_and_the_form_keeps_its_files(store, draft):
    for part in PARTS:
        draft.add(part, "same name.txt", io.BytesIO(LETOR))
    job = draft.submitted(PARTS, "mine", ReadingOptions())
    assert len(draft.files()) == 3
    read_in(store, job)
    assert "mine" in store.names()
    assert {artefact.key.kind for artefact in store.artefacts()} == {"data", "examination"}


def test_one_file_is_split_as_told_and_its_group_file_counts(store, draft):
    draft.add(UNSORTED, "rank.train", io.BytesIO(LETOR.replace(b" qid:", b" 9:")))
    draft.add(UNSORTED, "rank.train.query", io.BytesIO(b"4\n" * 15))
    reading = ReadingOptions(fractions=(0.4, 0.2, 0.4), seed=3)
    read_in(store, draft.submitted(PARTS, "split", reading))
    (artefact,) = store.artefacts("data")
    assert [part["queries"] for part in artefact.facts["parts"].values()] == [6, 3, 6]
    assert artefact.recipe["seed"] == 3


def test_group_files_may_lie_beside_the_files_of_parts(store, draft):
    for part in PARTS:
        draft.add(part, f"{part}.txt", io.BytesIO(LETOR.replace(b" qid:", b" 9:")))
        draft.add(part, f"{part}.txt.query", io.BytesIO(b"20\n40\n"))
    read_in(store, draft.submitted(PARTS, "groups", ReadingOptions()))
    (artefact,) = store.artefacts("data")
    assert artefact.facts["queries"] == 6


def test_a_folder_of_folds_becomes_a_data_set_each(store, draft):
    for fold in (1, 2):
        for part in ("train", "vali", "test"):
            text = LETOR.replace(b"qid:", b"qid:%d" % fold)
            draft.add(FOLDER, f"mine/Fold{fold}/{part}.txt", io.BytesIO(text))
    read_in(store, draft.submitted((FOLDER,), "folds", ReadingOptions()))
    assert list(store.names()) == ["folds-fold1", "folds-fold2"]


def test_an_ended_ingestion_is_discarded_unless_another_job_needs_its_files(store, draft):
    draft.add(UNSORTED, "a.txt", io.BytesIO(LETOR))
    first = draft.submitted(PARTS, "one", ReadingOptions())
    second = draft.submitted(PARTS, "two", ReadingOptions())
    assert first.parameters["upload"] == second.parameters["upload"]
    known = jobs.jobs_of(store)
    uploads.discard(store, first)
    uploads.discard(store, known.cancel(first.id))
    known.cancel(second.id)
    uploads.discard(store, known.get(first.id))
    assert len(folders(store)) == 2, "the draft and the upload: the second may be tried again"
    known.forget(first.id)
    assert uploads.has_stored_files(store, known.get(second.id))
    uploads.discard(store, known.get(second.id))
    assert folders(store) == [draft.folder.name]
    assert not uploads.has_stored_files(store, known.get(second.id))
    uploads.discard(store, known.get(second.id))


def test_work_that_ended_runs_again_when_it_is_handed_in_again(store, draft):
    draft.add(UNSORTED, "a.txt", io.BytesIO(LETOR))
    job = draft.submitted(PARTS, "one", ReadingOptions())
    jobs.jobs_of(store).cancel(job.id)
    assert draft.submitted(PARTS, "one", ReadingOptions()).state == "waiting"


HOSTILE = {name: case[0] for name, case in MALFORMED_LINES.items()}
HOSTILE |= {name: case[0] for name, case in DAMAGED.items()}


def test_hostile_uploads_give_a_sentence_and_leave_nothing(store):
    for case, text in HOSTILE.items():
        draft = Draft(store)
        draft.add(UNSORTED, "hostile.txt", io.BytesIO(text))
        job = draft.submitted(PARTS, "hostile", ReadingOptions())
        with pytest.raises(ShuffleproofError) as caught:
            read_in(store, job)
        said = str(caught.value)
        assert said.startswith("hostile.txt"), case
        assert said.isprintable(), case
        uploads.discard(store, jobs.jobs_of(store).cancel(job.id))
        draft.clear()
    assert list(store.artefacts()) == []
    assert store.names() == {}
    assert folders(store) == []


def test_an_empty_cell_of_a_table_of_parts_is_told_by_its_row_unless_it_is_filled(draft):
    table = pd.DataFrame({"part": ["train", "test"], "qid": [1, 2], "label": 1, "x": [0.5, None]})
    file = draft.add("train", "all.parquet", io.BytesIO(table.to_parquet()))
    assert "all.parquet: row 2 of column x is nan" in draft.fault(file, "error")
    assert draft.fault(file, "zero") == ""


def test_a_table_of_other_column_names_is_read_by_the_names_of_the_form(store, draft):
    table = pd.DataFrame({"session": np.arange(60) // 4, "target": np.arange(60) % 3, "x": 0.5})
    file = draft.add(UNSORTED, "t.parquet", io.BytesIO(table.to_parquet()))
    columns = "query=session,label=target"
    assert "no column for the query" in draft.fault(file, "error")
    assert "session_id" in draft.fault(file, "error", "query=session_id,label=target")
    assert "relevant" in draft.fault(file, "error", "relevant=target")
    assert draft.fault(file, "error", columns) == ""
    read_in(store, draft.submitted(PARTS, "mine", ReadingOptions(columns=columns)))
    (artefact,) = store.artefacts("data")
    assert (artefact.facts["queries"], artefact.facts["features"]) == (15, 1)


def numbered(number):
    return LETOR.replace(b"qid:", b"qid:%d" % number)


def test_letors_five_parts_are_recognised_in_a_folder_and_in_an_archive(store, draft):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(1, 6):
            draft.add(FOLDER, f"MQ2008/S{number}.txt", io.BytesIO(numbered(number)))
            archive.writestr(f"MQ2008/S{number}.txt", numbered(number))
    draft.add(UNSORTED, "MQ2008.zip", io.BytesIO(packed.getvalue()))
    result = read_in(store, draft.submitted((FOLDER,), "folder", ReadingOptions()))
    assert len(result["artefacts"]) == 5
    again = read_in(store, draft.submitted(PARTS, "zip", ReadingOptions()))
    assert again["artefacts"] == result["artefacts"]
    assert list(store.names())[-1] == "zip-fold5"


def test_what_is_wrong_in_an_archive_is_told_without_our_folders(store, draft):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.txt", LETOR)
        archive.writestr("test.txt", LETOR + b"1 qid:9 1:x\n")
    draft.add(UNSORTED, "mine.zip", io.BytesIO(packed.getvalue()))
    with pytest.raises(ShuffleproofError) as caught:
        read_in(store, draft.submitted(PARTS, "mine", ReadingOptions()))
    assert str(caught.value).startswith("mine.zip/test.txt:61: a value that is not a number")
    assert store.names() == {}
