"""Sections of a study of certified top documents: gap chart, shares, price."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.injection import CONFIDENCE
from shuffleproof.core.metrics.significance import bootstrap_interval
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.certified_top_k.moved_documents import FARTHEST
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.kinds.certified_top_k.study import (
    DUPLICATED,
    INJECTED,
    MEASURE,
    MEASURES,
    MOVED,
    REMOVED,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import listed, percent, signed

ROWS = (
    tables.RANKER,
    tables.Column("inject", "Added", tables.COUNT, "Documents added to a list."),
    tables.Column("k", "k", tables.COUNT),
    tables.Column("K", "K", tables.COUNT),
    tables.Column(
        "certified", "Certified", tables.SHARE,
        "Of the top k: stays in the top K whatever is added. Empty: no certificate.",
    ),
    *tables.bounds(spec=tables.SHARE),
    tables.Column("attacked", "Attacked", tables.SHARE, "Of the top k: the attack pushed it out."),
    tables.QUERIES,
)  # fmt: skip
CHANGES = (
    tables.RANKER,
    tables.Column("change", "Change", help="Of any one other document."),
    tables.Column(
        "share", "Stays", tables.SHARE, "Of the top k: stays in the top K, exactly computed."
    ),
    *tables.bounds(spec=tables.SHARE),
    tables.QUERIES,
)
BOXES = (
    tables.RANKER,
    tables.Column("k", "k", tables.COUNT),
    tables.Column("document", "Rank", help="Of the document whose features move."),
    tables.Column(
        "certified",
        "Certified move",
        tables.VALUE,
        "Median: no smaller move takes the document to the top k. Empty: no certificate.",
    ),
    tables.Column("low", "Lower quartile", tables.VALUE, detail=True),
    tables.Column("high", "Upper quartile", tables.VALUE, detail=True),
    tables.Column(
        "attacked",
        "Attacked move",
        tables.VALUE,
        "Median: the attack took the document to the top k with it.",
    ),
    tables.Column("exact", "Exact", tables.SHARE, "Lists in which both moves agree within 0.1 %."),
    tables.QUERIES,
)
PRICE = (
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("plain", "Whole list", tables.VALUE, "The same ranker on whole lists."),
    tables.Column("smoothed", "Sets", tables.VALUE, "The ranker on sets of M documents."),
    tables.Column("difference", "Difference", tables.CHANGE),
    *tables.bounds(),
    tables.Column("alone", "Single documents", tables.NAME, "The best of them here."),
    tables.Column("alone_value", "Its value", tables.VALUE),
    tables.Column("above", "Above it", tables.CHANGE, "Sets minus single documents."),
    *tables.bounds("above_low", "above_high", detail=True),
    tables.QUERIES,
)
CONVENTION = (
    "Added documents may have any features; the other documents and their relative initial ranks "
    "do not change. Lists in which every document must stay are left out. Attack: documents of the "
    "data set, random feature vectors and gradient steps"
)
BOX = (
    f"A move is the largest change of a feature of one document, in standard deviations over the "
    f"training documents; {FARTHEST:g} means that or more. The other documents do not change. "
    "Networks: linear bounds (CROWN) and gradient steps. Trees: branch and bound. Rankers that "
    "read the whole list have no certificate: a move also changes the other scores"
)
EXACT = 0.999


def headline(result: StudyResult, view: View) -> Headline:
    """Attack on the ranker that it harms most, and the largest certified share of any ranker.

    Both are for the fewest added documents.
    """
    rows = _chosen(table(result), view)
    rows = rows[rows["inject"] == rows["inject"].min()]
    added, k, kept, n = (int(rows[name].max()) for name in ("inject", "k", "K", "n"))
    if not n:
        return Headline(f"No list is longer than {kept} documents: every document stays.")
    named = rows.assign(ranker=[RankerName.of(label).display for label in rows["ranker"]])
    certified, others = named.dropna(subset="certified"), named[named["certified"].isna()]
    texts = []
    if len(others):
        worst = others.loc[others["attacked"].idxmax()]
        documents = "One added document" if added == 1 else f"{added} added documents"
        pushed = f"pushed {percent(worst['attacked'])}" if worst["attacked"] > 0 else "pushed none"
        texts.append(f"{documents} {pushed} of {worst['ranker']}'s top {k} out of the top {kept}")
    if len(certified):
        best = certified[certified["certified"] == certified["certified"].max()]
        share, low, high = best[["certified", "low", "high"]].iloc[0]
        interval = f" (95 % CI {100 * low:.0f}–{percent(high)}, n = {n})" if share < 1 else ""
        keep = f"{listed([*best['ranker']])} provably {'keeps' if len(best) == 1 else 'keep'}"
        whose = "its" if len(best) == 1 else "their"
        texts.append(
            f"{keep} {percent(share) if share < 1 else 'all'}{interval}"
            if texts
            else f"{keep} {percent(share)} of {whose} top {k} in the top {kept}{interval}, "
            f"whatever {_added(added)} added"
        )
    return Headline(f"{'; '.join(texts)}.")


def _added(count: int) -> str:
    """Number of added documents, with its verb."""
    return "one document is" if count == 1 else f"{count} documents are"


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    rows, prices, other = (_chosen(make(result), view) for make in (table, price, changes))
    yield Picture("certified", (rows,))
    is_first = rows["inject"] == rows["inject"].min()
    for row in rows[is_first & rows["attacked"].notna()].to_dict("records"):
        name = RankerName.of(str(row["ranker"])).display
        yield Finding(
            f"When {_added(row['inject'])} added to {name}'s lists, the attack pushes "
            f"{percent(row['attacked'], 1)} of the top {row['k']} out of the top {row['K']}."
        )
    for row in prices.to_dict("records"):
        name = RankerName.of(str(row["ranker"])).display
        yield Finding(
            f"{name} changes {MEASURE} by {signed(row['difference'])} (95 % CI "
            f"{signed(row['low'])} to {signed(row['high'])}, n = {row['n']}) against whole lists."
        )
    yield Convention(CONVENTION + _confidence(result))
    yield Table(rows, ROWS, "Documents of the top k that stay in the top K")
    if len(prices):
        yield Table(prices, PRICE, "Price of the certificate")
    moved = _chosen(boxes(result), view)
    if len(moved):
        yield Convention(BOX)
        yield Table(moved, BOXES, "Moves of one document's features into the top k")
    if len(other):
        yield Table(other, CHANGES, "Removal or duplication of any one other document")


def _chosen(frame: pd.DataFrame, view: View) -> pd.DataFrame:
    """Rows of the rankers that are shown."""
    return frame[frame["ranker"].isin(view.compared_labels(dict.fromkeys(frame["ranker"])))]


def _confidence(result: StudyResult) -> str:
    drawn = {label for label, _ in result.recipe["subsets"]} - set(result.recipe["exact"])
    if not drawn:
        return ""
    return f". Drawn sets: all bounds of a list hold together with confidence {CONFIDENCE:g}"


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {
        "rows": records(table(result)),
        "price": records(price(result)),
        "changes": records(changes(result)),
        "boxes": records(boxes(result)),
        "said": f"{CONVENTION}{_confidence(result)}. {BOX}",
    }


def table(result: StudyResult) -> pd.DataFrame:
    """Certified and attacked shares: ROWS, means over the lists, one row per ranker and number."""
    rows = []
    for ranker, change, level in result.points:
        if change == INJECTED:
            certified, attacked = _values(result, ranker, change, level)[:2]
            low, high = _interval(certified, shares=True)
            rows.append({
                "ranker": ranker, "inject": int(level), "k": result.recipe["k"],
                "K": result.recipe["K"], "certified": known_mean(certified), "low": low,
                "high": high, "attacked": known_mean(attacked),
                "n": int(np.isfinite(attacked).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(ROWS))


def of_query(result: StudyResult, query: str) -> list[str]:
    """Certificate and attack of each subset ranker on the list of one query, in sentences."""
    if query not in result.query_ids:
        return []
    at, k, kept = result.query_ids.index(query), result.recipe["k"], result.recipe["K"]
    sentences = []
    for label, _ in result.recipe["subsets"]:
        for level in result.recipe["inject"]:
            certified, attacked = _values(result, label, INJECTED, float(level))[:2, at]
            if np.isfinite(certified):
                sentences.append(
                    f"{RankerName.of(label).display}: {certified * k:.0f} of the top {k} are "
                    f"certified to stay in the top {kept} whatever {_added(level)} added; the "
                    f"attack pushed out {attacked * k:.0f}."
                )
    return sentences


def changes(result: StudyResult) -> pd.DataFrame:
    """Share of the top that stays whichever other document is removed, or duplicated: CHANGES."""
    rows = []
    for ranker, change, level in result.points:
        if change in {REMOVED, DUPLICATED}:
            stays = _values(result, ranker, change, level)[0]
            low, high = _interval(stays, shares=True)
            rows.append({
                "ranker": ranker, "change": change, "share": known_mean(stays), "low": low,
                "high": high, "n": int(np.isfinite(stays).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(CHANGES))


def boxes(result: StudyResult) -> pd.DataFrame:
    """Certified and attacked move of single documents: BOXES, medians over the lists."""
    rows = []
    for ranker, change, level in result.points:
        if change == MOVED:
            moves = _values(result, ranker, change, level)[:2]
            certified, attacked = moves[:, np.isfinite(moves[1])]
            low, median, high = _quantiles(certified)
            exact = certified >= EXACT * attacked
            rows.append({
                "ranker": ranker, "k": result.recipe["k"],
                "document": f"{int(level)}" if level else "last", "certified": median,
                "low": low, "high": high, "attacked": _quantiles(attacked)[1],
                "exact": known_mean(np.where(np.isnan(certified), np.nan, exact)),
                "n": len(attacked),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(BOXES))


def _quantiles(values: np.ndarray) -> tuple[float, float, float]:
    """Quartiles; not numbers where a value is none."""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75)) if len(values) else [np.nan] * 3
    return float(low), float(median), float(high)


def price(result: StudyResult) -> pd.DataFrame:
    """Difference of each subset ranker from whole lists and from single documents: PRICE."""
    level = float(result.recipe["inject"][0])
    values = {
        ranker: _values(result, ranker, INJECTED, level)[MEASURES.index(MEASURE)]
        for ranker in result.rankers_at(INJECTED, level)
    }
    alone = max(
        (label for label in result.recipe["alone"] if label in values),
        key=lambda label: known_mean(values[label]),
        default="",
    )
    rows = []
    for smoothed, plain in result.recipe["subsets"]:
        if smoothed in values and plain in values:
            loss = values[smoothed] - values[plain]
            above = values[smoothed] - values[alone] if alone else np.full_like(loss, np.nan)
            (low, high), (above_low, above_high) = map(_interval, (loss, above))
            rows.append({
                "ranker": smoothed, "measure": MEASURE, "plain": known_mean(values[plain]),
                "smoothed": known_mean(values[smoothed]), "difference": known_mean(loss),
                "low": low, "high": high, "alone": alone,
                "alone_value": known_mean(values[alone]) if alone else np.nan,
                "above": known_mean(above), "above_low": above_low, "above_high": above_high,
                "n": int(np.isfinite(loss).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(PRICE))


def _values(result: StudyResult, ranker: str, change: str, level: float) -> np.ndarray:
    """Values per list of a row, in the order of MEASURES."""
    trials = result.trials
    is_row = (
        (trials["ranker"] == ranker) & (trials["family"] == change) & (trials["level"] == level)
    )
    values: np.ndarray = result.values[np.flatnonzero(is_row)[0]].astype(np.float64)
    return values


def _interval(values: np.ndarray, *, shares: bool = False) -> tuple[float, float]:
    """Interval of a mean over the lists, of shares or differences; none for fewer than two."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return np.nan, np.nan
    return bootstrap_interval(known, generator(0, CertifiedTopK.kind), shares=shares)
