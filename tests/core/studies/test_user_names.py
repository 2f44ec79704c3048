"""Studies of user code: asked like any other, known by its code, read where nobody knows it."""

import subprocess
import sys

import numpy as np
import pytest

import shuffleproof
from shuffleproof.core import user_code
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.outside.user_rankers import name_of
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.by_name import by_name
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.user_names import of
from shuffleproof.core.studies.workbench import Workbench, ask, run_to_end
from tests import small_set


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user-code")
    return small_set.made(folder, small_set.LISTS).store


class Means:
    """Learns the mean grade of each value of the second feature."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, train, valid, seed=0):
        del valid
        values = train.features[:, 1]
        self.means = {one: train.labels[values == one].mean() for one in np.unique(values)}
        self.noise = 0.01 * seed

    def score(self, features):
        drawn = self.noise * np.sin(np.arange(len(features)))
        return np.array([self.means.get(one, 0.0) for one in features[:, 1]]) + self.shift + drawn


class Kept(Means):
    def save(self, directory):
        (directory / "means.json").write_text(repr(self.shift))

    @classmethod
    def load(cls, directory):
        return cls(float((directory / "means.json").read_text()))


def by_rank(features, ranks):
    return features[:, 1] - ranks[:, 0]


def register(scale=1.0):
    shuffleproof.measure("top", lambda labels: scale * float(labels[0]) if len(labels) else np.nan)
    shuffleproof.perturbation(
        "turn", lambda ranks, _, level: np.roll(ranks, -level), changes="ranking", levels=(1, 2)
    )
    return shuffleproof.ranker("means", Means)


def asked(question, store):
    return ask(question, "mine", store=store, preset="small", initial=small_set.LISTS.initial)


def questions(means):
    mine, levels = name_of(by_rank), (("turn", 0.0), ("turn", 2.0))
    return {
        "degradation": InitialRanking((mine, means), levels, measures=("top", "RR"), draws=2),
        "perturbations": Perturbations((mine, means), (*levels, ("train-seed", 1.0)),
                                       measures=("top",), draws=1),
        "card": Card((means,), families=("turn",), draws=1),
        "benchmark": Benchmark((mine, means), measures=("top@3",), seeds=2),
        "set size": SetSize((means, mine), sizes=(2, 4), measures=("top",), seeds=2),
        "invariance": Invariance((mine, means)),
    }  # fmt: skip


@pytest.mark.parametrize("kind", questions("mart"))
def test_every_kind_of_study_takes_user_code_and_finds_what_it_stored(kind, store):
    asked(questions(register())[kind], store)
    found = asked(questions(register())[kind], store)
    again = asked(questions(register())[kind], store)
    assert found.directory == again.directory
    assert set(found.trials["ranker"]) >= {"python:means"}
    assert engine.plan_of(found.recipe).recipe() == found.recipe
    for measure in found.measures:
        assert not found.summary([measure])["mean"].isna().all()


def test_values_are_those_of_the_functions(store):
    result = asked(questions(register())["degradation"], store)
    lists = ListRecipe(small_set.LISTS.initial)
    workbench = run_to_end(Workbench.open("mine", lists, store, "small"))
    test, (family, _) = workbench.prepared.test, result.recipe["perturbations"][0]
    found = result.per_query("initial ranking", family, 2.0, result.measures[0])
    labels = test.dataset.labels[test.lists.rows[test.lists.offsets[:-1] + 2]]
    np.testing.assert_array_equal(found, labels, "the third document of each list is the first")


def test_edited_code_is_another_study_and_the_old_one_stays_readable(store):
    register()
    question = InitialRanking(("feature:1",), (("turn", 1.0),), measures=("top",))
    first = asked(question, store)
    register(scale=2.0)
    second = asked(InitialRanking(("feature:1",), (("turn", 1.0),), measures=("top",)), store)
    assert second.directory != first.directory
    np.testing.assert_allclose(second.summary()["mean"], 2 * first.summary()["mean"])
    with pytest.raises(UsageError, match="not the top that is registered here"):
        asked(InitialRanking(("feature:2",), (("turn", 1.0),), measures=first.measures), store)


def test_things_stand_for_names_in_python():
    fields = {field.name: field for field in parameters(InitialRanking)}
    given = by_name(fields["rankers"], [by_rank, "mart", lambda features: features[:, 0]])
    assert given[:2] == ("python:by_rank", "mart")
    assert given[2].startswith("python:lambda-")

    def first(labels):
        return float(labels[0])

    assert by_name(fields["measures"], [first, "RR"]) == ("first", "RR")
    register()
    question = InitialRanking(("mart",), by_name(fields["perturbations"], {"turn": [0, 2]}))
    assert [family[:6] for family, _ in question.perturbations] == ["turn#r", "turn#r"]
    with pytest.raises(ParameterError, match="a Measure or a function"):
        by_name(fields["measures"], [3.5])


def test_two_things_by_one_name_are_refused():
    with pytest.raises(UsageError, match="register each under its own name"):
        of("rankers", (Means().score, Means().score))


READER = """
import sys
from contextlib import suppress
from pathlib import Path
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.errors import UsageError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.engine import plan_of
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.result import StudyResult

store, out = Store(Path(sys.argv[1])), Path(sys.argv[2])
for study in store.artefacts("study"):
    result = StudyResult.open(study.path)
    result.summary()
    assert paragraph(result.recipe, result.facts) and references(result.recipe, result.facts)
    plan_of(result.recipe).digests(len(result.query_ids))
    own = any(name in str(result.recipe) for name in ("python:", "turn#", "top#"))
    with suppress(UsageError):  # levels that no flags say
        assert ("--with MODULE" in study_command(result.recipe, result.facts)) == own
    assert study_python(result.recipe, result.facts).startswith("import MODULE  # which") == own
    for ending in ("csv", "md"):
        where = ["--store", str(store.root)]
        assert main(["export", str(study.key), str(out / f"{study.key}.{ending}"), *where]) == 0
        assert main(["library", "show", str(study.key), *where]) == 0
archive, other = str(out / "all.zip"), ["--store", str(out / "other")]
every = [str(study.key) for study in store.artefacts("study")]
assert main(["library", "export", archive, *every, "--store", str(store.root)]) == 0
assert main(["library", "import", archive, *other]) == 0
assert main(["library", "show", every[0], *other]) == 0
kept = [str(one.key) for one in store.artefacts("ranker") if "python:" in str(one.recipe)]
assert len(kept) == 1, kept
assert main(["library", "show", *kept, "--store", str(store.root)]) == 0
assert main(["library", "list", "--store", str(store.root)]) == 0
assert main(["library", "verify", "--store", str(store.root)]) == 0
assert main(["library", "clean", "--store", str(store.root)]) == 0
named = STUDIES["invariance"]((lambda features, ranks: ranks[:, 0], "mart")).rankers
assert named[0].startswith("python:lambda-") and named[1] == "mart", named
ended = main(["study", "initial-ranking", "--rankers", "python:means", "--data", "mine",
              "--store", str(store.root)])
assert ended == 2, ended
"""


def test_a_process_that_knows_nothing_of_it_reads_all_that_is_stored(store, tmp_path):
    for question in questions(register()).values():
        asked(question, store)
    asked(Invariance((shuffleproof.ranker("kept", Kept),)), store)
    program = [sys.executable, "-c", READER, str(store.root), str(tmp_path)]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-3000:]
    assert len(list(tmp_path.iterdir())) > 2 * len(questions("mart"))
    assert "not registered in this process" in ended.stderr
    assert "can be read" in ended.stderr
    assert "summary: user code, seed 0; on lists by feature:1" in ended.stdout
    assert "command: shuffleproof train python:kept --with MODULE --data mine" in ended.stdout


MODULE = """
import shuffleproof

@shuffleproof.measure
def top(labels):
    return float(labels[0])

@shuffleproof.ranker("second")
class Second:
    def fit(self, train, valid):
        pass
    def score(self, features):
        return features[:, 1]
"""


def test_a_module_brings_user_code_to_the_shell(store, tmp_path, monkeypatch, capsys):
    (tmp_path / "my_own.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    command = [
        *("study", "benchmark", "--data", "mine", "--rankers", "python:second", "--measures"),
        *("top,RR", "--initial", "feature:1", "--preset", "small", "--store", str(store.root)),
    ]
    assert main([*command, "--with", "my_own"]) == 0
    assert "top#" in capsys.readouterr().out
    monkeypatch.setattr(user_code, "_REGISTERED", {})
    for more, told in (
        ([], "no measure is called 'top'"),
        (["--with", "broken"], "broken: it cannot be imported: ZeroDivisionError"),
        (["--with", "absent"], "absent: it cannot be imported: ModuleNotFoundError"),
    ):
        assert main([*command, *more]) in {1, 2}
        assert told in capsys.readouterr().err
