"""LambdaMART next to LightGBM alone, RankSVM next to scikit-learn's LinearSVC."""

import lightgbm
import numpy as np

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec, threads
from shuffleproof.core.rankers.linear.fit import RankSVMSpec
from shuffleproof.core.seeds import generator
from tests.bench.row import Row, interleave

FEATURES = 136  # as MSLR-WEB30K has


def graded_lists(part: str, lengths: np.ndarray) -> JudgedLists:
    """Seeded lists whose grades 0 to 4 follow three of the features."""
    draws = generator(0, "bench lambdamart", part)
    features = draws.standard_normal((int(lengths.sum()), FEATURES), dtype=np.float32)
    useful = features[:, 0] + features[:, 1] * features[:, 2] + draws.normal(size=len(features))
    dataset = RankingDataset(
        features,
        np.clip(np.floor(useful), 0, 4).astype(np.float32),
        offsets_of(lengths),
        tuple(f"{part}{query}" for query in range(len(lengths))),
        tuple(range(1, FEATURES + 1)),
    )
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def lambdamart(*, quick: bool) -> list[Row]:
    """Our whole fit with early stopping, and `lightgbm.train` with the same parameters."""
    queries, trees = (60, 30) if quick else (350, 150)
    lengths = generator(0, "bench lengths").integers(20, 141, queries)
    train, valid = (graded_lists(part, lengths) for part in ("train", "valid"))
    spec = LambdaMARTSpec(trees=trees, patience=trees)  # evaluates each tree, never stops early
    seconds, peer = interleave(
        lambda: run_to_end(spec.fit(train, valid)),
        lambda: train_with_lightgbm(spec, train, valid),
        repeats=5,
    )
    note = f"{len(train.lists.rows)} documents, {FEATURES} features, {trees} trees"
    return [Row("train LambdaMART", seconds, peer, "lightgbm.train", 1 / 1.05, note)]


def train_with_lightgbm(
    spec: LambdaMARTSpec, train: JudgedLists, valid: JudgedLists
) -> lightgbm.Booster:
    """LightGBM alone: rows in file order, the parameters and threads of our fit."""
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
    fitted, held = (
        lightgbm.Dataset(part.dataset.features, part.dataset.labels, group=part.lists.lengths)
        for part in (train, valid)
    )
    held.set_reference(fitted)
    stopping = lightgbm.early_stopping(spec.patience or 0, verbose=False)
    return lightgbm.train(settings, fitted, spec.trees, valid_sets=[held], callbacks=[stopping])


def ranksvm(*, quick: bool) -> list[Row]:
    """A fit over all pairs, and LinearSVC on the explicit pairs to the same objective."""
    from sklearn.svm import LinearSVC

    queries = 10 if quick else 40
    lists = graded_lists("svm", np.full(queries, 120))
    spec = RankSVMSpec(normalisation="z-score")
    ranker = run_to_end(spec.fit(lists, lists))
    seen = ranker.normalisation.apply(lists.dataset.features, lists.dataset.offsets)
    better, worse = explicit_pairs(lists.dataset)
    # LinearSVC needs two classes: every second difference is turned round.
    signs = np.where(np.arange(len(better)) % 2, -1.0, 1.0)
    differences = (seen[better].astype(np.float64) - seen[worse]) * signs[:, None]
    cost = spec.cost / queries
    peer = LinearSVC(C=cost, fit_intercept=False, dual=False, tol=1e-4, max_iter=1000)
    peer.fit(differences, signs)

    def objective(weights: np.ndarray) -> float:
        lost = np.maximum(0.0, 1.0 - (differences @ weights) * signs)
        return float(0.5 * weights @ weights + cost * (lost @ lost))

    assert objective(ranker.weights) <= objective(peer.coef_[0]) * (1 + 1e-6)
    seconds, theirs = interleave(
        lambda: run_to_end(spec.fit(lists, lists)),
        lambda: peer.fit(differences, signs),
        repeats=2,
    )
    note = f"{queries} queries × 120 × {FEATURES}, {len(better)} pairs"
    return [Row("train RankSVM", seconds, theirs, "LinearSVC on explicit pairs", 20.0, note)]


def explicit_pairs(dataset: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the better and of the worse document of every pair of unequal grades."""
    pairs = []
    for first, end in zip(dataset.offsets, dataset.offsets[1:], strict=False):
        grades = dataset.labels[first:end]
        pairs.append(np.argwhere(grades[:, None] > grades[None, :]) + first)
    return tuple(np.concatenate(pairs).T)
