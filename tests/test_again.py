"""A stored study's command and Python find it again; its methods and references are its own."""

import json
import shlex

import pytest

from core.cli.arguments import main
from core.errors import UsageError
from core.metrics.measure import MEASURES
from core.perturb.registry import PERTURBATIONS
from core.rankers import registry
from core.rankers.initial import ListRecipe
from core.store.artefacts import Store
from core.studies import again, initial_rankings, initial_rankings_table, set_size, set_size_table
from core.studies.methods import WORKS, _works, paragraph, rankers_of, references
from core.studies.result import StudyResult
from core.studies.workbench import Workbench, finished
from tests import app_tables as tables

SIZES = (3, 6, 12)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("again"))
    tables.data_set(store, tables.fold())
    return store


@pytest.fixture(scope="module")
def studies(store):
    """A study of each table with rankers that need no training."""
    lists = ListRecipe(("feature:3",), scores="in-sample")
    benches = finished(set_size.opened(tables.DATA, SIZES, lists, store, "paper"))
    sized = set_size.planned(benches, ("feature:1", "file-order"), (3,), ("NDCG@5", "RR"))
    bench = finished(
        Workbench.opened(tables.DATA, ListRecipe(("feature:3", "feature:1"), 12), store)
    )
    many = initial_rankings.planned(bench, ("feature:2",), ("oracle",), ("NDCG@5",))
    return {
        "set-size": finished(set_size.run(benches, sized, tables.DATA)),
        "initial-rankings": finished(initial_rankings.run(bench, many)),
    }


@pytest.mark.parametrize("kind", ["set-size", "initial-rankings"])
def test_the_command_finds_the_study_again(kind, studies, store, capsys):
    artefact = studies[kind]
    words = shlex.split(again.study_command(artefact.recipe, artefact.facts))
    assert words[:3] == ["shuffleproof", "study", kind]
    assert main([*words[1:], "--json", "--store", str(store.root)]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == str(artefact.key)


FINDINGS = {
    "set-size": set_size_table.finding,
    "initial-rankings": initial_rankings_table.finding,
}


@pytest.mark.parametrize("kind", FINDINGS)
def test_the_python_finds_the_study_again(kind, studies, store, capsys, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(store.root))
    before = {artefact.key for artefact in store.artefacts("study")}
    artefact = studies[kind]
    exec(again.study_python(artefact.recipe, artefact.facts), {})  # noqa: S102 (our own lines)
    result = StudyResult.open(artefact.path)
    assert capsys.readouterr().out.strip() == FINDINGS[kind](result, "NDCG@5")
    assert {one.key for one in store.artefacts("study")} == before


def test_what_no_flag_says_is_refused(studies):
    artefact = studies["initial-rankings"]
    lists = dict(artefact.facts["lists"]) | {"folds": 3}
    with pytest.raises(UsageError, match="folds"):
        again.study_command(artefact.recipe, dict(artefact.facts) | {"lists": lists})
    with pytest.raises(UsageError, match="on its own page"):
        again.study_command({"kind": "nothing of the kind"}, {})
    part = {"ranker": registry.spec("mart", "small").recipe(), "lists": {"without part": 1}}
    with pytest.raises(UsageError, match="cross-fitting"):
        again.ranker_command(part, "mine")


def test_a_trained_ranker_says_its_lists():
    spec = registry.spec("setrank-imsab", "paper")
    lists = {"initial": ["feature:3"], "depth": 10, "scores": "in-sample", "folds": 5, "seed": 0}
    words = again.ranker_command({"ranker": spec.recipe(), "lists": lists}, "mine")
    assert words == (
        "shuffleproof train setrank-imsab@paper --data mine --initial feature:3 --depth 10 "
        "--scores in-sample"
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("set-size", "adjusted by Holm"),
        ("set-size", "All are tested on 3, 6 and 12 candidates"),
        ("initial-rankings", "the first is exchanged for oracle"),
    ],
)
def test_methods_tell_data_lists_rankers_change_measure_and_tests(kind, said, studies):
    artefact = studies[kind]
    text = paragraph(artefact.recipe, artefact.facts)
    assert f"the 40 test queries of the data set {tables.DATA}" in text
    assert "documents by feature:3" in text
    assert "NDCG@5 · ideal: judged" in text
    assert "bootstrap" in text
    assert said in text


def test_methods_of_a_disturbed_ranking_name_families_levels_and_draws():
    recipe = {
        "kind": "initial-ranking", "rankers": [["initial ranking", ""], ["dlcm@small", "d"]],
        "perturbations": [["mallows", 0.0], ["mallows", 0.5]], "draws": 3, "seed": 2,
        "measures": ["NDCG@10", "RR"],
    }  # fmt: skip
    text = paragraph(recipe, {"data": "mine", "queries": 9})
    assert "dlcm@small (DLCM, a GRU fed by the initial ranking; Ai et al., SIGIR 2018)" in text
    assert "at 0 and 0.5, 3 draws each, seed 2" in text
    assert "(2 in all: NDCG@10, RR)" in text
    works = " ".join(references(recipe, {}))
    assert "Non-null ranking models" in works
    assert "deep listwise context model" in works
    assert "TREC-5 confusion track" in works
    assert rankers_of(recipe) == ["dlcm@small"]


def test_methods_of_an_ablation_name_the_ranker_and_its_variants():
    recipe = {"kind": "ablation", "rankers": [["paper", "a"], ["released", "b"]],
              "measures": ["NDCG@10"]}  # fmt: skip
    text = paragraph(recipe, {"data": "mine", "ranker": "dlcm"})
    assert "variants of dlcm (DLCM, a GRU fed by the initial ranking" in text
    assert "paper; released" in text
    assert any("deep listwise" in work for work in references(recipe, {"ranker": "dlcm"}))


def test_every_source_with_a_year_is_a_work_that_is_known_or_stands_as_it_is():
    sources = [entry.source for entry in registry.RANKERS.values()]
    known = [work for source in sources for work in _works(source)]
    assert set(known) <= set(WORKS.values()), "a ranker's source is not among the works"
    others = [entry.source for entry in (*PERTURBATIONS.values(), *MEASURES.values())]
    for source in others:
        for work in _works(source):
            assert any(digit.isdigit() for digit in work)


def test_references_are_sorted_and_each_once():
    rows = [{"label": name, "seeds": 1} for name in ("setrank-imsab", "setrank-msab", "mart")]
    found = references({"kind": "benchmark", "rows": rows, "measures": ["NDCG@10"]}, {})
    assert found == sorted(set(found))
    assert sum("SetRank" in work for work in found) == 1
