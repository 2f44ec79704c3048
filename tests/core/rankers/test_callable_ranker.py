"""Functions of the user's run in a process of their own: whatever they do there is told."""

import io
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.outside import callable_process, callable_ranker
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.invariance.study import certified
from shuffleproof.core.studies.kinds.invariance.verdict import INVARIANT, NOT, UNTOLD
from shuffleproof.core.studies.workbench import Workbench, finished

MINE = """import ctypes
import os
import sys
import time
import numpy as np
calls = 0

def of_one(features, ranks):
    return features[:, 2] - 0.5 * ranks[:, 0]

def of_several(features, mask, ranks):
    assert mask.all()
    assert features.shape[:2] == mask.shape == ranks.shape[:2]
    print("not an answer")
    return features[:, :, 2] - 0.5 * ranks[:, :, 0]

def counting(features, ranks):
    global calls
    calls += 1
    return np.full(len(features), calls)

def who(features, ranks):
    return np.full(len(features), os.getpid() % 65536)

def divides(features, mask, ranks):
    return 1 / 0

def alone(features):
    return features[:, 0]

def within(features, ranks):
    return alone(features, ranks)

def column(features, ranks):
    return features[:, :1]

def leaves(features, ranks):
    sys.exit("enough")

def ends(features, ranks):
    os._exit(7)

def crashes(features, ranks):
    ctypes.string_at(0)

def holds(features, ranks):
    ctypes.PyDLL(None).sleep(600)

def remembers(features, ranks):
    # keeps its first answer to a set of documents in a cache at home
    name = format(abs(hash(frozenset(map(bytes, features)))), "x")
    path = os.path.join(os.path.expanduser("~"), name + ".npy")
    key = np.argsort(features[:, 2], kind="stable")
    if not os.path.exists(path):
        scores = features[:, 2] - np.arange(len(features))
        np.save(path, scores[key])
    found = np.empty(len(features))
    found[key] = np.load(path)
    return found

def needs_home(features, ranks):
    return features[:, 2] * np.load(os.path.join(os.path.expanduser("~"), "weight.npy"))

def by_padding(features, mask, ranks):
    return features[:, :, 2] * (1 + 0.1 * features.shape[1])

def in_any_padding(features, mask, ranks):
    return np.where(mask, features[:, :, 2], np.nan)

def hangs(features, ranks):
    while True:
        time.sleep(0.01)

def flat(features, mask, ranks):
    return features[0, :, 0]

def square(features, ranks):
    return features

def nothing(features, ranks):
    features[:, 0]

def words(features, ranks):
    return np.array(["a"] * len(features))

def imaginary(features, ranks):
    return features[:, 0] * 1j

def ragged(features, mask, ranks):
    return [[1], [2, 3]]

def unknown(features, mask, ranks):
    scores = features[:, :, 0].astype(float)
    scores[1, 4] = np.nan
    return scores

def huge(features, ranks):
    return np.full(len(features), 1e300)
"""


def line_of(name):
    """The line below a function's head."""
    lines = MINE.splitlines()
    return 2 + next(place for place, line in enumerate(lines) if line.startswith(f"def {name}("))


@pytest.fixture(scope="module")
def test(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("foreign"))
    return finished(
        Workbench.opened("sample", ListRecipe(("feature:3",), 10), store, "small")
    ).prepared.test


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_functions_of_one_list_and_of_several_with_a_mask_agree(test):
    one, several = (CallableRanker.named(f"mine:{name}") for name in ("of_one", "of_several"))
    found = one.score(test.dataset, test.lists)
    expected = test.dataset.features[test.lists.rows, 2] - 0.5 * test.lists.ranks[:, 0]
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    np.testing.assert_array_equal(several.score(test.dataset, test.lists), found)
    assert (one.masked, several.masked) == (False, True)
    lists = few(test).lists
    by_length = CallableRanker.named("mine:by_padding").score(test.dataset, lists)
    own = 1 + 0.1 * np.repeat(lists.lengths, lists.lengths)
    np.testing.assert_allclose(by_length, test.dataset.features[lists.rows, 2] * own, rtol=1e-6)


def test_one_process_answers_every_call_in_the_order_of_the_lists_and_is_not_this_one(test):
    counting = CallableRanker.named("mine:counting")
    found = [counting.score(test.dataset, test.lists)[test.lists.offsets[:-1]] for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(found), 1 + np.arange(2 * len(test.lists)))
    who = CallableRanker.named("mine:who")
    process = who.process._process
    assert (who.score(test.dataset, test.lists) == process.pid % 65536).all()
    assert process.pid != os.getpid()
    assert "mine" not in sys.modules
    del who
    assert process.poll() is not None, "it ends with its ranker"


def test_a_column_of_scores_is_taken(test):
    scores = CallableRanker.named("mine:column").score(test.dataset, test.lists)
    np.testing.assert_array_equal(scores, test.dataset.features[test.lists.rows, 0])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("divides", (r"queries \S+, \S+, \S+ and \d+ others: the function failed: Zero.*: division"
                    r" by zero \(mine.py:LINE in divides\). Mend it.")),
        ("leaves", r"query \S+: .* failed: SystemExit: enough \(mine.py:LINE in leaves\)"),
        ("ends", r"query \S+: it ended its own process with exit status 7. Mend it."),
        ("crashes", r"query \S+: it crashed with SIGSEGV \(mine.py:LINE in crashes\). Mend it."),
        ("flat", r"it returned float32 of shape \(10,\). Expected 64 x 10 numbers"),
        ("square", r"query \S+: it returned float32 of shape \(\d+, 10\). Expected \d+ numbers"),
        ("alone", r"failed: TypeError: alone\(\).*\. It is called as score\(features: float32"),
        ("within", r"failed: TypeError: alone\(\).*LINE in within\). Mend it."),
        ("nothing", "it returned nothing. Expected"),
        ("words", "it returned <U1 of shape"),
        ("imaginary", "it returned complex64 of shape"),
        ("ragged", "the function failed: ValueError: .*inhomogeneous"),
        ("unknown", r"query \S+: it returned nan for document 5 of 10. Expected finite"),
        ("huge", r"query \S+: it returned 1e\+300 for document 1 of"),
    ],
)  # fmt: skip
def test_what_a_function_does_wrong_is_told_by_query_and_line(test, name, words):
    ranker, told = CallableRanker.named(f"mine:{name}"), words.replace("LINE", str(line_of(name)))
    with pytest.raises(DataError, match=rf"^mine:{name}, .*{told}"):
        ranker.score(test.dataset, test.lists)


def test_a_function_that_hangs_is_stopped_in_time_told_where_and_asked_anew(test):
    ranker, start = CallableRanker.named("mine:hangs", 1.5), time.perf_counter()
    one = test.lists.select(np.array([0]))
    for _ in range(2):
        with pytest.raises(DataError, match=r"not answered within 1.5 s \(mine.py:\d+ in hangs\)"):
            ranker.score(test.dataset, one)
    assert time.perf_counter() - start < 20


def test_a_function_that_hangs_ends_though_nobody_is_left_to_end_it(folder, monkeypatch):
    monkeypatch.setattr(callable_ranker, "LAST_BREATH", 0.0)
    ranker = CallableRanker.named("mine:holds", 1.5)
    process, message = ranker.process._process, io.BytesIO()
    for given in (np.zeros((1, 2, 3), np.float32), np.zeros((1, 2, 1), np.int32)):
        np.save(message, given)
    ranker.process._connection.send_bytes(message.getvalue())
    assert process.wait(20) == 1, "by itself, and not by a signal"


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("lacking", None, "cannot import lacking: ModuleNotFoundError: No module named 'lacking'"),
        ("bad", "import nowhere\n", "bad cannot be imported: ModuleNotFoundError: .*bad.py:1"),
        ("bad", "x = (\n", r"bad cannot be imported: SyntaxError: .*bad.py:1\)"),
        ("bad", "import os\nos._exit(3)\n", "^bad:score: it ended its own process with exit .* 3"),
        ("bad", "score = 3\n", "bad has no function score"),
    ],
)
def test_modules_that_cannot_be_used_are_told(folder, module, text, words):
    if text is not None:
        (folder / f"{module}.py").write_text(text)
    with pytest.raises(DataError, match=words):
        CallableRanker.named(f"{module}:score")
    with pytest.raises(DataError, match="Put the function into a file"):
        CallableRanker.named("__main__:score")


def test_a_module_of_the_users_called_like_ours_is_in_nobodys_way(folder, test):
    (folder / "registry.py").write_text("def score(features, ranks):\n    return ranks[:, 0]\n")
    (folder / "core.py").write_text("raise SystemExit('not this one')\n")
    ranker = CallableRanker.named("registry:score")
    ranks = test.lists.ranks[:, 0].astype(np.float32)
    np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), ranks)


def card_of(test, name):
    return finished(certified(CallableRanker.named(f"mine:{name}"), test, 2, 0))


def test_what_a_function_keeps_at_home_is_not_there_for_its_fresh_processes(
    test, folder, monkeypatch
):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    card = card_of(few(test), "remembers")
    assert (card.verdict, card.deterministic) == (NOT, True), card.sentence()
    assert any(folder.glob("*.npy")), "its usual process has kept what it keeps"
    assert "outside its own temporary and home folders" in card.unseen[-1]
    fresh = CallableRanker.named("mine:of_one").fresh()
    room = Path(fresh.process._room.name)
    assert fresh.has_own_folders
    assert room.is_dir()
    del fresh
    assert not room.exists()


def test_a_function_that_needs_what_lies_at_home_finds_it_and_that_is_said(
    test, folder, monkeypatch
):
    monkeypatch.setenv("HOME", str(folder))
    np.save(folder / "weight.npy", np.float32(2))
    card = card_of(few(test), "needs_home")
    assert card.verdict == INVARIANT, card.sentence()
    assert "what it keeps on the disk or on another machine" in card.unseen


def test_padding_is_looked_at_where_a_function_takes_a_mask(test):
    judged = few(test)
    broken, honest, picky, single = (
        card_of(judged, name) for name in ("by_padding", "in_any_padding", "of_several", "of_one")
    )
    assert (broken.verdict, honest.verdict) == (UNTOLD, INVARIANT)
    assert "its scores depend on the padding behind them in 8 lists" in broken.sentence()
    assert not any("padded" in one for one in honest.unseen)
    for card in (picky, single):
        assert card.verdict == INVARIANT
        assert any("padded lists" in one for one in card.unseen)


def few(test):
    """Eight lists, of five documents and of all."""
    lists = test.lists.select(np.arange(8))
    kept = (
        ragged.places_of(lists.offsets) < np.repeat([5, 10], 4)[ragged.segment_ids(lists.offsets)]
    )
    shorter = replace(
        lists,
        offsets=ragged.offsets_of(np.minimum(lists.lengths, np.repeat([5, 10], 4))),
        rows=lists.rows[kept], ranks=lists.ranks[kept], prior=lists.prior[kept],
    )  # fmt: skip
    return JudgedLists(test.dataset, shorter)


def test_the_environment_allows_more_seconds(monkeypatch):
    assert callable_ranker.seconds_allowed() == callable_ranker.SECONDS
    monkeypatch.setenv(callable_ranker.ALLOWED, "0.5")
    assert callable_ranker.seconds_allowed() == 0.5
    for text in ("-1", "nan", "inf", "soon"):
        monkeypatch.setenv(callable_ranker.ALLOWED, text)
        with pytest.raises(ParameterError, match="seconds above 0"):
            callable_ranker.seconds_allowed()


@pytest.mark.parametrize(
    ("target", "text", "key"),
    [
        ("no_such_module_of_mine:score", None, "ABSENT"),
        ("lacking_mine:score", "import no_such_module_of_theirs", "FAILED"),
        ("broken_mine:score", "raise NameError('x', name='broken_mine')", "FAILED"),
        ("empty_mine:score", "", "ABSENT"),
    ],
)
def test_a_module_that_is_not_there_is_told_from_one_that_fails(
    target, text, key, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    if text is not None:
        (tmp_path / f"{target.partition(':')[0]}.py").write_text(text)
    function, head = callable_process._found(target)
    assert function is None
    assert set(head) == {getattr(callable_process, key)}
