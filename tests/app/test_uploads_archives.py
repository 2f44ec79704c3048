"""Uploads of whole collections through the job that reads them: LETOR's parts, zip archives."""

import io
import zipfile

import pytest

from shuffleproof.app.uploads import FOLDER, PARTS, UNSORTED, Draft, ReadingOptions
from shuffleproof.core import jobs
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end

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


def read_in(store, job):
    """Do the job as a worker would."""
    return run_to_end(jobs.KINDS[job.kind](store, **job.parameters))


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
