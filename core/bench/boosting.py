"""Boosting beside LightGBM alone: our whole fit of LambdaMART, and RankBoost's rounds.

LambdaMART's fit has its canonical order included and LightGBM the same parameters; a thousand
rounds of RankBoost stand beside a thousand trees of 20 leaves.
"""

from collections.abc import Callable

import lightgbm
import numpy as np

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.boosting.fit import RankBoostSpec
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec, threads
from shuffleproof.core.seeds import generator

FLOOR = 1 / 1.05
RANKBOOST_FLOOR = 1 / 3
FEATURES = 136  # as MSLR has


def lambdamart(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """Seconds of a fit with early stopping, ours and `lightgbm.train` with the same parameters."""
    queries, trees, repeats = (60, 30, 9) if quick else (350, 150, 7)
    train, valid = (graded_lists(part, queries) for part in ("train", "valid"))
    spec = LambdaMARTSpec(trees=trees, patience=trees)  # counted after each tree, never stopping
    seconds = interleave(
        lambda: run_to_end(spec.fit(train, valid)),
        lambda: raw(spec, train, valid),
        repeats=repeats,
    )
    note = (
        f"{queries} queries, {len(train.lists.rows)} documents, {FEATURES} features, "
        f"{trees} trees of {spec.leaves} leaves, validation NDCG@10 after each, same threads"
    )
    if quick:
        note += "; too short a fit for a floor of a twentieth"
    floor = None if quick else FLOOR
    return [
        comparison_row("lambdamart fit", (seconds[0], seconds[1]), "lightgbm.train", floor, note)
    ]


def graded_lists(part: str, queries: int) -> JudgedLists:
    """Seeded lists of 20 to 140 documents whose grades follow three of the features."""
    draws = generator(0, "bench lambdamart", part)
    lengths = draws.integers(20, 141, queries)
    offsets = np.zeros(queries + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    features = draws.standard_normal((int(offsets[-1]), FEATURES), dtype=np.float32)
    useful = features[:, 0] + features[:, 1] * features[:, 2] + draws.normal(size=len(features))
    labels = np.clip(np.floor(useful), 0, 4).astype(np.float32)
    names = tuple(f"{part}{query}" for query in range(queries))
    dataset = RankingDataset(features, labels, offsets, names, tuple(range(1, FEATURES + 1)))
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def raw(spec: LambdaMARTSpec, train: JudgedLists, valid: JudgedLists) -> lightgbm.Booster:
    """What a person writes with LightGBM alone, rows in file order, the same parameters."""
    settings = {
        "objective": "lambdarank",
        "num_leaves": spec.leaves,
        "learning_rate": spec.learning_rate,
        "min_data_in_leaf": spec.leaf_documents,
        "lambdarank_truncation_level": spec.truncation,
        "max_bin": spec.bins,
        "deterministic": True,
        "force_col_wise": True,
        "metric": "ndcg",
        "eval_at": [10],
        "num_threads": threads(train.dataset.features),
        "verbosity": -1,
    }
    learnt = lightgbm.Dataset(
        train.dataset.features, train.dataset.labels, group=train.lists.lengths
    )
    held = lightgbm.Dataset(
        valid.dataset.features, valid.dataset.labels, group=valid.lists.lengths, reference=learnt
    )
    stopping = lightgbm.early_stopping(spec.patience or 0, verbose=False)
    return lightgbm.train(settings, learnt, spec.trees, valid_sets=[held], callbacks=[stopping])


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
    return [comparison_row(job, (seconds[0], seconds[1]), peer, RANKBOOST_FLOOR, note)]


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


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {
    "lambdamart": lambdamart,
    "rankboost": rankboost,
}
