"""Tuning: a search for the recipe that is best on validation, whose result is a named preset.

The first trials are the presets `paper` and `tuned` and the one that the search starts from, so the
result is never worse than these on validation. Then Optuna's TPE (Bergstra et al., NIPS 2011)
proposes, and trials that measure validation on their way (networks, and what has patience) are
stopped where they fall below the median of the others at the same epoch. Only training and
validation parts are read until the search is over; the test part is then looked at once. Every
trial is a training of the store, and its outcome a record: a search that was killed takes the same
steps again, and those that were done cost nothing. Several workers do the trials of a round, which
are proposed before any of them is known, so that the search is the same whoever works it, and in
what order.
"""

import json
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from shuffleproof.core.errors import (
    DataError,
    DivergedError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.execution import tasks
from shuffleproof.core.parameters import Parameter, check, parameter
from shuffleproof.core.parameters import text_of as written
from shuffleproof.core.progress import Progress, in_turn, with_reports
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.fit_cache import CachedRanker, FitGivenUp, quality
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.search_space import (
    Choices,
    Range,
    can_draw,
    distribution_of,
    fields_with_values,
    space_of,
)
from shuffleproof.core.store import manifest
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies.dry_run import NotStoredError, dry_workbenches
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
    at_once: int = parameter(1, "trials proposed at a time, for as many workers", low=1)

    def __post_init__(self) -> None:
        """Check the numbers and the name."""
        check(self)
        if self.name is not None:
            named_presets.check(self.name)


@dataclass
class Search:
    """A search under way.

    Attributes:
        tuning: what is searched.
        scope: of the data set and its folds.
        base: the ranker's name at the preset that the search starts from.
        space: the range of every field.
        folds: a workbench each.
        history: a row a trial.
        start: of the trials, by the monotonic clock.
    """

    tuning: Tuning
    scope: Scope
    base: RankerName
    space: Mapping[str, Range]
    folds: Sequence[Workbench]
    history: list[dict[str, Any]] = field(default_factory=list)
    start: float = field(default_factory=time.monotonic)

    @property
    def spent_share(self) -> float | None:
        """Share of the budget that is over, where no number of trials ends the search."""
        if self.tuning.trials is not None or self.tuning.budget is None:
            return None
        gone = time.monotonic() - self.start
        return min(1.0, gone / self.tuning.budget) if self.tuning.budget else 1.0

    @property
    def preset(self) -> str:
        """What it comes to, as commands take it."""
        return f"{self.base.base}@{self.tuning.name or name_for(self.scope.data)}"

    @property
    def identity(self) -> dict[str, Any]:
        """What determines every trial but how many there are."""
        spec, workbench = registry.spec(self.base), self.folds[0]
        choices = [name for name, ends in self.space.items() if isinstance(ends, Choices)]
        return {
            "ranker": spec.recipe(),
            "search": {name: list(ends) for name, ends in self.space.items()},
            "seed": self.tuning.seed,
            **({"choices": choices} if choices else {}),
            **({"at_once": self.tuning.at_once} if self.tuning.at_once > 1 else {}),
            "lists": {} if spec.fits_documents else workbench.recipe.learning_fields(),
            "folds": [
                [part.fingerprint for part in (one.fold.train, one.fold.valid)]
                for one in self.folds
            ],
        }

    def stored_row(self, proposal: "Proposal") -> dict[str, Any] | None:
        """The row of a trial that was made before; None: it is to be made."""
        stored = self._records.get(self.digest(proposal))
        return None if stored is None else dict(stored[0])

    def digest(self, proposal: "Proposal") -> str:
        """What a trial's row is filed under."""
        facts = {"kind": "tune", "asked": self.identity, "pruned": proposal.trial is not None}
        recipe = registry.spec(proposal.name, **proposal.texts).recipe()
        return key_of("trial", facts | {"ranker": recipe}).digest

    @property
    def _records(self) -> Records:
        return Records(self.scope.store.root / RECORDS)

    def trial(self, proposal: "Proposal") -> Generator[Progress, None, dict[str, Any]]:
        """One trial: trained on every fold, or found; its row of the history."""
        row = self.stored_row(proposal)
        if row is None:
            digest = self.digest(proposal)
            row = yield from self._worked(proposal, Curve(self._begun / f"{digest}.json"))
            self._records.put(digest, row, {})
        elif proposal.trial is not None:
            for step, value in row["curve"]:
                proposal.trial.report(value, step)
        return row | {"of": proposal.of, "fields": dict(proposal.fields)}

    @property
    def _begun(self) -> Path:
        return self.scope.store.root / RECORDS / "begun"

    def _worked(
        self, proposal: "Proposal", curve: "Curve"
    ) -> Generator[Progress, None, dict[str, Any]]:
        start, values, keys, took = time.perf_counter(), [], [], []
        state, why = DONE, ""
        for at, workbench in enumerate(self.folds):
            work = workbench.train(str(proposal.name), proposal.texts)
            try:
                trained = yield from _watched(work, curve, proposal.trial if at == 0 else None)
            except (DivergedError, DataError) as error:
                state, why = FAILED, str(error)
                break
            if trained is None:
                state = PRUNED
                break
            values.append(float(trained.artefact.facts["valid"].get(MEASURE, float("nan"))))
            keys.append(str(trained.artefact.key))
            took.append(float(trained.artefact.facts["seconds"]))  # also where it was there before
        value = fsum(values) / len(values) if state == DONE else None
        seconds = fsum(took) if state == DONE else time.perf_counter() - start
        points = curve.ended()
        return {
            "state": state, "value": value, "seconds": seconds, "why": why,
            "curve": [list(point) for point in points], "rankers": keys,
        }  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """A trial that is to be made.

    Attributes:
        of: a preset, or SEARCH.
        name: of the ranker at a preset.
        fields: of its recipe that differ.
        trial: Optuna's, which may stop it; None: it is never stopped.
    """

    of: str
    name: RankerName
    fields: Mapping[str, Any] = field(default_factory=dict)
    trial: "Trial | None" = None

    @property
    def texts(self) -> dict[str, str]:
        """The fields as recipes take them."""
        return {field: written(value) for field, value in self.fields.items()}


class Curve:
    """What a trial measures on its way, kept beside its checkpoint: a killed one has it whole."""

    def __init__(self, path: Path) -> None:
        """Read what was measured before a kill, if there was any."""
        self.path = path
        self.points: list[tuple[int, float]] = []
        try:
            found = json.loads(path.read_text(encoding="ascii"))
            self.points = [(int(step), float(value)) for step, value in found]
        except FileNotFoundError:
            pass  # it begins
        except (ValueError, TypeError):  # cut short: the pruner does without what was lost
            self.points = []

    def add(self, step: int, value: float) -> None:
        """Keep a point; one that takes a step again takes all after it again."""
        self.points = [point for point in self.points if point[0] < step] + [(step, value)]
        with manifest.disk_errors(self.path.name, self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps(self.points), encoding="ascii")
            fresh.replace(self.path)

    def ended(self) -> list[tuple[int, float]]:
        """All points, which the trial's row keeps from now on."""
        self.path.unlink(missing_ok=True)
        return self.points


def _watched(
    work: Generator[Progress, None, CachedRanker], curve: Curve, trial: "Trial | None"
) -> Generator[Progress, None, CachedRanker | None]:
    """A training whose validation is told to Optuna on its way; None where that stops it."""
    if trial is None:
        return (yield from work)
    is_told = False
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            if not is_told:
                _tell_before(curve, trial, None)
            return stop.value
        apart = max(1, ceil(progress.total / CURVE))
        if "valid" in progress.values and not progress.part and progress.done % apart == 0:
            if not is_told:
                _tell_before(curve, trial, progress.done)
                is_told = True
            curve.add(progress.done, float(progress.values["valid"]))
            trial.report(curve.points[-1][1], progress.done)
            if trial.should_prune():
                with suppress(FitGivenUp):
                    work.throw(FitGivenUp)
                return None
        yield progress


def _tell_before(curve: Curve, trial: "Trial", end: int | None) -> None:
    """Let Optuna know what a training measured before it was killed and resumed."""
    for step, value in curve.points:
        if end is None or step < end:
            trial.report(value, step)


def can_stop_early(base: RankerName) -> bool:
    """Whether trials that fall behind are stopped: those that measure validation on their way.

    >>> [can_stop_early(RankerName.parse(text)) for text in ("dlcm", "mart", "mart@tuned")]
    [True, False, True]
    """
    spec = registry.spec(base)
    return isinstance(spec, NeuralSpec) or getattr(spec, "patience", None) is not None


def refuse(tuning: Tuning, scope: Scope) -> None:
    """Refuse a search that cannot be made, before any work.

    Raises:
        UsageError: a ranker that is not trained by a recipe, or a name that is taken.
        ParameterError: a field that is not searched so.
    """
    base = _named(tuning.ranker, scope.usual_preset)
    space, before = space_of(base, tuning.search), stored_search(tuning, scope)
    if before is not None:
        with suppress(NotStoredError):  # files that are read first
            folds = dry_workbenches(scope)
            _refuse_other(before, Search(tuning, scope, base, space, folds))


def stored_search(tuning: Tuning, scope: Scope) -> NamedPreset | None:
    """What a search of the same ranker and name came to, which this one goes on from."""
    base = _named(tuning.ranker, scope.usual_preset).base
    return named_presets.find(scope.store, base, tuning.name or name_for(scope.data))


def trials_at_once(before: NamedPreset | None, workers: int) -> int:
    """How many trials are proposed at a time: as the stored search had it, or one each worker."""
    return int(before.asked.get("at_once", 1)) if before else workers


def tune(tuning: Tuning, scope: Scope) -> Generator[Progress, None, tuple[NamedPreset, bool]]:
    """Search, look at the test part once, and keep the best as a named preset.

    Returns:
        The preset, and whether it was there already.

    Raises:
        UsageError: a ranker that is not trained by a recipe, or a name that is taken.
    """
    refuse(tuning, scope)
    base = _named(tuning.ranker, scope.usual_preset)
    name, before = tuning.name or name_for(scope.data), stored_search(tuning, scope)
    folds = yield from in_turn(fold.open_workbench() for fold in scope.folds())
    search = Search(tuning, scope, base, space_of(base, tuning.search), folds)
    if before is not None:
        _refuse_other(before, search)
    wanted = tuning.trials or (TRIALS if tuning.budget is None else None)
    yield from _searched(search, wanted)
    best = max((row for row in search.history if row["state"] == DONE), key=_value, default=None)
    if best is None:
        why = next(row["why"] for row in search.history)
        raise DataError(str(base), f"no trial was finished ({why})", "Search other fields.")
    if before is not None and len(search.history) <= before.trials:
        named_presets.forget_trials(scope.store, search.preset)
        return before, True
    made = NamedPreset(
        base.base, name, best["of"] if best["of"] != SEARCH else base.preset, best["fields"],
        search.identity, len(search.history), scope.data, MEASURE, tuple(search.history),
        looks=1 + _looks_before(search),
    )  # fmt: skip
    rows = [row for row in search.history if row["of"] != SEARCH and row["state"] == DONE]
    shown = {f"{base.base}@{row['of']}": row for row in rows} | {str(made): best}
    tests: list[dict[str, Any]] = []
    for label, row in shown.items():
        tests += [{"ranker": label, **(yield from _looked(search, row))}]
    made = replace(made, test=tuple(tests))
    named_presets.save(made, scope.store)
    named_presets.forget_trials(scope.store, search.preset)
    return made, False


SEARCH = "search"


def _refuse_other(before: NamedPreset, search: Search) -> None:
    """Refuse the name of a preset that another search came to.

    Raises:
        UsageError: it did.
    """
    if _plain(before.asked) != _plain(search.identity):
        raise UsageError(
            f"{before} was tuned for something else: {_other(before.asked, search.identity)}; "
            f"choose another --name, ask as then, or free this one: `library delete {before}`"
        )


def _searched(search: Search, wanted: int | None) -> Generator[Progress, None, None]:
    """The presets, then rounds of what Optuna proposes, until all are made or the time is up.

    A trial begins while there is time; those that were made before take none.
    """
    declared = fields_with_values(registry.spec(search.base))
    drawn = {name: distribution_of(declared[name][0], ends) for name, ends in search.space.items()}
    tuning = search.tuning
    study, search.start = _study(tuning.seed, tuning.at_once), time.monotonic()
    entry = registry.entry(search.base.base)
    names = [name for name in (*FIRST, search.base.preset) if name in entry.presets]
    presets = [Proposal(name, replace(search.base, preset=name)) for name in dict.fromkeys(names)]
    rows = yield from _round(search, wanted, presets, None)
    for proposal, row in zip(presets, rows, strict=True):
        _tell(study, row, declared_of=fields_with_values(registry.spec(proposal.name)), drawn=drawn)
    end = None if tuning.budget is None else search.start + tuning.budget
    while wanted is None or len(search.history) < wanted:
        room = tuning.at_once if wanted is None else wanted - len(search.history)
        trials = [study.ask(drawn) for _ in range(min(tuning.at_once, room))]
        proposals = [
            Proposal(
                SEARCH, search.base,
                {name: _short(value) for name, value in trial.params.items()}, trial,
            )
            for trial in trials
        ]  # fmt: skip
        rows = yield from _round(search, wanted, proposals, end)
        for trial, row in zip(trials, rows, strict=False):
            _finish(study, trial, row)
        if len(rows) < len(trials):
            return


def _round(
    search: Search, wanted: int | None, proposals: Sequence[Proposal], end: float | None
) -> Generator[Progress, None, list[dict[str, Any]]]:
    """The rows of trials that do not need each other, up to the first for which no time is left.

    Time is left until `end`, by the monotonic clock; None: always.
    """
    rows, new = list[dict[str, Any]](), [search.stored_row(one) is None for one in proposals]
    if end is None or time.monotonic() < end:
        missing = [one for one, is_new in zip(proposals, new, strict=True) if is_new]
        for error in (yield from tasks.run_tasks(search.trial, missing)):
            if error is not None:
                raise error
    for proposal, is_new in zip(proposals, new, strict=True):
        over = end is not None and time.monotonic() >= end
        if over and search.stored_row(proposal) is None:
            break
        row = yield from _counted(search, wanted, search.trial(proposal))
        rows.append(row)
        search.history.append({"trial": len(search.history) + 1, **row})
        if is_new:  # a store of what is stored may be read-only
            named_presets.note_trials(search.scope.store, search.preset, search.history)
        yield _reported(search, wanted)
    return rows


def _study(seed: int, at_once: int) -> "Study":
    import optuna  # noqa: PLC0415 (only who tunes pays for it)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=at_once > 1),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
    )


def _tell(
    study: "Study",
    row: Mapping[str, Any],
    declared_of: Mapping[str, tuple[Parameter, Any]],
    drawn: Mapping[str, "BaseDistribution"],
) -> None:
    """Let Optuna know a preset, where all its values lie in the ranges."""
    from optuna.trial import create_trial  # noqa: PLC0415 (only who tunes pays for it)

    values = {name: declared_of[name][1] for name in drawn}
    inside = all(can_draw(drawn[name], value) for name, value in values.items())
    if row["state"] == DONE and inside:
        study.add_trial(create_trial(value=row["value"], params=values, distributions=dict(drawn)))


def _finish(study: "Study", trial: "Trial", row: Mapping[str, Any]) -> None:
    from optuna.trial import TrialState  # noqa: PLC0415 (only who tunes pays for it)

    if row["state"] == DONE:
        study.tell(trial, row["value"])
    else:
        study.tell(trial, state=TrialState.PRUNED if row["state"] == PRUNED else TrialState.FAIL)


def _counted(
    search: Search, wanted: int | None, work: Generator[Progress, None, dict[str, Any]]
) -> Generator[Progress, None, dict[str, Any]]:
    """A trial's reports as reports of the whole search."""
    done = len(search.history)
    total = wanted or done + 1
    return with_reports(
        work,
        lambda report: Progress(
            done, total, "trials", {}, min(report.share, 0.99), search.spent_share
        ),
    )


def _reported(search: Search, wanted: int | None) -> Progress:
    """The report of the trial that has just ended: what it came to, and its numbers."""
    row, done = search.history[-1], len(search.history)
    best = max(map(_value, search.history))
    values = {"best": best} if best > float("-inf") else {}
    values |= {VALID: _shown(row), row["state"]: 1.0}
    numbers = settings(search.base, row, search.space)
    values |= {name: float(one) for name, one in numbers.items() if isinstance(one, int | float)}
    return Progress(done, max(wanted or 0, done), "trials", values, spent=search.spent_share)


VALID = "valid"
"""A trial's value on validation, in reports and in `table`."""


def table(preset: NamedPreset) -> pd.DataFrame:
    """The trials of a tuned preset, a row each.

    Returns:
        Columns trial, of, state, valid (of one that was stopped its last), seconds, and the fields
        that were searched, as text where some value of theirs is no number.
    """
    base = RankerName.parse(f"{preset.ranker}@{preset.base}")
    rows = [
        {
            **{name: row[name] for name in ("trial", "of", "state")},
            VALID: _shown(row), "seconds": row["seconds"],
        }
        for row in preset.history
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    given = [settings(base, row, preset.asked["search"]) for row in preset.history]
    for name in preset.asked["search"]:
        values = [one[name] for one in given]
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
        frame[name] = values if numbers else [*map(written, values)]
    return frame


def settings(base: RankerName, row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """The values that a trial gave to some fields: those it proposed, else its preset's."""
    declared = fields_with_values(registry.spec(_ranker_of(base, row)))
    return {field: row["fields"].get(field, declared[field][1]) for field in fields}


def _ranker_of(base: RankerName, row: Mapping[str, Any]) -> RankerName:
    """The ranker of a trial at its preset."""
    return base if row["of"] == SEARCH else replace(base, preset=row["of"])


def _shown(row: Mapping[str, Any]) -> float:
    """What a trial came to on validation, as far as it went; NaN where it never measured."""
    last = row["curve"][-1][1] if row["curve"] else float("nan")
    return float(last if row["value"] is None else row["value"])


def _looks_before(search: Search) -> int:
    """How often the test part was looked at for this very search, under whatever name."""
    presets, identity = named_presets.stored_presets(search.scope.store), _plain(search.identity)
    same = (preset.looks for preset in presets if _plain(preset.asked) == identity)
    return max(same, default=0)


def _looked(search: Search, row: Mapping[str, Any]) -> Generator[Progress, None, dict[str, Any]]:
    """Means over the test queries of all folds, of the rankers of one trial."""
    sums: dict[str, float] = {}
    lists = 0
    trial = Proposal(row["of"], _ranker_of(search.base, row), row["fields"])
    for workbench in search.folds:
        trained = yield from workbench.train(str(trial.name), trial.texts)
        test = workbench.test_lists()
        for name, value in quality(trained.ranker, test).items():
            sums[name] = sums.get(name, 0.0) + value * len(test.lists)
        lists += len(test.lists)
    return {name: total / lists for name, total in sums.items()} | {"queries": lists}


def _named(text: str, preset: str) -> RankerName:
    name = RankerName.parse(text)
    if name.kind is not Kind.REGISTERED or not registry.entry(name.base).learns:
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


def _other(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs between two searches, in a few words.

    >>> _other({"seed": 0, "at_once": 4}, {"seed": 0})
    'at-once was 4, now 1'
    >>> _other({"ranker": {"trees": 9, "leaves": 8}}, {"ranker": {"trees": 5, "leaves": 8}})
    'trees of its ranker was 9, now 5'
    >>> _other({"search": {"leaf_documents": [5, 200]}}, {"search": {}})
    'leaf_documents was searched from 5 to 200 and is not searched now'
    """
    then, here = ({"at_once": 1} | _plain(search) for search in (before, now))
    old_ends, new_ends = _ends_in_words(then), _ends_in_words(here)
    pairs = {name: (then.get(name), here.get(name)) for name in (*then, *here)}
    for name in ("search", "choices"):
        pairs.pop(name, None)
    pairs = {name.replace("_", "-"): values for name, values in pairs.items()}
    for name, of in (("ranker", "its ranker"), ("lists", "the lists")):
        old, new = (one or {} for one in pairs.pop(name, ({}, {})))
        pairs |= {f"{key} of {of}": (old.get(key), new.get(key)) for key in (*old, *new)}
    texts = [
        "the data" if name == "folds" else f"{name} was {_in_words(old)}, now {_in_words(new)}"
        for name, (old, new) in pairs.items()
        if old != new
    ]
    for name in dict.fromkeys((*old_ends, *new_ends)):
        was, ends = old_ends.get(name), new_ends.get(name)
        if was != ends:
            was_searched, is_searched = (
                f"searched {one}" if one else "not searched" for one in (was, ends)
            )
            texts.append(f"{name} was {was_searched} and is {is_searched} now")
    return ", ".join(texts)


def _ends_in_words(search: Mapping[str, Any]) -> dict[str, str]:
    """The range or choices of each field that is searched, in words."""
    words, choices = dict[str, str](), search.get("choices", ())
    for name, ends in search.get("search", {}).items():
        numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
        if len(ends) == 2 and numbers and name not in choices:
            words[name] = f"from {ends[0]} to {ends[1]}"
        else:
            words[name] = f"in {', '.join(map(_in_words, ends))}"
    return words


def _in_words(value: Any) -> str:
    """A value of a recipe or search; what is not set is none."""
    return "none" if value is None else str(value)


def _plain(value: Any) -> Any:
    """As JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(value))


def _short(value: Any) -> Any:
    """A proposed number with three digits, which people can read and write."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _value(row: Mapping[str, Any]) -> float:
    return float("-inf") if row["value"] is None else float(row["value"])
