"""The page Robustness card: empty, stored, clicked, run, running, failed; its picture."""

import shutil

import numpy as np
import pytest

from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.result import StudyResult
from tests import app_disturbed as made


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
    return card_table.cards(StudyResult.open(stored.path), family, measure)


def test_the_card_of_one_ranker_has_all_that_is_to_be_printed(desk, stored):
    page = made.opened("card", card=INITIAL)
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
