"""Verdict on each list of an examination and on all of them, with reasons.

A list is *not invariant* if another order moved a document, or changed a score, by more than
rounding can. It is *inconclusive* if the scores are so close that rounding alone could reorder
them; else it is *invariant*. Lists of one document, or with only ties, provide no evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from shuffleproof.core.experiment.score_floor import EXACT
from shuffleproof.core.rankers.outside import audit
from shuffleproof.core.studies.kinds.invariance.examination import (
    MEASURES,
    Examination,
    answer_changed,
)
from shuffleproof.core.words import counted, listed, number, p_value, percent

Verdict = Literal["invariant", "not invariant", "inconclusive"]
INVARIANT, NOT, INCONCLUSIVE = Verdict.__args__  # type: ignore[attr-defined]

NEAR = 0.05
"""Share of a list's pairs closer than the floor from which the list is inconclusive."""

SIGNIFICANT = 0.01
BY_PLACE, PREVAILING = 1e-4, 2 / 3
"""Level of the sign test of scores against positions; least share of documents that agree."""

NAMED = 3
"""Number of queries that a reason names."""


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on the lists of one ranker; arrays are [lists].

    Attributes:
        moved: another order changed the ranking.
        doubtful: documents passed others by more than observed rounding, but not certainly.
        near: too many scores are too close to distinguish.
        silent: one document, or all tie and no score changed.
        by_place: changes within rounding follow the input order, so that they count.
        only: systematic orders that changed a ranking, if no random order did.
        ranked: True if a document passed another; else only scores changed.
    """

    moved: np.ndarray
    doubtful: np.ndarray
    near: np.ndarray
    silent: np.ndarray
    by_place: bool = False
    only: tuple[str, ...] = ()
    ranked: bool = True

    @classmethod
    def of(cls, block: np.ndarray, facts: pd.DataFrame) -> "Verdicts":
        """Verdicts from values [orders, MEASURES, lists] and the facts of their trials."""
        summary = systematic_of(facts)
        values = dict(zip(MEASURES, np.moveaxis(block, 1, 0), strict=True))
        share, gap = values["pairs-within-floor"][0], values["smallest-gap"][0]
        by_system, in_doubt_by_system, rescored = (
            np.isin(np.arange(len(share)), summary[name])
            for name in ("moved", "doubtful", "stirred")
        )
        by_chance = answer_changed(np.moveaxis(block, 1, 0)).any(axis=0)
        defined = ~np.isnan(share)
        moved = (by_chance | by_system) & defined
        in_doubt = (values["documents-in-doubt"] > 0).any(axis=0)
        doubtful = (in_doubt | in_doubt_by_system) & ~moved & defined
        by_place = bool(doubtful.any()) and place_test(facts)[1] <= BY_PLACE
        if by_place:
            by_chance, moved = by_chance | in_doubt, moved | doubtful
            doubtful = np.zeros_like(doubtful)
        unchanged = ~((values["score-deviation"] > 0).any(axis=0) | rescored)
        silent = (~defined | (np.isnan(gap) & unchanged)) & ~moved
        near = (share > NEAR) & ~unchanged & ~moved & ~silent & ~doubtful
        names = [name for name, counts in summary["orders"].items() if counts["changed"]]
        only = () if by_chance.any() else tuple(names)
        passed = bool((values["documents-moved"] > 0).any()) or bool((by_system & ~by_chance).any())
        return cls(moved, doubtful, near, silent, by_place, only, passed or by_place)

    def orders_changed(self, block: np.ndarray) -> np.ndarray:
        """Mask of the orders of each list that changed its ranking, [orders, lists]."""
        changed = answer_changed(np.moveaxis(block, 1, 0))
        if self.by_place:
            changed |= block[:, MEASURES.index("documents-in-doubt")] > 0
        return changed & self.moved


def verdict_of(
    seen: Examination, query_ids: tuple[str, ...], theorem: Mapping[str, Any] | None
) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict over all lists of an examination, and the reasons for it."""
    block = np.stack(seen.values).astype(np.float32)
    facts = pd.DataFrame([seen.facts])
    judged = Verdicts.of(block, facts)
    return verdict_with_reasons(judged, facts, query_ids, checked_theorem(theorem, facts))


def verdict_with_reasons(
    judged: Verdicts,
    facts: pd.DataFrame,
    query_ids: tuple[str, ...],
    theorem: Mapping[str, Any] | None,
) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict over all lists of a ranker, and the reasons for it."""
    state = _instabilities(facts)
    lists, unstable = len(judged.moved), bool(facts["unstable"].any())
    if not lists or judged.silent.all():
        return INCONCLUSIVE, ("no list has two documents with different scores",)
    if unstable:
        return _noise_verdict(facts, state)
    if judged.moved.any():
        what = "the ranking changes" if judged.ranked else "the scores, not the ranking, change"
        text = f"{what} in {lists_in_words(judged.moved)}"
        if judged.moved.sum() <= NAMED:
            text += f" ({_queries_in_words(judged.moved, query_ids)})"
        if judged.only:
            text += f"; no random order does: {', '.join(judged.only)}"
        return NOT, (text, *_place_in_words(facts, judged), *state)
    reasons = [*state, *_memory_doubts(facts), *_doubts(judged, facts, query_ids)]
    proven = theorem is not None and not state
    return (INVARIANT, ()) if proven or not reasons else (INCONCLUSIVE, tuple(reasons))


def place_test(facts: pd.DataFrame) -> tuple[float, float]:
    """Share of documents with the more frequent direction, and p of a two-sided sign test.

    A share below PREVAILING is no evidence for any number of documents: p is 1.

    >>> share, p = place_test(pd.DataFrame({"place_rises": [1], "place_falls": [19]}))
    >>> share, round(p, 6)
    (0.95, 4e-05)
    """
    rises, falls = (int(largest_fact(facts, f"place_{way}")) for way in ("rises", "falls"))
    documents, most = rises + falls, max(rises, falls)
    if most < PREVAILING * documents or not documents:
        return float("nan"), 1.0
    # P(X ≥ most) for X ~ Binomial(documents, 1/2), doubled for two sides
    p = 2 * float(scipy.special.bdtrc(most - 1, documents, 0.5))
    return most / documents, min(p, 1.0)


def _place_in_words(facts: pd.DataFrame, judged: Verdicts) -> tuple[str, ...]:
    """Result of the sign test, if it decided the verdict."""
    if not judged.by_place:
        return ()
    share, p = place_test(facts)
    falls = largest_fact(facts, "place_falls") > largest_fact(facts, "place_rises")
    text = (
        f"scores follow the input position: {percent(share)} of the documents whose scores "
        f"change score {'lower' if falls else 'higher'} when shown later "
        f"(sign test, {p_value(p)})"
    )
    return (text,)


def _memory_doubts(facts: pd.DataFrame) -> tuple[str, ...]:
    """Reason for doubt: places outside the process that may store data between calls."""
    kept = audit.memory(places_of(facts) or {})
    if not kept:
        return ()
    return (f"it may keep data between calls in {places_in_words(kept)}",)


def places_in_words(places: Mapping[str, Any]) -> str:
    """Files, databases, hosts and programs, a few of each.

    >>> places_in_words({"files": ["a.json", "b.json"], "hosts": ["localhost:80"]})
    'the files a.json and b.json, and the host localhost:80'
    """
    groups = []
    for kind, names in places.items():
        if names:
            left = [f"{len(names) - NAMED:,} more"] * (len(names) > NAMED)
            several = kind if len(names) > 1 else kind.removesuffix("s")
            groups.append(f"the {several} {listed([*names[:NAMED], *left])}")
    return ", and ".join(groups)


def places_of(facts: pd.DataFrame) -> Mapping[str, Any] | None:
    """Places that the processes of a function used; None without processes."""
    found = [places for places in facts.get("places", ()) if isinstance(places, Mapping)]
    return {kind: [*found[0].get(kind, ())] for kind in audit.KINDS} if found else None


def notes(facts: pd.DataFrame, verdict: Verdict) -> tuple[str, ...]:
    """Limits of an examination that belong to the verdict."""
    places, found = places_of(facts) or {}, list[str]()
    kept = {name for names in audit.memory(places).values() for name in names}
    if (why := text_fact(facts, "no_memory")) and verdict != NOT:
        found.append(f"not examined: memory between calls ({why})")
    if (again := largest_fact(facts, "repeat_change")) and not largest_fact(facts, "unstable"):
        found.append(
            "not deterministic: the same order scored again gives scores that differ by up to "
            f"{number(again, '.2g')}, which rounding may explain"
        )
    if largest_fact(facts, "training_mode"):
        found.append("it came in training mode; evaluation mode was examined")
    for kind, verb in ((audit.WRITTEN, "wrote"), (audit.READ, "read")):
        others = [name for name in places.get(kind, ()) if name not in kept]
        if others:
            found.append(f"its process {verb} {places_in_words({'files': others})}")
    return tuple(found)


def _doubts(judged: Verdicts, facts: pd.DataFrame, query_ids: tuple[str, ...]) -> list[str]:
    """Reasons why lists are inconclusive, in words."""
    lists, own_rounding = len(judged.moved), int(largest_fact(facts, "own_rounding"))
    steps, precision = largest_fact(facts, "half_steps"), text_fact(facts, "precision")
    size = (
        f"differences of {number(steps, '.2g')} {precision} {'step' if steps <= 1 else 'steps'}"
        if steps
        else "changes that may be rounding"
    )
    reasons = [
        f"{words} in {lists_in_words(mask)} ({_queries_in_words(mask, query_ids)})"
        for mask, words in (
            (judged.doubtful, f"another order makes {size}"),
            (judged.near, "score differences are within rounding"),
        )
        if mask.any()
    ]
    if own_rounding and judged.doubtful.any():
        text = "changes of the features' last bits have effects of that size in"
        reasons.append(f"{text} {counted(own_rounding, 'list')}")
    if 2 * int(judged.silent.sum()) >= lists:
        reasons.append(f"one document, or only ties, in {lists_in_words(judged.silent)}")
    return reasons


def _noise_verdict(facts: pd.DataFrame, state: tuple[str, ...]) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict on a ranker that scores the same order differently each time."""
    p, larger = largest_fact(facts, "noise_p", float("nan")), bool(facts["noise_more"].any())
    clear = int(largest_fact(facts, "noise_lists"))
    if clear:
        text = f"another order changes scores ten times as much in {counted(clear, 'list')}"
        return NOT, (*state, text)
    chance = f" (paired t over lists, {p_value(p)})" if larger else ""
    if larger and p <= SIGNIFICANT:
        return NOT, (*state, f"other orders change scores by more than that{chance}")
    return INCONCLUSIVE, (*state, f"other orders change scores no more than that{chance}")


def checked_theorem(
    theorem: Mapping[str, Any] | None, facts: pd.DataFrame
) -> Mapping[str, Any] | None:
    """Theorem with the check by float64 scores; None if they contradict it."""
    change = largest_fact(facts, "exact_change", float("nan"))
    if theorem is None or np.isnan(change):
        return theorem
    text = f"in float64 another order changes a score by at most {change:.1e} of the largest"
    return dict(theorem) | {"checked": [*theorem["checked"], text]} if change <= EXACT else None


def _instabilities(facts: pd.DataFrame) -> tuple[str, ...]:
    """Changes that have other causes than the order, in words."""
    words = {
        "unstable": "it is not deterministic: the same order gives other scores in",
        "company": "its scores depend on the lists scored with them in",
        "padding": "its scores depend on the padding behind them in",
        "state": "its scores depend on earlier calls: a fresh process gives other scores in",
    }
    return tuple(
        f"{text} {counted(int(largest_fact(facts, name)), 'list')}"
        for name, text in words.items()
        if largest_fact(facts, name)
    )


def largest_fact(facts: pd.DataFrame, name: str, unknown: float = 0.0) -> float:
    """Largest value of a fact over trials; trials of earlier versions lack some facts.

    >>> facts = pd.DataFrame({"company": [1, 3], "padding": [None, None]})
    >>> (largest_fact(facts, "company"), largest_fact(facts, "padding"), largest_fact(facts,
    ...     "own_rounding"))
    (3.0, 0.0, 0.0)
    """
    value = pd.to_numeric(facts[name], errors="coerce").max() if name in facts else np.nan
    return unknown if np.isnan(value) else float(value)


def text_fact(facts: pd.DataFrame, name: str) -> str:
    """Fact in words; empty if trials of earlier versions lack it."""
    return next((text for text in facts.get(name, ()) if isinstance(text, str)), "")


def systematic_of(facts: pd.DataFrame) -> Mapping[str, Any]:
    """Results of the systematic orders: counts by order, and the lists whose answers changed."""
    summary: Mapping[str, Any] = facts["systematic"].iloc[0]
    return summary


def witness_of(facts: pd.DataFrame) -> Mapping[str, Any] | None:
    """Two orders of one list with different rankings (`examination._witness`); None: none."""
    return next((one for one in facts.get("witness", ()) if isinstance(one, Mapping)), None)


def lists_in_words(mask: np.ndarray) -> str:
    """Number of selected lists of all lists, in words."""
    return f"{int(mask.sum()):,} of {counted(len(mask), 'list')}"


def _queries_in_words(mask: np.ndarray, query_ids: tuple[str, ...]) -> str:
    """Names of a few of the queries, in words."""
    names = [query_ids[at] for at in np.flatnonzero(mask)]
    remainder = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:NAMED])}{remainder}"
