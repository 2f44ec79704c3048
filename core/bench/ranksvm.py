"""Bench job `ranksvm`: all pairs never materialised, beside scikit-learn's LinearSVC on them."""

import sys
from collections.abc import Callable
from contextlib import suppress
from subprocess import PIPE, Popen
from time import sleep

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.canonical import CanonicalLists
from shuffleproof.core.rankers.linear.fit import LinearRanker, RankSVMSpec
from shuffleproof.core.rankers.linear.pairs import PairedLists
from shuffleproof.core.rankers.linear.products import column_sums, row_sums
from shuffleproof.core.seeds import generator

DOCUMENTS, FEATURES = 120, 136
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # as MSLR's
FIT_FLOOR, MEMORY_FLOOR, EVALUATION_FLOOR = 20.0, 10.0, 1 / 3
SPEC = RankSVMSpec(normalisation="z-score")


def ranksvm(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """A fit at equal objective, its memory, and one evaluation beside its two matrix products."""
    few, many = (10, 200) if quick else (40, 1000)
    return [_fit_row(few, many), _memory_row(many), *_evaluation_rows(many)]


def graded_lists(queries: int) -> JudgedLists:
    """Seeded lists of 120 documents whose grades follow a noisy sum of features."""
    draws = generator(0, "bench ranksvm")
    features = draws.standard_normal((queries * DOCUMENTS, FEATURES), dtype=np.float32)
    useful = features[:, :20] @ np.linspace(1, 0.1, 20, dtype=np.float32)
    useful += 2 * draws.standard_normal(len(useful), dtype=np.float32)
    bounds = np.quantile(useful, np.cumsum(GRADES)[:-1])
    dataset = RankingDataset(
        features,
        np.searchsorted(bounds, useful).astype(np.float32),
        np.arange(queries + 1, dtype=np.int64) * DOCUMENTS,
        tuple(f"q{query}" for query in range(queries)),
        tuple(range(1, FEATURES + 1)),
    )
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def fit_to_end(lists: JudgedLists) -> LinearRanker:
    """Our whole fit: canonical order, normalisation, Newton steps."""
    return run_to_end(SPEC.fit(lists, lists))


def _fit_row(queries: int, many: int) -> BenchRow:
    from sklearn.svm import LinearSVC  # noqa: PLC0415 (a development dependency, used here alone)

    lists = graded_lists(queries)
    ranker = fit_to_end(lists)
    seen = ranker.normalisation.apply(lists.dataset.features, lists.dataset.offsets)
    better, worse = explicit_pairs(lists.dataset)
    signs = np.where(np.arange(len(better)) % 2, -1.0, 1.0)
    differences = (seen[better].astype(np.float64) - seen[worse]) * signs[:, None]
    cost = SPEC.cost / queries
    peer = LinearSVC(C=cost, fit_intercept=False, dual=False, tol=1e-4, max_iter=1000)
    peer.fit(differences, signs)

    def objective(weights: Float64[np.ndarray, " features"]) -> float:
        lost = np.maximum(0.0, 1.0 - (differences @ weights) * signs)
        return float(0.5 * weights @ weights + cost * (lost @ lost))

    ours, theirs = objective(ranker.weights), objective(peer.coef_[0])
    if ours > theirs * (1 + 1e-6):
        raise AssertionError(f"our objective is {ours:.9g}, LinearSVC's {theirs:.9g}")
    whole = graded_lists(many)
    mine, pairwise, larger = interleave(
        lambda: fit_to_end(lists),
        lambda: peer.fit(differences, signs),
        lambda: fit_to_end(whole),
        repeats=2,
    )
    note = (
        f"{queries} queries × {DOCUMENTS} × {FEATURES}, {len(better)} pairs ({many} queries have "
        f"too many for LinearSVC's memory) given to it, its fit timed; objective {ours:.6g} "
        f"against {theirs:.6g}; ours on {many} queries: {larger:.2f} s"
    )
    return comparison_row(
        "ranksvm fit", (mine, pairwise), "LinearSVC on explicit pairs", FIT_FLOOR, note
    )


def explicit_pairs(
    dataset: RankingDataset,
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """The rows of the better and of the worse document of every pair of unequal grades."""
    by_query = []
    for start in dataset.offsets[:-1].tolist():
        grades = dataset.labels[start : start + DOCUMENTS]
        by_query.append(np.argwhere(grades[:, None] > grades[None, :]) + start)
    pairs = np.concatenate(by_query)
    return pairs[:, 0], pairs[:, 1]


def fit_on_signal(queries: int) -> None:
    """A fit in a process whose memory is watched: says when the data is there, waits for a line."""
    fit_to_end(graded_lists(2))
    lists = graded_lists(queries)
    print("ready", flush=True)
    sys.stdin.readline()
    fit_to_end(lists)


def fit_bytes(queries: int) -> int:
    """The peak of a fit's memory beside the data and the libraries, sampled every millisecond."""
    import psutil  # noqa: PLC0415 (a development dependency, used here alone)

    program = "from shuffleproof.core.bench.ranksvm import fit_on_signal\n"
    program += f"fit_on_signal({queries})"
    command = [sys.executable, "-c", program]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as child:
        if child.stdin is None or child.stdout is None or child.stdout.readline() != "ready\n":
            raise AssertionError("the fit to be measured did not start")
        watched = psutil.Process(child.pid)
        before = peak = watched.memory_info().rss
        child.stdin.write("go\n")
        child.stdin.close()
        while child.poll() is None:
            with suppress(psutil.Error):  # it may have ended since
                peak = max(peak, watched.memory_info().rss)
            sleep(0.001)
    return peak - before


def _memory_row(queries: int) -> BenchRow:
    ours = fit_bytes(queries)
    pairs = len(explicit_pairs(graded_lists(queries).dataset)[0])
    peer = pairs * FEATURES * 8
    note = (
        f"{queries} queries × {DOCUMENTS} × {FEATURES}: peak of our whole fit beside the data; for "
        f"LinearSVC the {pairs} explicit pairs alone in float64, without its own copy of them"
    )
    return BenchRow(
        "ranksvm memory, bytes", ours, peer, "explicit pairs", peer / ours, MEMORY_FLOOR, note=note
    )


def _evaluation_rows(queries: int) -> list[BenchRow]:
    """One evaluation beside its products by all threads of BLAS, and by one as ours has."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (of scikit-learn, used here alone)

    lists = graded_lists(queries)
    ranker = fit_to_end(lists)
    canonical = CanonicalLists.of(lists)
    matrix = ranker.normalisation.apply(canonical.features, lists.dataset.offsets)
    pairs = SPEC.pairs(canonical, SPEC.cost)
    narrow = ranker.weights.astype(np.float32)
    by_document = np.ones(len(matrix), dtype=np.float32)

    def products() -> tuple[np.ndarray, np.ndarray]:
        return matrix @ narrow, by_document @ matrix

    def products_of_one_thread() -> None:
        with threadpool_limits(1):
            products()

    ours, *peers = interleave(
        lambda: loss_and_gradient(matrix, pairs, ranker.weights), products, products_of_one_thread,
        repeats=15,
    )  # fmt: skip
    note = f"{queries} queries × {DOCUMENTS} × {FEATURES}, loss and gradient over all pairs"
    names = ("the two matrix products, BLAS float32", "the same products by one thread, as ours")
    return [
        comparison_row("ranksvm evaluation", (ours, peer), name, EVALUATION_FLOOR, note)
        for peer, name in zip(peers, names, strict=True)
    ]


def loss_and_gradient(
    matrix: Float32[np.ndarray, "docs features"],
    pairs: PairedLists,
    weights: Float64[np.ndarray, " features"],
) -> tuple[float, Float64[np.ndarray, " features"]]:
    """The loss over all pairs and its gradient."""
    point = pairs.at(row_sums(matrix, weights))
    return point.loss, column_sums(matrix, point.gradient)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"ranksvm": ranksvm}
