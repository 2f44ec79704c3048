"""How far an answer moves when its input does not: precision, batches, threads, seeds.

The floor under every other study: what is smaller than these deviations is arithmetic or luck.
"""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.data import ragged
from core.data.lists import JudgedLists
from core.metrics.agreement import kendall_tau
from core.metrics.passing import documents_passed
from core.metrics.segments import largest_deviations
from core.progress import Progress, saying
from core.rankers.base import Ranker
from core.rankers.recipes import NeuralSpec
from core.studies.invariance import numeric_floor
from core.studies.workbench import Workbench

COLUMNS = ("ranker", "change", "score_deviation", "documents_moved", "queries_moved", "answer_tau")
BATCHES, ALONE, BF16 = "batches in reverse", "one list at a time", "bfloat16"


def deviations(ranker: Ranker, base: JudgedLists, threads: Sequence[int] = (1, 2)) -> pd.DataFrame:
    """What the machine's side alone does to a ranker's answer.

    Args:
        ranker: anything that scores.
        base: the lists.
        threads: numbers of threads that networks are scored with; other rankers are not.

    Returns:
        Columns COLUMNS, one row a change: the largest deviation of a score, documents that passed
        another whose score was further away than the numeric floor, in how many queries, and the
        mean Kendall τ-b of the two answers.
    """
    before = ranker.score(base.dataset, base.lists)
    floor = numeric_floor(ranker, base, before)
    answers = {BATCHES: _backwards(ranker, base), ALONE: _alone(ranker, base)}
    if isinstance(getattr(ranker, "spec", None), NeuralSpec):
        network: Any = ranker
        answers[BF16] = network.score_variants(base.dataset, [base.lists], precision="bf16")[0]
        answers |= {f"{count} threads": _threaded(ranker, base, count) for count in threads}
    rows = [
        {"ranker": ranker.name, "change": change} | compared(base, before, after, floor)
        for change, after in answers.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def seed_deviations(
    bench: Workbench, name: str, seeds: Sequence[int]
) -> Generator[Progress, None, pd.DataFrame]:
    """What another seed of the training does to the answer, beside the first seed's.

    Args:
        bench: the data and its lists.
        name: a ranker whose recipe has a seed.
        seeds: two or more; each is trained, or found.

    Returns:
        Columns COLUMNS, one row a further seed.
    """
    base, answers, floor = bench.prepared.test, [], 0.0
    for seed in seeds:
        kept = yield from saying(bench.trained(name, {"seed": str(seed)}), f"of seed {seed}")
        answers.append(kept.ranker.score(base.dataset, base.lists))
        floor = max(floor, numeric_floor(kept.ranker, base, answers[-1]))
    rows = [
        {"ranker": name, "change": f"seed {seed}"} | compared(base, answers[0], after, floor)
        for seed, after in zip(seeds[1:], answers[1:], strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def compared(
    base: JudgedLists,
    before: Float32[np.ndarray, " candidates"],
    after: Float32[np.ndarray, " candidates"],
    floor: float,
) -> dict[str, int | float]:
    """Two answers to the same lists: the last four of COLUMNS."""
    offsets = base.lists.offsets
    moved = documents_passed(offsets, before, after, floor)
    taus = kendall_tau(offsets, before, after)
    return {
        "score_deviation": float(largest_deviations(offsets, before, after).max(initial=0.0)),
        "documents_moved": int(moved.sum()),
        "queries_moved": int((moved > 0).sum()),
        "answer_tau": float(np.nanmean(taus)) if (~np.isnan(taus)).any() else 1.0,
    }


def _backwards(ranker: Ranker, base: JudgedLists) -> Float32[np.ndarray, " candidates"]:
    """The scores when the lists are scored in reverse succession: other batches and padding."""
    turned = np.arange(len(base.lists))[::-1].copy()
    scores = np.empty(len(base.lists.rows), dtype=np.float32)
    scores[ragged.elements_of(base.lists.offsets, turned)] = ranker.score(
        base.dataset, base.lists.select(turned)
    )
    return scores


def _alone(ranker: Ranker, base: JudgedLists) -> Float32[np.ndarray, " candidates"]:
    parts = [
        ranker.score(base.dataset, base.lists.select(np.array([index])))
        for index in range(len(base.lists))
    ]
    return np.concatenate([*parts, np.zeros(0, dtype=np.float32)])


def _threaded(ranker: Ranker, base: JudgedLists, count: int) -> Float32[np.ndarray, " candidates"]:
    import torch  # noqa: PLC0415 (only networks are scored with other numbers of threads)

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return ranker.score(base.dataset, base.lists)
    finally:
        torch.set_num_threads(before)
