"""The answer in one sentence: what becomes of rankers, and how it is said."""

import numpy as np
import pytest

from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.studies.headline import (
    DEGRADES,
    FAILS,
    INCONCLUSIVE,
    ROBUST,
    TIE,
    TIERS,
    headline,
    losses,
)
from shuffleproof.core.studies.kinds.perturbations.study import trials_where
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View

QUERIES = 400


@pytest.mark.parametrize(
    ("lost", "spread", "noisy", "tier"),
    [
        (0.0, 0.0, False, ROBUST),
        (0.005, 0.02, False, ROBUST),
        (-0.1, 0.02, False, ROBUST),
        (0.04, 0.1, False, DEGRADES),
        (0.2, 0.1, False, FAILS),
        (0.2, 0.1, True, TIE),
        (0.02, 2.0, False, INCONCLUSIVE),
    ],
)
def test_what_becomes_of_a_ranker_follows_from_its_paired_losses(lost, spread, noisy, tier):
    before = np.ones(QUERIES)
    deviations = np.tile([-spread, spread], QUERIES // 2)
    point = ("dlcm", "by 1 swap")
    (found,) = losses({point: (before, before - lost - deviations)}, [point] if noisy else [])
    assert found.tier == tier
    assert found.share == pytest.approx(lost)


def test_a_loss_is_tested_among_all_that_are_named():
    rng, before = np.random.default_rng(0), np.ones(30)
    false = 0
    for _ in range(200):
        noise = rng.normal(0, 0.3, (20, 30))
        found = losses({("dlcm", str(at)): (before, before - row) for at, row in enumerate(noise)})
        assert found[0].share > 0.02
        false += any(loss.tier in {DEGRADES, FAILS} for loss in found)
    assert false <= 12  # 2.5 % are due: either end of 5 %; 12 of 200 are three deviations more


def test_queries_left_out_and_rankers_without_a_value_say_nothing():
    none = np.full(4, np.nan)
    assert headline(losses({("dlcm", "x"): (none, none)})).tier == INCONCLUSIVE
    some = np.array([0.5, np.nan, 0.5, 0.5])
    (found,) = losses({("dlcm", "x"): (some, some)})
    assert (found.tier, found.share) == (ROBUST, 0.0)


@pytest.mark.parametrize("kind", STUDIES)
def test_the_shipped_study_of_each_kind_answers_in_a_sentence(kind):
    of_kind = [one for one in default_store().artefacts("study") if one.recipe["kind"] == kind]
    for artefact in of_kind:
        result = StudyResult.open(artefact.path)
        told = STUDIES[kind].sections_module().headline(result, View())
        words = [word for word in told.text.split() if word.strip("+%=")]
        assert 3 <= len(words) <= 25
        assert told.text.endswith(".")
        assert told.tier in {*TIERS, ""}
        assert bool(told.why) == bool(told.tier)
    assert of_kind


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_that_was_stopped_answers_from_what_is_there(kind):
    of_kind = [one for one in default_store().artefacts("study") if one.recipe["kind"] == kind]
    result = StudyResult.open(of_kind[0].path)
    count = len(result.trials)
    for whole in sorted({1, 2, count // 3, count // 2, count - 1}):
        begun = trials_where(result, [at < whole for at in range(count)])
        assert STUDIES[kind].sections_module().headline(begun, View()).text
