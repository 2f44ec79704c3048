"""The sentences of a study's methods, from recipes and facts written by hand."""

import pytest

from shuffleproof.core.studies import methods
from shuffleproof.core.studies.methods import paragraph, references

LISTS = "Candidate lists hold "
SENTENCES = [
    ({}, {"queries": 1, "data": "d"}, "measured on the 1 test query of the data set d."),
    ({}, {"queries": 7, "data": "d", "folds": [1]}, "the 7 test queries of the data set d."),
    ({}, {"data": "d", "folds": [1, 2]}, "on the test queries of the data set d, 2 folds."),
    ({}, {}, "of the data set ?."),
    ({}, {"lists": {"initial": ["a"]}}, f"{LISTS}all documents by a."),
    (
        {},
        {"lists": {"initial": ["a", "b", "c"], "depth": 20, "scores": "in-sample", "folds": 4}},
        "by a and carry the rankings by b, c too; its scores of training queries are its own in-s",
    ),
    (
        {},
        {"lists": {"initial": ["a"], "depth": 0, "scores": "cross-fitted", "folds": 4}},
        f"{LISTS}all documents by a; its scores of training queries are cross-fitted over 4 folds.",
    ),
    (
        {"kind": "set-size", "sizes": [3], "rows": []},
        {"lists": {"initial": ["a"], "depth": 20}},
        f"{LISTS}the top so many documents by a.",
    ),
    ({"rankers": [["mine", "k"]]}, {}, "Compared are mine."),
    ({"rankers": [["feature:1+2", "k"]]}, {}, "Compared are feature:1+2."),
    (
        {"rankers": [["initial ranking", ""], ["place:f", "k"], ["mine", "k"]]},
        {"preset": "small"},
        "Compared are place:f (a Python function, run in a process of its own); mine, at the pres",
    ),
    ({"rows": [{"label": "mine", "seeds": 1}]}, {}, "Compared are mine."),
    (
        {"rows": [{"label": "mine", "seeds": 1}, {"label": "other", "seeds": 2}]},
        {},
        "Compared are mine; other; what is drawn is trained with 2 seeds.",
    ),
    ({"rankers": [["a", "k"]]}, {"ranker": "mine"}, "Compared are variants of mine: a."),
    ({"measures": ["NDCG@10", "moved", "RR"]}, {}, "(2 in all: NDCG@10, RR)."),
    ({"kind": "invariance"}, {"orders": ["reversed"]}, "Orders by rule: reversed."),
    ({"measures": ["NDCG@10"]}, {}, "Intervals of means are 95 % BCa bootstrap intervals"),
]


@pytest.mark.parametrize(("recipe", "facts", "sentence"), SENTENCES)
def test_each_fact_is_told_as_it_is(recipe, facts, sentence):
    assert sentence in paragraph({"kind": "benchmark"} | recipe, facts)


def test_what_is_not_known_is_not_told():
    for facts in ({}, {"lists": "all"}, {"lists": {"depth": 20}}):
        found = paragraph({"kind": "benchmark", "measures": ["moved"]}, facts)
        assert found == "All rankers are measured on the test queries of the data set ?."
    one = paragraph({"kind": "benchmark", "measures": ["NDCG@10"]}, {})
    assert "in all" not in one


def test_runs_tell_their_topics_and_what_is_lacking():
    recipe = {"kind": "benchmark", "runs": ["a", "b", "c"], "measures": ["RR"]}
    facts = {"queries": 1, "data": "q", "missing": {"a": 0, "b": 2, "c": 1}}
    told = paragraph(recipe, facts)
    assert told.startswith("Compared are a, b and c, runs in TREC form, on the 1 topic that q ")
    assert "an empty answer (b lacks 2 and c lacks 1). Effectiveness" in told
    told = paragraph(recipe, facts | {"missing": {"a": 0}, "unjudged": {"a": 1, "b": 0, "c": 3}})
    left = "an empty answer; without judgments and left out: 1 topic of a and 3 topics of c. Eff"
    assert left in told


def test_references_are_of_rankers_lists_families_measures_and_the_study():
    def works(recipe, facts):
        return " ".join(references({"kind": "benchmark"} | recipe, facts))

    tests = "Efron, B. & Tibshirani"
    mart, dlcm = "Friedman, J.", "deep listwise context model"
    assert dlcm in works({"rankers": [["dlcm#1", "k"]]}, {})
    assert mart in works({}, {"lists": {"initial": ["mart"]}})
    assert mart not in works({}, {"lists": "mart"})
    assert dlcm in works({}, {"ranker": "dlcm"})
    assert "Mallows" in works({"perturbations": [["mallows", 0.5]]}, {})
    assert tests in works({"measures": ["RR"]}, {})
    assert tests not in works({"measures": ["moved"]}, {})


@pytest.mark.parametrize("kind", ["card", "perturbations", "worst-case", "group-shuffles"])
def test_studies_without_tests_claim_none(kind):
    said = methods._tests({"kind": kind, "measures": ["NDCG@10"]}, {})
    assert "BCa" in said
    assert "tested" not in said
    assert "tested" in methods._tests({"kind": "benchmark", "measures": ["NDCG@10"]}, {})
