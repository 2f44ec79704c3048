"""Every kind of study is told once: report, terminal and page show what its sections declare."""

import html
import json

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from shuffleproof.app import pictures, report
from shuffleproof.app.plain import escaped
from shuffleproof.core import jobs
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.cli.studies import text_of
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.initial_ranking import sections as initial_ranking
from shuffleproof.core.studies.kinds.perturbations import sections as perturbations
from shuffleproof.core.studies.kinds.set_size import sections as set_size
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, View
from tests.every_study import KINDS, RUNS
from tests.golden import drawn

UNDRAWN = {"invariance"}  # a certificate is a sentence and a row
UNSAID = {"invariance", "benchmark", RUNS}  # no measure; said under the table
ELSEWHERE = {"invariance", RUNS}  # their pages show lists first, or other data


@pytest.fixture(autouse=True)
def on_this_store(every_study, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(every_study[0].root))
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    st.cache_resource.clear()
    st.cache_data.clear()


def told(artefact):
    sections_module = STUDIES[artefact.recipe["kind"]].sections_module()
    return list(sections_module.sections(StudyResult.open(artefact.path), View()))


def headline_of(artefact):
    sections_module = STUDIES[artefact.recipe["kind"]].sections_module()
    return sections_module.headline(StudyResult.open(artefact.path), View()).text


@pytest.mark.parametrize("kind", KINDS)
def test_report_terminal_and_page_show_what_is_declared(kind, every_study):
    artefact = every_study[1][kind]
    sections = told(artefact)
    findings = [
        with_display_names(one.text) for one in sections if isinstance(one, Finding) and one.text
    ]
    shown = [one.with_display_names for one in sections if isinstance(one, tables.Table)]
    drawings = [one for one in sections if isinstance(one, Picture)]
    assert shown, f"the sections of {kind} have no `Table`"
    assert drawings or kind in UNDRAWN, f"the sections of {kind} have no `Picture`"
    said = kind in UNSAID or any(isinstance(one, Convention) and one.text for one in sections)
    assert said, f"the sections of {kind} do not say what their numbers are: a `Convention`"
    unknown = {one.name for one in drawings} - set(pictures.PICTURES)
    assert not unknown, f"app/pictures.py does not draw {unknown}"
    page = report.report([artefact.path])
    assert page.count("<figure ") == len(drawings)
    printed = text_of(artefact, verbose=True)
    for text in findings:
        assert text in printed
        assert html.escape(text) in page
    for table in shown:
        for column in table.columns:
            assert f"<th>{html.escape(column.label)}</th>" in page
            assert column.label in printed
    app = drawn(artefact.recipe["kind"], artefact)
    words = " ".join(one.value for one in (*app.markdown, *app.caption))
    answer = headline_of(artefact)
    assert answer in printed
    assert html.escape(answer) in page
    assert kind in ELSEWHERE or f"**{escaped(answer)}**" in words
    labels = [json.loads(one.proto.columns or "{}") for one in app.dataframe]
    known = {one.get("label") for columns in labels for one in columns.values()}
    alike = [{column.label for column in table.columns} <= known for table in shown]
    assert kind in ELSEWHERE or all(table.folded for table in shown) or not known or any(alike)


@pytest.mark.parametrize("kind", KINDS)
def test_every_study_is_written_in_every_format(kind, every_study, tmp_path):
    store, artefacts, _ = every_study
    for ending in ("csv", "parquet", "json", "tex", "md"):
        out = tmp_path / f"x.{ending}"
        words = ["export", str(artefacts[kind].key), str(out), "--store", str(store.root)]
        assert main(words) == 0
    assert len(pd.read_json(tmp_path / "x.json")) == len(pd.read_parquet(tmp_path / "x.parquet"))
    assert r"\toprule" in (tmp_path / "x.tex").read_text()
    assert "| :--" in (tmp_path / "x.md").read_text()


def test_a_column_that_is_not_declared_fails_at_once(every_study):
    for artefact in every_study[1].values():
        for table in told(artefact):
            if isinstance(table, tables.Table):
                frame = table.frame.assign(new=1)
                with pytest.raises(ValueError, match="new"):
                    tables.Table(frame, table.columns, table.title)


def means_lost(frame):
    return dict(zip(zip(frame.ranker, frame.level, strict=True), frame["mean"], strict=True))


def test_the_losses_drawn_are_the_losses_tested(every_study):
    """One number a point: of the picture, and of the table of tests or the headline."""
    figure3 = StudyResult.open(every_study[1]["initial-ranking"].path)
    family, measure = figure3.recipe["perturbations"][0][0], str(figure3.measures[0])
    drawn_ = initial_ranking.losses_of(figure3, family, measure)
    tested = initial_ranking.marks(figure3, family, measure)
    both = drawn_.merge(tested, on=["ranker", "level"])
    assert len(both) == len(drawn_) == len(tested)
    changed = both[both["change"].notna()]
    assert changed["mean_x"].to_numpy() == pytest.approx(-changed["change"].to_numpy())
    np.testing.assert_allclose(changed["p"], changed["change_p"])
    clear = (changed["low"] > 0) | (changed["high"] < 0)
    assert clear.tolist() == (changed["change_p"] <= 0.05).tolist()
    still = both[both["change"].isna()]
    assert not still[["mean_x", "low", "high"]].to_numpy().any()

    several = StudyResult.open(every_study[1]["perturbations"].path)
    measure = str(several.measures[0])
    losses = perturbations.losses(several, measure)
    for family, own in losses.groupby("family", sort=False):
        summary = perturbations.of_family(several, family).summary([measure])
        of_family = means_lost(perturbations.losses_of(several, summary, measure))
        for row in own.itertuples():
            assert of_family[row.ranker, row.level] == pytest.approx(
                row.loss, abs=1e-6, nan_ok=True
            )


def test_losses_of_sizes_are_paired(every_study):
    """A loss is the mean over queries of the value at the ranker's own size minus that at N1."""
    result = StudyResult.open(every_study[1]["set-size"].path)
    measure = str(result.measures[0])
    for row in set_size.losses_of(result, measure).itertuples():
        home = set_size.home_of(result, row.ranker, row.trained_on)
        lost = result.per_query(row.ranker, *home, measure).astype(float)
        lost -= result.per_query(row.ranker, row.trained_on, row.size, measure)
        assert row.mean == pytest.approx(np.nanmean(lost), abs=1e-6)
        assert row.low <= row.mean <= row.high
