"""A study of set size, told: curves, the map of sizes, who drops least, and the paper's claim.

The claim (Table 3): trained on the smallest lists and tested on the largest, SetRank IMSAB drops
least, then SetRank MSAB, then DLCM.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.numerals import is_count
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.claims import adjusted, rising
from shuffleproof.core.studies.kinds.set_size import feasibility
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING, ORDER, SHIFT
from shuffleproof.core.studies.result import StudyResult, by_query, most_damaged
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Picture,
    Section,
    Sentence,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted, interval, listed

MAPS = {
    "quality": ("mean", "{} on lists of N1"),
    "shift": ("shift", "minus that of the same ranker trained on lists of N1"),
    "order": ("order_stability", "τ between the orders of the documents shared with lists of N0"),
    "scores": ("score_shift", "shift of their scores, in standard deviations"),
}
"""What is mapped by N0 and N1: the column of `curves`, and what it is."""


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measure = next(iter(view.measures), str(result.measures[0]))
    frame = curves(result, measure)
    sizes: list[int | None] = [*sorted({int(text) for text in frame["trained_on"] if text != ANY})]
    for home in sizes or [None]:
        own = frame[frame["trained_on"].isin((ANY, str(home)))]
        yield Picture("set size", (own, measure, home))
    found = sentences(result, measure)
    yield Finding(found.losses)
    yield Finding(found.candidates)
    yield Finding(found.verdict)
    short = shorter(result.facts)
    yield Sentence("; ".join(filter(None, [short, *result.facts["left_out"]])))
    trained = frame[~frame["ranker"].isin((CEILING, INITIAL))]
    columns = {column.key: column for column in CURVES}
    rows = (columns["ranker"], columns["trained_on"])
    for name, (column, words) in MAPS.items():
        known = frame[frame[column].notna()]
        title = words.format(measure)
        if len(known) and len(trained):
            table = tables.wide(known, rows, "size", columns[column], title)
            yield Picture("sizes", (trained, name, measure), [table])
        elif len(known):
            yield tables.wide(known, rows, "size", columns[column], title)
    queries = counted(result.facts["queries"], "query")
    convention = Measure.parse(measure).convention()
    yield Convention(f"{convention} · N = {queries} · 95 % intervals over queries")
    title = "Means by ranker, N0 and N1"
    yield tables.Table(frame, CURVES, title, folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    measure = str(result.measures[0])
    return {
        "table": records(curves(result, measure)),
        "claim": claim(result, measure),
        "finding": finding(result, measure),
        "convention": Measure.parse(measure).convention(),
        "shorter": result.facts["shorter"],
        "left_out": result.facts["left_out"],
    }


def changed(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    trained = sorted({row["size"] for row in recipe["rows"] if row["size"] is not None})
    first = f"Rankers of lists are trained on {listed(trained)} candidates; " if trained else ""
    tested = f"all are tested on {listed(recipe['sizes'])}"
    text = f"{first}{tested} candidates, and a list with fewer documents stays as it is."
    return f"{text[:1].upper()}{text[1:]}"


ORDERED = (("setrank-imsab", "SetRank IMSAB"), ("setrank-msab", "SetRank MSAB"), ("dlcm", "DLCM"))
"""Who drops least to most, by the paper."""

CURVES = (
    tables.RANKER,
    tables.Column("trained_on", "N0"),
    tables.Column("size", "N1", tables.COUNT),
    tables.Column("mean_length", "Length", ".1f", "Mean of the lists really tested."),
    tables.Column("mean", "Mean", tables.VALUE),
    *tables.bounds(),
    tables.QUERIES,
    tables.Column("reaching", "Reaching", tables.COUNT, "Lists of N1 documents or more."),
    tables.Column("home", "Trained on N1", tables.VALUE, "Mean of the ranker trained on N1."),
    tables.Column("shift", "− trained on N1", tables.CHANGE),
    tables.Column("order_stability", "τ of shared", tables.TAU, "Orders of the shared documents."),
    tables.Column("score_shift", "scores shifted", tables.TAU, "In standard deviations."),
)
DROPS = (
    tables.RANKER,
    tables.Column("trained_on", "N0", tables.COUNT, "The smallest size that it was trained on."),
    tables.Column("tested_on", "N1", tables.COUNT, "The largest size that it was tested on."),
    tables.Column("loss", "loss", tables.CHANGE, "Mean on lists of N0 minus that on N1."),
    *tables.bounds(spec=tables.CHANGE, words="95 % interval of the loss (paired t, Holm)."),
    tables.Column("compared", "Lists", hidden=True),
)


def curves(result: StudyResult, measure: str) -> pd.DataFrame:
    """CURVES, one row a ranker, N0 (as text, `any` where lists play no part) and N1.

    Args:
        result: a set-size study.
        measure: one that follows from what is stored.
    """
    summary = result.summary((measure,))
    own = {
        (row["ranker"], row["family"], row["level"]): row["mean"]
        for row in summary.to_dict("records")
    }
    rows = []
    for row in summary.to_dict("records"):
        there = feasibility.reaching(result.facts, int(row["level"]))
        point = (row["ranker"], row["family"], row["level"])
        home = own.get((row["ranker"], f"{row['level']:g}", row["level"]), float("nan"))
        rows.append(
            {
                "ranker": row["ranker"],
                "trained_on": row["family"],
                "size": int(row["level"]),
                "mean_length": row["set_size"],
                "mean": row["mean"],
                "low": row["low"],
                "high": row["high"],
                "n": row["n"],
                "reaching": len(result.query_ids) if there is None else there,
                "home": home,
                "shift": row["mean"] - home,
                "order_stability": _mean(result.per_query(*point, ORDER)),
                "score_shift": _mean(result.per_query(*point, SHIFT)),
            }
        )
    return pd.DataFrame(rows, columns=tables.keys(CURVES))


@dataclass(frozen=True)
class Drop:
    """What a ranker loses between the lists that it was trained on and the largest that there are.

    Attributes:
        ranker: its label.
        trained_on: N0.
        tested_on: the largest N1 that it was asked for and that some list reaches.
        loss: mean of NDCG at N0 − NDCG at N1, query by query.
        low: of the 95 % interval of the paired t test of the loss, Holm over the rankers.
        high: likewise.
        compared: in how many lists the two differ, as a sentence; empty where all reach N1.
    """

    ranker: str
    trained_on: int
    tested_on: int
    loss: float
    low: float
    high: float
    compared: str = ""


def drops(result: StudyResult, measure: str) -> list[Drop]:
    """The drop of every ranker that is trained on lists, from the smallest N0, least first.

    Where test lists do not reach N0 and a larger N1 there is nothing to compare, and no drop.
    """
    ends = {label: _ends(result, label) for label in dict.fromkeys(result.trials.ranker)}
    known = {label: own for label, own in ends.items() if own is not None}
    if not known:
        return []
    losses = np.stack([_loss(result, label, measure) for label in known])
    _, low, high = adjusted(losses)
    found = [
        Drop(
            ranker=label,
            trained_on=own[0],
            tested_on=own[1],
            loss=float(np.nanmean(losses[at])),
            low=float(low[at]),
            high=float(high[at]),
            compared=feasibility.compared(result.facts, *own),
        )
        for at, (label, own) in enumerate(known.items())
    ]
    return sorted(found, key=lambda drop: drop.loss)


def claim(result: StudyResult, measure: str) -> dict[str, object]:
    """Whether the paper's claim holds here; empty where it cannot be tested.

    It takes the three rankers, each trained on lists, and a larger N1 that some test list reaches.

    The two neighbouring pairs (MSAB − IMSAB, DLCM − MSAB) are compared by paired tests of the
    queries' losses; see `core.studies.claims.rising`.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    chosen = []
    for name, words in ORDERED:
        plain = [x for x in labels if _is(x, name) and _ends(result, x) is not None]
        plain.sort(key=lambda label: RankerName.of(label).base == name)
        if not plain:
            return {}
        chosen.append((plain[0], words))
    verdict = rising([(label, _loss(result, label, measure)) for label, _ in chosen])
    ends = _ends(result, chosen[0][0]) or (0, 0)
    return {
        "claim": f"{chosen[0][1]} drops least, then {chosen[1][1]}, then {chosen[2][1]}",
        "verdict": verdict.word,
        "text": verdict.text,
        "trained_on": ends[0],
        "tested_on": ends[1],
        "steps": [asdict(step) for step in verdict.steps],
    }


@dataclass(frozen=True)
class Sentences:
    """What a study says, written from the numbers; empty where it has nothing to say.

    Attributes:
        candidates: what the candidates alone do, before any ranker.
        losses: what every ranker loses from its own size to the largest.
        verdict: whether the paper's claim holds.
    """

    candidates: str
    losses: str
    verdict: str


def sentences(result: StudyResult, measure: str) -> Sentences:
    """What a study says of the candidates, of the rankers and of the paper's claim."""
    return claim_sentences(curves(result, measure), drops(result, measure), claim(result, measure))


def claim_sentences(
    frame: pd.DataFrame, lost: Sequence[Drop], found: Mapping[str, object]
) -> Sentences:
    """The sentences from what was computed before: `curves`, `drops` and `claim`."""
    unreached = [int(size) for size in frame.loc[frame["reaching"] == 0, "size"]]
    candidates = _candidates(frame) if {INITIAL, CEILING} <= set(frame.ranker) else ""
    differ = dict.fromkeys(drop.compared for drop in lost)
    return Sentences(
        " ".join(filter(None, [candidates, feasibility.beyond(unreached)])),
        " ".join(filter(None, [*map(_loses, lost), _adjustment(lost), *differ])),
        f"The paper's claim that {found['claim']} {found['text']}" if found else _untested(frame),
    )


def finding(result: StudyResult, measure: str) -> str:
    """A paragraph written from the numbers: the candidates' own curve, the drops, the claim."""
    said = sentences(result, measure)
    return " ".join(filter(None, (said.candidates, said.losses, said.verdict)))


def shorter(facts: Mapping[str, Any]) -> str:
    """How many test lists have fewer documents than were asked for; empty where none has.

    Args:
        facts: of a stored study.

    >>> shorter({"queries": 3, "shorter": {"40": 0, "240": 1}})
    'fewer than 240 documents: 1 of 3 lists, which stay as they are'
    >>> shorter({"queries": 3, "shorter": {"40": 1, "240": 2, "500": 3}})
    'fewer than 40, 240 and 500 documents: 1, 2 and 3 of 3 lists, which stay as they are'
    """
    short = {size: count for size, count in facts["shorter"].items() if count}
    if not short:
        return ""
    sizes, counts = _listed(short), _listed(map(str, short.values()))
    of = f"{counts} of {counted(facts['queries'], 'list')}"
    return f"fewer than {sizes} documents: {of}, which stay as they are"


def _listed(words: Iterable[str]) -> str:
    *first, last = [*words] or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def _loses(drop: Drop) -> str:
    word = "loses" if drop.loss >= 0 else "gains"
    return (
        f"{drop.ranker} {word} {abs(drop.loss):.3f} from {drop.trained_on} to {drop.tested_on} "
        f"candidates (95 % of the change: {interval(-drop.high, -drop.low)})."
    )


def _adjustment(lost: Sequence[Drop]) -> str:
    """That the intervals of several rankers hold together; nothing where there is one."""
    if len(lost) < 2:
        return ""
    return f"The intervals are adjusted by Holm for {counted(len(lost), 'ranker')}."


def _untested(frame: pd.DataFrame) -> str:
    """Why the claim is not tested although its three rankers are there, trained on lists."""
    trained = set(frame.loc[frame["trained_on"] != ANY, "ranker"])
    if not all(any(_is(label, name) for label in trained) for name, _ in ORDERED):
        return ""
    sizes = _listed([str(size) for size in sorted(set(frame.loc[frame["reaching"] > 0, "size"]))])
    return (
        "The paper's claim is not tested here: it takes a size that was trained on and a larger "
        f"one that some test list reaches; of the sizes asked for lists reach {sizes}."
    )


def _candidates(frame: pd.DataFrame) -> str:
    """What the candidates alone do, before any model, at the sizes that some list reaches."""
    reached = frame[frame["reaching"] > 0]
    of = {label: group.sort_values("size") for label, group in reached.groupby("ranker")}
    if not {INITIAL, CEILING} <= set(of):
        return ""
    initial, ceiling = of[INITIAL], of[CEILING]
    first, last = int(ceiling["size"].iloc[0]), int(ceiling["size"].iloc[-1])
    if first == last:
        return (
            f"At {first} candidates the best possible order reaches {ceiling['mean'].iloc[0]:.3f} "
            f"and the initial ranking {initial['mean'].iloc[0]:.3f}."
        )
    return (
        f"From {first} to {last} candidates the best possible order goes from "
        f"{ceiling['mean'].iloc[0]:.3f} to {ceiling['mean'].iloc[-1]:.3f} and the initial ranking "
        f"from {initial['mean'].iloc[0]:.3f} to {initial['mean'].iloc[-1]:.3f}."
    )


def _is(label: str, name: str) -> bool:
    """Whether a label is this ranker without ordinal embeddings (DLCM without its input order)."""
    return RankerName.of(label).base in {name, f"{name}-without-init"}


def _ends(result: StudyResult, label: str) -> tuple[int, int] | None:
    """The smallest N0 of a ranker and the largest N1 that a list reaches; None without both."""
    own = result.trials[(result.trials.ranker == label) & (result.trials.family != ANY)]
    if own.empty:
        return None
    trained_on = min(int(size) for size in own.family)
    at = own[own.family == str(trained_on)].level.astype(int)
    there = [int(size) for size in at if feasibility.is_reached(result.facts, int(size))]
    if trained_on not in there or max(there) == trained_on:
        return None
    return trained_on, max(there)


def _loss(result: StudyResult, label: str, measure: str) -> Float64[np.ndarray, " queries"]:
    """NDCG at N1 = N0 minus NDCG at the largest N1, query by query, seeds averaged."""
    trained_on, tested_on = _ends(result, label) or (0, 0)
    home, away = (
        result.per_query(label, str(trained_on), float(size), measure).astype(np.float64)
        for size in (trained_on, tested_on)
    )
    return home - away


def _mean(values: Float32[np.ndarray, " queries"]) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean(dtype=np.float64)) if len(counted) else float("nan")


def queries(
    result: StudyResult,
    point: tuple[str, str, int],
    measure: str,
    against: tuple[str, int] | None = None,
) -> tuple[tuple[str, int], pd.DataFrame]:
    """What another size of the list did to every query, the most damaged first.

    Args:
        result: a set-size study.
        point: ranker, N0 as text, N1.
        measure: one that follows from what is stored.
        against: N0 as text and N1 of the same ranker to compare with; by default `home_of`.

    Returns:
        What is compared with, and columns query, home (the measure there), here, change; against
        its home also order_stability and score_shift. Queries that the measure leaves out are
        left out.
    """
    ranker, trained_on, size = point
    home = home_of(result, ranker, trained_on)
    at = against or home
    before, here = (
        result.per_query(ranker, one, float(level), measure).astype(np.float64)
        for one, level in (at, (trained_on, size))
    )
    more = {}
    if at == home:
        more = {
            name: result.per_query(ranker, trained_on, float(size), kept)
            for name, kept in (("order_stability", ORDER), ("score_shift", SHIFT))
        }
    return at, by_query(result.query_ids, ("home", before), ("here", here), more=more)


def home_of(result: StudyResult, ranker: str, trained_on: str) -> tuple[str, int]:
    """N0 and the N1 that its others are compared with: N0 itself; where it has none, the least."""
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    sizes = sorted(int(level) for level in own.level)
    at = int(trained_on) if is_count(trained_on) and int(trained_on) in sizes else sizes[0]
    return trained_on, at


def by_size(result: StudyResult, ranker: str, trained_on: str, measure: str) -> pd.DataFrame:
    """The change of every query at every N1 from the ranker's home, the most damaged first.

    Returns:
        A column a size, a row a query (its id is the index), by their means; queries that the
        measure leaves out are left out.
    """
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    home = float(home_of(result, ranker, trained_on)[1])
    before = result.per_query(ranker, trained_on, home, measure)
    after = {
        int(size): result.per_query(ranker, trained_on, size, measure)
        for size in sorted(set(own.level))
    }
    return most_damaged(before, after, result.query_ids)
