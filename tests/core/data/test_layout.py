"""Which files are which parts, by names alone: folders, folds, LETOR's five parts, zip archives."""

import io
import json
import zipfile

import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue, layout
from shuffleproof.core.data.layout import Parts, folds_of
from shuffleproof.core.data.letor.stream import Limits
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def text(number: int) -> str:
    """Four queries of a part, which no other part has."""
    return "".join(
        f"{doc % 2} qid:{number}{query} 1:{doc % 3}.{number} 2:{query}\n"
        for query in range(4)
        for doc in (1, 2, 4)
    )


def numbered(folder, numbers=(1, 2, 3, 4, 5), letter="S"):
    folder.mkdir(parents=True)
    for number in numbers:
        (folder / f"{letter}{number}.txt").write_text(text(number))
    (folder / "ReadMe.pdf").write_text("nothing")
    return folder


def names(parts: Parts) -> list[list[str]]:
    return [[path.stem for path in part] for part in (parts.train, parts.valid, parts.test)]


def zipped(path, files: dict[str, str]):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def test_five_parts_make_the_folds_that_letor_publishes(tmp_path):
    folds = layout.find(numbered(tmp_path / "MQ2008"))
    assert [parts.name for parts in folds] == ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]
    assert names(folds[0]) == [["S1", "S2", "S3"], ["S4"], ["S5"]]
    assert names(folds[2]) == [["S3", "S4", "S5"], ["S1"], ["S2"]]
    assert folds[1].note == "LETOR's fold 2 of 5: S2, S3 and S4 train, S5 validates, S1 tests."
    assert names(layout.find(numbered(tmp_path / "agg", letter="A"))[0])[2] == ["A5"]


@pytest.mark.parametrize("numbers", [(1, 2, 3, 4), (2, 5), (1, 2, 3, 4, 6)])
def test_other_numbers_of_parts_are_refused(tmp_path, numbers):
    with pytest.raises(DataError, match="--train FILE"):
        layout.find(numbered(tmp_path / "few", numbers))


def test_files_that_name_their_parts_and_folders_of_folds_come_first(tmp_path):
    folder = numbered(tmp_path / "both")
    for part in ("train", "test"):
        (folder / f"{part}.txt").write_text(text(9))
    assert names(layout.find(folder)[0]) == [["train"], [], ["test"]]
    numbered(folder / "Fold7")
    with pytest.raises(DataError, match="no train and test files"):
        layout.find(folder)


def test_a_folder_that_stands_alone_is_entered_and_its_folds_have_names(tmp_path, store):
    numbered(tmp_path / "outer" / "inner")
    outer = str(tmp_path / "outer")
    assert folds_of(outer, store) == [f"{outer}/Fold{fold}" for fold in range(1, 6)]
    fold = catalogue.resolve(f"{outer}/Fold4", store)
    assert fold.train.query_ids[:5] == ("40", "41", "42", "43", "50")
    assert fold.test.query_ids == ("30", "31", "32", "33")
    assert catalogue.resolve(outer, store).test.query_ids[0] == "50"


def test_the_bare_name_of_several_folds_means_the_first_or_the_one_chosen(tmp_path, store):
    folder = numbered(tmp_path / "MQ2008")
    artefacts = run_to_end(catalogue.ingest(folder, "mq", store))
    assert list(store.names()) == [f"mq-fold{fold}" for fold in range(1, 6)]
    assert catalogue.find("mq", store).key == artefacts[0].key
    assert folds_of("mq", store) == list(store.names())
    assert artefacts[1].facts["notes"][0].startswith("LETOR's fold 2 of 5")
    (third,) = run_to_end(catalogue.ingest(folder, "third", store, fold=3))
    assert third.key == artefacts[2].key == catalogue.find("third", store).key
    with pytest.raises(ParameterError, match="1 to 5"):
        run_to_end(catalogue.ingest(folder, "sixth", store, fold=6))


def test_the_command_tells_of_the_folds_and_takes_no_name_over(tmp_path, capsys):
    folder, store = str(numbered(tmp_path / "MQ2008")), ("--store", str(tmp_path / "store"))
    assert main(["ingest", folder, "--name", "mq", *store]) == 0
    assert "5 folds are stored as data sets" in capsys.readouterr().out
    assert main(["ingest", folder, "--name", "mq", *store]) == 0, "the same content"
    capsys.readouterr()
    assert main(["ingest", f"{folder}/Fold2", "--name", "mq", *store]) == 2
    assert "the name mq is in use" in capsys.readouterr().err
    assert main(["doctor", "mq", "--json", *store]) == 3, "its parts have problems"
    told = capsys.readouterr()
    assert "mq has 5 folds (mq-fold1, mq-fold2" in told.err
    assert "this command uses mq-fold1" in told.err
    queries = {
        query
        for finding in json.loads(told.out)["findings"]
        if finding["part"] == "test"
        for query in finding["queries"]
    }
    assert queries == {"50", "51", "52", "53"}


@pytest.mark.parametrize("inside", ["", "MQ/", "a/b/"])
@pytest.mark.parametrize("kind", ["parts", "folds", "numbered"])
def test_an_archive_is_read_as_the_folder_in_it(tmp_path, store, inside, kind):
    files = {
        "parts": {"train.txt": text(1), "vali.txt": text(2), "test.txt": text(3)},
        "folds": {
            f"Fold{fold}/{part}.txt": text(3 * fold + place)
            for fold in (1, 2)
            for place, part in enumerate(("train", "vali", "test"))
        },
        "numbered": {f"S{number}.txt": text(number) for number in range(1, 6)},
    }[kind]
    folder = tmp_path / "folder" / inside
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    packed = {f"{inside}{name}": content for name, content in files.items()}
    path = zipped(tmp_path / "all.zip", packed | {"__MACOSX/._x": "x", ".DS_Store": "x"})
    from_archive = run_to_end(catalogue.ingest(path, "packed", store))
    from_folder = run_to_end(catalogue.ingest(tmp_path / "folder", "folder", store))
    assert [one.key for one in from_archive] == [one.key for one in from_folder]
    assert len(from_archive) == {"parts": 1, "folds": 2, "numbered": 5}[kind]
    assert "archive." not in from_archive[0].facts["name"]
    assert list((store.root / "incoming").iterdir()) == []


def test_what_is_wrong_in_an_archive_is_said_by_its_own_name(tmp_path, store):
    bad = {"train.txt": text(1), "test.txt": text(2) + "1 qid:9 1:x\n"}
    with pytest.raises(DataError, match=r"bad\.zip/test\.txt:13: a value that is not a number"):
        run_to_end(catalogue.ingest(zipped(tmp_path / "bad.zip", bad), "bad", store))
    unnamed = zipped(tmp_path / "unnamed.zip", {"a.txt": text(1), "b.txt": text(2)})
    with pytest.raises(DataError, match=r"2 files in the archive, no train and test.*a\.txt"):
        run_to_end(catalogue.ingest(unnamed, "unnamed", store))
    assert store.names() == {}
    assert list((store.root / "incoming").iterdir()) == []


def test_an_archive_of_one_file_is_split_as_the_file_would_be(tmp_path, store):
    path = zipped(tmp_path / "one.zip", {"some.txt": text(1) + text(2)})
    (artefact,) = run_to_end(catalogue.ingest(path, "one", store))
    assert [part["queries"] for part in artefact.facts["parts"].values()] == [5, 1, 2]


def test_archives_cannot_leave_their_folder_nor_grow_without_end(tmp_path):
    path = zipped(tmp_path / "out.zip", {"../../out.txt": "x", "/abs.txt": "y", "c\\d.txt": "z"})
    (tmp_path / "in").mkdir()
    catalogue.unpack_archive(path, tmp_path / "in")
    found = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*.txt"))
    assert found == ["in/abs.txt", "in/c/d.txt", "in/out.txt"]
    bomb = zipped(tmp_path / "bomb.zip", {f"{part}.txt": "0" * (40 << 20) for part in "ab"})
    (tmp_path / "full").mkdir()
    with pytest.raises(DataError, match="decompression bomb"):
        catalogue.unpack_archive(bomb, tmp_path / "full", Limits(ratio=10.0))


def test_broken_archives_say_so(tmp_path):
    whole = zipped(tmp_path / "whole.zip", {"a.txt": text(1) * 50, "b.txt": text(2) * 50})
    packed = bytearray(whole.read_bytes())
    packed[60:70] = b"0123456789"
    (tmp_path / "broken.zip").write_bytes(packed)
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="cannot be unpacked"):
        catalogue.unpack_archive(tmp_path / "broken.zip", tmp_path / "in")
    (tmp_path / "cut.zip").write_bytes(packed[:-40])
    assert catalogue.archive_members(tmp_path / "cut.zip") == []
    double = io.BytesIO()
    with zipfile.ZipFile(double, "w") as file:
        file.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", "2")
    (tmp_path / "double.zip").write_bytes(double.getvalue())
    (tmp_path / "again").mkdir()
    with pytest.raises(DataError, match="two files of one name"):
        catalogue.unpack_archive(tmp_path / "double.zip", tmp_path / "again")


@pytest.mark.parametrize(
    ("names", "refusal"),
    [
        (("train-00000-of-00002.txt", "train-00001-of-00002.txt", "test-1-of-1.txt"), ""),
        (("train-1-of-2.txt", "train-2-of-2.txt", "test.txt"), ""),
        (("train-1-of-2.txt", "train-2-of-2.txt", "test.txt", "_train", ".test.crc"), ""),
        (("train-00001-of-00002.txt", "test.txt"), "1 of the 2 files of train"),
        (("train-0-of-2.txt", "train-2-of-2.txt", "test.txt"), "several train files"),
        (("train-0-of-2.txt", "train-1-of-2.csv", "test.txt"), "several train files"),
        (("train-0-of-2.txt", "train.txt", "test.txt"), "several train files"),
    ],
)
def test_the_shards_of_a_file_are_its_part(tmp_path, names, refusal):
    for name in names:
        (tmp_path / name).touch()
    if refusal:
        with pytest.raises(DataError, match=refusal):
            layout.find(tmp_path)
        return
    (found,) = layout.find(tmp_path)
    assert [path.name for path in found.train] == list(names[:2])
    assert [path.name for path in found.test] == [names[2]]
