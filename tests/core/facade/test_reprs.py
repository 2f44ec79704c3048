"""What a person meets says what it is in ten lines at most."""

import pytest

import shuffleproof as sp
from shuffleproof.core.data.catalogue import SAMPLE_FOLDER
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import Fusion
from shuffleproof.core.rankers.ensemble import rankers as ensemble
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult

LINES, LETTERS = 10, 1000
"""More letters than ten lines of a notebook's width are too many, too."""


def of_the_workbench(workbench):
    yield "Workbench('sample', preset small", workbench
    yield "RankingDataset(400 queries, 15,995 documents, 10 features)", workbench.fold.train
    yield "150 lists", workbench.prepared.test.lists
    yield "150 lists", workbench.prepared.test
    yield "RankingDataset", workbench.fold
    yield "PreparedFold", workbench.prepared
    yield "feature:3", workbench.recipe
    yield "Store", workbench.store
    yield "dlcm: reads", next(iter(trained(workbench, "dlcm"))).ranker


def trained(workbench, name):
    for one in workbench.store.artefacts("ranker"):
        if one.facts["name"] == name:
            yield sp.run_to_end(workbench.train(RankerName.parse(f"{name}#{one.key.digest[:8]}")))


def assert_short(thing, said):
    text = repr(thing)
    assert said in text
    assert text.count("\n") < LINES
    assert len(text) < LETTERS


def test_what_a_workbench_holds(trained_sample):
    for said, thing in of_the_workbench(trained_sample[1]):
        assert_short(thing, said)


def test_rankers_of_every_family_that_ships():
    kept = {one.facts["name"]: one for one in Store(SAMPLE_FOLDER).artefacts("ranker")}
    for artefact in kept.values():
        ranker = registry.load(artefact.path)
        assert_short(ranker, f"{type(ranker).__name__}(")
    members = [registry.load(kept[name].path) for name in ("dlcm", "mart")]
    assert_short(ensemble.combine(members, Fusion()), "rrf:dlcm+mart: reads")


@pytest.mark.parametrize("kind", STUDIES)
def test_questions_and_results(kind, every_study):
    artefact = every_study[1][kind]
    result = StudyResult.open(artefact.path)
    assert_short(result, f"StudyResult({kind} of my_set: ")
    assert_short(result, str(artefact.key))
    assert_short(artefact, "study")
    assert_short(reproduce.question_of(artefact.recipe, artefact.facts), STUDIES[kind].__name__)
