"""What a perturbation is: one named change of candidate lists, at one level, drawn from a seed."""

from typing import Literal, Protocol, runtime_checkable

import numpy as np

from core.data.lists import CandidateLists

Change = Literal["order", "ranking", "set", "features", "labels"]


@runtime_checkable
class Perturbation(Protocol):
    """Total on lists of 0 and 1; keeps the documents unless `changes` holds "set".

    `family` is the registry's name, `level` its strength in the family's own unit, `changes`
    what of the input it touches: a ranking perturbation changes the ranks and with them the
    order shown ({"ranking", "order"}), a presentation perturbation the order alone.
    """

    @property
    def family(self) -> str:
        """The registry's name."""

    @property
    def level(self) -> float:
        """The strength, in the unit the registry entry names."""

    @property
    def changes(self) -> frozenset[Change]:
        """What of the input is touched."""

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The perturbed lists; the lists given stay as they are."""
