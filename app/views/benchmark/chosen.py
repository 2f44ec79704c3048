"""What the benchmark page shows: a stored benchmark and the choices that were made on the page."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import streamlit as st

from shuffleproof.app import benchmarks
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS, SYMBOLS

UNDRAWN = ("ideal", "random")
"""References so far away that the picture would show nothing else."""


@dataclass(frozen=True)
class Marked:
    """Whom the table's marks compare with.

    Attributes:
        baselines: the rows.
        symbols: the mark of each in turn.
    """

    baselines: tuple[str, ...] = ()
    symbols: str = LETTERS

    @classmethod
    def now(cls, chosen: "Chosen") -> "Marked":
        """What is chosen on the page: no more baselines than the style has symbols."""
        symbols = SYMBOLS[st.session_state.get("marks") or "letters"]
        asked = st.session_state.get("letters", ())
        baselines = tuple(label for label in asked if label in chosen.labels)
        return cls(baselines[: len(symbols)], symbols)


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
    def of_runs(self) -> bool:
        """Whether it compares runs from files: nothing was trained, and there are no features."""
        return is_of_runs(self.artefact.recipe)

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
