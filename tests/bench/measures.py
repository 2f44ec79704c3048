"""NDCG@1, 3, 5, 10 of many lists, next to pytrec_eval on the same scores and labels."""

import numpy as np

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from tests.bench.row import Row, interleave

CUTOFFS = (1, 3, 5, 10)
LENGTH = 120


def ndcg(*, quick: bool) -> list[Row]:
    """6,000 lists of 120 documents; the peer's time includes its dictionaries.

    Gain is linear, the only one that pytrec_eval has.
    """
    import pytrec_eval

    count = 600 if quick else 6_000
    random = np.random.default_rng(0)
    labels = random.choice(5, size=count * LENGTH, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    scores = random.normal(size=count * LENGTH).astype(np.float32)
    dataset = RankingDataset(
        features=np.zeros((count * LENGTH, 0), dtype=np.float32),
        labels=labels.astype(np.float32),
        offsets=np.arange(count + 1, dtype=np.int64) * LENGTH,
        query_ids=tuple(f"q{query}" for query in range(count)),
        feature_ids=(),
    )
    lists = CandidateLists.all_documents(dataset)
    measures = [Measure("NDCG", cutoff, gain="linear", ties="row") for cutoff in CUTOFFS]
    # pytrec_eval ranks tied documents by descending name, ours by row.
    names = [f"d{999_999_999 - row}" for row in range(len(labels))]

    def theirs() -> list[list[float]]:
        qrels, run = {}, {}
        grades, values = labels.tolist(), scores.tolist()
        for query, name in enumerate(dataset.query_ids):
            inside = slice(query * LENGTH, (query + 1) * LENGTH)
            qrels[name] = dict(zip(names[inside], grades[inside], strict=True))
            run[name] = dict(zip(names[inside], values[inside], strict=True))
        cutoffs = ",".join(map(str, CUTOFFS))
        found = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{cutoffs}"}).evaluate(run)
        return [[found[name][f"ndcg_cut_{cut}"] for name in dataset.query_ids] for cut in CUTOFFS]

    def ours() -> np.ndarray:
        return evaluate(measures, dataset, lists, scores)

    np.testing.assert_allclose(ours(), theirs(), atol=1e-5)
    seconds, peer = interleave(ours, theirs, repeats=7)
    return [Row(f"NDCG of {count} × {LENGTH}", seconds, peer, "pytrec_eval", 50.0)]
