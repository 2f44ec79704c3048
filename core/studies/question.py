"""Questions: the settings of a study of one kind, declared once.

The fields of a question determine the flags and help of its command, the parameters of its job, its
checks, and the command and Python code that repeat it. A field's flag has the field's name;
`parameter(flags=…)` sets another syntax if one flag is not enough. Questions load neither NumPy nor
a study, so that listing them is fast.
"""

import dataclasses
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from shuffleproof.core.data.layout import SAMPLE, SHIPPED
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import (
    Parameter,
    check,
    choice_named,
    parameters,
    parts_of,
    plain_of,
    text_of,
    value_of,
)
from shuffleproof.core.perturb.names import refuse_unknown
from shuffleproof.core.progress import Progress, limit_seconds
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import user_names

if TYPE_CHECKING:
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.studies.names import Names
    from shuffleproof.core.studies.sections import SectionsModule
    from shuffleproof.core.studies.study import Plan
    from shuffleproof.core.studies.workbench import Workbench


RANKERS = "rankers or module:function, comma-separated; a ranker may have an @preset"
NAMED_RANKERS = (
    "rankers, comma-separated; also combinations (rrf:dlcm+mart), stored rankers (name#digits), "
    "files (lightgbm:FILE; kinds: see `bring`) and module:function"
)
"""Help texts of fields of rankers."""

QUERIES = "queries"
"""Field of lists, and of some questions, with the number of test queries to study."""

Facts = Mapping[str, Any]


def preset_of(data: str) -> str:
    """Default preset of rankers."""
    return "small" if data in SHIPPED else "paper"


@dataclass(frozen=True)
class Scope:
    """Data of a question: a data set, its candidate lists, and the store.

    Attributes:
        store: of data, rankers and studies.
        data: a stored name, a folder or `sample`.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one; default `small` for the sample, else `paper`.
        pinned: key of the data set, if its name may now mean another one; for folds, their
            keys with commas.
    """

    store: Store
    data: str = SAMPLE
    lists: Mapping[str, Any] | None = None
    preset: str | None = None
    pinned: str | None = None

    def __post_init__(self) -> None:
        """Register the presets that were tuned in this store."""
        named_presets.know(self.store)

    @property
    def usual_preset(self) -> str:
        """Preset of rankers named without one."""
        return self.preset or preset_of(self.data)

    def recipe(self, initial: tuple[str, ...] = ("lambdamart",)) -> "ListRecipe":
        """Recipe of the lists.

        Args:
            initial: initial rankers, if `lists` names none.
        """
        from shuffleproof.core.rankers.initial import ListRecipe  # noqa: PLC0415 (only who works pays for it)

        fields = asdict(ListRecipe(tuple(f"{name}@{self.usual_preset}" for name in initial)))
        fields |= dict(self.lists or {})
        return ListRecipe(**fields | {"initial": tuple(fields["initial"])})

    def open_workbench(
        self, recipe: "ListRecipe | None" = None
    ) -> Generator[Progress, None, "Workbench"]:
        """Workbench of the data set, with the lists of a recipe or of the scope."""
        from shuffleproof.core.studies.workbench import Workbench  # noqa: PLC0415 (only who works pays for it)

        data = self.pinned or self.data
        workbench = yield from Workbench.open(
            data, recipe or self.recipe(), self.store, self.usual_preset
        )
        return replace(workbench, name=self.data)

    def folds(self) -> list["Scope"]:
        """Scopes of the folds of its data set."""
        from shuffleproof.core.data.layout import folds_of  # noqa: PLC0415 (only who works pays for it)

        names = folds_of(self.data, self.store)
        keys = self.pinned.split(",") if self.pinned else [None] * len(names)
        return [
            replace(self, data=name, preset=self.usual_preset, pinned=key)
            for name, key in zip(names, keys, strict=True)
        ]


@dataclass(frozen=True)
class Question:
    """Settings of a study of one kind.

    A kind's question is a frozen dataclass whose fields are written with `core.parameters`. Its
    folder also contains `study` (`run`, and optionally `Plan`) and `sections` (`sections`,
    `answer`, and the function of `printing`), which are loaded when needed.
    """

    kind: ClassVar[str]
    """Name of the kind in commands, jobs and addresses."""

    title: ClassVar[str]
    """The question in plain words; the title of its page."""

    source: ClassVar[str]
    """Figure, table or property that it reproduces."""

    summary: ClassVar[str]
    """Summary in the help of its command."""

    page: ClassVar[str] = ""
    """Path of its page; empty: the kind's name."""

    initial: ClassVar[tuple[str, ...]] = ("lambdamart",)
    """Default initial rankers of its lists."""

    doing: ClassVar[str] = ""
    """Verb of its job, followed by the rankers' names; by default the kind's name."""

    tested: ClassVar[bool] = False
    """True if differences are tested, so that the methods paragraph describes the tests."""

    sample: ClassVar[Mapping[str, Any]] = {}
    """Fields of the built-in study that differ from the defaults."""

    printing: ClassVar[str] = "result.summary()"
    """Python expression that prints the result; fields in braces, tuples as lists."""

    over_folds: ClassVar[bool] = False
    """True if it covers all folds of a data set together."""

    def __post_init__(self) -> None:
        """Convert lists to tuples, then check every field; counts with a default need a value."""
        for field in dataclasses.fields(self):
            value = user_names.of(
                field.metadata.get("names"), _as_tuples(getattr(self, field.name))
            )
            if isinstance(value, str) and (choices := field.metadata.get("choices")):
                value = choice_named(choices, value)
            object.__setattr__(self, field.name, value)
        check(self)
        for declared in parameters(self):
            counts = declared.low == 1 and declared.default
            if counts and getattr(self, declared.name) == ():
                raise ParameterError(declared.name, "", "one or more whole numbers")

    @classmethod
    def of(cls, recipe: Facts, _facts: Facts, /) -> "Question":
        """Question of a stored study.

        Args:
            recipe: of the study.
            _facts: of the study.

        Raises:
            UsageError: an old study that lacks a field.
        """
        values = {
            field.name: recipe[field.name] for field in parameters(cls) if field.name in recipe
        }
        return cls.from_plain(values | {"rankers": rankers_of(recipe)})

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Question":
        """Question of JSON values, whose lists become tuples.

        Raises:
            ParameterError: a value out of its bounds.
        """
        fields = {field.name: field for field in parameters(cls)}
        return cls(**{name: plain_of(fields[name], value) for name, value in values.items()})

    def is_recorded(self, scope: Scope) -> bool:
        """True if its data hold recorded answers, so that nothing is trained or called."""
        del scope
        return False

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the data, train missing rankers, compute; returns the stored result."""
        workbench = yield from scope.open_workbench()
        return (yield from self.run(workbench))

    def in_store(self, store: Store) -> "Question":
        """Copy with stored rankers as `name#digits`, instead of other names or keys of theirs.

        Raises:
            ArtefactError: an ambiguous name.
        """
        fields = [field.name for field in parameters(self) if field.names == "rankers"]
        names = {name: user_names.stored_name(getattr(self, name), store) for name in fields}
        changed = {name: value for name, value in names.items() if value != getattr(self, name)}
        return replace(self, **changed) if changed else self

    def answer(
        self, scope: Scope, max_seconds: int | float | None = None
    ) -> Generator[Progress, None, Artefact]:
        """Run `study`, or the part of it that finishes in time (`core.progress.limit_seconds`).

        Raises:
            ParameterError: `max_seconds` is not positive.
        """
        if max_seconds is not None and not max_seconds > 0:
            raise ParameterError("max_seconds", max_seconds, "a number of seconds above 0")
        work = self.in_store(scope.store).study(scope)
        return (yield from work if max_seconds is None else limit_seconds(max_seconds, work))

    def run(self, workbench: "Workbench") -> Generator[Progress, None, Artefact]:
        """Run the study on an opened data set."""
        return (yield from self.module("study").run(workbench, self))

    @classmethod
    def plan_of(cls, recipe: Facts) -> "Plan":
        """Plan of a stored study, which gives its records and its result."""
        from shuffleproof.core.studies.study import Study  # noqa: PLC0415 (only who reads pays for it)

        plan: Plan = getattr(cls.module("study"), "Plan", Study).of(recipe)
        return plan

    @classmethod
    def module(cls, name: str) -> Any:
        """Module of the kind's folder, loaded when needed: `study` or `sections`."""
        return import_module(cls.place(name))

    @classmethod
    def command_words(cls) -> tuple[str, ...]:
        """Words after `study` that name the kind."""
        return (cls.kind,)

    @classmethod
    def place(cls, name: str) -> str:
        """Full name of that module."""
        return f"{cls.__module__.rpartition('.')[0]}.{name}"

    def names(self) -> "Names":
        """Names to check before any work; `refuse` checks the other ones."""
        from shuffleproof.core.studies.names import Names  # noqa: PLC0415 (only who asks pays for it)

        names: dict[str, Any] = {}
        sorts = {field.name for field in dataclasses.fields(Names)}
        for field in parameters(self):
            value = getattr(self, field.name)
            if field.names in sorts and value is not None:
                names.setdefault(field.names, []).extend(_several(value))
        return Names(**names)

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse invalid questions before anything is read, listed or trained.

        Args:
            scope: data and lists of the study.
            from_outside: True if files and functions of this machine are allowed.

        Raises:
            UnknownNameError: an unknown name.
            UsageError, ParameterError: an impossible question, or no ranker is named.
        """
        self = self.in_store(scope.store)  # noqa: PLW0642 (the same question, told in full)
        for field in parameters(self):
            value = getattr(self, field.name)
            if field.names in {"rankers", "measures"} and value == ():
                raise UsageError(f"a study needs a {field.names[:-1]}: name at least one")
            if field.names and value is not None:
                user_names.refuse_unknown(field.names, _several(value), scope.usual_preset)
        from shuffleproof.core.studies import names  # noqa: PLC0415 (which loads NumPy)

        initial = scope.recipe(self.initial).rankers
        every_name = replace(self.names(), initial=initial, from_outside=from_outside)
        names.check(every_name, scope.usual_preset, scope.store)
        self.refuse(scope)

    def limited(self, scope: Scope) -> tuple["Question", Scope]:
        """Question and scope; a limit of queries in the scope's lists moves to the question.

        Only kinds with a field for it are changed: nothing else of their lists differs.
        """
        lists = dict(scope.lists or {})
        queries = lists.pop(QUERIES, None)
        if queries is None or all(field.name != QUERIES for field in parameters(self)):
            return self, scope
        return replace(self, **{QUERIES: queries}), replace(scope, lists=lists)

    def refuse(self, scope: Scope, /) -> None:
        """Refuse impossible questions before work, in addition to names and bounds.

        Raises:
            UsageError, ParameterError: an impossible question.
        """

    @classmethod
    def list_facts(cls, facts: Facts) -> Facts:
        """Facts without the list options that this kind always sets itself."""
        return facts

    @classmethod
    def sections_module(cls) -> "SectionsModule":
        """Sections module of this kind: sections for display, an answer in JSON."""
        sections: SectionsModule = cls.module("sections")
        return sections

    def result_line(self) -> str:
        """Expression that prints the result, from `result` and one function of `sections`."""
        fields = vars(self).items()
        return self.printing.format(
            **{name: list(value) if isinstance(value, tuple) else value for name, value in fields}
        )


def rankers_of(recipe: Facts) -> list[str]:
    """Rankers of a study, without the initial ranking, which is always included."""
    return [str(label) for label, _ in recipe.get("rankers", ()) if label != INITIAL]


def _as_tuples(value: Any) -> Any:
    """Lists as tuples, recursively."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


GivenFlags = Mapping[str, Any]
"""Flags that the user gave, by their names without dashes."""


@dataclass(frozen=True)
class Flag:
    """One flag of a command.

    Attributes:
        name: without dashes.
        help: its help text.
        required: True if it must be given.
        choices: allowed texts; empty: any.
        several: True if it accepts several words.
    """

    name: str
    help: str
    required: bool = False
    choices: tuple[str, ...] = ()
    several: bool = False


@runtime_checkable
class FlagSyntax(Protocol):
    """Flags of one field."""

    def flags(self, field: Parameter, /) -> Iterable[Flag]:
        """Flags, in the order of a help text."""

    def value(self, field: Parameter, given: GivenFlags, preset: str, /) -> Any:
        """Value of the field.

        Args:
            field: of the question.
            given: the flags.
            preset: of rankers named without one.

        Raises:
            ParameterError: an invalid text.
        """

    def words(self, field: Parameter, value: Any, preset: str, /) -> list[str]:
        """Words that set a value; none for the default.

        Raises:
            UsageError: no flags can set it.
        """


class OwnFlag:
    """Flag with the field's own name."""

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """Flag with its default in its help."""
        default = "" if field.default in (None, ()) or field.is_required else text_of(field.default)
        words = f"{field.help} (default {default})" if default else field.help
        choices = () if field.several else field.choices
        yield Flag(flag_of(field), words, field.is_required, choices)

    def value(self, field: Parameter, given: GivenFlags, _preset: str) -> Any:
        """Value of its text; the default if the flag is not given."""
        name = flag_of(field)
        if name not in given:
            return field.default
        return value_of(replace(field, name=f"--{name}"), given[name])

    def words(self, field: Parameter, value: Any, _preset: str) -> list[str]:
        """Flag and text of a value."""
        return [] if value == field.default else [f"--{flag_of(field)}", text_of(value)]


@dataclass(frozen=True)
class SingleFlag:
    """Flag of another name, for one value of a field that accepts several.

    Attributes:
        name: of the flag.
    """

    name: str

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """Flag with its default in its help."""
        yield Flag(self.name, f"{field.help} (default {text_of(field.default)})")

    def value(self, field: Parameter, given: GivenFlags, _preset: str) -> tuple[str, ...]:
        """Value of the flag, as a tuple."""
        return (given[self.name],) if self.name in given else field.default

    def words(self, field: Parameter, value: Sequence[str], _preset: str) -> list[str]:
        """Flag and text of the value."""
        return [] if tuple(value) == field.default else [f"--{self.name}", *value]


@dataclass(frozen=True)
class Levels:
    """Flags for pairs (family, level): families, and the levels of each.

    Attributes:
        families: default families; None: some must be named.
        help: of the flag of families.
        as_is_first: True if the study may have added the unperturbed lists in front.
    """

    families: str | None
    help: str
    as_is_first: bool = False

    def flags(self, _field: Parameter) -> Iterable[Flag]:
        """Flags `--families` and `--levels`."""
        default = f" (default {self.families})" if self.families else ""
        yield Flag("families", f"{self.help}{default}", required=self.families is None)
        yield Flag(
            "levels", "severity levels, comma-separated; by default those of each perturbation"
        )

    def value(
        self, _field: Parameter, given: GivenFlags, _preset: str
    ) -> tuple[tuple[str, float], ...]:
        """Pairs, family by family.

        Raises:
            UnknownNameError: no such family.
        """
        families = parts_of(given.get("families", self.families or ""))
        refuse_unknown(families)
        from shuffleproof.core.perturb.levels import pairs_of  # noqa: PLC0415 (the registry of families: NumPy)

        return pairs_of(families, given.get("levels"))

    def words(
        self, _field: Parameter, value: Sequence[tuple[str, float]], _preset: str
    ) -> list[str]:
        """Flags of families and levels that give the same pairs."""
        for pairs in (value, value[1:]) if self.as_is_first else (value,):
            families = list(dict.fromkeys(family for family, _ in pairs))
            levels = [level for family, level in pairs if families and family == families[0]]
            for levels_text in (None, text_of(levels[1:]), text_of(levels)):
                if families and _reads_as(families, levels_text, pairs):
                    flags = [] if families == [self.families] else ["--families", text_of(families)]
                    return [*flags, *([] if levels_text is None else ["--levels", levels_text])]
        raise UsageError("no flags of the command line say these levels: use the lines of Python")


def flag_of(field: Parameter) -> str:
    """Name of a field's own flag.

    >>> from shuffleproof.core.parameters import Parameter
    >>> flag_of(Parameter("dead_below", float, 0.1, ""))
    'dead-below'
    """
    return field.name.replace("_", "-")


def syntax_of(field: Parameter) -> FlagSyntax:
    """Flag syntax of a field."""
    return field.flags or OwnFlag()


def _reads_as(families: Sequence[str], levels: str | None, pairs: Sequence[Any]) -> bool:
    """True if these flags give these pairs; False if a family refuses the levels."""
    from shuffleproof.core.perturb.levels import pairs_of  # noqa: PLC0415 (the registry of families: NumPy)

    try:
        return levels != "" and pairs_of(families, levels) == tuple(pairs)
    except ParameterError:
        return False
