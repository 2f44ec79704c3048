"""What an ablation's numbers amount to, in words: which single difference matters, and for what."""

import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ranking_degradation.significance import LEVEL_OF_SIGNIFICANCE
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import signed

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
