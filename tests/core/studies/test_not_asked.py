"""What cannot be asked of a ranker, and what is its own noise: certificates, Figure 3, card."""

import contextlib

import numpy as np
import pytest

from shuffleproof.core.errors import FixedScoresError, ParameterError, UsageError
from shuffleproof.core.experiment.precomputed_scores import NOT_SCORED
from shuffleproof.core.parameters import parameters
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.noise import within_noise
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests.every_study import tiny

FAMILY = "transpositions"
ANSWERED = {
    "benchmark": "lists as they are",
    "card": "a start alone",
    "perturbations": "left out, with the reason",
    "initial-rankings": "it reads no initial ranking, so it has one row",
}
"""Kinds that take scores in a file, and what becomes of them."""

OF_RANKERS = [
    kind
    for kind, one in STUDIES.items()
    if any(field.name == "rankers" for field in parameters(one))
]
FUNCTIONS = """
import numpy as np

chance = np.random.default_rng(1)  # seeded, or one test in twenty of noise would fail

def noisy(features, ranks):
    return features[:, 0] + 0.3 * chance.random(len(features))

def follower(features, ranks):
    return -ranks[:, 0] + 0.3 * chance.random(len(features))
"""


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("asked"))
    return run_to_end(Workbench.open("sample", ListRecipe(("feature:3",), 12), store, "small"))


@pytest.fixture
def functions(tmp_path, monkeypatch):
    (tmp_path / "chances.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def scores(workbench, tmp_path):
    path = tmp_path / "mine.txt"
    np.savetxt(path, np.random.default_rng(0).random(workbench.fold.test.documents))
    return f"scores:{path}"


@pytest.mark.parametrize("kind", OF_RANKERS)
def test_a_kind_refuses_scores_in_a_file_or_is_known_to_do_without_asking(kind, workbench, scores):
    question = STUDIES[kind](**tiny(STUDIES[kind]) | {"rankers": (scores,)})
    lists = {"initial": ["feature:3"], "depth": 12}
    work = question.study(Scope(workbench.store, "sample", lists, "small"))
    if kind in ANSWERED:
        run_to_end(work)
        return
    with contextlib.suppress(FixedScoresError, UsageError, ParameterError):
        run_to_end(work)
        pytest.fail(f"{kind} asks scores in a file again: refuse them, or say why not in ANSWERED")


@pytest.mark.parametrize("combination", ["rrf:{}+feature:1", "shuffled:{}"])
def test_combinations_of_a_file_are_refused_by_the_file_s_name(workbench, scores, combination):
    name = combination.format(scores)
    for work in (
        Invariance((name,), 2).run(workbench),
        InitialRanking((name,), ((FAMILY, 5.0),), draws=1).run(workbench),
        WorstCase((name,), budgets=(2,)).run(workbench),
    ):
        with pytest.raises(FixedScoresError) as refused:
            run_to_end(work)
        assert str(refused.value).startswith(f"{name}, {scores}: a score file has no scores")


def test_their_card_has_a_start_and_says_that_nothing_else_was_asked(workbench, scores):
    result = StudyResult.open(run_to_end(Card((scores, "feature:1"), draws=1).run(workbench)).path)
    frame = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker")
    own = frame.loc[scores]
    assert own["worst"] == NOT_SCORED
    assert 0 < own["start"] < 1
    assert np.isnan([own[name] for name in ("end", "kept", "area", "cvar", "flip-top-1")]).all()
    assert frame.loc["feature:1", "worst"] == "none (certified)"


def test_what_a_random_ranker_changes_is_within_its_own_noise(workbench, functions):
    names = ["chances:noisy", "chances:follower", "feature:1"]
    levels = [(FAMILY, 0.0), (FAMILY, 80.0)]
    study = run_to_end(InitialRanking(tuple(names), tuple(levels), draws=2).run(workbench))
    result = StudyResult.open(study.path)
    noisy = within_noise(result, names[0], FAMILY, 80.0)
    assert noisy.startswith("within its own noise (the same order changes it by 0.")
    assert within_noise(result, names[1], FAMILY, 80.0) == "", (
        "it follows the ranking, noise or not"
    )
    assert within_noise(result, names[2], FAMILY, 80.0) == "", "it has no noise"


def test_a_card_tells_noise_too(workbench, functions):
    names = ["chances:noisy", "feature:1"]
    result = StudyResult.open(run_to_end(Card(tuple(names), draws=1).run(workbench)).path)
    frame = card_table.cards(result, FAMILY, "NDCG@10").set_index("ranker")
    assert frame.loc[names[0], "noise"].startswith("within its own noise")
    assert frame.loc[names[1], "noise"] == ""
