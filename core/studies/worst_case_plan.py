"""The plan of a worst-case study: pure, and cut into parts that survive a kill."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.errors import ParameterError
from core.perturb.worst_case import Search
from core.store.keys import key_of
from core.studies.cells import Cell
from core.studies.study import Trial
from core.studies.worst_orders import TARGETS

KIND = "worst-case"
RANDOM = "random"
BUDGETS = (1, 2, 5, 10)
PART = 25
"""Queries of a cell: what a killed search repeats at most."""


def check_budgets(budgets: Sequence[int], name: str = "budgets") -> None:
    """Refuse budgets of no steps.

    Raises:
        ParameterError: none, or one below 1.
    """
    if not budgets or min(budgets) < 1:
        raise ParameterError(name, ",".join(map(str, budgets)), "whole numbers from 1 on")


@dataclass(frozen=True)
class Plan:
    """A study's full description; equal descriptions give equal results.

    Attributes:
        rankers: (label, digest).
        lists: digest of the candidate lists.
        initial: the initial rankers' names, for people.
        target: what is rearranged: `ranking` (and with it the order shown) or `shown`.
        measure: what is hurt, as text.
        budgets: numbers of steps, rising.
        search: how the worst order is looked for; its budget is the largest one.
        draws: random orders a budget, to compare with.
        seed: of the draws and of the annealing.
        queries: only the first so many test queries; None: all.
    """

    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    target: str
    measure: str
    budgets: tuple[int, ...]
    search: Search
    draws: int = 10
    seed: int = 0
    queries: int | None = None

    def __post_init__(self) -> None:
        """Check what the parameters of a search do not."""
        if self.target not in TARGETS:
            raise ParameterError("target", self.target, f"one of {', '.join(TARGETS)}")
        check_budgets(self.budgets)

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        values = asdict(self) | {"kind": KIND, "measures": [self.measure]}
        return values | {"rankers": [list(pair) for pair in self.rankers]}

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> "Plan":
        """The plan whose `recipe()` this is."""
        values = {name: recipe[name] for name in cls.__dataclass_fields__}
        values["rankers"] = tuple((label, digest) for label, digest in recipe["rankers"])
        values["initial"], values["budgets"] = tuple(recipe["initial"]), tuple(recipe["budgets"])
        return cls(**values | {"search": Search(**recipe["search"])})

    def cells(self, lists: int) -> list[Cell]:
        """Ranker by ranker, random orders before the search, in parts of the queries."""
        parts = range(-(-lists // PART))
        return [
            Cell(Trial(label, family, float(self.budgets[-1]), 0), part, self._digest(*one))
            for label, digest in self.rankers
            for family in (RANDOM, self.search.method)
            for part in parts
            for one in [(digest, family, part)]
        ]

    def _digest(self, ranker: str, family: str, part: int) -> str:
        facts = {
            "kind": KIND, "ranker": ranker, "lists": self.lists, "part": [part, PART, self.queries],
            "target": self.target, "measure": self.measure, "budgets": list(self.budgets),
            "family": family, "unit": self.search.unit, "seed": self.seed,
        }  # fmt: skip
        facts |= {"draws": self.draws} | (
            {} if family == RANDOM else {"search": asdict(self.search)}
        )
        return key_of("trial", facts).digest
