"""`figure3`: SetRank's Figure 3 at 1 000 queries × 40 documents × 20 levels × 10 draws.

Ours is the study as it is run: perturbed lists, scores (carried over where they may be, with real
permutations as proof), NDCG@10 of every query. The peer is the loop that one writes first: for
every level, draw and query one forward of that list with the same network, then NDCG in NumPy;
the perturbed lists are given to it. Both see a sample of the queries and the times are scaled.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.bench.setrank import has_amx
from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.execution.devices import device
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.run import measured_by, run_study
from shuffleproof.core.studies.study import Memory, Study

QUERIES, DOCUMENTS, LEVELS, DRAWS, FEATURES = 1000, 40, 20, 10, 46
FORWARDS = QUERIES * LEVELS * DRAWS
MEASURE = "NDCG@10"
SEED = 3


@dataclass(frozen=True)
class Case:
    """One ranker of the figure.

    Attributes:
        ranker: its name.
        floor: times faster than the naive loop, at least.
        queries: how many of the 1 000 queries ours is timed on.
    """

    ranker: str
    floor: float
    queries: int


CASES = (
    Case("setrank-imsab", 80.0, 200),
    Case("setrank-msab", 80.0, 200),
    Case("setrank-imsab-init", 1.8, 12),
    Case("setrank-msab-init", 1.8, 12),
    Case("dlcm", 4.0, 20),
)
BF16_FLOOR = 4.0  # with matrix units for bf16 (AMX, tensor cores)


def figure3(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the bench command's own call)
    """Every ranker's study against the naive loop; with ordinals in bf16 too."""
    rows = []
    for case in CASES:
        ranker = _ranker(case.ranker, "small" if quick else "paper")
        base = _judged(max(2, case.queries // 5) if quick else case.queries)
        rows.append(_compared(case, ranker, base))
        if case.floor == 1.8:
            rows.append(_in_bf16(case, ranker, base))
    return rows


def _compared(case: Case, ranker: NeuralRanker, base: JudgedLists) -> BenchRow:
    ours, peers, facts = [], [], {}
    naive = _Naive(ranker, base)
    naive.seconds_a_forward()
    for _ in range(3):
        peers.append(naive.seconds_a_forward())
        start = time.perf_counter()
        facts = _study(ranker, base)
        ours.append(time.perf_counter() - start)
    whole = median(ours) * QUERIES / len(base.lists)
    proof = f", carried over, proofs deviate {facts['proof_deviation']:.0e}" * facts["carried"]
    return _row(f"figure3 {case.ranker}", (whole, median(peers)), case.floor, base, proof)


def _in_bf16(case: Case, ranker: NeuralRanker, base: JudgedLists) -> BenchRow:
    naive, ours, peers = _Naive(ranker, base), [], []
    variants = _variants(base)
    for _ in range(3):
        peers.append(naive.seconds_a_forward())
        start = time.perf_counter()
        ranker.score_variants(base.dataset, variants, "bf16")
        ours.append(time.perf_counter() - start)
    whole = median(ours) * QUERIES / len(base.lists)
    units = _has_matrix_units(ranker.device)
    note = ", scores alone" + ("" if units else ", no matrix units for bf16 here: no floor")
    floor = BF16_FLOOR if units else None
    return _row(f"figure3 {case.ranker} bf16", (whole, median(peers)), floor, base, note)


def _row(
    job: str, seconds: tuple[float, float], floor: float | None, base: JudgedLists, note: str
) -> BenchRow:
    whole, forward = seconds
    peer = forward * FORWARDS
    scaled = f"ours on {len(base.lists)} of {QUERIES} queries, the loop on {_Naive.FORWARDS} lists"
    return BenchRow(
        job, whole, peer, "naive loop, fp32", peer / whole, floor, note=f"scaled: {scaled}{note}"
    )


def _study(ranker: NeuralRanker, base: JudgedLists) -> dict[str, Any]:
    """Run the study in memory; the facts of its last trial."""
    levels = tuple(("transpositions", float(level)) for level in range(1, LEVELS + 1))
    study = Study(
        kind="initial-ranking",
        rankers=((ranker.name, ""),),
        lists="",
        initial=("drawn",),
        perturbations=levels,
        measures=(MEASURE,),
        draws=DRAWS,
        seed=SEED,
    )
    step = measured_by([Measure.parse(MEASURE)])
    running = run_study(study, base, {ranker.name: ranker}, Memory(), step)
    while True:
        try:
            next(running)
        except StopIteration as finished:
            facts: dict[str, Any] = finished.value.trials.iloc[-1].to_dict()
            return facts


def _variants(base: JudgedLists) -> list[CandidateLists]:
    return [
        perturbation("transpositions", float(level))(
            base.lists, generator(SEED, "transpositions", float(level), draw)
        )
        for level in range(1, LEVELS + 1)
        for draw in range(DRAWS)
    ]


class _Naive:
    """The loop: one forward a list, NDCG@10 in NumPy."""

    FORWARDS = 96

    def __init__(self, ranker: NeuralRanker, base: JudgedLists) -> None:
        self.ranker, self.base = ranker, base
        self.variants = _variants(base)
        draws = np.random.default_rng(SEED)
        self.chosen = [
            (int(draws.integers(len(self.variants))), int(draws.integers(len(base.lists))))
            for _ in range(self.FORWARDS)
        ]

    def seconds_a_forward(self) -> float:
        """Seconds of one list, from its arrays to its NDCG."""
        start = time.perf_counter()
        with torch.inference_mode():
            for variant, query in self.chosen:
                self._one(self.variants[variant], query)
        return (time.perf_counter() - start) / self.FORWARDS

    def _one(self, lists: CandidateLists, query: int) -> float:
        inside = slice(lists.offsets[query], lists.offsets[query + 1])
        rows, place = lists.rows[inside], self.ranker.device
        features = torch.from_numpy(self.base.dataset.features[rows])[None].to(place)
        if isinstance(self.ranker.network, DLCM):
            scores = self.ranker.network(features)
        else:
            ranks = torch.from_numpy(lists.ranks[inside].astype(np.int64))[None].to(place)
            scores = self.ranker.network(features, None, ranks, torch.ones_like(ranks))
        return _ndcg(scores[0].cpu().numpy(), self.base.dataset.labels[rows])


def _ndcg(
    scores: Float32[np.ndarray, " docs"], labels: Float32[np.ndarray, " docs"], cutoff: int = 10
) -> float:
    gains = np.exp2(labels) - 1
    discounts = 1 / np.log2(np.arange(2, min(cutoff, len(labels)) + 2))
    best = (np.sort(gains)[::-1][:cutoff] * discounts).sum()
    return float((gains[np.argsort(-scores)][:cutoff] * discounts).sum() / best) if best else 0.0


def _ranker(name: str, preset: str) -> NeuralRanker:
    """A ranker with its first weights: its speed is a trained one's."""
    spec = registry.spec(name, preset)
    assert isinstance(spec, NeuralSpec)  # noqa: S101 (for the type checker)
    plain = Normalisation("none", np.empty((0, FEATURES)))
    return NeuralRanker.untrained(spec, plain, tuple(range(1, FEATURES + 1)), device(None))


def _judged(queries: int) -> JudgedLists:
    draws = np.random.default_rng(SEED)
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


def _has_matrix_units(place: str) -> bool:
    return place != "cpu" or has_amx()


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"figure3": figure3}
