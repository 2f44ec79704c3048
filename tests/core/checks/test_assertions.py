"""What tests of rankers assert: every kind of ranker and of lists, messages, strategy, plugin."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch

from shuffleproof import testing
from shuffleproof.core.checks import counterexample
from shuffleproof.core.checks.list_forms import as_judged_lists, ranker_of
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import AnswerError, DataError, ShuffleproofError, UsageError
from shuffleproof.core.rankers.registry import load
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.testing import assert_invariant, assert_no_worse
from tests.zoo import beside_first, by_place, cancelling, total

CHANCE = np.random.default_rng(0)
FEATURES = CHANCE.normal(size=(120, 3)).astype(np.float32)
LABELS = (FEATURES[:, 0] + 0.5 * CHANCE.normal(size=120) > 0.5).astype(np.float32)
OFFSETS = np.arange(0, 121, 8)
RANKS = np.tile(np.arange(8), 15)
ARRAYS = (FEATURES, LABELS, OFFSETS, RANKS)


UNSEEN = "not examined: memory between calls"
anonymous = pytest.mark.filterwarnings("ignore:.*memory between calls")


class Net(torch.nn.Module):
    """A network with dropout, which must be off when it is asked."""

    def __init__(self, with_place=0):
        super().__init__()
        self.layer, self.drop, self.place = torch.nn.Linear(3, 1), torch.nn.Dropout(), with_place

    def forward(self, features, ranks):
        scores = self.drop(self.layer(features)) - 0.1 * ranks
        return scores + self.place * torch.arange(len(features))[:, None]


class Masked(torch.nn.Module):
    def forward(self, features, mask, ranks):
        assert mask.all()
        return features.sum(-1) - ranks[..., 0]


class Scorer:
    def score(self, features, ranks):
        return total(features) + ranks[:, 0]


def boosters():
    group = np.diff(OFFSETS)
    short = {"verbosity": -1, "min_data_in_leaf": 1, "num_threads": 1}
    data = lightgbm.Dataset(FEATURES, LABELS, group=group)
    yield lightgbm.train({"objective": "lambdarank", **short}, data, 3)
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(FEATURES, LABELS, group=group)
    yield xgboost.train({"objective": "rank:ndcg", "nthread": 1}, matrix, 3)


INVARIANT = [
    total, lambda features, ranks: total(features) - ranks[:, 0], Net().eval(), Masked().eval(),
    Scorer(),
    lambda features, mask, ranks: features.sum(-1) * mask - ranks[..., 0],
    lambda features, scale=2.0: scale * total(features),
]  # fmt: skip


@anonymous
def test_every_kind_of_ranker_is_asked():
    for ranker in [*INVARIANT, *boosters()]:
        assert_invariant(ranker, ARRAYS, permutations=3)
    network = Net()
    network.drop.eval()
    with pytest.warns(UserWarning, match="came in training mode; evaluation mode was examined"):
        assert_invariant(network, ARRAYS, permutations=1)
    assert (network.training, network.drop.training) == (True, False)  # as they were
    for ranker in (by_place, beside_first, Net(with_place=1).eval()):
        with pytest.raises(AssertionError, match="is not invariant"):
            assert_invariant(ranker, ARRAYS, permutations=3)


def test_our_own_rankers_are_asked():
    whole, shipped = testing.sample_lists(), default_store().artefacts("ranker")
    base = JudgedLists(whole.dataset, whole.lists.select(np.arange(5)))
    named = {one.facts["name"]: one for one in shipped if one.facts["name"] in {"dlcm", "ranksvm"}}
    assert_invariant(load(named["ranksvm"].path), base, permutations=3)
    with pytest.raises(AssertionError, match="The smallest list"):
        assert_invariant(load(named["dlcm"].path), base, permutations=3)


@pytest.mark.parametrize("thing", [3, None, "text", int, object()])
def test_what_is_no_ranker_is_refused(thing):
    with pytest.raises(UsageError, match="cannot be a ranker"):
        ranker_of(thing)


def test_the_message_shows_the_smallest_list_and_two_orders_with_numbers():
    with pytest.raises(AssertionError) as caught:
        assert_invariant(by_place, ARRAYS)
    first, _, shown, other, last = str(caught.value).splitlines()
    assert first.startswith("by_place is not invariant")
    assert "15 of 15 lists" in first
    assert "2 of its 8 documents" in str(caught.value)
    scores = [
        dict(one.split(": ") for one in row.split(maxsplit=1)[1].split(", "))
        for row in (shown, other)
    ]
    assert list(scores[0]) == list(scores[1])[::-1]
    document = last.split()[1]
    assert abs(float(scores[0][document]) - float(scores[1][document])) == pytest.approx(
        0.5, rel=1e-4
    )


def test_documents_are_left_out_for_as_long_as_the_change_stays():
    """Only where two certain documents are shown, and the one before the other, does it matter."""
    features = np.arange(8, dtype=np.float32)[:, None]

    def ranker(features):
        places = {value: at for at, value in enumerate(features[:, 0].tolist())}
        swapped = {2.0, 5.0} <= set(places) and places[2.0] > places[5.0]
        return features[:, 0] * (-1 if swapped else 1)

    base = as_judged_lists((features, np.zeros(8), [0, 8]))
    found = counterexample.smallest(
        ranker_of(ranker), base, [np.arange(8), np.arange(8)[::-1].copy()]
    )
    assert counterexample.documents(found.judged) == ["3", "6"]
    assert found.order.tolist() == [1, 0]


def test_what_arithmetic_may_do_is_measured_and_fails_nothing():
    """A mean is summed in the input order; of features far from 0 it is mostly rounding."""
    far = FEATURES + np.float32(1e5)
    lists = (far, LABELS, OFFSETS)
    changed = [cancelling(far[:8]), cancelling(far[:8][::-1])[::-1]]
    assert np.abs(changed[0] - changed[1]).max() > 1e-3
    with pytest.warns(UserWarning, match="cancelling is inconclusive"):
        assert_invariant(cancelling, lists)
    with pytest.raises(AssertionError, match="is inconclusive"):
        assert_invariant(cancelling, lists, strict=True)
    with pytest.raises(AssertionError, match="is not invariant"):
        assert_invariant(lambda features: cancelling(features) + np.arange(len(features)), lists)


def test_a_ranker_that_is_not_deterministic_fails():
    with pytest.raises(AssertionError, match="not deterministic"):
        assert_invariant(lambda features: CHANCE.random(len(features)), ARRAYS)


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_noise_that_rounding_may_explain_is_told(noise):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert_invariant(lambda rows: rows.sum(-1) + noise * CHANCE.random(len(rows)), ARRAYS)
    assert any("not deterministic" in str(one.message) for one in said) == bool(noise)


def test_lists_come_in_every_form_and_mean_the_same():
    frame = pd.DataFrame(FEATURES, columns=["a", "b", "c"]).assign(
        qid=np.repeat(np.arange(15), 8), label=LABELS, rank=RANKS,
        docno=[f"d{at}" for at in range(120)], url="text",
    )  # fmt: skip
    mixed = frame.sort_values("a")
    wanted = as_judged_lists(ARRAYS)
    forms = (frame, wanted, (wanted.dataset, wanted.lists), tuple(map(list, ARRAYS)))
    for form in forms:
        found = as_judged_lists(form)
        np.testing.assert_array_equal(found.dataset.features[found.lists.rows], FEATURES)
        np.testing.assert_array_equal(found.lists.ranks, wanted.lists.ranks)
        np.testing.assert_array_equal(found.dataset.labels, LABELS)
    gathered = as_judged_lists(mixed)
    assert sorted(gathered.dataset.query_ids, key=int) == [str(at) for at in range(15)]
    assert set(gathered.lists.lengths) == {8}
    assert as_judged_lists(wanted.dataset).lists.rankings == 0
    assert len(as_judged_lists("sample").lists) == 150


@pytest.mark.parametrize(
    "lists",
    [
        7, [], "other", (FEATURES, LABELS), (FEATURES, LABELS[:3], OFFSETS),
        (FEATURES, LABELS, [0, 7]),
        (FEATURES, LABELS, OFFSETS, RANKS[:5]), (FEATURES, LABELS, 3), pd.DataFrame({"a": [1.0]}),
    ],
)  # fmt: skip
def test_what_holds_no_lists_is_refused_in_words(lists):
    with pytest.raises(ShuffleproofError) as caught:
        assert_invariant(total, lists)
    assert len(str(caught.value)) > 20


def test_no_worse_fails_for_a_real_loss_alone_and_shows_the_list():
    lists, noisy = ARRAYS, FEATURES[:, 0] + 1e-3 * FEATURES[:, 1]
    values = {row.tobytes(): value for row, value in zip(FEATURES, noisy, strict=True)}

    def alike(features):
        return np.array([values[row.tobytes()] for row in features])

    def first(features):
        return features[:, 0]

    def turned(features):
        return -features[:, 0]

    assert_no_worse(first, turned, lists)
    assert_no_worse(first, first, lists, "AP")
    assert_no_worse(alike, alike, lists)
    with pytest.raises(AssertionError, match="turned is worse than first: NDCG@5 ") as caught:
        assert_no_worse(turned, first, lists, "NDCG@5")
    assert "over 15 lists" in str(caught.value)
    assert "The smallest list that shows it is of query" in str(caught.value)
    assert_no_worse(first, np.zeros(15), lists)
    with pytest.raises(AssertionError, match="the baseline"):
        assert_no_worse(first, np.full(15, 1.5), lists)
    for wrong, remedy in (
        (lambda: assert_no_worse(first, first, (FEATURES[:8], LABELS[:8], [0, 8])), "more lists"),
        (lambda: assert_no_worse(first, np.ones(3), lists), "one pair a query"),
    ):
        with pytest.raises((DataError, UsageError), match=remedy):
            wrong()


def test_an_answer_that_is_none_names_the_query():
    for ranker, words in (
        (lambda features: features[1:, 0], "query 1: it returned float32 of shape"),
        (lambda features: features[:, 0] * np.nan, "query 1: it returned nan for document 1 of 8"),
        (lambda features: features[:, 99], "query 1: it failed: IndexError"),
    ):
        with pytest.raises(DataError, match=words):
            assert_invariant(ranker, ARRAYS)
    with pytest.raises(AnswerError):
        assert_invariant(lambda _: None, ARRAYS)


def test_the_modules_load_nothing():
    code = (
        "import sys; before = set(sys.modules); import shuffleproof.testing as t; "
        "t.assert_invariant; "
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}"
        " & {'numpy', 'torch', 'streamlit', 'pandas', 'numba', 'scipy', 'hypothesis', 'pytest'})); "
        "import warnings; warnings.simplefilter('ignore'); "
        "t.assert_invariant(lambda x: x[:, 0], ([[1.0], [2.0]], [0, 1], [0, 2]), permutations=1); "
        "print(sorted({'torch', 'streamlit', 'lightgbm', 'hypothesis'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split("\n")[:2] == ["[]", "[]"]


SUITE = """
import pytest

def by_place(features, ranks):
    return features[:, 0] - 0.1 * ranks[:, 0] * 0 + [0.1 * at for at in range(len(features))]

def test_sound(assert_invariant, assert_no_worse, sample_lists):
    assert_invariant(lambda features: features[:, 2], sample_lists)
    assert_no_worse(lambda features: features[:, 2], lambda features: -features[:, 2], sample_lists)

def test_faulty(assert_invariant, sample_lists):
    assert_invariant(by_place, sample_lists)
"""
OTHER = """
import sys

def test_nothing_was_loaded():
    assert not {"numpy", "torch", "streamlit", "shuffleproof.core"} & set(sys.modules)
"""


def test_the_plugin_serves_tests_and_leaves_others_alone(tmp_path):
    (tmp_path / "test_rankers.py").write_text(SUITE)
    (tmp_path / "test_other.py").write_text(OTHER)
    command = [
        sys.executable, "-m", "pytest", "-p", "shuffleproof.pytest_plugin",
        "--strict-markers", "-rN", "-p", "no:jaxtyping", "-p", "no:cacheprovider",
    ]  # fmt: skip
    by_name_alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    told = subprocess.run(
        [*command, "test_rankers.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=by_name_alone,
    ).stdout  # fmt: skip
    assert "1 failed, 1 passed, 1 warning" in told, told
    assert UNSEEN in told
    assert "by_place is not invariant to the input order" in told
    assert "The smallest list that shows it" in told
    assert "assertions.py" not in told  # the traceback ends in the test
    other = [*command, "test_other.py", "-p", "no:hypothesispytest"]
    ended = subprocess.run(
        other, cwd=tmp_path, capture_output=True, text=True, check=False, env=by_name_alone
    )
    assert ended.returncode == 0, ended.stdout


def test_the_plugin_is_an_entry_point_and_the_facade_has_what_is_promised():
    import tomllib

    told = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert told["entry-points"]["pytest11"] == {"shuffleproof": "shuffleproof.pytest_plugin"}
    for name in (
        "assert_invariant",
        "assert_no_worse",
        "sample_lists",
        "findings",
    ):
        assert "Args:" in getattr(testing, name).__doc__
