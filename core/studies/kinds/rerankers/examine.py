"""Results of the calls of rerankers: NDCG by input, effects, pairs, places, depths, faults."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffleproof.core.data.trec import Run
from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.rerank import effects
from shuffleproof.core.rerank.calls import Call, Ranking, by_input
from shuffleproof.core.rerank.design import FIRST, IDEAL, RANDOM, REVERSED, SET_A, SET_B, TOP, Input
from shuffleproof.core.studies.kinds.benchmark.outside_runs import evaluate_run, judge_runs
from shuffleproof.core.studies.kinds.rerankers.plan import Plan
from shuffleproof.core.studies.result import CALL_SECONDS, StudyResult

KINDS = {FIRST, REVERSED, IDEAL, RANDOM, TOP, SET_A, SET_B}
"""Names of inputs of the design, where recorded answers have the name of a first stage."""

WINDOWS = "first windows of other first stages"

Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Lists:
    """Lists of a study's queries.

    Attributes:
        stages: by first stage and query, the ranking.
        grades: by query and document.
    """

    stages: Mapping[str, Mapping[str, Ranking]]
    grades: Grades


@dataclass(frozen=True)
class RerankedList:
    """A list of one query with the answers to its inputs.

    Attributes:
        stage: its first stage.
        query: its id.
        ranking: its documents in the order of the first stage.
        inputs: of the design.
        answers: by input, as far as there are any.
    """

    stage: str
    query: str
    ranking: Ranking
    inputs: Sequence[Input]
    answers: Mapping[Input, Call]

    def of_kind(self, kind: str) -> list[Call]:
        """Usable answers to the inputs of one kind."""
        found = self.answers.items()
        return [call for given, call in found if given.kind == kind and call.answered]


@dataclass(frozen=True)
class Condition:
    """Answers of a reranker under one input, by query.

    Attributes:
        trial: row of the result.
        rankings: by query, scores by document.
    """

    trial: dict[str, Any]
    rankings: Mapping[str, Mapping[str, float]]


def examine(
    plan: Plan, made: Sequence[Call], lists: Lists, known: Mapping[str, Any]
) -> StudyResult:
    """Result of calls: a row for each reranker and input, everything else as facts.

    Raises:
        DataError: there are no calls.
    """
    if not made:
        raise DataError(str(known.get("data")), "no answers", "Name rerankers, or other data.")
    conditions = list(_conditions(made, lists))
    values = _values(plan, [condition.rankings for condition in conditions], lists.grades)
    facts: dict[str, Any] = dict(known)
    missing: list[dict[str, Any]] = []
    wanted = 0
    for name, _ in plan.rankers:
        of_ranker = [call for call in made if call.reranker == name]
        examined = list(_reranked(plan, of_ranker, lists))
        table = {
            "effects": [_effects(name, examined, of_ranker)],
            "pairs": [_pairs(name, of_ranker)],
            "places": [_places(name, examined, of_ranker)],
            "repeats": list(_repeats(name, of_ranker)),
            "faults": [_faults(plan, name, of_ranker)],
            CALL_SECONDS: [_seconds(name, of_ranker)],
            "aggregated": _aggregated(plan, name, examined, lists.grades),
            "moved": _moved(name, of_ranker, lists.grades),
            "slots": list(_slots(plan, name, examined, lists.grades)),
        }
        for fact, rows in table.items():
            facts.setdefault(fact, []).extend(rows)
        wanted += sum(len(one.inputs) for one in examined)
        missing += [row for one in examined for row in _missing(plan, name, one, lists.grades)]
    share = len(missing) / wanted if wanted else 0.0
    facts["missing"] = {
        "share": share, "calls": len(missing), "wanted": wanted, "lines": missing,
    }  # fmt: skip
    facts["sliding"] = any(call.is_list and call.calls > 1 for call in made)
    facts["ceilings"] = _ceilings(plan, conditions, lists)
    trials = [(one.trial, value) for one, value in zip(conditions, values, strict=True)]
    result = StudyResult.of_rows(plan.recipe(), trials, list(lists.grades), facts)
    assert result is not None  # noqa: S101 (there are conditions)
    return result


def _conditions(made: Iterable[Call], lists: Lists) -> Iterator[Condition]:
    """First stages alone, then every reranker under every input, as far as it has whole lists."""
    for stage, rankings in lists.stages.items():
        sizes = [len(ranking) for ranking in rankings.values()]
        scored = {query: _by_rank(rankings.get(query, ())) for query in lists.grades}
        yield Condition(_trial((INITIAL, stage, max(sizes), 1), sizes, []), scored)
    groups: dict[tuple[str, str, int, int], list[Call]] = {}
    for call in made:
        given = Input(call.first_stage, call.repeat)
        kind = given.kind if given.kind in KINDS else call.first_stage
        if call.is_list and kind not in {SET_A, SET_B}:
            number = given.number if kind == RANDOM else call.repeat
            depth = call.depth if kind == TOP or kind not in KINDS else 0
            groups.setdefault((call.reranker, kind, depth, number), []).append(call)
    for (reranker, kind, depth, number), calls in groups.items():
        sizes = [len(call.shown or call.answered) for call in calls]
        seconds = [call.seconds for call in calls if call.seconds is not None]
        place = (reranker, kind, depth or max(sizes), number)
        answered = {call.query: _ranking(call, lists) for call in calls}
        yield Condition(_trial(place, sizes, seconds), answered)


def _trial(
    place: tuple[str, str, int, int], sizes: Sequence[int], seconds: Sequence[float]
) -> dict[str, Any]:
    reranker, stage, depth, number = place
    return {
        "ranker": reranker, "family": stage, "level": float(depth), "draw": number - 1, "tau": 1.0,
        "set_size": float(np.mean(sizes)), "seconds": float(np.sum(seconds)),
    }  # fmt: skip


def _by_rank(ranking: Sequence[str]) -> dict[str, float]:
    return {name: -float(rank) for rank, name in enumerate(ranking)}


def _ranking(call: Call, lists: Lists) -> dict[str, float]:
    """Scores of an answer; of a shortened list the rest of the first stage follows.

    A document that was shown and not answered is not in it, as users would see it. In a shortened
    list it stays behind the answered ones: the rest must not move up.
    """
    scored = _by_rank(call.answered)
    if call.scores:
        scored = dict(zip(call.answered, call.scores, strict=True))
    if Input(call.first_stage).kind == TOP:
        least, shown = min(scored.values(), default=0.0), set(call.shown)
        stages = (stage.get(call.query, ()) for stage in lists.stages.values())
        stage = next((ranking for ranking in stages if shown <= set(ranking)), ())
        rest = [name for name in stage if name in shown and name not in scored]
        rest += [name for name in stage if name not in shown]
        scored |= {name: least - 1 - rank for rank, name in enumerate(rest)}
    return scored


def _values(
    plan: Plan, rankings: Sequence[Mapping[str, Mapping[str, float]]], grades: Grades
) -> list[np.ndarray]:
    """Values of every ranking of all queries: measures × queries."""
    measures = [Measure.parse(text) for text in plan.measures]
    runs = {str(at): Run("", dict(of)) for at, of in enumerate(rankings)}
    whole = judge_runs(grades, runs)
    places = {query: at for at, query in enumerate(whole.dataset.query_ids)}
    order = [places[query] for query in grades]
    return [
        evaluate_run(measures, whole.dataset, whole.lists[name], whole.scores[name])[:, order]
        for name in runs
    ]


def _reranked(plan: Plan, made: Sequence[Call], lists: Lists) -> Iterator[RerankedList]:
    """Lists that a reranker was to rerank, with its answers.

    Of recorded answers a list is as long as the shortest one from that first stage.
    """
    depths: dict[str, int] = {}
    for call in made:
        stage = call.first_stage if call.first_stage in lists.stages else INITIAL
        if call.is_list and call.shown and stage in lists.stages:
            size = len(call.shown)
            # Live calls also show parts of a list; the list itself is the longest
            shortest = stage != INITIAL
            known = depths.get(stage, size)
            depths[stage] = min(known, size) if shortest else max(known, size)
    found = by_input([_of_shown(call) for call in made if call.is_list and call.shown])
    for stage, depth in depths.items():
        for query, whole in lists.stages[stage].items():
            if query in lists.grades:
                ranking = whole[:depth]
                inputs = plan.design.inputs(len(ranking))
                answers = _answers(plan, (made[0].reranker, query, ranking), lists.grades, found)
                yield RerankedList(stage, query, ranking, inputs, answers)


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
    plan: Plan,
    place: tuple[str, str, Ranking],
    grades: Grades,
    found: Mapping[tuple[str, str, Ranking], Sequence[Call]],
) -> dict[Input, Call]:
    """Answers of a reranker to the inputs of one list."""
    name, query, ranking = place
    answers: dict[Input, Call] = {}
    for given in plan.design.inputs(len(ranking)):
        shown = plan.design.documents(given, query, ranking, grades.get(query, {}))
        calls = sorted(found.get((name, query, shown), ()), key=lambda call: call.repeat)
        if given.kind == FIRST:  # all repetitions that there are
            answers |= {Input(FIRST, at): call for at, call in enumerate(calls, start=1)}
        elif calls:
            answers[given] = calls[0]
    return answers


def _effects(name: str, examined: Sequence[RerankedList], made: Sequence[Call]) -> dict[str, Any]:
    """Effects of a reranker, and the split of variances."""
    unit, answers = effects.unit_of(made), [one.answers for one in examined]
    found, basis = effects.effects(answers, unit), "random orders"
    if np.isnan(found["order"].value):  # recorded: the same documents in other windows
        windows: dict[str, list[Call]] = {}
        for call in _first_windows(made):
            windows.setdefault(call.query, []).append(call)
        order, p = effects.slot_contrast(list(windows.values()), unit)
        found["order"], basis = effects.Effect(*order, p, len(windows), unit), WINDOWS
    split = effects.variance_split(answers, unit)
    parts = ("documents", "order", "company", "noise")
    return {
        "reranker": name, **{effect: value.plain() for effect, value in found.items()},
        "basis": basis,
        "variances": {part: _mean([row[part] for row in split]) for part in parts},
        "variances_by_query": [
            {"query": one.query, **{part: _known(row[part]) for part in parts}}
            for one, row in zip(examined, split, strict=True)
        ],
    }  # fmt: skip


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None


def _first_windows(made: Iterable[Call]) -> list[Call]:
    """First window of each list: later ones show earlier winners in their last slots."""
    windows = (call for call in made if not call.is_list and call.answered)
    return [call for call in windows if call.window + len(call.shown) >= call.depth]


def _pairs(name: str, made: Sequence[Call]) -> dict[str, Any]:
    """Agreement of answers to pairs that were shown again: in windows, else in whole lists."""
    windows = [call for call in made if not call.is_list]
    agreement = effects.pair_agreement(windows or made)
    return {
        "reranker": name, "same_order_agreement": _known(agreement.same),
        "opposite_order_agreement": _known(agreement.opposite), "n": agreement.n,
        "n_opposite": agreement.n_opposite,
    }  # fmt: skip


def _places(name: str, examined: Sequence[RerankedList], made: Sequence[Call]) -> dict[str, Any]:
    """Positions shown and answered, from random orders, else from first windows or lists.

    Also the value of each slot, minus the mean over slots, where documents were shown in several.
    """
    random = [call for one in examined for call in one.of_kind(RANDOM)]
    windows = _first_windows(made)
    chosen = random or windows or [call for call in made if call.is_list and call.shown]
    basis = "random orders" if random else "first windows" if windows else "lists in their order"
    matrix = effects.place_matrix(chosen).round(4).tolist()
    by_query: dict[str, list[Call]] = {}
    for call in random or windows:
        by_query.setdefault(call.query, []).append(call)
    unit = effects.unit_of(made)
    values = effects.slot_curve(list(by_query.values()), unit)
    return {
        "reranker": name, "basis": basis, "lists": len(chosen), "matrix": matrix,
        "values": values, "unit": unit,
    }  # fmt: skip


def _repeats(name: str, made: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Agreement of repeated answers, by first stage and depth."""
    groups: dict[tuple[str, int], dict[str, list[Call]]] = {}
    for call in made:
        if call.is_list:
            by_query = groups.setdefault((call.first_stage, call.depth), {})
            by_query.setdefault(call.query, []).append(call)
    for (stage, depth), by_query in groups.items():
        repeated = [calls for calls in by_query.values() if len(calls) > 1]
        if agreement := effects.repeat_agreement(repeated):
            count = max(map(len, repeated))
            place = {"reranker": name, "first_stage": stage, "depth": depth, "repeats": count}
            yield place | agreement


def _faults(plan: Plan, name: str, made: Sequence[Call]) -> dict[str, Any]:
    """Calls of a reranker with their faults, seconds, tokens and price."""
    counted = [call for call in made if not call.is_list] or list(made)
    tokens = [call.tokens for call in counted if call.tokens is not None]
    calls = sum(call.calls for call in counted)
    price = plan.call_price * calls + plan.token_price * sum(tokens) / 1e6
    faults = {
        fault: int(sum(getattr(call, fault) for call in counted))
        for fault in ("dropped", "repeated", "unknown")
    }
    return {
        "reranker": name, "calls": calls,
        "malformed": sum(call.is_faulty for call in counted), **faults,
        "tokens": int(np.sum(tokens)) if tokens else None, "price": price or None,
    }  # fmt: skip


def _seconds(name: str, made: Iterable[Call]) -> dict[str, Any]:
    """Seconds of all calls of a reranker, as far as they are known."""
    seconds = [call.seconds for call in made if call.seconds is not None]
    return {"reranker": name, "seconds": float(np.sum(seconds)) if seconds else None}


def _missing(plan: Plan, name: str, one: RerankedList, grades: Grades) -> Iterator[dict[str, Any]]:
    """Inputs of a list without an answer, as calls to be made elsewhere."""
    for given in one.inputs:
        if given not in one.answers:
            shown = plan.design.documents(given, one.query, one.ranking, grades.get(one.query, {}))
            stage = one.stage if given.kind == FIRST else given.name
            yield {
                "reranker": name, "query": one.query, "shown": list(shown), "first_stage": stage,
                "depth": len(shown), "repeat": given.repeat,
            }  # fmt: skip


def _aggregated(
    plan: Plan, name: str, examined: Sequence[RerankedList], grades: Grades
) -> list[dict[str, Any]]:
    """Quality of the mean place in 1, 2, … answers to random orders, and its price in calls."""
    random = {one.query: one.of_kind(RANDOM) for one in examined if one.of_kind(RANDOM)}
    most = min(map(len, random.values()), default=0)
    if not most:
        return []
    rankings = [
        {query: _by_rank(effects.aggregated(calls[:count])) for query, calls in random.items()}
        for count in range(1, most + 1)
    ]
    chosen = [at for at, query in enumerate(grades) if query in random]
    values = _values(plan, rankings, grades)
    return [
        {"reranker": name, "calls": count, "mean": float(np.nanmean(value[0][chosen]))}
        for count, value in enumerate(values, start=1)
    ]


def _moved(name: str, made: Iterable[Call], grades: Grades) -> list[dict[str, Any]]:
    """Mean number of places that documents of a grade rise, by grade, over whole lists."""
    moves: dict[int, list[int]] = {}
    for call in made:
        if call.is_list and call.shown:
            places = {document: rank for rank, document in enumerate(call.answered)}
            of_query = grades.get(call.query, {})
            for slot, document in enumerate(call.shown):
                if document in places:
                    grade = max(int(of_query.get(document, 0)), 0)
                    moves.setdefault(grade, []).append(slot - places[document])
    return [
        {"reranker": name, "grade": grade, "rises": float(np.mean(of)), "n": len(of)}
        for grade, of in sorted(moves.items())
    ]


def _slots(
    plan: Plan, name: str, examined: Sequence[RerankedList], grades: Grades
) -> Iterator[dict[str, Any]]:
    """Quality by the third of the list in which the first relevant document was shown."""
    calls = [call for one in examined for call in one.of_kind(RANDOM)]
    thirds: dict[int, list[Call]] = {}
    for call in calls:
        relevant = [
            slot for slot, document in enumerate(call.shown)
            if grades.get(call.query, {}).get(document, 0) > 0
        ]  # fmt: skip
        if relevant:
            thirds.setdefault(3 * relevant[0] // len(call.shown), []).append(call)
    queries = list(grades)
    for third, of_third in sorted(thirds.items()):
        rankings = [{call.query: _by_rank(call.answered)} for call in of_third]
        values = _values(plan, rankings, grades)
        of_calls = [
            float(value[0][queries.index(call.query)])
            for value, call in zip(values, of_third, strict=True)
        ]
        yield {"reranker": name, "third": third + 1, "mean": float(np.nanmean(of_calls)),
               "n": len(of_calls)}  # fmt: skip


def _ceilings(plan: Plan, conditions: Iterable[Condition], lists: Lists) -> list[dict[str, Any]]:
    """Best quality that reranking the first documents of each first stage can reach, by depth."""
    depths = sorted(
        {int(one.trial["level"]) for one in conditions if one.trial["ranker"] != INITIAL}
    )
    places, rankings = [], []
    for stage, of_stage in lists.stages.items():
        for depth in depths:
            places.append((stage, depth))
            rankings.append({
                query: _by_rank(_ideal(of_stage.get(query, ()), depth, grades))
                for query, grades in lists.grades.items()
            })  # fmt: skip
    values = _values(plan, rankings, lists.grades) if rankings else []
    return [
        {"first_stage": stage, "depth": depth, "ceiling": float(np.nanmean(value[0]))}
        for (stage, depth), value in zip(places, values, strict=True)
    ]


def _ideal(ranking: Ranking, depth: int, grades: Mapping[str, int]) -> list[str]:
    """First documents by grade, the rest in its order."""
    first = sorted(ranking[:depth], key=lambda name: -grades.get(name, 0))
    return [*first, *ranking[depth:]]
