"""Services that rerank texts over HTTP, as one table of their differences.

A request holds the query and the texts in the order shown. An answer names documents by their place
in that order, with scores or as an order. Answers are never repaired: what is missing, repeated or
unknown is counted.
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.execution.http_client import check_address
from shuffleproof.core.parameters import CheckedParameters, parameter, parameters, value_of
from shuffleproof.core.rerank.calls import Rating, as_one_line, is_number, tokens_of

GENERAL_KEY = "SHUFFLEPROOF_API_KEY"
"""Environment variable with the key of any service; a service's own is only sent to its hosts."""

LETTERS = "ABCDEFGHIJKLMNOPQRST"
"""Identifiers of documents where the answer is one letter: top log-probabilities cover 20."""


COUNTED = ("dropped", "repeated", "unknown")
"""Faults that are counted by document."""


@dataclass(frozen=True)
class Api:
    """A service.

    Attributes:
        name: before the address in names of rankers.
        documents: field of the texts; empty for chat.
        limit: field of the number of wanted results; empty: there is none.
        more: fields of every request.
        key: environment variable of its key, sent to `hosts` only.
        hosts: ends of its own hosts' names.
    """

    name: str
    documents: str = "documents"
    limit: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    hosts: tuple[str, ...] = ()


APIS: Mapping[str, Api] = {
    api.name: api
    for api in (
        Api("chat", "", key="OPENAI_API_KEY", hosts=("openai.com",)),
        Api("voyage", limit="top_k", key="VOYAGE_API_KEY", hosts=("voyageai.com",)),
        Api("mixedbread", "input", "top_k", {"return_input": False}, "MXBAI_API_KEY",
            ("mixedbread.com", "mixedbread.ai")),
        Api("tei", "texts"),
        # Also Jina, vLLM, llama.cpp and LiteLLM
        Api("cohere", limit="top_n", key="COHERE_API_KEY", hosts=("cohere.com", "cohere.ai")),
    )
}  # fmt: skip
"""By name."""


@dataclass(frozen=True)
class Target(CheckedParameters):
    """Address of a service, with its options.

    Attributes:
        api: the service.
        address: http or https.
        model: empty: the service's only one.
        window: documents of a call (chat).
        stride: from one window to the next (chat); 0: half a window.
        read: order, or logprobs of the first token (chat).
        timeout: seconds for an answer.
    """

    api: Api
    address: str
    model: str = parameter("", "name of the model, as the service calls it")
    window: int = parameter(20, "documents of a call (chat)", low=2, high=100)
    stride: int = parameter(0, "documents between two windows (chat)", low=0, high=100)
    read: str = parameter("order", "what to read (chat)", choices=("order", "logprobs"))
    timeout: float = parameter(60.0, "seconds for an answer", low=1, high=3600)

    @classmethod
    def parse(cls, api: str, path: str) -> "Target":
        """Target of a ranker's name: `http://HOST/PATH;model=…;window=…`.

        Raises:
            UsageError: an address that cannot be used, or an unknown option.
            ParameterError: an option with an impossible value.

        >>> Target.parse("chat", "http://127.0.0.1:1/v1/chat/completions;window=4").starts(6)
        [2, 0]
        """
        address, *texts = path.split(";")
        check_address(address, "reranker")
        declared = {one.name: one for one in parameters(cls)}
        options = dict(text.partition("=")[::2] for text in texts)
        if unknown := sorted(options.keys() - declared.keys()):
            raise UnknownNameError("option of a reranker", unknown[0], declared)
        values = {name: value_of(declared[name], text) for name, text in options.items()}
        target = cls(APIS[api], address, **values)
        if target.read == "logprobs" and target.window > len(LETTERS):
            at_most = f"at most {len(LETTERS)} with read=logprobs"
            raise ParameterError("window", target.window, at_most)
        return target

    def starts(self, documents: int) -> list[int]:
        """Start of each window over a list, the last window first.

        >>> Target.parse("chat", "http://h/;window=4;stride=2").starts(9)
        [5, 3, 1, 0]
        """
        last = max(documents - self.window, 0)
        return [*range(last, 0, -min(self.stride or self.window // 2, self.window)), 0]

    @property
    def headers(self) -> dict[str, str]:
        """Header with the key from the environment, if there is one for this host."""
        host = f".{urlsplit(self.address).hostname}"
        own = {f".{end}": self.api.key for end in self.api.hosts} | {".jina.ai": "JINA_API_KEY"}
        names = [GENERAL_KEY, *(key for end, key in own.items() if host.endswith(end))]
        key = next(filter(None, (os.environ.get(name, "").strip() for name in names)), "")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def request(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        """Payload of a call of one list, or of one window of a chat."""
        named = {"model": self.model} if self.model else {}
        if not self.api.documents:
            return named | _chat(query, texts, logprobs=self.read == "logprobs")
        limit = {self.api.limit: len(texts)} if self.api.limit else {}
        return {
            **named, "query": query, self.api.documents: list(texts), **limit, **self.api.more,
        }  # fmt: skip

    def rating(self, answer: Any, documents: int) -> Rating:
        """Answer of such a call, read."""
        if isinstance(answer, Mapping) and answer.keys() == {"text"}:
            text = as_one_line(answer["text"])
            kind = "a web page" if text.startswith("<") else "text"
            return Rating(malformed=f"{kind} instead of JSON: {text}")
        if not self.api.documents:
            return _of_chat(self, answer, documents)
        return Rating.of_results(answer, documents)


ORDER_ONLY = (
    "Answer with the numbers only, the most relevant passage first, like this: [2] > [1] > [3]. "
    "Name every passage once and explain nothing."
)
FIRST_LETTER = "Answer with the letter of the most relevant passage, and with nothing else."


def _chat(query: str, texts: Sequence[str], *, logprobs: bool) -> dict[str, Any]:
    """Messages that ask for an order of passages, or for the letter of the best one."""
    marks = LETTERS if logprobs else range(1, len(texts) + 1)
    passages = "\n".join(
        f"[{mark}] {' '.join(text.split())}" for mark, text in zip(marks, texts, strict=False)
    )
    task = FIRST_LETTER if logprobs else ORDER_ONLY
    text = (
        f"Here are {len(texts)} passages, each behind its mark in brackets.\n\n{passages}\n\n"
        f"Search query: {query}\n\nHow relevant is each passage to the search query? {task}"
    )
    settings: dict[str, Any] = {"temperature": 0.0, "max_tokens": 8 * len(texts) + 16}
    if logprobs:
        settings = {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
    return {"messages": [{"role": "user", "content": text}], **settings}


def _of_chat(target: Target, answer: Any, documents: int) -> Rating:
    """Answer of a chat: an order as `[2] > [1]`, or log-probabilities of the first token."""
    places: list[int] = []
    scores: dict[int, float] = {}
    try:
        choice = answer["choices"][0]
        if target.read == "logprobs":  # the best of each letter's tokens
            for entry in choice["logprobs"]["content"][0]["top_logprobs"]:
                letter = str(entry["token"]).strip(" [").upper()
                place = LETTERS.find(letter) if len(letter) == 1 else -1
                if 0 <= place < documents and is_number(entry["logprob"]):
                    scores[place] = max(scores.get(place, -math.inf), float(entry["logprob"]))
            places = sorted(scores, key=lambda place: -scores[place])
        else:
            text = str(choice["message"]["content"] or "")
            places = [int(number) - 1 for number in re.findall(r"\[(\d{1,6})\]", text)]
            answer = {**answer, "text": text}
    except (LookupError, TypeError):
        places = []
    said = answer.get("text", answer) if isinstance(answer, Mapping) else answer
    in_order = [scores[place] for place in places] if scores else []
    return Rating.of(places, documents, in_order, said, tokens_of(answer))


Ask = Callable[[str, Sequence[str]], Rating]
"""Query and texts in the order shown → rating."""


def slide(target: Target, query: str, texts: Sequence[str], ask: Ask) -> Rating:
    """Rating of a list by windows that slide from its end to its start, with all their faults.

    A window's documents take the order that was answered for them; those without an answer stay
    behind them, in the order shown (RankGPT, Sun et al. 2023, section 3.2).
    """
    starts = target.starts(len(texts))
    if len(starts) == 1:
        return ask(query, texts)
    order, ratings = list(range(len(texts))), []
    for start in starts:
        shown = order[start : start + target.window]
        rating = ask(query, [texts[place] for place in shown])
        answered = [shown[place] for place in rating.order]
        others = [place for place in shown if place not in answered]
        order[start : start + target.window] = answered + others
        ratings.append(rating)
    tokens = [rating.tokens for rating in ratings if rating.tokens is not None]
    faults = {name: sum(getattr(one, name) for one in ratings) for name in COUNTED}
    malformed = next((rating.malformed for rating in ratings if rating.malformed), "")
    return Rating(
        tuple(order), malformed=malformed, tokens=sum(tokens) if tokens else None,
        calls=len(ratings), **faults,
    )  # fmt: skip
