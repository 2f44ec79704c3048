"""A stored study's command and Python find it again; its methods and references are its own."""

import html
import json
import re
import shlex

import pytest

from shuffleproof.app.report import report
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from shuffleproof.core.rankers import registry
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.methods import rankers_of
from shuffleproof.core.studies.registry import STUDIES
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
