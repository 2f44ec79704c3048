"""A stored study's command and Python find it again; its methods and references are its own."""

import html
import json
import re
import shlex

import pytest

from shuffleproof.app.report import report
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import MEASURES
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers import registry
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.methods import WORKS, _works, paragraph, rankers_of, references
from shuffleproof.core.studies.registry import STUDIES
from tests import app_tables as tables
from tests.every_study import KINDS, RUNS


@pytest.fixture(scope="module")
def store(every_study):
    return every_study[0]


@pytest.fixture(scope="module")
def studies(every_study):
    return every_study[1]


@pytest.fixture(scope="module")
def folder(every_study):
    return every_study[2]


@pytest.fixture(autouse=True)
def beside_the_runs(folder, monkeypatch):
    """Commands name files as they lie here."""
    monkeypatch.chdir(folder)


def test_no_study_is_forgotten(studies):
    assert set(studies) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_finds_the_study_again(kind, studies, store, capsys):
    artefact = studies[kind]
    words = shlex.split(reproduce.study_command(artefact.recipe, artefact.facts))
    assert words[0] == "shuffleproof"
    assert main([*words[1:], "--json", "--store", str(store.root)]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == str(artefact.key)


@pytest.mark.parametrize("kind", KINDS)
def test_the_python_finds_the_study_again(kind, studies, store, capsys, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(store.root))
    opened = []
    find = Store.find
    monkeypatch.setattr(Store, "find", lambda own, key: opened.append(key) or find(own, key))
    before = {artefact.key for artefact in store.artefacts("study")}
    artefact = studies[kind]
    exec(reproduce.study_python(artefact.recipe, artefact.facts), {})  # noqa: S102 (our own lines)
    assert capsys.readouterr().out, "it prints what was found"
    assert kind == RUNS or artefact.key in opened
    assert {one.key for one in store.artefacts("study")} == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_has_question_methods_references_and_needs_nothing_else(kind, studies):
    artefact = studies[kind]
    page = report([artefact.path])
    body = page.partition("<body>")[2]
    assert html.escape(STUDIES[artefact.recipe["kind"]].title) in body
    assert "<figure" in body or kind == "invariance"
    assert "<h3>Methods</h3>" in body
    assert "<li>" in body or kind == "card"
    assert "shuffleproof " in body
    assert "nan" not in body.partition("<h3>Methods")[2].partition("<details>")[0]
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", body)
    for name in rankers_of(artefact.recipe):
        assert html.escape(name) in body


def test_what_no_flag_says_is_refused(studies):
    artefact = studies["initial-rankings"]
    lists = dict(artefact.facts["lists"]) | {"folds": 3}
    with pytest.raises(UsageError, match="folds"):
        reproduce.study_command(artefact.recipe, dict(artefact.facts) | {"lists": lists})
    with pytest.raises(UsageError, match="this version has no study"):
        reproduce.study_command({"kind": "nothing of the kind"}, {})
    part = {"ranker": registry.spec("mart", "small").recipe(), "lists": {"without part": 1}}
    with pytest.raises(UsageError, match="cross-fitting"):
        reproduce.ranker_command(part, "mine")


def test_a_trained_ranker_says_its_lists():
    spec = registry.spec("setrank-imsab", "paper")
    lists = {"initial": ["feature:3"], "depth": 10, "scores": "in-sample", "folds": 5, "seed": 0}
    words = reproduce.ranker_command({"ranker": spec.recipe(), "lists": lists}, "mine")
    assert words == (
        "shuffleproof train setrank-imsab@paper --data mine --initial feature:3 --depth 10 "
        "--scores in-sample"
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("set-size", "adjusted by Holm"),
        ("set-size", "sizes: 3,12"),
        ("initial-rankings", "swaps: oracle"),
    ],
)
def test_methods_tell_data_lists_rankers_change_measure_and_tests(kind, said, studies):
    artefact = studies[kind]
    text = paragraph(artefact.recipe, artefact.facts)
    assert f"the 40 test queries of the data set {tables.DATA}" in text
    assert "documents by feature:3" in text
    assert "NDCG@5 · gain: 2^y − 1 · ideal: judged" in text
    assert "bootstrap" in text
    assert said in text


@pytest.mark.parametrize(
    ("label", "preset", "said"),
    [
        ("dlcm-listmle", "paper", "is read as v · (o · tanh(W s + b))"),
        ("dlcm", "released", "is the released code's v · tanh(U o + W s + b)"),
        ("dlcm@paper", "released", "is read as v · (o · tanh(W s + b))"),
        ("ranknet@tuned", "paper", "the mean over a list's pairs, where its paper sums"),
        ("lambdamart", "paper", None),
    ],
)
def test_methods_name_the_readings_that_the_rankers_rest_on(label, preset, said):
    recipe = {
        "kind": "initial-ranking", "rankers": [[label, "d"]], "measures": ["NDCG@10"], "seed": 0,
        "perturbations": [["shuffle", 0.0], ["shuffle", 0.5]], "draws": 3,
    }  # fmt: skip
    text = paragraph(recipe, {"data": "mine", "queries": 9, "preset": preset})
    assert ("Readings of ours: " in text) == (said is not None)
    assert (said or "") in text


def test_methods_of_a_disturbed_ranking_name_families_levels_and_draws():
    recipe = {
        "kind": "initial-ranking", "rankers": [["initial ranking", ""], ["dlcm@small", "d"]],
        "perturbations": [["mallows", 0.0], ["mallows", 0.5]], "draws": 3, "seed": 2,
        "measures": ["NDCG@10", "RR"],
    }  # fmt: skip
    text = paragraph(recipe, {"data": "mine", "queries": 9})
    assert "DLCM small (DLCM, a GRU fed by the initial ranking; Ai et al., SIGIR 2018)" in text
    assert "at 0 and 0.5; draws: 3, seed: 2" in text
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
    assert "variants of DLCM (DLCM, a GRU fed by the initial ranking" in text
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
