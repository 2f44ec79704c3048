"""The verdict on each list of an examination and on all of them, and why it is no better.

A list is *not invariant* where another order moved a document, or changed a score, by more than
arithmetic can; it *cannot be told* where the scores lie so near to each other that arithmetic alone
could turn them round; else it is *invariant*. Lists of one document, and lists whose documents all
tie, say nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from shuffleproof.core.experiment.score_floor import EXACT
from shuffleproof.core.studies.kinds.invariance.examination import (
    MEASURES,
    Examination,
    answer_changed,
)
from shuffleproof.core.words import counted

Verdict = Literal["invariant", "not invariant", "cannot be told"]
INVARIANT, NOT, UNTOLD = Verdict.__args__  # type: ignore[attr-defined]

NEAR = 0.05
"""Share of a list's pairs nearer than the floor from which on the list cannot be told."""

SIGNIFICANT = 0.01
NAMED = 5
"""Queries that a reason names."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the lists of one ranker; arrays are [lists].

    Attributes:
        moved: another order changed the answer.
        doubtful: documents passed others by more than was seen of arithmetic, not beyond doubt.
        near: too many scores lie too near to each other to be told apart.
        silent: one document, or all tie and no score changed.
        only: names of the systematic orders that changed an answer where no random order did.
    """

    moved: np.ndarray
    doubtful: np.ndarray
    near: np.ndarray
    silent: np.ndarray
    only: tuple[str, ...] = ()

    @classmethod
    def of(cls, block: np.ndarray, systematic: Mapping[str, Any] | None) -> "Verdicts":
        """The verdicts of values [orders, MEASURES, lists] and of what `order_facts` gives."""
        values = dict(zip(MEASURES, np.moveaxis(block, 1, 0), strict=True))
        share, gap = values["pairs-within-floor"][0], values["smallest-gap"][0]
        summary = systematic or {"orders": {}, "moved": [], "doubtful": [], "stirred": []}
        also, perhaps, stirred = (
            np.isin(np.arange(len(share)), summary[name])
            for name in ("moved", "doubtful", "stirred")
        )
        by_chance = answer_changed(np.moveaxis(block, 1, 0)).any(axis=0)
        defined = ~np.isnan(share)
        moved = (by_chance | also) & defined
        doubtful = ((values["documents-in-doubt"] > 0).any(axis=0) | perhaps) & ~moved & defined
        unchanged = ~((values["score-deviation"] > 0).any(axis=0) | stirred)
        silent = (~defined | (np.isnan(gap) & unchanged)) & ~moved
        near = (share > NEAR) & ~unchanged & ~moved & ~silent & ~doubtful
        names = [name for name, counts in summary["orders"].items() if counts["changed"]]
        return cls(moved, doubtful, near, silent, () if by_chance.any() else tuple(names))


def verdict_of(
    seen: Examination, query_ids: tuple[str, ...], theorem: Mapping[str, Any] | None
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict over all lists of an examination, and why it is no better."""
    block = np.stack(seen.values).astype(np.float32)
    facts = pd.DataFrame([seen.facts])
    judged = Verdicts.of(block, systematic_of(facts))
    return verdict_with_reasons(judged, facts, query_ids, checked_theorem(theorem, facts))


def verdict_with_reasons(
    judged: Verdicts,
    facts: pd.DataFrame,
    query_ids: tuple[str, ...],
    theorem: Mapping[str, Any] | None,
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict over all lists of a ranker, and why it is no better."""
    state = _instabilities(facts)
    lists, unstable = len(judged.moved), bool(facts["unstable"].any())
    if not lists or judged.silent.all():
        return UNTOLD, ("no list has two documents that it tells apart",)
    if unstable:
        return _noise_verdict(facts, state)
    if judged.moved.any():
        queries = _queries_in_words(judged.moved, query_ids)
        text = f"another order changes the answer in {lists_in_words(judged.moved)} ({queries})"
        if judged.only:
            text += f", though no random order does: {', '.join(judged.only)}"
        return NOT, (text, *state)
    reasons = [*state, *_doubts(judged, facts, query_ids)]
    proven = theorem is not None and not state
    return (INVARIANT, ()) if proven or not reasons else (UNTOLD, tuple(reasons))


def _doubts(judged: Verdicts, facts: pd.DataFrame, query_ids: tuple[str, ...]) -> list[str]:
    """Why lists cannot be told, in words."""
    lists, own_rounding = len(judged.moved), int(largest_fact(facts, "own_rounding"))
    reasons = [
        f"in {lists_in_words(mask)} {words} ({_queries_in_words(mask, query_ids)})"
        for mask, words in (
            (judged.doubtful, "what another order changes may be rounding or an effect"),
            (judged.near, "the scores lie nearer to each other than arithmetic can tell apart"),
        )
        if mask.any()
    ]
    if own_rounding and judged.doubtful.any():
        text = "its own rounding is of that size, as features changed in their last bits show, in"
        reasons.append(f"{text} {counted(own_rounding, 'list')}")
    if 2 * int(judged.silent.sum()) >= lists:
        reasons.append(f"one document, or ties alone, in {lists_in_words(judged.silent)}")
    return reasons


def _noise_verdict(facts: pd.DataFrame, state: tuple[str, ...]) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a ranker that answers the same order in several ways."""
    p, larger = largest_fact(facts, "noise_p", float("nan")), bool(facts["noise_more"].any())
    clear = int(largest_fact(facts, "noise_lists"))
    if clear:
        text = f"in {counted(clear, 'list')} another order changes ten times what that does"
        return NOT, (*state, text)
    chance = f" (paired t over lists, p {p:.2g})" if larger else ""
    if larger and p <= SIGNIFICANT:
        return NOT, (*state, f"other orders change it by more than that{chance}")
    return UNTOLD, (*state, f"what orders do is not told apart from its own noise{chance}")


def checked_theorem(
    theorem: Mapping[str, Any] | None, facts: pd.DataFrame
) -> Mapping[str, Any] | None:
    """The theorem with what float64 scores say of it; None where they contradict it."""
    change = largest_fact(facts, "exact_change", float("nan"))
    if theorem is None or np.isnan(change):
        return theorem
    text = f"in float64 another order changes a score by at most {change:.1e} of the largest"
    return dict(theorem) | {"checked": [*theorem["checked"], text]} if change <= EXACT else None


def _instabilities(facts: pd.DataFrame) -> tuple[str, ...]:
    """What changed though the order did not."""
    words = {
        "unstable": "it is not deterministic: the same order gives other scores in",
        "company": "its scores depend on the lists scored with them in",
        "padding": "its scores depend on the padding behind them in",
        "state": "it remembers what it was shown: a fresh process gives other scores in",
    }
    return tuple(
        f"{text} {counted(int(largest_fact(facts, name)), 'list')}"
        for name, text in words.items()
        if largest_fact(facts, name)
    )


def largest_fact(facts: pd.DataFrame, name: str, unknown: float = 0.0) -> float:
    """The largest value of a fact over trials; trials of earlier versions lack some.

    >>> facts = pd.DataFrame({"company": [1, 3], "padding": [None, None]})
    >>> (largest_fact(facts, "company"), largest_fact(facts, "padding"), largest_fact(facts,
    ...     "own_rounding"))
    (3.0, 0.0, 0.0)
    """
    value = pd.to_numeric(facts[name], errors="coerce").max() if name in facts else np.nan
    return unknown if np.isnan(value) else float(value)


def systematic_of(facts: pd.DataFrame) -> Mapping[str, Any] | None:
    """What systematic orders did; None where an earlier version tried none."""
    summaries = [summary for summary in facts.get("systematic", ()) if isinstance(summary, Mapping)]
    return summaries[0] if summaries else None


def lists_in_words(mask: np.ndarray) -> str:
    """How many of the lists, in words."""
    return f"{int(mask.sum()):,} of {counted(len(mask), 'list')}"


def _queries_in_words(mask: np.ndarray, query_ids: tuple[str, ...]) -> str:
    """Queries in words, a few of them."""
    names = [query_ids[at] for at in np.flatnonzero(mask)]
    remainder = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:NAMED])}{remainder}"
