"""What a benchmark's numbers amount to, in words: who is best, by how much, and who might be."""

import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.ranking_degradation.significance import LEVEL_OF_SIGNIFICANCE
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import interval, p_value, signed

NAMED = 6
"""Rankers that a sentence names; more are counted."""

CHOSEN = " (it was chosen as best on these same queries, which flatters it)"


def finding(result: StudyResult, measure: str, test: str = "paired t") -> str:
    """One paragraph, written from the numbers.

    Args:
        result: a benchmark, finished or not.
        measure: one that follows from what is stored.
        test: a name of `kinds.ranking_degradation.significance.TESTS`; p is adjusted by Holm.
    """
    means = benchmark_table.means(result, [measure])
    ranked = means[means["group"] != GROUPS[0]].set_index("ranker")["mean"]
    if not len(ranked):
        return "No ranker has been measured yet."
    if ranked.isna().any():
        return (
            "Under this convention the means are undefined: some queries have no relevant document."
        )
    best = str(ranked.idxmax())
    parsed = Measure.parse(measure)
    short = parsed.name if parsed.cutoff is None else f"{parsed.name}@{parsed.cutoff}"
    verb = "is best" if len(ranked) > 1 else "alone was measured"
    text = f"{best} {verb}: {short} {ranked[best]:.3f}{_over_initial(result, measure, test, best)}."
    if len(ranked) == 1:
        return text
    frame = benchmark_table.differences_from(result, measure, best, test)
    return f"{text} {_others(frame[frame['group'] != GROUPS[0]])}"


def _over_initial(result: StudyResult, measure: str, test: str, best: str) -> str:
    """How the best one stands to the initial ranking, and whether that is more than chance."""
    if INITIAL not in benchmark_table.rankers_of(result):
        return ""
    frame = benchmark_table.differences_from(result, measure, INITIAL, test)
    row = next(row for row in frame.to_dict("records") if row["ranker"] == best)
    difference, p = row["difference"], row["p"]
    if not difference:
        return ", as much as the initial ranking"
    bounds = benchmark_table.intervals(result, measure, INITIAL, [best], test)
    low, high = (float(bound[0]) for bound in bounds)
    where = "above" if difference > 0 else "below"
    verdict = "more than chance" if p <= LEVEL_OF_SIGNIFICANCE else "which may be chance"
    return (
        f", {abs(difference):.3f} {where} the initial ranking (95 % interval of the difference "
        f"{interval(low, high)}, {p_value(p)} after Holm's adjustment for {len(frame)} "
        f"comparisons, N = {row['n']}): {verdict}"
    )


def _others(frame: pd.DataFrame) -> str:
    """Which of the others cannot be told from the best, and how far the rest is behind."""
    apart = frame["p"] <= LEVEL_OF_SIGNIFICANCE
    alike, behind = frame[~apart], frame[apart]
    if not len(alike):
        return f"{_all(len(behind))} below it by more than chance{CHOSEN}."
    text = f"It cannot be told apart from {_named(alike)}."
    if len(behind):
        text += f" Below it by more than chance{CHOSEN}: {_named(behind)}."
    return text


def _all(count: int) -> str:
    return "The other one is" if count == 1 else f"All {count} others are"


def _named(frame: pd.DataFrame) -> str:
    ordered = frame.sort_values("difference", ascending=False, kind="stable")
    said = [f"{row['ranker']} ({signed(row['difference'])})" for row in ordered.to_dict("records")]
    if len(said) > NAMED:
        said = [*said[: NAMED - 1], f"{len(said) - NAMED + 1} more"]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
