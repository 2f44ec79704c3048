"""The doctor of rerankers behind HTTP: at most ten calls, and the faults that their answers show.

Findings have the form of the doctor of rankers (`core.checks.doctor`), and each names its call.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from shuffleproof.core.checks.doctor import SLOW, Diagnosis, precision_in_words
from shuffleproof.core.checks.first_pass import FAILED
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.doctor import Finding, Severity
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.apis import Ask
from shuffleproof.core.rankers.outside.endpoint import WAIT, EndpointRanker, calls_allowed
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.rerank.effects import SCORE, unit_of, values_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted, number

MOST_CALLS, SECONDS = 10, 55.0
"""Calls, and seconds after which none starts."""

LENGTH, LEAST, LONG = 16, 8, 20_000
"""Documents of a list, at most and at least, and letters of the very long text."""

SLIGHT, NOISES = 0.02, 3.0
"""Least change of a value that counts: share of the list's range, and multiple of the noise."""

NOISY = "not-deterministic"
BUILT_IN = "built-in sentences"
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
"""Documents where a data set has no texts: 12 for each query, and six that fit neither."""


@dataclass(frozen=True)
class TextList:
    """A query and texts of its documents, each text once."""

    query_id: str
    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Reply:
    """A call and its answer; documents are named by their texts.

    Attributes:
        place: number of the call, from 1.
        call: the answer; its `first_stage` says in words which list was shown.
        failure: the error of a call without an answer.
        answer: text of an answer without any usable part.
    """

    place: int
    call: Call
    failure: str = ""
    answer: str = ""

    @property
    def where(self) -> str:
        """The call in words."""
        return f"call {self.place} (query {self.call.query}, {self.call.first_stage})"

    def plain(self) -> dict[str, Any]:
        """Row of the call in JSON."""
        call = self.call
        return {
            "call": self.place, "query": call.query, "list": call.first_stage,
            "documents": len(call.shown), "answered": len(call.answered), "seconds": call.seconds,
            "failure": self.failure or self.answer,
        }  # fmt: skip


def built_in_lists() -> tuple[TextList, TextList]:
    """Two queries with lists of SENTENCES."""
    first, second = QUERIES
    return TextList(*first, SENTENCES[:12]), TextList(*second, SENTENCES[6:])


def has_texts(dataset: RankingDataset) -> bool:
    """True if a data set has texts of its documents and queries."""
    return dataset.texts is not None and dataset.query_texts is not None


def text_lists(ranker: EndpointRanker, lists: JudgedLists) -> tuple[TextList, TextList]:
    """The two longest lists of a data set with texts; short ones get built-in sentences."""
    inputs = ranker.inputs(lists.dataset, lists.lists)
    longest = np.argsort(-lists.lists.lengths, kind="stable")[:2].tolist()
    found = []
    for at in longest:
        query, texts = inputs[at]
        own = [text for text in dict.fromkeys(texts) if text.strip()][:LENGTH]
        padded = [*own, *SENTENCES][: max(LEAST, len(own))]
        name = lists.dataset.query_ids[lists.lists.queries[at]]
        found.append(TextList(name, query, tuple(dict.fromkeys(padded))))
    first, second = (*found, *built_in_lists())[:2]
    return first, second


def examine_endpoint(name: str, lists: JudgedLists | None) -> Generator[Progress, None, Diagnosis]:
    """Diagnosis of a reranker behind HTTP.

    Args:
        name: of the ranker, with its address.
        lists: of a data set; None, or without texts: built-in sentences are shown.

    Raises:
        UsageError: an address or option that cannot be used.
    """
    ranker = EndpointRanker.from_name(RankerName.parse(name))
    if lists is not None and has_texts(lists.dataset):
        queries = text_lists(ranker, lists)
    else:
        queries = built_in_lists()
    if not ranker.target.api.documents:  # a chat shows one window a call
        queries = tuple(  # type: ignore[assignment]
            replace(one, texts=one.texts[: ranker.target.window]) for one in queries
        )
    end = time.monotonic() + SECONDS

    def ask(query: str, texts: Sequence[str]) -> Any:
        seconds = min(ranker.target.timeout, max(end - time.monotonic(), 1.0))
        timed = replace(ranker, target=replace(ranker.target, timeout=seconds))
        return timed.ask(query, texts, retries=0)

    return (yield from diagnose_calls(ranker.name, ask, queries, ranker.target.api.name))


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
    severities: dict[Severity, int] = {"problem": 0, "warning": 1, "info": 2}
    found = sorted(_findings(replies, service), key=lambda one: severities[one.severity])
    seconds = [reply.call.seconds for reply in replies if reply.call.seconds is not None]
    return Diagnosis(
        name, sum(bool(reply.call.answered) for reply in replies), len(replies),
        float(np.median(seconds)) if seconds else float("nan"), {}, tuple(found),
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
        ("its list", own),
        ("the same list again", own),
        ("the list reversed", own[::-1]),
        ("the list shuffled", mixed),
        ("every second document replaced", partly),
        ("its first document alone", own[:1]),
        ("the query itself among unrelated sentences", planted),
        ("an empty and a very long text in the list", [*own[:2], "", *own[2:4], very_long]),
    ):
        yield words, replace(first, texts=tuple(dict.fromkeys(texts)))
    yield "its list", second


def _reply(
    name: str, place: int, trial: tuple[str, TextList], ask: Ask, clock: Callable[[], float]
) -> Reply:
    words, shown = trial
    start = clock()
    call = Call(name, shown.query_id, shown.texts, (), first_stage=words)
    try:
        rating = ask(shown.query, shown.texts)
    except DataError as error:
        return Reply(place, call, failure=error.finding)
    answered = tuple(shown.texts[at] for at in rating.order)
    call = replace(
        call, answered=answered, scores=rating.scores, repeated=rating.repeated,
        unknown=rating.unknown, malformed=bool(rating.malformed), seconds=clock() - start,
    )  # fmt: skip
    return Reply(place, call, answer=rating.malformed)


def _findings(replies: Sequence[Reply], service: str) -> Iterator[Finding]:
    """All findings; one that explains another stands for both."""
    yield from _without_answers(replies, service)
    answered = [reply for reply in replies if reply.call.answered]
    if not answered:
        return
    yield from _incomplete(answered)
    yield from _slow(answered)
    if any(reply.call.unknown for reply in answered):  # scores may be of other documents
        return
    with_several = [reply for reply in answered if len(reply.call.answered) > 1]
    yield from _constant(with_several)
    with_several = [reply for reply in with_several if len(set(reply.call.scores)) != 1]
    if not with_several:
        return
    yield from _ties(with_several)
    changes = [*_changes(answered)]
    is_noisy = any(finding.code == NOISY for finding in changes)
    direction = [] if is_noisy else [*_direction(answered)]
    yield from direction or _unsorted(with_several)
    yield from [*_passed_on(with_several)] or changes


def _without_answers(replies: Sequence[Reply], service: str) -> Iterator[Finding]:
    failures = [reply for reply in replies if reply.failure]
    if failures:
        only_long = all("" in reply.call.shown for reply in failures)
        remedy = (
            "Leave out empty texts and shorten long ones before the call"
            if only_long
            else "See that it runs, and read its log"
        )
        message = f"{_share(failures, replies)} without an answer: {failures[0].failure}. {remedy}."
        severity: Severity = "warning" if only_long else "problem"
        yield Finding(FAILED, severity, message, failures[0].where)
    malformed = [reply for reply in replies if reply.answer]
    if malformed and not any(reply.call.unknown for reply in replies):
        message = (
            f"{_share(malformed, replies)} with an answer that cannot be read: "
            f"{malformed[0].answer}. Expected an answer of the {service} service; name another "
            "with --api."
        )
        yield Finding("no-scores", "problem", message, malformed[0].where)


def _incomplete(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Documents that were left out, named twice, or never shown."""
    unknown = [reply for reply in replies if reply.call.unknown]
    if unknown:
        call = unknown[0].call
        from_one = all(reply.call.shown[0] not in reply.call.answered for reply in unknown)
        remedy = (
            "Count indices from 0: the first document is never named."
            if from_one
            else "Return only indices of documents in the request."
        )
        message = (
            f"{_share(unknown, replies)} with documents that were not shown ({call.unknown} here). "
            f"{remedy}"
        )
        yield Finding("unknown-documents", "problem", message, unknown[0].where)
    if repeated := [reply for reply in replies if reply.call.repeated]:
        message = (
            f"{_share(repeated, replies)} with documents named twice "
            f"({repeated[0].call.repeated} here). Return each document once."
        )
        yield Finding("repeated-answers", "problem", message, repeated[0].where)
    dropped = [reply for reply in replies if reply.call.dropped]
    if not dropped or (unknown and from_one):
        return
    call, sizes = dropped[0].call, {len(reply.call.answered) for reply in dropped}
    limit = len(call.answered)
    cut = len(dropped) > 1 and len(sizes) == 1 and all(
        len(reply.call.shown) <= limit for reply in replies if reply not in dropped
    )  # fmt: skip
    remedy = (
        f"It answers {limit} documents at most: raise its limit, or use --depth {limit}."
        if cut
        else "Return every document of the request; a missing one counts as last."
    )
    message = (
        f"{_share(dropped, replies)} with documents left out "
        f"({call.dropped} of {len(call.shown)} here). {remedy}"
    )
    yield Finding("dropped-documents", "problem", message, dropped[0].where)


def _slow(replies: Sequence[Reply]) -> Iterator[Finding]:
    seconds = [reply.call.seconds or 0.0 for reply in replies]
    if (usual := float(np.median(seconds))) > SLOW:
        slowest = replies[int(np.argmax(seconds))]
        message = (
            f"A call takes {usual:.1f} s (median of {counted(len(seconds), 'call')}; slowest "
            f"{max(seconds):.1f} s). Make several calls at a time (--jobs), or use fewer queries."
        )
        yield Finding("slow", "warning", message, slowest.where)


def _constant(replies: Sequence[Reply]) -> Iterator[Finding]:
    """One score for all documents of a list."""
    constant = [reply for reply in replies if len(set(reply.call.scores)) == 1]
    zero = [
        reply for reply in constant if not any(reply.call.scores) and _is_order_shown(reply.call)
    ]
    if zero:
        message = (
            f"All scores are 0, in the input order, in {_share(zero, replies)}: the service may "
            "hide an error. Read its log, and let it report errors with an HTTP status."
        )
        yield Finding("swallowed-errors", "problem", message, zero[0].where)
    elif constant:
        message = (
            f"All documents have the same score in {_share(constant, replies)} "
            f"({number(constant[0].call.scores[0], '.4g')} here). Check that the texts reach the "
            "model, and that its last layer is neither saturated nor untrained."
        )
        yield Finding("constant-scores", "problem", message, constant[0].where)


def _ties(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Different texts with equal scores, at a bound or since scores were rounded."""
    first = replies[0] if replies else None
    if first is None or not first.call.scores:
        return
    scores = np.array(first.call.scores)
    every = np.concatenate([reply.call.scores for reply in replies])
    tied, rounded = len(scores) - len(np.unique(scores)), precision_in_words(every)
    if rounded and tied:
        message = (
            f"Scores are {rounded}, and {tied} of {len(scores)} documents tie with another one. "
            "Return float32 scores without rounding."
        )
        yield Finding("low-precision-ties", "problem", message, first.where)
        return
    for bound, words in ((scores.max(), "highest"), (scores.min(), "lowest")):
        if (equal := int((scores == bound).sum())) >= max(4, len(scores) / 3):
            message = (
                f"{equal} of {len(scores)} documents have the {words} score, "
                f"{number(float(bound), '.6g')}. Rank by the value before the sigmoid or clip."
            )
            severity: Severity = "problem" if words == "highest" else "warning"
            yield Finding("saturated-scores", severity, message, first.where)


def _direction(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Place of the query's own text among unrelated sentences."""
    for reply in replies:
        if not reply.call.first_stage.startswith("the query itself"):
            continue
        values = values_of(reply.call, unit_of([reply.call]))
        planted = values.pop(reply.call.shown[len(reply.call.shown) // 2], None)
        if planted is None or not values or planted > max(values.values()):
            continue
        if planted < min(values.values()):
            message = (
                "The query's own text gets the lowest value among unrelated sentences. Negate "
                "distances and losses: the best document needs the highest score."
            )
            yield Finding("wrong-direction", "problem", message, reply.where)
        else:
            better = sum(value >= planted for value in values.values())
            message = (
                f"{counted(better, 'unrelated sentence')} of {len(values)} rank as high as the "
                "query's own text. Check that query and texts reach the model."
            )
            yield Finding("unrelated-first", "warning", message, reply.where)


def _unsorted(replies: Sequence[Reply]) -> Iterator[Finding]:
    wrong = [reply for reply in replies if any(b > a for a, b in pairwise(reply.call.scores))]
    if wrong:
        shown = ", in the input order" * all(_is_order_shown(reply.call) for reply in wrong)
        message = (
            f"{_share(wrong, replies)} with results that are not sorted by score{shown}. Sort "
            "them, the highest score first: callers read their order."
        )
        yield Finding("unsorted-results", "problem", message, wrong[0].where)


def _passed_on(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Rankings that are the input order, or its reverse, in every call."""
    long = [reply for reply in replies if len(reply.call.shown) > 2]
    rankings = [(reply.call.shown, _ranking(reply.call)) for reply in long]
    if len(long) < 3:
        return
    for words, step in (("", 1), ("the reverse of ", -1)):
        if all(
            ranking == tuple(text for text in shown if text in ranking)[::step]
            for shown, ranking in rankings
        ):
            message = (
                f"The ranking of all {counted(len(long), 'list')} is {words}the input order, also "
                "when it is reversed. Check that the scores come from the model."
            )
            yield Finding("pass-through", "problem", message, long[-1].where)


def _changes(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Values that change with the same input, with its order, or with the other documents."""
    by_list = {reply.call.first_stage: reply for reply in reversed(replies)}
    unit = unit_of([reply.call for reply in replies])
    base = by_list.get("its list")
    if base is None or base.place != 1:
        return
    before = values_of(base.call, unit)
    spread = max(before.values()) - min(before.values())

    def largest(words: str) -> tuple[float, str]:
        """Largest change of a document's value in another call, and its text."""
        if words not in by_list:
            return 0.0, ""
        call = by_list[words].call
        common = [text for text in call.answered if text in before]
        if unit != SCORE and len(common) < len(call.shown):  # places among the same documents
            here, there = values_of(base.call, unit, common), values_of(call, unit, common)
        else:
            here, there = before, values_of(call, unit)
        changes = [(abs(here[text] - there[text]), text) for text in common]
        return max(changes, default=(0.0, ""))

    noise, text = largest("the same list again")
    if noise > SLIGHT * spread:
        reply = by_list["the same list again"]
        message = (
            f"The same call again changes the {unit} of document {base.call.shown.index(text) + 1} "
            f"by {number(noise, '.2g')}; the list's range is {number(spread, '.2g')}. Switch off "
            "sampling and dropout, and fix seeds."
        )
        yield Finding(NOISY, "problem", message, reply.where)
    least = max(SLIGHT * spread, NOISES * noise)
    words = max(("the list reversed", "the list shuffled"), key=lambda one: largest(one)[0])
    change, text = largest(words)
    if change > least:
        call = by_list[words].call
        value = values_of(call, unit)[text]
        message = (
            f"The order shown changes the {unit} of a document from {number(before[text], '.3g')} "
            f"(shown at {base.call.shown.index(text) + 1}) to {number(value, '.3g')} (at "
            f"{call.shown.index(text) + 1}). Measure the effect with `study rerankers`, and "
            "average several orders."
        )
        yield Finding("follows-slots", "warning", message, by_list[words].where)
        return  # what changes with the order changes with other documents too
    company = ("every second document replaced", "its first document alone")
    words = max(company, key=lambda one: largest(one)[0])
    change, text = largest(words)
    if change > least:
        value = values_of(by_list[words].call, unit).get(text, float("nan"))
        message = (
            f"Other documents in the call change the {unit} of document "
            f"{base.call.shown.index(text) + 1} from {number(before[text], '.3g')} to "
            f"{number(value, '.3g')}. Compare scores only within a call."
        )
        yield Finding("depends-on-company", "warning", message, by_list[words].where)


def _ranking(call: Call) -> tuple[str, ...]:
    """Documents by score, or where there is none as answered; ties keep the answered order."""
    if not call.scores:
        return call.answered
    scores = dict(zip(call.answered, call.scores, strict=True))
    return tuple(sorted(call.answered, key=lambda text: -scores[text]))


def _is_order_shown(call: Call) -> bool:
    return call.answered == tuple(text for text in call.shown if text in call.answered)


def _share(some: Sequence[Reply], replies: Sequence[Reply]) -> str:
    return f"{len(some)} of {counted(len(replies), 'call')}"
