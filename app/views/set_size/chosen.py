"""What the page of set size shows: a stored study and the choices that were made on the page."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from shuffleproof.app import set_sizes
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.set_size.study import ANY


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        home: the size that the drawn rankers were trained on; None: lists play no part in any.
        rankers: in the study's order, without the curves of the candidates.
    """

    artefact: Artefact
    measure: Measure
    home: int | None
    rankers: tuple[str, ...]

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def points(self) -> pd.DataFrame:
        """Every ranker at every N0 and N1, the chosen rankers alone."""
        frame = set_sizes.curves(self.key, str(self.measure))
        return frame[frame["ranker"].isin(self.rankers)]

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """The curves of the picture: the candidates' own, then the rankers trained on `home`."""
        frame = set_sizes.curves(self.key, str(self.measure))
        return of_home(
            frame[frame["ranker"].isin((*set_sizes.CANDIDATES, *self.rankers))], self.home
        )


def of_home(frame: pd.DataFrame, home: int | None) -> pd.DataFrame:
    """The rows of rankers that were trained on lists of one size, or on no lists."""
    return frame[frame["trained_on"].isin((ANY, str(home)))]
