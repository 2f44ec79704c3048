"""The plan of a worst-case study: pure, and cut into parts that survive a kill."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.perturb.worst_case import Search
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.codec import Described
from shuffleproof.core.studies.kinds.worst_case.orders import TARGETS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import Found, Trial

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
class Plan(Described):
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
    kind: str = field(default=KIND, init=False)
    measures: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Check what the parameters of a search do not."""
        object.__setattr__(self, "measures", (self.measure,))
        if self.target not in TARGETS:
            raise ParameterError("target", self.target, f"one of {', '.join(TARGETS)}")
        check_budgets(self.budgets)

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

    def digests(self, lists: int) -> list[str]:
        """The keys of its cells, on so many lists."""
        return [cell.digest for cell in self.cells(lists)]

    def assembled(
        self, found: Mapping[str, Found], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """The rows of rankers and families of which every part is there; None before the first.

        Args:
            found: finished cells by digest.
            query_ids: one a list.
            facts: of the result; `certificates` and `effort` of the rankers are added.
        """
        parts_of: dict[Trial, list[Found | None]] = {}
        for cell in self.cells(len(query_ids)):
            parts_of.setdefault(cell.row, []).append(found.get(cell.digest))
        rows: list[dict[str, Any]] = []
        values: list[np.ndarray] = []
        proofs: dict[str, Any] = {}
        effort: dict[str, Any] = {}
        for row, parts in parts_of.items():
            whole = [part for part in parts if part is not None]
            if len(whole) < len(parts):
                continue
            first, seconds = whole[0][0], sum(part[0]["seconds"] for part in whole)
            proofs[row.ranker] = {
                name: first[name] for name in ("proven", "deviation", "permutations")
            }
            if row.family != RANDOM:
                evaluated = sum(part[0]["evaluated"] for part in whole)
                effort[row.ranker] = {"evaluated": evaluated, "seconds": seconds}
            cube, tau = (
                np.concatenate([part[1][name] for part in whole], axis=-1)
                for name in ("values", "tau")
            )
            size = {"set_size": facts["set_size"], "seconds": seconds / len(cube)}
            for at, level in enumerate((0, *self.budgets)):
                for draw in range(1 if level == 0 else cube.shape[1]):
                    named = {"ranker": row.ranker, "family": row.family, "level": float(level)}
                    left = {"tau": float(tau[at, draw].mean(dtype=np.float64))}
                    rows.append(named | {"draw": draw} | left | size)
                    values.append(cube[at, draw][None])
        if not rows:
            return None
        more = dict(facts) | {"certificates": proofs, "effort": effort}
        cube = np.stack(values).astype(np.float32)
        return StudyResult(self.recipe(), pd.DataFrame(rows), cube, tuple(query_ids), more)

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
