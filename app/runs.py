"""The trained rankers of a data set as runs: seeds in one row, and two rows query by query."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shuffleproof.app import benchmarks, scoring, services, training
from shuffleproof.core.experiment.trainings import FitSize
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import number_names, with_display_names
from shuffleproof.core.studies.conventions import derivable, derive_values
from shuffleproof.core.studies.paired_differences import paired_rows
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import interval, p_value

MEASURE = "NDCG@10"
JOINT = "+"
"""Between the keys of a run's trainings where an address names it."""


def table(trained: pd.DataFrame, tested: dict[str, float]) -> pd.DataFrame:
    """Rankers that differ in their seed alone as one row, the newest first.

    Args:
        trained: as `training.trained`.
        tested: a value on the test part by key, where a stored benchmark has it.

    Returns:
        Beside the columns of `trained`: seeds, valid and test (means), valid_sd and test_sd
        (n - 1; NaN for one seed), seconds (mean), and `keys`, of all trainings.
    """
    frame = trained.assign(test=trained["key"].map(tested).astype(float))
    rows = []
    for _, seeds in frame.groupby("alike", sort=False):
        folded = seeds.iloc[0].to_dict() | {"seeds": len(seeds), "keys": JOINT.join(seeds["key"])}
        for name in ("valid", "test", "seconds"):
            values = seeds[name].astype(float)
            folded |= {name: values.mean(), f"{name}_sd": values.std()}
        rows.append(folded)
    return pd.DataFrame(rows)


@services.until_stored()
def tested_rankers(data: str) -> dict[str, float]:
    """NDCG@10 on the test part of every ranker that a stored benchmark measured, by key.

    Of several benchmarks the oldest counts, which no later one replaces.
    """
    means: dict[str, float] = {}
    for artefact in sorted(benchmarks.stored_benchmarks(data).values(), key=services.arrival_order):
        result = StudyResult.open(artefact.path)
        if (
            not derivable(MEASURE, result.stored_measures)
            or len(artefact.facts.get("folds", ())) > 1
        ):
            continue
        values = derive_values(MEASURE, result.stored_measures, result.values)
        for keys, of_row in zip(result.trials["artefacts"], values, strict=True):
            if np.isfinite(of_row).any():
                means.setdefault(str(keys), float(np.nanmean(of_row)))
    return means


@dataclass(frozen=True)
class RunComparison:
    """Two runs on the test lists.

    Attributes:
        names: of both, no two alike.
        queries: query, first, second and difference (first - second), the most different first.
        difference: the mean of the differences.
        low: of its 95 % interval (paired t).
        high: likewise.
        p: of the paired t test, two-sided.
        lists: how the lists were made.
    """

    names: tuple[str, str]
    queries: pd.DataFrame
    difference: float
    low: float
    high: float
    p: float
    lists: ListRecipe

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        first, second = self.names
        low, high = self.low, self.high
        if self.difference < 0:  # told of the better one
            first, second, low, high = second, first, -high, -low
        tested = f"95 % interval {interval(low, high)}, {p_value(self.p)}"
        apart = f"{abs(self.difference):.3f} {MEASURE}"
        if not self.p <= ALPHA:
            return f"{first} and {second} cannot be told apart: {apart} ({tested})"
        return f"{first} is {apart} above {second} ({tested})"


def compare_runs(data: FitSize, runs: pd.DataFrame) -> RunComparison:
    """Score two runs on the same test lists and test their difference, paired by query.

    A run's value of a query is the mean over its seeds. The lists are those that carry the most
    initial rankings of the ones that the two were fitted on, else the data set's usual ones.

    Raises:
        ShuffleproofError: the scoring process has no answer.
    """
    described = scoring.describe(data.data)
    keys = [text.split(JOINT) for text in runs["keys"]]
    fitted = {ranker.key: ranker.lists for ranker in scoring.rankers_of(described)}
    lists = [lists_of for run in keys for key in run if (lists_of := fitted.get(key)) is not None]
    recipe = max(
        lists, key=lambda lists_of: len(lists_of.initial), default=training.usual_lists(data.data)
    )
    answer = scoring.values_of_queries(described, recipe, tuple(key for run in keys for key in run))
    first, second = (np.mean([answer["values"][key] for key in run], axis=0) for run in keys)
    test = paired_rows(pd.DataFrame({"mean": [0.0]}), {0: (first, second)}).iloc[0]
    frame = pd.DataFrame({"query": answer["queries"], "first": first, "second": second})
    frame["difference"] = first - second
    frame = frame.sort_values("difference", key=abs, ascending=False, kind="stable")
    one, other = number_names(map(with_display_names, runs["ranker"]))
    return RunComparison(
        (one, other), frame, test["mean"], test["low"], test["high"], test["p"], recipe
    )  # fmt: skip
