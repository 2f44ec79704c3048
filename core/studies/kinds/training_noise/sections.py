"""Sections of a study of training noise: headline, picture, spreads, differences."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.special import chdtri

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import INCONCLUSIVE, ROBUST, TIE
from shuffleproof.core.studies.kinds.training_noise.study import (
    AS_TRAINED,
    CHANGED,
    COLUMNS,
    QUERIES,
    ROWS,
    SEEDS,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted

ORDER_OF = {ROWS: "row order", QUERIES: "query order", COLUMNS: "column order", SEEDS: "seed"}
ENOUGH = 2.0
TIER = f"difference of two rankers over the spread of row order: tie below {ENOUGH:g} (our choice)"
EXACT = ".4f"  # spreads of trainings are small

METHOD = (
    "Each training changes one source: documents within their queries (rows), the order of queries "
    "(queries), feature columns in training and scoring (columns), or the seed (seeds). "
    "sd: over the trainings of a source, with its 95 % χ² interval. "
    "Spread of a difference: √(sd² + sd²) of both rankers. 0: really trained, nothing changed"
)
COLUMNS_OF_SPREADS = (
    tables.RANKER,
    tables.Column("source", "Shuffled"),
    tables.Column("measure", "Measure", detail=True),
    tables.Column("mean", "Mean", EXACT, "Over the trainings."),
    tables.Column("sd", "sd", EXACT, "Over the trainings."),
    *tables.bounds(spec=EXACT, words="95 % interval of sd (χ²)."),
    tables.Column("range", "Range", EXACT, "Largest minus smallest value."),
    tables.Column("changed", "Top 10 changed", tables.SHARE, "Mean share of the first 10 documents "
                  "that leave them, compared with the ranker as trained."),
    tables.Column("n", "Trainings", tables.COUNT),
)  # fmt: skip
COLUMNS_OF_DIFFERENCES = (
    tables.RANKER,
    tables.Column("other", "Other", tables.NAME),
    *COLUMNS_OF_SPREADS[1:3],
    tables.Column("difference", "Difference", "+.4f", "Of their means over the trainings."),
    tables.Column("spread", "Spread", EXACT, "√(sd² + sd²) of both."),
    tables.Column("times", "Times", ".1f", "Difference in spreads; none: no spread."),
)


def headline(result: StudyResult, view: View) -> Headline:
    """Spread of row order of the ranker that it changes most, and its closest difference."""
    measure = view.measure(result)
    frame = spreads(result, [measure])
    compared = frame["ranker"].isin(view.compared_labels(dict.fromkeys(frame["ranker"])))
    frame = frame[compared & (frame["n"] > 1)]
    if frame.empty:
        return Headline("Too few trainings are done.", INCONCLUSIVE, TIER)
    moving = frame[frame["sd"] > 0]
    name = Measure.parse(measure).without_conventions
    if moving.empty:
        order = f"No order of rows, queries or columns and no seed changed {name}"
        trainings = counted(int(frame["n"].min()), "training")
        return Headline(f"{order} ({trainings} each).", ROBUST, TIER)
    source = min(moving["source"], key=[*ORDER_OF].index)
    of_source = frame[frame["source"] == source]
    worst = of_source.sort_values("sd", kind="stable").iloc[-1]
    text = f"Another {ORDER_OF[source]} changes {name} of {_name(worst['ranker'])}"
    text += f" by sd {worst['sd']:.4f} (range {worst['range']:.4f}, {worst['n']} trainings)"
    pairs = differences(of_source)
    pairs = pairs[(pairs[["ranker", "other"]] == worst["ranker"]).any(axis=1)]
    if pairs.empty:
        return Headline(f"{text}.", INCONCLUSIVE, "one ranker alone: nothing to compare with")
    closest = pairs.sort_values("times", kind="stable").iloc[0]
    other = closest["other" if closest["ranker"] == worst["ranker"] else "ranker"]
    text += f"; the difference to {_name(other)} is {closest['times']:.1f} times the spread."
    return Headline(text, TIE if closest["times"] < ENOUGH else ROBUST, TIER)


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure, measures = view.measure(result), [*(view.measures or result.measures)]
    frame = spreads(result, measures)
    pairs = differences(frame)
    yield Picture("training noise", lambda: (points(result, measure), measure))
    yield Convention.of(measure, result.facts["queries"], METHOD)
    if len(frame):  # of a study stopped before its first changed training, nothing is known
        yield tables.Table(frame, COLUMNS_OF_SPREADS, "Spread over trainings by ranker and source")
    if len(pairs):
        yield tables.Table(
            pairs, COLUMNS_OF_DIFFERENCES, "Differences of rankers and the spread of trainings"
        )


def answer(result: StudyResult, view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    frame = spreads(result, [*(view.measures or result.measures)])
    return {"rows": records(frame), "differences": records(differences(frame)), "said": METHOD}


def points(result: StudyResult, measure: str) -> pd.DataFrame:
    """Mean over queries of every training: ranker, source, draw and value."""
    rows = [
        (ranker, source, draw, value)
        for ranker, source, _ in result.points
        for draw, value in enumerate(_means(result, ranker, source, measure))
    ]
    return pd.DataFrame(rows, columns=["ranker", "source", "draw", "value"])


def spreads(result: StudyResult, measures: Sequence[str]) -> pd.DataFrame:
    """Spread over the trainings: one row per ranker, source and measure (COLUMNS_OF_SPREADS)."""
    rows = []
    for ranker, source, level in result.points:
        if source == AS_TRAINED:
            continue
        changed = float(np.nanmean(result.draws(ranker, source, level, CHANGED)))
        for measure in measures:
            values = _means(result, ranker, source, measure)
            extent, n = float(np.ptp(values)), len(values)
            # Rounding of the mean would give equal values a spread
            sd = float(values.std(ddof=1)) if extent else (0.0 if n > 1 else np.nan)
            # (n − 1) s² / σ² has n − 1 degrees of freedom where values are normal
            low, high = sd * np.sqrt((n - 1) / chdtri(n - 1, [0.025, 0.975]))
            row = (ranker, source, measure, values.mean(), sd, low, high, extent)
            rows.append((*row, changed, n))
    return pd.DataFrame(rows, columns=tables.keys(COLUMNS_OF_SPREADS))


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Differences of two rankers and the spread of trainings (COLUMNS_OF_DIFFERENCES).

    Args:
        frame: of `spreads`.

    >>> rows = [("a", "rows", "RR", 0.5, 0.03), ("b", "rows", "RR", 0.4, 0.04)]
    >>> frame = pd.DataFrame(rows, columns=["ranker", "source", "measure", "mean", "sd"])
    >>> differences(frame)[["difference", "spread", "times"]].round(3).to_numpy().tolist()
    [[0.1, 0.05, 2.0]]
    """
    rows = []
    for (source, measure), group in frame.groupby(["source", "measure"], sort=False):
        rankers: list[Any] = [*group.itertuples()]
        for one, other in combinations(rankers, 2):
            difference, spread = one.mean - other.mean, float(np.hypot(one.sd, other.sd))
            times = abs(difference) / spread if spread else np.nan
            rows.append((one.ranker, other.ranker, source, measure, difference, spread, times))
    return pd.DataFrame(rows, columns=tables.keys(COLUMNS_OF_DIFFERENCES))


def _means(
    result: StudyResult, ranker: str, source: str, measure: str
) -> Float64[np.ndarray, " draws"]:
    values = result.draws(ranker, source, 0.0, measure)
    return np.array([mean_of(Measure.parse(measure), one) for one in values], dtype=np.float64)


def _name(label: Any) -> str:
    return RankerName.of(str(label)).display
