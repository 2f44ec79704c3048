"""Functions of the user's run in a process of their own: whatever they do there is told."""

import functools
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.execution import template, worker_process
from shuffleproof.core.execution.worker import pack
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.outside import function_process
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.rankers.outside.returned import UnusableError, numbers
from shuffleproof.core.rankers.outside.signature import call_signature
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.invariance.examination import kinds_of
from shuffleproof.core.studies.kinds.invariance.study import certify
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE, INVARIANT
from shuffleproof.core.studies.workbench import Workbench, run_to_end

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

def unknown(features, mask, ranks):
    scores = features[:, :, 0].astype(float)
    scores[1, 4] = np.nan
    return scores

def huge(features, ranks):
    return np.full(len(features), 1e300)

def number(document):
    return int(document.replace("-", ""), 36) % 1000

def by_name(ranks, documents, *, query, features, texts=("a",), scale=2.0):
    ids = np.array([number(one) for one in documents]) + number(query)
    return ids + features[:, 2] - ranks[:, 0] * (ranks.dtype == np.int64) + len(texts) * scale

def by_name_together(query, mask, features, documents, ranks):
    return [
        [number(one) + number(own) + row[2] - rank[0] + 2.0 if one else np.nan
         for one, row, rank in zip(names, rows, of)]
        for own, names, rows, of in zip(query, documents, features, ranks)
    ]

def said(texts, features):
    return [len(text) for text in texts]

def of_query(query, features):
    if number(query) % 7 == 3:
        time.sleep(0.2)
    if number(query) % 7 in (3, 4):
        raise ValueError(query)
    return features[:, 2]

def ends_at(query, features):
    return os._exit(9) if query == os.environ["MINE_QUERY"] else features[:, 2]

def hangs_at(query, features):
    return hangs(features, features) if query == os.environ["MINE_QUERY"] else features[:, 2]

def slowly(features, query):
    time.sleep(60 * os.path.exists("slow"))
    return features[:, 2]
"""


def line_of(name):
    """The line below a function's head."""
    lines = MINE.splitlines()
    return 2 + next(place for place, line in enumerate(lines) if line.startswith(f"def {name}("))


@pytest.fixture(scope="module")
def test(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("foreign"))
    return run_to_end(
        Workbench.open("sample", ListRecipe(("feature:3",), 10), store, "small")
    ).prepared.test


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # of another test of this process
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_functions_of_one_list_and_of_several_with_a_mask_agree(test):
    one, several = (CallableRanker.from_name(f"mine:{name}") for name in ("of_one", "of_several"))
    found = one.score(test.dataset, test.lists)
    expected = test.dataset.features[test.lists.rows, 2] - 0.5 * test.lists.ranks[:, 0]
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    np.testing.assert_array_equal(several.score(test.dataset, test.lists), found)
    assert ("mask" in one.signature.inputs, "mask" in several.signature.inputs) == (False, True)
    lists = few(test).lists
    by_length = CallableRanker.from_name("mine:by_padding").score(test.dataset, lists)
    own = 1 + 0.1 * np.repeat(lists.lengths, lists.lengths)
    np.testing.assert_allclose(by_length, test.dataset.features[lists.rows, 2] * own, rtol=1e-6)


def test_one_process_answers_every_call_in_the_order_of_the_lists_and_is_not_this_one(test):
    counting = CallableRanker.from_name("mine:counting")
    found = [counting.score(test.dataset, test.lists)[test.lists.offsets[:-1]] for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(found), 1 + np.arange(2 * len(test.lists)))
    who = CallableRanker.from_name("mine:who")
    process = who.processes[0].worker.process
    assert (who.score(test.dataset, test.lists) == process.pid % 65536).all()
    assert process.pid != os.getpid()
    assert "mine" not in sys.modules
    del who
    assert process.poll() is not None, "it ends with its ranker"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("divides", (r"queries \S+, \S+, \S+ and \d+ others: the function failed: Zero.*: division"
                    r" by zero \(mine.py:LINE in divides\). Correct it.")),
        ("leaves", r"query \S+: .* failed: SystemExit: enough \(mine.py:LINE in leaves\)"),
        ("ends", r"query \S+: it ended its own process with exit status 7. Correct it."),
        ("crashes", r"query \S+: it crashed with SIGSEGV \(mine.py:LINE in crashes\). Correct it."),
        ("flat", r"it returned float32 of shape \(10,\). Expected 64 x 10 numbers"),
        ("within", r"failed: TypeError: alone\(\).*LINE in within\). Correct it."),
        ("unknown", r"queries .*: it returned nan for document 5 of 10 in list 2. Expected finite"),
        ("huge", r"query \S+: it returned 1e\+300 for document 1 of"),
    ],
)  # fmt: skip
def test_what_a_function_does_wrong_is_told_by_query_and_line(test, name, words):
    ranker, told = (
        CallableRanker.from_name(f"mine:{name}"),
        words.replace("LINE", str(line_of(name))),
    )
    with pytest.raises(DataError, match=rf"^mine:{name}, .*{told}"):
        ranker.score(test.dataset, test.lists)


def test_a_function_that_hangs_is_stopped_in_time_told_where_and_asked_anew(test):
    ranker, start = CallableRanker.from_name("mine:hangs", 1.5), time.perf_counter()
    one = test.lists.select(np.array([0]))
    for _ in range(2):
        with pytest.raises(DataError, match=r"not answered within 1.5 s \(mine.py:\d+ in hangs\)"):
            ranker.score(test.dataset, one)
    assert time.perf_counter() - start < 20


def test_a_function_that_hangs_ends_though_nobody_is_left_to_end_it(folder, monkeypatch):
    monkeypatch.setattr(worker_process, "LAST_BREATH", 0.0)
    own = CallableRanker.from_name("mine:holds", 1.5).processes[0].worker
    given = {"0 features": np.zeros((2, 3), np.float32), "0 ranks": np.zeros((2, 1), np.int32)}
    request = {"method": "score", "silence": 1.0, "count": 1, **given}
    own._connection.send_bytes(pack(request))
    assert own.process.wait(20) == 1, "by itself, and not by a signal"


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("lacking", None, "cannot import lacking: ModuleNotFoundError: No module named 'lacking'"),
        ("bad", "import nowhere\n", "bad cannot be imported: ModuleNotFoundError: .*bad.py:1"),
        ("bad", "raise NameError('x', name='bad')\n", "bad cannot be imported: NameError"),
        ("bad", "x = (\n", r"bad cannot be imported: SyntaxError: .*bad.py:1\)"),
        ("bad", "import os\nos._exit(3)\n", "^bad:score: it ended its own process with exit .* 3"),
        ("bad", "score = 3\n", "bad has no function score"),
    ],
)
def test_modules_that_cannot_be_used_are_told(folder, module, text, words):
    if text is not None:
        (folder / f"{module}.py").write_text(text)
    with pytest.raises(DataError, match=words):
        CallableRanker.from_name(f"{module}:score")
    with pytest.raises(DataError, match="Put the function into a file"):
        CallableRanker.from_name("__main__:score")


def test_a_module_of_the_users_called_like_ours_is_in_nobodys_way(folder, test):
    (folder / "registry.py").write_text("def score(features, ranks):\n    return ranks[:, 0]\n")
    (folder / "core.py").write_text("raise SystemExit('not this one')\n")
    ranker = CallableRanker.from_name("registry:score")
    ranks = test.lists.ranks[:, 0].astype(np.float32)
    np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), ranks)


def card_of(test, name):
    return run_to_end(certify(CallableRanker.from_name(f"mine:{name}"), test, 2, 0))


@pytest.fixture(scope="module")
def plain_card(test, tmp_path_factory):
    """That of a function of one list that reads features and ranks."""
    place = tmp_path_factory.mktemp("plain")
    (place / "mine.py").write_text(MINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return card_of(few(test), "of_one")


def test_what_a_function_keeps_at_home_is_told(test, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    card = card_of(few(test), "remembers")
    assert card.verdict != INVARIANT
    assert "it may keep data between calls in the files" in card.sentence()


def test_a_function_that_needs_what_lies_at_home_finds_it_and_that_is_said(
    test, folder, monkeypatch
):
    monkeypatch.setenv("HOME", str(folder))
    np.save(folder / "weight.npy", np.float32(2))
    card = card_of(few(test), "needs_home")
    assert card.verdict == INVARIANT, card.sentence()
    assert "its process read the file weight.npy" in card.notes


@pytest.mark.parametrize(
    "drawn",
    [
        "np.random.random()",
        "random.random()",
        "os.getpid() % 1000",
        "hash('a text') % 1000",
        "[*{str(one) for one in range(50)}].index('7')",
    ],
)
def test_what_an_import_draws_is_found_in_fresh_processes(test, folder, drawn):
    """Processes are forked before they import the module, and two of them have other hashes."""
    text = f"import os, random\nimport numpy as np\nDRAWN = {drawn}\n"
    text += "def score(features, ranks):\n    return features[:, 2] * (1 + DRAWN)\n"
    (folder / "drawing.py").write_text(text)
    card = run_to_end(certify(CallableRanker.from_name("drawing:score"), few(test), 2, 0))
    assert card.verdict == INCONCLUSIVE
    assert "fresh process" in card.sentence()


def test_processes_are_forked_and_start_as_this_one_is_now(test, folder, monkeypatch):
    rankers = [CallableRanker.from_name("mine:who") for _ in range(2)]
    workers = [ranker.processes[0].worker for ranker in rankers]
    if template.SUPPORTED:
        parents = {worker.process._template for worker in workers}
        assert len(parents) == 1
    assert len({worker.process.pid for worker in workers}) == 2
    (folder / "deeper").mkdir()
    monkeypatch.chdir(folder / "deeper")
    monkeypatch.setenv("MINE_QUERY", "3")
    text = "import os\ndef score(features):\n"
    text += "    return features[:, 2] * int(os.environ['MINE_QUERY'])\n"
    (folder / "deeper" / "here.py").write_text(text)
    found = CallableRanker.from_name("here:score").score(test.dataset, test.lists)
    np.testing.assert_array_equal(found, 3 * test.dataset.features[test.lists.rows, 2])


def test_padding_is_looked_at_where_a_function_takes_a_mask(test, plain_card):
    judged = few(test)
    broken, honest, picky = (
        card_of(judged, name) for name in ("by_padding", "in_any_padding", "of_several")
    )
    assert (broken.verdict, honest.verdict) == (INCONCLUSIVE, INVARIANT)
    assert "its scores depend on the padding behind them in 8 lists" in broken.sentence()
    assert not any("padded" in one for one in honest.unseen)
    for card in (picky, plain_card):
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
    assert function_process.seconds_allowed() == function_process.SECONDS
    monkeypatch.setenv(function_process.ALLOWED, "0.5")
    assert function_process.seconds_allowed() == 0.5
    for text in ("-1", "nan", "inf", "soon"):
        monkeypatch.setenv(function_process.ALLOWED, text)
        with pytest.raises(ParameterError, match="seconds above 0"):
            function_process.seconds_allowed()


SIGNATURES = [
    ("lambda features, ranks: 0", "features ranks"),
    ("lambda features: 0", "features"),
    ("lambda ranks, features, query, documents, texts: 0", "ranks features query documents texts"),
    ("lambda *, query, features: 0", "query features"),
    ("lambda ranks, mask, features, query=None: 0", "ranks mask features query"),
    ("lambda x, r=None, scale=1: 0", "features"),
    ("lambda ranking, feats: 0", "it needs ranking, feats; the known parameters are features"),
    ("lambda *given: 0", "features"),
    ("min", "features ranks"),
    ("functools.partial(lambda scale, features: 0, 2.0)", "features"),
    ("lambda features, rank: 0", "it needs rank; the known parameters are features, ranks, query"),
    ("lambda x, y, query: 0", "it needs x, y; the known parameters are"),
    ("lambda: 0", "it has no parameter; the known"),
]


@pytest.mark.parametrize(("function", "expected"), SIGNATURES)
def test_what_a_function_takes_is_known_from_its_parameters(function, expected):
    made = eval(function, {"functools": functools})  # noqa: S307 (a line of this file)
    if expected.startswith("it "):
        with pytest.raises(ValueError, match=expected):
            call_signature(made)
    else:
        assert " ".join(call_signature(made).inputs) == expected


def number(name):
    """As the module's own."""
    return int(name.replace("-", ""), 36) % 1000


def test_a_function_is_given_what_its_parameters_name_in_the_order_shown(test):
    ids = np.array([number(one) for one in test.dataset.doc_ids])
    queries = np.array([number(one) for one in test.dataset.query_ids])
    for shown in (test.lists, test.lists.shown_as(np.arange(len(test.lists.rows)))):
        expected = ids[shown.rows] + np.repeat(queries[shown.queries], shown.lengths) + 2.0
        expected += test.dataset.features[shown.rows, 2] - shown.ranks[:, 0]
        for name in ("by_name", "by_name_together"):
            ranker = CallableRanker.from_name(f"mine:{name}")
            found = ranker.score(test.dataset, shown)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            padded = ranker.padded()
            if padded is not None:
                np.testing.assert_allclose(padded.score(test.dataset, shown), found, rtol=1e-6)


def test_a_certificate_says_that_ids_were_read(test, plain_card):
    judged = few(test)
    plain, named = plain_card, card_of(judged, "by_name")
    assert named.verdict == INVARIANT, named.sentence()
    assert set(named.reads) - set(plain.reads) == {"query", "documents", "texts"}
    assert named.sentence().endswith("It reads query ids and document ids and documents' texts.")
    assert "the same documents under other query ids or document ids" in named.unseen
    assert any("with its document in every order" in line for line in named.details())
    assert "It reads" not in plain.sentence()
    assert not any("ids" in line for line in (*plain.unseen, *plain.details()))
    twins = np.zeros_like(test.dataset.features)
    alike = replace(judged, dataset=replace(test.dataset, features=twins))
    assert len(np.unique(kinds_of(alike, frozenset(plain.reads)))) == len(judged.lists)
    assert len(np.unique(kinds_of(alike, frozenset(named.reads)))) == len(judged.lists.rows)


def test_what_the_data_lack_is_told_to_who_needs_it(test):
    nameless = replace(test.dataset, doc_ids=None)
    for name, dataset, words in (
        (
            "by_name",
            nameless,
            r"mine:by_name: it takes documents, and this data set has none. Name",
        ),
        ("said", test.dataset, r"it takes texts, and this data set has none. Bring them: `ingest"),
    ):
        with pytest.raises(DataError, match=words):
            CallableRanker.from_name(f"mine:{name}").score(dataset, test.lists)


def in_jobs(name, monkeypatch, jobs=4, seconds=None):
    monkeypatch.setenv(function_process.JOBS, str(jobs))
    return CallableRanker.from_name(f"mine:{name}", seconds)


def test_calls_at_the_same_time_answer_as_one_after_the_other(test, monkeypatch):
    for name in ("by_name", "by_name_together", "of_one"):
        expected = CallableRanker.from_name(f"mine:{name}").score(test.dataset, test.lists)
        ranker = in_jobs(name, monkeypatch, 2)
        np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), expected)
        monkeypatch.delenv(function_process.JOBS)
    starts = test.lists.offsets[:-1]
    ranker = in_jobs("who", monkeypatch)
    homes = [ranker.score(test.dataset, test.lists)[starts] for _ in range(2)]
    assert np.bincount(np.unique(homes[0], return_inverse=True)[1]).min() >= len(starts) // 4
    np.testing.assert_array_equal(*homes), "a list's process is always the same"


@pytest.mark.parametrize(
    ("name", "jobs", "words"),
    [
        ("of_query", 4, r"ValueError: '?{0}'? \(mine.py"),
        ("ends_at", 2, "query {0}: it ended its own process with exit status 9"),
        ("hangs_at", 2, "query {0}: it has not answered within 1.5 s"),
    ],
)
def test_of_calls_at_the_same_time_the_first_that_failed_is_told(
    test, monkeypatch, name, jobs, words
):
    ids = [test.dataset.query_ids[one] for one in test.lists.queries]
    wrong = [one for one in ids if number(one) % 7 in {3, 4}]
    monkeypatch.setenv("MINE_QUERY", wrong[0])
    ranker = in_jobs(name, monkeypatch, jobs, seconds=1.5)
    with pytest.raises(DataError, match=words.format(wrong[0])):
        ranker.score(test.dataset, test.lists)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_call_ends_its_processes_and_the_next_one_is_answered_anew(
    test, folder, monkeypatch, jobs
):
    ranker = in_jobs("slowly", monkeypatch, jobs)
    expected = ranker.score(test.dataset, test.lists)
    running = [one.worker.process for one in ranker.processes]
    (folder / "slow").touch()
    here = threading.main_thread().ident
    timer = threading.Timer(0.5, signal.pthread_kill, (here, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ranker.score(test.dataset, test.lists)
    timer.join()
    assert len(running) == jobs
    assert all(process.wait(20) == -signal.SIGKILL for process in running)
    (folder / "slow").unlink()
    np.testing.assert_array_equal(ranker.score(test.dataset, test.lists), expected)


def test_jobs_are_a_whole_number(monkeypatch):
    assert function_process.jobs_allowed() == 1
    for text in ("0", "-1", "two", "1.5", "9999"):
        monkeypatch.setenv(function_process.JOBS, text)
        with pytest.raises(ParameterError, match="a whole number from 1 to"):
            function_process.jobs_allowed()


def returned():
    """What functions return for two documents, and what becomes of it."""
    import pandas as pd
    import torch

    series = pd.Series([1.0, 2.0])
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    return {
        "float16": (np.array([1, 2], np.float16), None),
        "a list": ([1, 2.0], None),
        "a column": ([[1], [2]], None),
        "a tensor with gradients": (torch.tensor([1.0, 2.0], requires_grad=True), None),
        "bfloat16": (torch.tensor([1.0, 2.0], dtype=torch.bfloat16), None),
        "a Series": (series, None),
        "a Series by name": (series.set_axis(["b", "a"]), None),
        "a column of a frame": (series.to_frame(), None),
        "a sorted Series": (pd.Series([2.0, 1.0]).sort_values(), "a Series whose index says anoth"),
        "masked": (masked, r"masked scores: .*\.filled"),
        "none at all": ([], r"float64 of shape \(0,\)"),
        "rows of unlike lengths": ([[1.0, 2.0], 3.0], "rows of unlike lengths: Return one number"),
        "one number": (1.0, r"float64 of shape \(\)"),
        "texts": (["1", "2"], r"<U1 of shape \(2,\)"),
        "truth": ([True, False], "bool of shape"),
        "None": (None, "NoneType: Expected 2 numbers"),
        "a None inside": ([1.0, None], "object of shape"),
        "a generator": ((one for one in (1, 2)), "generator: Expected 2 numbers"),
        "a dictionary": ({"a": 1, "b": 2}, "dict: Expected 2 numbers"),
    }  # fmt: skip


def test_whatever_a_function_returns_is_taken_or_refused_in_words():
    for name, (answer, words) in returned().items():
        if words is None:
            np.testing.assert_array_equal(numbers(answer, (2,)), [1, 2], err_msg=name)
            continue
        with pytest.raises(UnusableError) as told:
            numbers(answer, (2,))
        said = f"{told.value.finding}: {told.value.remedy}"
        assert re.search(words, said), (name, said)
