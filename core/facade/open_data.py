"""Questions as methods: what is open for studies has a method for every kind of study."""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from inspect import Signature
from os import PathLike, fspath
from typing import Any, TypeVar

from shuffleproof.command import answer, arguments_for_flags
from shuffleproof.core.cli.open import with_conventions
from shuffleproof.core.cli.progress_bar import ProgressBar, bars
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.parameters import parameters
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.store.artefacts import Store, default_store, store_at
from shuffleproof.core.studies import workbench
from shuffleproof.core.studies.by_name import LEVELS, by_name
from shuffleproof.core.studies.kinds.retrieval.question import Retrieval
from shuffleproof.core.studies.question import Levels, Question, Scope, syntax_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES
from shuffleproof.result import Result

Value = TypeVar("Value")
Place = str | PathLike[str]
StorePlace = Place | Store | None

FORMS = "names (at their own levels), {family: levels}, or pairs (family, level)"
"""How families with levels are given."""

RETURNS = """

Returns:
    A `Result`: its `finding`, `table()`, `figure()`, `per_query()`, `export(path)`.
"""

LIMITS: Mapping[str, str] = {
    "queries": "number of test queries, from the first",
    "max_seconds": "time limit: no new trial starts after it; the answer covers the finished "
    "trials",
}
"""What every study takes beside the fields of its question."""


@dataclass(frozen=True, repr=False)
class OpenData:
    """Data set that is open for studies.

    Attributes:
        scope: the data, how its lists are made, the preset and the store.
        progress: whether bars are shown while something works.
        notes: what was noticed when the data was read in.
    """

    scope: Scope
    progress: bool = True
    notes: Sequence[str] = ()

    @property
    def _scope(self) -> Scope:
        """Scope for questions about a single fold."""
        return self.scope

    def _done(self, title: str, work: Generator[Progress, None, Value]) -> Value:
        with closing(ProgressBar(title, shown=self.progress)) as watch:
            return run_to_end(work, watch)

    def _command(self, command: str, /, *places: str, **flags: Any) -> Any:
        """Answer of a shell command in this store, as with `--json`."""
        with bars(progress=self.progress):
            return answer(command, places, {"store": self.scope.store.root, **flags}).json

    @arguments_for_flags()
    def _answer(self, kind: type[Question], given: dict[str, Any]) -> Result:
        """The answer to a question of a kind, from values as a person writes them."""
        values = {}
        for field in parameters(kind):
            values[field.name] = (
                by_name(field, given.pop(field.name))
                if field.name in given
                else syntax_of(field).value(field, {}, self.scope.usual_preset)
            )
        question = with_conventions(kind(**values), given.pop("conventions", None))
        scope = self.scope if kind.over_folds else self._scope
        title = kind.kind.replace("-", " ")
        with closing(ProgressBar(title, shown=self.progress)) as watch:
            answer = workbench.ask(
                question, scope.data, preset=scope.preset, store=scope.store, watch=watch,
                **{**(scope.lists or {}), **given},
            )  # fmt: skip
        return Result.of(answer)


VARIED = {question.vary: question for question in COLLECTION_STUDIES.values() if question.vary}
"""Questions of `retrieval`, by what they vary."""


def store_of(place: StorePlace) -> Store:
    """The store that an argument `store` names: the user's own where it names none."""
    if isinstance(place, Store):
        return place
    return store_at(fspath(place)) if place else default_store()


OTHERWISE = {"families": "perturbations", "levels": "perturbations", "ranker": "rankers"}
"""What flags, or people, call an argument of a method."""


def method(kind: type[Question], name: str, owner: str) -> Callable[..., Result]:
    """The method that asks questions of a kind."""
    signature = Signature(_arguments(kind), return_annotation=Result)

    def study(self: OpenData, *places: Any, **given: Any) -> Result:
        if kind is Retrieval and (vary := given.pop("vary", None)):
            if vary not in VARIED:
                raise UnknownNameError("variation", vary, VARIED)
            return method(VARIED[vary], name, owner)(self, *places, **given)
        try:
            bound = signature.bind(self, *places, **given)
        except TypeError as error:
            unknown = [argument for argument in given if argument not in signature.parameters]
            known = [argument for argument in signature.parameters if argument != "self"]
            if unknown:
                meant = OTHERWISE.get(unknown[0], "")
                meant = meant if meant in known else ""
                raise UnknownNameError(f"argument of {name}", unknown[0], known, meant) from None
            raise UsageError(f"{name}: {error}; give it {', '.join(known)}") from None
        values = dict(bound.arguments)
        return self._answer(kind, {key: value for key, value in values.items() if key != "self"})

    study.__name__, study.__qualname__ = name, f"{owner}.{name}"
    study.__doc__ = _documentation(kind)
    study.__signature__ = signature  # type: ignore[attr-defined]
    return study


def _arguments(kind: type[Question]) -> list[inspect.Parameter]:
    """The fields of a question as arguments, then those that all studies take."""
    by_place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = [inspect.Parameter("self", by_place)]
    for field in parameters(kind):
        usual = field.flags.families if isinstance(field.flags, Levels) else field.default
        required = field.is_required and usual in {None, field.default}
        default = inspect.Parameter.empty if required else usual
        arguments.append(inspect.Parameter(field.name, by_place, default=default))
    by_name_alone = inspect.Parameter.KEYWORD_ONLY
    more = (inspect.Parameter(name, by_name_alone, default=None) for name in _shared(kind))
    return [*arguments, *more]


def _shared(kind: type[Question]) -> Mapping[str, str]:
    """Keyword-only options of a kind's studies, with their help."""
    declared = {field.name: field for field in parameters(kind)}
    shared = {name: words for name, words in LIMITS.items() if name not in declared}
    if kind is Retrieval:
        shared["vary"] = f"one of {', '.join(VARIED)}, with the arguments of that study"
    if any(field.names == "measures" for field in declared.values()):
        shared["conventions"] = f"whose conventions measures have: {', '.join(BUNDLES)}"
    return shared


def _documentation(kind: type[Question]) -> str:
    """The docstring of a method: the question, and what its arguments are."""
    of_fields = {field.name: field.help or field.label for field in parameters(kind)}
    for field in parameters(kind):
        if field.names == LEVELS:
            of_fields[field.name] += f": {FORMS}"
    lines = [f"    {name}: {words}" for name, words in {**of_fields, **_shared(kind)}.items()]
    parts = [kind.title, f"{kind.summary} (source: {kind.source})", "Args:"]
    return "\n\n".join(parts) + "\n" + "\n".join(lines) + RETURNS
