"""Protocols of a ranker and of its specification, without torch.

A `Ranker` scores candidate lists; a `RankerSpec` is a frozen recipe that fits one. Fitting is a
generator of `Progress`, so that the caller prints, plots or stops; its return value is the ranker.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.progress import Progress
from shuffleproof.core.words import counted, listed

Input = Literal[
    "features", "order", "ranks", "neighbours", "query", "query_text", "documents", "texts"
]
"""What a score may depend on; names and texts are given to functions and live rerankers alone."""

DOCUMENTS_AT_ONCE = "documents_at_once"
"""In reports and facts of a training: documents that memory held at once, where it ran out."""


@runtime_checkable
class Ranker(Protocol):
    """Anything that scores candidate lists.

    A ranker without "order" in `reads` is tested to be presentation-invariant; one without
    "neighbours", to score a document alike whatever else is in its list.
    """

    @property
    def name(self) -> str:
        """The registry's name."""

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs that can change a score."""

    @property
    def rankings(self) -> int:
        """Number of initial rankings that the lists must carry."""

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """One score a candidate, in the order of `lists.rows`; higher is better.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the ranker reads.
        """

    def save(self, directory: Path) -> None:
        """Write everything that `load` of the same family needs into an empty directory."""


def one_line(ranker: Ranker) -> str:
    """A ranker in one line, which `repr` prints: its name and inputs, never its weights."""
    rankings = f", {counted(ranker.rankings, 'initial ranking')}" if ranker.rankings else ""
    inputs = listed(sorted(ranker.reads)) or "nothing"
    return f"{type(ranker).__name__}({ranker.name}: reads {inputs}{rankings})"


@runtime_checkable
class RankerSpec(Protocol):
    """A frozen recipe that fits a ranker."""

    @property
    def name(self) -> str:
        """The registry's name."""

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs that the fitted ranker will read."""

    @property
    def rankings(self) -> int:
        """Number of initial rankings that its lists must carry."""

    @property
    def fits_documents(self) -> bool:
        """True: fit it on all documents of the queries; False: on the candidate lists."""

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values."""

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, Ranker]:
        """Fit on `train`, select on `valid`, yielding progress; the return value is the ranker.

        Args:
            train: lists to learn from.
            valid: lists to select on.
            workspace: a directory that outlives a killed process; with it, the work is resumed.
        """
