"""Significance marks, conventions that follow from stored values, commands."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, UnknownNameError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.metrics.significance import holm
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers import initial
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import conventions, run
from shuffleproof.core.studies.kinds.initial_ranking import sections
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.initial_ranking.sections import marks
from shuffleproof.core.studies.kinds.perturbations.query import replay_trial
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Memory, Study, plan
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests.synthetic import planted

FAMILY, LEVELS = "transpositions", (0.0, 2.0, 8.0)


@pytest.fixture(scope="module")
def judged():
    dataset = planted(queries=(2, 2, 30), seed=1, documents=15).test
    noise = np.random.default_rng(0).normal(size=dataset.documents)
    scores = (dataset.labels + noise).astype(np.float32)[:, None]
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, scores))


class ByFeature(initial.InitialRanker):
    """The first feature, nothing else."""

    def score(self, dataset, lists):
        return dataset.features[lists.rows, 0]


@pytest.fixture(scope="module")
def study():
    return Study(
        kind="initial-ranking",
        rankers=((INITIAL, "a"), ("plain", "b")),
        lists="lists",
        initial=("feature:1",),
        perturbations=tuple((FAMILY, level) for level in LEVELS),
        measures=("NDCG@10",),
        draws=3,
        seed=5,
        stored=conventions.stored_measures(["NDCG@10"]),
    )


@pytest.fixture(scope="module")
def rankers():
    plain = ByFeature(name="plain", reads=frozenset({"features"}))
    return {INITIAL: initial.InitialRanker(), "plain": plain}


@pytest.fixture(scope="module")
def records():
    return Memory()


@pytest.fixture(scope="module")
def result(judged, study, rankers, records):
    step = run.measured_by([Measure.parse(text) for text in study.stored_measures])
    return run_to_end(run_study(study, judged, rankers, records, step))


def test_marks_by_scipy_and_holm(result):
    table = marks(result, FAMILY, "NDCG@10", baseline="plain").set_index(["ranker", "level"])
    changes = []
    for label in (INITIAL, "plain"):
        first = result.per_query(label, FAMILY, 0.0, "NDCG@10").astype(float)
        for level in LEVELS[1:]:
            own = result.per_query(label, FAMILY, level, "NDCG@10").astype(float)
            row = table.loc[label, level]
            assert row["mean"] == pytest.approx(own.mean(), abs=1e-6)
            assert row["change"] == pytest.approx((own - first).mean(), abs=1e-7)
            if label == "plain":  # its scores never move
                changes.append(1.0)
                continue
            changes.append(stats.ttest_rel(own, first).pvalue)
            effect = (own - first).mean() / (own - first).std(ddof=1)
            assert row["change_effect"] == pytest.approx(effect)
    found = table["change_p"].dropna().to_numpy()
    np.testing.assert_allclose(found, holm(np.array(changes)), rtol=1e-6)
    plain = result.per_query("plain", FAMILY, 8.0, "NDCG@10").astype(float)
    other = result.per_query(INITIAL, FAMILY, 8.0, "NDCG@10").astype(float)
    row = table.loc[INITIAL, 8.0]
    assert row["against"] == pytest.approx((other - plain).mean(), abs=1e-7)
    p = [
        stats.ttest_rel(
            result.per_query(INITIAL, FAMILY, level, "NDCG@10").astype(float),
            result.per_query("plain", FAMILY, level, "NDCG@10").astype(float),
        ).pvalue
        for level in LEVELS
    ]
    np.testing.assert_allclose(table["against_p"].dropna(), holm(np.array(p)), rtol=1e-6)


def test_marks_say_the_direction_and_only_where_it_is_significant(result):
    table = marks(result, FAMILY, "NDCG@10", baseline="plain")
    for name in ("change", "against"):
        marked = table[table[f"{name}_mark"] != ""]
        assert (marked[f"{name}_p"] <= 0.05).all()
        assert ((marked[name] > 0) == (marked[f"{name}_mark"] == "▲")).all()
        assert not (table[table[f"{name}_mark"] == ""][f"{name}_p"] <= 0.05).any()
    fallen = table[(table.ranker == INITIAL) & (table.level == 8.0)]
    assert fallen.change_mark.tolist() == ["▼"]


def test_unknown_names_are_refused(result):
    with pytest.raises(UnknownNameError, match="no ranker of the study"):
        marks(result, FAMILY, "NDCG@10", baseline="absent")


@pytest.mark.parametrize(
    "measure",
    [
        "NDCG@10",
        "NDCG(ideal=shown,empty=one)@3",
        "NDCG(discount=letor,ties=row,empty=skip)@1",
        "NDCG(ideal=shown,discount=letor,empty=nan)@5",
    ],
)
def test_other_conventions_follow_from_what_is_stored(result, judged, measure):
    """Nothing is scored again, and what comes out is what scoring again would give."""
    lists = perturbation(FAMILY, 8.0)(judged.lists, generator(5, FAMILY, 8.0, 2))
    fresh = evaluate([Measure.parse(measure)], judged.dataset, lists, lists.prior[:, 0])[0]
    draws = result.draws(INITIAL, FAMILY, 8.0, measure)
    np.testing.assert_array_equal(draws[2], fresh)
    summary = result.summary([measure]).set_index(["ranker", "level"])
    own = result.per_query("plain", FAMILY, 2.0, measure)
    wanted = mean_of(Measure.parse(measure), own)
    assert summary.loc[("plain", 2.0), "mean"] == pytest.approx(wanted, abs=1e-6, nan_ok=True)


def test_what_needs_scores_is_refused(result):
    assert not conventions.derivable("NDCG@7", result.stored_measures)
    with pytest.raises(DataError, match="Run the study again"):
        result.summary(["NDCG@7"])


def test_trials_are_shared_by_studies_that_ask_for_other_conventions(study):
    other = dataclasses.replace(
        study,
        measures=("NDCG(empty=one)@3",),
        stored=conventions.stored_measures(["NDCG(empty=one)@3"]),
    )
    trial = plan(study)[0]
    assert study.digest_of(trial) == other.digest_of(trial)
    assert study.recipe() != other.recipe()
    assert Study.of(study.recipe()) == study


def test_claims_of_falling_levels_count_outwards(result):
    """Mallows' levels fall from 1: the fall is from the unchanged lists all the same."""
    recipe = result.recipe | {
        "rankers": [["setrank-msab-init", "a"], ["dlcm", "b"]],
        "perturbations": [["mallows", 1.0], ["mallows", 0.0]],
    }
    drop = np.array([[0.8, 0.9, 0.7, 0.8], [0.8, 0.9, 0.7, 0.7],
                     [0.8, 0.9, 0.7, 0.8], [0.4, 0.5, 0.2, 0.3]], np.float32)  # fmt: skip
    trials = pd.DataFrame(
        {
            "ranker": ["setrank-msab-init", "setrank-msab-init", "dlcm", "dlcm"],
            "family": "mallows",
            "level": [1.0, 0.0, 1.0, 0.0],
            "draw": 0,
        }
    )
    recipe |= {"stored": ["NDCG@10"]}
    fallen = StudyResult(recipe, trials, drop[:, None, :], ("1", "2", "3", "4"), {})
    verdict = sections.claim(fallen, "mallows", "NDCG@10")
    assert verdict["verdict"] == "holds"
    assert verdict["difference"] == pytest.approx(0.45 - 0.025)
    assert verdict["low"] <= verdict["difference"] + 1e-6 <= verdict["high"] + 2e-6


def test_what_no_flag_says_is_said_by_python():
    recipe = {
        "kind": "initial-ranking", "rankers": [["dlcm", ""]], "measures": ["NDCG@10"], "draws": 1,
        "perturbations": [["shuffle", 0.0], ["shuffle", 0.5], ["reverse", 0.0]], "seed": 0,
    }  # fmt: skip
    with pytest.raises(UsageError, match="these levels"):
        study_command(recipe, {"data": "sample"})
    lists = ListRecipe(initial=("feature:1",), depth=None).plain()
    whole = recipe | {"perturbations": [["shuffle", 0.0], ["shuffle", 0.5]]}
    with pytest.raises(UsageError, match="all documents"):
        study_command(whole, {"data": "sample", "lists": lists})
    text = study_python(whole, {"data": "sample", "lists": lists})
    assert "depth=None" in text
    compile(text, "study", "exec")


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    recipe = ListRecipe(initial=("feature:1",), depth=20)
    return run_to_end(Workbench.open("sample", recipe, store))


def untied(workbench, query):
    """Whether no two documents of a list tie under either feature."""
    judged = workbench.prepared.test
    rows = judged.lists.select(np.array([query])).rows
    return all(len(set(judged.dataset.feature(feature)[rows])) == len(rows) for feature in (1, 2))


def test_a_replayed_list_has_the_value_that_the_study_stored(workbench):
    """The list is perturbed as the study perturbed it: gains of the answer give the same NDCG."""
    artefact = run_to_end(
        InitialRanking(("feature:2",), ((FAMILY, 0.0), (FAMILY, 9.0)), draws=3).run(workbench)
    )
    study = StudyResult.open(artefact.path)
    for label, digest in artefact.recipe["rankers"]:
        stored = study.draws(label, FAMILY, 9.0, "NDCG(ideal=shown)@10")
        telling = [
            query for query in np.flatnonzero(stored.min(axis=0) > 0) if untied(workbench, query)
        ]
        for query, draw in ((telling[0], 2), (telling[3], 1)):
            item = {
                "store": str(workbench.store.root), "data": "sample", "draw": draw, "seed": 0,
                "recipe": artefact.facts["lists"], "lists": artefact.recipe["lists"],
                "query": study.query_ids[query], "family": FAMILY, "level": 9.0,
                "ranker": label if label == INITIAL else digest,
            }  # fmt: skip
            answer = replay_trial(item)
            frame = pd.DataFrame({name: answer[name] for name in answer if name != "features"})
            discount = 1 / np.log2(np.arange(2, 12))
            gains = 2.0 ** frame.sort_values("answered").label.to_numpy()[:10] - 1
            ideal = 2.0 ** np.sort(frame.label.to_numpy())[::-1][:10] - 1
            assert gains @ discount / (ideal @ discount) == pytest.approx(
                stored[draw, query], abs=1e-5
            )
            assert sorted(frame.shown) == list(range(1, len(frame) + 1))
            assert (frame.answered != frame.answered_before).any() == (label == INITIAL)
    with pytest.raises(DataError, match="not the data set"):
        replay_trial(item | {"lists": "0" * 64})
    with pytest.raises(DataError, match="not in the test part"):
        replay_trial(item | {"query": "none"})
