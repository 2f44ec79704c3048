"""How the fields of a question stand on a command line: read from flags, written as flags.

A field has the flag of its own name; `parameter(flags=…)` names another way where one flag does
not say it. Whoever has a command line adds the flags; nothing here knows one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import Parameter, parts_of, text_of, value_of

Given = Mapping[str, Any]
"""The flags that somebody gave, by their names without dashes in front."""


@dataclass(frozen=True)
class Flag:
    """One flag.

    Attributes:
        name: without the dashes in front.
        help: what it says.
        required: whether it must be given.
        choices: the texts that it takes; empty: any.
        several: whether it takes several words.
    """

    name: str
    help: str
    required: bool = False
    choices: tuple[str, ...] = ()
    several: bool = False


@runtime_checkable
class FlagSyntax(Protocol):
    """How one field is said by flags."""

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """The flags, in the order of a help text."""

    def value(self, field: Parameter, given: Given, preset: str) -> Any:
        """The field's value.

        Args:
            field: of the question.
            given: the flags.
            preset: of rankers named without one.

        Raises:
            ParameterError: a text that is none of its values.
        """

    def words(self, field: Parameter, value: Any, preset: str) -> list[str]:
        """The words that say a value; none for what is taken where nothing is said.

        Raises:
            UsageError: no flags say it.
        """


class OwnFlag:
    """One flag of the field's own name."""

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """The flag, with its default in its help."""
        default = "" if field.default in (None, ()) or field.required else text_of(field.default)
        told = f"{field.help} (default {default})" if default else field.help
        yield Flag(flag_of(field), told, field.required, field.choices)

    def value(self, field: Parameter, given: Given, preset: str) -> Any:
        """The value of its text; the default where the flag is not given."""
        del preset
        name = flag_of(field)
        if name not in given:
            return field.default
        return value_of(replace(field, name=f"--{name}"), given[name])

    def words(self, field: Parameter, value: Any, preset: str) -> list[str]:
        """The flag and its text."""
        del preset
        return [] if value == field.default else [f"--{flag_of(field)}", text_of(value)]


@dataclass(frozen=True)
class SingleFlag:
    """One value of a field that takes several, said by a flag of another name.

    Attributes:
        name: of the flag.
    """

    name: str

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """The flag, with its default in its help."""
        yield Flag(self.name, f"{field.help} (default {text_of(field.default)})")

    def value(self, field: Parameter, given: Given, preset: str) -> tuple[str, ...]:
        """The value alone."""
        del preset
        return (given[self.name],) if self.name in given else field.default

    def words(self, field: Parameter, value: Sequence[str], preset: str) -> list[str]:
        """The flag and the value."""
        del preset
        return [] if tuple(value) == field.default else [f"--{self.name}", *value]


@dataclass(frozen=True)
class Levels:
    """Pairs (family, level), said as families and the levels of each.

    Attributes:
        families: those taken where none are named; none: some must be named.
        help: of the flag of families.
        as_is_first: whether a study may have put the lists as they are before what was asked for.
    """

    families: str | None
    help: str
    as_is_first: bool = False

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """`--families` and `--levels`."""
        del field
        usual = f" (default {self.families})" if self.families else ""
        yield Flag("families", f"{self.help}{usual}", required=self.families is None)
        yield Flag("levels", "levels of each family, comma-separated; by default the family's own")

    def value(self, field: Parameter, given: Given, preset: str) -> tuple[tuple[str, float], ...]:
        """The pairs, family by family.

        Raises:
            UnknownNameError: no such family.
        """
        from shuffleproof.core.studies.study import pairs_of  # noqa: PLC0415 (the registry of families: NumPy)

        del field, preset
        families = parts_of(given.get("families", self.families or ""))
        return pairs_of(families, given.get("levels"))

    def words(self, field: Parameter, value: Sequence[tuple[str, float]], preset: str) -> list[str]:
        """Families and levels that give the same pairs."""
        del field, preset
        for pairs in (value, value[1:]) if self.as_is_first else (value,):
            families = list(dict.fromkeys(family for family, _ in pairs))
            levels = [level for family, level in pairs if families and family == families[0]]
            for said in (None, text_of(levels[1:]), text_of(levels)):
                if families and _reads_as(families, said, pairs):
                    named = [] if families == [self.families] else ["--families", text_of(families)]
                    return [*named, *([] if said is None else ["--levels", said])]
        raise UsageError("no flags of the command line say these levels: use the lines of Python")


def flag_of(field: Parameter) -> str:
    """The name of a field's own flag.

    >>> from shuffleproof.core.parameters import Parameter
    >>> flag_of(Parameter("dead_below", float, 0.1, ""))
    'dead-below'
    """
    return field.name.replace("_", "-")


def syntax_of(field: Parameter) -> FlagSyntax:
    """How a field is said."""
    return field.flags or OwnFlag()


def _reads_as(families: Sequence[str], levels: str | None, pairs: Sequence[Any]) -> bool:
    """Whether these flags give these pairs; no where a family does not take the levels."""
    from shuffleproof.core.studies.study import pairs_of  # noqa: PLC0415 (the registry of families: NumPy)

    try:
        return levels != "" and pairs_of(families, levels) == tuple(pairs)
    except ParameterError:
        return False
