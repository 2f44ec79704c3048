"""Bench job `rankboost`: a thousand rounds beside a thousand of LightGBM's trees of 20 leaves."""

from collections.abc import Callable

import lightgbm

from shuffleproof.core.bench.lambdamart import FEATURES, graded_lists
from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.boosting.fit import RankBoostSpec
from shuffleproof.core.rankers.boosting.trees import threads

FLOOR = 1 / 3


def rankboost(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """Seconds of a whole fit, binning included, and of `lightgbm.train` on the same documents."""
    queries, rounds, repeats = (60, 100, 3) if quick else (350, 1000, 2)
    train = graded_lists("train", queries)
    spec = RankBoostSpec(rounds=rounds)
    seconds = interleave(
        lambda: run_to_end(spec.fit(train, train)),
        lambda: grow_trees(train, rounds),
        repeats=repeats,
    )
    note = f"{queries} queries, {len(train.lists.rows)} documents, {FEATURES} features"
    peer = f"lightgbm.train, lambdarank, {rounds} trees of 20 leaves"
    job = f"rankboost {rounds} rounds"
    return [comparison_row(job, (seconds[0], seconds[1]), peer, FLOOR, note)]


def grow_trees(train: JudgedLists, trees: int) -> lightgbm.Booster:
    """So many trees of 20 leaves with LightGBM alone."""
    features = train.dataset.features
    settings = {
        "objective": "lambdarank",
        "num_leaves": 20,
        "num_threads": threads(features),
        "verbosity": -1,
    }
    learnt = lightgbm.Dataset(features, train.dataset.labels, group=train.lists.lengths)
    return lightgbm.train(settings, learnt, trees)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"rankboost": rankboost}
