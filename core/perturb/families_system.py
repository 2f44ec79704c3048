"""The families that change how a ranker is trained or asked, and nothing of its input."""

from core.perturb.entry import INFINITE, PerturbationEntry
from core.perturb.reach import all_lists, any_level
from core.perturb.system import BATCHES, BFLOAT16, ORDER, SEED, THREADS, SystemPerturbation

MOST_THREADS = 256.0

SYSTEM = (
    PerturbationEntry(
        SEED,
        "Rankers are trained again with another seed: first weights, batches, dropout, sampling.",
        "luck of the training (Reimers & Gurevych 2017)",
        "1: another seed, one a draw",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(SEED, level),
        brings=False,
        reach=any_level,
        whole=True,
        anew=True,
    ),
    PerturbationEntry(
        ORDER,
        "Rankers are trained again on the same rows in another order, of queries and within them.",
        "ties that a training breaks by row, batches, rounding",
        "1: another order, one a draw",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(ORDER, level),
        brings=False,
        reach=any_level,
        whole=True,
        anew=True,
    ),
    PerturbationEntry(
        BFLOAT16,
        "Networks are scored in bfloat16 instead of float32.",
        "arithmetic of accelerators",
        "1: bfloat16",
        0.0,
        1.0,
        (0.0, 1.0),
        lambda level: SystemPerturbation(BFLOAT16, level),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
    PerturbationEntry(
        BATCHES,
        "Lists are scored in a random succession, so many at a time: other batches and padding.",
        "batch composition",
        "lists at a time (0: as the ranker batches them)",
        0.0,
        INFINITE,
        (0.0, 1.0, 8.0, 64.0),
        lambda level: SystemPerturbation(BATCHES, level),
        brings=False,
        reach=all_lists,
        whole=True,
    ),
    PerturbationEntry(
        THREADS,
        "Networks are scored with another number of threads: sums are added up in another order.",
        "arithmetic of processors",
        "threads (0: as many as the process has)",
        0.0,
        MOST_THREADS,
        (0.0, 1.0, 2.0, 4.0),
        lambda level: SystemPerturbation(THREADS, level),
        brings=False,
        reach=any_level,
        whole=True,
        random=False,
    ),
)
