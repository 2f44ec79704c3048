"""One verdict for one function: `certify` in the shell, in Python, and `assert_invariant`."""

import json
import os
import warnings

import numpy as np
import pytest

import shuffleproof as sp
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.studies.kinds.invariance import verdict
from shuffleproof.core.studies.kinds.invariance.certificate import EXIT_CODES
from shuffleproof.testing import assert_invariant
from tests import zoo

pytestmark = pytest.mark.slow

PERMUTATIONS = 2


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A stored set of 12 lists of 9 to 16 documents, ready for studies."""
    folder, chance = tmp_path_factory.mktemp("zoo"), np.random.default_rng(3)
    row = 0
    for part, queries in (("train", 3), ("vali", 3), ("test", 12)):
        lines = []
        for query in range(queries):
            for _ in range(9 + 7 * query // 11):
                values = [*chance.normal(size=zoo.SETS).round(4), chance.integers(3), row]
                cells = " ".join(f"{at + 1}:{value}" for at, value in enumerate(values))
                lines.append(f"{chance.integers(3)} qid:{part}{query} {cells}\n")
                row += 1
        (folder / f"{part}.txt").write_text("".join(lines))
    store = str(folder / "store")
    return sp.ingest(folder, "zoo", store=store, progress=False), store


@pytest.fixture
def certified(sets, capsys, monkeypatch, tmp_path):
    """The verdict of each entry point on a function."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(zoo.Path(zoo.__file__).parent.parent))

    def ask(function):
        found = {}
        place = f"{function.__module__}:{function.__name__}"
        flags = ["--data", "zoo", "--initial", "file-order", "--store", sets[1], "--json"]
        folder("shell")
        code = main(["certify", place, *flags, "--permutations", str(PERMUTATIONS)])
        shell = json.loads(capsys.readouterr().out)
        assert code == EXIT_CODES[shell["verdict"]]
        studies = sp.open("zoo", initial="file-order", store=sets[1], progress=False)
        folder("python")
        card = studies.certify(function, permutations=PERMUTATIONS)
        found["shell"], found["python"] = shell["verdict"], card.verdict
        assert shell["sentence"].partition(" ")[2] == card.sentence().partition(" ")[2].replace(
            "python", "shell"
        )
        folder("pytest")
        found["pytest"] = by_assertion(function, studies.lists["test"])
        return found, card

    def folder(name):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)

    return ask


def by_assertion(function, lists):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            assert_invariant(function, lists, permutations=PERMUTATIONS, strict=True)
        except AssertionError as error:
            return verdict.NOT if "is not invariant" in str(error) else verdict.INCONCLUSIVE
    assert not told
    return verdict.INVARIANT


def test_the_zoo_has_the_words_of_verdicts():
    assert verdict.Verdict.__args__ == (zoo.INVARIANT, zoo.NOT, zoo.INCONCLUSIVE)


EVERY = zoo.FUNCTIONS | (zoo.ANIMALS if os.environ.get("SHUFFLEPROOF_WHOLE_ZOO") else {})
"""Some twelve seconds each; the whole zoo is for the night (`python -m tests.soak.zoo`)."""


@pytest.mark.parametrize("function", EVERY, ids=lambda function: function.__name__)
def test_a_function_has_one_verdict(function, certified):
    found, card = certified(function)
    assert len(set(found.values())) == 1, (found, card.sentence())
    if function in zoo.FUNCTIONS:  # others need longer lists, or more orders
        assert card.verdict in EVERY[function], card.sentence()
