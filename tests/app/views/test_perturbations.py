"""The page Perturbations: empty, stored, clicked, run, running, failed; its losses and maps."""

import shutil

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app import rescoring
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.views import perturbations as view
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.result import StudyResult
from tests import app_perturbed as made

CHAIN = "shuffle:1+shuffle-shown"


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    return made.bench_in(tmp_path_factory.mktemp("perturbations"))


@pytest.fixture(scope="module")
def stored(workbench):
    return made.made(workbench, "perturbations")


@pytest.fixture(scope="module")
def result(stored):
    return StudyResult.open(stored.path)


@pytest.fixture
def desk(workbench, stored, monkeypatch):
    desk = made.desk_of(workbench.store, monkeypatch)
    yield desk
    shutil.rmtree(desk.jobs.folder, ignore_errors=True)


def test_losses_are_from_the_lists_as_they_are(result):
    frame = sections.losses(result, "NDCG@10").set_index(["ranker", "family", "level"])
    start = result.per_query(INITIAL, "cut", 0.0, "NDCG@10").mean()
    after = result.per_query(INITIAL, CHAIN, 1.0, "NDCG@10").mean()
    row = frame.loc[INITIAL, CHAIN, 1.0]
    assert row["loss"] == pytest.approx(start - after, abs=1e-6)
    assert frame.loc[INITIAL, CHAIN, 0.0]["loss"] > 0, "a chain's first level is perturbed too"
    assert abs(frame.loc["feature:1", "shuffle", 1.0]["loss"]) < 1e-6
    assert frame.loc["feature:1", "shuffle", 1.0]["answer-tau"] == pytest.approx(1)


def test_a_chain_is_played_again_too(desk, stored):
    query = StudyResult.open(stored.path).query_ids[3]
    moves = rescoring.perturbed_scores(stored, (INITIAL, CHAIN, 1.0), query, 1)
    assert sorted(moves["shown"]) == list(range(1, 13))
    assert list(moves["shown_before"]) == list(range(1, 13))
    value = StudyResult.open(stored.path).draws(INITIAL, CHAIN, 1.0, "NDCG(ideal=shown)@10")
    order = moves.sort_values("answered")["label"].to_numpy()[:10]
    ideal = np.sort(moves["label"].to_numpy())[::-1][:10]
    discount = 1 / np.log2(np.arange(2, 12))
    found = ((2.0**order - 1) @ discount) / ((2.0**ideal - 1) @ discount)
    assert found == pytest.approx(float(value[1, 3]), abs=1e-5)


def test_the_map_holds_every_cell_and_says_which_mean_nothing():
    frame = pd.DataFrame(
        {"ranker": ["a", "b"], "family": ["cut", "cut"], "level": [0.5, 0.5], "loss": [0.25, 0.0]}
    )
    frame = pd.concat([frame, frame.assign(ranker="c")]).drop_duplicates("ranker")
    left_out = [("c", "cut"), ("d", "cut"), ("a", "sample")]
    frame.loc[frame["ranker"] == "c", "loss"] = np.nan
    drawn = figure.losses(frame, {"The set": ["cut"]}, "RR", left_out)
    heat, marks, dashes = drawn.data
    assert list(heat.text[1]) == ["−.250", "0", ""]
    assert list(zip(dashes.x, dashes.y, dashes.text, strict=True)) == [(2, 1, "–")]
    assert np.isnan(heat.z[0]).all(), "the heading's row"
    assert [row[0] for row in marks.customdata] == ["a", "b", "c"]


def test_every_family_belongs_to_a_group():
    assert set(view.FIRST) <= set(PERTURBATIONS)
    for name, entry in PERTURBATIONS.items():
        group = sections.group_of(name)
        assert group in entry.changes


def test_the_values_of_one_query_are_those_of_the_study(result):
    query = result.query_ids[3]
    frame = sections.of_query(result, query, "NDCG(ideal=shown)@10")
    row = frame[(frame["ranker"] == "feature:1") & (frame["family"] == "cut")].iloc[1]
    assert row["level"] == 0.5
    values = result.per_query("feature:1", "cut", 0.5, "NDCG(ideal=shown)@10")
    assert row["value"] == pytest.approx(values[3])
    same = "ranker != @INITIAL and family not in ('cut', 'distractors')"
    every = {
        one: sections.of_query(result, one, "NDCG@10").query(same)["loss"].max()
        for one in result.query_ids
    }
    assert sections.most_changed(result) == max(every, key=every.__getitem__)
