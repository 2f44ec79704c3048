"""A question of data that have no candidate lists: a text collection, preferences between pairs.

A study of this kind is told once like any other (`core.studies.question`); what is opened is the
data instead of a workbench, and its flags are those of its fields alone.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.question import Facts, Question, Scope


@dataclass(frozen=True)
class ListlessQuestion(Question):
    """What a study of such data is asked."""

    of_what: ClassVar[str]
    """The data, in words."""

    stored_as: ClassVar[tuple[str, ...]]
    """Kinds of artefacts that hold such data."""

    needed: ClassVar[tuple[str, ...]]
    """What its fields must name at least one of, as `parameter(names=…)` says it."""

    printing = "summary(result)"

    @classmethod
    def of(cls, recipe: Facts, _facts: Facts) -> "Question":
        """The question that a stored study has answered."""
        return cls.from_plain({field.name: recipe[field.name] for field in parameters(cls)})

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse what can be known before anything is read.

        Args:
            scope: what it is asked of.
            from_outside: of no meaning here: nothing of this machine is named.

        Raises:
            UnknownNameError: a name that nothing has.
            UsageError: nothing is named, or candidate lists of data that have none.
        """
        del from_outside
        fields = {field.names for field in parameters(self)}
        for plural in self.needed:
            if plural in fields and not self.names_of(plural):
                raise UsageError(f"a study needs a {plural[:-1]}: name at least one")
        self.refuse(scope)
        if scope.lists or scope.preset:
            superfluous = ", ".join([*(scope.lists or ()), *(["preset"] if scope.preset else [])])
            raise UsageError(
                f"{self.of_what} no candidate lists and no presets: leave out {superfluous}"
            )

    def names_of(self, what: str) -> tuple[Any, ...]:
        """What its fields name, of one sort."""
        fields = [field.name for field in parameters(self) if field.names == what]
        return tuple(name for field in fields for name in getattr(self, field))
