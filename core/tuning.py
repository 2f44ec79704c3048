"""Tuning: a search for the recipe with the best validation value, saved as a named preset.

The first trials are the presets `paper` and `tuned` and the one that the search starts from, so the
result is never worse than these on validation. Then Optuna's TPE (Bergstra et al., NIPS 2011)
proposes. A trial that measures validation on its way (networks, recipes with patience) stops below
the median of the others at the same epoch, unless several are proposed at a time. Only training and
validation parts are read until the search is over; the test part is then looked at once. Optuna's
journal in the store holds the trials, so a search that was killed goes on.
"""

import hashlib
import json
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, fsum
from typing import TYPE_CHECKING, Any

import pandas as pd

from shuffleproof.core.errors import (
    DataError,
    DivergedError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.execution import tasks
from shuffleproof.core.parameters import check, parameter
from shuffleproof.core.parameters import text_of as written
from shuffleproof.core.progress import Progress, in_turn, with_reports
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.fit_cache import CachedRanker, FitGivenUp, quality
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.search_space import (
    Choices,
    Range,
    can_draw,
    distribution_of,
    fields_with_values,
    space_of,
)
from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.keys import canonical_json
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.workbench import Workbench

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

MEASURE = "NDCG@10"
FIRST = ("paper", "tuned")
"""Presets that are always tried, before anything is searched."""

TRIALS = 40
CURVE = 50
"""Points of a trial's curve at most."""

JOURNALS = "tunings"
"""The folder of a store that holds a journal for each search."""

DONE, PRUNED, FAILED = "done", "pruned", "failed"


@dataclass(frozen=True)
class Tuning:
    """Settings of a search.

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
        start: of the trials, by the monotonic clock.
    """

    tuning: Tuning
    scope: Scope
    base: RankerName
    space: Mapping[str, Range]
    folds: Sequence[Workbench]
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
        """Name of the resulting preset, for commands."""
        return f"{self.base.base}@{self.tuning.name or name_for(self.scope.data)}"

    @property
    def identity(self) -> dict[str, Any]:
        """Facts that determine the trials, apart from their number."""
        spec, workbench = registry.spec_of(self.base), self.folds[0]
        return {
            "ranker": spec.recipe(),
            "search": {name: list(ends) for name, ends in self.space.items()},
            "seed": self.tuning.seed,
            "choices": [name for name, ends in self.space.items() if isinstance(ends, Choices)],
            "lists": {} if spec.fits_documents else workbench.recipe.learning_fields(),
            "folds": [
                [part.fingerprint for part in (one.fold.train, one.fold.valid)]
                for one in self.folds
            ],
        }

    def study(self) -> "Study":
        """Optuna's study of this search, from its journal where it was begun before."""
        import optuna  # noqa: PLC0415 (only who tunes pays for it)
        from optuna.storages import JournalStorage, journal  # noqa: PLC0415 (likewise)

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        digest = hashlib.sha256(canonical_json(self.identity).encode()).hexdigest()
        folder = self.scope.store.root / JOURNALS
        with manifest.disk_errors(str(self.base), self.scope.store.root):
            private.make_private(self.scope.store.root)
            folder.mkdir(exist_ok=True)
            backend = journal.JournalFileBackend(str(folder / f"{digest}.journal"))
            return optuna.create_study(
                storage=JournalStorage(backend), study_name=digest, load_if_exists=True,
                direction="maximize",
                pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
            )  # fmt: skip

    def run_trial(
        self, proposal: "Proposal", trial: "Trial | None"
    ) -> Generator[Progress, None, "Outcome"]:
        """Train a trial on every fold, or find that; `trial` may stop it on the first."""
        start, values, keys, took = time.perf_counter(), list[float](), list[str](), list[float]()
        state, why = DONE, ""
        for at, workbench in enumerate(self.folds):
            work = workbench.train(proposal.name, proposal.texts)
            try:
                trained = yield from _watched(work, trial if at == 0 else None)
            except (DivergedError, DataError) as error:
                state, why = FAILED, str(error)
                break
            if trained is None:
                state = PRUNED
                break
            values.append(float(trained.artefact.facts["valid"].get(MEASURE, float("nan"))))
            keys.append(str(trained.artefact.key))
            took.append(float(trained.artefact.facts["seconds"]))  # also where it was there before
        facts = {
            "of": proposal.of, "fields": dict(proposal.fields), "rankers": keys, "why": why,
            "seconds": fsum(took) if state == DONE else time.perf_counter() - start,
        }  # fmt: skip
        return Outcome(state, fsum(values) / len(values) if state == DONE else None, facts)

    def by_workers(self, proposals: Sequence["Proposal"]) -> Generator[Progress, None, None]:
        """Let the workers, if there are any, train trials that do not need each other."""
        tasks_of = [(one, fold) for one in proposals for fold in self.folds]
        for error in (yield from tasks.run_tasks(_train, tasks_of)):
            if error is not None and not isinstance(error, DivergedError | DataError):
                raise error


def _train(task: tuple["Proposal", Workbench]) -> Generator[Progress, None, CachedRanker]:
    proposal, workbench = task
    return (yield from workbench.train(proposal.name, proposal.texts))


@dataclass(frozen=True)
class Outcome:
    """The end of a trial: its state, its value on validation, and the facts of its row."""

    state: str
    value: float | None
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """A trial that is to be made.

    Attributes:
        of: a preset, or SEARCH.
        name: of the ranker at a preset.
        fields: of its recipe that differ.
    """

    of: str
    name: RankerName
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """The fields as recipes take them."""
        return {field: written(value) for field, value in self.fields.items()}


def _watched(
    work: Generator[Progress, None, CachedRanker], trial: "Trial | None"
) -> Generator[Progress, None, CachedRanker | None]:
    """A training whose validation is reported to Optuna on its way; None where that stops it."""
    if trial is None:
        return (yield from work)
    known = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    reported = set(known)  # by a process that was killed
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        apart = max(1, ceil(progress.total / CURVE))
        if "valid" in progress.values and not progress.part and progress.done % apart == 0:
            if progress.done not in reported:
                trial.report(float(progress.values["valid"]), progress.done)
            if trial.should_prune():
                with suppress(FitGivenUp):
                    work.throw(FitGivenUp)
                return None
        yield progress


def refuse(tuning: Tuning, scope: Scope) -> None:
    """Refuse a search that cannot be made, before any work.

    Raises:
        UsageError: a ranker that is not trained by a recipe.
        ParameterError: a field that is not searched so.
    """
    space_of(_named(tuning.ranker, scope.usual_preset), tuning.search)


def tune(tuning: Tuning, scope: Scope) -> Generator[Progress, None, tuple[NamedPreset, bool]]:
    """Search, look at the test part once, and keep the best as a named preset.

    Returns:
        The preset, and whether it was there already.

    Raises:
        UsageError: a ranker that is not trained by a recipe, or a name in use.
    """
    base = _named(tuning.ranker, scope.usual_preset)
    space, name = space_of(base, tuning.search), tuning.name or name_for(scope.data)
    folds = yield from in_turn(fold.open_workbench() for fold in scope.folds())
    search = Search(tuning, scope, base, space, folds)
    before = named_presets.find(scope.store, base.base, name)
    if before is not None:
        _refuse_other(before, search.identity)
    wanted = tuning.trials or (TRIALS if tuning.budget is None else None)
    if before is not None and wanted is not None and wanted <= before.trials:
        return before, True
    study = search.study()
    yield from _searched(search, study, wanted)
    history = _history(study, wanted)
    best = max((row for row in history if row["state"] == DONE), key=_value, default=None)
    if best is None:
        why = next(row["why"] for row in history)
        raise DataError(str(base), f"no trial was finished ({why})", "Search other fields.")
    if before is not None and len(history) <= before.trials:
        return before, True
    looks = 1 + max(study.user_attrs.get("looks", 0), before.looks if before else 0)
    made = NamedPreset(
        base.base, name, best["of"] if best["of"] != SEARCH else base.preset, best["fields"],
        search.identity, len(history), scope.data, MEASURE, tuple(history), looks=looks,
    )  # fmt: skip
    rows = [row for row in history if row["of"] != SEARCH and row["state"] == DONE]
    shown = {f"{base.base}@{row['of']}": row for row in rows} | {str(made): best}
    tests: list[dict[str, Any]] = []
    for label, row in shown.items():
        tests += [{"ranker": label, **(yield from _looked(search, row))}]
    made = replace(made, test=tuple(tests))
    study.set_user_attr("looks", looks)
    named_presets.save(made, scope.store)
    return made, False


SEARCH = "search"


def _refuse_other(before: NamedPreset, asked: Mapping[str, Any]) -> None:
    """Refuse the name of a preset that another search came to."""
    then, now = ({"choices": []} | _plain(one) for one in (before.asked, asked))
    if any(then.get(name) != value for name, value in now.items()):
        raise UsageError(
            f"{before} was tuned for something else: choose another --name, ask as then, or free "
            f"this one: `library delete {before}`"
        )


def _history(study: "Study", wanted: int | None = None) -> list[dict[str, Any]]:
    """A row for each trial that has ended: presets, and searched ones as far as they are wanted."""
    ended = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    rows = [{"trial": at, **_row(trial)} for at, trial in enumerate(ended, 1)]
    presets = sum(row["of"] != SEARCH for row in rows)
    return rows if wanted is None else rows[: max(wanted, presets)]


def _row(trial: "FrozenTrial") -> dict[str, Any]:
    state = {"COMPLETE": DONE, "PRUNED": PRUNED}.get(trial.state.name, FAILED)
    curve = [[step, value] for step, value in sorted(trial.intermediate_values.items())]
    value = trial.value if state == DONE else None
    return {"state": state, "value": value, "curve": curve, **trial.user_attrs}


def _searched(
    search: Search, study: "Study", wanted: int | None
) -> Generator[Progress, None, None]:
    """The presets, then rounds of what Optuna proposes, until all are made or the time is up."""
    from optuna.samplers import TPESampler  # noqa: PLC0415 (only who tunes pays for it)
    from optuna.trial import Trial, TrialState  # noqa: PLC0415 (likewise)

    declared = fields_with_values(registry.spec_of(search.base))
    drawn = {name: distribution_of(declared[name][0], ends) for name, ends in search.space.items()}
    tuning, search.start = search.tuning, time.monotonic()
    end = float("inf") if tuning.budget is None else search.start + tuning.budget
    entry, made = registry.entry(search.base.base), {row["of"] for row in _history(study)}
    presets = dict.fromkeys(name for name in (*FIRST, search.base.preset) if name in entry.presets)
    missing = [
        (Proposal(name, replace(search.base, preset=name)), None)
        for name in presets
        if name not in made
    ]
    yield from _round(search, study, wanted, missing, drawn)
    while wanted is None or len(_history(study)) < wanted:
        trials = [  # of a process that was killed
            Trial(study, one._trial_id)  # noqa: SLF001 (Optuna opens none otherwise)
            for one in study.get_trials(states=(TrialState.RUNNING,))
        ]
        if time.monotonic() >= end:
            return
        if not trials:
            # A sampler a round: one that was stopped and goes on draws as one that was not.
            seed, several = tuning.seed + len(study.trials), tuning.at_once > 1
            study.sampler = TPESampler(seed=seed, constant_liar=several)
            room = tuning.at_once if wanted is None else wanted - len(_history(study))
            trials = [study.ask(drawn) for _ in range(min(tuning.at_once, room))]
        proposals = [
            (Proposal(SEARCH, search.base, {name: _short(of) for name, of in trial.params.items()}),
             trial)
            for trial in trials
        ]  # fmt: skip
        yield from _round(search, study, wanted, proposals, drawn, end)


def _round(  # noqa: PLR0913, PLR0917 (a search, and what is made of it)
    search: Search, study: "Study", wanted: int | None,
    proposals: "Sequence[tuple[Proposal, Trial | None]]", drawn: Mapping[str, Any],
    end: float = float("inf"),
) -> Generator[Progress, None, None]:  # fmt: skip
    """Train what is proposed; Optuna learns from presets too where they lie within the ranges."""
    from optuna.trial import TrialState, create_trial  # noqa: PLC0415 (only who tunes pays for it)

    yield from search.by_workers([proposal for proposal, _ in proposals])
    states = {DONE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL}
    for proposal, trial in proposals:
        if time.monotonic() >= end:
            return
        done = len(_history(study))
        outcome = yield from with_reports(
            search.run_trial(proposal, trial if len(proposals) == 1 else None),
            partial(_within, done, wanted or done + 1, search),
        )
        if trial is not None:
            for name, value in outcome.facts.items():
                trial.set_user_attr(name, value)
            study.tell(trial, outcome.value, states[outcome.state])
        else:
            declared = fields_with_values(registry.spec_of(proposal.name))
            values = {name: declared[name][1] for name in drawn}
            inside = all(can_draw(drawn[name], value) for name, value in values.items())
            study.add_trial(
                create_trial(
                    state=states[outcome.state],
                    value=outcome.value,
                    params=values if inside else {},
                    distributions=dict(drawn) if inside else {},
                    user_attrs=dict(outcome.facts),
                )
            )
        yield _reported(search, _history(study), wanted)


def _within(done: int, total: int, search: Search, report: Progress) -> Progress:
    """A trial's report as one of the whole search."""
    return Progress(done, total, "trials", {}, min(report.share, 0.99), search.spent_share)


def _reported(search: Search, rows: Sequence[Mapping[str, Any]], wanted: int | None) -> Progress:
    """The report of the trial that has just ended: its value, and its numbers."""
    row, done = rows[-1], len(rows)
    best = max(map(_value, rows))
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
    base = RankerName(Kind.REGISTERED, preset.ranker, preset.base)
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
    declared = fields_with_values(registry.spec_of(_ranker_of(base, row)))
    return {field: row["fields"].get(field, declared[field][1]) for field in fields}


def _ranker_of(base: RankerName, row: Mapping[str, Any]) -> RankerName:
    """The ranker of a trial at its preset."""
    return base if row["of"] == SEARCH else replace(base, preset=row["of"])


def _shown(row: Mapping[str, Any]) -> float:
    """Last validation value of a trial; NaN if there is none."""
    last = row["curve"][-1][1] if row["curve"] else float("nan")
    return float(last if row["value"] is None else row["value"])


def _looked(search: Search, row: Mapping[str, Any]) -> Generator[Progress, None, dict[str, Any]]:
    """Means over the test queries of all folds, of the rankers of one trial."""
    sums: dict[str, float] = {}
    lists = 0
    trial = Proposal(row["of"], _ranker_of(search.base, row), row["fields"])
    for workbench in search.folds:
        trained = yield from workbench.train(trial.name, trial.texts)
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


def _plain(value: Any) -> Any:
    """As JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(value))


def _short(value: Any) -> Any:
    """A proposed number with three digits, which people can read and write."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _value(row: Mapping[str, Any]) -> float:
    return float("-inf") if row["value"] is None else float(row["value"])
