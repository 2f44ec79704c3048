"""Certificates of rankers: the verdict of an examination, with its evidence, in words."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
import pandas as pd
import scipy

from shuffleproof.core import words
from shuffleproof.core.errors import DataError
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import BENDS, BREAKS, LARGE, SMALL, SURVIVES
from shuffleproof.core.studies.headline import UNTOLD as UNCLEAR
from shuffleproof.core.studies.kinds.invariance.examination import LARGEST, MEASURES
from shuffleproof.core.studies.kinds.invariance.scoring import NAMES
from shuffleproof.core.studies.kinds.invariance.verdict import (
    INVARIANT,
    NOT,
    UNTOLD,
    Verdict,
    Verdicts,
    checked_theorem,
    largest_fact,
    notes,
    places_of,
    systematic_of,
    text_fact,
    verdict_with_reasons,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted, number

EXIT_CODES: Mapping[str, int] = {INVARIANT: 0, NOT: 3, UNTOLD: 4}
"""Of the command `certify`."""

CONFIDENCE = 0.95
UNKNOWN, NOTHING = "not measured", 0.0005
"""Tier of a loss that was not measured; share of a mean below which a loss counts as none."""

NAMING: Mapping[str, str] = {
    "query": "query ids", "documents": "document ids", "texts": "documents' texts",
}  # fmt: skip
"""What a function may read beside numbers, by its input."""


@dataclass(frozen=True)
class Certificate:
    """The verdict on one ranker, and what it rests on.

    Attributes:
        ranker: its label.
        reads: what it declares to read.
        verdict: over all lists.
        reasons: of a verdict that is not `invariant`, in words.
        theorem: why its answers cannot depend on the order, and what of it was checked; None where
            nothing is known of how it works.
        max_score_deviation: largest difference of one document's score under two orders.
        positions_moved: documents that changed places with one further away than arithmetic can
            carry the two, over all lists and orders.
        lowest_tau: of the answers to two orders, Kendall's τ-b; NaN where none is defined.
        permutations: permuted lists scored, over all queries.
        distinct_orders: of them, orders of their list that were not scored before.
        failing_orders: of those, how many changed an answer.
        systematic: other orders than random ones, by name: of how many lists they were `shown`, in
            how many they `changed` the answer.
        failure_bound: upper 95 % bound of the share of orders that change an answer, for orders
            drawn as these were (Clopper & Pearson, one-sided).
        list_bound: the same of the share of lists that show a change in as many orders, should the
            test lists be a sample of such lists.
        numeric_floor: the largest change of any score that arithmetic may explain.
        queries: lists examined.
        queries_moved: of them, not invariant.
        queries_untold: of them, those that cannot be told.
        queries_silent: of them, those that say nothing (one document, or all tie).
        longest: documents of the longest list.
        middle_length: median number of documents of a list.
        tied_documents: documents that tie with another of their list.
        equal_documents: documents whose features equal another's of their list.
        scorings: how often each list was scored by one process.
        lists_scored: lists scored in all, under whatever order and by whatever process.
        fresh_processes: copies or processes that saw one order alone.
        unseen: what was not looked at, in words.
        notes: what the verdict says beside it: memory between calls that was not examined, places
            outside the process, a torch module in training mode.
        precision: name of the smallest type that holds its scores; empty where it is not known.
        loss: of NDCG@10 under random orders, by `before`, `mean`, `low` and `high` (95 %); None
            where it was not measured.
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
    numeric_floor: float
    queries: int
    queries_moved: int
    queries_untold: int
    distinct_orders: int = 0
    failing_orders: int = 0
    systematic: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failure_bound: float = 1.0
    list_bound: float = 1.0
    queries_silent: int = 0
    longest: int = 0
    middle_length: float = 0.0
    tied_documents: int = 0
    equal_documents: int = 0
    scorings: int = 0
    lists_scored: int = 0
    fresh_processes: int = 0
    deterministic: bool = True
    noise_p: float = float("nan")
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    precision: str = ""
    loss: Mapping[str, float] | None = None

    def __repr__(self) -> str:
        """The verdict in words."""
        return f"Certificate: {self.sentence()}"

    @property
    def invariant(self) -> bool:
        """The verdict is that it is invariant."""
        return self.verdict == INVARIANT

    def plain(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        lists = {
            name: list(getattr(self, name)) for name in ("reads", "reasons", "unseen", "notes")
        }
        computed = {"invariant": self.invariant, "sentence": self.sentence()}
        return asdict(self) | lists | computed

    def sentence(self) -> str:
        """The verdict in words, with its evidence."""
        reads = f"It reads {self._reads_in_words()}." if self._reads_in_words() else ""
        notes = (f"{note[:1].upper()}{note[1:]}." for note in self.notes)
        return " ".join([*self._verdict(), *notes, *([reads] * bool(reads))])

    def _reads_in_words(self) -> str:
        """Inputs beside numbers, in words; empty of most rankers."""
        return " and ".join(words for name, words in NAMING.items() if name in self.reads)

    def _verdict(self) -> Iterator[str]:
        if self.verdict == NOT:
            yield f"{self.ranker} is not invariant to the input order: {'; '.join(self.reasons)}."
            return
        if self.verdict == UNTOLD:
            yield f"{self.ranker} is inconclusive: {'; '.join(self.reasons)}."
            return
        beyond = " by more than rounding" if self.max_score_deviation else ""
        yield (
            f"{self.ranker} is invariant to the input order: none of "
            f"{counted(self.distinct_orders, 'distinct random order')} of "
            f"{counted(self.informative, 'list')} changed the ranking{beyond}."
        )
        if self.systematic:
            yield f"Neither did {self._systematic()}."
        yield (
            f"With 95 % confidence each, at most {percent(self.failure_bound)} of input orders, "
            f"and at most {percent(self.list_bound)} of similar lists, change the ranking."
        )
        if self.theorem is not None:
            yield f"The architecture implies it ({self.theorem['name']}; conditions checked)."

    def _systematic(self) -> str:
        """The systematic orders, in words."""
        names = [f"{name} {counts['shown']:,}" for name, counts in self.systematic.items()]
        total = counted(sum(counts["shown"] for counts in self.systematic.values()), "other order")
        return f"{total} ({', '.join(names)})"

    @property
    def loss_tier(self) -> str:
        """One of `headline.TIERS` by the loss of NDCG@10; UNKNOWN where it was not measured."""
        if self.loss is None or not self.loss["before"]:
            return UNKNOWN
        low, high, mean = (
            self.loss[name] / self.loss["before"] for name in ("low", "high", "mean")
        )
        if high < SMALL:
            return SURVIVES
        if low <= 0:
            return UNCLEAR
        return BREAKS if mean >= LARGE else BENDS

    def movement(self) -> str:
        """The ranking's changes under random orders, and their cost, in a few words."""
        if self.verdict == INVARIANT:
            return "is invariant"
        if self.verdict == UNTOLD:
            return "is inconclusive"
        share = 0.0 if self.loss is None else self.loss["mean"] / (self.loss["before"] or 1.0)
        if self.loss_tier == SURVIVES:
            slight = abs(share) < NOTHING
            return "reorders, loses " + (
                "nothing" if slight else f"under {words.percent(SMALL)} of NDCG@10"
            )
        if self.loss_tier in {BENDS, BREAKS}:
            return f"loses {words.percent(share, 0 if share >= LARGE else 1)} of NDCG@10"
        unclear = "loss of NDCG@10 is inconclusive"
        return f"reorders, {unclear if self.loss_tier == UNCLEAR else 'loss was not measured'}"

    def loss_in_words(self) -> str:
        """Mean NDCG@10 and its loss under random orders, with interval; empty: not measured."""
        if self.loss is None:
            return ""
        before, mean, low, high = (self.loss[name] for name in ("before", "mean", "low", "high"))
        change = (
            f"{number(-mean, '+.3f')}, 95 % CI {number(-high, '+.3f')} to {number(-low, '+.3f')}"
        )
        return f"NDCG@10 {number(before)}, under random orders {number(before - mean)} ({change})"

    @property
    def informative(self) -> int:
        """The lists that say something."""
        return self.queries - self.queries_silent

    def coverage(self) -> str:
        """What was met, and so what was not, in words."""
        fresh = f", {self.fresh_processes} times afresh" if self.fresh_processes else ""
        systematic = self._systematic() if self.systematic else "no systematic orders"
        return (
            f"{counted(self.queries, 'list')} of up to {counted(self.longest, 'document')} "
            f"(median {self.middle_length:g}) · "
            f"{counted(self.permutations, 'randomly permuted list')}, "
            f"{self.distinct_orders:,} of them distinct orders · {systematic} · "
            f"{counted(self.queries_silent, 'list')} of one document or all tied · "
            f"{counted(self.tied_documents, 'tied document')}, "
            f"{self.equal_documents:,} with the same features as another · "
            f"each list scored {counted(self.scorings, 'time')}{fresh}; "
            f"{counted(self.lists_scored, 'list')} scored in all"
        )

    def largest_difference(self) -> str:
        """The largest score difference, in words where a score is −inf in one order alone."""
        if self.max_score_deviation >= LARGEST:
            return "infinite (a score is −inf in one order and not in another)"
        return number(self.max_score_deviation, ".3g")

    def details(self) -> list[str]:
        """What the verdict rests on, a line each."""
        change = f"largest score difference {self.largest_difference()}, "
        change += f"rounding explains {number(self.numeric_floor, '.3g')}; "
        change += f"lowest Kendall τ of two rankings {number(self.lowest_tau)}"
        lists = f"{self.queries_moved:,} of {counted(self.queries, 'list')} not invariant, "
        lines = [change, f"{lists}{self.queries_untold:,} inconclusive", self.coverage()]
        if self.loss is not None:
            lines.append(self.loss_in_words())
        if self.precision == "float64":
            lines.append(
                "scores are float64 and judged as such; studies measure them as float32 with the "
                "same order and ties"
            )
        elif self.precision:
            lines.append(f"scores are {self.precision} and judged as such")
        if self._reads_in_words():
            lines.append(
                f"it reads {self._reads_in_words()}, each shown beside its document in every order"
            )
        if self.unseen:
            lines.append(f"not examined: {'; '.join(self.unseen)}")
        if self.theorem is not None:
            lines.append(f"theorem: {self.theorem['statement']} ({self.theorem['source']})")
            lines += [f"checked: {text}" for text in self.theorem["checked"]]
        return lines


def percent(share: float) -> str:
    """An upper bound of a share in percent, rounded up to two digits.

    >>> percent(0.000998), percent(0.1129), percent(0.6), percent(1.0)
    ('0.1 %', '12 %', '60 %', '100 %')
    """
    return f"{100 * rounded_up(share):.2g} %" if share < 1 else "100 %"


def rounded_up(share: float) -> float:
    """A share rounded up to two digits, in decimals, so that .6 stays .6."""
    digits = Context(prec=2, rounding=ROUND_CEILING)
    return float(digits.create_decimal(repr(round(share, 12))))


def failure_bound(failures: int, orders: int) -> float:
    """The upper 95 % bound of a share of which so many were seen (Clopper & Pearson, one-sided).

    >>> round(failure_bound(0, 3000), 6), failure_bound(0, 0)
    (0.000998, 1.0)
    """
    if failures >= orders:
        return 1.0
    return float(scipy.special.betaincinv(failures + 1, orders - failures, CONFIDENCE))


def certificates(result: StudyResult) -> list[Certificate]:
    """One certificate a ranker.

    Raises:
        DataError: an earlier version stored the examination, which tried less.
    """
    if tuple(result.stored_measures) != MEASURES or "loss_lists" not in result.trials:
        finding = "an earlier version stored it, which tried fewer orders"
        raise DataError("this examination", finding, "Examine the rankers again.")
    return [_certificate(result, label) for label in dict.fromkeys(map(str, result.trials.ranker))]


def _examined(result: StudyResult, label: str) -> tuple[np.ndarray, pd.DataFrame]:
    """The values of a ranker's orders, and their facts."""
    rows = np.flatnonzero((result.trials.ranker == label).to_numpy())
    return np.asarray(result.values[rows]), result.trials.iloc[rows]


def _certificate(result: StudyResult, label: str) -> Certificate:
    reads = tuple(sorted(result.facts["reads"][label]))
    block, facts = _examined(result, label)
    common: dict[str, Any] = {
        "ranker": label,
        "reads": reads,
        "max_score_deviation": float(block[:, 0].max(initial=0.0)),
        "positions_moved": int(block[:, 1].sum()),
        "permutations": block.shape[0] * block.shape[2],
        "numeric_floor": largest_fact(facts, "numeric_floor"),
        "queries": block.shape[2],
    }
    theorem = checked_theorem(result.facts.get("theorems", {}).get(label), facts)
    judged = Verdicts.of(block, facts)
    verdict, reasons = verdict_with_reasons(judged, facts, result.query_ids, theorem)
    if judged.by_place:
        in_doubt = block[:, MEASURES.index("documents-in-doubt")]
        common["positions_moved"] = int(np.maximum(block[:, 1], in_doubt).sum())
    new = (block[:, MEASURES.index("order-seen-first")] > 0) & ~judged.silent
    orders, failing = int(new.sum()), int((judged.orders_changed(block) & new).sum())
    sampled = slice(result.facts.get("sampled"))
    tau = block[:, 2]
    counts: dict[str, Any] = {name: int(largest_fact(facts, name)) for name in COUNTS}
    return Certificate(
        **common,
        verdict=verdict,
        reasons=reasons,
        theorem=theorem,
        lowest_tau=float(np.nanmin(tau)) if (~np.isnan(tau)).any() else float("nan"),
        queries_moved=int(judged.moved.sum()),
        queries_untold=int((judged.near | judged.doubtful).sum()),
        distinct_orders=orders,
        failing_orders=failing,
        systematic=_as_named(systematic_of(facts)["orders"]),
        failure_bound=failure_bound(failing, orders),
        list_bound=failure_bound(
            int(judged.moved[sampled].sum()), int((~judged.silent[sampled]).sum())
        ),
        queries_silent=int(judged.silent.sum()),
        middle_length=largest_fact(facts, "middle_length"),
        deterministic=not any(
            largest_fact(facts, name) for name in ("unstable", "company", "repeat_change")
        ),
        noise_p=largest_fact(facts, "noise_p", float("nan")),
        unseen=tuple(_not_examined(facts, reads)),
        notes=notes(facts, verdict),
        precision=text_fact(facts, "precision"),
        loss=_loss(facts),
        **counts,
    )


COUNTS = (
    "longest", "tied_documents", "equal_documents", "scorings", "lists_scored", "fresh_processes",
)  # fmt: skip
"""Facts of an examination that a certificate repeats."""


def _loss(facts: pd.DataFrame) -> dict[str, float] | None:
    """Loss of NDCG@10 under random orders with its 95 % interval by Student's t."""
    lists = largest_fact(facts, "loss_lists")
    if lists < 2:
        return None
    before, lost, squares = (
        float(facts[f"loss_{name}"].iloc[0]) for name in ("before", "sum", "squares")
    )
    mean = lost / lists
    deviation = max(squares / lists - mean**2, 0.0) * lists / (lists - 1)
    half = float(scipy.special.stdtrit(lists - 1, 0.975)) * (deviation / lists) ** 0.5
    return {"before": before / lists, "mean": mean, "low": mean - half, "high": mean + half}


def _not_examined(facts: pd.DataFrame, reads: tuple[str, ...]) -> Iterator[str]:
    yield f"lists of more than {counted(int(largest_fact(facts, 'longest')), 'document')}"
    if ids := [words for name, words in NAMING.items() if name in reads and name != "texts"]:
        yield f"the same documents under other {' or '.join(ids)}"
    if facts["padding"].isna().all():
        yield "padded lists: it takes none, or is a function of one list, which has no padding"
    if places_of(facts) is not None:
        yield "files that libraries open in C, and data on other machines"
    elif largest_fact(facts, "fresh_processes"):
        yield "data that it keeps outside the object, in globals, files or on other machines"
    elif not (facts["ours"].all() or text_fact(facts, "no_memory")):
        yield "memory between calls: it cannot be copied"


SHOWN = (
    tables.RANKER,
    tables.Column("verdict", "Verdict"),
    tables.Column("queries", "Lists", tables.COUNT),
    tables.Column("queries_moved", "not invariant", tables.COUNT, "Lists of them."),
    tables.Column("queries_untold", "inconclusive", tables.COUNT, "Lists of them."),
    tables.Column("positions_moved", "Documents moved", tables.COUNT, "Over lists and orders."),
    tables.Column("lowest_tau", "Lowest τ", tables.VALUE, "Of two rankings."),
    tables.Column("max_score_deviation", "Largest score difference", tables.SHORT),
    tables.Column("numeric_floor", "Rounding explains", tables.SHORT),
    tables.Column("distinct_orders", "Orders", tables.COUNT, "Distinct random ones."),
    tables.Column(
        "failure_bound", "at most", ".2g", "Share of orders that change the ranking (95 %)."
    ),
)
"""What is shown of certificates side by side."""

BY_QUERY = (
    tables.Column("query", "Query"),
    tables.Column("verdict", "Verdict"),
    tables.Column("moved", "Moved", tables.COUNT, "Documents, at most."),
    tables.Column("tau", "τ to original", tables.VALUE, "The lowest."),
    tables.Column("deviation", "Largest score difference", tables.SHORT),
    tables.Column("gap", "Smallest score gap", tables.SHORT),
)


def per_query(result: StudyResult, ranker: str) -> pd.DataFrame:
    """One row a query: its verdict, the most that any order changed, and its smallest gap.

    Columns query, verdict, deviation, moved, tau, gap; the most damaged first.
    """
    block, facts = _examined(result, ranker)
    judged = Verdicts.of(block, facts)
    verdicts = np.select(
        [judged.moved, judged.near | judged.doubtful, judged.silent],
        [NOT, UNTOLD, "says nothing"],
        INVARIANT,
    )
    frame = pd.DataFrame(
        {
            "query": result.query_ids,
            "verdict": verdicts,
            "deviation": block[:, 0].max(axis=0),
            "moved": block[:, 1].max(axis=0).astype(int),
            "tau": block[:, 2].min(axis=0),
            "gap": block[:, 3].min(axis=0),
        }
    )
    return frame.sort_values(
        ["moved", "deviation"], ascending=False, kind="stable", ignore_index=True
    )


def _as_named(orders: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """Systematic orders as `scoring.NAMES` has them: records hold them by the alphabet."""
    return {name: orders[name] for name in NAMES if name in orders}
