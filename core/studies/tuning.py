"""Tuning: a search for the recipe that is best on validation, whose result is a named preset.

The first trials are the presets `paper` and `tuned` and the one that the search starts from, so the
result is never worse than these on validation. Then Optuna's TPE (Bergstra et al., NIPS 2011)
proposes, and trials that fall below the median of the others at the same epoch are stopped. Only
training and validation parts are read until the search is over; the test part is then looked at
once. Every trial is a training of the store, and its outcome a record: a search that was killed
takes the same steps again, and those that were done cost nothing.
"""

import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, fsum
from typing import TYPE_CHECKING, Any

import pandas as pd

from shuffleproof.core.data.folds import folds_of
from shuffleproof.core.errors import (
    DataError,
    DivergedError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.parameters import (
    Parameter,
    check,
    fields_of,
    parameter,
    parameters,
    value_of,
)
from shuffleproof.core.parameters import text_of as written
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.fit_cache import CachedRanker, quality
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.workbench import Workbench

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution

MEASURE = "NDCG@10"
FIRST = ("paper", "tuned")
"""Presets that are always tried, before anything is searched."""

TRIALS = 40
CURVE = 50
"""Points of a trial's curve at most."""

RECORDS = "tunings"
DONE, PRUNED, FAILED = "done", "pruned", "failed"
Range = tuple[Any, ...]
"""(low, high) of numbers, or the choices."""


@dataclass(frozen=True)
class Tuning:
    """What is searched.

    Attributes:
        ranker: a registered one, with @preset if the search does not start from the usual one.
        search: fields as `--search` has them: `leaves`, `leaves=8..64`, `optimiser=adam,sgd`; by
            default those whose declaration names a range.
        name: of the preset that is made.
    """

    ranker: str
    search: tuple[str, ...] = ()
    trials: int | None = parameter(None, "trials at most, the presets included", low=1)
    budget: float | None = parameter(
        None,
        "begin no trial after so long; paper and tuned are always tried",
        low=0,
        unit="seconds",
    )
    seed: int = parameter(0, "seed of the search", low=0)
    name: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers and the name."""
        check(self)
        if self.name is not None:
            named_presets.check(self.name)


@dataclass
class Search:
    """A search under way.

    Attributes:
        asked: what is searched.
        scope: of the data set and its folds.
        base: the ranker's name at the preset that the search starts from.
        space: the range of every field.
        folds: a workbench each.
        history: a row a trial.
    """

    asked: Tuning
    scope: Scope
    base: RankerName
    space: Mapping[str, Range]
    folds: Sequence[Workbench]
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def identity(self) -> dict[str, Any]:
        """What determines every trial but how many there are."""
        spec, first_fold = registry.spec(self.base), self.folds[0]
        return {
            "ranker": spec.recipe(),
            "search": {name: list(ends) for name, ends in self.space.items()},
            "seed": self.asked.seed,
            "lists": {} if spec.fits_documents else first_fold.recipe.learnt(),
            "folds": [
                [part.fingerprint for part in (workbench.fold.train, workbench.fold.valid)]
                for workbench in self.folds
            ],
        }

    def trial(
        self, name: RankerName, fields: Mapping[str, Any], asked: "Trial | None" = None
    ) -> Generator[Progress, None, dict[str, Any]]:
        """One trial: trained on every fold, or found; its row of the history.

        Args:
            name: of the ranker at a preset.
            fields: of its recipe that differ.
            asked: Optuna's, which may stop it; None: it is never stopped.
        """
        texts = {field: written(value) for field, value in fields.items()}
        facts = {"kind": "tune", "asked": self.identity, "pruned": asked is not None}
        recipe = registry.spec(name, **texts).recipe()
        digest = key_of("trial", facts | {"ranker": recipe}).digest
        records = Records(self.scope.store.root / RECORDS, self.scope.store.remote)
        if (stored := records.get(digest)) is not None:
            row = dict(stored[0])
            for step, value in row["curve"]:
                if asked is not None:
                    asked.report(value, step)
        else:
            row = yield from self._run_trial(name, texts, asked)
            records.put(digest, row, {})
        return row | {"fields": dict(fields)}

    def _run_trial(
        self, name: RankerName, texts: Mapping[str, str], trial: "Trial | None"
    ) -> Generator[Progress, None, dict[str, Any]]:
        start, values, keys, curve = time.perf_counter(), [], [], list[tuple[int, float]]()
        state, why = DONE, ""
        for at, workbench in enumerate(self.folds):
            watched = trial if at == 0 else None
            try:
                model = yield from _reporting_to_optuna(
                    workbench.trained(str(name), texts), curve, watched
                )
            except (DivergedError, DataError) as error:
                state, why = FAILED, str(error)
                break
            if model is None:
                state = PRUNED
                break
            values.append(float(model.artefact.facts["valid"].get(MEASURE, float("nan"))))
            keys.append(str(model.artefact.key))
        value = fsum(values) / len(values) if state == DONE else None
        seconds = time.perf_counter() - start
        return {
            "state": state, "value": value, "seconds": seconds, "why": why,
            "curve": [list(point) for point in curve], "rankers": keys,
        }  # fmt: skip


def _reporting_to_optuna(
    work: Generator[Progress, None, CachedRanker],
    curve: list[tuple[int, float]],
    trial: "Trial | None",
) -> Generator[Progress, None, CachedRanker | None]:
    """A training whose validation is told to Optuna on its way; None where that stops it."""
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        interval = max(1, ceil(progress.total / CURVE))
        if (
            trial
            and "valid" in progress.values
            and not progress.part
            and progress.done % interval == 0
        ):
            curve.append((progress.done, float(progress.values["valid"])))
            trial.report(curve[-1][1], progress.done)
            if trial.should_prune():
                work.close()
                return None
        yield progress


def space_of(name: RankerName, chosen: Sequence[str] = ()) -> dict[str, Range]:
    """The range of every field that is searched.

    Args:
        name: of the ranker at a preset.
        chosen: fields as `--search` has them.

    Raises:
        ParameterError: a field that the recipe has not, or a range beyond its bounds.
        UsageError: nothing to search.

    >>> space_of(RankerName.parse("mart@small"))["leaves"]
    (4, 128)
    >>> space_of(RankerName.parse("mart@small"), ["leaves=8..16"])
    {'leaves': (8, 16)}
    """
    fixed = FIXED.get(name.base, {})
    declared = _declared_parameters(registry.spec(name))
    searchable = {field: pair for field, pair in declared.items() if field not in fixed}
    if not chosen:
        space = {name: _declared_range(pair) for name, pair in searchable.items() if pair[0].search}
    else:
        pairs = fields_of([entry if "=" in entry else f"{entry}=" for entry in chosen])
        space = {}
        for field, text in pairs.items():
            if field not in searchable:
                raise ParameterError("--search", field, f"one of {', '.join(sorted(searchable))}")
            space[field] = _range(*searchable[field], text)
    if not space:
        raise UsageError(f"{name}: nothing of its recipe is searched; name fields with --search")
    return space


def _declared_parameters(spec: RankerSpec) -> dict[str, tuple[Parameter, Any]]:
    parts = (spec.model, spec.training) if isinstance(spec, NeuralSpec) else (spec,)
    return {
        declared.name: (declared, getattr(part, declared.name))
        for part in parts
        for declared in parameters(part)
    }


def _declared_range(pair: tuple[Parameter, Any]) -> Range:
    """The declared range, with the value that the preset has."""
    declared, value = pair
    low, high = declared.search[0], declared.search[-1]
    return (low, high) if value is None else (min(low, value), max(high, value))


def _range(declared: Parameter, value: Any, text: str) -> Range:
    """The range that a text of --search means."""
    if not text and declared.search:
        return _declared_range((declared, value))
    if not text and declared.choices:
        return tuple(declared.choices)
    low, dots, high = text.partition("..")
    allowed = f"{declared.name}=LOW..HIGH within its bounds ({declared.allowed}), or choices a,b"
    ends = [value_of(declared, end) for end in ((low, high) if dots else text.split(",")) if end]
    bounds = {"low": declared.low, "high": declared.high}
    inside = all(
        (declared.choices and end in declared.choices)
        or (isinstance(end, int | float) and (bounds["low"] is None or end >= bounds["low"])
            and (bounds["high"] is None or end <= bounds["high"]))
        for end in ends
    )  # fmt: skip
    if len(ends) < 2 or not inside or (dots and not ends[0] < ends[-1]):
        raise ParameterError("--search", f"{declared.name}={text}", allowed)
    return tuple(ends)


def _distribution(declared: Parameter, ends: Range) -> "BaseDistribution":
    """What Optuna draws a field from: logarithmic where the range spans a factor of eight."""
    from optuna import distributions  # noqa: PLC0415 (only who tunes pays for it)

    if len(ends) != 2 or any(isinstance(end, str | bool) or end is None for end in ends):
        return distributions.CategoricalDistribution(ends)
    low, high = ends
    log = low > 0 and high / low >= 8
    if declared.type in {int, int | None}:
        return distributions.IntDistribution(int(low), int(high), log=log)
    return distributions.FloatDistribution(float(low), float(high), log=log)


def refuse(asked: Tuning, scope: Scope) -> None:
    """Refuse a search that cannot be made, before any work.

    Raises:
        UsageError: a ranker that is not trained by a recipe.
        ParameterError: a field that is not searched so.
    """
    space_of(_tunable(asked.ranker, scope.usual), asked.search)


def tuned(asked: Tuning, scope: Scope) -> Generator[Progress, None, tuple[NamedPreset, bool]]:
    """Search, look at the test part once, and keep the best as a named preset.

    Returns:
        The preset, and whether it was there already.

    Raises:
        UsageError: a ranker that is not trained by a recipe, or a name that is taken.
    """
    base = _tunable(asked.ranker, scope.usual)
    space, name = space_of(base, asked.search), asked.name or name_for(scope.data)
    before = named_presets.find(scope.store, base.base, name)
    folds: list[Workbench] = []
    names = folds_of(scope.data, scope.store)
    keys = scope.pinned.split(",") if scope.pinned else [None] * len(names)
    for fold, key in zip(names, keys, strict=True):
        folds += [(yield from replace(scope, data=fold, pinned=key).opened())]
    search = Search(asked, scope, base, space, folds)
    if before is not None and _plain(before.asked) != _plain(search.identity):
        raise UsageError(f"{before} was tuned for something else: choose another --name")
    trials = asked.trials or (TRIALS if asked.budget is None else None)
    yield from _run_search(search, trials)
    best = max((row for row in search.history if row["state"] == DONE), key=_value, default=None)
    if best is None:
        why = next(row["why"] for row in search.history)
        raise DataError(str(base), f"no trial was finished ({why})", "Search other fields.")
    if before is not None and len(search.history) <= before.trials:
        return before, True
    preset = NamedPreset(
        base.base, name, best["of"] if best["of"] != SEARCH else base.preset, best["fields"],
        search.identity, len(search.history), scope.data, MEASURE, tuple(search.history),
        looks=1 + (before.looks if before else 0),
    )  # fmt: skip
    rows = [row for row in search.history if row["of"] != SEARCH and row["state"] == DONE]
    rows_by_label = {f"{base.base}@{row['of']}": row for row in rows} | {str(preset): best}
    tests: list[dict[str, Any]] = []
    for label, row in rows_by_label.items():
        tests += [{"ranker": label, **(yield from _test_means(search, row))}]
    preset = replace(preset, test=tuple(tests))
    named_presets.save(preset, scope.store)
    return preset, False


SEARCH = "search"


def _run_search(search: Search, trials: int | None) -> Generator[Progress, None, None]:
    """The presets, then what Optuna proposes, until all are made or the time is up."""
    declared = _declared_parameters(registry.spec(search.base))
    distributions = {
        name: _distribution(declared[name][0], ends) for name, ends in search.space.items()
    }
    study, start = _study(search.asked.seed), time.monotonic()
    entry = registry.entry(search.base.base)
    presets = [preset for preset in (*FIRST, search.base.preset) if preset in entry.presets]
    for preset in dict.fromkeys(presets):
        name = replace(search.base, preset=preset)
        row = yield from _as_search_progress(search, trials, search.trial(name, {}))
        search.history.append({"trial": len(search.history) + 1, "of": preset, **row})
        yield _report(search, trials)
        _tell_optuna(
            study,
            row,
            declared_of=_declared_parameters(registry.spec(name)),
            distributions=distributions,
        )
    while trials is None or len(search.history) < trials:
        if search.asked.budget is not None and time.monotonic() - start >= search.asked.budget:
            return
        trial = study.ask(distributions)
        fields = {name: _rounded(value) for name, value in trial.params.items()}
        row = yield from _as_search_progress(
            search, trials, search.trial(search.base, fields, trial)
        )
        search.history.append({"trial": len(search.history) + 1, "of": SEARCH, **row})
        yield _report(search, trials)
        _finish_trial(study, trial, row)


def _study(seed: int) -> "Study":
    try:
        import optuna  # noqa: PLC0415 (only who tunes pays for it)
    except ImportError as error:
        raise UsageError(
            "Optuna, which proposes trials, is not installed: pip install 'shuffleproof[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
    )


def _tell_optuna(
    study: "Study",
    row: Mapping[str, Any],
    declared_of: Mapping[str, tuple[Parameter, Any]],
    distributions: Mapping[str, "BaseDistribution"],
) -> None:
    """Let Optuna know a preset, where all its values lie in the ranges."""
    from optuna.trial import create_trial  # noqa: PLC0415 (only who tunes pays for it)

    values = {name: declared_of[name][1] for name in distributions}
    inside = all(
        value is not None and distribution._contains(distribution.to_internal_repr(value))  # noqa: SLF001 (Optuna tells it nowhere else)
        for distribution, value in ((distributions[name], values[name]) for name in distributions)
    )
    if row["state"] == DONE and inside:
        study.add_trial(
            create_trial(value=row["value"], params=values, distributions=dict(distributions))
        )


def _finish_trial(study: "Study", trial: "Trial", row: Mapping[str, Any]) -> None:
    from optuna.trial import TrialState  # noqa: PLC0415 (only who tunes pays for it)

    if row["state"] == DONE:
        study.tell(trial, row["value"])
    else:
        study.tell(trial, state=TrialState.PRUNED if row["state"] == PRUNED else TrialState.FAIL)


def _as_search_progress(
    search: Search, trials: int | None, work: Generator[Progress, None, dict[str, Any]]
) -> Generator[Progress, None, dict[str, Any]]:
    """A trial's reports as reports of the whole search."""
    finished = len(search.history)
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        yield Progress(finished, trials or finished + 1, "trials", {}, min(progress.share, 0.99))


def _report(search: Search, trials: int | None) -> Progress:
    """The report of the trial that has just ended: what it came to, and its numbers."""
    row, finished = search.history[-1], len(search.history)
    best = max(map(_value, search.history))
    values = {"best": best} if best > float("-inf") else {}
    values |= {VALID: _validation_value(row), row["state"]: 1.0}
    numbers = settings(search.base, row, search.space)
    values |= {
        name: float(number) for name, number in numbers.items() if isinstance(number, int | float)
    }
    return Progress(finished, max(trials or 0, finished), "trials", values)


VALID = "valid"
"""A trial's value on validation, in reports and in `table`."""


def table(preset: NamedPreset) -> pd.DataFrame:
    """The trials of a tuned preset, a row each.

    Returns:
        Columns trial, of, state, valid (of one that was stopped its last), seconds, and the fields
        that were searched.
    """
    base = RankerName.parse(f"{preset.ranker}@{preset.base}")
    rows = [
        {
            **{name: row[name] for name in ("trial", "of", "state")},
            VALID: _validation_value(row), "seconds": row["seconds"],
            **settings(base, row, preset.asked["search"]),
        }
        for row in preset.history
    ]  # fmt: skip
    return pd.DataFrame(rows)


def settings(base: RankerName, row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """The values that a trial gave to some fields: those it proposed, else its preset's."""
    name = base if row["of"] == SEARCH else replace(base, preset=row["of"])
    declared = _declared_parameters(registry.spec(name))
    return {field: row["fields"].get(field, declared[field][1]) for field in fields}


def _validation_value(row: Mapping[str, Any]) -> float:
    """What a trial came to on validation, as far as it went; NaN where it never measured."""
    last = row["curve"][-1][1] if row["curve"] else float("nan")
    return float(last if row["value"] is None else row["value"])


def _test_means(
    search: Search, row: Mapping[str, Any]
) -> Generator[Progress, None, dict[str, Any]]:
    """Means over the test queries of all folds, of the rankers of one trial."""
    sums: dict[str, float] = {}
    lists = 0
    ranker = search.base if row["of"] == SEARCH else replace(search.base, preset=row["of"])
    texts = {field: written(value) for field, value in row["fields"].items()}
    for workbench in search.folds:
        model = yield from workbench.trained(str(ranker), texts)
        test = workbench.test_lists()
        for name, value in quality(model.ranker, test).items():
            sums[name] = sums.get(name, 0.0) + value * len(test.lists)
        lists += len(test.lists)
    return {name: total / lists for name, total in sums.items()} | {"queries": lists}


def _tunable(text: str, preset: str) -> RankerName:
    name = RankerName.parse(text)
    if name.kind is not Kind.REGISTERED or not registry.entry(name.base).fitted:
        raise UsageError(f"{text} has no recipe to tune: name a trained ranker, such as lambdamart")
    name = registry.at(name, preset)
    if name.preset not in registry.entry(name.base).presets:
        raise UnknownNameError("built-in preset", name.preset, registry.entry(name.base).presets)
    return name


def name_for(data: str) -> str:
    """The name of a preset for a data set.

    >>> name_for("MQ2008"), name_for("/data/web-30k/")
    ('tuned_mq2008', 'tuned_web_30k')
    """
    last = data.rstrip("/").rpartition("/")[2].casefold()
    return f"tuned_{re.sub(r'[^a-z0-9]+', '_', last).strip('_')}"[:60]


def _plain(value: Any) -> Any:
    """As JSON gives it back: lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _rounded(value: Any) -> Any:
    """A proposed number with three digits, which people can read and write."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _value(row: Mapping[str, Any]) -> float:
    return float("-inf") if row["value"] is None else float(row["value"])
