"""Trained rankers of a data set as a table, with all seeds of a ranker in one row."""

import numpy as np
import pandas as pd

from shuffleproof.app import benchmarks, services
from shuffleproof.core.studies.conventions import derivable, derive_values
from shuffleproof.core.studies.result import StudyResult

MEASURE = "NDCG@10"


def table(trained: pd.DataFrame, tested: dict[str, float]) -> pd.DataFrame:
    """One row per group of rankers that differ only in their seed, newest first.

    Args:
        trained: table of `training.trained_rankers`.
        tested: value on the test part by key, if a stored benchmark has it.

    Returns:
        The columns of `trained`, and seeds, valid and test (means), valid_sd and test_sd
        (n - 1; NaN for one seed), and seconds (mean).
    """
    frame = trained.assign(test=trained["key"].map(tested).astype(float))
    rows = []
    for _, seeds in frame.groupby("alike", sort=False):
        folded = seeds.iloc[0].to_dict() | {"seeds": len(seeds)}
        for name in ("valid", "test", "seconds"):
            values = seeds[name].astype(float)
            folded |= {name: values.mean(), f"{name}_sd": values.std()}
        rows.append(folded)
    return pd.DataFrame(rows)


@services.until_stored()
def tested_rankers(data: str) -> dict[str, float]:
    """NDCG@10 on the test part of every ranker in a stored benchmark, by key.

    Of several benchmarks the oldest counts, so that later ones do not change the value.
    """
    means: dict[str, float] = {}
    # Oldest first with `setdefault`: later benchmarks do not change a shown value.
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
