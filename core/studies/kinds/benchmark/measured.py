"""A stored benchmark under measures that do not follow from its values: measured from its scores.

The scores of every row, seed and fold are stored with the table; with the labels they give any
measure under any convention, and no ranker is asked again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from safetensors.numpy import load_file

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.conventions import derivable
from shuffleproof.core.studies.kinds.benchmark.outside_runs import as_ranked
from shuffleproof.core.studies.kinds.benchmark.retrieved import judged_by
from shuffleproof.core.studies.kinds.benchmark.run_commands import is_of_runs
from shuffleproof.core.studies.kinds.benchmark.runs import lists_of, made_on
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.result import StudyResult


def with_measures(
    result: StudyResult, study: Path, measures: Sequence[str], store: Store
) -> StudyResult:
    """The benchmark with the values of these measures; as it is where they follow from them.

    Args:
        result: the benchmark.
        study: its directory.
        measures: as text.
        store: where its data is kept.

    Raises:
        DataError: the data is not stored any more, or lacks what a convention needs.
    """
    more = tuple(
        str(Measure.parse(text).under(empty="skip"))
        for text in measures
        if not derivable(text, result.stored)
    )
    if not more:
        return result
    parsed = [Measure.parse(text) for text in dict.fromkeys(more)]
    rows = list(result.trials[["ranker", "draw"]].itertuples(index=False, name=None))
    answers = _of_files(study, result, rows) if is_of_runs(result.recipe) else _of_folds(
        study, made_on(result.facts, store), rows
    )  # fmt: skip
    values = np.stack(
        [np.concatenate([evaluate(parsed, *own) for own in row], axis=1) for row in answers]
    )
    stored = [*result.stored, *map(str, parsed)]
    return replace(
        result,
        recipe=dict(result.recipe) | {"stored": stored},
        values=np.concatenate([result.values, values], axis=1),
    )


_Answer: TypeAlias = tuple[RankingDataset, CandidateLists, Float[np.ndarray, " candidates"]]
_Rows: TypeAlias = Sequence[tuple[str, int]]


def _of_folds(study: Path, folds: Sequence[Fold], rows: _Rows) -> Iterator[list[_Answer]]:
    """The lists and scores of every row, fold by fold."""
    arrays = load_file(study / RUNS)
    lists = [
        lists_of(arrays[f"rows/{part}"], arrays[f"offsets/{part}"]) for part in range(len(folds))
    ]
    for ranker, draw in rows:
        yield [
            (fold.test, lists[part], arrays[f"scores/{ranker}/{draw}/{part}"])
            for part, fold in enumerate(folds)
        ]


def _of_files(study: Path, result: StudyResult, rows: _Rows) -> Iterator[list[_Answer]]:
    """What every run from a file retrieved."""
    dataset, arrays = judged_by(study, result.query_ids)
    for run, _ in rows:
        lists = lists_of(arrays[f"rows/{run}"], arrays[f"offsets/{run}"])
        yield [(dataset, lists, as_ranked(lists, arrays[f"scores/{run}"]))]
