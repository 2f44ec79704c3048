"""Certificates of rankers: the verdict of an examination and its evidence, in words."""

import math
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
from shuffleproof.core.studies.headline import DEGRADES, FAILS, LARGE, ROBUST, SMALL
from shuffleproof.core.studies.kinds.invariance.examination import LARGEST, MEASURES
from shuffleproof.core.studies.kinds.invariance.scoring import NAMES
from shuffleproof.core.studies.kinds.invariance.verdict import (
    INCONCLUSIVE,
    INVARIANT,
    NOT,
    Verdict,
    Verdicts,
    checked_theorem,
    largest_fact,
    notes,
    places_of,
    systematic_of,
    text_fact,
    verdict_with_reasons,
    witness_of,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted, number

EXIT_CODES: Mapping[str, int] = {INVARIANT: 0, NOT: 3, INCONCLUSIVE: 4}
"""Exit codes of the command `certify`, by verdict."""

CONFIDENCE = 0.95
UNKNOWN, NOTHING = "not measured", 0.0005
"""Tier of a loss that was not measured; share of a mean below which a loss counts as none."""

NAMING: Mapping[str, str] = {
    "query": "query ids", "documents": "document ids", "texts": "documents' texts",
}  # fmt: skip
"""Names of the non-numeric inputs of a function, by input."""


@dataclass(frozen=True)
class Certificate:
    """Verdict on one ranker, and its evidence.

    Attributes:
        ranker: its label.
        reads: inputs that can change a score (`core.rankers.base.Input`), declared or assumed.
        verdict: over all lists.
        reasons: for a verdict other than `invariant`, in words.
        theorem: proof that the order cannot matter, and its checked conditions; None without a
            theorem for this architecture.
        max_score_deviation: largest difference of one document's score under two orders.
        positions_moved: documents that passed another one whose score is too far away for
            rounding, over all lists and orders.
        lowest_tau: lowest Kendall's τ-b of the rankings of two orders; NaN if undefined.
        permutations: number of permuted lists scored, over all queries.
        distinct_orders: number of these with an order of their list not scored before.
        failing_orders: number of distinct orders that changed a ranking.
        systematic: counts of the orders that are not random, by name: lists in which they were
            `shown`, and lists whose ranking they `changed`.
        failure_bound: upper 95 % bound of the share of such random orders that change a ranking
            (Clopper & Pearson, one-sided).
        list_bound: the same bound for the share of lists with a change under the same number of
            orders, if the test lists are a sample of such lists.
        numeric_floor: largest change of any score that rounding can explain.
        queries: number of lists examined.
        queries_moved: number of lists that are not invariant.
        queries_untold: number of inconclusive lists.
        queries_silent: number of lists without evidence (one document, or all tie).
        longest: length of the longest list.
        middle_length: median length of a list.
        tied_documents: documents that tie with another one of their list.
        equal_documents: documents with the same features as another one of their list.
        scorings: number of times that one process scored each list.
        lists_scored: total number of scored lists, in all orders and processes.
        fresh_processes: number of copies or processes that scored only one order.
        unexamined: number of lists that a time limit left out.
        unseen: parts that were not examined, in words.
        notes: additions to the verdict: memory between calls that was not examined, places
            outside the process, a torch module in training mode.
        precision: name of the smallest type that holds the scores; empty if unknown.
        loss: loss of NDCG@10 under random orders: `before`, `mean`, `low` and `high` (95 %); None
            if it was not measured.
        deterministic: True if the same order always gave the same scores.
        witness: for a ranker that is not invariant, two input orders of one list, ranked
            differently: `query`, `moved` (documents that passed another), and `rank`, the first
            difference. `own` and `other` hold the first documents of `order` and `ranking`.
        noise_p: for other rankers, the p value that other orders change no more than the same
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
    unexamined: int = 0
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    precision: str = ""
    loss: Mapping[str, float] | None = None
    witness: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        """Verdict in words."""
        return f"Certificate: {self.sentence()}"

    @property
    def invariant(self) -> bool:
        """True if the verdict is `invariant`."""
        return self.verdict == INVARIANT

    def plain(self) -> dict[str, Any]:
        """Certificate as JSON values."""
        lists = {
            name: list(getattr(self, name)) for name in ("reads", "reasons", "unseen", "notes")
        }
        computed = {"invariant": self.invariant, "sentence": self.sentence()}
        return asdict(self) | lists | computed

    def sentence(self) -> str:
        """Verdict in words, with its evidence."""
        reads = f"It reads {self._reads_in_words()}." if self._reads_in_words() else ""
        notes = (f"{note[:1].upper()}{note[1:]}." for note in self.notes)
        limit = f"{counted(self.unexamined, 'list')} not examined: the time limit was reached."
        stopped = [limit] * bool(self.unexamined)
        return " ".join([*self._verdict(), *stopped, *notes, *([reads] * bool(reads))])

    def _reads_in_words(self) -> str:
        """Inputs other than numbers, in words; empty for most rankers."""
        return " and ".join(words for name, words in NAMING.items() if name in self.reads)

    def _verdict(self) -> Iterator[str]:
        orders = self.distinct_orders + self._other_orders()
        if self.verdict == NOT:
            reasons = "; ".join(self.reasons)
            yield f"{self.ranker} is not invariant under {counted(orders, 'order')}: {reasons}."
            return
        if self.verdict == INCONCLUSIVE:
            yield f"{self.ranker} is inconclusive: {'; '.join(self.reasons)}."
            return
        beyond = " by more than rounding" if self.max_score_deviation else ""
        yield (
            f"{self.ranker} is invariant: none of "
            f"{counted(orders, 'order')} of {counted(self.informative, 'list')} changed the "
            f"ranking{beyond}. At most {percent(self.failure_bound)} of random orders do (95 % "
            "confidence)."
        )

    def _other_orders(self) -> int:
        """Number of systematic orders, over all lists."""
        return sum(counts["shown"] for counts in self.systematic.values())

    def _systematic(self) -> str:
        """Counts of the systematic orders, in words."""
        names = [f"{name} {counts['shown']:,}" for name, counts in self.systematic.items()]
        return f"{counted(self._other_orders(), 'other order')} ({', '.join(names)})"

    def witness_lines(self) -> list[str]:
        """Two orders of one list that the ranker ranks differently; empty if it is invariant."""
        if self.witness is None:
            return []
        shown = [
            (" ".join(side["order"][:2]), " ".join(side["ranking"][:3]))
            for side in (self.witness["own"], self.witness["other"])
        ]
        width = max(len(order) for order, _ in shown)
        start = f" from rank {self.witness['rank']}" if self.witness["rank"] > 1 else ""
        head = f"Worst list, query {self.witness['query']}: input → ranking{start}"
        return [head, *(f"  {order:{width}} … → {ranking}" for order, ranking in shown)]

    @property
    def loss_tier(self) -> str:
        """Tier of `headline.TIERS` by the loss of NDCG@10; UNKNOWN if it was not measured."""
        if self.loss is None or not self.loss["before"]:
            return UNKNOWN
        low, high, mean = (
            self.loss[name] / self.loss["before"] for name in ("low", "high", "mean")
        )
        if high < SMALL:
            return ROBUST
        if low <= 0:
            return INCONCLUSIVE
        return FAILS if mean >= LARGE else DEGRADES

    def movement(self) -> str:
        """Changes of the ranking under random orders, and their loss, in a few words."""
        if self.verdict == INVARIANT:
            return "is invariant"
        if self.verdict == INCONCLUSIVE:
            return "is inconclusive"
        share = 0.0 if self.loss is None else self.loss["mean"] / (self.loss["before"] or 1.0)
        if self.loss_tier == ROBUST:
            slight = abs(share) < NOTHING
            if self.loss is not None and self.loss["high"] < 0 and not slight:
                return f"reorders, gains {words.percent(-share, 1)} of NDCG@10"
            return "reorders, loses " + (
                "nothing" if slight else f"under {words.percent(SMALL)} of NDCG@10"
            )
        if self.loss_tier in {DEGRADES, FAILS}:
            return f"loses {words.percent(share, 0 if share >= LARGE else 1)} of NDCG@10"
        unclear = "loss of NDCG@10 is inconclusive"
        return f"reorders, {unclear if self.loss_tier == INCONCLUSIVE else 'loss was not measured'}"

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
        """Number of lists that provide evidence."""
        return self.queries - self.queries_silent

    def coverage(self) -> str:
        """Lists, orders and documents that the examination covered, in words."""
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
        """Largest score difference; in words if a score is −inf in only one of two orders."""
        if self.max_score_deviation >= LARGEST:
            return "infinite (a score is −inf in one order and not in another)"
        return number(self.max_score_deviation, ".3g")

    def details(self) -> list[str]:
        """Evidence for the verdict, one line each."""
        change = f"largest score difference {self.largest_difference()}, "
        change += f"rounding explains {number(self.numeric_floor, '.3g')}; "
        change += f"lowest Kendall τ of two rankings {number(self.lowest_tau)}"
        lists = f"{self.queries_moved:,} of {counted(self.queries, 'list')} not invariant, "
        lines = [change, f"{lists}{self.queries_untold:,} inconclusive", self.coverage()]
        if self.invariant:
            lines.append(
                f"with 95 % confidence, at most {percent(self.list_bound)} of similar lists have "
                "such an order"
            )
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
                f"it reads {self._reads_in_words()}, each with its document in every order"
            )
        if self.unseen:
            lines.append(f"not examined: {'; '.join(self.unseen)}")
        if self.theorem is not None:
            lines.append(f"theorem: {self.theorem['statement']} ({self.theorem['source']})")
            lines += [f"checked: {text}" for text in self.theorem["checked"]]
        return lines


def percent(share: float) -> str:
    """Upper bound of a share in percent, rounded up to two digits.

    >>> percent(0.000998), percent(0.1129), percent(0.6), percent(1.0)
    ('0.1 %', '12 %', '60 %', '100 %')
    """
    return f"{100 * rounded_up(share):.2g} %" if share < 1 else "100 %"


def rounded_up(share: float) -> float:
    """A share rounded up to two digits, in decimals, so that .6 stays .6."""
    digits = Context(prec=2, rounding=ROUND_CEILING)
    return float(digits.create_decimal(repr(round(share, 12))))


def failure_bound(failures: int, orders: int) -> float:
    """Upper 95 % bound of a share with these counts (Clopper & Pearson, one-sided).

    >>> round(failure_bound(0, 3000), 6), failure_bound(0, 0)
    (0.000998, 1.0)
    """
    if failures >= orders:
        # The bound is the 95 % quantile of Beta(failures + 1, orders − failures)
        return 1.0
    if not failures:  # its closed form is known, and `scipy.special` takes a while to load
        return -math.expm1(math.log1p(-CONFIDENCE) / orders)
    return float(scipy.special.betaincinv(failures + 1, orders - failures, CONFIDENCE))


def certificates(result: StudyResult) -> list[Certificate]:
    """Certificates, one per ranker.

    Raises:
        DataError: an earlier version stored the examination, with fewer orders.
    """
    if tuple(result.stored_measures) != MEASURES or "loss_lists" not in result.trials:
        finding = "an earlier version stored it, with fewer orders"
        raise DataError("this examination", finding, "Examine the rankers again.")
    return [_certificate(result, label) for label in dict.fromkeys(map(str, result.trials.ranker))]


def _examined(result: StudyResult, label: str) -> tuple[np.ndarray, pd.DataFrame]:
    """Values of a ranker's orders, and their facts."""
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
        witness=witness_of(facts) if verdict == NOT else None,
        **counts,
    )


COUNTS = (
    "longest", "tied_documents", "equal_documents", "scorings", "lists_scored", "fresh_processes",
)  # fmt: skip
"""Facts of an examination that the certificate contains unchanged."""


def _loss(facts: pd.DataFrame) -> dict[str, float] | None:
    """Loss of NDCG@10 under random orders with its 95 % interval by Student's t."""
    lists = largest_fact(facts, "loss_lists")
    if lists < 2:
        return None
    before, lost, squares = (
        float(facts[f"loss_{name}"].iloc[0]) for name in ("before", "sum", "squares")
    )
    mean = lost / lists
    # Sample variance from sums, since blocks of lists only add up sums
    deviation = max(squares / lists - mean**2, 0.0) * lists / (lists - 1)
    half = deviation and (
        float(scipy.special.stdtrit(lists - 1, 0.975)) * (deviation / lists) ** 0.5
    )
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
    tables.Column("queries_untold", "inconclusive", tables.COUNT, "Lists of them.", detail=True),
    tables.Column("positions_moved", "Documents moved", tables.COUNT, "Of all lists.", detail=True),
    tables.Column("lowest_tau", "Lowest τ", tables.VALUE, "Of two rankings."),
    tables.Column("max_score_deviation", "Largest score difference", tables.SHORT, detail=True),
    tables.Column("numeric_floor", "Rounding explains", tables.SHORT, detail=True),
    tables.Column("distinct_orders", "Orders", tables.COUNT, "Distinct random ones."),
    tables.Column(
        "failure_bound", "at most", ".2g", "Share of orders that change the ranking (95 %)."
    ),
)
"""Columns of several certificates in one table."""

BY_QUERY = (
    tables.Column("query", "Query"),
    tables.Column("verdict", "Verdict"),
    tables.Column("moved", "Moved", tables.COUNT, "Documents, at most."),
    tables.Column("tau", "τ to original", tables.VALUE, "The lowest."),
    tables.Column("deviation", "Largest score difference", tables.SHORT),
    tables.Column("gap", "Smallest score gap", tables.SHORT),
)


def per_query(result: StudyResult, ranker: str) -> pd.DataFrame:
    """Row per query: its verdict, the largest changes over all orders, and its smallest gap.

    Columns query, verdict, deviation, moved, tau, gap; the most damaged first.
    """
    block, facts = _examined(result, ranker)
    judged = Verdicts.of(block, facts)
    verdicts = np.select(
        [judged.moved, judged.near | judged.doubtful, judged.silent],
        [NOT, INCONCLUSIVE, "no evidence"],
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
    """Systematic orders in the order of `scoring.NAMES`; records sort them by name."""
    return {name: orders[name] for name in NAMES if name in orders}
