"""Pages of studies by their declarations: picture, clicks, conventions, single queries, files."""

import json

import numpy as np
import pytest
import streamlit as st

from shuffleproof.app import pictures, rescoring, scoring
from shuffleproof.app.figures.text import labels_in
from shuffleproof.app.navigation import PAGES
from shuffleproof.app.study import per_query
from shuffleproof.app.study.picture import follow_click
from shuffleproof.core import jobs
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture, View
from tests import app_folded as folded
from tests import app_pages, app_perturbed
from tests import app_tables as tables

DECLARED = {kind: page for kind in STUDIES if (page := getattr(PAGES[kind].view, "PAGE", None))}
QUERIED = {kind: page for kind, page in DECLARED.items() if page.per_query}
MEASURED = [kind for kind, page in DECLARED.items() if page.measured]


@pytest.fixture(autouse=True)
def on_this_store(every_study, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(every_study[0].root))
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
    monkeypatch.setattr(scoring, "resident", app_perturbed.Here)
    for cached in (st.cache_resource, st.cache_data):
        cached.clear()
    yield
    for cached in (st.cache_resource, st.cache_data):
        cached.clear()


def opened(artefact, **query):
    query |= {"study": str(artefact.key)}
    return app_pages.opened(artefact.recipe["kind"], query, data=artefact.facts["data"])


def point_of(kind, result):
    """The last point of a ranker that can be changed: of the variants, of a trained one."""
    points = [point for point in result.points if point[0] not in {INITIAL, "ideal"}]
    return points[-1]


def test_every_kind_but_two_has_a_declared_page():
    assert set(STUDIES) - set(DECLARED) == {"invariance", "benchmark"}
    without = {"certified-top-k", "group-shuffles", "rerankers", "training-noise"}
    assert set(DECLARED) - set(QUERIED) == without


@pytest.mark.parametrize("kind", DECLARED)
def test_a_page_has_picture_tables_link_command_and_files(kind, every_study):
    artefact = every_study[1][kind]
    page = opened(artefact)
    assert page.get("plotly_chart")
    assert str(artefact.key) in page.query_params["study"]
    folded.menus(page)
    labels = {button.label for button in page.get("download_button")}
    assert {"HTML", "PDF", "CSV", "LaTeX", "Recipe (JSON)", "Report (HTML)"} <= labels
    assert any(f"study {kind}" in one.value for one in page.code)
    python = reproduce.study_python(artefact.recipe, artefact.facts).strip()
    assert python in [one.value.strip() for one in page.code]


@pytest.mark.parametrize("kind", QUERIED)
def test_a_click_on_every_picture_chooses_a_point_of_the_study(kind, every_study, monkeypatch):
    artefact = every_study[1][kind]
    result = StudyResult.open(artefact.path)
    known = {
        "point": {ranker for ranker, *_ in result.points},
        "family": {family for _, family, _ in result.points},
        "at": {level for *_, level in result.points},
    }
    sections = STUDIES[kind].sections_module().sections(result, View())
    for picture in (one for one in sections if isinstance(one, Picture)):
        figure = json.loads(pictures.draw(picture).to_json())
        marked = [trace["customdata"] for trace in figure["data"] if trace.get("customdata")]
        assert marked, picture.name
        for customdata in marked:
            session = {"chart": {"selection": {"points": [{"customdata": customdata[-1]}]}}}
            monkeypatch.setattr("shuffleproof.app.study.picture.st.session_state", session)
            takes = per_query.chooses(**QUERIED[kind].clicks)
            follow_click("chart", takes, labels_in(pictures.draw(picture)))
            for name in QUERIED[kind].clicks:
                assert session[name] in known[name], (picture.name, name)


@pytest.mark.parametrize("kind", QUERIED)
def test_the_queries_of_a_point_are_those_of_the_study(kind, every_study):
    artefact, how = every_study[1][kind], QUERIED[kind].per_query
    result = StudyResult.open(artefact.path)
    point, measure = point_of(kind, result), str(result.measures[0])
    frame = per_query.changes(result, how.before, point, measure)
    after = dict(zip(result.query_ids, result.per_query(*point, measure), strict=True))
    assert frame["perturbed"].tolist() == pytest.approx([after[one] for one in frame["query"]])
    before = dict(zip(result.query_ids, how.before(result, point, measure), strict=True))
    assert frame["unchanged"].tolist() == pytest.approx([before[one] for one in frame["query"]])
    assert frame["change"].is_monotonic_increasing
    worst = result.draws(*point, measure).argmin(axis=0)
    assert dict(zip(frame["query"], frame["worst_draw"], strict=True)) == {
        query: worst[result.query_ids.index(query)] for query in frame["query"]
    }
    by_column = per_query.changes_by_column(result, how.before, point, measure)
    own = next(name for name in by_column if name in point)
    assert by_column.loc[frame["query"], own].tolist() == pytest.approx(frame["change"].tolist())
    page = opened(artefact, point=point[0], family=point[1], at=f"{point[2]:g}")
    assert page.selectbox(key="point").value == point[0]
    shown = next(one.value for one in page.dataframe if "perturbed" in one.value)
    assert shown["change"].tolist() == frame["change"].tolist()
    axes = [chart.proto.alt for chart in page.get("plotly_chart")]
    wanted = how.family if kind == "initial-rankings" else how.level(point[1])
    assert f"query against {wanted}" in axes[-1]


@pytest.mark.parametrize("kind", QUERIED)
def test_a_query_is_scored_again_and_both_lists_are_drawn(kind, every_study, monkeypatch):
    artefact = every_study[1][kind]
    result = StudyResult.open(artefact.path)
    point = point_of(kind, result)
    frame = per_query.changes(
        result, QUERIED[kind].per_query.before, point, str(result.measures[0])
    )
    page = opened(
        artefact, point=point[0], family=point[1], at=f"{point[2]:g}", of=frame["query"][0]
    )
    assert not page.warning, [one.value for one in page.warning]
    alts = [chart.proto.alt for chart in page.get("plotly_chart")]
    assert any("shown" in alt and "answer" in alt for alt in alts)
    folded.tables(page)
    documents = next(one.value for one in page.dataframe if "answered_before" in one.value)
    assert len(documents) >= 3
    if offered := page.multiselect(key="features").options:
        page.multiselect(key="features").set_value(offered[:1]).run()
        assert not page.exception


@pytest.mark.parametrize("kind", MEASURED)
def test_conventions_change_at_once_from_stored_values(kind, every_study):
    artefact = every_study[1][kind]
    page = opened(artefact, empty="one")
    assert "no relevant: 1" in app_pages.words(page)
    assert "no relevant: 1" not in app_pages.words(opened(artefact))


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "ablation"])
def test_rankers_that_are_not_chosen_are_not_shown(kind, every_study):
    artefact = every_study[1][kind]
    result = StudyResult.open(artefact.path)
    ranker = point_of(kind, result)[0]
    page = opened(artefact, show=[ranker])
    folded.tables(page)
    shown = [set(one.value["ranker"]) for one in page.dataframe if "ranker" in one.value]
    assert shown
    assert all(len(rankers) == 1 for rankers in shown)
    none = opened(artefact, show="")
    assert "Choose at least one ranker" in app_pages.words(none)


def test_every_picture_can_be_chosen_and_stands_in_the_address(every_study):
    artefact = every_study[1]["set-size"]
    page = opened(artefact)
    options = page.selectbox(key="drawn").options
    assert {"Mean", "Loss"} <= set(options)
    alts = set()
    for title in options:
        page = opened(artefact, drawn=title)
        assert title in page.query_params["drawn"]
        alts.add(page.get("plotly_chart")[0].proto.spec)
    assert len(alts) == len(options)


def test_an_initial_ranking_is_compared_by_the_test_and_baseline_chosen(dashboard, tmp_path):
    dashboard(tmp_path)  # the shipped study of the sample
    page = app_pages.opened("initial-ranking", {"baseline": "dlcm"}, data="sample")
    frame = page.dataframe[0].value
    assert np.isnan(frame.loc[frame["ranker"] == "DLCM", "against"]).all()
    assert page.selectbox(key="baseline").value == "dlcm"


def test_a_study_of_a_removed_data_set_says_so(dashboard, tmp_path, fold, monkeypatch):
    store = dashboard(tmp_path)
    tables.data_set(store, fold)
    artefact = tables.ablation_in(store, fold)
    query = StudyResult.open(artefact.path).query_ids[5]
    page = opened(artefact, point="released", of=query)
    assert page.warning, "its variants are not stored"
    assert "run the ablation again" in app_pages.words(page)


def test_lists_of_perturbations_of_the_system_are_answered_by_both_rankers(every_study):
    """A family that trains rankers again shows the list as it is, and two rankings of it."""
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
    from shuffleproof.core.studies.workbench import Workbench, run_to_end

    lists = ListRecipe(("feature:3",), 12)
    store = Store(every_study[0].root)
    bench = run_to_end(Workbench.open(tables.DATA, lists, store, "small"))
    pairs = (("label-noise", 1.0), ("batches", 1.0))
    study = run_to_end(Perturbations(("ranksvm", "random"), pairs, draws=1, seed=2).run(bench))
    try:
        for ranker, family in (("ranksvm", "label-noise"), ("random", "batches")):
            point, moved = (ranker, family, 1.0), ranker == "ranksvm"
            result = StudyResult.open(study.path)
            frame = per_query.changes(result, per_query.unchanged_lists, point, "NDCG@10")
            query = str(frame["query"][0])
            st.session_state["data"] = tables.DATA
            moves = rescoring.perturbed_scores(study, point, query, 0)
            assert moves["moved"].any() == moved
            assert (moves["shown"] == moves["shown_before"]).all()
    finally:
        store.remove(study.key)
        st.session_state.pop("data", None)
