"""What the benchmark page shows: a stored benchmark and the choices that were made on the page."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from app import benchmarks
from core.metrics.measure import Measure
from core.store.manifest import Artefact

UNDRAWN = ("ideal", "random")
"""References so far away that the picture would show nothing else."""


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored benchmark.

    Attributes:
        artefact: the benchmark.
        measure: of the picture and of the comparisons, under the conventions chosen.
        columns: measures of the table, under the same.
        baseline: who the picture compares with.
        test: a name of TESTS.
    """

    artefact: Artefact
    measure: Measure
    columns: tuple[str, ...]
    baseline: str
    test: str

    @property
    def key(self) -> str:
        """The benchmark's key."""
        return str(self.artefact.key)

    @property
    def labels(self) -> list[str]:
        """The rows in the table's order."""
        return benchmarks.labels(self.key)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Every row against the baseline."""
        return benchmarks.compared(self.key, str(self.measure), self.baseline, self.test)

    @property
    def drawn(self) -> pd.DataFrame:
        """The rows that the picture shows."""
        return self.compared[~self.compared["ranker"].isin(UNDRAWN)]
