"""What may happen beside the input: another seed of the training, precision, batches, threads.

The lists stay as they are. What is changed is how a ranker was trained, or how it is asked: the
floor under every other family, for what is smaller than these changes is arithmetic or luck.
`core.studies.system` asks the rankers.
"""

from dataclasses import dataclass

import numpy as np

from core.data.lists import CandidateLists
from core.perturb.base import Change

SYSTEM: frozenset[Change] = frozenset({"system"})
SEED, BFLOAT16, BATCHES, THREADS = "train-seed", "bfloat16", "batches", "threads"


@dataclass(frozen=True)
class SystemPerturbation:
    """Leaves the lists as they are; says how rankers are trained or asked.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0: as in every other study.
    """

    family: str
    level: float
    changes: frozenset[Change] = SYSTEM

    def __str__(self) -> str:
        """As `registry.parse` reads it: `threads:2`."""
        return f"{self.family}:{self.level:g}"

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists as they are; nothing is drawn."""
        del generator
        return lists
