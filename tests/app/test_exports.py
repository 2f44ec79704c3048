"""Files that leave the app: each kind opens in what reads it, with the same numbers."""

import io
import re
import struct

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from shuffleproof.app import exports
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.facade.result import Result
from shuffleproof.core.studies import table_text, tables
from shuffleproof.core.studies.figure_size import WIDTHS
from tests import places

FRAME = pd.DataFrame(
    {
        "ranker": ["dlcm", "set|rank_a&b", "`x` <b>"],
        "level": [0.0, 20.0, 80.0],
        "mean": [0.123456789, np.nan, -1e-5],
        "n": [5, 6, 7000],
    }
)
COLUMNS = (
    tables.RANKER,
    tables.Column("level", "τ to original", tables.LEVEL),
    tables.Column("mean", "a_b", tables.CHANGE),
    tables.QUERIES,
)
TABLE = tables.Table(FRAME, COLUMNS, "What 5 % mean", ["a note"], ["x", "x", "y_z"])


@pytest.fixture
def figure():
    return go.Figure(go.Scatter(x=[1, 2], y=[3, 4], name="a"))


def test_csv_parquet_and_json_are_exact():
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}
    for ending, read in readers.items():
        content = io.BytesIO(table_text.table_bytes(TABLE, ending))
        exact = FRAME if ending != "json" else FRAME.assign(mean=FRAME["mean"].round(10))
        pd.testing.assert_frame_equal(read(content), exact, check_dtype=False)


def test_markdown_has_a_row_a_line_and_no_markup():
    lines = table_text.table_bytes(TABLE, "md").decode().splitlines()
    assert lines == [
        r"| Ranker | τ to original | a\_b | N |", "| :-- | --: | --: | --: |", "| x: |  |  |  |",
        "| DLCM | 0 | +0.123 | 5 |", r"| set\|rank\_a&b | 20 | – | 6 |", r"| y\_z: |  |  |  |",
        r"| \`x\` \<b\> | 80 | 0.000 | 7,000 |", "", "a note  ",
    ]  # fmt: skip


def test_latex_is_booktabs_and_escapes():
    assert table_text.table_bytes(TABLE, "tex", 4).decode().splitlines() == [
        r"\begin{table}", r"\centering", r"\caption{What 5 \% mean}",
        r"\label{tab:what-5-mean}", r"\begin{tabular}{lSSS}", r"\toprule",
        r"{Ranker} & {$\tau$ to original} & {a\_b} & {N} \\", r"\midrule",
        r"x: &  &  &  \\",
        r"DLCM & 0 & +0.1235 & 5 \\", r"set|rank\_a\&b & 20 & {--} & 6 \\",
        r"y\_z: &  &  &  \\", r"`x` <b> & 80 & 0.0000 & 7000 \\",
        r"\bottomrule", r"\end{tabular}", r"\par\smallskip{\footnotesize a note}",
        r"\end{table}",
    ]  # fmt: skip


def test_html_escapes_and_the_terminal_aligns():
    page = table_text.html(TABLE)
    assert "<td>`x` &lt;b&gt;</td><td>80</td><td>0.000</td><td>7,000</td>" in page
    assert table_text.terminal(TABLE).splitlines() == [
        "Ranker        τ to original     a_b      N", "x:",
        "dlcm                      0  +0.123      5",
        "set|rank_a&b             20       –      6", "y_z:",
        "`x` <b>                  80   0.000  7,000", "a note",
    ]  # fmt: skip


def test_cells_carry_marks():
    cells = [tables.Cell("0.5", best=True, marks="ab", spread="± 0.1"), tables.Cell("–")]
    frame = pd.DataFrame({"ranker": ["m", "n"], "RR": cells})
    table = tables.Table(frame, (tables.RANKER, tables.Column("RR", "RR", "f")), "")
    marks = r"$^{\mathrm{ab}}$ {\scriptsize$\pm$0.1}"
    text = table_text.latex(table)
    assert rf"m & \bfseries 0.5 {{{marks}}} \\" in text
    assert r"n & {--} \\" in text
    assert "| m | **0.5** ab ± 0.1 |" in table_text.markdown(table)
    assert "<b>0.5</b> ab <small>± 0.1</small>" in table_text.html(table)
    assert "m       0.5* ab ± 0.1" in table_text.terminal(table)


@pytest.mark.parametrize("columns", [COLUMNS[:-1], (*COLUMNS, tables.Column("q", "Q"))])
def test_a_table_declares_its_columns_and_no_others(columns):
    with pytest.raises(ValueError, match="either in its frame or declared, not both"):
        tables.Table(FRAME, columns, "")


def test_figure_html_is_self_contained(figure):
    page = exports.figure_as(figure, "html").decode()
    assert "<html>" in page
    assert 'src="http' not in page
    assert "plotly.js v" in page


def test_a_figure_carries_its_caption_line_and_a_readable_name(every_study, figure):
    artefact = every_study[1]["initial-ranking"]
    caption = exports.study_caption(artefact, "NDCG(empty=one)@10")
    for words in ("my_set", "n = 40 queries", "2 draws", "no relevant: 1", str(artefact.key)):
        assert words in caption
    assert exports.study_stem(artefact) == f"initial-ranking-my_set-{artefact.key.digest[:8]}"
    narrow, high = exports.captioned("<svg/>", caption, 300.0, 200.0)
    assert narrow.count("<text") > 2, "a narrow figure has more lines"
    assert high == 200 + exports.LINE * (narrow.count("<text") + 0.5)
    assert caption in exports.figure_as(figure, "html", caption=caption).decode()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(bool(exports.drawing_lacks()), reason="no kaleido or no browser")
def test_drawn_by_a_browser(figure):
    """As SVG; PNG and PDF are drawn below."""
    assert exports.figure_as(figure, "svg").startswith(b"<svg")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(bool(exports.drawing_lacks()), reason="no kaleido or no browser")
def test_the_shell_draws_a_picture_of_a_study_in_the_size_of_a_column(tmp_path, capsys):
    (study,) = (places.ROOT / "sample_data" / "artefacts").glob("study-a6474184*")
    words = ["export", study.name, str(tmp_path / "f.png"), "--size", "column", "--no-caption"]
    assert main(words) == 0
    head = (tmp_path / "f.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n")
    assert struct.unpack(">II", head[16:]) == (2 * 480, 2 * 420)
    assert main([*words, "--figure", "9"]) == 2
    assert "this study has figures 1 (Loss) and 2 (Mean)" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(bool(exports.drawing_lacks()), reason="no kaleido or no browser")
def test_a_figure_is_as_wide_as_a_column_a_page_and_a_slide(tmp_path):
    (study,) = (places.ROOT / "sample_data" / "artefacts").glob("study-a6474184*")
    sizes = {"84mm": (84, 0), "178mm": (178, 0), "16:9": (338.67, 190.5)}
    assert set(sizes) == set(WIDTHS)
    result = Result.open(study)
    for width, (wide, high) in sizes.items():
        drawn = result.export(tmp_path / "f.pdf", width=width).read_bytes()
        assert drawn.startswith(b"%PDF")
        box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", drawn)
        found = [float(points) / 72 * 25.4 for points in box.groups()]
        assert found[0] == pytest.approx(wide, abs=0.5), width
        assert high <= found[1] < 1.1 * high or not high, "the caption stands under a slide"
        assert found[0] / 4 < found[1] <= 1.5 * found[0]


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
