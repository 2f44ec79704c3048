"""The doctor of rankers: faults that scores show by themselves, each with the list that shows it.

Findings have the form of the doctor of data (`core.data.doctor`). Certificates test the effect of
the input order, not the doctor.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from shuffleproof.core.checks.counterexample import documents
from shuffleproof.core.checks.first_pass import FAILED, FirstPass, first_pass
from shuffleproof.core.checks.list_forms import as_judged_lists as judged_of
from shuffleproof.core.checks.list_forms import ranker_of
from shuffleproof.core.data import doctor_counts, ragged
from shuffleproof.core.data.doctor import Finding, Severity
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import AnswerError, DataError, FixedScoresError
from shuffleproof.core.experiment.score_floor import difference, of_scores
from shuffleproof.core.metrics import rounding, segments
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import paired_t
from shuffleproof.core.metrics.tied import tied_share
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted, duration, number, p_value, signed

MEASURES = ("NDCG@10", "AP")
SECONDS = 60.0
"""Seconds after which no more lists are scored, and seconds for scoring lists again."""

SLOW = 1.0
"""Seconds of a list from which on a ranker is slow."""

PASSES = 6
"""Largest number of repeats of a list."""

HALF = 0.5
"""The share of lists of unlike documents from which on equal scores are a fault of the ranker."""

EXTREME, ELSEWHERE = 0.05, 0.01
"""Saturated: the least share of documents that have the highest (or lowest) score, and the largest
share of pairs that tie elsewhere: trees tie everywhere, clipped scores at their bound."""

LEAST_SPREAD, LARGE_SPREAD = 0.001, 0.02
"""Differences of mean AP between the best and the worst order of ties that are reported, and that
make a study unreliable."""

SURE = 1e-3
"""Level of the tests that scores are ordered the wrong way round."""

LEAST_PAIRS = 20
"""Pairs of documents that an ordering must agree in before it is called the same."""

NAMED = 3
Kinds = Int64[np.ndarray, " candidates"]

WITHOUT_SCORES: Mapping[str, tuple[str, str]] = {
    "not-finite": ("with a score that is no finite number",
                   "Return finite numbers; missing features and divisions by 0 cause NaN"),
    "dropped-documents": ("with fewer scores than documents",
                          "Return one number per document, in the input order: cut nothing"),
    "added-documents": ("with more scores than documents",
                        "Return one number per document, in the input order, without padding"),
    "no-scores": ("without scores", "Return an array with one number per document"),
    FAILED: ("with a failed call", "Correct the ranker for this list"),
}  # fmt: skip
"""Problem and remedy of lists without scores, by the code of the finding."""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a ranker.

    Attributes:
        ranker: its name.
        lists: that were examined.
        known: that there are.
        seconds: that a list takes, the median; NaN where none has scores.
        values: means of MEASURES over the lists with scores.
        findings: the gravest first.
        calls: of a reranker behind HTTP, one row each; `lists` and `known` count them.
    """

    ranker: str
    lists: int
    known: int
    seconds: float
    values: Mapping[str, float]
    findings: tuple[Finding, ...]
    calls: tuple[Mapping[str, Any], ...] = ()

    def plain(self) -> dict[str, Any]:
        """As JSON has it, but for the findings."""
        calls = {"calls": list(map(dict, self.calls))} if self.calls else {}
        return {
            "ranker": self.ranker, "lists": self.lists, "of": self.known,
            "seconds": self.seconds, "measures": dict(self.values), **calls,
        }  # fmt: skip


def findings(ranker: Any, lists: Any, seed: int = 0) -> tuple[Finding, ...]:
    """The findings about anything that ranks, on lists in any form."""
    return run_to_end(diagnose(ranker_of(ranker), judged_of(lists), seed)).findings


def diagnose(
    ranker: Ranker,
    base: JudgedLists,
    seed: int = 0,
    clock: Callable[[], float] = perf_counter,
) -> Generator[Progress, None, Diagnosis]:
    """Ask a ranker about lists, alone and again, and say what is wrong with its scores.

    Args:
        ranker: anything that scores.
        base: the lists.
        seed: of the order of the lists, and of their input orders.
        clock: returns seconds.

    Raises:
        MissingRankingError: the lists carry fewer initial rankings than it reads.
    """
    order = generator(seed, "doctor", "lists").permutation(len(base.lists)).tolist()
    seen = yield from first_pass(ranker, base, order, clock, SECONDS)
    found = [*_without_scores(base, seen), *_slow(base, seen), *_training_mode(ranker)]
    if seen.places:
        found += [*_constant(seen), *_columns(seen), *_wrong_way(seen)]
        found += [*_first_ones(seen)] or [*_saturated(seen), *_coarse(seen)]
        yield Progress(len(order), len(order), "lists scored")
        found += _findings_of_more_calls(ranker, seen, seed)
    values = {
        name: float(evaluate([Measure.parse(name)], seen.judged.dataset, seen.judged.lists,
                             seen.scores.astype(np.float32)).mean(dtype=np.float64))
        for name in MEASURES if seen.places
    }  # fmt: skip
    severities: dict[Severity, int] = {"problem": 0, "warning": 1, "info": 2}
    return Diagnosis(
        ranker.name, len(seen.places) + len(seen.faults), len(base.lists),
        float(np.median(seen.seconds)) if seen.seconds else float("nan"), values,
        tuple(sorted(found, key=lambda one: severities[one.severity])),
    )  # fmt: skip


def unread(error: AnswerError, known: int, name: str) -> Diagnosis:
    """The diagnosis of a file whose scores are not those of the documents."""
    message = f"{error.finding}. {error.remedy}"
    found = Finding(error.fault, "problem", message, error.place)
    return Diagnosis(name, 0, known, float("nan"), {}, (found,))


def _without_scores(base: JudgedLists, seen: FirstPass) -> Iterator[Finding]:
    examined = len(seen.places) + len(seen.faults)
    for code, (words, remedy) in WITHOUT_SCORES.items():
        of = [fault for fault in seen.faults if fault.code == code]
        if of:
            size = base.lists.lengths
            shown = min(of, key=lambda fault: size[fault.list])
            lists = f"{len(of):,} of {counted(examined, 'list')} {words}"
            message = f"{lists}: {shown.found}. {remedy}."
            places = tuple(sorted(int(base.lists.queries[fault.list]) for fault in of))
            yield Finding(code, "problem", message, _query(base, shown.list), "", places)


def _slow(base: JudgedLists, seen: FirstPass) -> Iterator[Finding]:
    """The first list is left out where there are others: it may have started something."""
    seconds = seen.seconds[1:] or seen.seconds
    if not seconds or (usual := float(np.median(seconds))) <= SLOW:
        return
    slowest = seen.timed[int(np.argmax(seen.seconds))]
    docs = counted(int(base.lists.lengths[slowest]), "document")
    message = (
        f"A list takes {usual:.1f} s (median of {counted(len(seconds), 'list')}; slowest, with "
        f"{docs}: {max(seen.seconds):.1f} s), so 20 orders of {counted(len(base.lists), 'list')} "
        f"take {duration(usual * 20 * len(base.lists))}. Score a list in one call, load models "
        "once, or use fewer queries."
    )
    yield Finding("slow", "warning", message, _query(base, slowest))


def _constant(seen: FirstPass) -> Iterator[Finding]:
    judged, offsets = seen.judged, seen.judged.lists.offsets
    unlike = _spread(offsets, _kinds(judged)) > 0
    equal = (_spread(offsets, seen.scores) == 0) & unlike
    if equal.sum() <= HALF * unlike.sum():
        return
    at = _shortest(judged, equal)
    value = seen.scores[offsets[at]]
    message = (
        f"All documents have the same score in {_share_of(equal, unlike)} with different "
        f"documents ({_number(value, '.4g')} in this one). Check that features reach the ranker, "
        "and that its last layer is neither saturated nor untrained."
    )
    yield _finding("constant-scores", "problem", message, judged, at, equal)


def _columns(seen: FirstPass) -> Iterator[Finding]:
    """Features that order the documents of all lists exactly as the scores do."""
    judged, offsets = seen.judged, seen.judged.lists.offsets
    same = _same_order(offsets, seen.scores)
    features = judged.dataset.features[judged.lists.rows]
    found = [
        f"{'feature' if sign > 0 else 'the reverse of feature'} {name}"
        for at, name in enumerate(judged.dataset.feature_ids)
        for sign in (1, -1)
        if same(sign * features[:, at])
    ]
    if found:
        yield _passed_on(judged, seen.scores, f"exactly {' and '.join(found[:NAMED])}")


def _passed_on(judged: JudgedLists, scores: np.ndarray, what: str) -> Finding:
    some = _spread(judged.lists.offsets, scores) > 0
    at = _shortest(judged, some)
    message = (
        f"The ranking of all {counted(int(some.sum()), 'list')} is {what}. Check that the "
        "scores come from the model and not from its input."
    )
    return _finding("pass-through", "problem", message, judged, at, some)


def _wrong_way(seen: FirstPass) -> Iterator[Finding]:
    """Negated scores are better, and the scores worse than chance."""
    judged, measure = seen.judged, Measure.parse(f"{MEASURES[0].replace('@', '(empty=skip)@')}")
    own, turned, chance = (
        evaluate([measure], judged.dataset, judged.lists, scores.astype(np.float32))[0].astype(
            float
        )
        for scores in (seen.scores, -seen.scores, np.zeros_like(seen.scores))
    )
    gain, below = paired_t(turned, own), paired_t(chance, own)
    if not all(test.difference > 0 and test.p_value <= SURE for test in (gain, below)):
        return
    lost, empty = np.nan_to_num(turned - own), int(np.isnan(own).sum())
    left_out = f"; {counted(empty, 'list')} without relevant documents left out" if empty else ""
    at = _shortest(judged, lost >= 0.9 * lost.max())
    message = (
        f"Negated scores are better: {MEASURES[0]} {_number(np.nanmean(turned))} instead of "
        f"{_number(np.nanmean(own))} ({signed(gain.difference)}, {p_value(gain.p_value)}; chance "
        f"{_number(np.nanmean(chance))}; here {_number(turned[at])} instead of {_number(own[at])}"
        f"{left_out}). "
        "Negate ranks, distances and losses: the best document needs the highest score."
    )
    yield _finding("wrong-direction", "problem", message, judged, at, lost > 0)


def _training_mode(ranker: Ranker) -> Iterator[Finding]:
    if getattr(ranker, "training_mode", False):
        message = (
            "The model was in training mode; the doctor examined it in evaluation mode. Call "
            "`.eval()` before use."
        )
        yield Finding("training-mode", "warning", message)


def _first_ones(seen: FirstPass) -> Iterator[Finding]:
    """Only the first documents of the initial ranking have scores; all others tie."""
    judged, lists = seen.judged, seen.judged.lists
    ranks, words = ragged.places_of(lists.offsets), "input documents"
    if lists.rankings:
        ranks, words = np.array(lists.ranks[:, 0], dtype=np.int64), "of the initial ranking"
    order = ragged.order_within(lists.offsets, ranks)
    last = order[lists.offsets[1:][lists.lengths > 0] - 1]  # the last document of each list
    tail = np.repeat(seen.scores[last], lists.lengths[lists.lengths > 0])
    differs = seen.scores != tail
    if not differs.any():  # "constant-scores" reports it
        return
    scored = int(ranks[differs].max()) + 1
    behind = segments.sums(lists.offsets, (ranks >= scored).astype(np.float64))
    within = segments.sums(lists.offsets, ((ranks < scored) & ~differs).astype(np.float64))
    tied = behind > 1
    few = within.sum() <= ELSEWHERE * differs.sum() + len(lists)
    if tied.sum() <= HALF * len(lists) or behind.sum() < LEAST_PAIRS or not few:
        return
    message = (
        f"The ranker scores the first {scored} {words}; all others tie in "
        f"{_share_of(tied)}. Score all documents, or use shorter lists (--depth {scored}): "
        "measures average over ties."
    )
    yield _finding("first-ones", "warning", message, judged, _shortest(judged, tied), tied)


def _saturated(seen: FirstPass) -> Iterator[Finding]:
    """Many unlike documents share the highest or lowest of all scores, and hardly any another."""
    judged, lists = seen.judged, seen.judged.lists
    for bound, words in ((seen.scores.max(), "highest"), (seen.scores.min(), "lowest")):
        at_bound = seen.scores == bound
        if at_bound.all() or at_bound.mean() < EXTREME or np.isinf(bound):  # −∞ means last
            continue
        rest = np.flatnonzero(~at_bound)
        owner = ragged.segment_ids(lists.offsets)
        bounds = ragged.offsets_of(np.bincount(owner[rest], minlength=len(lists)))
        tied = _unlike(judged, seen.scores, at_bound)
        if tied_share(bounds, seen.scores[rest]) > ELSEWHERE or tied.sum() < 2:
            continue
        at = _shortest(judged, tied)
        message = (
            f"{int(at_bound.sum()):,} of {counted(len(at_bound), 'document')} "
            f"({_number(float(at_bound.mean()), '.1%')}) have the {words} score, "
            f"{_number(float(bound), '.6g')}, in {_share_of(tied)}: scores are clipped or "
            "saturated. Rank by the value before the sigmoid, ReLU or clip."
        )
        yield _finding("saturated-scores", "problem", message, judged, at, tied)


def _coarse(seen: FirstPass) -> Iterator[Finding]:
    """Documents that differ tie since scores were rounded, and how ties are broken decides."""
    judged, offsets = seen.judged, seen.judged.lists.offsets
    share, kept = tied_share(offsets, seen.scores), precision_in_words(seen.scores)
    tied = _unlike(judged, seen.scores)
    if not kept or not tied.any():
        return
    if (_spread(offsets, seen.scores) == 0).mean() > HALF:  # "constant-scores" reports it
        return
    measure = Measure.parse("AP(empty=skip)")
    labels = judged.dataset.labels[judged.lists.rows]
    values = {
        name: evaluate([measure], judged.dataset, judged.lists, broken)[0].astype(float)
        for name, broken in (
            ("best", _broken(offsets, seen.scores, labels)),
            ("worst", _broken(offsets, seen.scores, -labels)),
            ("expected", seen.scores.astype(np.float32)),
        )
    }
    means = {name: float(np.nanmean(value)) for name, value in values.items()}
    if means["best"] - means["worst"] < LEAST_SPREAD:
        return
    gap = np.where(tied, np.nan_to_num(values["best"] - values["worst"]), 0.0)
    at = _shortest(judged, gap >= 0.9 * gap.max())
    texts = ", ".join(f"{_number(mean)} {name}" for name, mean in means.items())
    message = (
        f"{_number(share, '.1%')} of the pairs have equal scores, which are {kept}. Mean AP is "
        f"{texts}, by the order of ties ({_number(values['worst'][at])} to "
        f"{_number(values['best'][at])} here). Keep float32 scores without rounding."
    )
    decides = means["best"] - means["worst"] > LARGE_SPREAD
    severity: Severity = "problem" if decides else "warning"
    yield _finding("low-precision-ties", severity, message, judged, at, tied)


def precision_in_words(scores: np.ndarray) -> str:
    """Precision of scores in words; empty where they were not rounded.

    >>> precision_in_words(1 + np.arange(40) / 128), precision_in_words(np.array([0.1, 0.23, 7.0]))
    ('exact in 8 bits (bfloat16)', 'rounded to 2 decimals')
    >>> precision_in_words(np.array([0.1234567, 3.2345678]))
    ''
    """
    finite = scores[np.isfinite(scores)]
    if half := rounding.half_precision(finite):
        return f"exact in {rounding.HALF_PRECISION[half]} bits ({half})"
    steps = np.maximum(np.abs(finite), 1.0) * 2e-7
    for decimals in range(5):
        if (np.abs(np.round(finite, decimals) - finite) <= steps).all():
            return f"rounded to {counted(decimals, 'decimal')}"
    return ""


def _broken(
    offsets: Int64[np.ndarray, " bounds"], scores: np.ndarray, by: np.ndarray
) -> np.ndarray:
    """Scores without ties: the order by score, equal ones by another value, the highest first."""
    order = ragged.order_within(offsets, -scores, -by)
    broken = np.empty(len(scores), dtype=np.float32)
    broken[order] = -ragged.places_of(offsets)
    return broken


def _findings_of_more_calls(ranker: Ranker, seen: FirstPass, seed: int) -> list[Finding]:
    """Findings of the same question, other orders and other ranks."""
    usual = max(float(np.median(seen.seconds)), 1e-9)
    most = int(np.clip(SECONDS / PASSES / usual, 3, len(seen.places)))
    chosen = np.arange(most)
    base = JudgedLists(seen.judged.dataset, seen.judged.lists.select(chosen))
    scores = seen.scores[: base.lists.offsets[-1]]
    found: list[Finding] = []
    for check in (_unsteady, _handed_on):
        try:
            found += check(ranker, base, scores, generator(seed, "doctor", check.__name__))
        except FixedScoresError:  # scores of a file
            continue
        except DataError as error:
            message = f"The second call fails: {error.finding}. {WITHOUT_SCORES[FAILED][1]}."
            found.append(Finding(FAILED, "problem", message, error.place))
            break
    return found


def _unsteady(
    ranker: Ranker, base: JudgedLists, scores: np.ndarray, chance: np.random.Generator
) -> Iterator[Finding]:
    """The same lists, in the same order, once alone and twice together."""
    del chance
    lists, apart = base.lists, np.zeros(len(scores))
    for _ in range(2):
        apart = np.maximum(apart, difference(scores, _score(ranker, base)))
    changed = segments.maxima(lists.offsets, apart - of_scores(lists.offsets, scores).effect) > 0
    if not changed.any():
        return
    at = _shortest(base, changed)
    inside = slice(lists.offsets[at], lists.offsets[at + 1])
    worst = int(apart[inside].argmax())
    name = documents(JudgedLists(base.dataset, lists.select(np.array([at]))))[worst]
    message = (
        f"A second call with the same order changes scores in {_share_of(changed)}: "
        f"{_number(scores[inside][worst], '.6g')} of document {name} by "
        f"{_number(apart[inside][worst], '.2g')}. Switch off dropout and sampling, fix seeds, and "
        "score each list independently."
    )
    yield _finding("not-deterministic", "problem", message, base, at, changed)


def _handed_on(
    ranker: Ranker, base: JudgedLists, scores: np.ndarray, chance: np.random.Generator
) -> Iterator[Finding]:
    """Scores that are the initial ranking, or the order shown, whatever these are made to be."""
    lists, offsets = base.lists, base.lists.offsets
    mixed = chance.random(len(lists.rows))
    shown = lists.shown_as(ragged.order_within(offsets, mixed))
    after = _score(ranker, JudgedLists(base.dataset, shown))
    if direction := _direction(offsets, after, -ragged.places_of(offsets)):
        yield _passed_on(base, scores, f"{direction}the input order")
        return
    if not lists.rankings:
        return
    other = chance.permuted(np.arange(len(lists.rows), dtype=np.float32))
    reranked = lists.reranked(np.repeat(other[:, None], lists.rankings, axis=1))
    after = _score(ranker, JudgedLists(base.dataset, reranked))
    if direction := _direction(offsets, after, reranked.prior[:, 0]):
        yield _passed_on(base, scores, f"{direction}the initial ranking")


def _score(ranker: Ranker, judged: JudgedLists) -> Float64[np.ndarray, " candidates"]:
    return np.asarray(ranker.score(judged.dataset, judged.lists), dtype=np.float64)


def _same_order(
    offsets: Int64[np.ndarray, " bounds"], scores: np.ndarray
) -> Callable[[np.ndarray], bool]:
    """Tells whether values order every list exactly as the scores do, ties and all."""
    ranks = ragged.competition_ranks(offsets, scores)
    blocks = sum(
        len(inside) * (len(inside) - 1) // 2
        for low, high in pairwise(offsets)
        if len(inside := np.unique(scores[low:high])) > 1
    )
    return lambda values: (
        blocks >= LEAST_PAIRS and bool((ragged.competition_ranks(offsets, values) == ranks).all())
    )


def _direction(
    offsets: Int64[np.ndarray, " bounds"], scores: np.ndarray, values: np.ndarray
) -> str:
    """`exactly ` if the scores are ordered by these values, or by their reverse; else empty."""
    same = _same_order(offsets, scores)
    return "exactly " if same(values) else "exactly the reverse of " if same(-values) else ""


def _spread(
    offsets: Int64[np.ndarray, " bounds"], values: np.ndarray
) -> Float64[np.ndarray, " lists"]:
    """The distance of the largest and the smallest value of every list; 0 of none."""
    numbers = values.astype(np.float64)
    return np.maximum(segments.maxima(offsets, numbers) + segments.maxima(offsets, -numbers), 0.0)


def _kinds(judged: JudgedLists) -> Kinds:
    """A number for each candidate, the same for documents of equal features."""
    codes = doctor_counts.row_codes(judged.dataset.features[judged.lists.rows])
    return np.unique(codes, return_inverse=True)[1]


def _unlike(
    judged: JudgedLists, scores: np.ndarray, chosen: Bool[np.ndarray, " candidates"] | None = None
) -> Bool[np.ndarray, " lists"]:
    """The lists in which some documents, of those chosen, tie though their features differ."""
    kinds, found = _kinds(judged), np.zeros(len(judged.lists), dtype=bool)
    for at, (low, high) in enumerate(pairwise(judged.lists.offsets)):
        own = slice(None) if chosen is None else chosen[low:high]
        texts = scores[low:high][own].tolist()
        found[at] = len({*zip(texts, kinds[low:high][own].tolist(), strict=True)}) > len({*texts})
    return found


def _shortest(judged: JudgedLists, chosen: Bool[np.ndarray, " lists"]) -> int:
    """The shortest of the chosen lists."""
    some = np.flatnonzero(chosen)
    return int(some[np.argmin(judged.lists.lengths[some])])


def _share_of(chosen: np.ndarray, among: np.ndarray | None = None) -> str:
    """Number of lists out of all, in words."""
    every = len(chosen) if among is None else int(among.sum())
    return f"{int(chosen.sum()):,} of {counted(every, 'list')}"


def _number(value: Any, spec: str = ".3f") -> str:
    """A number of NumPy's as people read it."""
    return number(float(value), spec)


def _query(judged: JudgedLists, at: int) -> str:
    return f"query {judged.dataset.query_ids[judged.lists.queries[at]]}"


def _finding(  # noqa: PLR0913, PLR0917 (a finding's fields, and what they are told from)
    code: str, severity: Severity, message: str, judged: JudgedLists, at: int, chosen: np.ndarray
) -> Finding:
    queries = tuple(sorted(judged.lists.queries[np.flatnonzero(chosen)].tolist()))
    return Finding(code, severity, message, _query(judged, at), queries=queries)
