"""An ablation, told: what each difference does to quality, to robustness and to cost."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.sources import step_of
from shuffleproof.core.studies.kinds.ablation.study import BASE, MEASURE, points
from shuffleproof.core.studies.kinds.ranking_degradation.sections import LEVEL_OF_SIGNIFICANCE
from shuffleproof.core.studies.result import StudyResult, in_words
from shuffleproof.core.studies.result import by_query as changes
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, signed


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = ablation.table(result)
    if len(frame) > 1:
        for effect in ("quality", "robustness"):
            yield Picture("ablation", (frame, effect, ablation.MEASURE, step_of))
    yield Finding(finding(result))
    level = max(level for _, level in result.recipe["perturbations"])
    convention = (
        Measure.parse(ablation.MEASURE).convention(),
        f"N = {counted(result.facts['queries'], 'query')}",
        f"lost: by {counted(int(level), 'transposition')} of the initial ranking",
        "paired t, Holm over the variants",
    )
    yield Convention(" · ".join(convention))
    table = Table(frame, ablation.COLUMNS, f"Variants of {result.facts['ranker']}")
    yield table.without("source")
    sources = [column for column in ablation.COLUMNS if column.key in {"variant", "source"}]
    frame = frame[["variant", "source"]]
    yield Table(frame, sources, "Where each difference comes from", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "table": records(ablation.table(result)),
        "convention": Measure.parse(ablation.MEASURE).convention(),
        "queries": result.facts["queries"],
    }


NAMED = 3
"""Differences that a sentence names; more are counted."""


def finding(result: StudyResult, measure: str = ablation.MEASURE) -> str:
    """One paragraph, written from the numbers.

    Args:
        result: an ablation, finished or not.
        measure: one that follows from what is stored.
    """
    frame = ablation.table(result, measure)
    if not len(frame):
        return "No variant has been measured yet."
    if frame["mean"].isna().any():
        return (
            "Under this convention the means are undefined: some queries have no relevant document."
        )
    parsed = Measure.parse(measure)
    short = parsed.name if parsed.cutoff is None else f"{parsed.name}@{parsed.cutoff}"
    level = result.trials.level.max()
    first = frame.iloc[0]
    text = (
        f"As the {first['variant']} says, {short} is {first['mean']:.3f} and "
        f"{abs(first['loss']):.3f} is {'lost' if first['loss'] >= 0 else 'gained'} by "
        f"{_exchanges(level)} of the initial ranking."
    )
    single = frame["variant"].str.startswith(f"{ablation.BASE} + ")
    for row in frame[~single].iloc[1:].to_dict("records"):
        text += f" {row['variant'].capitalize()} as a whole: {signed(row['change'])}"
        text += f"{_verdict(row['change_p'])}."
    alone = frame[single]
    if not len(alone):
        return text
    moved = _moved(alone, "change", short)
    return f"{text} {moved} {_moved(alone, 'loss_change', 'what is lost')}"


def _exchanges(level: float) -> str:
    return "1 transposition" if level == 1 else f"{level:g} transpositions"


def _verdict(p: float) -> str:
    return " (more than chance)" if p <= LEVEL_OF_SIGNIFICANCE else " (may be chance)"


def _moved(frame: pd.DataFrame, column: str, what: str) -> str:
    """Which differences move a column by more than chance, the largest first."""
    p = frame["change_p" if column == "change" else "loss_p"]
    counted = frame[p <= LEVEL_OF_SIGNIFICANCE]
    if len(frame) == 1:
        alone = f"The single difference, {_label(frame['variant'].iloc[0])},"
        value = f" ({signed(frame[column].iloc[0])})"
        return f"{alone} {'changes' if len(counted) else 'is not shown to change'} {what}{value}."
    of = f"{len(frame)} single differences"
    if not len(counted):
        return f"None of {of} is shown to change {what}."
    ordered = counted.iloc[counted[column].abs().argsort(kind="stable")[::-1]]
    said = [
        f"{_label(row['variant'])} ({signed(row[column])})" for row in ordered.to_dict("records")
    ]
    more = f" and {len(said) - NAMED} more" if len(said) > NAMED else ""
    verb = "changes" if len(said) == 1 else "change"
    return f"{len(said)} of {of} {verb} {what}: {', '.join(said[:NAMED])}{more}."


def _label(variant: str) -> str:
    """What a single difference is.

    >>> _label("paper + loss softmax-ce")
    'loss softmax-ce'
    """
    return variant.removeprefix(f"{ablation.BASE} + ")


Effect = Literal["quality", "robustness"]


def by_query(
    result: StudyResult, variant: str, effect: Effect = "quality", measure: str = MEASURE
) -> pd.DataFrame:
    """A variant beside the first one, query by query, the greatest gain first.

    Args:
        result: an ablation.
        variant: its label.
        effect: the measure as it is, or what the highest level leaves of it (its negative loss, so
            that more is better in both).
        measure: one that follows from what is stored.

    Returns:
        Columns query, variant, base, difference; queries without a value are left out.
    """
    found = points(result, measure)
    own, first = (_value(found[label], effect) for label in (variant, next(iter(found))))
    frame = changes(
        result.query_ids, ("base", first), ("variant", own), "difference", gains_first=True
    )
    return frame[["query", "variant", "base", "difference"]]


def most_changed(table: pd.DataFrame, effect: Effect = "quality") -> str:
    """The single difference that changes most, chance or not; else the last variant.

    Args:
        table: as `core.studies.kinds.ablation.study.table` makes it.
        effect: quality or robustness.
    """
    column = "change" if effect == "quality" else "loss_change"
    single = table[table["variant"].str.startswith(f"{BASE} + ") & table[column].notna()]
    if single.empty:
        return str(table["variant"].iloc[-1])
    return str(single["variant"].iloc[int(single[column].abs().argmax())])


def query_finding(frame: pd.DataFrame, variant: str, effect: Effect, measure: str) -> str:
    """How many queries gain and lose, and the one that loses most."""
    what = measure if effect == "quality" else f"what disturbance leaves of {measure}"
    return in_words(frame, f"{variant} against {BASE}", what, ("base", "variant"), "difference")


def _value(pair: tuple[np.ndarray, np.ndarray], effect: Effect) -> np.ndarray:
    start, end = pair
    return start if effect == "quality" else end - start
