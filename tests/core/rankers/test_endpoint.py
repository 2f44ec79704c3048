"""Rerankers behind HTTP: what is sent, what is read, what is counted, and what is refused."""

from itertools import count

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import (
    AnswerError,
    DataError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside import endpoint
from shuffleproof.core.rankers.outside.apis import LETTERS, Target
from shuffleproof.core.rankers.outside.endpoint import BUDGET, CALLS, EndpointRanker
from tests.served import served

WORDS = ["one", "two words", "three words here", "four words are here"]
QUALITY = {text: len(text.split()) for text in WORDS}


def data(lists=2, length=4, *, texts=True):
    """Lists whose best document is the one of most words, shown last."""
    documents = lists * length
    bounds = np.arange(0, documents + 1, length)
    own = [WORDS[at % 4] + f" {at}" for at in range(documents)] if length > 4 else WORDS * lists
    return RankingDataset(
        np.zeros((documents, 1), np.float32), np.zeros(documents, np.float32), bounds,
        tuple(map(str, range(lists))), (1,), texts=TextColumn.of(own) if texts else None,
        query_texts=tuple(f"query {at}" for at in range(lists)) if texts else None,
    )  # fmt: skip


def ranker(address, service="", **options):
    given = "".join(f";{name}={value}" for name, value in options.items())
    name = f"{service}:{address}{given}" if service else f"{address}{given}"
    return EndpointRanker.from_name(RankerName.parse(name))


def scores(asked, dataset=None):
    dataset = dataset or data()
    return asked.score(dataset, CandidateLists.all_documents(dataset)).reshape(dataset.queries, -1)


def by_words(texts):
    return [len(text.split()) for text in texts]


SERVICES = {
    "cohere": ("documents", lambda values: {"results": [
        {"index": at, "relevance_score": value} for at, value in values]}),
    "tei": ("texts", lambda values: [{"index": at, "score": value} for at, value in values]),
    "voyage": ("documents", lambda values: {"data": [
        {"index": at, "relevance_score": value} for at, value in values]}),
    "mixedbread": ("input", lambda values: {"data": [
        {"index": at, "score": value} for at, value in values]}),
}  # fmt: skip


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_is_sent_its_fields_and_its_answer_is_read(service):
    field, body, sent = *SERVICES[service], []

    def answer(request):
        sent.append(request)
        values = sorted(enumerate(by_words(request[field])), key=lambda pair: -pair[1])
        return 200, body(values)

    with served(answer, "/rerank") as address:
        found = scores(ranker(address, service, model="m"))
    assert found.argmax(axis=1).tolist() == [3, 3]
    assert {request["query"] for request in sent} == {"query 0", "query 1"}
    assert {request["model"] for request in sent} == {"m"}


def words_served(request):
    return 200, SERVICES["cohere"][1](enumerate(by_words(request["documents"])))


def chat_answer(request):
    """A model that orders passages by their number of words, or names the longest one's letter."""
    lines = request["messages"][0]["content"].splitlines()
    marks = [line.partition("] ") for line in lines if line.startswith("[")]
    ranked = sorted(marks, key=lambda parts: -len(parts[2].split()))
    if request.get("logprobs"):
        top = [{"token": mark[1:], "logprob": -float(at)} for at, (mark, _, _) in enumerate(ranked)]
        return 200, {"choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}]}
    text = " > ".join(f"{mark}]" for mark, _, _ in ranked)
    return 200, {"choices": [{"message": {"content": text}}], "usage": {"total_tokens": 7}}


@pytest.mark.parametrize("options", [{}, {"read": "logprobs"}, {"window": 4, "stride": 2}])
def test_a_chat_orders_lists_by_windows(options):
    calls = []

    def answer(request):
        calls.append(request)
        return chat_answer(request)

    with served(answer, "/v1/chat/completions") as address:
        asked = ranker(address, **options)
        dataset = data(lists=1, length=9)
        found = scores(asked, dataset)[0]
    best = np.argsort(-found, kind="stable")[:2].tolist()
    assert sorted(best) == [3, 7], "the two longest texts rise to the top"
    assert len(calls) == len(asked.windows([9])) == len(asked.target.starts(9))


@pytest.mark.parametrize(
    ("results", "faults"),
    [
        ([{"index": 3, "relevance_score": 1.0}], {"dropped": 2}),
        ([{"index": at % 4, "relevance_score": 1.0} for at in range(5)], {"repeated": 2}),
        ([{"index": at, "relevance_score": 1.0} for at in range(5)], {"unknown": 2}),
    ],
)
def test_faults_are_counted_and_dropped_documents_come_last(results, faults):
    with served(lambda _: (200, {"results": results}), "/rerank") as address:
        asked = ranker(address)
        found = scores(asked)
    assert dict(asked.faults) == {"answers": 2, **faults}
    if "dropped" in faults:
        assert np.isneginf(found).sum() == 6


@pytest.mark.parametrize(
    "body", [{"results": []}, {"error": "no"}, {"results": [{"index": 0, "relevance_score": "x"}]},
             b"<html>", [1, 2], {"results": [{"index": 0, "relevance_score": float("nan")}]}],
)  # fmt: skip
def test_an_unusable_answer_is_an_error_that_names_the_query(body):
    told = pytest.raises(AnswerError, match="query 0: it answered")
    with served(lambda _: (200, body), "/rerank") as address, told as raised:
        scores(ranker(address))
    assert "--api" in str(raised.value)


def test_keys_go_to_their_own_hosts_alone(monkeypatch):
    def key_for(address):
        return Target.parse("cohere", address).headers.get("Authorization")

    monkeypatch.setenv("COHERE_API_KEY", "secret")
    assert key_for("https://api.cohere.com/v2/rerank") == "Bearer secret"
    assert key_for("https://cohere.com.example.org/rerank") is None
    monkeypatch.setenv("SHUFFLEPROOF_API_KEY", "mine")
    sent = []
    with served(words_served, "/rerank", headers=sent) as address:
        scores(ranker(address))
    assert {one["Authorization"] for one in sent} == {"Bearer mine"}


def test_no_more_calls_are_made_than_allowed(monkeypatch):
    monkeypatch.setenv(CALLS, str(BUDGET.made + 3))
    answers = count()

    def answer(request):
        next(answers)
        return words_served(request)

    with served(answer, "/rerank") as address, pytest.raises(DataError, match="calls are made"):
        scores(ranker(address), data(lists=9))
    assert next(answers) == 3
    monkeypatch.setenv(CALLS, "none")
    with pytest.raises(ParameterError, match="whole number"):
        endpoint.calls_allowed()


def test_a_busy_endpoint_is_asked_again(monkeypatch):
    monkeypatch.setattr(endpoint, "WAIT", 0.01)
    calls = count()

    def answer(request):
        if next(calls) < 2:
            return 503, {}
        return words_served(request)

    with served(answer, "/rerank") as address:
        assert scores(ranker(address)).argmax(axis=1).tolist() == [3, 3]


def test_data_without_texts_and_wrong_names_are_refused():
    with pytest.raises(DataError, match="--query-texts"):
        scores(ranker("http://127.0.0.1:1/rerank"), data(texts=False))
    for path, error, words in (
        ("http://user:pass@h/", UsageError, "credential"),
        ("http://h/?api_key=1", UsageError, "environment variable"),
        ("http://h/;modle=x", UnknownNameError, "did you mean model"),
        ("http://h/;window=1", ParameterError, "between 2 and 100"),
        ("http://h/;read=logprobs;window=30", ParameterError, f"at most {len(LETTERS)}"),
    ):
        with pytest.raises(error, match=words):
            Target.parse("chat", path)


def test_names_parse_back():
    for text, whole in (
        ("http://h:1/rerank", "cohere:http://h:1/rerank"),
        ("http://h/v1/chat/completions;model=m", "chat:http://h/v1/chat/completions;model=m"),
        ("tei:https://h/rerank", "tei:https://h/rerank"),
    ):
        name = RankerName.parse(text)
        assert str(name) == whole
        assert RankerName.parse(whole) == name
