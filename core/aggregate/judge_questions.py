"""Questions for a judge about pairs of a data set's documents: choice, order and cost.

Each answer is stored at once under the content of its question (the judge, the query, the two
documents in their order), so no call is repeated.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import numpy as np

from shuffleproof.core.aggregate import registry
from shuffleproof.core.aggregate.judges import JudgeInput, LiveJudge, preference_of
from shuffleproof.core.aggregate.oracle import PaidPairs
from shuffleproof.core.aggregate.registry import Terms
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UsageError, quoted
from shuffleproof.core.parameters import CheckedParameters, parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import canonical_json
from shuffleproof.core.store.records import Records
from shuffleproof.core.words import counted, duration

ALL, SAMPLED = "all", "sampled"
ORDERS = ("both", "one")
LISTS: Mapping[str, Any] = {"initial": ("file-order",), "depth": 40}
"""Default recipe of the judged lists: fields of `ListRecipe`."""
FOLDER = "judgments"  # Of the store: answers by the content of their questions
Question = tuple[int, int, int]
"""A query and two of its documents by their places, the one shown first before the other."""


@dataclass(frozen=True)
class Material:
    """Material for judges.

    Attributes:
        queries: their ids.
        query_texts: what they say, where that is known.
        documents: by query, the ids of its documents in the order of the list.
        texts: by query and document, what they say; empty where it is not known.
        features: by query, a row a document.
        labels: by query, a grade a document.
    """

    queries: tuple[str, ...]
    query_texts: tuple[str, ...]
    documents: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    features: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, judged: JudgedLists, query_texts: Mapping[str, str]) -> "Material":
        """The documents of candidate lists; one without an id is called by its row."""
        dataset, lists = judged.dataset, judged.lists
        names = [dataset.query_ids[query] for query in lists.queries.tolist()]
        rows = np.split(lists.rows, lists.offsets[1:-1])
        ids, texts = dataset.doc_ids, dataset.texts

        def called(row: int) -> str:
            return (ids[row] if ids is not None else "") or f"row{row}"

        return cls(
            tuple(names),
            tuple(query_texts.get(name, "") for name in names),
            tuple(tuple(called(row) for row in list_rows.tolist()) for list_rows in rows),
            tuple(
                tuple("" if texts is None else texts[row] for row in list_rows)
                for list_rows in rows
            ),
            tuple(dataset.features[list_rows] for list_rows in rows),
            tuple(dataset.labels[list_rows].astype(float) for list_rows in rows),
        )

    def for_judge(self, question: Question) -> JudgeInput:
        """Arguments of a judge's call."""
        query, a, b = question

        def document(place: int) -> JudgeInput:
            features = [float(value) for value in self.features[query][place]]
            fields = {"id": self.documents[query][place], "text": self.texts[query][place]}
            return fields | {"features": features}

        query_fields = {"id": self.queries[query], "text": self.query_texts[query]}
        return {"query": query_fields, "a": document(a), "b": document(b)}


@dataclass(frozen=True)
class Plan(CheckedParameters):
    """Choice of pairs and terms of asking."""

    pairs: str = parameter(SAMPLED, "`all`, `sampled`, or an aggregator, which asks for its pairs")
    calls: int | None = parameter(None, "wanted answers, old ones among them; None: all", low=1)
    orders: str = parameter(
        "both", "both orders of two documents, or one, which is drawn for each pair", choices=ORDERS
    )
    seed: int = parameter(0, "of what is drawn")
    top: int | None = parameter(None, "ranks that an aggregator wants; None: all")
    jobs: int = parameter(1, "calls at the same time", low=1)
    retries: int = parameter(3, "calls that are made again where one fails", low=0)
    wait: float = parameter(0.5, "seconds before the first of them, then doubled each time")

    def __post_init__(self) -> None:
        """Check what can be checked without the documents."""
        super().__post_init__()
        if self.pairs not in {ALL, SAMPLED}:
            registry.aggregator_named(self.pairs)
        elif self.pairs == SAMPLED and self.calls is None:
            raise UsageError("pairs are sampled: say how many answers are wanted (--calls)")

    @property
    def calls_a_pair(self) -> int:
        """Calls that a pair takes."""
        return 2 if self.orders == "both" else 1

    def max_calls(self, material: Material) -> int:
        """Calls at most."""
        return self.most_of([len(documents) for documents in material.documents])

    def most_of(self, sizes: Iterable[int]) -> int:
        """Largest number of calls for queries of these sizes."""
        every = self.calls_a_pair * sum(size * (size - 1) // 2 for size in sizes)
        return (
            every
            if self.calls is None
            else min(every, self.calls // self.calls_a_pair * self.calls_a_pair)
        )

    def questions(self, material: Material, query: int, pair: Sequence[int]) -> list[Question]:
        """The questions that a pair makes."""
        low, high = sorted(map(int, pair))
        if self.orders == "both":
            return [(query, low, high), (query, high, low)]
        names = (material.queries[query], *(material.documents[query][at] for at in (low, high)))
        exchanged = generator(self.seed, "judge", "order", *names).random() < 0.5
        return [(query, high, low) if exchanged else (query, low, high)]

    def fixed(self, material: Material) -> Iterator[Question]:
        """The questions of `all` and `sampled`; more calls only add to those of fewer."""
        pairs = (
            _sampled_pairs(material, self.seed) if self.pairs == SAMPLED else _all_pairs(material)
        )
        for query, *pair in islice(pairs, self.max_calls(material) // self.calls_a_pair):
            yield from self.questions(material, query, pair)


def cost_of(
    plan: Plan, most: int, before: int | None, price: float | None, seconds: float | None
) -> dict[str, Any]:
    """Cost of asking: calls, and price and seconds if those of a call are known.

    Args:
        plan: which pairs, and on what terms.
        most: calls at most.
        before: calls that are answered already; None: it is not known.
        price: of a call.
        seconds: that a call takes.

    >>> cost_of(Plan(calls=100, jobs=4), 100, 0, 0.002, None)["text"]
    '100 calls; 2 calls a pair, 4 calls at a time; 0.2 at 0.002 a call.'
    """
    calls = most - (before or 0)
    text = counted(calls, "call")
    text += f" ({before:,} of {most:,} are answered)" if before else ""
    text += " at most, less what is answered" if before is None else ""
    text += f"; {counted(plan.calls_a_pair, 'call')} a pair, {counted(plan.jobs, 'call')} at a time"
    cost: dict[str, Any] = {"calls": calls, "answered": before}
    if price is not None:
        cost["price"] = calls * price
        text += f"; {cost['price']:g} at {price:g} a call"
    if seconds is not None:
        cost["seconds"] = calls * seconds / plan.jobs
        text += f"; {duration(cost['seconds'])} at {seconds:g} s a call"
    return {**cost, "text": text + "."}


def _all_pairs(material: Material) -> Iterator[tuple[int, ...]]:
    for query, documents in enumerate(material.documents):
        for pair in combinations(range(len(documents)), 2):
            yield query, *pair


def _sampled_pairs(material: Material, seed: int) -> Iterator[tuple[int, ...]]:
    """Each pair of all queries once, in an order drawn."""
    sizes = np.array([len(documents) for documents in material.documents])
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    draw, drawn = generator(seed, "judge", "pairs"), set[int]()
    while len(drawn) < ends[-1]:
        # Draws with repeats are passed over, so that more calls only add pairs
        for at in draw.integers(ends[-1], size=1024).tolist():
            if at in drawn:
                continue
            drawn.add(at)
            query = int(np.searchsorted(ends, at, side="right"))
            place = at - (int(ends[query - 1]) if query else 0)
            high = int((1 + np.sqrt(1 + 8 * place)) // 2)  # inverse of high(high − 1)/2 + low
            high -= high * (high - 1) // 2 > place  # the root was rounded up
            yield query, place - high * (high - 1) // 2, high


@dataclass
class Ledger:
    """Answers of a judge: in the store by content, and in the set that is extended.

    Attributes:
        material: that questions are about.
        known_by: what the judge is.
        records: answers by the digest of their questions.
        given: answers that a set has already.
        answers: so far; None: a malformed one.
        malformed: what came instead of an answer, by question.
        newly_answered: questions that were answered in this run.
    """

    material: Material
    known_by: str
    records: Records
    given: Mapping[Question, float]
    answers: dict[Question, float | None] = field(default_factory=dict)
    malformed: dict[Question, str] = field(default_factory=dict)
    newly_answered: set[Question] = field(default_factory=set)

    @classmethod
    def of(
        cls, store: Store, material: Material, judge: LiveJudge, given: Mapping[Question, float]
    ) -> "Ledger":
        """The ledger of a store."""
        return cls(material, judge.known_by, Records(store.root / FOLDER), given)

    def knows(self, question: Question) -> bool:
        """True if it has an answer, which is then among `answers`."""
        if question in self.answers:
            return True
        if question in self.given:
            self.answers[question] = self.given[question]
            return True
        record = self.records.get(self._digest(question))
        if not record:
            return False
        self._file_answer(question, record[0]["answer"])
        return True

    def note(self, question: Question, answer: Any) -> None:
        """Store an answer before the next call."""
        value = preference_of(answer)
        entry: dict[str, Any] = {"preference": value}
        if value is None:
            content = answer.get("text", answer) if isinstance(answer, Mapping) else answer
            entry = {"malformed": str(content)[:500].encode(errors="replace").decode()}
        self.records.put(self._digest(question), {"answer": entry}, {})
        self._file_answer(question, entry)
        self.newly_answered.add(question)

    def _file_answer(self, question: Question, entry: Mapping[str, Any]) -> None:
        if "malformed" in entry:
            self.malformed[question] = entry["malformed"]
        self.answers[question] = entry.get("preference")

    def _digest(self, question: Question) -> str:
        text = canonical_json({"judge": self.known_by, **self.material.for_judge(question)})
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


JudgeWork = Generator[Progress, None, None]


def ask_judge(
    questions: Sequence[Question], judge: LiveJudge, ledger: Ledger, plan: Plan, total: int
) -> JudgeWork:
    """Put questions to a judge, `plan.jobs` at a time; each answer is filed as it comes.

    Raises:
        DataError: the judge does not answer; calls under way are waited for and filed first.
    """
    remaining = iter([pending for pending in dict.fromkeys(questions) if not ledger.knows(pending)])

    def ask(question: Question) -> None:
        answer = judge.ask(ledger.material.for_judge(question), plan.retries, plan.wait)
        ledger.note(question, answer)

    with ThreadPoolExecutor(plan.jobs) as pool:
        running: set[Future[None]] = {
            pool.submit(ask, pending) for pending in islice(remaining, plan.jobs)
        }
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                future.result()
            running |= {pool.submit(ask, pending) for pending in islice(remaining, len(ended))}
            yield Progress(
                len(ledger.answers), total, "answers", {"malformed": float(len(ledger.malformed))}
            )


def ask_plan(
    plan: Plan, ledger: Ledger, ask: Callable[[Sequence[Question]], JudgeWork]
) -> Generator[Progress, None, bool]:
    """Ask what a plan wants; whether it got all that it wanted.

    Args:
        plan: which pairs.
        ledger: where answers are found afterwards; a question without one there is missing.
        ask: puts questions, and may leave some without an answer.
    """
    material = ledger.material
    if plan.pairs in {ALL, SAMPLED}:
        questions = list(plan.fixed(material))
        yield from ask(questions)
        return all(question in ledger.answers for question in questions)
    share = _share(plan, material)
    works = {
        query: registry.order_by_asking(plan.pairs, PaidPairs.nothing(len(documents)), terms)
        for query, documents in enumerate(material.documents)
        for terms in [Terms(share, plan.seed, plan.top)]
    }
    wanted = {query: next(work, None) for query, work in works.items()}
    complete = True
    while wanted := {query: pairs for query, pairs in wanted.items() if pairs is not None}:
        yield from ask(
            [
                question
                for query, couples in wanted.items()
                for pair in couples.tolist()
                for question in plan.questions(material, query, pair)
            ]
        )
        following: dict[int, np.ndarray | None] = {}
        for query, couples in wanted.items():
            weights, whole = _weights(plan, ledger, query, couples)
            if not whole:
                complete = False
                continue
            try:
                following[query] = works[query].send(weights)
            except StopIteration as stop:
                complete &= stop.value.complete
        wanted = following  # one round a call of `ask`: queries run side by side
    return complete


def _share(plan: Plan, material: Material) -> int | None:
    """Pairs that each query may ask."""
    if plan.calls is None:
        return None
    share = plan.calls // (plan.calls_a_pair * len(material.queries))
    if not share:
        least = plan.calls_a_pair * len(material.queries)
        raise ParameterError(
            "calls", plan.calls, f"{least} or more: a pair of each query; or ask fewer queries"
        )
    return share


def _weights(
    plan: Plan, ledger: Ledger, query: int, couples: np.ndarray
) -> tuple[np.ndarray, bool]:
    """f(i, j) and f(j, i) of these pairs, NaN for a malformed answer; whether all were answered."""
    table = np.full((len(couples), 2), np.nan)
    whole = True
    for at, (i, j) in enumerate(couples.tolist()):
        for question in plan.questions(ledger.material, query, (i, j)):
            whole &= question in ledger.answers
            value = ledger.answers.get(question)
            if value is not None:
                table[at, 0 if question[1] == i else 1] = value
        for side, opposite in ((0, 1), (1, 0)):
            if np.isnan(table[at, side]):
                table[at, side] = 1.0 - table[at, opposite]  # one answer tells both directions
    return table, whole


def malformed_answers(ledger: Ledger) -> list[dict[str, str]]:
    """The malformed answers: query, documents in the input order, and what came."""
    material = ledger.material
    return [
        {
            "query": material.queries[query], "a": material.documents[query][a],
            "b": material.documents[query][b], "answer": answer,
        }
        for (query, a, b), answer in sorted(ledger.malformed.items())
    ]  # fmt: skip


def twice_named(material: Material) -> str:
    """A document that a list has twice, in words; empty: there is none."""
    for query, documents in zip(material.queries, material.documents, strict=True):
        name, count = Counter(documents).most_common(1)[0] if documents else ("", 0)
        if count > 1:
            return f"query {quoted(query)} has {count} documents called {quoted(name)}"
    return ""
