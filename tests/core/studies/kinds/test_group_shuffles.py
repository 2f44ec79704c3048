"""GSF's order dependence: the error falls like 1/√S, the study is kept and found again."""

from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.app.figures import group_shuffles as figure_of
from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.kinds.group_shuffles.sections import table
from shuffleproof.core.studies.kinds.group_shuffles.study import (
    REFERENCE,
    changes,
    score_deviation,
    with_groups,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench
from tests import app_tables as tables
from tests.synthetic import planted

DATASET = planted((2, 2, 16), seed=3).test
LISTS = CandidateLists.ranked_by(DATASET, DATASET.feature(3)[:, None], 20)
BASE = JudgedLists(DATASET, LISTS)
SHUFFLES = (1, 2, 4, 8, 16, 32, 64)


def untrained(name="gsf", **changed):
    spec = registry.spec(name, "small", **changed)
    return NeuralRanker.untrained(spec, fit("z-score", DATASET), DATASET.feature_ids, "cpu")


def values_of(work):
    done = []
    while True:
        try:
            done.append(next(work))
        except StopIteration as stop:
            return done, stop.value


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("groups"))
    tables.data_set(store, tables.fold())
    lists = ListRecipe(("feature:3",), scores="in-sample")
    return run_to_end(Workbench.open(tables.DATA, lists, store, "small"))


@pytest.fixture(scope="module")
def names(workbench):
    """A GSF of groups of two and one of three, both trained for an epoch."""
    kept = [
        run_to_end(workbench.train(RankerName.parse("gsf"), {"group": group, "epochs": "1"}))
        for group in ("2", "3")
    ]
    return [f"gsf#{one.artefact.key.digest[:8]}" for one in kept]


@pytest.fixture(scope="module")
def study(workbench, names):
    return run_to_end(GroupShuffles(tuple(names)).run(workbench))


@pytest.fixture(scope="module")
def result(study):
    return StudyResult.open(study.path)


def test_the_error_falls_like_one_over_the_root_of_the_shuffles(result, names):
    frame = table(result)
    for name in names:
        sampled = frame[(frame.ranker == name) & (frame.grouping == "sampled")]
        assert sampled.shuffles.tolist() == list(SHUFFLES)
        assert sampled.error.is_monotonic_decreasing
        exponent = np.polyfit(np.log(sampled.shuffles), np.log(sampled.error), 1)[0]
        assert exponent == pytest.approx(-0.5, abs=0.06)
        assert sampled.tau.is_monotonic_increasing
        assert (sampled.low < sampled.error).all()
        assert (sampled.error < sampled.high).all()
        assert (sampled.lists == 40).all()


def test_an_error_does_not_depend_on_which_other_shuffles_were_asked_for(workbench, names, result):
    alone = run_to_end(GroupShuffles((names[1],), (2,)).run(workbench))
    (one,) = table(StudyResult.open(alone.path)).itertuples()
    (same,) = table(result).query(f"ranker == {names[1]!r} and shuffles == 2").itertuples()
    found, wanted = (one.error, one.low, one.tau), (same.error, same.low, same.tau)
    assert found == pytest.approx(wanted, rel=1e-9)


def test_changes_are_divided_by_the_deviation_under_the_most_shuffles(result, names):
    """Studies of old have a deviation of every way."""
    values, name = result.values.copy(), names[0]
    rows = np.flatnonzero(result.trials.ranker == name)
    values[rows, 1] *= np.arange(1, len(rows) + 1)[:, None]
    most = np.flatnonzero((result.trials.ranker == name) & (result.trials.family == "sampled")
                          & (result.trials.level == max(SHUFFLES)))  # fmt: skip
    factor = 1 + int(np.flatnonzero(rows == most[0])[0])
    before, after = (table(one).query(f"ranker == {name!r}").error
                     for one in (result, replace(result, values=values)))  # fmt: skip
    assert (before / after).to_numpy() == pytest.approx(factor, rel=1e-5)


def test_one_list_has_no_interval(result, names):
    alone = replace(result, values=result.values[..., :1], query_ids=result.query_ids[:1])
    frame = table(alone)
    assert frame[["low", "high"]].isna().all().all()
    assert frame.error.notna().all()
    drawn = figure_of.equivariance(frame)
    assert not any("customdata[2]" in (trace.hovertemplate or "") for trace in drawn.data)


def test_all_pairs_leave_rounding_alone_and_are_asked_of_groups_of_two(result, names):
    (pairs,) = table(result).query("grouping == 'exhaustive'").itertuples()
    assert pairs.ranker == names[0]
    assert pairs.error < 1e-5
    assert pairs.tau > 0.9999


def test_the_change_is_that_of_scores_and_the_deviation_numpys():
    ranker = untrained(group=3)
    _, (change, _) = values_of(changes(ranker, BASE, 2, 3))
    asked, deviation = with_groups(ranker, REFERENCE), score_deviation(ranker, BASE, REFERENCE)
    before = asked.score(DATASET, LISTS).astype(np.float64)
    starts, ends = LISTS.offsets[:-1], LISTS.offsets[1:]
    expected = [before[a:b].std() for a, b in zip(starts, ends, strict=True)]
    assert deviation == pytest.approx(expected, rel=1e-5)
    reached, one = values_of(changes(ranker, BASE, 2, 1))
    more, again_ = values_of(changes(ranker, BASE, 2, 1))
    assert reached == more == [0]
    assert np.array_equal(one, again_)
    assert not np.array_equal(one[0], change)
    assert (change > 0).all()


@pytest.mark.parametrize(("name", "changed"), [("gsf", {"group": 1}), ("mlp", {})])
def test_other_rankers_are_refused(name, changed):
    with pytest.raises(ParameterError, match="gsf"):
        next(changes(untrained(name, **changed), BASE, 1, 1))


def test_what_makes_no_study_is_refused(workbench):
    for names, more, said in (
        (("mlp",), {}, "mlp forms no groups"), ((), {}, "at least one ranker"),
        (("gsf",), {"shuffles": (0,)}, "shuffles"),
        (("gsf",), {"shuffles": ()}, "shuffles"), (("gsf",), {"orders": 0}, "orders"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            run_to_end(GroupShuffles(names, **more).run(workbench))
