"""Studies as methods: made from the registry, the same studies as those of the commands."""

import inspect
import json
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import shuffleproof as sp
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.by_name import by_name
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.result import Result
from tests import app_tables as tables

LISTS = {"initial": "feature:3", "depth": 10, "scores": "in-sample"}


@pytest.fixture(scope="module")
def store(every_study):
    return every_study[0]


@pytest.fixture(scope="module")
def mine(store):
    return sp.open(tables.DATA, store=store, preset="small", progress=False, **LISTS)


@pytest.fixture(scope="module")
def results(every_study):
    _, artefacts, _ = every_study
    return {kind: Result.open(artefacts[kind].path) for kind in STUDIES}


def names_of(kind):
    return (kind.replace("-", "_"),)


@pytest.mark.parametrize("kind", STUDIES)
def test_every_kind_is_a_method_that_says_what_it_takes(kind, mine):
    for name in names_of(kind):
        method = getattr(sp.Studies, name)
        assert {name} <= set(dir(mine))
        assert method.__name__ == name
        taken = inspect.signature(method).parameters
        fields = list(parameters(STUDIES[kind]))
        assert list(taken)[1 : len(fields) + 1] == [field.name for field in fields]
        for field in fields:
            assert f"{field.name}: {field.help or field.label}" in method.__doc__
            if field.flags is None:
                default = inspect.Parameter.empty if field.is_required else field.default
                assert taken[field.name].default == default
        assert STUDIES[kind].title in inspect.getdoc(method)


@pytest.mark.parametrize("kind", STUDIES)
def test_a_method_finds_what_its_question_has_stored(kind, every_study):
    store, artefacts, _ = every_study
    artefact = artefacts[kind]
    question = reproduce.question_of(artefact.recipe, artefact.facts)
    given = {field.name: getattr(question, field.name) for field in parameters(question)}
    lists = {**artefact.facts["lists"], "preset": artefact.facts["preset"]}
    opened = sp.open(artefact.facts["data"], store=store, progress=False, **lists)
    found = getattr(opened, names_of(kind)[0])(**given)
    assert found.directory == artefact.path


@pytest.mark.parametrize("kind", STUDIES)
def test_a_result_shows_what_its_page_shows(kind, results):
    result = results[kind]
    said = repr(result)
    assert said.count("\n") < 10
    assert result.directory.name in said
    assert all(line[:100] in said for line in result.finding.splitlines()[:2])
    page = result._repr_html_()
    assert "<script" not in page
    assert "<table" in page
    for number, title in enumerate(result.tables, start=1):
        table = result.table(number)
        assert table.columns.is_unique
        assert title[:40] in result.table(title).attrs.get("title", title)
    assert isinstance(result.summary(), pd.DataFrame)
    assert len(result.per_query()) == len(result.trials) * len(result.query_ids) * len(
        result.measures
    )
    assert result.methods
    assert f"study {kind}" in result.command
    assert "ask(" in result.python


def test_a_figure_is_the_one_of_the_report(results):
    result = results["initial-ranking"]
    assert type(result.figure()).__name__ == "Figure"
    with pytest.raises(UsageError, match=r"figures 1 \(Loss\) and 2 \(Mean\)"):
        result.figure(3)
    with pytest.raises(UsageError, match="has no figure"):
        results["invariance"].figure()


@pytest.mark.parametrize(
    ("ending", "flags", "words"),
    [
        (".csv", {}, ()),
        (".csv", {"per_query": True, "measures": ["NDCG@5", "RR"]},
         ("--per-query", "--measures", "NDCG@5,RR")),
        (".tex", {"digits": 4}, ("--digits", "4")),
        (".json", {}, ()),
        (".md", {"measures": "NDCG@10"}, ("--measures", "NDCG@10")),
    ],
)  # fmt: skip
def test_an_export_is_that_of_the_command(ending, flags, words, results, tmp_path):
    result = results["set-size"]
    ours, theirs = tmp_path / f"ours{ending}", tmp_path / f"theirs{ending}"
    assert result.export(ours, **flags) == ours
    root = str(result.directory.parents[1])
    assert main(["export", result.directory.name, str(theirs), *words, "--store", root]) == 0
    assert ours.read_bytes() == theirs.read_bytes()


def fields(kind):
    return {field.name: field for field in parameters(STUDIES[kind])}


@pytest.mark.parametrize(
    ("kind", "name", "given", "value"),
    [
        ("card", "rankers", "dlcm, mart", ("dlcm", "mart")),
        ("card", "rankers", ["dlcm"], ("dlcm",)),
        ("card", "draws", "3", 3),
        ("card", "draws", np.int64(3), 3),
        ("ablation", "ranker", ["dlcm"], "dlcm"),
        ("ablation", "sizes", "own", None),
        ("ablation", "levels", [0, 2.5], (0, 2.5)),
        ("benchmark", "measures", Measure.parse("AP"), ("AP",)),
        ("benchmark", "measures", "NDCG(ideal=shown,ties=row)@10, RR",
         ("NDCG(ideal=shown,ties=row)@10", "RR")),
        ("set-size", "sizes", range(10, 30, 10), (10, 20)),
        ("set-size", "sizes", 10, (10,)),
        ("set-size", "sizes", np.array([10, 20]), (10, 20)),
        ("worst-case", "search", {"method": "beam"}, {"method": "beam"}),
        ("worst-case", "queries", None, None),
        ("perturbations", "perturbations", {"cut": 0.5}, (("cut", 0.0), ("cut", 0.5))),
        ("perturbations", "perturbations", ("cut", 0.5), (("cut", 0.5),)),
        ("perturbations", "perturbations", [("cut", 1), ("mallows", 2)],
         (("cut", 1.0), ("mallows", 2.0))),
        ("perturbations", "perturbations", ["singleton", "reverse-shown"],
         (("singleton", 0.0), ("singleton", 1.0), ("reverse-shown", 0.0), ("reverse-shown", 1.0))),
    ],
)  # fmt: skip
def test_values_are_taken_as_people_write_them(kind, name, given, value):
    assert by_name(fields(kind)[name], given) == value


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda mine: mine.card(), "rankers"),
        (lambda mine: mine.card("feature:1", drawz=2), "draws"),
        (lambda mine: mine.card("feature:1", draws=0), "at least 1"),
        (lambda mine: mine.card("feature:1", draws=[1, 2]), "whole number"),
        (lambda mine: mine.card("dlmc"), "did you mean dlcm"),
        (lambda mine: mine.card(3), "cannot be a ranker"),
        (lambda mine: mine.card("feature:1", queries=0), "from 1 on"),
        (lambda mine: mine.card("feature:1", max_seconds=0), "above 0"),
        (lambda mine: mine.benchmark("feature:1", measures=[]), "at least one"),
        (lambda mine: mine.benchmark([]), "at least one"),
        (lambda mine: mine.worst_case("feature:1", search={"methd": "beam"}), "mean method"),
        (lambda mine: mine.worst_case("feature:1", search="beam"), "object"),
        (lambda mine: mine.card("feature:1", "nonsense"), "known:"),
        (lambda mine: mine.initial_ranking("feature:1", measures="NDGC@5"), "NDCG"),
        (lambda mine: mine.train("dlmc"), "did you mean dlcm"),
        (lambda mine: mine.train("dlcm", epoch=3), "epochs"),
        (lambda mine: mine.certify("dlmc"), "did you mean dlcm"),
        (lambda mine: mine.explain(0, "feature:1", "D1"), r"list of one or two ids: \['D1', …\]"),
        (lambda mine: mine.doctor(part="tset"), "test"),
        (lambda _: sp.open("no such data"), "library list"),
        (lambda _: sp.open("sample", initial="dlcm"), "cannot be the initial one"),
        (lambda _: sp.open("sample", dept=3), "did you mean depth"),
        (lambda _: sp.ingest("x.txt"), "name"),
        (lambda _: sp.ingest("no such file", "mine"), "Check the path"),
        (lambda _: sp.ingest("x.txt", "mine", splitt=1), "did you mean split"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_to_do(call, named, mine, tmp_path, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path))
    with pytest.raises(ShuffleproofError, match=named):
        call(mine)


def test_a_trained_ranker_scores_and_stands_for_its_name(mine):
    ranker = mine.train("ranknet", epochs=1, steps_per_epoch=2)
    test = mine.lists["test"]
    assert ranker.score(test).shape == test.lists.rows.shape
    found = mine.invariance([ranker, "feature:1"], permutations=2)
    (label, _), *_ = found.recipe["rankers"]
    assert label == ranker.stored_name == f"ranknet#{ranker.artefact.key.digest[:8]}"
    assert mine.certify(ranker, 2).ranker == label
    assert mine.train("ranknet", epochs=1, steps_per_epoch=2).cached


def test_things_of_ones_own_are_taken_where_names_are(mine):
    @sp.measure
    def graded_at_top(labels):
        return float(labels[:2].mean())

    @sp.perturbation(levels=(1,))
    def turned(ranks, generator, level):
        return np.arange(len(ranks))[::-1] if level else np.arange(len(ranks))

    def mine_only(features, ranks):
        return features[:, 0]

    given = [mine_only, mine.train("ranknet", epochs=1, steps_per_epoch=2)]
    found = mine.perturbations(given, turned, [graded_at_top, "RR"], draws=1)
    labels = {label for label, _ in found.recipe["rankers"]}
    assert any(label.startswith("python:mine_only") for label in labels)
    assert found.measures[0].partition("#")[0] == "graded_at_top"
    assert "graded_at_top" in repr(found)
    levels = mine.perturbations(given, {turned: 1}, graded_at_top, draws=1)
    assert levels.recipe["perturbations"] == found.recipe["perturbations"]
    assert mine.certify(mine_only, 2).verdict == "invariant"


def test_ingest_reads_and_finds_what_the_command_does(tmp_path, capsys):
    lines = [
        f"{grade} qid:{query} 1:{grade} 2:{place} 3:1\n"
        for query in range(10)
        for place, grade in enumerate((1, 0, 0, 2))
    ]
    (tmp_path / "all.txt").write_text("".join(lines))
    split = (0.5, 0.25, 0.25)
    found = sp.ingest(
        tmp_path / "all.txt", "mine", split=split, store=tmp_path / "a", progress=False
    )
    words = ["ingest", str(tmp_path / "all.txt"), "--name", "mine", "--split", "0.5,0.25,0.25"]
    assert main([*words, "--store", str(tmp_path / "b"), "--json"]) == 0
    (fold,) = json.loads(capsys.readouterr().out)["folds"]
    assert (
        found.workbench.store.names()["mine"]
        == sp.open("mine", store=tmp_path / "b").scope.store.names()["mine"]
    )
    told = [
        f"{one['severity']} {one['where'] or 'all'}: {one['message']}" for one in fold["findings"]
    ]
    assert list(found.notes) == [*fold["notes"], *told]
    assert len(told) > 0
    assert repr(found).count("\n") < 10
    severities = found.doctor()["severity"].to_list()
    assert len([one for one in severities if one != "info"]) == len(told)


def test_a_study_of_the_first_queries_and_one_that_was_stopped_say_so(mine):
    few = mine.card("feature:1", draws=2, queries=7)
    assert len(few.query_ids) == 7
    assert "The first 7" in few.finding
    stopped = mine.card("feature:1, feature:2", draws=2, seed=9, max_seconds=0.001)
    assert stopped.finding.startswith("Stopped after")
    assert len(stopped.table()) > 0
    with pytest.raises(UsageError, match="without max_seconds"):
        stopped.export("never.csv")
    whole = mine.card("feature:1, feature:2", draws=2, seed=9)
    assert len(whole.trials) > len(stopped.trials)


class FakeBar:
    made: ClassVar[list] = []

    def __init__(self, total, desc, *, leave, **_):
        assert not leave
        self.total, self.desc, self.n, self.closed = total, desc, 0, False
        FakeBar.made.append(self)

    def update(self, count):
        self.n += count

    def set_postfix(self, values, *, refresh):
        assert values
        assert not refresh

    def close(self):
        self.closed = True


@pytest.mark.parametrize("progress", [True, False])
def test_work_shows_a_bar_unless_it_is_told_not_to(progress, store, monkeypatch):
    for module in ("tqdm", "tqdm.auto"):
        monkeypatch.setattr(f"{module}.tqdm", FakeBar)
    FakeBar.made.clear()
    opened = sp.open(tables.DATA, store=store, preset="small", progress=progress, **LISTS)
    seed = 100 + progress
    opened.card("feature:1", draws=1, seed=seed)
    assert bool(FakeBar.made) is progress
    assert all(bar.closed and bar.n <= bar.total for bar in FakeBar.made)
    if progress:
        assert FakeBar.made[-1].desc.startswith("card: ")
        assert FakeBar.made[-1].n == FakeBar.made[-1].total


def test_importing_the_package_loads_nothing_heavy():
    program = (
        "import sys, shuffleproof as sp; dir(sp)\n"
        "print([one for one in ('numpy', 'pandas', 'torch', 'plotly') if one in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_the_doctor_examines_objects_on_the_lists_that_are_open(mine):
    assert set(mine.doctor("feature:3", queries=20)["code"]) == {"pass-through"}
    (row,) = mine.doctor(lambda features: features[:, 0] * 0, queries=3).to_dict("records")
    assert row["code"] == "constant-scores"
    assert set(row["queries"]) <= set(mine.lists["test"].dataset.query_ids)
