"""Settings of the worst-case search, without NumPy."""

from dataclasses import asdict, dataclass
from typing import Any

from shuffleproof.core.parameters import CheckedParameters, parameter

UNITS = ("inversions", "exchanges")
METHODS = ("greedy", "beam")
ANNEALING = {"chains": 8, "rounds": 60, "hot": 0.05, "cold": 0.001}
"""Fields of a method that is gone; they stay in keys, so that stored studies are still found."""


@dataclass(frozen=True)
class Search(CheckedParameters):
    """Settings of the worst-case search.

    Attributes: see their help.
    """

    method: str = parameter("greedy", "search method", choices=METHODS)
    unit: str = parameter("inversions", "unit of the budget", choices=UNITS)
    budget: int = parameter(10, "steps at most, a list", low=0)
    places: int = parameter(40, "the first places, which take part", low=2, unit="places")
    width: int = parameter(4, "orders kept a list (beam)", low=1)
    candidates: int = parameter(
        32,
        "number of exchanges tried after the first round, those with the largest loss first; "
        "with inversions all are tried",
        low=1,
    )

    def plain(self) -> dict[str, Any]:
        """The search as keys hold it."""
        return asdict(self) | ANNEALING

    def orders(self, budget: int) -> int:
        """Orders of one list that the search hands to a ranker at most.

        >>> Search(places=5).orders(2), Search(unit="exchanges", places=4).orders(3)
        (8, 18)
        """
        width = 1 if self.method == "greedy" else self.width
        if self.unit == "inversions":
            # First round: one state with n − 1 neighbour pairs; then `width` states each
            return (self.places - 1) * (1 + (budget - 1) * width)
        # The first round tries all pairs, later ones only the most harmful candidates
        pairs = self.places * (self.places - 1) // 2
        return pairs + (budget - 1) * width * min(pairs, self.candidates)
