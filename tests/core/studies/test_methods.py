"""References of a study, from recipes and facts written by hand."""

from shuffleproof.core.studies.methods import references


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
