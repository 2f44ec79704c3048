"""Results of the calls of rerankers: NDCG by input, effects, pairs, places, depths, faults."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shuffleproof.core.data.trec import Run
from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL, Kind, RankerName
from shuffleproof.core.rerank import effects
from shuffleproof.core.rerank.calls import Call, Ranking, Reranks
from shuffleproof.core.rerank.design import (
    FIRST,
    KINDS,
    LONG,
    RANDOM,
    SET_A,
    SET_B,
    TOP,
    Design,
    Input,
)
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.benchmark.outside_runs import evaluate_run, judge_runs
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.result import CALL_SECONDS, StudyResult
from shuffleproof.core.studies.study import CellResult, DescribedPlan

WINDOWS, REORDERED = "first windows of other first stages", "recorded orders of the same documents"
AVERAGED, RELEVANT = "orders averaged", "first relevant in third"
"""Curves: quality of the mean place in 1, 2, … answers, and by the place of relevant documents."""

ScoresByQuery = Mapping[str, Mapping[str, float]]
"""Scores of documents by query."""


@dataclass(frozen=True)
class Plan(DescribedPlan):
    """Full description of the study.

    Attributes:
        rankers: (label, digest).
        lists: digest of the lists, or of the recorded answers.
        recorded: True if no reranker is called.
        measures: as text.
        orders: random orders.
        repeats: calls with the same input.
        sets: pairs of sets.
        seed: of the design.
        queries: number of queries; None: all.
        call_price: of a call.
        token_price: of a million tokens.
    """

    kind: str = field(default=Rerankers.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    lists: str
    recorded: bool
    measures: tuple[str, ...]
    orders: int
    repeats: int
    sets: int
    seed: int
    queries: int | None
    call_price: float
    token_price: float

    @classmethod
    def for_question(
        cls, question: Rerankers, rankers: Sequence[tuple[str, str]], lists: str, *, recorded: bool
    ) -> "Plan":
        """Plan of a question."""
        shared = cls.__dataclass_fields__.keys() - {"kind", "rankers", "lists", "recorded"}
        more = {name: getattr(question, name) for name in shared}
        return cls(rankers=tuple(rankers), lists=lists, recorded=recorded, **more)

    @property
    def design(self) -> Design:
        """Inputs of every query."""
        return Design(self.orders, self.repeats, self.sets, seed=self.seed)

    def digest(self, label: str, given: Input, lists: int) -> str:
        """Key of the scores of a ranker for one input of this many lists."""
        facts = {
            "kind": self.kind, "ranker": dict(self.rankers)[label], "lists": self.lists,
            "input": given.name, "repeat": given.repeat, "seed": self.seed, "queries": lists,
        }  # fmt: skip
        return key_of("trial", facts).digest

    def digests(self, lists: int, /) -> list[str]:
        """Keys of the scores of all rankers for all inputs of long lists."""
        inputs = self.design.inputs(LONG)
        return [self.digest(label, given, lists) for label, _ in self.rankers for given in inputs]

    def price(self, calls: int, tokens: int) -> float:
        """Price of calls."""
        return self.call_price * calls + self.token_price * tokens / 1e6

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """No partial result."""
        del finished, query_ids, facts
        return None


@dataclass(frozen=True)
class RerankedList:
    """A list of one query with the answers to its inputs.

    Attributes:
        stage: its first stage.
        query: its id.
        shown: documents of each input of the design, in the order shown.
        answers: by input, as far as there are any.
    """

    stage: str
    query: str
    shown: Mapping[Input, Ranking]
    answers: Mapping[Input, Call]


@dataclass(frozen=True)
class Condition:
    """Answers of a reranker under one input.

    Attributes:
        trial: row of the result.
        rankings: scores of documents by query.
        calls: by query.
    """

    trial: dict[str, Any]
    rankings: ScoresByQuery
    calls: Mapping[str, Call] = field(default_factory=dict)


def examine(plan: Plan, lists: Reranks, known: Mapping[str, Any]) -> StudyResult:
    """Result of calls: a row for each reranker and input, everything else as facts.

    Args:
        plan: of the study.
        lists: calls, with the first stages and judgments of the study's queries.
        known: facts.

    Raises:
        DataError: there are no calls.
    """
    made = lists.calls
    if not made:
        raise DataError(str(known.get("data")), "no answers", "Name rerankers, or other data.")
    conditions = list(_conditions(lists))
    values = _values(plan, [condition.rankings for condition in conditions], lists)
    facts: dict[str, Any] = dict(known)
    missing, wanted = list[dict[str, Any]](), 0
    for name, _ in plan.rankers:
        of_ranker = [call for call in made if call.reranker == name]
        examined = list(_reranked(plan, of_ranker, lists))
        random = [(one.calls, value[0]) for one, value in zip(conditions, values, strict=True)
                  if (one.trial["ranker"], one.trial["family"]) == (name, RANDOM)]  # fmt: skip
        windows = [call for call in of_ranker if not call.is_list]
        table = _effects(examined, of_ranker, windows) | {
            "pairs": [effects.pair_agreement(windows or of_ranker)],
            "repeats": list(_repeats(of_ranker)),
            "faults": [_faults(plan, of_ranker, windows, lists)],
            CALL_SECONDS: [{"seconds": _sum(call.seconds for call in of_ranker)}],
            "curves": [*_aggregated(plan, examined, lists), *_by_slot(random, lists)],
        }
        for fact, rows in table.items():
            facts.setdefault(fact, []).extend({"reranker": name, **row} for row in rows)
        wanted += sum(len(one.shown) for one in examined)
        missing += [row for one in examined for row in _missing(name, one, lists)]
    facts["missing"] = {
        "share": len(missing) / wanted if wanted else 0.0, "calls": len(missing), "wanted": wanted,
        "lines": missing,
    }  # fmt: skip
    facts["sliding"] = any(call.is_list and call.calls > 1 for call in made)
    facts["ceilings"] = _ceilings(plan, conditions, lists)
    trials = [(one.trial, value) for one, value in zip(conditions, values, strict=True)]
    result = StudyResult.of_rows(plan.recipe(), trials, list(lists.grades), facts)
    assert result is not None  # noqa: S101 (there are conditions)
    return result


def _conditions(lists: Reranks) -> Iterator[Condition]:
    """First stages alone, then every reranker under every input, as far as it has whole lists."""
    for stage, rankings in lists.first_stages.items():
        sizes = [len(ranking) for ranking in rankings.values()]
        scored = {query: _by_rank(rankings.get(query, ())) for query in lists.grades}
        yield Condition(_trial((INITIAL, stage, max(sizes), 1), sizes), scored)
    groups: dict[tuple[str, str, int, int], list[Call]] = {}
    for call in lists.calls:
        given = Input(call.first_stage, call.repeat)
        kind = given.kind if given.kind in KINDS else call.first_stage
        if call.is_list and kind not in {SET_A, SET_B}:
            number = given.number if kind == RANDOM else call.repeat
            depth = call.depth if kind == TOP or kind not in KINDS else 0
            groups.setdefault((call.reranker, kind, depth, number), []).append(call)
    for (reranker, kind, depth, number), calls in groups.items():
        sizes = [len(call.shown or call.answered) for call in calls]
        seconds = _sum(call.seconds for call in calls) or 0.0
        trial = _trial((reranker, kind, depth or max(sizes), number), sizes, seconds)
        by_query = {call.query: call for call in calls}
        yield Condition(trial, {query: _scores(call, lists) for query, call in by_query.items()},
                        by_query)  # fmt: skip


def _trial(
    place: tuple[str, str, int, int], sizes: Sequence[int], seconds: float = 0.0
) -> dict[str, Any]:
    reranker, stage, depth, number = place
    return {
        "ranker": reranker, "family": stage, "level": float(depth), "draw": number - 1, "tau": 1.0,
        "set_size": float(np.mean(sizes)), "seconds": seconds,
    }  # fmt: skip


def _by_rank(ranking: Sequence[str]) -> dict[str, float]:
    return {name: -float(rank) for rank, name in enumerate(ranking)}


def _scores(call: Call, lists: Reranks) -> dict[str, float]:
    """Scores of an answer; of a shortened list the rest of the first stage follows.

    A document that was shown and not answered is not in it, as users would see it. In a shortened
    list it stays behind the answered ones: the rest must not move up.
    """
    scored = _by_rank(call.answered)
    if call.scores:
        scored = dict(zip(call.answered, call.scores, strict=True))
    if Input(call.first_stage).kind == TOP:
        least, shown = min(scored.values(), default=0.0), set(call.shown)
        stages = (stage.get(call.query, ()) for stage in lists.first_stages.values())
        stage = next((ranking for ranking in stages if shown <= set(ranking)), ())
        rest = [name for name in stage if name in shown and name not in scored]
        rest += [name for name in stage if name not in shown]
        scored |= {name: least - 1 - rank for rank, name in enumerate(rest)}
    return scored


def _values(plan: Plan, rankings: Sequence[ScoresByQuery], lists: Reranks) -> list[np.ndarray]:
    """Values of every ranking of all queries: measures × queries."""
    measures = [Measure.parse(text) for text in plan.measures]
    runs = {str(at): Run("", {**of}) for at, of in enumerate(rankings)}
    if not runs:
        return []
    whole = judge_runs(lists.grades, runs)
    places = {query: at for at, query in enumerate(whole.dataset.query_ids)}
    order = [places[query] for query in lists.grades]
    return [
        evaluate_run(measures, whole.dataset, whole.lists[name], whole.scores[name])[:, order]
        for name in runs
    ]


def _reranked(plan: Plan, made: Sequence[Call], lists: Reranks) -> Iterator[RerankedList]:
    """Lists that a reranker was to rerank, with its answers.

    Of recorded answers a list is as long as the shortest one from that first stage.
    """
    depths: dict[str, int] = {}
    found: dict[tuple[str, Ranking], list[Call]] = {}
    for call in made:
        if not (call.is_list and call.shown):
            continue
        found.setdefault((call.query, call.shown), []).append(_of_shown(call))
        stage = call.first_stage if call.first_stage in lists.first_stages else INITIAL
        if stage in lists.first_stages:
            size = len(call.shown)
            # Live calls also show parts of a list; the list itself is the longest
            longer = max if stage == INITIAL else min
            depths[stage] = longer(depths.get(stage, size), size)
    for stage, depth in depths.items():
        for query, whole in lists.first_stages[stage].items():
            if query in lists.grades:
                ranking, grades = whole[:depth], lists.grades[query]
                shown = {given: plan.design.documents(given, query, ranking, grades)
                         for given in plan.design.inputs(len(ranking))}  # fmt: skip
                yield RerankedList(stage, query, shown, _answers(query, shown, found))


def _of_shown(call: Call) -> Call:
    """Call whose answer has only the documents shown; runs also list the ones below."""
    shown = set(call.shown)
    kept = [at for at, name in enumerate(call.answered) if name in shown]
    if len(kept) == len(call.answered):
        return call
    answered = tuple(call.answered[at] for at in kept)
    return replace(
        call, answered=answered, scores=tuple(call.scores[at] for at in kept if call.scores)
    )


def _answers(
    query: str, shown: Mapping[Input, Ranking], found: Mapping[tuple[str, Ranking], list[Call]]
) -> dict[Input, Call]:
    """Answers to the inputs of one list."""
    answers: dict[Input, Call] = {}
    for given, documents in shown.items():
        calls = sorted(found.get((query, documents), ()), key=lambda call: call.repeat)
        if given.kind == FIRST:  # all repetitions that there are
            answers |= {Input(FIRST, at): call for at, call in enumerate(calls, start=1)}
        elif calls:
            answers[given] = calls[0]
    return answers


def _effects(
    examined: Sequence[RerankedList], made: Sequence[Call], windows: Sequence[Call]
) -> dict[str, list[dict[str, Any]]]:
    """Effects with the split of variances, and positions shown and answered.

    Slots are those of random orders, else of recorded lists of the same documents, else of first
    windows (later ones show earlier winners in their last slots).
    """
    unit, answers = effects.unit_of(made), [one.answers for one in examined]
    random = [call for one in answers for call in effects.random_orders(one)]
    windows = [call for call in windows if call.answered
               and call.window + len(call.shown) >= call.depth]  # fmt: skip
    tried = [
        (basis, *effects.slots(list(_by_query(calls).values()), unit))
        for basis, calls in (
            ("random orders", random),
            (REORDERED, _reordered(made)),
            (WINDOWS, windows),
        )
    ]
    basis, order, curve = next((one for one in tried if one[2]), tried[-1])
    found = effects.effects(answers, unit, order)
    split = [
        {part: _known(max(value, 0.0)) for part, value in row.items()}
        for row in effects.variance_split(answers, unit)
    ]
    parts = ("documents", "order", "company", "noise")
    by_query = [{"query": one.query, **row} for one, row in zip(examined, split, strict=True)]
    row = {
        **{effect: {name: _known(one) for name, one in vars(value).items()}
           for effect, value in found.items()},
        "basis": basis, "variances": {part: _mean(row[part] for row in split) for part in parts},
        "variances_by_query": by_query,
    }  # fmt: skip
    shown = random or windows or [call for call in made if call.is_list and call.shown]
    of = "random orders" if random else "first windows" if windows else "lists in their order"
    matrix = effects.place_matrix(shown).round(4).tolist()
    place = {"basis": of, "lists": len(shown), "matrix": matrix, "values": curve, "unit": unit}
    return {"effects": [row], "places": [place]}


def _reordered(made: Iterable[Call]) -> list[Call]:
    """Whole lists of the documents that were shown in most orders, query by query."""
    by_query: dict[str, dict[frozenset[str], list[Call]]] = {}
    for call in made:
        if call.is_list and call.shown and call.answered:
            of_query = by_query.setdefault(call.query, {})
            of_query.setdefault(frozenset(call.shown), []).append(call)
    return [call for of_query in by_query.values() for call in max(of_query.values(), key=len)]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum of the values that are known."""
    known = [value for value in values if value is not None]
    return float(np.sum(known)) if known else None


def _by_query(calls: Iterable[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.query, []).append(call)
    return found


def _repeats(made: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Agreement of repeated answers, by first stage and depth."""
    groups: dict[tuple[str, int], list[Call]] = {}
    for call in made:
        if call.is_list:
            # Live lists are as long as their query allows
            depth = 0 if Input(call.first_stage).kind in KINDS else call.depth
            groups.setdefault((call.first_stage, depth), []).append(call)
    for (stage, _), calls in groups.items():
        repeated = [calls for calls in _by_query(calls).values() if len(calls) > 1]
        if agreement := effects.repeat_agreement(repeated):
            count, depth = max(map(len, repeated)), max(call.depth for call in calls)
            yield {"first_stage": stage, "depth": depth, "repeats": count, **agreement}


def _faults(
    plan: Plan, made: Sequence[Call], windows: Sequence[Call], lists: Reranks
) -> dict[str, Any]:
    """Calls with their faults, tokens and price, and the places that relevant documents rise.

    Recorded answers count as lists, since files seldom say how many requests a list took. Faults
    are those of windows where these were recorded.
    """
    answers, whole = windows or made, [call for call in made if call.is_list]
    calls, unit = sum(call.calls for call in made), "lists"
    if plan.recorded:
        of_lists, of_windows = (
            {(call.query, call.first_stage, call.depth, call.repeat) for call in calls}
            for calls in (whole, windows)
        )
        calls = len(whole) + len(of_windows - of_lists)
    elif made and RankerName.of(made[0].reranker).kind is Kind.ENDPOINT:
        unit = "requests"
    tokens = _sum(call.tokens for call in answers)
    rises = [
        slot - call.answered.index(name)
        for call in whole
        for slot, name in enumerate(call.shown)
        if lists.grades.get(call.query, {}).get(name, 0) > 0 and name in call.answered
    ]
    return {
        "calls": calls, "unit": unit,
        "malformed": sum(call.is_faulty for call in answers),
        **{fault: int(sum(getattr(call, fault) for call in answers))
           for fault in ("dropped", "repeated", "unknown")},
        "tokens": None if tokens is None else int(tokens),
        "price": plan.price(calls, int(tokens or 0)) or None, "relevant_up": _mean(rises),
    }  # fmt: skip


def _missing(name: str, one: RerankedList, lists: Reranks) -> Iterator[dict[str, Any]]:
    """Inputs of a list without an answer, as calls to be made elsewhere."""
    for given, shown in one.shown.items():
        if given not in one.answers:
            texts = [lists.texts.get(document) for document in shown]
            known = {"texts": texts} if None not in texts else {}
            if text := lists.query_texts.get(one.query):
                known["query_text"] = text  # type: ignore[assignment]
            yield {
                "reranker": name, "query": one.query, "shown": list(shown),
                "first_stage": one.stage if given.kind == FIRST else given.name,
                "depth": len(shown), "repeat": given.repeat, **known,
            }  # fmt: skip


def _aggregated(
    plan: Plan, examined: Sequence[RerankedList], lists: Reranks
) -> Iterator[dict[str, Any]]:
    """Quality of the mean place in 1, 2, … answers to random orders."""
    by_query = {one.query: effects.random_orders(one.answers) for one in examined}
    random = {query: calls for query, calls in by_query.items() if calls}
    rankings = [
        {query: _by_rank(effects.aggregated(calls[:count])) for query, calls in random.items()}
        for count in range(1, min(map(len, random.values()), default=0) + 1)
    ]
    chosen = [at for at, query in enumerate(lists.grades) if query in random]
    for count, value in enumerate(_values(plan, rankings, lists), start=1):
        mean = float(np.nanmean(value[0][chosen]))
        yield {"by": AVERAGED, "at": count, "mean": mean, "n": len(chosen)}


def _by_slot(
    random: Iterable[tuple[Mapping[str, Call], np.ndarray]], lists: Reranks
) -> Iterator[dict[str, Any]]:
    """Quality by the third of the list in which the first relevant document was shown."""
    thirds: dict[int, list[float]] = {}
    for calls, values in random:
        for (query, grades), value in zip(lists.grades.items(), values.tolist(), strict=True):
            shown = calls[query].shown if query in calls else ()
            relevant = [slot for slot, name in enumerate(shown) if grades.get(name, 0) > 0]
            if relevant:
                thirds.setdefault(3 * relevant[0] // len(shown), []).append(value)
    for third, of_third in sorted(thirds.items()):
        mean = float(np.nanmean(of_third))
        yield {"by": RELEVANT, "at": third + 1, "mean": mean, "n": len(of_third)}


def _ceilings(plan: Plan, conditions: Iterable[Condition], lists: Reranks) -> list[dict[str, Any]]:
    """Best quality that reranking the first documents of each first stage can reach, by depth."""
    depths = {int(one.trial["level"]) for one in conditions if one.trial["ranker"] != INITIAL}
    places = [(stage, depth) for stage in lists.first_stages for depth in sorted(depths)]
    rankings = [
        {query: _by_rank(_ideal(lists.first_stages[stage].get(query, ()), depth, grades))
         for query, grades in lists.grades.items()}
        for stage, depth in places
    ]  # fmt: skip
    return [
        {"first_stage": stage, "depth": depth, "ceiling": float(np.nanmean(value[0]))}
        for (stage, depth), value in zip(places, _values(plan, rankings, lists), strict=True)
    ]


def _ideal(ranking: Ranking, depth: int, grades: Mapping[str, int]) -> list[str]:
    """First documents by grade, the rest in its order."""
    first = sorted(ranking[:depth], key=lambda name: -grades.get(name, 0))
    return [*first, *ranking[depth:]]
