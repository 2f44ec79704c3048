"""A question: what a study of one kind is asked, declared once.

From the fields of a question come the flags of its command and their help, the parameters of its
job, what is refused, and the command and the Python that ask it again. A field has the flag of its
own name; `parameter(flags=…)` names another way where one flag does not say it. Questions load
neither NumPy nor a study: whoever asks what there is waits for nothing.
"""

import dataclasses
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from shuffleproof.core.data.layout import SAMPLE
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


RANKERS = "comma-separated, each with @preset, or a Python callable `module:function`"
NAMED_RANKERS = (
    "comma-separated; also combinations (rrf:dlcm+mart, shuffled:dlcm), stored ones (name#digits), "
    "files (scores:, lightgbm:, xgboost: and a path) and module:function"
)
"""What fields of rankers say of themselves."""

QUERIES = "queries"
"""The field of lists, and of some questions, that says how many test queries are studied."""

Facts = Mapping[str, Any]


def preset_of(data: str) -> str:
    """The preset of rankers that are named without one."""
    return "small" if data == SAMPLE else "paper"


@dataclass(frozen=True)
class Scope:
    """What a question is asked of: a data set, its candidate lists, and where all is kept.

    Attributes:
        store: where data, rankers and studies are kept.
        data: a stored name, a folder or `sample`.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one; by default `small` for the sample, else
            `paper`.
        pinned: the data set's key, where its name may mean something else by now; of folds, their
            keys with commas.
    """

    store: Store
    data: str = SAMPLE
    lists: Mapping[str, Any] | None = None
    preset: str | None = None
    pinned: str | None = None

    def __post_init__(self) -> None:
        """Let names mean the presets that were tuned in this store."""
        named_presets.know(self.store)

    @property
    def usual_preset(self) -> str:
        """The preset of rankers named without one."""
        return self.preset or preset_of(self.data)

    def recipe(self, initial: tuple[str, ...] = ("lambdamart",)) -> "ListRecipe":
        """How lists are made.

        Args:
            initial: initial rankers where `lists` names none.
        """
        from shuffleproof.core.rankers.initial import ListRecipe  # noqa: PLC0415 (only who works pays for it)

        fields = asdict(ListRecipe(tuple(f"{name}@{self.usual_preset}" for name in initial)))
        fields |= dict(self.lists or {})
        return ListRecipe(**fields | {"initial": tuple(fields["initial"])})

    def open_workbench(
        self, recipe: "ListRecipe | None" = None
    ) -> Generator[Progress, None, "Workbench"]:
        """The workbench of the data set, with the lists of a recipe or of the scope."""
        from shuffleproof.core.studies.workbench import Workbench  # noqa: PLC0415 (only who works pays for it)

        data = self.pinned or self.data
        workbench = yield from Workbench.open(
            data, recipe or self.recipe(), self.store, self.usual_preset
        )
        return replace(workbench, name=self.data)

    def folds(self) -> list["Scope"]:
        """The same of every fold of its data set."""
        from shuffleproof.core.data.folds import folds_of  # noqa: PLC0415 (only who works pays for it)

        names = folds_of(self.data, self.store)
        keys = self.pinned.split(",") if self.pinned else [None] * len(names)
        return [
            replace(self, data=name, preset=self.usual_preset, pinned=key)
            for name, key in zip(names, keys, strict=True)
        ]


@dataclass(frozen=True)
class Question:
    """What a study of one kind is asked.

    A kind's question is a frozen dataclass whose fields are written with `core.parameters`. Beside
    it in its folder are `study` (`run`, and `Plan` where it has one of its own) and `sections`
    (`sections`, `answer`, and what `printed` names), which are loaded when they are needed.
    """

    kind: ClassVar[str]
    """Its name in commands, jobs and addresses."""

    title: ClassVar[str]
    """What it asks, in plain words; the title of its page."""

    source: ClassVar[str]
    """The figure, table or property that it comes from."""

    summary: ClassVar[str]
    """What its command says of itself."""

    page: ClassVar[str] = ""
    """The path of the page that shows it; empty: the kind's name."""

    initial: ClassVar[tuple[str, ...]] = ("lambdamart",)
    """Initial rankers of its lists, where none are named."""

    doing: ClassVar[str] = ""
    """What its job does, with the rankers' names behind it; by default the kind's name."""

    tested: ClassVar[bool] = False
    """Whether differences are tested, so that its methods say how."""

    sample: ClassVar[Mapping[str, Any]] = {}
    """Fields of the study that ships with the program, where they are not the defaults."""

    printing: ClassVar[str] = "result.summary()"
    """What prints what was found, in Python: its fields in braces, tuples as lists."""

    over_folds: ClassVar[bool] = False
    """Whether it is asked of all folds of a data set together."""

    def __post_init__(self) -> None:
        """Lists become tuples; then every field is checked, and counts by default are not none."""
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
        """The question that a stored study has answered.

        Args:
            recipe: of the study.
            _facts: of the study.

        Raises:
            UsageError: an old study that does not tell.
        """
        values = {
            field.name: recipe[field.name] for field in parameters(cls) if field.name in recipe
        }
        return cls.from_plain(values | {"rankers": rankers_of(recipe)})

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Question":
        """The question of JSON values, whose lists become tuples.

        Raises:
            ParameterError: a value out of its bounds.
        """
        fields = {field.name: field for field in parameters(cls)}
        return cls(**{name: plain_of(fields[name], value) for name, value in values.items()})

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open what is needed, train what is missing, work; returns the stored result."""
        workbench = yield from scope.open_workbench()
        return (yield from self.run(workbench))

    def in_store(self, store: Store) -> "Question":
        """The same with stored rankers by `name#digits`, where a key or a name of theirs is said.

        Raises:
            ArtefactError: several could be meant.
        """
        fields = [field.name for field in parameters(self) if field.names == "rankers"]
        names = {name: user_names.stored_name(getattr(self, name), store) for name in fields}
        changed = {name: value for name, value in names.items() if value != getattr(self, name)}
        return replace(self, **changed) if changed else self

    def answer(
        self, scope: Scope, max_seconds: int | float | None = None
    ) -> Generator[Progress, None, Artefact]:
        """`study`, or what of it is finished in so many seconds (`core.progress.limit_seconds`).

        Raises:
            ParameterError: seconds that are none.
        """
        if max_seconds is not None and not max_seconds > 0:
            raise ParameterError("max_seconds", max_seconds, "a number of seconds above 0")
        work = self.in_store(scope.store).study(scope)
        return (yield from work if max_seconds is None else limit_seconds(max_seconds, work))

    def run(self, workbench: "Workbench") -> Generator[Progress, None, Artefact]:
        """Answer it on an opened data set."""
        return (yield from self.module("study").run(workbench, self))

    @classmethod
    def plan_of(cls, recipe: Facts) -> "Plan":
        """The plan of a study that was asked it: its records, and what they make."""
        from shuffleproof.core.studies.study import Study  # noqa: PLC0415 (only who reads pays for it)

        plan: Plan = getattr(cls.module("study"), "Plan", Study).of(recipe)
        return plan

    @classmethod
    def module(cls, name: str) -> Any:
        """A module of the kind's folder, loaded when it is needed: `study` or `sections`."""
        return import_module(cls.place(name))

    @classmethod
    def command_words(cls) -> tuple[str, ...]:
        """The words behind `study` that name the kind."""
        return (cls.kind,)

    @classmethod
    def place(cls, name: str) -> str:
        """The full name of that module."""
        return f"{cls.__module__.rpartition('.')[0]}.{name}"

    def names(self) -> "Names":
        """What is looked up before anything is made; `refuse` looks up what else it names."""
        from shuffleproof.core.studies.names import Names  # noqa: PLC0415 (only who asks pays for it)

        names: dict[str, Any] = {}
        sorts = {field.name for field in dataclasses.fields(Names)}
        for field in parameters(self):
            value = getattr(self, field.name)
            if field.names in sorts and value is not None:
                names.setdefault(field.names, []).extend(_several(value))
        return Names(**names)

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse what can be known before anything is read, listed or trained.

        Args:
            scope: what it is asked of.
            from_outside: files and functions of this machine may be named.

        Raises:
            UnknownNameError: a name that nothing has.
            UsageError, ParameterError: what it asks cannot be, or no ranker is named.
        """
        self = self.in_store(scope.store)  # noqa: PLW0642 (the same question, told in full)
        for field in parameters(self):
            value = getattr(self, field.name)
            if field.names in {"rankers", "measures"} and value == ():
                raise UsageError(f"a study needs a {field.names[:-1]}: name at least one")
            if field.names and value is not None:
                user_names.refuse_unknown(field.names, _several(value), scope.usual_preset)
        from shuffleproof.core.studies import names  # noqa: PLC0415 (which loads NumPy)

        initial = scope.recipe(self.initial).initial
        every_name = replace(self.names(), initial=initial, from_outside=from_outside)
        names.check(every_name, scope.usual_preset, scope.store)
        self.refuse(scope)

    def limited(self, scope: Scope) -> tuple["Question", Scope]:
        """The question and its scope, where the scope's lists are those of the first queries.

        A kind that has a field for their number takes it there: nothing else of its lists differs.
        """
        lists = dict(scope.lists or {})
        queries = lists.pop(QUERIES, None)
        if queries is None or all(field.name != QUERIES for field in parameters(self)):
            return self, scope
        return replace(self, **{QUERIES: queries}), replace(scope, lists=lists)

    def refuse(self, scope: Scope, /) -> None:
        """Refuse what can be known before work, beside names and bounds.

        Raises:
            UsageError, ParameterError: what it asks cannot be.
        """

    @classmethod
    def lists_said(cls, facts: Facts) -> Facts:
        """The facts of a study as if all that needs no flag of this kind were the usual lists."""
        return facts

    @classmethod
    def telling(cls) -> "SectionsModule":
        """What tells what a study of this kind found: sections for people, an answer in JSON."""
        sections: SectionsModule = cls.module("sections")
        return sections

    def result_line(self) -> str:
        """What prints, from `result` and one function of `sections`, what was found."""
        fields = vars(self).items()
        return self.printing.format(
            **{name: list(value) if isinstance(value, tuple) else value for name, value in fields}
        )


def rankers_of(recipe: Facts) -> list[str]:
    """The rankers that were asked for; the initial ranking is always there."""
    return [str(label) for label, _ in recipe.get("rankers", ()) if label != INITIAL]


def _as_tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


GivenFlags = Mapping[str, Any]
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

    def flags(self, field: Parameter, /) -> Iterable[Flag]:
        """The flags, in the order of a help text."""

    def value(self, field: Parameter, given: GivenFlags, preset: str, /) -> Any:
        """The field's value.

        Args:
            field: of the question.
            given: the flags.
            preset: of rankers named without one.

        Raises:
            ParameterError: a text that is none of its values.
        """

    def words(self, field: Parameter, value: Any, preset: str, /) -> list[str]:
        """The words that say a value; none for what is taken where nothing is said.

        Raises:
            UsageError: no flags say it.
        """


class OwnFlag:
    """One flag of the field's own name."""

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """The flag, with its default in its help."""
        default = "" if field.default in (None, ()) or field.is_required else text_of(field.default)
        words = f"{field.help} (default {default})" if default else field.help
        choices = () if field.several else field.choices
        yield Flag(flag_of(field), words, field.is_required, choices)

    def value(self, field: Parameter, given: GivenFlags, _preset: str) -> Any:
        """The value of its text; the default where the flag is not given."""
        name = flag_of(field)
        if name not in given:
            return field.default
        return value_of(replace(field, name=f"--{name}"), given[name])

    def words(self, field: Parameter, value: Any, _preset: str) -> list[str]:
        """The flag and its text."""
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

    def value(self, field: Parameter, given: GivenFlags, _preset: str) -> tuple[str, ...]:
        """The value alone."""
        return (given[self.name],) if self.name in given else field.default

    def words(self, field: Parameter, value: Sequence[str], _preset: str) -> list[str]:
        """The flag and the value."""
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

    def flags(self, _field: Parameter) -> Iterable[Flag]:
        """`--families` and `--levels`."""
        default = f" (default {self.families})" if self.families else ""
        yield Flag("families", f"{self.help}{default}", required=self.families is None)
        yield Flag("levels", "levels of each family, comma-separated; by default the family's own")

    def value(
        self, _field: Parameter, given: GivenFlags, _preset: str
    ) -> tuple[tuple[str, float], ...]:
        """The pairs, family by family.

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
        """Families and levels that give the same pairs."""
        for pairs in (value, value[1:]) if self.as_is_first else (value,):
            families = list(dict.fromkeys(family for family, _ in pairs))
            levels = [level for family, level in pairs if families and family == families[0]]
            for levels_text in (None, text_of(levels[1:]), text_of(levels)):
                if families and _reads_as(families, levels_text, pairs):
                    flags = [] if families == [self.families] else ["--families", text_of(families)]
                    return [*flags, *([] if levels_text is None else ["--levels", levels_text])]
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
    from shuffleproof.core.perturb.levels import pairs_of  # noqa: PLC0415 (the registry of families: NumPy)

    try:
        return levels != "" and pairs_of(families, levels) == tuple(pairs)
    except ParameterError:
        return False
