"""Question of data without candidate lists: a text collection, preferences between pairs.

Such a kind of study is declared like any other (`core.studies.question`). It opens the data instead
of a workbench, and its only flags are those of its fields.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.question import Facts, Question, Scope


@dataclass(frozen=True)
class ListlessQuestion(Question):
    """Question of a study of such data."""

    of_what: ClassVar[str]
    """Name of the data, in words."""

    stored_as: ClassVar[tuple[str, ...]]
    """Kinds of artefacts that contain such data."""

    needed: ClassVar[tuple[str, ...]]
    """Kinds of names of which its fields must have at least one, as in `parameter(names=…)`."""

    printing = "summary(result)"

    @classmethod
    def of(cls, recipe: Facts, _facts: Facts) -> "Question":
        """Question of a stored study."""
        return cls.from_plain({field.name: recipe[field.name] for field in parameters(cls)})

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse invalid questions before anything is read.

        Args:
            scope: data of the study.
            from_outside: ignored, since such questions name no files or functions.

        Raises:
            UnknownNameError: an unknown name.
            UsageError: a required name is missing, or candidate lists were given.
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
        """Names of one kind in its fields."""
        fields = [field.name for field in parameters(self) if field.names == what]
        return tuple(name for field in fields for name in getattr(self, field))
