"""Sections of a benchmark: differences, and the table with its marks.

If columns differ in convention or in the number of queries, each column states its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.metrics.tied import tied_in_words
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.studies import table_text, tables
from shuffleproof.core.studies.headline import BEST, INCONCLUSIVE
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, tuned_in_words
from shuffleproof.core.studies.kinds.benchmark.table import (
    LEAST_QUERIES,
    LETTERS,
    against_baseline,
    comparison,
    marked_means,
    means,
    rankers_of,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    UNDEFINED,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Cell, Table
from shuffleproof.core.words import counted, listed, number

TOO_FEW = f"too few queries for a test (fewer than {LEAST_QUERIES})"
USUAL, ENDS = "NDCG@10", ("ideal", "random")
NAMED = 2
"""Most tied rankers that the headline names."""


def headline(result: StudyResult, view: View) -> Headline:
    """Best ranker, its difference from the baseline, and the others that tie with it."""
    measure = main_measure(tuple(view.measures) or result.measures)
    ranked = _ranked_means(result, measure)
    if ranked.isna().any():
        return Headline(UNDEFINED, INCONCLUSIVE)
    ranked = ranked[view.compared_labels(ranked.index)]
    if ranked.empty:
        return Headline("No ranker has been measured yet.", INCONCLUSIVE)
    best = str(ranked.idxmax())
    text = f"{RankerName.of(best).display} is best: {heads([measure])[0]} {ranked[best]:.3f}"
    differences = against_baseline(result, measure, best, view.test)
    for _, row in differences[differences["ranker"].isin((view.baselines or ())[:1])].iterrows():
        bounds = f"95 % CI {number(-row['high'])} to {number(-row['low'])}, n = {row['n']:,}"
        chance = "" if row["p"] <= ALPHA else ", not significant"
        baseline = RankerName.of(row["ranker"]).display
        text += f", {number(-row['difference'])} above {baseline} ({bounds}{chance})"
    others = differences[
        (differences["group"] != GROUPS[0]) & differences["ranker"].isin(ranked.index)
    ]
    if not len(others):
        return Headline(f"{text}.")
    if others["p"].isna().all():
        return Headline(f"{text}; {TOO_FEW}.", INCONCLUSIVE)
    why = f"Ties by {view.test} (Holm, p > {ALPHA:g})."
    is_lower = others["p"] <= ALPHA
    gap = number(-others.loc[is_lower, "difference"].max())
    if is_lower.all():
        rest = "all others are significantly lower, by {} or more"
        if len(others) == 1:
            rest = (
                f"{RankerName.of(others['ranker'].iloc[0]).display} is significantly lower, by {{}}"
            )
        return Headline(f"{text}; {rest.format(gap)}.", BEST, why)
    tied = [RankerName.of(label).display for label in others.loc[~is_lower, "ranker"]]
    who = listed(tied) if len(tied) <= NAMED else f"{len(tied)} of {len(others)} others"
    words = f"{who} {'is' if len(tied) == 1 else 'are'} tied with it"
    lower = int(is_lower.sum())
    who_else = f"other {lower} are" if lower > 1 else "other one is"
    rest = f"; the {who_else} significantly lower, by {gap}{' or more' if lower > 1 else ''}"
    if not lower:
        rest = f" ({'' if len(tied) == 1 else 'up to '}{number(-others['difference'].min())} lower)"
    chip = f"{BEST} · tied with {len(tied)}"
    return Headline(f"{text}; {words}{rest}.", BEST, why, chip)


def main_measure(measures: Sequence[str]) -> str:
    """Measure of headline and picture: NDCG@10 under any conventions, else the last measure.

    >>> main_measure(["NDCG(gain=linear)@10", "RR"]), main_measure(["AP", "RR"])
    ('NDCG(gain=linear)@10', 'RR')
    """
    usual = (name for name in measures if Measure.parse(name).without_conventions == USUAL)
    return next(usual, measures[-1])


def _ranked_means(result: StudyResult, measure: str) -> "pd.Series[float]":
    """Means of all rankers except the references."""
    frame = means(result, [measure])
    return frame[frame["group"] != GROUPS[0]].set_index("ranker")["mean"]


def best_of(result: StudyResult, measure: str) -> str:
    """Ranker with the highest mean, else the first row; differences from it show who ties."""
    known = _ranked_means(result, measure).dropna()
    return str(known.idxmax()) if len(known) else rankers_of(result)[0]


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measures, baselines = tuple(view.measures) or result.measures, baselines_of(result, view)
    measure = main_measure(measures)
    baseline = next(iter(baselines if view.baselines else ()), best_of(result, measure))
    frame = against_baseline(result, measure, baseline, view.test)
    pictured = frame[~frame["ranker"].isin(ENDS)]
    yield Picture("benchmark", (pictured, baseline, measure))
    yield table(result, replace(view, measures=measures, baselines=baselines))
    title = f"Significance: differences of {measure} from {baseline}"
    yield Table(frame, comparison(baseline), title, folded=True).without("group")


def baselines_of(result: StudyResult, view: View) -> list[str]:
    """Baselines of the marks: those of the view that are in the result."""
    names: Sequence[str] = (INITIAL,) if view.baselines is None else view.baselines
    return [name for name in names if name in rankers_of(result)]


def answer(result: StudyResult, view: View) -> dict[str, Any]:
    """Answer of the command in JSON: numbers, marks, comparisons and the notes of the table."""
    measures, baselines = result.measures, baselines_of(result, view)
    view = replace(view, measures=measures, baselines=baselines)
    return {
        "failed": dict(result.facts.get("failed", {})),
        "table": records(marked_means(result, view)),
        "test": view.test,
        "symbols": dict(zip(baselines, LETTERS, strict=False)),
        "comparisons": [
            row | {"against": baseline, "measure": measure}
            for baseline in baselines
            for measure in measures
            for row in records(against_baseline(result, measure, baseline, view.test))
        ],
        "said": table_notes(result, view),
    }


AGAIN = "failed (the same command tries them again)"
"""Heading of failed rows."""

CONVENTIONS = (
    "gain", "discount", "ideal", "empty", "ties", "relevant", "top_grade", "short", "p",
)  # fmt: skip


def table_notes(result: StudyResult, view: View) -> list[str]:
    """Lines under the table."""
    alike: dict[str, list[str]] = {}
    for measure, head in zip(view.measures, heads(view.measures), strict=True):
        way = f"{counts_in_words(result, measure)} · {convention(measure)}"
        alike.setdefault(way, []).append(head)
    bold = "best run" if is_of_runs(result.recipe) else "best of the trained rows"
    lines = [f"{result.facts['data']} · {_runs(result, view.measures[0])} · bold or *: {bold}"]
    lines += [f"{', '.join(names)}: {way}" for way, names in alike.items()]
    counts = means(result, view.measures)["n"]
    few = [f"Marks: none, {TOO_FEW}"] * bool(view.baselines)
    marked = marks_in_words(view) if counts.max() >= LEAST_QUERIES else few
    return [*lines, *marked, *remarks(result)]


def convention(measure: str) -> str:
    """Convention of a measure in words, without its name.

    >>> convention("RR(empty=skip)")
    'relevant: grade ≥ 1 · ideal: judged · no relevant: left out · ties: averaged'
    """
    return Measure.parse(measure).convention().partition(" · ")[2]


def heads(measures: Sequence[str]) -> list[str]:
    """Column heads; without the conventions if all columns share them (a note states them then).

    >>> heads(["NDCG(empty=one)@10", "RR(empty=one)"]), heads(["RR", "RR(relevant=2)"])
    (['NDCG@10', 'RR'], ['RR', 'RR(relevant=2)'])
    """
    parsed = [Measure.parse(measure) for measure in measures]
    for name in CONVENTIONS:
        if (
            len({getattr(measure, name) for measure in parsed if name in measure.entry.conventions})
            > 1
        ):
            return list(measures)
    return [measure.without_conventions for measure in parsed]


def runs_in_words(result: StudyResult, measure: str) -> str:
    """Scope of the means: data, queries, seeds and folds."""
    counts = counts_in_words(result, measure)
    return " · ".join([str(result.facts["data"]), counts, _runs(result, measure)])


def counts_in_words(result: StudyResult, measure: str) -> str:
    """Number of queries of a column's means, and the treatment of the others."""
    facts, frame = result.facts, means(result, [measure])
    count, folds = int(frame["n"].max()), len(facts["folds"])
    text = f"N = {counted(count, 'query')}"
    if count < facts["queries"]:
        text += f" ({facts['queries'] - count} without relevant documents left out)"
    elif frame["mean"].isna().all():
        text += " (means are undefined: some have no relevant document)"
    return f"{text} of {counted(folds, 'fold')}" if folds > 1 else text


def _runs(result: StudyResult, measure: str) -> str:
    runs = int(means(result, [measure])["runs"].max())
    return f"mean ± standard deviation of up to {runs} runs" if runs > 1 else "1 run of each row"


def marks_in_words(view: View) -> list[str]:
    """Meaning of the marks, in one line; empty without a baseline.

    >>> marks_in_words(View(baselines=["mart"]))
    ['Marks: a above mart, (a) below, at p ≤ .05 (paired t, Holm over rows and measures)']
    """
    if not view.baselines:
        return []
    marks = ", ".join(
        f"{mark} above {name}, ({mark}) below"
        for mark, name in zip(LETTERS, view.baselines, strict=False)
    )
    return [f"Marks: {marks}, at p ≤ .05 ({view.test}, Holm over rows and measures)"]


def remarks(result: StudyResult) -> list[str]:
    """Remarks on rows that failed, read more initial rankings, or tie many documents."""
    facts, rankers = result.facts, rankers_of(result)
    lines = [
        f"{label} failed and is left out of all comparisons. {why}"
        for label, why in facts.get("failed", {}).items()
    ]
    common = set(facts.get("lists", {}).get("initial", ()))
    for label, initial in facts.get("wider", {}).items():
        if label in rankers:
            additional = ", ".join(name for name in initial if name not in common)
            lines.append(f"{label} reads, for the same candidates, the ranks by {additional} too")
    return lines if is_of_runs(result.recipe) else lines + tied_in_words(facts.get("tied", {}))


def cells(result: StudyResult, view: View) -> dict[tuple[str, str], Cell]:
    """Printed cells by (ranker, measure)."""
    spec = f".{view.digits}f"
    return {
        (row["ranker"], row["measure"]): Cell(
            text=number(row["mean"], spec),
            spread="" if pd.isna(row["sd"]) else f"± {number(row['sd'], spec)}",
            marks=row["marks"],
            best=bool(row["best"]),
        )
        for row in marked_means(result, view).to_dict("records")
    }


def table(result: StudyResult, view: View) -> Table:
    """Printed table: best in bold, marks, groups, and notes on their meaning."""
    printed, measures = cells(result, view), view.measures
    labels, groups = rankers_of(result), result.facts["groups"]
    failed = dict.fromkeys(result.facts.get("failed", {}), AGAIN)
    texts = {
        measure: [printed.get((label, measure), Cell("failed")) for label in (*labels, *failed)]
        for measure in measures
    }
    headed = zip(measures, heads(measures), strict=True)
    columns = [
        tables.RANKER,
        *(tables.Column(measure, head, tables.VALUE) for measure, head in headed),
    ]
    notes = table_notes(result, view)
    tuned = tuned_in_words(result.facts)
    names = [f"{label} {tuned.get(label, '')}".rstrip() for label in (*labels, *failed)]
    frame = pd.DataFrame({"ranker": names, **texts})
    headings = [groups[label] for label in labels] + list(failed.values())
    return Table(frame, columns, "", notes, headings)


def markdown(result: StudyResult, measures: Sequence[str], baselines: Sequence[str]) -> str:
    """Table in Markdown, with its notes below."""
    return table_text.markdown(table(result, View(measures, baselines=baselines)))
