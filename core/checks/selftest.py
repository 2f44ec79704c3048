"""Test of the instruments: rankers with a known fault, or none, and the verdicts about them.

The instruments are `certify`, the doctors of rankers and of rerankers behind HTTP, and the effects
of a study of rerankers.
"""

import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shuffleproof.core.checks import doctor, ten_calls
from shuffleproof.core.checks.list_forms import ranker_of, sample
from shuffleproof.core.data.doctor import Finding
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.outside.apis import Target
from shuffleproof.core.rerank.calls import Call, Rating
from shuffleproof.core.rerank.design import Design
from shuffleproof.core.rerank.effects import SCORE, Answers, effects
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.invariance.study import certify
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE, INVARIANT, NOT
from shuffleproof.core.words import number

NO_FINDING = "no finding"
QUERIES, PERMUTATIONS = 40, 4
"""Test lists of the sample, and random orders of each."""


@dataclass(frozen=True)
class Check:
    """A ranker, the verdict that an instrument must give, and the one that it gave."""

    instrument: str
    kind: str
    expected: str
    verdict: str
    passed: bool


def selftest(seed: int = 0) -> Generator[Progress, None, list[Check]]:
    """Run all checks."""
    checks: list[Check] = []
    instruments = (_feature_rankers, _rerankers, _effects)
    for done, instrument in enumerate(instruments):
        yield Progress(done, len(instruments), "instruments")
        checks += instrument(seed)
    return checks


# --- rankers of features ------------------------------------------------------------------------


def _fair(features: np.ndarray) -> np.ndarray:
    """Sum of the logarithms of three good features."""
    return np.log1p(np.abs(features[:, 2:5].astype(np.float64))).sum(axis=1)


def _company(features: np.ndarray) -> np.ndarray:
    """Scores scaled by the list's own range, which no order changes."""
    return _fair(features) / max(float(np.ptp(_fair(features))), 1e-9)


def _noisy(chance: np.random.Generator, features: np.ndarray) -> np.ndarray:
    return _fair(features) + chance.normal(size=len(features))


def _rankers(seed: int) -> Mapping[str, tuple[Callable[..., Any], str, str]]:
    """Function, verdict of `certify` (empty: it has none) and findings of the doctor."""
    noisy, no_verdict = partial(_noisy, generator(seed, "selftest", "noisy")), ""
    return {
        "fair": (_fair, INVARIANT, NO_FINDING),
        "reads company": (_company, INVARIANT, NO_FINDING),
        "slot bonus": (lambda x: _fair(x) + 0.5 / (1 + np.arange(len(x))), NOT, NO_FINDING),
        "input order": (lambda x: -np.arange(len(x)), NOT, "pass-through"),
        "reversed": (lambda x: np.arange(len(x)), NOT, "wrong-direction, pass-through"),
        "noisy": (noisy, INCONCLUSIVE, "not-deterministic"),
        "constant": (lambda x: np.ones(len(x)), INCONCLUSIVE, "constant-scores"),
        "lower is better": (lambda x: -_fair(x), INVARIANT, "wrong-direction"),
        "saturated": (lambda x: np.minimum(_fair(x), 9.9), INVARIANT, "saturated-scores"),
        "low precision": (lambda x: _fair(x).round(), INVARIANT, "low-precision-ties"),
        "drops documents": (lambda x: _fair(x)[1:], no_verdict, "dropped-documents"),
        "not finite": (lambda x: np.full(len(x), np.nan), no_verdict, "not-finite"),
    }


def _feature_rankers(seed: int) -> Iterator[Check]:
    """Verdicts of `certify` and of the doctor."""
    every = sample()
    lists = JudgedLists(every.dataset, every.lists.select(np.arange(QUERIES)))
    for name, (function, expected, code) in _rankers(seed).items():
        in_this_process = partial(function)  # a function of a module would start processes
        if expected:
            work = certify(ranker_of(in_this_process), lists, PERMUTATIONS, seed, name)
            verdict = run_to_end(work).verdict
            yield Check("certify", name, expected, verdict, verdict == expected)
        findings = doctor.findings(in_this_process, lists, seed)
        yield _check_codes("doctor", name, code, findings)


def _check_codes(instrument: str, name: str, expected: str, findings: Sequence[Finding]) -> Check:
    verdict = ", ".join(finding.code for finding in findings) or NO_FINDING
    return Check(instrument, name, expected, verdict, verdict == expected)


# --- rerankers of texts -------------------------------------------------------------------------

Results = list[tuple[int, float]]
"""Index and score of each document of an answer."""


def relevance(query: str, text: str) -> float:
    """Share of the query's words in a text, plus up to 0.1 so that no two texts tie."""
    words = set(query.lower().split())
    shared = len(words & set(text.lower().split())) / max(len(words), 1)
    return shared + zlib.crc32(text.encode()) / 2**32 / 10


def _sorted(scores: Sequence[float]) -> Results:
    return sorted(enumerate(scores), key=lambda result: -result[1])


def _fair_results(query: str, texts: Sequence[str]) -> Results:
    return _sorted([relevance(query, text) for text in texts])


def _normalised(query: str, texts: Sequence[str]) -> Results:
    """Scores from 0 to 1 within each call."""
    scores = np.array([relevance(query, text) for text in texts])
    return _sorted(((scores - scores.min()) / max(float(np.ptp(scores)), 1e-9)).tolist())


def _by_slot(query: str, texts: Sequence[str]) -> Results:
    return _sorted([relevance(query, text) + 0.3 / (1 + at) for at, text in enumerate(texts)])


def _changed(change: Callable[[float], float]) -> Callable[[str, Sequence[str]], Results]:
    """Fair answers with changed scores, the highest first."""
    return lambda query, texts: _sorted([change(relevance(query, text)) for text in texts])


def _with_noise(chance: np.random.Generator, query: str, texts: Sequence[str]) -> Results:
    return _sorted([relevance(query, text) + chance.normal() for text in texts])


def _refuses_empty(query: str, texts: Sequence[str]) -> Results:
    if "" in texts:
        raise DataError("the reranker", "it answers with HTTP status 400", "Leave out empty texts.")
    return _fair_results(query, texts)


RERANKERS: Mapping[str, tuple[Callable[[str, Sequence[str]], Results], str]] = {
    "fair": (_fair_results, NO_FINDING),
    "hides errors": (lambda _, texts: [(at, 0.0) for at in range(len(texts))], "swallowed-errors"),
    "never sorted": (lambda *shown: sorted(_fair_results(*shown)), "unsorted-results"),
    "drops documents": (lambda *shown: _fair_results(*shown)[:-1] or _fair_results(*shown),
                        "dropped-documents"),
    "five results": (lambda *shown: _fair_results(*shown)[:5], "dropped-documents"),
    "repeats documents": (lambda *shown: _fair_results(*shown)[:1] + _fair_results(*shown),
                          "repeated-answers"),
    "counts from one": (lambda *shown: [(at + 1, score) for at, score in _fair_results(*shown)],
                        "unknown-documents"),
    "lower is better": (lambda *shown: [(at, 1 - score) for at, score in _fair_results(*shown)],
                        "wrong-direction"),
    "constant": (_changed(lambda _: 1.0), "constant-scores"),
    "saturated": (_changed(lambda score: min(score, 0.06)), "saturated-scores, unrelated-first"),
    "low precision": (_changed(lambda score: round(score, 1)), "low-precision-ties"),
    "normalised": (_normalised, "depends-on-company"),
    "slot bonus": (_by_slot, "follows-slots"),
    "input order": (lambda _, texts: [(at, 1 / (2 + at)) for at in range(len(texts))],
                    "pass-through"),
    "noisy": (partial(_with_noise, generator(0, "selftest", "noise")), "not-deterministic"),
    "refuses empty texts": (_refuses_empty, "fails"),
}  # fmt: skip
"""Rerankers with the codes of the findings about each."""


def answer_of(results: Results) -> dict[str, Any]:
    """Answer of a service as JSON."""
    return {"results": [{"index": at, "relevance_score": score} for at, score in results]}


def _rerankers(_seed: int) -> Iterator[Check]:
    """Findings of the doctor of rerankers behind HTTP, without HTTP."""
    target = Target.parse("cohere", "http://localhost/")
    for name, (function, expected) in RERANKERS.items():

        def ask(query: str, texts: Sequence[str], answer: Any = function) -> Rating:
            return target.rating(answer_of(answer(query, texts)), len(texts))

        diagnosis = run_to_end(ten_calls.diagnose_calls(name, ask))
        yield _check_codes("doctor of endpoints", name, expected, diagnosis.findings)


# --- planted effects ----------------------------------------------------------------------------

PLANTED: Mapping[str, Mapping[str, float]] = {
    "fair": {},
    "slot bonus": {"order": 0.3},
    "reads company": {"company": 0.2},
    "noisy": {"noise": 0.1},
    "all three": {"order": 0.3, "company": 0.2, "noise": 0.1},
}
"""Sizes of effects in simulated calls: contrast of first and last slot, standard deviations."""

SIMULATED, SURE = 40, 0.001
"""Queries, and level of the tests of absent effects."""


def _effects(seed: int) -> Iterator[Check]:
    """Planted effects must lie near their intervals; absent ones must not be significant.

    Intervals count twice as wide, and the level is .001, so that other seeds pass too.
    """
    for name, sizes in PLANTED.items():
        found = effects(simulated(sizes, SIMULATED, seed), SCORE)
        planted = {effect: sizes.get(effect, 0.0) for effect in found}
        passed = all(
            abs(found[effect].value - size) <= found[effect].high - found[effect].low + 1e-9
            if size
            else not found[effect].p <= SURE  # NaN: of noise, which has no test
            for effect, size in planted.items()
        )
        expected, verdict = (
            ", ".join(f"{effect} {number(value, '.2f')}" for effect, value in values.items())
            for values in (planted, {effect: one.value for effect, one in found.items()})
        )
        yield Check("study rerankers", name, expected, verdict, passed)


def simulated(
    sizes: Mapping[str, float],
    queries: int,
    seed: int,
    design: Design | None = None,
    size: int = 12,
) -> Sequence[Answers]:
    """Answers to the inputs of a design, by query, with planted effects.

    Args:
        sizes: of order (first slot less last one), company and noise (standard deviations).
        queries: number of queries.
        seed: of all draws.
        design: None: the usual one.
        size: documents of a list.
    """
    names, design, by_query = [f"d{at}" for at in range(size)], design or Design(), []
    for query in range(queries):
        chance = generator(seed, "selftest", "calls", str(query), *sizes)
        documents = dict(zip(names, chance.normal(size=size), strict=True))
        answers, of_sets = {}, dict[frozenset[str], dict[str, float]]()
        for given in design.inputs(size):
            shown = design.documents(given, str(query), names, {})
            # A set has the same effect on a document in every order
            drawn = dict(zip(sorted(shown), chance.normal(size=len(shown)).tolist(), strict=True))
            company = of_sets.setdefault(frozenset(shown), drawn)
            values = np.array([
                documents[name] + sizes.get("company", 0.0) * company[name]
                + sizes.get("order", 0.0) * (1 - slot / max(len(shown) - 1, 1))
                for slot, name in enumerate(shown)
            ]) + sizes.get("noise", 0.0) * chance.normal(size=len(shown))  # fmt: skip
            order = np.argsort(-values).tolist()
            rating = Rating.of(order, len(shown), values[order].tolist())
            answers[given] = Call.of_rating(rating, str(query), shown)
        by_query.append(answers)
    return by_query
