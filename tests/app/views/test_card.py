"""The page Robustness card: empty, stored, clicked, run, running, failed; its picture."""

import shutil

import pytest

from shuffleproof.core.rankers.name import INITIAL
from tests import app_perturbed as made


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


def test_the_card_of_one_ranker_has_all_that_is_to_be_printed(desk, stored):
    page = made.opened("card", card=INITIAL)
    said = made.words(page)
    assert f"Robustness card: {INITIAL}" in said
    assert "Queries with the largest loss at level 80" in said
    conditions = " ".join(one.value for one in page.caption)
    assert "transpositions: random swaps per list, levels 0, 1, 2, 5" in conditions
    assert f"as {stored.key}" in conditions
