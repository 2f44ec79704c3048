"""Every malformed file gets its message, names its line, and leaves nothing behind."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest

from shuffleproof.core.data.letor import chunks as letor_chunks
from shuffleproof.core.data.letor import stream as letor_stream
from shuffleproof.core.errors import DataError
from tests import loading

GOOD = b"1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:0\n"
MANY = b"".join(
    b"%d qid:%d 1:%d.%06d\n" % (i % 2, i // 9, i, i * 7919 % 1000000) for i in range(9000)
)


def _zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return (
        data[:middle]
        + bytes(255 - byte for byte in data[middle : middle + 40])
        + data[middle + 40 :]
    )


MALFORMED_LINES = {
    "missing qid": (GOOD + b"1 1:0.5 2:1\n", 3, "no qid"),
    "empty qid": (GOOD + b"1 qid: 1:0.5\n", 3, "no qid"),
    "long qid": (GOOD + b"1 qid:" + b"9" * 300 + b" 1:0.5\n", 3, "query id of more than 255"),
    "label no number": (b"good qid:1 1:0.5\n", 1, "label is not a finite number"),
    "label missing": (GOOD + b"qid:1 1:0.5\n", 3, "label is not a finite number"),
    "label NaN": (GOOD + b"nan qid:1 1:0.5\n", 3, "label is not a finite number"),
    "label huge": (GOOD + b"1e39 qid:1 1:0.5\n", 3, "label is not a finite number"),
    "value no number": (GOOD + b"1 qid:1 1:0.5 2:abc\n", 3, "value that is not a number"),
    "value missing": (GOOD + b"1 qid:1 1:0.5 2: 3:1\n", 3, "value that is not a number"),
    "value with comma": (GOOD + b"1 qid:1 1:0,5\n", 3, "value that is not a number"),
    "value 1_000": (GOOD + b"1 qid:1 1:1_000\n", 3, "value that is not a number"),
    "value 1e": (GOOD + b"1 qid:1 1:1e\n", 3, "value that is not a number"),
    **{
        f"value {text}": (GOOD + b"1 qid:1 1:%s\n" % text.encode(), 3, "value that is not a number")
        for text in ("1..2", "1.2.3", "1-2", "--1", "1.-", ".", "-", "1\x01", "1:2")
    },
    "value hexadecimal": (GOOD + b"1 qid:1 1:0x1F\n", 3, "value that is not a number"),
    "1e400": (GOOD + b"1 qid:1 1:1e400\n", 3, "infinite value"),
    "1.8e308": (GOOD + b"1 qid:1 1:1.8e308\n", 3, "infinite value"),
    "inf": (GOOD + b"1 qid:1 1:inf\n", 3, "infinite value"),
    "-Infinity": (GOOD + b"1 qid:1 1:-Infinity\n", 3, "infinite value"),
    "NULL": (GOOD + b"1 qid:1 1:NULL\n", 3, "NULL or NaN"),
    "the same feature twice": (GOOD + b"1 qid:1 1:1 2:2 1:1\n", 3, "same feature twice"),
    "twice in a row": (GOOD + b"1 qid:1 2:1 2:2\n", 3, "same feature twice"),
    "no colon": (GOOD + b"1 qid:1 1:1 22 3:1\n", 3, "not feature:value"),
    "million feature ids": (GOOD + b"1 qid:1 1:1 1000000:2\n", 3, "feature id above 65,536"),
    "endless feature id": (GOOD + b"1 qid:1 123456789012:2\n", 3, "feature id above 65,536"),
    "negative feature id": (GOOD + b"1 qid:1 -3:2\n", 3, "after the cells"),
    "words behind cells": (GOOD + b"1 qid:1 1:1 docid = 3\n", 3, "after the cells"),
    "million characters": (GOOD + b"1 qid:1 1:" + b"1" * 1_000_000 + b"\n", 3, "more than 524,288"),
    "million letters": (b"x" * 1_000_000, 1, "more than 524,288"),
    "million of comment": (GOOD + b"1 qid:1 1:1 #" + b"x" * 1_000_000, 3, "more than 524,288"),
    "lone carriage returns": (GOOD.replace(b"\n", b"\r"), 1, "a carriage return that ends no"),
    "lone carriage returns behind #": (
        GOOD + b"1 qid:1 1:1 # a\r0 qid:2 1:1\r",
        3,
        "a carriage return that ends no",
    ),
    "lone carriage returns in a comment": (
        b"# a file\r" + GOOD.replace(b"\n", b"\r"),
        1,
        "a carriage return that ends no",
    ),
    "label beyond float32": (GOOD + b"3.4028236e38 qid:1 1:1\n", 3, "label is not a finite number"),
    "label on the edge": (
        GOOD + b"3.40282356779733661637539395458142568447e38 qid:1 1:1\n",
        3,
        "label is not a",
    ),
    "no text at all": (b"PDF-1.4 whatever\n", 1, "label is not a finite number"),
    "truncated": (GOOD + b"1 qid:1 1:0.5 2", 3, "not feature:value"),
    "latin-1": (GOOD + "1 qid:1 1:0.5 überall\n".encode("latin-1"), 3, "after the cells"),
    "UTF-16 without mark": ("1 qid:1 1:1\n".encode("utf-16-le"), None, "zero byte"),
}

DAMAGED = {
    "zero documents": (b"", "no documents"),
    "comments only": (b"# nothing\n\n  \n", "no documents"),
    "binary": (bytes(range(256)) * 50, "binary data"),
    "UTF-16": ("1 qid:1 1:1\n".encode("utf-16"), "UTF-16"),
    "truncated gzip": (gzip.compress(MANY)[:-4000], "damaged or incomplete"),
    "gzip cut in its head": (gzip.compress(MANY)[:5], "damaged or incomplete"),
    "broken gzip": (_flipped(gzip.compress(MANY)), "damaged or incomplete"),
    "truncated bzip2": (bz2.compress(MANY)[:-4000], "damaged or incomplete"),
    "broken bzip2": (_flipped(bz2.compress(MANY)), "damaged or incomplete"),
    "truncated xz": (lzma.compress(MANY)[:-4000], "damaged or incomplete"),
    "broken xz": (_flipped(lzma.compress(MANY)), "damaged or incomplete"),
    "truncated zip": (_zip(a=MANY)[:-4000], "damaged or incomplete"),
    "broken zip": (_flipped(_zip(a=MANY)), "damaged or incomplete"),
    "gzip in a zip": (_zip(inner=gzip.compress(GOOD)), "binary data"),
    "two files in a zip": (_zip(a=GOOD, b=GOOD), "2 files in the archive"),
    "empty zip": (_zip(a=b""), "no documents"),
}


@pytest.mark.parametrize("case", MALFORMED_LINES)
def test_malformed_lines_are_named(case, tmp_path):
    text, line, message = MALFORMED_LINES[case]
    path = tmp_path / "data.txt"
    path.write_bytes(text)
    with pytest.raises(DataError) as caught:
        loading.read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()
    assert [file.name for file in tmp_path.iterdir()] == ["data.txt"]


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_say_so(case, tmp_path):
    data, message = DAMAGED[case]
    path = tmp_path / "data.txt.gz"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        loading.read(path)
    assert str(path) in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["data.txt.gz"]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_decompression_bombs_are_stopped(pack):
    bomb = pack(GOOD) + pack(b"0 qid:1 1:0\n" * (1 << 16)) * 100
    with pytest.raises(DataError, match="decompression bomb"):
        loading.read(io.BytesIO(bomb), name="bomb", limits=letor_stream.Limits(ratio=100.0))


def test_text_and_matrix_are_bounded():
    with pytest.raises(DataError, match="more than 1,000 bytes of text"):
        loading.read(io.BytesIO(MANY), limits=letor_stream.Limits(decoded_bytes=1000))
    plain = letor_stream.DecodedFile(io.BytesIO(), int, 1)
    letor_stream.check_size(plain, 274_877_906_944, "x", letor_stream.Limits())
    with pytest.raises(DataError, match="more than 274,877,906,944 bytes of text"):
        letor_stream.check_size(plain, 274_877_906_945, "x", letor_stream.Limits())
    wide = MANY + b"1 qid:x 60000:1 " + b" ".join(b"%d:1" % one for one in range(2, 20000))
    limits = letor_stream.Limits(matrix_bytes=1 << 28, ratio=1e9)
    with pytest.raises(DataError, match=r"the limit on a table\..* split the file") as caught:
        loading.read(io.BytesIO(wide), limits=limits)
    assert "20,000 feature columns for 9,001 documents" in str(caught.value)


@pytest.mark.parametrize("missing", ["nowhere.txt", "."])
def test_paths_that_are_no_files(missing, tmp_path):
    with pytest.raises(DataError, match=r"Check the path"):
        loading.read(tmp_path / missing)


def test_an_utf8_mark_is_skipped():
    assert loading.read(io.BytesIO(b"\xef\xbb\xbf" + GOOD)).dataset.documents == 2


def test_nearly_empty_rows_are_refused_before_they_fill_the_memory(monkeypatch):
    wide = b"1 qid:1 " + b" ".join(b"%d:1" % one for one in range(1, 50_000)) + b"\n"
    hostile = wide + b"1 qid:1 1:1\n" * 20_000
    with pytest.raises(DataError, match=r"wide: 49,999 .* 250 times the text read"):
        loading.read(io.BytesIO(hostile), name="wide")
    monkeypatch.setattr(letor_chunks, "available", lambda: 1 << 20)
    with pytest.raises(DataError, match="80 % of the memory that this machine has left"):
        loading.read(io.BytesIO(MANY * 10 + wide))


@pytest.mark.parametrize(
    ("written", "read", "cut"),
    [
        ("3.4028235e38", 1, 0),  # FLT_MAX as it is commonly printed
        ("3.4028236e38", 1, 1),
        ("-3.4028236e38", -1, 1),
        ("3.40282356779733661637539395458142568447e38", 1, 1),  # half a step: even is infinite
        ("3.40282356779733661637539395458142568446e38", 1, 1),  # float64 says the same
        ("3.402823567797336e38", 1, 0),
    ],
)
def test_values_on_the_edge_of_float32_are_its_largest(written, read, cut):
    found = loading.read(io.BytesIO(b"1 qid:1 1:%s\n" % written.encode()))
    assert found.dataset.features[0, 0] == read * np.finfo(np.float32).max
    assert found.clipped_cells == cut


def test_what_is_free_is_the_least_of_the_machine_and_its_group(tmp_path, monkeypatch):
    machine, group, used = (tmp_path / name for name in ("meminfo", "max", "current"))
    for name, path in (("MEMORY", machine), ("GROUP", group), ("GROUP_USED", used)):
        monkeypatch.setattr(letor_chunks, name, path)
    monkeypatch.setattr(letor_chunks.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 7}.get)
    assert letor_chunks.available() == 4096 * 7  # where the system says nothing
    machine.write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:   3000 kB\n")
    assert letor_chunks.available() == 3000 * 1024
    group.write_text("max\n")
    assert letor_chunks.available() == 3000 * 1024
    group.write_text("5000000\n")
    used.write_text("4000000\n")
    assert letor_chunks.available() == 1_000_000
    used.write_text("6000000\n")
    assert letor_chunks.available() == 0
