"""Study of rerankers: calls, recorded or made now, and what they say.

Live calls follow `core.rerank.design`. An answer of an endpoint is stored at once under the content
of its call, so that no call is paid twice. Recorded answers are looked up in the same design; the
study writes the calls that are missing.
"""

import json
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Semaphore
from typing import Any, NamedTuple

import numpy as np

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.data.trec import document_names
from shuffleproof.core.errors import DataError, FixedScoresError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.perturb.sets import assemble
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import INITIAL, Kind
from shuffleproof.core.rankers.outside.callable_ranker import digest_of_texts
from shuffleproof.core.rankers.outside.endpoint import EndpointRanker, calls_allowed
from shuffleproof.core.rankers.outside.function_process import jobs_allowed
from shuffleproof.core.rerank.calls import KIND, Call, Ranking, Rating, Reranks, of_json
from shuffleproof.core.rerank.design import Design, Input
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.kinds.rerankers.examine import Plan, examine
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import Workbench

HOPELESS = 10
"""Calls without any usable answer after which a study ends."""

MISSING = "missing.jsonl"
"""File of the calls that a design wants and no answer was recorded for."""

Calls = Generator[Progress, None, list[Call]]


def run_recorded(question: Rerankers, scope: Scope) -> Generator[Progress, None, Artefact]:
    """Examine recorded answers.

    Raises:
        DataError: they have no judgments.
    """
    artefact = scope.store.resolve(scope.pinned or scope.data, KIND)
    recorded = Reranks.open(artefact.path)
    if not recorded.grades:
        remedy = "Ingest them with --qrels."
        raise DataError(scope.data, "recorded answers without judgments", remedy)
    queries = recorded.queries[: question.queries]
    digest = artefact.key.digest
    rankers = [(name, digest) for name in recorded.rerankers]
    plan = Plan.for_question(question, rankers, digest, recorded=True)
    grades = {name: recorded.grades[name] for name in queries}
    made = tuple(call for call in recorded.calls if call.query in grades)
    lists = replace(recorded, grades=grades, calls=made)
    facts = {"data": scope.data, "queries": len(queries), "notes": list(recorded.notes)}

    def work(known: dict[str, Any]) -> Generator[Progress, None, StudyResult]:
        yield Progress(0, 1, "reranker")
        return examine(plan, lists, known)

    return (yield from engine.run(scope.store, plan, queries, lambda: facts, work, save=_save))


def run(workbench: Workbench, question: Rerankers) -> Generator[Progress, None, Artefact]:
    """Ask rerankers about the test lists of a data set, and examine their answers."""
    base = workbench.test_lists(question.queries)
    rankers: dict[str, Any] = {}
    digests: dict[str, str] = {}
    for label, name in expand(question.rankers).items():
        if name.is_scores:
            raise FixedScoresError(label)
        identified = yield from workbench.identified(name)
        rankers[label] = identified.ranker
        if name.kind is not Kind.ENDPOINT:
            digests[label] = identified.digest
        else:
            # Answers are found again by address and options, however noisy they are
            rankers[label] = EndpointRanker.from_name(name)
            texts = digest_of_texts(rankers[label].reads, base.dataset)
            digests[label] = key_of("reranker", {"name": label}, texts).digest
    plan = Plan.for_question(
        question, list(digests.items()), workbench.lists_digest, recorded=False
    )
    base = _within_calls(base, rankers, plan)
    if len(base.lists) < len(workbench.test_lists(None).lists):
        plan = replace(plan, queries=len(base.lists))
    live = LiveCalls(plan, base, _lists_of(base), workbench.store.records)
    facts = workbench.facts(base)
    work = partial(live.work, rankers)
    queries = list(live.lists.grades)
    studied = yield from workbench.run(plan, queries, lambda: facts, work, save=_save)
    if (dry := getattr(workbench, "dry", None)) is not None:
        dry.expect(**_cost(plan, rankers, base))
    return studied


def _cost(plan: Plan, rankers: Mapping[str, Any], base: JudgedLists) -> dict[str, Any]:
    """Calls of each endpoint, and tokens and price of all of them: four letters are a token."""
    calls: dict[str, int] = {}
    letters = 0
    for label, ranker in rankers.items():
        if isinstance(ranker, EndpointRanker):
            calls[label] = int(_calls_of(ranker, plan.design, base).sum())
            letters += sum(
                ranker.letters(query, texts, plan.design.lengths(len(texts)))
                for query, texts in ranker.inputs(base.dataset, base.lists)
            )
    tokens = letters // 4
    return {"calls": calls, "tokens": tokens, "price": plan.price(sum(calls.values()), tokens)}


def _calls_of(ranker: Any, design: Design, base: JudgedLists) -> np.ndarray:
    """Calls that each list takes; none of rankers that are no endpoint."""
    if not isinstance(ranker, EndpointRanker):
        return np.zeros(len(base.lists), dtype=np.int64)
    sizes = base.lists.lengths.tolist()
    return np.array([len(ranker.windows(design.lengths(size))) for size in sizes])


def _within_calls(base: JudgedLists, rankers: Mapping[str, Any], plan: Plan) -> JudgedLists:
    """Lists of the first queries, as many as the allowed calls are enough for.

    Raises:
        DataError: they are not enough for three queries.
    """
    allowed = calls_allowed()
    needed = np.cumsum(sum(_calls_of(ranker, plan.design, base) for ranker in rankers.values()))
    if allowed is None or needed[-1] <= allowed:
        return base
    count = int((needed <= allowed).sum())
    if count < min(3, len(base.lists)):
        remedy = "Allow more, or take fewer --orders, --sets or --depth."
        finding = f"{allowed:,} calls are not enough: three queries take {needed[:3][-1]:,}"
        raise DataError("the reranker", finding, remedy)
    return JudgedLists(base.dataset, base.lists.select(np.arange(count)))


def _lists_of(base: JudgedLists) -> Reranks:
    """First stage and judgments of candidate lists; all judged documents of a query count."""
    dataset, lists = base.dataset, base.lists
    names = document_names(dataset)
    stage, grades = {}, {}
    for query, start, end in zip(lists.queries, lists.offsets, lists.offsets[1:], strict=False):
        query_id = dataset.query_ids[query]
        stage[query_id] = tuple(names[row] for row in lists.rows[start:end])
        rows = range(int(dataset.offsets[query]), int(dataset.offsets[query + 1]))
        grades[query_id] = {names[row]: int(dataset.labels[row]) for row in rows}
    return Reranks((), {INITIAL: stage}, grades)


class Trial(NamedTuple):
    """One list to show: its input, its query and its documents."""

    given: Input
    query: str
    shown: Ranking


@dataclass(frozen=True)
class LiveCalls:
    """Calls of rerankers on the lists of a data set.

    Attributes:
        plan: of the study.
        base: the lists.
        lists: their first stage and judgments.
        records: of answers and scores.
    """

    plan: Plan
    base: JudgedLists
    lists: Reranks
    records: Records

    def work(
        self, rankers: Mapping[str, Any], facts: dict[str, Any]
    ) -> Generator[Progress, None, StudyResult]:
        """Make all calls of the design, then examine them."""
        design, grades = self.plan.design, self.lists.grades
        trials = [
            Trial(given, query, design.documents(given, query, ranking, grades[query]))
            for query, ranking in self.lists.first_stages[INITIAL].items()
            for given in design.inputs(len(ranking))
        ]
        made: list[Call] = []
        for label, ranker in rankers.items():
            ask = self._ask_endpoint if isinstance(ranker, EndpointRanker) else self._ask_ranker
            made += yield from ask(label, ranker, trials)
        return examine(self.plan, replace(self.lists, calls=tuple(made)), facts)

    def _ask_endpoint(self, label: str, ranker: EndpointRanker, trials: Sequence[Trial]) -> Calls:
        """Calls of an endpoint, as many at a time as allowed; each answer is stored at once."""
        queries: dict[str, tuple[str, dict[str, str]]] = {}
        inputs = ranker.inputs(self.base.dataset, self.base.lists)
        for (query, names), (text, texts) in zip(
            self.lists.first_stages[INITIAL].items(), inputs, strict=True
        ):
            queries[query] = text, dict(zip(names, texts, strict=True))
        gate = Semaphore(jobs_allowed())

        def answer(trial: Trial) -> Call:
            query, texts = queries[trial.query]
            shown = [texts[name] for name in trial.shown]
            content = {
                "reranker": ranker.name, "query": query, "texts": shown,
                "repeat": trial.given.repeat,
            }  # fmt: skip
            digest = key_of("call", content).digest
            stored = self.records.get(digest)
            if stored is None:
                with gate:  # writing does not hold up the next call
                    start = time.perf_counter()
                    rating = ranker.rate(query, shown)
                    seconds = time.perf_counter() - start
                stored = {**asdict(rating), "seconds": seconds}, {}
                self.records.put(digest, *stored)
            values = of_json(stored[0])
            seconds = float(values.pop("seconds"))
            return _call(label, trial, Rating(**values), seconds)

        made: dict[Trial, Call] = {}
        # Few more threads than calls: a kill loses the answers that are being written
        with ThreadPoolExecutor(jobs_allowed() + 1 + jobs_allowed() // 8) as pool:
            futures = {pool.submit(answer, trial): trial for trial in trials}
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    made[futures[future]] = future.result()
                    if done == HOPELESS:
                        _check_usable(ranker, made)
                    yield Progress(done, len(trials), f"calls of {label}")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [made[trial] for trial in trials]

    def _ask_ranker(self, label: str, ranker: Any, trials: Sequence[Trial]) -> Calls:
        """Calls of a ranker of this program, a function or a model: one scoring for each input.

        The scores of an input are stored when they are there.
        """
        dataset, lists, made = self.base.dataset, self.base.lists, list[Call]()
        places = {
            (query, name): int(lists.offsets[at]) + slot
            for at, (query, names) in enumerate(self.lists.first_stages[INITIAL].items())
            for slot, name in enumerate(names)
        }
        index = {dataset.query_ids[query]: query for query in lists.queries.tolist()}
        inputs = list(dict.fromkeys(trial.given for trial in trials))
        for done, given in enumerate(inputs, start=1):
            chosen = [trial for trial in trials if trial.given == given]
            order = np.array([places[t.query, name] for t in chosen for name in t.shown], np.int64)
            changed = assemble(
                np.array([index[trial.query] for trial in chosen]),
                np.array([len(trial.shown) for trial in chosen]),
                lists.rows[order], lists.prior[order],
            )  # fmt: skip
            digest = self.plan.digest(label, given, len(lists))
            stored = self.records.get(digest)
            if stored is None:
                start = time.perf_counter()
                scores = np.asarray(ranker.score(dataset, changed), np.float64)
                stored = {"seconds": time.perf_counter() - start}, {"values": scores}
                self.records.put(digest, *stored)
            seconds = stored[0]["seconds"] / len(chosen)
            for trial, part in zip(
                chosen, np.split(stored[1]["values"], changed.offsets[1:-1]), strict=True
            ):
                # Documents with −∞ were not answered, and ties keep the order shown
                ranked = [at for at in np.argsort(-part, kind="stable") if part[at] > -np.inf]
                rating = Rating.of([*map(int, ranked)], len(part), part[ranked].tolist())
                made.append(_call(label, trial, rating, seconds))
            yield Progress(done, len(inputs), f"inputs of {label}")
        return made


def _check_usable(ranker: EndpointRanker, made: Mapping[Trial, Call]) -> None:
    """Refuse an endpoint none of whose answers could be read."""
    if not any(call.answered for call in made.values()):
        finding = f"none of the first {len(made)} answers could be read"
        command = f"shuffleproof doctor --ranker {ranker.name}"
        raise DataError(ranker.name, finding, f"See `{command}`, or name another --api.")


def _call(label: str, trial: Trial, rating: Rating, seconds: float) -> Call:
    return Call.of_rating(
        rating, trial.query, trial.shown, label, first_stage=trial.given.name,
        depth=len(trial.shown), repeat=trial.given.repeat, seconds=seconds,
    )  # fmt: skip


def _save(result: StudyResult, directory: Path) -> None:
    """Write a result and the calls that were missing."""
    lines = result.facts["missing"].pop("lines", [])
    result.save(directory)
    if lines:
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        (directory / MISSING).write_text(text, encoding="utf-8")
