"""The doctor of rerankers behind HTTP: at most ten calls, and the faults that their answers show.

Findings have the form of the doctor of rankers (`core.checks.doctor`), and each names its call.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from shuffleproof.core.checks.doctor import SLOW, Diagnosis, precision_in_words
from shuffleproof.core.checks.first_pass import FAILED
from shuffleproof.core.data.doctor import Finding, Severity
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.apis import Ask
from shuffleproof.core.rankers.outside.endpoint import WAIT, EndpointRanker, calls_allowed
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.rerank.effects import unit_of, values_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted, number

SLIGHT, NOISES = 0.02, 3.0
"""Least change of a value that counts: share of the list's range, and multiple of the noise."""

LIST, AGAIN, REVERSED, SHUFFLED = "its list", "the list again", "its reverse", "the list shuffled"
REPLACED, ALONE = "every second document replaced", "its first document alone"
PLANTED = "the query itself among unrelated sentences"
"""Descriptions of calls."""

NOISY = "not-deterministic"

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
class Reply:
    """A call and its answer; documents are named by their texts.

    Attributes:
        place: number of the call, from 1.
        call: the answer; its `first_stage` says in words which list was shown.
        failure: the error of a call without an answer, or an answer without any usable part.
        remedy: of a call without an answer.
    """

    place: int
    call: Call
    failure: str = ""
    remedy: str = ""

    @property
    def location(self) -> str:
        """The call in words."""
        return f"call {self.place} (query {self.call.query}, {self.call.first_stage})"

    def plain(self) -> dict[str, Any]:
        """Row of the call in JSON."""
        call = self.call
        return {
            "call": self.place, "query": call.query, "list": call.first_stage,
            "documents": len(call.shown), "answered": len(call.answered), "seconds": call.seconds,
            "failure": self.failure,
        }  # fmt: skip


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
    length = len(SENTENCES) if target.api.documents else target.window
    return (yield from diagnose_calls(ranker.name, ask, target.api.name, length))


def diagnose_calls(
    name: str, ask: Ask, service: str = "cohere", length: int = len(SENTENCES)
) -> Generator[Progress, None, Diagnosis]:
    """Make the calls, and say what is wrong with their answers.

    Args:
        name: of the reranker.
        ask: makes one call.
        service: expected form of the answers, for messages.
        length: largest number of documents of a call.
    """
    replies: list[Reply] = []
    trials, start = list(_trials(length)), time.perf_counter()
    most = min(MOST_CALLS, calls_allowed() or MOST_CALLS)
    for at, trial in enumerate(trials):
        if at >= most or time.perf_counter() - start > SECONDS:
            break
        yield Progress(at, min(most, len(trials)), "calls")
        reply = _reply(name, at + 1, trial, ask)
        if at == 0 and reply.failure and most > 1:  # it may still load its model
            time.sleep(WAIT)
            most, reply = most - 1, _reply(name, 1, trial, ask)
        replies.append(reply)
        if at == 0 and not reply.call.answered:
            break
    seconds = [reply.call.seconds for reply in replies if reply.call.seconds is not None]
    return Diagnosis(
        name, sum(bool(reply.call.answered) for reply in replies), len(replies),
        float(np.median(seconds)) if seconds else float("nan"), {},
        tuple(findings(replies, service)), tuple(reply.plain() for reply in replies),
    )  # fmt: skip


Trial = tuple[str, tuple[str, str], Sequence[str]]
"""Description of a call, one of QUERIES, and the texts shown, each once."""


def _trials(length: int) -> Iterator[Trial]:
    """Lists to show."""
    first, second = QUERIES
    own, other = SENTENCES[:12][:length], SENTENCES[6:][:length]
    others = [text for text in (*other, *SENTENCES) if text not in own]
    unrelated = [text for text in SENTENCES if text not in own][-6:]
    mixed = [own[at] for at in generator(0, "ten calls").permutation(len(own))]
    partly = [own[at] if at % 2 == 0 else others[at // 2] for at in range(len(own))]
    half = len(unrelated) // 2
    planted = [*unrelated[:half], first[1], *unrelated[half:]]
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
        yield words, first, tuple(dict.fromkeys(texts))
    yield "a list of another query", second, other


def _reply(name: str, place: int, trial: Trial, ask: Ask) -> Reply:
    words, (query_id, query), shown = trial
    start, call = time.perf_counter(), Call(name, query_id, tuple(shown), (), first_stage=words)
    try:
        rating = ask(query, shown)
    except DataError as error:
        return Reply(place, call, str(error.__cause__ or error.finding), error.remedy)
    seconds = time.perf_counter() - start
    call = Call.of_rating(rating, query_id, call.shown, name, first_stage=words, seconds=seconds)
    return Reply(place, call, rating.malformed)


Replies = Sequence[Reply]


def findings(replies: Replies, service: str) -> list[Finding]:
    """All findings, problems first. A finding that another one explains is left out."""
    return sorted(_findings(replies, service), key=lambda one: one.severity == "warning")


def _findings(replies: Replies, service: str) -> Iterator[Finding]:
    yield from _without_answers(replies, service)
    answered = [reply for reply in replies if reply.call.answered]
    yield from _incomplete(answered)
    yield from _slow(answered)
    if any(reply.call.unknown for reply in answered):  # scores may be of other documents
        return
    several = [reply for reply in answered if len(reply.call.answered) > 1]
    yield from _constant(several)
    several = [reply for reply in several if len(set(reply.call.scores)) != 1]
    if not several:
        return
    yield from _ties(several)
    if found := [*_passed_on(several)]:
        yield from found
        return
    changes = [*_changes(answered)]
    is_noisy = any(finding.code == NOISY for finding in changes)
    yield from [*([] if is_noisy else _direction(several))] or _unsorted(several)
    yield from changes


def _finding(code: str, some: Replies, message: str, severity: Severity = "problem") -> Finding:
    return Finding(code, severity, message, some[0].location)


def _share(some: Replies, replies: Replies) -> str:
    return f"{len(some)} of {counted(len(replies), 'call')}"


def _without_answers(replies: Replies, service: str) -> Iterator[Finding]:
    failures = [reply for reply in replies if reply.failure and not reply.call.malformed]
    if failures:
        only_long = all("" in reply.call.shown for reply in failures)
        remedy = failures[0].remedy
        if only_long:
            remedy = "Leave out empty texts and shorten long ones before the call."
        message = f"{_share(failures, replies)} without an answer: {failures[0].failure}. {remedy}"
        yield _finding(FAILED, failures, message, "warning" if only_long else "problem")
    malformed = [reply for reply in replies if reply.call.malformed]
    if malformed and not any(reply.call.unknown for reply in replies):
        message = (
            f"{_share(malformed, replies)} with an answer that cannot be read: "
            f"{malformed[0].failure}. Correct the path, or name the service (--api): an answer of "
            f"{service} was expected."
        )
        yield _finding("no-scores", malformed, message)


INCOMPLETE = (
    ("unknown-documents", "unknown", "documents that were not shown",
     "Return only indices of documents in the request."),
    ("repeated-answers", "repeated", "documents named twice", "Return each document once."),
    ("dropped-documents", "dropped", "documents left out",
     "Return every document of the request; a missing one counts as last."),
)  # fmt: skip
"""Code, field of a call, words and remedy of answers that are no order of their list."""


def _incomplete(replies: Replies) -> Iterator[Finding]:
    for code, name, words, usual in INCOMPLETE:
        some = [reply for reply in replies if getattr(reply.call, name)]
        if not some:
            continue
        remedy, limit = usual, len(some[0].call.answered)
        from_one = name == "unknown" and all(
            reply.call.shown[0] not in reply.call.answered for reply in some
        )
        if from_one:
            remedy = "Count indices from 0: the first document is never named."
        is_limit = {len(one.call.answered) for one in some} == {limit} and all(
            len(one.call.answered) <= limit for one in replies
        )
        if name == "dropped" and len(some) > 1 and is_limit:
            remedy = (
                f"It answers {limit} documents at most: raise its limit, or use --depth {limit}."
            )
        count = getattr(some[0].call, name)
        yield _finding(code, some, f"{_share(some, replies)} with {words} ({count} here). {remedy}")
        if from_one:  # the same fault leaves out the first document
            return


def _slow(replies: Replies) -> Iterator[Finding]:
    by_seconds = sorted(replies, key=lambda reply: -(reply.call.seconds or 0.0))
    seconds = [reply.call.seconds or 0.0 for reply in by_seconds]
    if seconds and (usual := float(np.median(seconds))) > SLOW:
        message = (
            f"A call takes {usual:.1f} s (median of {counted(len(seconds), 'call')}; slowest "
            f"{seconds[0]:.1f} s). Make several calls at a time (--jobs), or use fewer queries."
        )
        yield _finding("slow", by_seconds, message, "warning")


def _constant(replies: Replies) -> Iterator[Finding]:
    """One score for all documents of a list."""
    constant = [reply for reply in replies if len(set(reply.call.scores)) == 1]
    zero = [reply for reply in constant if not any(reply.call.scores) and _is_as_shown(reply.call)]
    if zero:
        message = (
            f"All scores are 0, in the input order, in {_share(zero, replies)}: the service may "
            "hide an error. Read its log, and let it report errors with an HTTP status."
        )
        yield _finding("swallowed-errors", zero, message)
    elif constant:
        message = (
            f"All documents have the same score in {_share(constant, replies)} "
            f"({number(constant[0].call.scores[0], '.4g')} here). Check that the texts reach the "
            "model, and that its last layer is neither saturated nor untrained."
        )
        yield _finding("constant-scores", constant, message)


def _ties(replies: Replies) -> Iterator[Finding]:
    """Different texts with equal scores, at a bound or since scores were rounded."""
    scores = np.array(replies[0].call.scores)
    every = np.concatenate([reply.call.scores for reply in replies])
    tied, rounded = len(scores) - len(np.unique(scores)), precision_in_words(every)
    if tied and rounded:
        message = (
            f"Scores are {rounded}, and {tied} of {len(scores)} documents tie with another one. "
            "Return float32 scores without rounding."
        )
        yield _finding("low-precision-ties", replies, message)
    elif tied:
        for bound, words in ((scores.max(), "highest"), (scores.min(), "lowest")):
            if (equal := int((scores == bound).sum())) >= max(4, len(scores) / 3):
                message = (
                    f"{equal} of {len(scores)} documents have the {words} score, "
                    f"{number(float(bound), '.6g')}. Rank by the value before the sigmoid or clip."
                )
                severity: Severity = "problem" if words == "highest" else "warning"
                yield _finding("saturated-scores", replies, message, severity)


def _direction(replies: Replies) -> Iterator[Finding]:
    """Place of the query's own text among unrelated sentences."""
    for reply in replies:
        values = values_of(reply.call, unit_of([reply.call]))
        planted = values.pop(reply.call.shown[len(reply.call.shown) // 2], None)
        if reply.call.first_stage != PLANTED or planted is None or not values:
            continue
        better = sum(value >= planted for value in values.values())
        if planted < min(values.values()):
            message = (
                "The query's own text gets the lowest value among unrelated sentences. Negate "
                "distances and losses: the best document needs the highest score."
            )
            yield _finding("wrong-direction", [reply], message)
        elif better:
            message = (
                f"{counted(better, 'unrelated sentence')} of {len(values)} rank as high as the "
                "query's own text. Check that query and texts reach the model."
            )
            yield _finding("unrelated-first", [reply], message, "warning")


def _unsorted(replies: Replies) -> Iterator[Finding]:
    wrong = [reply for reply in replies if any(b > a for a, b in pairwise(reply.call.scores))]
    if wrong:
        shown = ", in the input order" * all(_is_as_shown(reply.call) for reply in wrong)
        message = (
            f"{_share(wrong, replies)} with results that are not sorted by score{shown}. Sort "
            "them, the highest score first: callers read their order."
        )
        yield _finding("unsorted-results", wrong, message)


def _passed_on(replies: Replies) -> Iterator[Finding]:
    """Rankings that are the input order, or its reverse, in every call."""
    some = [reply for reply in replies if reply.call.first_stage == REVERSED]
    if {LIST, REVERSED, SHUFFLED} - {reply.call.first_stage for reply in replies}:
        return
    for words, step in (("", 1), ("the reverse of ", -1)):
        if all(_is_as_shown(_by_score(reply.call), step) for reply in replies):
            message = (
                f"The ranking of all {counted(len(replies), 'list')} is {words}the input order, "
                "also when it is reversed. Check that the scores come from the model."
            )
            yield _finding("pass-through", some, message)


def _by_score(call: Call) -> Call:
    """The call with its documents sorted by their scores, where they have some."""
    scores = dict(zip(call.answered, call.scores, strict=False))
    answered = sorted(call.answered, key=lambda text: -scores.get(text, 0.0))
    return replace(call, answered=tuple(answered), scores=())


def _is_as_shown(call: Call, step: int = 1) -> bool:
    """True if the documents are answered in the order shown; step −1: in its reverse."""
    shown = tuple(text for text in call.shown if text in call.answered)
    return call.answered == shown[::step]


CHANGES: tuple[tuple[str, Severity, tuple[str, ...], str, str], ...] = (
    (NOISY, "problem", (AGAIN,), "The same call again changes",
     "Switch off sampling and dropout, and fix seeds."),
    ("follows-slots", "warning", (REVERSED, SHUFFLED), "Another order changes",
     "Measure it with `study rerankers`, and average several orders."),
    ("depends-on-company", "warning", (REPLACED, ALONE), "Other documents in the call change",
     "Compare scores only within a call."),
)  # fmt: skip
"""Code, severity, compared lists, cause and remedy of values that change."""


def _changes(replies: Replies) -> Iterator[Finding]:
    """Values that change with the same input, with its order, or with the other documents."""
    by_list = {reply.call.first_stage: reply for reply in reversed(replies)}
    unit, base = unit_of([reply.call for reply in replies]), replies[0].call
    before = values_of(base, unit)
    least = SLIGHT * (max(before.values()) - min(before.values()))
    for code, severity, lists, cause, remedy in CHANGES:
        changes = []
        for reply in filter(None, map(by_list.get, lists)):
            common = [text for text in reply.call.answered if text in before]
            # Places count among the same documents
            here, there = (values_of(call, unit, common) for call in (base, reply.call))
            changes += [(abs(here[text] - there[text]), here[text], there[text], text, reply)
                        for text in common]  # fmt: skip
        if not changes:
            continue
        change, *values, text, reply = max(changes, key=itemgetter(0))
        if change > least:
            one, other = (number(value, ".3g") for value in values)
            own, then = base.shown.index(text) + 1, reply.call.shown.index(text) + 1
            message = (
                f"{cause} the {unit} of document {own} from {one} to {other}"
                f"{f', shown at {then}' * (then != own)}. {remedy}"
            )
            yield _finding(code, [reply], message, severity)
            if code != NOISY:  # what changes with the order changes with other documents too
                return
        if code == NOISY:
            least = max(least, NOISES * change)
