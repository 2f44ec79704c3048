"""Live judges: what is asked, what counts as an answer, what is kept, and how it ends."""

import json
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import shuffleproof as sp
from shuffleproof.core import jobs
from shuffleproof.core.aggregate import judge_sets, preference_store
from shuffleproof.core.aggregate.judge_questions import Material, Plan
from shuffleproof.core.aggregate.judge_sets import Target
from shuffleproof.core.aggregate.judges import OFFERED, judge_of
from shuffleproof.core.aggregate.registry import AGGREGATORS, Terms, aggregate
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import (
    DataError,
    ParameterError,
    ShuffleproofError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from tests.served import served
from tests.synthetic import planted

FOLD = planted((4, 4, 4), seed=5, documents=8)
MATERIAL = Material.of(JudgedLists(FOLD.test, CandidateLists.all_documents(FOLD.test)), {})
PAIRS = sum(len(own) * (len(own) - 1) // 2 for own in MATERIAL.documents)


def strength(document):
    return document["features"][0]


def prefer(query, a, b):
    return 1.0 if strength(a) > strength(b) else 0.0


class Counting:
    """A judge that notes what it was asked, and answers the n-th question otherwise if told so."""

    def __init__(self, otherwise=None):
        self.questions = Counter()
        self.otherwise = otherwise or {}
        self.lock = threading.Lock()

    def __call__(self, shown):
        with self.lock:
            self.questions[shown["query"]["id"], shown["a"]["id"], shown["b"]["id"]] += 1
            count = self.questions.total()
        return self.otherwise.get(count, prefer(shown["query"], shown["a"], shown["b"]))


@pytest.fixture
def target(tmp_path):
    return Target("mine", Store(tmp_path / "store"), "planted")


def asked(target, judge, plan):
    return run_to_end(judge_sets.ask(target, judge_of(judge), MATERIAL, plan))


def test_a_judge_is_shown_both_orders_and_the_set_holds_them_apart(target):
    with served(lambda shown: 0.8 if shown["a"]["id"] < shown["b"]["id"] else 0.4) as address:
        found = asked(target, address, Plan("all", jobs=4))
    assert (found.asked, found.before, found.complete) == (2 * PAIRS, 0, True)
    kept = preference_store.find("mine", target.store)
    assert kept.judges == (address,)
    for query, items in enumerate(kept.items):
        assert items == MATERIAL.documents[query]
        values = kept.pairs(query).values
        for i, one in enumerate(items):
            for j, other in enumerate(items):
                if i != j:
                    assert values[i, j] == pytest.approx(0.8 if one < other else 0.4)
        np.testing.assert_array_equal(kept.labels[query], MATERIAL.labels[query])


def test_what_was_answered_is_not_asked_again_and_more_calls_go_on(target):
    judge = Counting()
    with served(judge) as address:
        first = asked(target, address, Plan(calls=20))
        again = asked(target, address, Plan(calls=20))
        more = asked(target, address, Plan(calls=50, jobs=3))
        other = run_to_end(
            judge_sets.ask(
                Target("another", target.store, "planted"), judge_of(address), MATERIAL,
                Plan(calls=20),
            )
        )  # fmt: skip
    assert (first.asked, again.asked, more.asked, other.asked) == (20, 0, 30, 0)
    assert (again.before, more.before, other.before) == (20, 20, 20)
    assert again.artefact.key == first.artefact.key
    assert len(more.preferences.value) == 50
    assert judge.questions.total() == 50
    assert set(judge.questions.values()) == {1}
    assert all(judge.questions[query, b, a] for query, a, b in judge.questions), "both orders"


def test_one_order_is_drawn_and_costs_half(target):
    judge = Counting()
    with served(judge) as address:
        found = asked(target, address, Plan("all", orders="one"))
    assert found.asked == PAIRS == judge.questions.total()
    assert not any((query, b, a) in judge.questions for query, a, b in judge.questions)
    places = {name: at for own in MATERIAL.documents for at, name in enumerate(own)}
    turned = sum(places[a] > places[b] for _, a, b in judge.questions)
    assert 0.2 < turned / PAIRS < 0.8


def test_sampled_pairs_are_all_pairs_in_the_end():
    plan = Plan(calls=10**6)
    found = list(plan.fixed(MATERIAL))
    assert len(found) == len(set(found)) == 2 * PAIRS
    assert set(found) == set(Plan("all").fixed(MATERIAL))
    few = list(Plan(calls=30).fixed(MATERIAL))
    assert few == found[:30]
    assert len({query for query, _, _ in few}) > 1
    assert few != list(Plan(calls=30, seed=1).fixed(MATERIAL))


@pytest.mark.parametrize("name", ["sliding-window", "heap-top-k", "quicksort", "goa"])
def test_an_aggregator_asks_for_the_pairs_that_it_wants(name, target):
    judge = Counting()
    with served(judge) as address:
        found = asked(target, address, Plan(name, top=2))
    assert found.complete
    assert set(judge.questions.values()) == {1}
    if AGGREGATORS[name].adaptive:
        assert found.asked < 2 * PAIRS
    for query, items in enumerate(found.preferences.items):
        order = aggregate(name, found.preferences.pairs(query), Terms(top=2)).order
        best = max(range(len(items)), key=lambda at: MATERIAL.features[query][at][0])
        assert order[0] == best
    with served(judge) as address:
        share = asked(Target("few", target.store, "planted"), address, Plan(name, calls=16))
    assert share.asked <= 16
    assert not share.complete


def test_malformed_answers_are_counted_shown_and_never_mended(target):
    bad = {3: 1.5, 5: "A is better", 7: None, 9: True, 11: (200, b"<html>"), 13: float("nan")}
    judge = Counting(bad)
    with served(judge) as address:
        found = asked(target, address, Plan(calls=20))
        again = asked(target, address, Plan(calls=20))
    assert len(found.malformed) == len(again.malformed) == len(bad)
    assert len(found.preferences.value) == 20 - len(bad)
    told = {row["answer"] for row in found.malformed}
    assert {"<html>", "{'preference': 'A is better'}"} <= told
    assert found.preferences.notes == (f"6 malformed answers of {address} left out.",)
    assert again.preferences.notes == found.preferences.notes
    assert judge.questions.total() == 20


def test_a_call_that_fails_is_made_again_later_each_time(target):
    calls, times = [], []

    def answer(shown):
        calls.append(shown)
        times.append(time.monotonic())
        return (503, {}) if len(calls) <= 2 else 0.5

    with served(answer) as address:
        found = asked(target, address, Plan(calls=2, wait=0.05))
    assert (found.asked, len(calls)) == (2, 4)
    assert times[1] - times[0] >= 0.05
    assert times[2] - times[1] >= 0.1


def test_an_endpoint_that_goes_down_leaves_what_was_answered(target):
    judge = Counting({count: (500, {}) for count in range(7, 10**4)})
    with served(judge) as address, pytest.raises(DataError) as told:
        asked(target, address, Plan(calls=40, retries=1, wait=0.01, jobs=2))
    assert "no answer in 2 calls (HTTP status 500)" in str(told.value)
    assert "the same command continues" in str(told.value)
    assert len(preference_store.find("mine", target.store).value) == 6
    with pytest.raises(DataError, match=r"no answer in 1 call .*refused"):
        asked(target, address, Plan(calls=40, retries=0))
    with served(lambda _: (404, {})) as address, pytest.raises(DataError, match="status 404"):
        asked(target, address, Plan(calls=40))


@contextmanager
def raw_server(parts, pause=0.0):
    """An endpoint that writes these bytes, with a pause behind each part."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        with suppress(OSError):
            while True:
                opened, _ = listening.accept()
                with opened, suppress(OSError):
                    opened.settimeout(0.1)
                    with suppress(TimeoutError):  # all of it: else the client sees a reset
                        while opened.recv(1 << 16):
                            pass
                    for part in parts:
                        opened.sendall(part)
                        time.sleep(pause)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/judge"
    finally:
        listening.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n0.5",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0.5",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 9999999 OK\r\n\r\n",
    ],
)
def test_broken_http_is_a_failed_call(target, answer):
    with raw_server([answer]) as address, pytest.raises(DataError, match=r"no answer in 1 call"):
        asked(target, address, Plan(calls=2, retries=0))


def test_the_timeout_is_one_deadline_for_the_whole_answer(target):
    """Of an endpoint that sends a byte a tenth of a second."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
    judge = [head, *(bytes([letter]) for letter in b"HTTP/1.1 200 OK and more " * 4)]
    begun = time.monotonic()
    with raw_server(judge, 0.1) as address, pytest.raises(DataError, match=r"within 0\.5 s"):
        run_to_end(
            judge_sets.ask(target, judge_of(address, timeout=0.5), MATERIAL,
                           Plan(calls=2, retries=0))
        )  # fmt: skip
    assert time.monotonic() - begun < 5


def test_no_redirect_is_followed(target):
    seen = []
    with served(lambda shown: seen.append(shown) or 0.5) as other:
        head = f"HTTP/1.1 302 Found\r\nLocation: {other}\r\nContent-Length: 0\r\n\r\n"
        with raw_server([head.encode()]) as address, pytest.raises(DataError, match="redirect"):
            asked(target, address, Plan(calls=2))
    assert not seen


@pytest.mark.parametrize(
    "address",
    [
        "http://me:pass@localhost:1/x", "https://h/x?api_key=s", "https://h/x?a=1&access_token=s",
        "http://", "http://h:port/", "http://h/a b",
    ],
)  # fmt: skip
def test_addresses_with_credentials_are_refused_without_being_printed(address):
    with pytest.raises(UsageError) as told:
        judge_of(address)
    assert "pass" not in str(told.value)
    assert "=s" not in str(told.value)
    assert judge_of("https://h/x?model=m").name == "https://h/x?model=m"


def test_functions_are_judges_and_one_that_changes_is_another(target):
    def flipped(query, a, b):
        return 1.0 - prefer(query, a, b)

    first = asked(target, prefer, Plan(calls=10))
    second = asked(target, flipped, Plan(calls=10))
    assert (first.asked, second.asked) == (10, 10)
    assert len(second.preferences.judges) == 2
    assert len(second.preferences.value) == 20

    def failing(query, a, b):
        raise ValueError("out of credit")

    with pytest.raises(DataError, match="out of credit"):
        asked(target, failing, Plan(calls=4, retries=1, wait=0.0))
    with pytest.raises(UsageError, match="is no judge"):
        judge_of("nobody")
    with pytest.raises(DataError, match="cannot be imported"):
        judge_of("no_such_module_at_all:prefer")


def test_terms_that_cannot_be_are_refused(target):
    with pytest.raises(UsageError, match="how many answers"):
        Plan()
    with pytest.raises(ParameterError, match="one of both, one"):
        Plan("all", orders="neither")
    with pytest.raises(UsageError, match="goa"):
        Plan("gao")
    with pytest.raises(ParameterError, match="8 or more: a pair of each query"):
        asked(target, prefer, Plan("quicksort", calls=7))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    for part, name in ((FOLD.train, "train"), (FOLD.valid, "vali"), (FOLD.test, "test")):
        write(part, folder / f"{name}.txt")
    return folder


@pytest.fixture
def command(data, tmp_path, capsys):
    def run(words, status=0):
        store = ["--store", str(tmp_path / "store"), "--data", str(data)]
        code = main(["judge", *words.format(f=tmp_path).split(), *store])
        printed = capsys.readouterr()
        assert code == status, printed.err
        return printed

    return run


def test_the_cost_is_told_before_anything_is_asked(command):
    judge = Counting()
    with served(judge) as address:
        words = f"mine --with {address} --calls 20 --price 0.01 --seconds 2 --jobs 4"
        dry = command(f"{words} --dry-run --json")
        assert judge.questions.total() == 0
        cost = json.loads(dry.out)["cost"]
        assert (cost["calls"], cost["price"], cost["seconds"]) == (20, 0.2, 10.0)
        told = command(words).err
        assert "20 calls; 2 calls a pair, 4 calls at a time; 0.2 at 0.01 a call; 10 s at" in told
        left = json.loads(
            command(f"{words.replace('--calls 20', '--calls 50')} --dry-run --json").out
        )["cost"]
        assert (left["calls"], left["answered"]) == (30, 20)
    assert "the name sample" in command(f"sample --with {address} --calls 2", 2).err


def test_the_facade_asks_a_function(data, tmp_path):
    options = {
        "data": data,
        "store": tmp_path / "store",
        "progress": False,
        "initial": "file-order",
    }
    found = sp.judge("mine", prefer, calls=12, jobs=2, **options)
    assert (found.asked, found.complete) == (12, True)
    assert found.preferences.judges[0].startswith("prefer#")
    assert sp.judge("mine", prefer, calls=12, **options).asked == 0


def test_rankings_and_other_things_are_not_extended(target, tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("query,ranker,item,rank\nq,x,a,1\nq,x,b,2\nq,y,a,2\nq,y,b,1\n")
    reading = preference_store.PreferenceFormat(format="rankings", direction="small")
    preference_store.ingest([file], "mine", target.store, reading)
    with pytest.raises(UsageError, match="holds rankings"):
        asked(target, prefer, Plan(calls=2))


def test_a_job_asks_a_judge_that_is_offered_and_no_other(tmp_path, monkeypatch):
    store, shown = Store(tmp_path / "store"), Counting()
    with served(shown) as address:
        asked = {"data": "sample", "name": "told", "judge": address, "calls": 6, "queries": 2}
        with pytest.raises(UnknownNameError, match="judge"):
            jobs.submit(store, "judge", asked)
        monkeypatch.setenv(OFFERED, f"http://elsewhere:1/judge, {address}")
        for wrong, said in (
            ({"name": "sample"}, "means nothing yet"), ({"name": "../told"}, "letters"),
            ({"orders": "neither"}, "one of both, one"), ({"pairs": "gao"}, "goa"),
            ({"calls": None}, "how many answers"), ({"judge": "os:remove"}, "os:remove"),
        ):  # fmt: skip
            with pytest.raises(ShuffleproofError, match=said):
                jobs.submit(store, "judge", asked | wrong)
        assert not shown.questions
        job = jobs.submit(store, "judge", asked)
        found = run_to_end(jobs.KINDS["judge"](store, **job.parameters))
    assert (found["asked"], found["complete"], shown.questions.total()) == (6, True, 6)
    assert len(preference_store.find("told", store).value) == 6
