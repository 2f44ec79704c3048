"""One query drawn again from a stored study; and both studies as jobs."""

import numpy as np
import pytest

from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.worst_moves import inversions
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.perturbations.query import replay_trial, worst_replayed
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench

LISTS = ListRecipe(("feature:3",), depth=12, scores="in-sample")
FAMILIES = ["duplicates:2+transpositions", "cut", "distractors", "feature-noise", "shuffle-shown"]
OTHERWISE = ["label-noise", "batches"]


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("query"))
    return run_to_end(Workbench.open("sample", LISTS, store))


@pytest.fixture(scope="module")
def perturbed(workbench):
    """(result, keys of its rankers): every family at its strongest level."""
    pairs = tuple(pairs_of([family])[-1] for family in (*FAMILIES, *OTHERWISE))
    asked = Perturbations(("feature:1", "ranksvm"), pairs, draws=2, seed=1)
    artefact = run_to_end(asked.run(workbench))
    key = str(run_to_end(workbench.train(RankerName.parse("ranksvm"))).artefact.key)
    return StudyResult.open(artefact.path), key


def question(workbench, result, **more):
    return {
        "store": str(workbench.store.root),
        "data": "sample",
        "recipe": LISTS.plain(),
        "lists": result.recipe["lists"],
        "query": result.query_ids[4],
        "seed": 1,
        "draw": 1,
    } | more


@pytest.mark.parametrize("family", FAMILIES)
def test_a_query_is_drawn_as_the_study_drew_it(workbench, perturbed, family):
    result, key = perturbed
    level = dict(map(tuple, result.recipe["perturbations"]))[family]
    asked = question(workbench, result, ranker=key, family=family, level=level, features=[1, 3])
    found = replay_trial(asked)
    there = [at for at, place in enumerate(found["answered"]) if place is not None]
    assert sorted(found["answered"][at] for at in there) == list(range(1, len(there) + 1))
    assert sorted(found["shown"][at] for at in there) == list(range(1, len(there) + 1))
    kinds = found["kind"]
    assert len(kinds) == len(found["document"]) == len(found["label"])
    assert kinds[:12] == ["kept" if at in there else "gone" for at in range(12)]
    assert set(kinds[12:]) <= {"new"}
    expected = {"cut": (12, 2), "distractors": (32, 32), "duplicates": (14, 14)}
    assert (len(kinds), len(there)) == expected.get(family.partition(":")[0], (12, 12))
    draws = result.draws("ranksvm", family, level, "score-change")
    change = [
        abs(after - before)
        for before, after in zip(found["score_before"], found["score"], strict=True)
        if before is not None and after is not None
    ]
    assert max(change) == pytest.approx(draws[-1][4], abs=1e-6)
    before, after = zip(*found["features"]["1"][:12], strict=True)
    assert (before != after) == (family in {"feature-noise", "cut"})
    assert found["shown_before"][:12] == list(range(1, 13))


@pytest.mark.parametrize("family", OTHERWISE)
def test_a_list_is_answered_by_the_ranker_of_the_trial_and_the_one_as_it_is(
    workbench, perturbed, family
):
    result, key = perturbed
    level = dict(map(tuple, result.recipe["perturbations"]))[family]
    rows = result.trials[(result.trials.family == family) & (result.trials.ranker == "ranksvm")]
    noted = rows.set_index("draw")["artefact"][1]
    asked = question(workbench, result, ranker=key, family=family, level=level, trained=noted)
    found = replay_trial(asked)
    assert found["shown"] == found["shown_before"] == list(range(1, 13))
    pairs = zip(found["score_before"], found["score"], strict=True)
    change = max(abs(after - before) for before, after in pairs)
    draws = result.draws("ranksvm", family, level, "score-change")
    assert change == pytest.approx(draws[1][4], abs=1e-6)
    assert (change > 0) == (family == "label-noise")
    assert bool(noted) == (family == "label-noise")
    same = replay_trial(asked | {"ranker": INITIAL})
    assert same["answered"] == same["answered_before"]


def test_what_cannot_be_drawn_again_is_said(workbench, perturbed):
    result, key = perturbed
    asked = question(workbench, result, ranker=INITIAL, family="cut", level=0.5)
    assert replay_trial(asked)["answered_before"][0] == 1
    with pytest.raises(UsageError, match="was not noted"):
        replay_trial(asked | {"family": "label-noise", "ranker": key})
    with pytest.raises(DataError, match="Choose another"):
        replay_trial(asked | {"query": "none"})
    with pytest.raises(DataError, match="Run the study again"):
        replay_trial(asked | {"lists": "0" * 64})
    assert key


def test_the_worst_order_of_a_query(workbench):
    work = WorstCase(("feature:1",), budgets=(1, 3), queries=30).run(workbench)
    artefact = run_to_end(work)
    result = StudyResult.open(artefact.path)
    asked = question(workbench, result, ranker=INITIAL, label=INITIAL, study=str(artefact.key))
    asked |= {"query": result.query_ids[28], "target": "ranking", "measure": "NDCG@10"}
    found = worst_replayed(asked | {"budget": 3})
    order = np.array(found["answered"])[None]
    assert 1 <= inversions(order, np.array([0, 12]))[0, 0] <= 3
    assert found["kind"] == ["kept"] * 12
    same = worst_replayed(asked | {"budget": 0})
    assert same["answered"] == same["answered_before"]
