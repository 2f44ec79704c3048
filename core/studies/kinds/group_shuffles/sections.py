"""Sections of a study of GSF's shuffles: picture, convention, errors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.metrics.significance import bootstrap_intervals
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import DEGRADES, FAILS, INCONCLUSIVE
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.kinds.group_shuffles.study import MEASURES, REFERENCE, SAMPLED
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted


def headline(result: StudyResult, view: View) -> Headline:
    """Agreement of rankings under two input orders, for the ranker that changes most."""
    frame = table(result)
    sampled = frame[(frame["grouping"] == SAMPLED) & frame["tau"].notna()]
    sampled = sampled[sampled["ranker"].isin(view.compared_labels(dict.fromkeys(frame["ranker"])))]
    if sampled.empty:
        return Headline("No list has scores that differ.", INCONCLUSIVE)
    few, many = (sampled["shuffles"].agg(end) for end in ("min", "max"))
    worst = sampled.loc[sampled.loc[sampled["shuffles"] == few, "tau"].idxmin()]
    name = RankerName.of(str(worst["ranker"])).display
    of_ranker = sampled[(sampled["ranker"] == worst["ranker"]) & (sampled["shuffles"] == many)]
    text = f"{name}'s rankings of two orders agree by τ {worst['tau']:.2f} with "
    text += counted(int(few), "shuffle")
    if many > few:
        text += f", {of_ranker['tau'].iloc[0]:.2f} with {int(many)}"
    return Headline(f"{text}.", DEGRADES if worst["tau"] >= ALIKE else FAILS, TIER)


ALIKE = 0.9
TIER = f"rankings of two input orders: degrades from τ = {ALIKE} on, fails below (our choice)"


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    frame = table(result)
    yield Picture("group shuffles", (frame,))
    yield Convention(ERROR)
    yield Table(frame, COLUMNS, "Equivariance error of every ranker by the number of shuffles")


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {"table": records(table(result)), "said": ERROR}


ERROR = (
    "The trained network scores groups from S shuffles of each list. Error: root mean square "
    "change of a document's score when its list is shown in another order, divided by the "
    f"deviation of that list's scores under {REFERENCE} shuffles"
)
COLUMNS = (
    tables.RANKER,
    tables.Column("grouping", "Groups"),
    tables.Column("shuffles", "S", tables.COUNT, "Shuffles; 0: all pairs."),
    tables.Column(
        "error",
        "Error",
        tables.SHORT,
        "Root mean square change of a score, in its list's deviation.",
    ),
    *tables.bounds(spec=tables.SHORT),
    tables.Column("tau", "τ", tables.TAU, "Kendall τ-b, ranking before and after."),
    tables.Column("seconds", "seconds", ".1f", "Of scoring, on this machine."),
    tables.Column("lists", "Lists", tables.COUNT, "Those whose scores differ."),
)


def table(result: StudyResult) -> pd.DataFrame:
    """Effect of other input orders: COLUMNS, one row per ranker and way to form groups.

    Errors and τ are means over orders and over the lists with a deviation above 0; a single list
    has no interval.
    """
    names = {"family": "grouping", "level": "shuffles"}
    frames = []
    for ranker, trials in result.trials.groupby("ranker", sort=False):
        errors, taus = _errors(result, str(ranker))
        low, high = np.full((2, len(errors)), np.nan)
        if errors.shape[1] > 1:
            low, high = bootstrap_intervals(errors, generator(0, GroupShuffles.kind, "error"))
        frames.append(
            trials.rename(columns=names).assign(
                error=[known_mean(of_lists) for of_lists in errors],
                low=low,
                high=high,
                tau=[known_mean(of_lists) for of_lists in taus],
                lists=errors.shape[1],
            )
        )
    frame = pd.concat(frames, ignore_index=True).astype({"shuffles": int})
    return frame[tables.keys(COLUMNS)]


def _errors(
    result: StudyResult, ranker: str
) -> tuple[Float64[np.ndarray, "ways lists"], Float64[np.ndarray, "ways lists"]]:
    """Errors and τ of every way to form groups, for lists with differing reference scores."""
    rows = np.flatnonzero((result.trials.ranker == ranker).to_numpy())
    block = np.asarray(result.values[rows], dtype=np.float64)
    trials = result.trials.iloc[rows]
    levels = np.where((trials.family == SAMPLED).to_numpy(), trials.level.to_numpy(), -1.0)
    change, deviation, tau = (block[:, MEASURES.index(name)] for name in MEASURES)
    spread = deviation[int(levels.argmax())]  # the same for all ways, except in old studies
    differing = spread > 0
    return change[:, differing] / spread[differing], tau[:, differing]
