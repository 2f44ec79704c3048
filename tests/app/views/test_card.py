"""The page Robustness card: empty, stored, clicked, run, running, failed; its picture."""

import shutil

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.study.picture import follow_click
from shuffleproof.app.study_access import compute
from shuffleproof.app.views import card as view
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.kinds.perturbations.sections import damage
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import signed
from tests import app_disturbed as made
from tests import app_folded as folded


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    return made.bench_in(tmp_path_factory.mktemp("card"))


@pytest.fixture(scope="module")
def stored(workbench):
    return made.made(workbench, "card")


@pytest.fixture
def desk(workbench, stored, monkeypatch):
    desk = made.desk_of(workbench.store, monkeypatch)
    yield desk
    shutil.rmtree(desk.jobs.folder, ignore_errors=True)


def whole(stored, family, measure):
    return card_table.pareto(card_table.cards(StudyResult.open(stored.path), family, measure))


def test_a_stored_card_is_drawn_with_its_finding_cards_and_files(desk, stored):
    page = made.opened("card")
    frame = whole(stored, "transpositions", "NDCG@10")
    cards, moves = (table.value for table in page.dataframe[:2])
    pd.testing.assert_series_equal(cards["area"], frame["area"])
    assert {"below_initial", "cvar", "worst", "flip-top-10", "milliseconds_a_list"} <= set(cards)
    assert [name for name in moves if name.startswith("moved-grade")]
    folded.menus(page)
    labels = {button.label for button in page.get("download_button")}
    assert {"HTML", "CSV", "Recipe (JSON)", "Report (HTML)"} <= labels
    assert str(stored.key) in page.query_params["study"]


def test_family_and_conventions_change_at_once(desk, stored):
    page = made.opened("card", family="shuffle-shown", ideal="shown")
    said = made.words(page)
    assert "ideal: shown" in said
    wanted = whole(stored, "shuffle-shown", "NDCG(ideal=shown)@10")
    pd.testing.assert_series_equal(page.dataframe[0].value["start"], wanted["start"])


def test_behind_a_mark_are_its_queries_and_the_list_of_one(desk, stored):
    point = (INITIAL, "transpositions", 80.0)
    worst = compute(str(stored.key), damage, *point, "NDCG@10")
    page = made.opened("card", point=INITIAL, of=worst["query"][0])
    said = made.words(page)
    assert f"query {worst['query'][0]} loses most: {signed(worst['change'][0])}" in said
    pd.testing.assert_frame_equal(page.dataframe[0].value, worst, check_dtype=False)
    page.selectbox(key="at").set_value(0.0).run()


def test_a_click_on_a_mark_chooses_the_ranker(monkeypatch):
    session = made.clicked(view, monkeypatch, view.CHART, "feature:1", 0.5, 1.0, "beaten")
    follow_click(view.CHART, view.CLICK)
    assert session["point"] == "feature:1"


def cards(**columns):
    usual = {"end": 0.4, "kept": 0.8, "milliseconds_a_list": 1.0, "front": True}
    names = columns.pop("ranker")
    frame = pd.DataFrame({"ranker": names} | usual | columns)
    return frame.assign(kept_low=frame["kept"] - 0.05, kept_high=frame["kept"] + 0.02)


def test_the_card_of_one_ranker_has_all_that_is_to_be_printed(desk, stored):
    page = made.opened("card", point=INITIAL)
    said = made.words(page)
    assert f"Robustness card: {INITIAL}" in said
    assert "The queries that lose most, at level 80" in said
    conditions = " ".join(one.value for one in page.caption)
    assert "transpositions: exchanges per list, levels 0, 1, 2, 5" in conditions
    assert f"as {stored.key}" in conditions


def test_dials_are_the_numbers_of_the_cards_with_their_intervals(stored):
    result = StudyResult.open(stored.path)
    frame = whole(stored, "transpositions", "NDCG@10").set_index("ranker")
    dials = card_table.dials(result, "transpositions", "NDCG@10")
    of = dials.pivot_table("value", "ranker", "dial")
    for dial, column in (
        ("quality", "start"),
        ("kept", "kept"),
        ("area", "area"),
        ("risk", "cvar"),
    ):
        np.testing.assert_allclose(of[dial], frame[column].reindex(of.index), rtol=1e-6)
    known = dials.dropna()
    assert (known["low"] <= known["value"] + 1e-6).all()
    assert (known["value"] <= known["high"] + 1e-6).all()
    values = result.per_query(INITIAL, "transpositions", 0.0, "NDCG@10")
    own = dials[(dials["ranker"] == INITIAL) & (dials["dial"] == "quality")].iloc[0]
    wide = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert own["high"] - own["low"] == pytest.approx(2 * wide, rel=0.15)
