"""The doctor of rankers: a faulty ranker for every finding, and sound ones with none."""

from itertools import count, pairwise

import numpy as np
import pytest

from shuffleproof.core.checks import doctor
from shuffleproof.core.checks.first_pass import LEAST, MOST_FAILURES
from shuffleproof.core.checks.list_forms import ranker_of, sample
from shuffleproof.core.checks.rankers import examine_ranker
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.progress import run_to_end

CHANCE = np.random.default_rng(3)
SAMPLE = sample()
EVERY = JudgedLists(SAMPLE.dataset, SAMPLE.lists.select(np.arange(40)))
ROWS = EVERY.dataset.features
WEIGHTS = np.linspace(-0.5, 1.0, ROWS.shape[1])


def good(features):
    """A ranker as it should be: of several features, in float64, deterministic."""
    scaled = (features - ROWS.mean(axis=0)) / ROWS.std(axis=0)
    return scaled @ WEIGHTS + scaled[:, 2]


def nan_of_first(features):
    scores = good(features)
    scores[0] = np.nan
    return scores


def on_long(otherwise):
    """A ranker that is otherwise where a list has more than 38 documents."""
    return lambda features: otherwise(features) if len(features) > 38 else good(features)


def initial(features, ranks):
    del features
    return 1.0 / (1.0 + ranks[:, 0])


FAULTY = {
    "pass-through": [
        lambda features: features[:, 3] * 2.0,
        lambda features: -features[:, 3],
        lambda features: -np.arange(len(features)),
        initial,
    ],
    "constant-scores": [
        lambda features: np.zeros(len(features)),
        lambda features: 1.0 / (1.0 + np.exp(-(good(features) + 1e3))),
    ],
    "saturated-scores": [
        lambda features: np.minimum(good(features), 1.5),
        lambda features: np.maximum(good(features) - 1.0, 0.0),
    ],
    "not-finite": [
        on_long(nan_of_first),
        lambda features: np.where(features[:, 1] > 0.99, np.inf, good(features)),
    ],
    "dropped-documents": [lambda features: np.unique(good(features))[1:]],
    "added-documents": [lambda features: np.append(good(features), 0.0)],
    "no-scores": [lambda _: None, lambda features: list(map(str, good(features)))],
    "fails": [on_long(lambda features: features[:, 9999])],
    "wrong-direction": [lambda features: -good(features)],
    "low-precision-ties": [
        lambda features: (1e3 + 4.0 * good(features)).astype(np.float16),
        lambda features: np.round(good(features)),
        lambda features: np.round(good(features) / 20.0, 1),
        lambda features: np.digitize(good(features), (-1.0, 0.0, 1.0)),  # not saturated: all tie
    ],
    "not-deterministic": [lambda features: good(features) + CHANCE.normal(size=len(features))],
}
ALSO = {"pass-through": {"wrong-direction", "low-precision-ties"}}
"""What else may be said of a faulty ranker, and is true of it."""


@pytest.mark.parametrize(
    ("code", "ranker"), [(code, one) for code, several in FAULTY.items() for one in several]
)
def test_every_fault_is_found_with_its_list_and_what_to_do_and_no_other(code, ranker):
    found = {one.code: one for one in doctor.findings(ranker, EVERY)}
    assert code in found
    assert set(found) <= {code} | ALSO.get(code, set())
    finding = found[code]
    assert finding.severity == "problem"
    at = EVERY.dataset.query_ids.index(finding.where.removeprefix("query "))
    assert at in finding.queries
    assert any(letter.isdigit() for letter in finding.message)
    assert finding.message.count(". ") >= 1  # what was found, then what to do


def test_a_measure_over_fewer_lists_says_how_many_are_left_out():
    found = {one.code: one for one in doctor.findings(lambda features: -good(features), EVERY)}
    empty = sum(
        not EVERY.dataset.labels[EVERY.lists.rows[low:high]].any()
        for low, high in pairwise(EVERY.lists.offsets)
    )
    assert empty
    words = f"{empty} lists without relevant documents left out"
    assert words in found["wrong-direction"].message


def test_ties_are_told_with_the_best_worst_and_expected_measure():
    (finding,) = doctor.findings(FAULTY["low-precision-ties"][0], EVERY)
    best, worst, expected = (
        float(finding.message.partition(f" {name}")[0].rpartition(" ")[2])
        for name in ("best", "worst", "expected")
    )
    assert worst < expected < best
    assert "float16" in finding.message


def test_a_slow_ranker_is_told_by_its_seconds_and_asked_about_few_lists():
    seconds = count()  # the clock goes on by one each time somebody looks
    diagnosis = run_to_end(
        doctor.diagnose(ranker_of(good), EVERY, clock=lambda: 3.0 * next(seconds))
    )
    (finding,) = diagnosis.findings
    assert (finding.code, finding.severity) == ("slow", "warning")
    assert "3.0 s" in finding.message
    assert "lists take 40 min" in finding.message  # 20 × 40 × 3 s
    assert LEAST <= diagnosis.lists < len(EVERY.lists)


def test_a_ranker_that_always_fails_is_left_alone():
    def failing(features):
        raise ValueError(len(features))

    diagnosis = run_to_end(doctor.diagnose(ranker_of(failing), EVERY))
    assert diagnosis.lists == MOST_FAILURES
    assert [one.code for one in diagnosis.findings] == ["fails"]


SOUND = (
    "lambdamart@small", "mart@small", "ranksvm@small", "rankboost@small",
    "setrank-imsab@small", "setrank-imsab-init@small", "dlcm@small", "random", "file-order",
    "rrf:lambdamart@small+mart@small",
)  # fmt: skip
"""Rankers that the sample ships trained, and some that need no training."""


@pytest.mark.parametrize("name", SOUND)
def test_sound_rankers_of_the_sample_have_no_finding(name, shipped):
    assert not run_to_end(examine_ranker(shipped, name, shipped.test_lists(40))).findings, name


def test_a_sound_function_has_no_finding_also_in_single_precision():
    for ranker in (good, lambda features: good(features).astype(np.float32)):
        assert not doctor.findings(ranker, EVERY)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.store.artefacts import Store, default_store
    from shuffleproof.core.studies.workbench import Workbench

    store = Store(tmp_path_factory.mktemp("own"), default_store().bundled)
    return run_to_end(Workbench.open("sample", ListRecipe(("lambdamart@small",)), store, "small"))


def test_the_command_names_functions_and_files_that_are_faulty(tmp_path, monkeypatch, capsys):
    (tmp_path / "faulty.py").write_text(
        "def nan(features, ranks):\n    return features[:, 0] * float('nan')\n"
        "def good(features, ranks):\n    return features @ range(features.shape[1])\n"
    )
    documents = EVERY.dataset.documents
    (tmp_path / "short.txt").write_text("0.5\n" * (documents - 3))
    (tmp_path / "flat.txt").write_text("0.5\n" * documents)
    monkeypatch.chdir(tmp_path)
    common = ["--initial", "feature:3", "--store", str(tmp_path / "store")]
    for ranker, code, exit_code in (
        ("faulty:nan", '"code": "not-finite"', 3),
        ("faulty:good", '"findings": []', 0),
        ("scores:short.txt", '"code": "dropped-documents"', 3),
        ("scores:flat.txt", '"code": "constant-scores"', 3),
    ):
        words = ["doctor", "--ranker", ranker, "--queries", "20", "--json", *common]
        assert main(words) == exit_code, ranker
        assert code in capsys.readouterr().out
    assert main(["doctor", "--ranker", "faulty:nan", "--data", "sample", *common]) == 3
    printed = capsys.readouterr().out
    assert "problem  query" in printed
    assert "finite number" in printed


def test_the_command_refuses_what_says_nothing_or_two_things(capsys):
    assert main(["doctor"]) == 2
    assert main(["doctor", "sample", "--data", "other"]) == 2
    assert "leave one of them out" in capsys.readouterr().err
