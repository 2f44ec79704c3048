"""Certified top documents: no attack breaks a certificate, and the study tells both sides."""

import re
from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.injection import Bounds
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import SubsetOptions
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.rankers.univariate import FeatureRanker
from shuffleproof.core.studies.kinds.certified_top_k import sections, study
from shuffleproof.core.studies.kinds.certified_top_k.changed_lists import (
    Attack,
    ListOfOne,
    margins,
    scores_with_each,
)
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from tests.soak import certificates
from tests.synthetic import planted

DATASET = planted((2, 2, 12), seed=3, documents=9).test
LISTS = CandidateLists.ranked_by(DATASET, DATASET.feature(3)[:, None])
BASE = JudgedLists(DATASET, LISTS)


def network(name="setrank-imsab", **changed):
    spec = registry.spec(name, "small", **changed)
    return NeuralRanker.untrained(spec, fit("z-score", DATASET), DATASET.feature_ids, "cpu")


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("name", ["setrank-imsab", "setrank-imsab-init", "gsf"])
def test_scores_with_an_added_document_are_the_rankers(name, size):
    """Scores from the new sets alone equal scores of the whole changed list."""
    ranker = SubsetRanker(network(name), SubsetOptions(size, 3000))
    start = ListOfOne.of(BASE, 2)
    scores, tries = start.scores(ranker), DATASET.features[[0, 40]]
    quick = scores_with_each(ranker, start, scores, tries)
    for one, vector in zip(quick, tries, strict=True):
        real = start.with_documents(vector[None]).scores(ranker)
        assert one == pytest.approx(real, abs=1e-5 if size <= 3 else 0.1)


def test_plain_rankers_are_scored_again():
    ranker, start = network(), ListOfOne.of(BASE, 1)
    quick = scores_with_each(ranker, start, start.scores(ranker), DATASET.features[:2])
    real = [start.with_documents(DATASET.features[[one]]).scores(ranker) for one in (0, 1)]
    assert quick == pytest.approx(np.array(real), abs=1e-5)


def test_an_added_document_is_first_in_the_initial_ranking():
    more = ListOfOne.of(BASE, 0).with_documents(DATASET.features[:1])
    assert more.whole.rows[0] == len(more) - 1
    assert more.whole.ranks[0, 0] == 0


@pytest.mark.parametrize("size", [2, 3])
def test_removal_and_duplication_are_those_of_the_scored_lists(size):
    ranker, start = SubsetRanker(network(), SubsetOptions(size)), ListOfOne.of(BASE, 3)
    (scored,) = ranker.sets(start.dataset, CandidateLists.all_documents(start.dataset))
    sets = study.all_sets(ranker, start, scored)
    without, twice = sets.without(), sets.duplicated()
    for changed in range(len(start)):
        real = start.with_documents(start.dataset.features[[changed]]).scores(ranker)
        assert twice[changed] == pytest.approx(real[:-1], abs=1e-5)
        left = np.delete(np.arange(len(start)), changed)
        rest = LISTS.select(np.array([3]))
        rest = rest.subsets(np.flatnonzero(rest.rows != rest.rows[changed])[None])
        real = ranker.score(DATASET, rest)
        assert without[changed][left] == pytest.approx(real, abs=1e-5)


def test_no_attack_breaks_a_certificate():
    """A few hundred attacked lists; `tests.soak.certificates` attacks 10,000."""
    attacked, broken, pushed = certificates.attacked_lists(seed=1, wanted=400)
    assert attacked >= 400
    assert broken == 0
    assert pushed > 0  # the attack finds documents without a certificate


def test_gradient_steps_help():
    """The network's own gradient finds more harmful documents than tries alone."""
    ranker, harm = network(), {}
    for followed in (True, False):
        attack = Attack(ranker, DATASET.features, 4, 4)
        if not followed:
            attack = replace(attack, ranker=Hidden(ranker))
        worst = []
        for at in range(len(LISTS)):
            start = ListOfOne.of(BASE, at)
            scores = start.scores(ranker)
            top = np.argsort(-scores)[:3]
            (after,) = attack.scores(start, scores, top, 1, np.random.default_rng(at))
            worst.append(margins(after[None], top, 4).min())
        harm[followed] = np.mean(worst)
    assert harm[True] < harm[False]


class Hidden:
    """A ranker whose network cannot be seen."""

    def __init__(self, ranker):
        self.name, self.reads, self.rankings, self.score = (
            ranker.name, ranker.reads, ranker.rankings, ranker.score,
        )  # fmt: skip


@pytest.fixture(scope="module")
def result(every_study):
    return StudyResult.open(every_study[1]["certified-top-k"].path)


def test_the_study_tells_both_sides(result):
    answer = sections.answer(result, View())
    subset, alone, plain = ("subset-2:gsf", "feature:1", "gsf#")
    rows = {(row["ranker"].partition("#")[0], row["inject"]): row for row in answer["rows"]}
    assert {inject for _, inject in rows} == {1, 2}
    for (ranker, _), row in rows.items():
        assert (row["k"], row["K"], row["n"]) == (2, 3, 3)
        if ranker == plain[:-1]:
            assert row["certified"] is None
        else:
            assert 0 <= row["certified"] <= 1 - row["attacked"]
            assert row["low"] <= row["certified"] <= row["high"]
    # Of two top documents in three places, one added document cannot push out either
    assert rows[alone, 1]["certified"] == 1
    assert rows[alone, 2]["certified"] == 0.5
    assert rows[subset, 1]["certified"] >= rows[subset, 2]["certified"]
    (price,) = answer["price"]
    assert price["difference"] == pytest.approx(price["smoothed"] - price["plain"])
    assert price["above"] == pytest.approx(price["smoothed"] - price["alone_value"])
    assert {row["change"] for row in answer["changes"]} == {"removed", "duplicated"}
    moves = {(row["ranker"].partition("#")[0], row["document"]): row for row in answer["boxes"]}
    assert {document for _, document in moves} == {"3", "4", "last"}
    # Sets have no bound, whole lists an attack, and one feature both
    assert {ranker for ranker, _ in moves} == {alone, plain[:-1]}
    for (ranker, _), row in moves.items():
        assert row["n"] == 3
        assert row["attacked"] > 0
        assert (row["certified"] is None) == (ranker == plain[:-1])
    assert moves[alone, "3"]["exact"] == 1
    assert moves[alone, "3"]["certified"] <= moves[alone, "last"]["certified"]
    told = sections.headline(result, View()).text
    assert "One added document pushed" in told
    assert f"{RankerName.of(alone).display} provably keep all" in told


def test_the_sentences_of_a_query_are_its_values(result):
    (label, _), *_ = result.recipe["subsets"]
    k, levels = result.recipe["k"], result.recipe["inject"]
    told = {query: sections.of_query(result, query) for query in result.query_ids}
    for at, level in enumerate(levels):
        shares = result.draws(label, study.INJECTED, float(level), "certified")
        rows = [sentences[at] for sentences in told.values() if sentences]
        found = [int(re.search(r": (\d+) of", one)[1]) / k for one in rows]
        assert np.mean(found) == pytest.approx(np.nanmean(shares))
    assert any(told.values())
    assert sections.of_query(result, "no such query") == []


def test_bounds_of_drawn_sets_are_wider(result, every_study):
    plan = study.Plan.of(result.recipe)
    scores = np.append([1.0, 0.9], np.zeros(10))
    ranker = SubsetRanker(network(), SubsetOptions(5))
    drawn = study.Examination(plan, ranker, BASE, np.empty(0, np.float32))._certified(
        scores, np.arange(2), 1
    )
    exact = np.mean([Bounds.exact(scores, 5).is_certified(one, 1, 3) for one in range(2)])
    assert drawn < exact


@pytest.mark.parametrize(
    ("question", "finding"),
    [
        (CertifiedTopK(("feature:1",), ("gsf@small",)), "one by one"),
        (CertifiedTopK(("feature:1",), k=5, K=4), "at least k"),
    ],
)
def test_what_makes_no_study_is_refused(question, finding, trained_sample):
    _, workbench = trained_sample
    scope = Scope(workbench.store, data=workbench.name)
    with pytest.raises(UsageError, match=finding):
        question.check(scope) or run_to_end(question.run(workbench))


def test_rankers_whose_clean_sets_change_are_refused():
    with pytest.raises(UsageError, match="within the query"):
        study._check(replace(network(), normalisation=fit("query-z-score", DATASET)))
    reading = FeatureRanker(1)
    object.__setattr__(
        reading, "__class__", type("Reading", (FeatureRanker,), {"reads": {"texts"}})
    )
    with pytest.raises(UsageError, match="reads texts"):
        study._check(reading)
