import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor import stream as letor_stream
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, LetorError
from tests import loading, places

DATA = places.DATA
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the real data folder")


def parsed(text: bytes | str, **options):
    raw = text.encode() if isinstance(text, str) else text
    return loading.read(io.BytesIO(raw), name="some.txt", **options)


def test_sparse_unordered_rows_comments_blank_lines_and_no_last_newline():
    text = (
        "# a header\n\n2 qid:7 3:0.5 1:-2e-1 #docid = GX1 inc = 1 prob = 0.2\r\n"
        "  \t\n0\tqid:7\t2:.25  \n1 qid:x 1:5. 3:+1E2 # docid = GX3"
    )
    data = parsed(text).dataset
    assert data.features.tolist() == [
        [np.float32(-0.2), 0, 0.5],
        [0, 0.25, 0],
        [5, 0, 100],
    ]
    assert data.labels.tolist() == [2, 0, 1]
    assert data.query_ids == ("7", "x")
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.feature_ids == (1, 2, 3)
    assert list(data.comments) == ["docid = GX1 inc = 1 prob = 0.2", "", " docid = GX3"]
    assert list(data.doc_ids) == ["GX1", "", "GX3"]


def test_columns_are_the_ids_that_occur_zero_based_too():
    data = parsed("1 qid:1 5:1 9:2\n1 qid:1 0:3\n1 qid:2 12:4 0:1\n").dataset
    assert data.feature_ids == (0, 5, 9, 12)
    assert data.features.tolist() == [[0, 1, 2, 0], [3, 0, 0, 0], [1, 0, 0, 4]]


def test_scattered_queries_are_gathered_in_file_order_and_reported():
    found = parsed("1 qid:b 1:1 #x\n2 qid:a 1:2 #y\n3 qid:b 1:3 #z\n4 qid:a 1:4\n5 qid:c 1:5 #w\n")
    assert found.dataset.query_ids == ("b", "a", "c")
    assert found.dataset.labels.tolist() == [1, 3, 2, 4, 5]
    assert found.dataset.features[:, 0].tolist() == [1, 3, 2, 4, 5]
    assert list(found.dataset.comments) == ["x", "z", "y", "", "w"]
    assert found.gathered == ("b", "a")
    assert "2 queries were scattered" in found.notes[0]


@pytest.mark.parametrize("block", [600, 4096])
def test_blocks_of_any_size_give_the_same(block):
    generator = np.random.default_rng(3)
    lines = [
        f"{i % 3} qid:{i // 7} "
        + " ".join(f"{j}:{v:.5g}" for j, v in enumerate(generator.random(i % 40), 1 + i % 5))
        + (f" # docid = d{i}" if i % 2 else "")
        for i in range(500)
    ]
    text = "\n".join(lines).encode()
    whole = parsed(text).dataset
    small = letor_stream.Limits(block_bytes=block, line_bytes=2000)
    assert parsed(text, limits=small).dataset.fingerprint == whole.fingerprint


def _packed(kind: str, text: bytes) -> bytes:
    if kind == "zip":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside.txt", text)
        return file.getvalue()
    packers = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    return packers[kind](text)


@pytest.mark.parametrize("kind", ["plain", "gz", "bz2", "xz", "zip"])
def test_compressed_files_are_told_by_content(kind, tmp_path):
    text = b"".join(b"%d qid:%d 1:%d\n" % (i % 2, i // 10, i) for i in range(20_000))
    path = tmp_path / "data.whatever"
    path.write_bytes(_packed(kind, text))
    data = loading.read(path).dataset
    assert data.documents == 20_000
    assert data.features[:, 0].tolist() == list(range(20_000))


def test_a_group_file_instead_of_qid(tmp_path):
    (tmp_path / "a.query").write_text("2\n1\n")
    text = "1 1:1\n0 1:2\n2 2:1\n"
    data = parsed(text, groups=tmp_path / "a.query").dataset
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.query_ids == ("1", "2")
    with pytest.raises(LetorError, match="add up to 4"):
        parsed(text, groups=io.BytesIO(b"2\n2\n"))
    with pytest.raises(LetorError, match=r"group file:2: .*positive integer"):
        parsed(text, groups=io.BytesIO(b"2\n-1\n"))
    with pytest.raises(LetorError, match="although a group file"):
        parsed("1 qid:1 1:1\n", groups=io.BytesIO(b"1\n"))


@pytest.mark.parametrize("beyond", ["NULL", "1.79769313486e+308"])
@pytest.mark.parametrize(
    ("policy", "filled"), [("zero", [0, 0]), ("mean", [2, 0]), ("largest", [3, 0])]
)
def test_missing_cells_and_istellas_sentinels_follow_the_policy(policy, filled, beyond):
    text = f"0 qid:1 1:1 2:{beyond}\n0 qid:1 1:{beyond} 2:null\n1 qid:1 1:3 2:nan\n"
    found = parsed(text, missing=policy)
    assert found.dataset.features[1].tolist() == filled
    assert (found.missing_cells, found.clipped_cells) == (4, 0)
    with pytest.raises(LetorError, match=r"some.txt:[12]: a NULL or NaN cell"):
        parsed(text)


def test_sentinels_beyond_float32_are_cut_and_counted():
    largest = np.finfo(np.float32).max
    texts = ["1.797e308", "1.79769313486232E+308", "-3.5e38", "1" + "0" * 300]
    cells = " ".join(f"{i + 1}:{text}" for i, text in enumerate(texts))
    found = parsed(f"0 qid:1 {cells}\n")
    assert found.dataset.features[0].tolist() == [largest, largest, -largest, largest]
    assert found.clipped_cells == 4
    assert "4 values were cut" in found.notes[0]


def assert_read_as_python_does(texts):
    cells = " ".join(f"{place + 1}:{text}" for place, text in enumerate(texts))
    row = parsed(f"0 qid:1 {cells}\n").dataset.features[0]
    assert row.tobytes() == np.array([np.float32(float(text)) for text in texts]).tobytes()


@given(st.lists(st.floats(-3.3e38, 3.3e38), min_size=1, max_size=40))
@settings(max_examples=60)
def test_numbers_are_rounded_as_python_and_numpy_do(values):
    notations = [f"{{:.{digits}{kind}}}" for digits in (0, 1, 6, 9, 16, 19, 25) for kind in "fge"]
    assert_read_as_python_does(
        [form.format(value) for form in [*notations, "{!r}"] for value in values]
    )


def test_numbers_on_and_beside_float32_midpoints_and_at_the_edges():
    generator = np.random.default_rng(5)
    low = generator.random(2000).astype(np.float32)
    midpoints = (low.astype(np.float64) + np.nextafter(low, np.float32(2)).astype(np.float64)) / 2
    texts = [f"{value:.40f}" for value in midpoints]
    texts += [f"{value:.40f}"[:-1] + "1" for value in midpoints]
    texts += [f"{np.nextafter(value, side):.30g}" for value in midpoints for side in (0.0, 1.0)]
    texts += [f"{value * 1e-30:.25g}" for value in midpoints]
    texts += "0 -0 -0.0 1e-50 1.4e-45 1e-400 00012.50 3.4028235e38 7e-46".split()  # noqa: SIM905
    assert_read_as_python_does(texts)


def test_numbers_of_every_number_of_digits_before_and_behind_the_dot():
    digits = "123456789" * 2
    wholes, fractions = range(18), (None, *range(18))
    assert_read_as_python_does(
        [
            sign + digits[:whole] + ("" if fraction is None else "." + digits[-fraction or 18 :])
            for sign in ("", "-", "+")
            for whole in wholes
            for fraction in fractions
            if whole or fraction
        ]
    )


def test_numbers_next_to_tabs_and_comments():
    rows = parsed("0 qid:1 1:0.5\t2:7 #c\n0 qid:1 1:1.25# d\r\n0 qid:1 1:3\r\n").dataset.features
    assert rows.tolist() == [[0.5, 7.0], [1.25, 0.0], [3.0, 0.0]]


def test_numbers_are_written_without_a_digit_too_many(tmp_path):
    texts = ["0", "7", "10", "99", "100", "123456", "0.5", "10.25", "-3", "-0.125"]
    line = "2 qid:a " + " ".join(f"{at}:{text}" for at, text in enumerate(texts, 1)) + "\n"
    letor_write.write(parsed(line).dataset, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text().split() == line.split()


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
NAMES = st.text(
    st.characters(min_codepoint=33, exclude_characters="#", exclude_categories=["Cs"]),
    min_size=1, max_size=8,
)  # fmt: skip
COMMENTS = st.text(
    st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=9
)


@st.composite
def data_set_fields(draw):
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    docs, features = sum(lengths), draw(st.integers(1, 5))
    ids = draw(st.sets(st.integers(0, 300), min_size=features, max_size=features))
    names = draw(st.lists(NAMES, min_size=len(lengths), max_size=len(lengths), unique=True))
    comments = draw(st.none() | st.lists(COMMENTS, min_size=docs, max_size=docs))
    documents = None
    if draw(st.booleans()):
        documents = [f"GX{row}" for row in range(docs)]
        comments = [f"docid = GX{row} {text}" for row, text in enumerate(comments or [""] * docs)]
    return {
        "features": draw(arrays.arrays(np.float32, (docs, features), elements=FLOATS)),
        "labels": draw(arrays.arrays(np.float32, docs, elements=FLOATS)),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "query_ids": tuple(names),
        "feature_ids": tuple(sorted(ids)),
        "doc_ids": documents,
        "comments": comments,
    }


@given(data_set_fields(), st.booleans())
@settings(max_examples=80)
def test_what_is_written_reads_back_bit_for_bit(tmp_path_factory, fields, packed):
    for name in ("doc_ids", "comments"):
        fields[name] = None if fields[name] is None else TextColumn.of(fields[name])
    data = RankingDataset(**fields)
    path = tmp_path_factory.mktemp("round") / ("a.txt.gz" if packed else "a.txt")
    letor_write.write(data, path)
    back = loading.read(path).dataset
    assert back.features.tobytes() == data.features.tobytes()
    assert back.labels.tobytes() == data.labels.tobytes()
    assert back.query_ids == data.query_ids
    assert back.feature_ids == data.feature_ids
    assert (back.comments is None) == (data.comments is None)
    assert back.fingerprint == data.fingerprint


def test_writing_refuses_what_a_line_cannot_hold(tmp_path):
    data = parsed("1 qid:1 1:1 #x\n").dataset
    for change in (
        {"query_ids": ("a b",)},
        {"query_ids": ("\ud800",)},
        {"comments": TextColumn.of(["two\nlines"])},
        {"features": np.array([[np.inf]], dtype=np.float32)},
    ):
        fields = {name: getattr(data, name) for name in data.__dataclass_fields__} | change
        with pytest.raises(DataError):
            letor_write.write(RankingDataset(**fields), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


@needs_data
@pytest.mark.parametrize(
    ("file", "queries", "docs", "features", "labels"),
    [
        ("mq2008/S1.txt.gz", 157, 2933, 46, 3),
        ("clueweb09_webis/Fold1.test.txt.gz", None, 5309, 42, 5),
        ("mslr_web30k_sample/fold1_test_sample.txt.gz", 18, 1900, 136, 5),
    ],
)
def test_published_files_equal_scikit_learn(file, queries, docs, features, labels):
    from sklearn.datasets import load_svmlight_file

    data = loading.read(DATA / file).dataset
    peer, peer_labels, peer_queries = load_svmlight_file(str(DATA / file), query_id=True)
    assert data.features.shape == (docs, features)
    assert (data.features == peer.toarray()[:, -features:].astype(np.float32)).all()
    assert data.labels.tolist() == peer_labels.tolist()
    assert np.repeat(data.query_ids, np.diff(data.offsets)).astype(int).tolist() == (
        peer_queries.tolist()
    )
    assert queries in {None, data.queries}
    assert len(np.unique(data.labels)) == labels


@needs_data
def test_published_null_cells():
    path = DATA / "mq2007_agg/A1.txt.gz"
    with pytest.raises(LetorError, match="NULL"):
        loading.read(path)
    found = loading.read(path, missing="largest")
    assert found.dataset.features.shape == (14013, 21)
    assert np.isfinite(found.dataset.features).all()
    assert found.missing_cells / found.dataset.features.size == pytest.approx(0.348, abs=0.02)


def test_every_malformed_line_up_to_the_twentieth_is_named_in_one_go(tmp_path):
    good = "1 qid:7 1:0.5 3:2 # x\n"
    wrong = {
        2: ("x qid:7 1:1", "the label is not a finite number"),
        3: ("1 1:1", "no qid"),
        5: ("1 qid:8 " + "1:0.25 " * 1 + "2:" + "7" * 200 + "x", r"not a number \('2:777"),
        6: ("1 qid:8 3:1 1:2 3:4", "the same feature twice"),
        7: ("1 qid:8 3:1 1:2 2:NULL", r"a NULL or NaN cell \('2:NULL'\)"),
        9: ("1 qid:9 1:1e999", r"infinite value.* \('1:1e999'\)"),
        11: ("1 qid:9 1:1 what", r"neither a cell nor # … \('what'\)"),
    }
    lines = [wrong[at][0] + "\n" if at in wrong else good for at in range(1, 13)]
    for block_bytes in (512, 1 << 20):  # the lines in one block, and in several
        limits = letor_stream.Limits(block_bytes=block_bytes, line_bytes=600)
        with pytest.raises(LetorError) as caught:
            parsed("".join(lines), limits=limits)
        assert [line.line_number for line in caught.value.lines] == list(wrong)
        for line, (_, words) in zip(caught.value.lines, wrong.values(), strict=True):
            assert re.search(words, line.finding), line.finding
        told = str(caught.value).splitlines()
        assert told[0].startswith("some.txt:2: the label is not a finite number")
        assert told[1] == "7 malformed lines; after this one:"
        assert told[-1].startswith("line 11: something after the cells")
    with pytest.raises(LetorError, match="The first 20 malformed lines") as caught:
        parsed(good + "1 qid:8 1:x\n" * 40)
    assert len(caught.value.lines) == 20
    with pytest.raises(LetorError, match="first 20 malformed lines"):
        parsed("1 qid:8 3:1 1:x\n" * 25)
    with pytest.raises(LetorError) as caught:
        parsed(good + "1 qid:8 1:x\n" + good)
    assert type(caught.value) is LetorError, "one line is told as ever"
