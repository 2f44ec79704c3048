"""NDCG@1, 3, 5, 10 of many lists at once, beside pytrec_eval on the same scores and labels."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate

CUTOFFS = (1, 3, 5, 10)
FLOOR = 50.0


def ndcg(quick: bool = False) -> list[BenchRow]:  # noqa: FBT001, FBT002 (the signature of every job)
    """6 000 lists of 120 documents (600 when quick); the limit is one NumPy sort of the scores.

    The first row charges pytrec_eval for its dictionaries, as anyone pays for them who has
    arrays; the second leaves them out. Gain is linear, the only one that pytrec_eval has, and
    the values of both are compared before anything is timed.
    """
    lists, length = (600 if quick else 6_000), 120
    dataset, candidates, scores = _case(lists, length)
    measures = [Measure("NDCG", cutoff, gain="linear", ties="row") for cutoff in CUTOFFS]
    theirs = _Peer(dataset, scores, length)
    ours = evaluate(measures, dataset, candidates, scores)
    theirs.build()
    largest = float(np.abs(ours - theirs.values()).max())
    if largest > 1e-5:
        raise AssertionError(f"NDCG differs from pytrec_eval's by {largest:g}")
    matrix = scores.reshape(lists, length)
    mine, built, evaluated, limit = interleave(
        lambda: evaluate(measures, dataset, candidates, scores),
        theirs.build,
        theirs.evaluate,
        lambda: np.sort(matrix, axis=1),
        repeats=7,
    )
    job, note = f"ndcg {lists} × {length}", f"values equal within {largest:.0e}"
    rows = [
        comparison_row(
            job,
            (mine, built + evaluated),
            "pytrec_eval with its dictionaries",
            None if quick else FLOOR,
            note,
        ),
        comparison_row(job, (mine, evaluated), "pytrec_eval, dictionaries given", None, note),
    ]
    return [_with_limit(row, mine, limit) for row in rows]


class _Peer:
    """pytrec_eval on the same judgments and scores."""

    def __init__(
        self, dataset: RankingDataset, scores: Float32[np.ndarray, " docs"], length: int
    ) -> None:
        import pytrec_eval  # noqa: PLC0415 (a development dependency, used by this job alone)

        self._evaluator_of = pytrec_eval.RelevanceEvaluator
        self._dataset, self._scores, self._length = dataset, scores, length
        # pytrec_eval ranks tied documents by falling name: data set rows must fall too.
        self._names = [f"d{999_999_999 - row}" for row in range(dataset.documents)]

    def build(self) -> None:
        """Make the dictionaries of judgments and scores, and the evaluator over the former."""
        qrels: dict[str, dict[str, int]] = {}
        run: dict[str, dict[str, float]] = {}
        labels, scores = self._dataset.labels.astype(int).tolist(), self._scores.tolist()
        for query, name in enumerate(self._dataset.query_ids):
            inside = slice(query * self._length, (query + 1) * self._length)
            qrels[name] = dict(zip(self._names[inside], labels[inside], strict=True))
            run[name] = dict(zip(self._names[inside], scores[inside], strict=True))
        cutoffs = ",".join(str(cutoff) for cutoff in CUTOFFS)
        self._evaluator = self._evaluator_of(qrels, {f"ndcg_cut.{cutoffs}"})
        self._run = run

    def evaluate(self) -> dict[str, dict[str, float]]:
        """Evaluate the dictionaries."""
        values: dict[str, dict[str, float]] = self._evaluator.evaluate(self._run)
        return values

    def values(self) -> Float32[np.ndarray, "measures lists"]:
        """The evaluation as an array like ours."""
        by_query = self.evaluate()
        names = self._dataset.query_ids
        rows = [[by_query[name][f"ndcg_cut_{cutoff}"] for name in names] for cutoff in CUTOFFS]
        return np.array(rows, dtype=np.float32)


def _case(
    lists: int, length: int
) -> tuple[RankingDataset, CandidateLists, Float32[np.ndarray, " docs"]]:
    random = np.random.default_rng(0)
    labels = random.choice(5, size=lists * length, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    dataset = RankingDataset(
        features=np.zeros((lists * length, 0), dtype=np.float32),
        labels=labels.astype(np.float32),
        offsets=np.arange(lists + 1, dtype=np.int64) * length,
        query_ids=tuple(f"q{query}" for query in range(lists)),
        feature_ids=(),
    )
    scores = random.normal(size=lists * length).astype(np.float32)
    return dataset, CandidateLists.all_documents(dataset), scores


def _with_limit(row: BenchRow, ours: float, limit: float) -> BenchRow:
    note = f"{row.note}; limit: one NumPy sort of the same scores"
    return BenchRow(**{**vars(row), "limit": limit, "share_of_limit": limit / ours, "note": note})


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"ndcg": ndcg}
