"""What an examination amounts to: invariant, not invariant, or it cannot be told, and why.

Each list is judged by itself. A list is *not invariant* where another order moved a document, or
changed a score, by more than arithmetic can; it *cannot be told* where the scores lie so near to
each other that arithmetic alone could turn them round; else it is *invariant*. Lists of one
document, and lists whose documents all tie, say nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from core.studies.examination import EXACT, MEASURES, Examined
from core.studies.result import StudyResult
from core.words import counted

Verdict = Literal["invariant", "not invariant", "cannot be told"]
INVARIANT, NOT, UNTOLD = Verdict.__args__  # type: ignore[attr-defined]
EXIT_CODES: Mapping[str, int] = {INVARIANT: 0, NOT: 3, UNTOLD: 4}
"""Of the command `certify`."""

NEAR = 0.05
"""Share of a list's pairs nearer than the floor from which on the list cannot be told."""

CONFIDENCE = 0.95
SIGNIFICANT = 0.01
NAMED = 5
"""Queries that a reason names."""

EARLIER = "it was stored by an earlier version, which judged all lists by one floor: examine again"


@dataclass(frozen=True)
class Certificate:
    """The verdict on one ranker, and what it rests on.

    Attributes:
        ranker: its label.
        reads: what it declares to read.
        verdict: over all lists.
        reasons: why it is no better, in words; empty for an invariant ranker.
        theorem: why its answers cannot depend on the order, and what of it was checked; None where
            nothing is known of how it works.
        max_score_deviation: largest difference of one document's score under two orders.
        positions_moved: documents that changed places with one further away than arithmetic can
            carry the two, over all lists and orders.
        lowest_tau: of the answers to two orders, Kendall's τ-b; NaN where none is defined.
        permutations: permuted lists scored, over all queries.
        distinct_orders: of them, orders of their list that were not scored before.
        failing_orders: of those, how many changed an answer.
        failure_bound: upper 95 % bound of the share of orders that change an answer, for orders
            drawn as these were (Clopper & Pearson, one-sided).
        numeric_floor: the largest change of any score that arithmetic may explain.
        queries: lists examined.
        queries_moved: of them, not invariant.
        queries_untold: of them, those that cannot be told.
        queries_silent: of them, those that say nothing (one document, or all tie).
        longest: documents of the longest list.
        middle_length: median number of documents of a list.
        tied_documents: documents that tie with another of their list.
        equal_documents: documents whose features equal another's of their list.
        scorings: how often all lists were scored.
        fresh_processes: beside them, by a copy or process that saw one order alone.
        deterministic: the same order always gave the same answer.
        noise_p: where it is not: chance that other orders change as little more than the same
            order does (paired t over lists); else NaN.
    """

    ranker: str
    reads: tuple[str, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    theorem: Mapping[str, Any] | None
    max_score_deviation: float
    positions_moved: int
    lowest_tau: float
    permutations: int
    distinct_orders: int
    failing_orders: int
    failure_bound: float
    numeric_floor: float
    queries: int
    queries_moved: int
    queries_untold: int
    queries_silent: int
    longest: int
    middle_length: float
    tied_documents: int
    equal_documents: int
    scorings: int
    fresh_processes: int
    deterministic: bool
    noise_p: float

    @property
    def invariant(self) -> bool:
        """Whether the verdict is that it is."""
        return self.verdict == INVARIANT

    def plain(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        lists = {"reads": list(self.reads), "reasons": list(self.reasons)}
        own = {"invariant": self.invariant, "sentence": self.sentence()}
        return asdict(self) | lists | own

    def sentence(self) -> str:
        """The verdict in words, with what it rests on."""
        if self.verdict == NOT:
            return f"{self.ranker} is not invariant to the order shown: {'; '.join(self.reasons)}."
        if self.verdict == UNTOLD:
            why = "; ".join(self.reasons)
            return f"Whether {self.ranker} is invariant to the order shown cannot be told: {why}."
        proof = ""
        if self.theorem is not None:
            proof = f" This follows from how it works ({self.theorem['name']}), as was checked."
        beyond = " by more than rounding" if self.max_score_deviation else ""
        kept = ", as far as it keeps nothing from call to call" if self.fresh_processes else ""
        return (
            f"{self.ranker} is invariant to the order shown: "
            f"{counted(self.distinct_orders, 'distinct order')} of {counted(self.told, 'list')} "
            f"changed no answer{beyond}, so at most {percent(self.failure_bound)} of the orders of "
            f"these lists do (with 95 % confidence{kept}).{proof}"
        )

    @property
    def told(self) -> int:
        """The lists that say something."""
        return self.queries - self.queries_silent

    def coverage(self) -> str:
        """What was met, and so what was not, in words."""
        fresh = f", and {self.fresh_processes} times afresh" if self.fresh_processes else ""
        return (
            f"{counted(self.queries, 'list')} of up to {counted(self.longest, 'document')} "
            f"(median {self.middle_length:g}) · {counted(self.permutations, 'permuted list')}, "
            f"{self.distinct_orders:,} of them distinct orders · "
            f"{counted(self.queries_silent, 'list')} of one document or all tied · "
            f"{counted(self.tied_documents, 'tied document')}, "
            f"{self.equal_documents:,} with the same features as another · "
            f"scored {counted(self.scorings, 'time')}{fresh}"
        )

    def details(self) -> list[str]:
        """What the verdict rests on, a line each."""
        change = f"largest score difference {self.max_score_deviation:.3g}, arithmetic explains "
        change += f"{self.numeric_floor:.3g}; lowest Kendall τ of two answers {self.lowest_tau:.3f}"
        lists = f"{self.queries_moved:,} of {counted(self.queries, 'list')} not invariant, "
        lines = [change, f"{lists}{self.queries_untold:,} cannot be told", self.coverage()]
        if self.theorem is not None:
            lines.append(f"theorem: {self.theorem['statement']} ({self.theorem['source']})")
            lines += [f"checked: {text}" for text in self.theorem["checked"]]
        return lines


def percent(share: float) -> str:
    """A small share in percent.

    >>> percent(0.000998), percent(0.6)
    ('0.1 %', '60 %')
    """
    return f"{100 * share:.2g} %"


def failure_bound(failures: int, orders: int) -> float:
    """The upper 95 % bound of a share of which so many were seen (Clopper & Pearson, one-sided).

    >>> round(failure_bound(0, 3000), 6), failure_bound(0, 0)
    (0.000998, 1.0)
    """
    if failures >= orders:
        return 1.0
    return float(betaincinv(failures + 1, orders - failures, CONFIDENCE))


@dataclass(frozen=True)
class Judged:
    """The verdicts on the lists of one ranker; arrays are [lists].

    Attributes:
        moved: another order changed the answer.
        doubtful: documents passed others by more than was seen of arithmetic, not beyond doubt.
        near: too many scores lie too near to each other to be told apart.
        silent: one document, or all tie and no score changed.
    """

    moved: np.ndarray
    doubtful: np.ndarray
    near: np.ndarray
    silent: np.ndarray

    @classmethod
    def of(cls, block: np.ndarray) -> "Judged":
        """The verdicts of values [orders, MEASURES, lists]."""
        values = dict(zip(MEASURES, np.moveaxis(block, 1, 0), strict=True))
        share, gap = values["pairs-within-floor"][0], values["smallest-gap"][0]
        changed = (values["documents-moved"] > 0) | (values["deviation-over-floor"] > 1)
        moved = changed.any(axis=0) & ~np.isnan(share)
        doubtful = (values["documents-in-doubt"] > 0).any(axis=0) & ~moved & ~np.isnan(share)
        still = ~(values["score-deviation"] > 0).any(axis=0)
        silent = (np.isnan(share) | (np.isnan(gap) & still)) & ~moved
        near = (share > NEAR) & ~still & ~moved & ~silent & ~doubtful
        return cls(moved, doubtful, near, silent)


def certificates(result: StudyResult, reads: Mapping[str, frozenset[Any]]) -> list[Certificate]:
    """One certificate a ranker of an invariance study.

    Args:
        result: of the study; what was stored before lists were judged one by one cannot be told.
        reads: what each ranker declares to read.
    """
    theorems = result.facts.get("theorems", {})
    return [
        _certificate(result, str(label), tuple(sorted(reads[str(label)])), theorems.get(label))
        for label in dict.fromkeys(result.trials.ranker)
    ]


def verdict_of(
    seen: Examined, query_ids: tuple[str, ...], theorem: Mapping[str, Any] | None
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict over all lists of an examination, and why it is no better.

    Args:
        seen: the examination.
        query_ids: one a list.
        theorem: why the ranker must be invariant, if that is known.
    """
    block = np.stack(seen.values).astype(np.float32)
    facts = pd.DataFrame([seen.facts])
    return _verdict(Judged.of(block), facts, query_ids, _proved(theorem, facts))


def _certificate(
    result: StudyResult, label: str, reads: tuple[str, ...], theorem: Mapping[str, Any] | None
) -> Certificate:
    rows = np.flatnonzero((result.trials.ranker == label).to_numpy())
    block, facts = np.asarray(result.values[rows]), result.trials.iloc[rows]
    if tuple(result.stored) != MEASURES:
        return _earlier(label, reads, block, facts)
    theorem = _proved(theorem, facts)
    judged = Judged.of(block)
    verdict, reasons = _verdict(judged, facts, result.query_ids, theorem)
    new = (block[:, MEASURES.index("order-seen-first")] > 0) & ~judged.silent
    over = ((block[:, 1] > 0) | (block[:, 4] > 1)) & judged.moved
    orders, failing = int(new.sum()), int((over & new).sum())
    tau = block[:, 2]
    untold = judged.near | judged.doubtful
    return Certificate(
        ranker=label,
        reads=reads,
        verdict=verdict,
        reasons=reasons,
        theorem=theorem,
        max_score_deviation=float(block[:, 0].max(initial=0.0)),
        positions_moved=int(block[:, 1].sum()),
        lowest_tau=float(np.nanmin(tau)) if (~np.isnan(tau)).any() else float("nan"),
        permutations=block.shape[0] * block.shape[2],
        distinct_orders=orders,
        failing_orders=failing,
        failure_bound=failure_bound(failing, orders),
        numeric_floor=float(facts["numeric_floor"].max()),
        queries=block.shape[2],
        queries_moved=int(judged.moved.sum()),
        queries_untold=int(untold.sum()),
        queries_silent=int(judged.silent.sum()),
        longest=int(facts["longest"].max()),
        middle_length=float(facts["middle_length"].max()),
        tied_documents=int(facts["tied_documents"].max()),
        equal_documents=int(facts["equal_documents"].max()),
        scorings=int(facts["scorings"].max()),
        fresh_processes=int(facts["fresh_processes"].max()),
        deterministic=not (facts["unstable"].any() or facts["company"].any()),
        noise_p=float(facts["noise_p"].astype(float).max()),
    )


def _verdict(
    judged: Judged,
    facts: pd.DataFrame,
    query_ids: tuple[str, ...],
    theorem: Mapping[str, Any] | None,
) -> tuple[Verdict, tuple[str, ...]]:
    """Over all lists, and why."""
    state = _noticed(facts)
    lists, unstable = len(judged.moved), bool(facts["unstable"].any())
    if not lists or judged.silent.all():
        return UNTOLD, ("no list has two documents that it tells apart",)
    if unstable:
        return _noisy(facts, state)
    if judged.moved.any():
        which = _which(judged.moved, query_ids)
        text = f"another order changes the answer in {_of(judged.moved, lists)} ({which})"
        return NOT, (text, *state)
    reasons = [*state, *_doubts(judged, query_ids)]
    proven = theorem is not None and not state
    return (INVARIANT, ()) if proven or not reasons else (UNTOLD, tuple(reasons))


def _doubts(judged: Judged, query_ids: tuple[str, ...]) -> list[str]:
    """Why lists cannot be told, in words."""
    lists = len(judged.moved)
    reasons = [
        f"in {_of(mask, lists)} {words} ({_which(mask, query_ids)})"
        for mask, words in (
            (judged.doubtful, "what another order changes may be rounding or an effect"),
            (judged.near, "the scores lie nearer to each other than arithmetic can tell apart"),
        )
        if mask.any()
    ]
    if 2 * int(judged.silent.sum()) >= lists:
        reasons.append(f"one document, or ties alone, in {_of(judged.silent, lists)}")
    return reasons


def _noisy(facts: pd.DataFrame, state: tuple[str, ...]) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a ranker that answers the same order in several ways."""
    p, more = float(facts["noise_p"].astype(float).max()), bool(facts["noise_more"].any())
    clear = int(facts["noise_lists"].max())
    if clear:
        text = f"in {counted(clear, 'list')} another order changes ten times what that does"
        return NOT, (*state, text)
    chance = f" (paired t over lists, p {p:.2g})" if more else ""
    if more and p <= SIGNIFICANT:
        return NOT, (*state, f"other orders change it by more than that{chance}")
    return UNTOLD, (*state, f"what orders do is not told apart from its own noise{chance}")


def _proved(theorem: Mapping[str, Any] | None, facts: pd.DataFrame) -> Mapping[str, Any] | None:
    """The theorem with what float64 scores say of it; None where they contradict it."""
    change = float(facts["exact_change"].astype(float).max())
    if theorem is None or np.isnan(change):
        return theorem
    text = f"in float64 another order changes a score by at most {change:.1e} of the largest"
    return dict(theorem) | {"checked": [*theorem["checked"], text]} if change <= EXACT else None


def _noticed(facts: pd.DataFrame) -> tuple[str, ...]:
    """What changed though the order did not."""
    words = {
        "unstable": "it is not deterministic: the same order gives other scores in",
        "company": "its scores depend on the lists scored with them in",
        "state": "it remembers what it was shown: a fresh process gives other scores in",
    }
    return tuple(
        f"{text} {counted(int(facts[name].max()), 'list')}"
        for name, text in words.items()
        if facts[name].any()
    )


def _of(mask: np.ndarray, lists: int) -> str:
    return f"{int(mask.sum()):,} of {counted(lists, 'list')}"


def _which(mask: np.ndarray, query_ids: tuple[str, ...]) -> str:
    """Queries in words, a few of them."""
    found = [query_ids[at] for at in np.flatnonzero(mask)]
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{'query' if len(found) == 1 else 'queries'} {', '.join(found[:NAMED])}{more}"


def _earlier(
    label: str, reads: tuple[str, ...], block: np.ndarray, facts: pd.DataFrame
) -> Certificate:
    """What a study of before says: the changes that it saw, and no assurance."""
    moved = block[:, 1].max(axis=0) > 0
    orders = block.shape[0] * block.shape[2]
    text = "another order moves documents in " + _of(moved, block.shape[2])
    return Certificate(
        ranker=label, reads=reads, verdict=NOT if moved.any() else UNTOLD,
        reasons=(text,) if moved.any() else (EARLIER,), theorem=None,
        max_score_deviation=float(block[:, 0].max(initial=0.0)),
        positions_moved=int(block[:, 1].sum()), lowest_tau=float(np.nanmin(block[:, 2])),
        permutations=orders, distinct_orders=0, failing_orders=0, failure_bound=1.0,
        numeric_floor=float(facts["numeric_floor"].max()), queries=block.shape[2],
        queries_moved=int(moved.sum()), queries_untold=0 if moved.any() else block.shape[2],
        queries_silent=0, longest=0, middle_length=0.0, tied_documents=0, equal_documents=0,
        scorings=0, fresh_processes=0, deterministic=True, noise_p=float("nan"),
    )  # fmt: skip


def per_query(result: StudyResult, ranker: str) -> pd.DataFrame:
    """One row a query: its verdict, the most that any order changed, and its smallest gap.

    Columns query, verdict, deviation, moved, tau, gap; the most damaged first.
    """
    rows = np.flatnonzero((result.trials.ranker == ranker).to_numpy())
    block = np.asarray(result.values[rows])
    frame = pd.DataFrame(
        {
            "query": result.query_ids,
            "verdict": _verdicts(result, block),
            "deviation": block[:, 0].max(axis=0),
            "moved": block[:, 1].max(axis=0).astype(int),
            "tau": block[:, 2].min(axis=0),
            "gap": block[:, 3].min(axis=0),
        }
    )
    return frame.sort_values(
        ["moved", "deviation"], ascending=False, kind="stable", ignore_index=True
    )


def _verdicts(result: StudyResult, block: np.ndarray) -> np.ndarray:
    if tuple(result.stored) != MEASURES:
        return np.where(block[:, 1].max(axis=0) > 0, NOT, UNTOLD)
    judged = Judged.of(block)
    names = np.select(
        [judged.moved, judged.near | judged.doubtful, judged.silent],
        [NOT, UNTOLD, "says nothing"],
        INVARIANT,
    )
    return np.asarray(names)
