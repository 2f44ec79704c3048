"""Files that leave the app: each kind opens in what reads it, with the same numbers."""

import io
import json
import sys

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from shuffleproof.app import exports

FRAME = pd.DataFrame(
    {
        "ranker": ["dlcm", "set|rank_a&b", "`x` <b>"],
        "level": [0.0, 20.0, 80.0],
        "mean": [0.123456789, np.nan, 1e-5],
        "n": [5, 6, 7],
    }
)


@pytest.fixture
def figure():
    return go.Figure(go.Scatter(x=[1, 2], y=[3, 4], name="a"))


def test_csv_and_parquet_are_exact():
    for kind, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        content = io.BytesIO(exports.table_as(FRAME, kind))
        pd.testing.assert_frame_equal(read(content), FRAME, check_dtype=False)


def test_markdown_has_a_row_a_line_and_no_markup():
    lines = exports.table_as(FRAME, "md").decode().splitlines()
    assert lines[0] == "| ranker | level | mean | n |"
    assert lines[1] == "| :-- | --: | --: | --: |"
    assert lines[2] == "| dlcm | 0 | 0.123 | 5 |"
    assert lines[3] == r"| set\|rank\_a&b | 20 |  | 6 |"
    assert lines[4] == r"| \`x\` \<b\> | 80 | 1.0e-05 | 7 |"


def test_latex_escapes():
    text = exports.table_as(FRAME, "tex").decode()
    assert r"\begin{tabular}{lrrr}" in text
    assert r"set|rank\_a\&b & 20 &  & 6 \\" in text
    assert text.count(r"\\") == 4


def test_figure_html_is_self_contained(figure):
    page = exports.figure_as(figure, "html").decode()
    assert "<html>" in page
    assert 'src="http' not in page
    assert "plotly.js v" in page


def test_recipe_reads_back():
    file = exports.recipe_file({"kind": "x"}, {"data": "τ"}, "study")
    assert json.loads(file.make()) == {"recipe": {"kind": "x"}, "facts": {"data": "τ"}}
    assert (file.name, file.mime) == ("study.json", "application/json")


def test_files_make_what_their_label_says(figure):
    files = [*exports.figure_files(figure, "f"), *exports.table_files(FRAME, "t")]
    assert [file.name for file in files] == [
        *("f.html", "f.svg", "f.pdf", "f.png"), *("t.csv", "t.parquet", "t.tex", "t.md")
    ]  # fmt: skip
    assert files[4].make() == exports.table_as(FRAME, "csv")
    assert files[7].make() == exports.table_as(FRAME, "md")


def test_what_is_missing_is_said(figure, monkeypatch):
    monkeypatch.setattr(exports, "browser", lambda: None)
    if exports.importlib.util.find_spec("kaleido"):
        assert "Chromium" in exports.drawing_lacks()
    monkeypatch.setitem(sys.modules, "kaleido", None)
    monkeypatch.setattr(exports.importlib.util, "find_spec", lambda *_: None)
    files = exports.figure_files(figure, "f")
    assert [bool(file.missing) for file in files] == [False, True, True, True]
    with pytest.raises(exports.ExportError, match="pip install kaleido"):
        exports.figure_as(figure, "png")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(bool(exports.drawing_lacks()), reason="no kaleido or no browser")
@pytest.mark.parametrize(
    ("kind", "begins"), [("png", b"\x89PNG\r\n"), ("pdf", b"%PDF"), ("svg", b"<svg")]
)
def test_drawn_by_a_browser(figure, kind, begins):
    drawn = exports.figure_as(figure, kind)
    assert drawn.startswith(begins)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("../../etc/passwd", "_.._etc_passwd.html"),
        ('a"\r\nSet-Cookie: x=1', "a___Set-Cookie_ x=1.html"),
        ("feature:3@tuned", "feature_3@tuned.html"),
        ("dlcm#0123 τ", "dlcm#0123 τ.html"),
        ("C:\\x", "C__x.html"),
    ],
)
def test_the_name_of_a_file_is_no_path_and_no_header(stem, name):
    assert exports.figure_files(go.Figure(), stem)[0].name == name
