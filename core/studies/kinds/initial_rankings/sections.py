"""Sections of a study of initial rankings: headline, picture, claim, table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.metrics.measure import Measure, is_share
from shuffleproof.core.metrics.significance import bootstrap_intervals
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import headline as of_losses
from shuffleproof.core.studies.headline import losses
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import NONE, TRAINED
from shuffleproof.core.studies.paired_differences import (
    ADJUSTED,
    Verdict,
    mean_differences,
    rising_verdict,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Finding, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table


def headline(result: StudyResult, view: View) -> Headline:
    """Largest and smallest loss of the rankers by an omission or exchange."""
    measure, points = view.measure(result), _points(result)
    labels = view.compared_labels(dict.fromkeys(label for label, _ in points))
    values = {
        (label, _reading(condition)): (
            _values(result, label, TRAINED, measure),
            _values(result, label, condition, measure),
        )
        for label, condition in points
        if label in labels and condition != TRAINED
    }
    return of_losses(losses(values))


def _reading(condition: str) -> str:
    """Condition, worded as the end of a sentence.

    >>> _reading(NONE), _reading("random for mart"), _reading("without mart")
    ('without any initial ranking', 'reading random instead', 'without mart')
    """
    if condition == NONE:
        return "without any initial ranking"
    replacement, exchanged, _ = condition.partition(" for ")
    return f"reading {replacement} instead" if exchanged else condition


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure = view.measure(result)
    frame = table(result, measure)
    readers = frame[~frame["ranker"].map(lambda label: RankerName.of(label).is_initial)]
    yield Picture("conditions", (readers, measure), title="Mean")
    changed = readers[readers["ranker"].isin(readers.loc[readers["change"].notna(), "ranker"])]
    if len(changed):
        yield Picture("conditions", (changed, measure, "change"), title="Change")
    yield Finding(claim_text(claim(result, measure)))
    yield Convention.of(measure, result.facts["queries"], "95 % intervals over queries")
    yield Table(frame, COLUMNS, f"{measure} of every ranker under every condition")


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    measure = str(result.measures[0])
    verdict = claim(result, measure)
    steps = {"word": verdict.word, "steps": records(verdict.steps)} if verdict else None
    return {
        "table": records(table(result, measure)),
        "claim": steps,
        "finding": headline(result, View()).text,
        "convention": Measure.parse(measure).convention(),
    }


COLUMNS = (
    tables.RANKER,
    tables.Column("condition", "Reads", tables.NAME),
    tables.Column("mean", "Mean", tables.VALUE),
    *tables.bounds(),
    tables.Column("change", "− as trained", tables.CHANGE),
    *tables.bounds("change_low", "change_high", tables.CHANGE, ADJUSTED),
    tables.Column("change_p", "p", tables.P, "Paired t, Holm over all changes."),
    tables.QUERIES,
)


def table(result: StudyResult, measure: str) -> pd.DataFrame:
    """COLUMNS, one row per ranker and condition; a ranker as trained has no change."""
    points = _points(result)
    frame = pd.DataFrame(points, columns=["ranker", "condition"])
    values = np.stack([_values(result, *point, measure) for point in points])
    as_trained = [points.index((label, TRAINED)) for label, _ in points]
    changes = values - values[as_trained]
    changes[frame["condition"] == TRAINED] = np.nan
    low, high = bootstrap_intervals(values, generator(0, "table"), shares=is_share(measure))
    tested = mean_differences(changes).drop(columns="n").add_prefix("change_")
    means = [known_mean(row) for row in values]
    frame = frame.assign(mean=means, low=low, high=high, n=(~np.isnan(values)).sum(axis=1))
    return frame.join(tested.rename(columns={"change_mean": "change"}))[tables.keys(COLUMNS)]


def claim(result: StudyResult, measure: str) -> Verdict | None:
    """Verdict on the paper's Table 4: one initial ranking beats none, and many beat one.

    None if a ranker of the claim is missing.
    """
    ordered = []
    for name in InitialRankings.rankers:
        labels = (label for label, _ in _points(result) if RankerName.of(label).base == name)
        label = next(labels, None)
        if label is None:
            return None
        ordered.append((label, _values(result, label, TRAINED, measure)))
    return rising_verdict(ordered)


def claim_text(verdict: Verdict | None) -> str:
    """The paper's claim and its verdict in a sentence; empty if it is not tested."""
    claimed = "many initial rankings beat one and one beats none"
    return "" if verdict is None else f"The paper's claim that {claimed} {verdict.text}"


def _points(result: StudyResult) -> list[tuple[str, str]]:
    """Rankers and conditions, in the study's order."""
    return [(ranker, condition) for ranker, condition, _ in result.points]


def _values(
    result: StudyResult, label: str, condition: str, measure: str
) -> Float64[np.ndarray, " queries"]:
    return result.per_query(label, condition, 0.0, measure).astype(np.float64)
