"""How long work reports on its way: a generator yields Progress and returns its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """One report of work under way.

    Attributes:
        done: finished units (epochs, trees, trials), counting from 0.
        total: how many there will be at most.
        unit: what is counted.
        values: what was measured, by name (`loss`, `valid`, `lists_per_second`, …).
    """

    done: int
    total: int
    unit: str
    values: Mapping[str, float] = field(default_factory=dict)
