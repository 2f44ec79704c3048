"""The ranker whose trainings `bench cluster` lets workers make: each waits, and is stored."""

import json
import time
from pathlib import Path
from typing import Any

from shuffleproof.core.rankers.outside.user_rankers import ranker

SECONDS = 1.0
"""That a training takes, whatever else the machine does."""


@ranker("waiting")
class Waiting:
    """It weighs the first features by its seed, after a while."""

    def fit(self, train: Any, valid: Any, seed: int = 0) -> None:
        """Wait; nothing is learnt."""
        del train, valid
        time.sleep(SECONDS)
        self.seed = seed

    def score(self, features: Any) -> Any:
        """A number a document that depends on the seed."""
        return features[:, 0] + features[:, 1] / (1 + self.seed)

    def save(self, directory: Path) -> None:
        """Write the seed."""
        (Path(directory) / "seed.json").write_text(json.dumps(self.seed), encoding="ascii")

    @staticmethod
    def load(directory: Path) -> "Waiting":
        """Read it."""
        waiting = Waiting()
        waiting.seed = json.loads((Path(directory) / "seed.json").read_text(encoding="ascii"))
        return waiting
