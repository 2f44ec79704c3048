"""The doctor of rerankers behind HTTP: at most ten calls, and the faults that their answers show.

Findings have the form of the doctor of rankers (`core.checks.doctor`), and each names its call.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffleproof.core.checks import call_faults
from shuffleproof.core.checks.call_faults import (
    AGAIN,
    ALONE,
    LIST,
    PLANTED,
    REPLACED,
    REVERSED,
    SHUFFLED,
    Reply,
)
from shuffleproof.core.checks.doctor import Diagnosis
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.apis import Ask
from shuffleproof.core.rankers.outside.endpoint import WAIT, EndpointRanker, calls_allowed
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.seeds import generator

MOST_CALLS, SECONDS = 10, 55.0
"""Calls, and seconds after which none starts."""

LONG = 20_000
"""Letters of the very long text."""

QUERIES = (
    ("built-in 1", "how do plants make food from sunlight"),
    ("built-in 2", "why does bread dough rise"),
)
SENTENCES = (
    "Plants make sugar from sunlight, water and carbon dioxide in photosynthesis.",
    "Chlorophyll in the leaves absorbs sunlight and gives plants their green colour.",
    "Some plants, such as the sundew, catch insects as additional food.",
    "Roots take up water and minerals from the soil.",
    "Solar panels turn sunlight into electricity.",
    "A balanced diet contains fruit, vegetables and whole grains.",
    "Yeast eats the sugar in dough, and the gas that it makes lets bread rise.",
    "Kneading builds gluten, which holds the gas inside bread dough.",
    "Baking soda and an acid make cakes rise without yeast.",
    "Sourdough is leavened by wild yeast and bacteria.",
    "Warm air rises since it is less dense than cold air.",
    "The price of wheat depends on the harvest and on transport.",
    "The committee postponed its vote on the new railway station.",
    "Violins have four strings, which are tuned in fifths.",
    "The goalkeeper saved two penalties in the final.",
    "Neptune takes 165 years to travel once around the sun.",
    "Her novel describes three generations of lighthouse keepers.",
    "The museum is closed on Mondays and on public holidays.",
)
"""Documents: 12 for each query, and six that fit neither."""


@dataclass(frozen=True)
class TextList:
    """A query and texts of its documents, each text once."""

    query_id: str
    query: str
    texts: tuple[str, ...]


def built_in_lists(length: int = 12) -> tuple[TextList, TextList]:
    """Two queries with lists of SENTENCES, of this length at most."""
    first, second = QUERIES
    return (
        TextList(*first, SENTENCES[:12][:length]), TextList(*second, SENTENCES[6:][:length]),
    )  # fmt: skip


def examine_endpoint(name: str) -> Generator[Progress, None, Diagnosis]:
    """Diagnosis of a reranker behind HTTP, from its answers about built-in sentences.

    Raises:
        UsageError: an address or option that cannot be used.
    """
    ranker = EndpointRanker.from_name(RankerName.parse(name))
    target, end = ranker.target, time.monotonic() + SECONDS

    def ask(query: str, texts: Sequence[str]) -> Any:
        seconds = min(target.timeout, max(end - time.monotonic(), 1.0))
        timed = replace(ranker, target=replace(target, timeout=seconds))
        return timed.ask(query, texts, retries=0)

    # A chat shows one window a call
    lists = built_in_lists(target.window) if not target.api.documents else built_in_lists()
    return (yield from diagnose_calls(ranker.name, ask, lists, target.api.name))


def diagnose_calls(
    name: str,
    ask: Ask,
    queries: tuple[TextList, TextList],
    service: str = "cohere",
    clock: Callable[[], float] = time.perf_counter,
) -> Generator[Progress, None, Diagnosis]:
    """Make the calls, and say what is wrong with their answers.

    Args:
        name: of the reranker.
        ask: makes one call.
        queries: two lists; the first one is also shown in other orders.
        service: expected form of the answers, for messages.
        clock: returns seconds.
    """
    replies: list[Reply] = []
    trials, start = list(_trials(*queries)), clock()
    most = min(MOST_CALLS, calls_allowed() or MOST_CALLS)
    for at, trial in enumerate(trials):
        if at >= most or clock() - start > SECONDS:
            break
        yield Progress(at, min(most, len(trials)), "calls")
        reply = _reply(name, at + 1, trial, ask, clock)
        if at == 0 and reply.failure and most > 1:  # it may still load its model
            time.sleep(WAIT)
            most, reply = most - 1, _reply(name, 1, trial, ask, clock)
        replies.append(reply)
        if at == 0 and not reply.call.answered:
            break
    seconds = [reply.call.seconds for reply in replies if reply.call.seconds is not None]
    return Diagnosis(
        name, sum(bool(reply.call.answered) for reply in replies), len(replies),
        float(np.median(seconds)) if seconds else float("nan"), {},
        tuple(call_faults.findings(replies, service)),
        tuple(reply.plain() for reply in replies),
    )  # fmt: skip


def _trials(first: TextList, second: TextList) -> Iterator[tuple[str, TextList]]:
    """Lists to show, with their descriptions."""
    own = first.texts
    others = [text for text in (*second.texts, *SENTENCES) if text not in own]
    unrelated = [text for text in SENTENCES if text not in own][-6:]
    mixed = [own[at] for at in generator(0, "ten calls").permutation(len(own))]
    partly = [own[at] if at % 2 == 0 else others[at // 2] for at in range(len(own))]
    half = len(unrelated) // 2
    planted = [*unrelated[:half], first.query, *unrelated[half:]]
    very_long = " ".join(own * (LONG // sum(map(len, own)) + 1))[:LONG]
    for words, texts in (
        (LIST, own),
        (AGAIN, own),
        (REVERSED, own[::-1]),
        (SHUFFLED, mixed),
        (REPLACED, partly),
        (ALONE, own[:1]),
        (PLANTED, planted),
        ("an empty and a very long text in the list", [*own[:2], "", *own[2:4], very_long]),
    ):
        yield words, replace(first, texts=tuple(dict.fromkeys(texts)))
    yield "a list of another query", second


def _reply(
    name: str, place: int, trial: tuple[str, TextList], ask: Ask, clock: Callable[[], float]
) -> Reply:
    words, shown = trial
    start = clock()
    call = Call(name, shown.query_id, shown.texts, (), first_stage=words)
    try:
        rating = ask(shown.query, shown.texts)
    except DataError as error:
        return Reply(place, call, str(error.__cause__ or error.finding), error.remedy)
    seconds = clock() - start
    call = Call.of_rating(rating, call.query, call.shown, name, first_stage=words, seconds=seconds)
    return Reply(place, call, rating.malformed)
