"""SetRank's Figure 3: 1,000 queries × 40 documents × 20 levels × 10 draws.

Ours is the study as it is run: perturbed lists, scores (reused where the ranker is invariant, with
real permutations as a check), NDCG@10 of every query. The peer is the loop one writes first: one
forward pass for every level, draw and query, then NDCG in NumPy, with the perturbed lists given.
Both see a sample of the queries; the times are scaled up.
"""

import time
from collections.abc import Iterator

import numpy as np
import torch

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.run import measured_by, run_study
from shuffleproof.core.studies.study import Memory, Study
from tests.bench.row import Row

QUERIES, DOCUMENTS, LEVELS, DRAWS, FEATURES = 1000, 40, 20, 10, 46
FORWARDS = 96
MEASURE = "NDCG@10"
CASES = (("setrank-imsab", 80.0, 200), ("setrank-msab-init", 1.8, 12), ("dlcm", 4.0, 20))
"""Ranker, floor, and the queries that ours is timed on."""


def figure3(*, quick: bool) -> Iterator[Row]:
    """Each ranker's study, next to the plain loop."""
    for name, floor, queries in CASES:
        ranker = untrained(name, "small" if quick else "paper")
        base = random_lists(max(2, queries // 5) if quick else queries)
        variants = variants_of(base)
        ours, peers = [], []
        seconds_per_forward(ranker, base, variants)
        for _ in range(3):
            peers.append(seconds_per_forward(ranker, base, variants))
            start = time.perf_counter()
            run_figure(ranker, base)
            ours.append(time.perf_counter() - start)
        yield Row(
            f"Figure 3 of {name}",
            min(ours) * QUERIES / len(base.lists),
            min(peers) * QUERIES * LEVELS * DRAWS,
            "one forward per list, fp32",
            floor,
            f"scaled from {len(base.lists)} queries and {FORWARDS} forwards",
        )


def run_figure(ranker: NeuralRanker, base: JudgedLists) -> None:
    """Run the study in memory."""
    study = Study(
        kind="initial-ranking",
        rankers=((ranker.name, ""),),
        lists="",
        initial=("drawn",),
        perturbations=tuple(("transpositions", float(level)) for level in range(1, LEVELS + 1)),
        measures=(MEASURE,),
        draws=DRAWS,
        seed=3,
    )
    step = measured_by([Measure.parse(MEASURE)])
    run_to_end(run_study(study, base, {ranker.name: ranker}, Memory(), step))


def variants_of(base: JudgedLists) -> list[CandidateLists]:
    """The lists perturbed at every level and draw."""
    return [
        perturbation("transpositions", float(level))(
            base.lists, generator(3, "transpositions", float(level), draw)
        )
        for level in range(1, LEVELS + 1)
        for draw in range(DRAWS)
    ]


@torch.inference_mode()
def seconds_per_forward(
    ranker: NeuralRanker, base: JudgedLists, variants: list[CandidateLists]
) -> float:
    """Seconds of one list, from its arrays to its NDCG."""
    draws = np.random.default_rng(3)
    drawn = draws.integers((len(variants), len(base.lists)), size=(FORWARDS, 2))
    start = time.perf_counter()
    for variant, query in drawn:
        lists = variants[variant]
        inside = slice(lists.offsets[query], lists.offsets[query + 1])
        rows = lists.rows[inside]
        features = torch.from_numpy(base.dataset.features[rows])[None].to(ranker.device)
        if isinstance(ranker.network, DLCM):
            scores = ranker.network(features)
        else:
            ranks = torch.from_numpy(lists.ranks[inside].astype(np.int64))[None].to(ranker.device)
            scores = ranker.network(features, None, ranks, torch.ones_like(ranks))
        ndcg_at_10(scores[0].cpu().numpy(), base.dataset.labels[rows])
    return (time.perf_counter() - start) / FORWARDS


def ndcg_at_10(scores: np.ndarray, labels: np.ndarray) -> float:
    """NDCG@10 of a list of at least ten documents, exponential gain."""
    gains, discounts = np.exp2(labels) - 1, 1 / np.log2(np.arange(2, 12))
    best = (np.sort(gains)[::-1][:10] * discounts).sum()
    return float((gains[np.argsort(-scores)][:10] * discounts).sum() / best) if best else 0.0


def untrained(name: str, preset: str) -> NeuralRanker:
    """A ranker with its initial weights, as fast as a trained one."""
    plain = Normalisation("none", np.empty((0, FEATURES)))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    spec = registry.spec(name, preset)
    return NeuralRanker.untrained(spec, plain, tuple(range(1, FEATURES + 1)), device)


def random_lists(queries: int) -> JudgedLists:
    """Lists of 40 random documents, ranked by one initial ranker."""
    draws = np.random.default_rng(3)
    docs = queries * DOCUMENTS
    dataset = RankingDataset(
        draws.normal(size=(docs, FEATURES)).astype(np.float32),
        draws.integers(0, 5, docs).astype(np.float32),
        ragged.offsets_of(np.full(queries, DOCUMENTS)),
        tuple(str(query) for query in range(queries)),
        tuple(range(1, FEATURES + 1)),
    )
    prior = draws.normal(size=(docs, 1)).astype(np.float32)
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, prior))
