"""The doctor of rerankers behind HTTP on toy servers, faults of answers, and the selftest."""

import json
import os
import time
from itertools import count

import pytest

from shuffleproof.core.checks import selftest, ten_calls
from shuffleproof.core.checks.ten_calls import MOST_CALLS, examine_endpoint
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.layout import SAMPLE_TEXTS
from shuffleproof.core.progress import run_to_end
from tests.core.aggregate.test_judges import served

ZOO = selftest.RERANKERS


class Toy:
    """A server that answers as a function does, and counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, request):
        self.calls += 1
        shown = request["query"], request["documents"]
        if self.function is ZOO["refuses empty texts"][0] and "" in request["documents"]:
            return 400, {"error": "a document is empty"}
        return 200, selftest.answer_of(self.function(*shown))


def examined(toy):
    with served(toy) as address:
        return run_to_end(examine_endpoint(f"cohere:{address}"))


@pytest.mark.parametrize("name", ZOO)
def test_every_fault_is_found_within_ten_calls_and_none_on_a_fair_server(name):
    toy = Toy(ZOO[name][0])
    diagnosis = examined(toy)
    assert toy.calls == len(diagnosis.calls) <= MOST_CALLS
    codes = ", ".join(finding.code for finding in diagnosis.findings)
    assert (codes or selftest.NO_FINDING) == ZOO[name][1]
    for finding in diagnosis.findings:
        number = int(finding.where.removeprefix("call ").partition(" ")[0])
        row = diagnosis.calls[number - 1]
        assert finding.where == f"call {number} (query {row['query']}, {row['list']})"
        assert finding.message.count(". ") >= 1  # what was found, then what to do


def farthest_first(query, texts):
    distances = [1 - selftest.relevance(query, text) for text in texts]
    return sorted(enumerate(distances), key=lambda result: -result[1])


def with_invented(query, texts):
    return [*ZOO["fair"][0](query, texts), (len(texts), 0.0)]


def silent_about_long_texts(query, texts):
    too_long = any(len(text) > 5000 for text in texts)
    return ZOO["hides errors" if too_long else "fair"][0](query, texts)


@pytest.mark.parametrize(
    ("function", "code", "call", "words"),
    [
        (farthest_first, "wrong-direction", 7, "Negate distances"),
        (with_invented, "unknown-documents", 1, "Return only indices of documents"),
        (silent_about_long_texts, "swallowed-errors", 8, "in 1 of 8 calls"),
    ],
)
def test_rarer_forms_of_faults_are_found_too(function, code, call, words):
    (finding,) = examined(Toy(function)).findings
    assert finding.code == code
    assert finding.where.startswith(f"call {call} ")
    assert words in finding.message


def test_a_chat_that_reverses_its_list_is_found():
    def reverse(request):
        last = request["messages"][0]["content"].count("\n[") - 1
        text = " > ".join(f"[{place}]" for place in range(last + 1, 0, -1))
        return 200, {"choices": [{"message": {"content": text}}]}

    with served(reverse) as address:
        found = run_to_end(examine_endpoint(f"chat:{address}")).findings
    (finding,) = [one for one in found if one.code == "pass-through"]
    assert "the reverse of the input order" in finding.message


def test_a_server_that_needs_a_moment_is_asked_again_and_one_that_fails_is_left_alone():
    numbers, fair = count(), Toy(ZOO["fair"][0])
    with served(lambda request: fair(request) if next(numbers) else (503, {})) as address:
        assert run_to_end(examine_endpoint(f"cohere:{address}")).findings == ()
    assert next(numbers) <= MOST_CALLS


def busy(_):
    time.sleep(2)
    return 200, {}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: (401, {}), "no permission. Set the key in SHUFFLEPROOF_API_KEY"),
        (lambda _: (403, {}), "no permission. Set the key"),
        (lambda _: (404, {}), "no such path. Correct the path"),
        (lambda _: (500, {}), "HTTP status 500. Read the server's log"),
        (lambda _: (200, b"<html>"), "a web page instead of JSON: <html>. Correct the path"),
        (busy, "no whole answer within 1 s. Send fewer or shorter texts"),
        (None, "connection refused: nothing listens there. Start the server"),
    ],
)
def test_a_call_without_an_answer_says_why_and_what_to_do(answer, words, monkeypatch):
    monkeypatch.setattr(ten_calls, "WAIT", 0.0)
    with served(answer) as address:
        asked = address if answer else "http://127.0.0.1:1/rerank"
        diagnosis = run_to_end(examine_endpoint(f"cohere:{asked};timeout=1"))
    (finding,) = diagnosis.findings
    assert len(diagnosis.calls) == 1
    assert words in finding.message


def test_no_more_calls_are_made_than_allowed(monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_CALLS", "3")
    monkeypatch.setattr("shuffleproof.core.rankers.outside.endpoint.BUDGET.made", 0)
    toy = Toy(ZOO["slot bonus"][0])
    assert [one.code for one in examined(toy).findings] == ["follows-slots"]
    assert toy.calls == 3


def test_the_command_needs_no_data_and_names_the_calls(capsys):
    with served(Toy(ZOO["five results"][0])) as address:
        assert main(["doctor", "--ranker", f"{address}", "--api", "cohere", "--json"]) == 3
        answer = json.loads(capsys.readouterr().out)
        assert main(["doctor", "--ranker", f"cohere:{address}"]) == 3
    assert answer["texts"] == "built-in sentences"
    assert [row["answered"] for row in answer["calls"]][:6] == [5, 5, 5, 5, 5, 1]
    assert "call 1 (query built-in 1, its list)" in capsys.readouterr().out


def test_certificates_and_studies_state_faults_of_answers(tmp_path, capsys):
    data = ["--data", SAMPLE_TEXTS, "--initial", "file-order", "--store", str(tmp_path)]
    few = ["--queries", "4", "--jobs", "4", *data, "--json"]
    toy = Toy(ZOO["five results"][0])
    with served(toy) as address:
        name = f"cohere:{address}"
        assert main(["certify", name, "--permutations", "2", *few]) == 0
        certificate = json.loads(capsys.readouterr().out)
        calls = toy.calls
        assert main(["study", "card", "--rankers", name, "--draws", "1", *few]) == 0
        (sentence,) = json.loads(capsys.readouterr().out)["answer_faults"]
    left_out, every = (int(word) for word in certificate["notes"][-1].split() if word.isdigit())
    assert certificate["notes"][-1].startswith("it left documents out in ")
    assert "It left documents out in" in certificate["sentence"]
    assert 0 < left_out <= every == calls
    assert sentence.startswith(f"{name} left documents out in ")
    assert not os.environ.keys() & {"SHUFFLEPROOF_FUNCTION_JOBS", "SHUFFLEPROOF_CALLS"}


def test_the_selftest_passes_and_notices_a_blind_instrument(monkeypatch, capsys):
    assert main(["selftest"]) == 0
    assert "43 of 43 verdicts are as expected" in capsys.readouterr().out
    monkeypatch.setattr(ten_calls, "_changes", lambda _: [])
    assert main(["selftest", "--json"]) == 3
    rows = json.loads(capsys.readouterr().out)["rows"]
    wrong = {row["kind"] for row in rows if not row["passed"]}
    assert wrong == {"normalised", "slot bonus", "noisy"}
