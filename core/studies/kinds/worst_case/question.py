"""Question of the worst-case study."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.parameters import (
    Parameter,
    fields_of,
    parameter,
    parameters,
    text_of,
    with_changes,
)
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.studies.question import (
    RANKERS,
    Facts,
    Flag,
    GivenFlags,
    Question,
    Scope,
    SingleFlag,
)

DIRECT = ("method", "unit")
"""Fields of a search with a flag of their own."""


class SearchField:
    """Flags of the search: `--method`, `--unit`, and `--set` for the rest."""

    def flags(self, _field: Parameter) -> Iterable[Flag]:
        """Flags of the search."""
        fields = {declared.name: declared for declared in parameters(Search)}
        for name in DIRECT:
            words = f"{fields[name].help} (default {fields[name].default})"
            yield Flag(name, words, choices=fields[name].choices)
        remaining = ", ".join(name for name in fields if name not in {*DIRECT, "budget"})
        yield Flag("set", f"search options, FIELD=VALUE: {remaining}", several=True)

    def value(self, _field: Parameter, given: GivenFlags, _preset: str) -> Mapping[str, Any] | None:
        """Fields that differ from the default search; None without differences.

        Raises:
            ParameterError: an unknown field, or an invalid value.
        """
        texts = {name: given[name] for name in DIRECT if name in given}
        return changed_fields(
            asdict(with_changes(Search(), texts | fields_of(given.get("set", ()))))
        )

    def words(self, _field: Parameter, value: Mapping[str, Any] | None, _preset: str) -> list[str]:
        """Flags of the differing fields."""
        changes = dict(value or {})
        words = [
            word for name in DIRECT if name in changes for word in (f"--{name}", changes[name])
        ]
        remaining = [
            f"{name}={text_of(setting)}" for name, setting in changes.items() if name not in DIRECT
        ]
        return [*words, *(["--set", *remaining] if remaining else [])]


def changed_fields(search: Mapping[str, Any]) -> dict[str, Any] | None:
    """Fields of a search that differ from its defaults, without the budget (a separate flag)."""
    defaults = asdict(Search())
    defaults.pop("budget")
    changes = {
        name: search[name] for name, value in defaults.items() if search.get(name, value) != value
    }
    return changes or None


@dataclass(frozen=True)
class WorstCase(Question):
    """Most harmful order for a ranker within a budget."""

    kind = "worst-case"
    title = "Which order within a budget costs a ranker most?"
    source = "greedy or beam search; certified 0 where a ranker is invariant"
    summary = "search for the order with the largest loss"
    doing = "Search for the worst case of"
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": ("dlcm", "setrank-imsab-init", "setrank-imsab"),
        "budgets": (1, 2, 5),
        "queries": 50,
    }
    printing = "table(result)"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    target: str = parameter(
        "ranking",
        "the initial ranking, or only the input order (shown)",
        choices=("ranking", "shown"),
        label="Changed input",
    )
    search: Mapping[str, Any] | None = parameter(
        None, "changed fields of the search", flags=SearchField()
    )
    budgets: tuple[int, ...] = parameter((1, 2, 5, 10), "steps per list, comma-separated", low=1)
    measures: tuple[str, ...] = parameter(
        ("NDCG@10",), "measure to reduce", names="measures", flags=SingleFlag("measure")
    )
    draws: int = parameter(10, "random orders per budget", low=1, label="Random orders per budget")
    queries: int | None = parameter(None, "number of test queries (default: all)", low=1)
    seed: int = parameter(0, "seed of all draws")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored study."""
        search, measures = changed_fields(recipe["search"]), [recipe["measure"]]
        return super().of({**recipe, "search": search, "measures": measures}, facts)

    def refuse(self, _scope: Scope) -> None:
        """Refuse unknown fields of the search."""
        fields = [field.name for field in parameters(Search)]
        for name in self.search or {}:
            if name not in fields:
                raise UnknownNameError("field of the search", name, fields)
