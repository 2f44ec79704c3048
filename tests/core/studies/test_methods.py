"""A study's methods and references, from recipes and facts written by hand."""

import pytest

from shuffleproof.core.studies.methods import paragraph, references

SENTENCES = [
    ({}, {"queries": 1, "data": "d", "folds": [1]}, "on the 1 test query of the data set d."),
    ({}, {"data": "d", "folds": [1, 2]}, "on the test queries of the data set d, 2 folds."),
    ({}, {"lists": {"initial": ["a"], "depth": 0}}, "all documents by a."),
    ({}, {"lists": {"initial": ["a"], "depth": 20}}, "the top 20 documents by a."),
    ({"rankers": [["initial ranking", ""], ["mine", "k"]]}, {}, "Compared are mine."),
    ({"rows": [{"label": "a", "seeds": 1}, {"label": "b", "seeds": 2}]}, {}, "use 2 seeds."),
    ({"rows": [{"label": "a", "seeds": 1}]}, {}, "Compared are a."),
    ({"measures": ["NDCG@10", "moved", "RR"]}, {}, "(2 in all: NDCG@10, RR)."),
    ({"runs": ["a", "b"]}, {"queries": 1, "data": "q", "missing": {"a": 0, "b": 2}}, "(b lacks 2)"),
]


@pytest.mark.parametrize(("recipe", "facts", "sentence"), SENTENCES)
def test_each_fact_is_told_as_it_is(recipe, facts, sentence):
    assert sentence in paragraph({"kind": "benchmark"} | recipe, facts)


def test_references_are_of_rankers_lists_families_measures_and_the_study():
    def works(recipe, facts):
        found = references({"kind": "benchmark"} | recipe, facts)
        assert found == sorted(set(found))
        return found

    mart, dlcm, tests = "Friedman 2001", "Ai et al., SIGIR 2018", "Holm 1979"
    assert dlcm in works({"rankers": [["dlcm#1", "k"]]}, {})
    assert mart in works({}, {"lists": {"initial": ["mart"]}})
    assert mart not in works({}, {"lists": "mart"})
    assert dlcm in works({}, {"ranker": "dlcm"})
    assert any("Mallows" in one for one in works({"perturbations": [["mallows", 0.5]]}, {}))
    assert tests in works({"measures": ["RR"]}, {})
    assert tests not in works({"measures": ["moved"]}, {})
    assert tests not in works({"kind": "card", "measures": ["RR"]}, {})
