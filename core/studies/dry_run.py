"""Dry runs: trainings, trials and user-function calls that a question needs and the store lacks.

The question runs on a workbench that reads the store and writes nothing. An untrained ranker is
noted, and code that wants its scores is stopped. So each kind of study reports its needs through
its own code.
"""

import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.layout import SHIPPED, folds_of
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.trainings import (
    FitSize,
    PlannedTraining,
    TrainingPlanner,
    recorded_seconds,
    time_of,
    trainings_in_words,
)
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.base import Input, Ranker, RankerSpec
from shuffleproof.core.rankers.combining import Combining
from shuffleproof.core.rankers.ensemble.fit_cache import TrainMember, member_changes, recipe_of
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.fit_cache import CachedRanker
from shuffleproof.core.rankers.initial import PARTS, ListRecipe, PreparedFold
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.outside.function_process import jobs_allowed
from shuffleproof.core.rankers.univariate import UnivariateSpec
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.question import Question, Scope
from shuffleproof.core.studies.registry import EVERY, STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import Plan, TrialRecords
from shuffleproof.core.studies.workbench import IdentifiedRanker, TrainingData, Workbench
from shuffleproof.core.words import counted

LONG = 600.0
"""Seconds of training from which work is announced."""


class NoScoresError(Exception):
    """Scores were requested from a ranker that is not trained."""


class NotStoredError(UsageError):
    """Data that would have to be imported, but a dry run writes nothing."""


@dataclass(frozen=True)
class NeededTraining:
    """Training that a command needs.

    Attributes:
        name: of the ranker, with its preset and its purpose.
        stored: True if it is already done.
        seconds: estimated duration; None: unknown.
    """

    name: str
    stored: bool
    seconds: float | None = None


@dataclass
class DryRun:
    """Work that a command would do.

    Attributes:
        trainings: by key.
        study: its key, if it is stored.
        trials: number of trials of the study.
        stored_trials: number of them that are stored.
        calls: number of calls of each user function.
        call_seconds: seconds of one call of each user function.
        timed: True if one call of each function is timed.
        jobs: number of calls at the same time.
        tokens: of calls of endpoints, from the lengths of their texts.
        price: of these calls.
    """

    trainings: dict[str, NeededTraining] = field(default_factory=dict)
    study: str | None = None
    trials: int = 0
    stored_trials: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    call_seconds: dict[str, float | None] = field(default_factory=dict)
    timed: bool = False
    jobs: int = 1
    tokens: int = 0
    price: float = 0.0

    def expect(self, calls: Mapping[str, int], tokens: int, price: float) -> None:
        """Note the calls of endpoints, where nothing is stored yet."""
        if not self.study:
            self.calls |= calls
            self.tokens, self.price = tokens, price

    def add(self, training: PlannedTraining, purpose: str = "") -> None:
        """Note a training; duplicates count once."""
        needed = NeededTraining(training.words + purpose, training.stored, training.seconds)
        self.trainings.setdefault(str(training.key), needed)

    @property
    def missing_seconds(self) -> list[float | None]:
        """Seconds of the trainings that are not stored."""
        return [one.seconds for one in self.trainings.values() if not one.stored]

    @property
    def is_stored(self) -> bool:
        """True if nothing has to be computed: the study, or all its trainings, are stored."""
        return self.study is not None or not (self.trials or self.missing_seconds)

    @property
    def seconds(self) -> list[float | None]:
        """Seconds of each missing training and of the calls of each function."""
        calls = [
            seconds and seconds * self.calls.get(name, 0) / self.jobs
            for name, seconds in self.call_seconds.items()
        ]
        return [] if self.study else [*self.missing_seconds, *calls]

    def rows(self) -> list[dict[str, Any]]:
        """Row per group of equal trainings: name, count, stored and seconds (null: unknown)."""
        alike: dict[tuple[str, bool], list[float | None]] = {}
        for one in self.trainings.values():
            alike.setdefault((one.name, one.stored), []).append(one.seconds)
        return [
            {
                "name": name,
                "count": len(times),
                "stored": stored,
                "seconds": 0.0 if stored else _total(times),
            }
            for (name, stored), times in alike.items()
        ]

    def text(self) -> str:
        """Text for the terminal: a line per group of equal trainings, the trials and the calls."""
        lines = [
            f"training  {row['count']} × {row['name']}: "
            + ("stored" if row["stored"] else time_of([row["seconds"]]))
            for row in self.rows()
        ]
        if self.trials:
            lines.append(f"trials    {self.trials:,}, of which {self.stored_trials:,} are stored")
        for name, count in self.calls.items():
            each = self.call_seconds[name]
            lines.append(
                f"calls     about {count:,} of {name}: "
                + time_of([each and each * count / self.jobs])
                + (f" ({each:.3g} s for one)" if each is not None else "")
            )
        if self.tokens:
            lines.append(f"tokens    about {self.tokens:,}; price {self.price:.4g}")
        outcome = time_of(self.seconds) if self.seconds else "no training"
        if self.study:
            outcome = f"stored as {self.study}"
        return "\n".join([*lines, f"total     {outcome}; dry run: nothing was computed"])

    def plain(self) -> dict[str, Any]:
        """Work as plain JSON values."""
        return {
            "result": self.study,
            "trainings": self.rows(),
            "trials": {"count": self.trials, "stored": self.stored_trials},
            "calls": self.calls,
            "tokens": self.tokens,
            "price": self.price,
            "seconds": _total(self.seconds),
        }

    def notes(self) -> list[str]:
        """Notes to print before work that trains several rankers first, or takes long."""
        several = len(self.missing_seconds) > 1 or (self.missing_seconds and self.trials)
        if not self.calls and not several and (_total(self.seconds) or 0.0) < LONG:
            return []
        return [f"{self.sentence()}."]

    def sentence(self) -> str:
        """Work in one sentence, without the full stop."""
        if self.study:
            return "This study is stored"
        missing = trainings_in_words(self.missing_seconds)
        parts = [f"{missing} first" if self.missing_seconds else missing.capitalize()]
        calls = [f"about {counted(count, 'call')} of {name}" for name, count in self.calls.items()]
        if self.tokens:
            price = f" and a price of {self.price:.4g}" if self.price else ""
            calls[-1] += f", with about {self.tokens:,} tokens{price}"
        parts += calls or ([f"{self.trials - self.stored_trials:,} trials"] if self.trials else [])
        return ", then ".join(parts)


def _total(seconds: Sequence[float | None]) -> float | None:
    """Sum; None if a part is unknown."""
    return None if None in seconds else float(sum(filter(None, seconds)))


@dataclass(frozen=True)
class UntrainedRanker:
    """Ranker without weights: only what its recipe determines."""

    spec: RankerSpec | None
    reads: frozenset[Input]
    name: str
    rankings: int

    @classmethod
    def of(cls, spec: RankerSpec) -> "UntrainedRanker":
        """Ranker of a recipe."""
        return cls(spec, spec.reads, spec.name, spec.rankings)

    @classmethod
    def like(cls, ranker: Ranker) -> "UntrainedRanker":
        """Copy of a ranker without its scores."""
        return cls(getattr(ranker, "spec", None), ranker.reads, ranker.name, ranker.rankings)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Raise NoScoresError: there is no trained model."""
        del dataset, lists
        raise NoScoresError

    def reading(self, columns: Sequence[int | None]) -> "UntrainedRanker":
        """Return itself; the initial rankings do not matter here."""
        del columns
        return self

    def save(self, directory: Path) -> None:
        """Write nothing."""


@dataclass(frozen=True)
class DryWorkbench(Workbench):
    """Workbench that only notes the work.

    Attributes:
        planner: of the trainings.
        dry: the collected notes.
    """

    planner: TrainingPlanner
    dry: DryRun

    def fit(
        self, spec: RankerSpec, training_data: Callable[[], TrainingData] | None = None
    ) -> Generator[Progress, None, CachedRanker]:
        """Untrained ranker of a recipe; its training is noted."""
        yield from ()
        if not spec.fits_documents:
            self.add_lists()
        training = self.planner.fit(self.recipe, spec)
        if not isinstance(spec, UnivariateSpec):
            if training_data is None:
                self.dry.add(training)
            else:
                again = NeededTraining(
                    f"{training.words}, again", stored=False, seconds=training.seconds
                )
                self.dry.trainings[f"again {len(self.dry.trainings)}"] = again
        artefact = replace(_placeholder(training.key), recipe={"ranker": spec.recipe()})
        return CachedRanker(artefact, training.stored, UntrainedRanker.of(spec))

    def combined(
        self, parts: Sequence[RankerName], options: Combining, trained: TrainMember
    ) -> Generator[Progress, None, CachedRanker]:
        """Combination of untrained members."""
        members: list[CachedRanker] = []
        for part in parts:
            members += [(yield from trained(part, member_changes(part, options)))]
        combination = combine([member.ranker for member in members], options)
        digests = [member.artefact.key.digest for member in members]
        key = key_of("ranker", recipe_of(combination, options), digests)
        return CachedRanker(_placeholder(key), cached=True, fitted=combination)

    def relisted(self, recipe: ListRecipe) -> Generator[Progress, None, Workbench]:
        """Workbench of the same data with other lists."""
        yield from ()
        other = replace(self, recipe=recipe, prepared=_dry_fold(self.fold, recipe))
        other.add_lists()
        return other

    def identified(self, name: RankerName) -> Generator[Progress, None, IdentifiedRanker]:
        """Ranker without its scores, with its identity."""
        resolved = yield from super().identified(name)
        return replace(resolved, held=UntrainedRanker.like(resolved.ranker))

    def _stored_ranker(self, name: RankerName) -> CachedRanker:
        stored = super()._stored_ranker(name)
        return replace(stored, fitted=UntrainedRanker.like(stored.ranker))

    def _identified_by_answers(
        self, ranker: Ranker, recipe: Mapping[str, Any], source: str
    ) -> IdentifiedRanker:
        """Identify a function or object; its scores are part of its key, so no trial is known."""
        # a random digest: no stored trial can match it
        del source
        if "file" not in recipe:
            seconds = None
            if self.dry.timed and Kind.ENDPOINT is not RankerName.of(ranker.name).kind:
                test, start = self.prepared.test, time.perf_counter()
                ranker.score(test.dataset, test.lists.select(np.arange(1)))
                seconds = time.perf_counter() - start
                self.dry.jobs = jobs_allowed()
            self.dry.call_seconds[str(recipe.get("callable", ranker.name))] = seconds
        return IdentifiedRanker(ranker, secrets.token_hex(32))

    def run(  # noqa: PLR0913 (as `Workbench.run`)
        self,
        plan: Plan,
        query_ids: Sequence[str],
        facts: Callable[[], Mapping[str, Any]],
        work: engine.Work,
        *,
        save: Callable[[StudyResult, Path], None] = StudyResult.save,
        records: TrialRecords | None = None,
        trains: Iterable[Generator[Progress, None, Any]] = (),
    ) -> Generator[Progress, None, Artefact]:
        """Look up the study and its trials, and note the trainings on the way."""
        del facts, work, save
        yield from ()
        key = key_of("study", plan.recipe())
        if engine.is_whole(self.store.find(key)):
            self.dry.study = str(key)
            return _placeholder(key)
        self.add_lists()
        # a study stops at the first score that it needs, after its training has been noted
        for training in trains:
            try:
                run_to_end(training)
            except NoScoresError:
                continue
        stored = (self.store.records if records is None else records).get
        digests = plan.digests(len(query_ids))
        self.dry.trials = len(digests)
        self.dry.stored_trials = sum(stored(digest) is not None for digest in digests)
        recipe = plan.recipe()
        rankers = len(recipe.get("rankers") or recipe.get("rows") or "1")
        missing = (len(digests) - self.dry.stored_trials) // rankers
        # Without a plan's own number, each missing trial scores every list once per ranker
        orders = getattr(plan, "orders_per_list", missing)
        self.dry.calls = dict.fromkeys(self.dry.call_seconds, orders * len(query_ids))
        return _placeholder(key)

    def add_lists(self) -> None:
        """Note the fits that candidate lists need."""
        for training in self.planner.of_lists(self.recipe):
            self.dry.add(training, ", for the candidate lists")


def _placeholder(key: ArtefactKey) -> Artefact:
    """Artefact without files."""
    return Artefact(key, Path(), {}, {"seconds": 0.0}, "", 0)


def _dry_fold(fold: Fold, recipe: ListRecipe) -> PreparedFold:
    """Lists of the right length; the documents in them are not known yet."""
    parts: dict[str, Any] = {}
    for part in PARTS:
        dataset: RankingDataset = getattr(fold, part)
        prior = np.zeros((dataset.documents, len(recipe.initial)), dtype=np.float32)
        lists = CandidateLists.ranked_by(dataset, prior, depth=recipe.depth)
        if part == "test" and recipe.queries is not None:
            lists = lists.select(np.arange(min(recipe.queries, len(lists))))
        parts[part] = JudgedLists(dataset, lists)
    return PreparedFold(**parts)


@dataclass(frozen=True)
class DryScope(Scope):
    """Scope whose workbenches write nothing.

    Attributes:
        recorded: seconds of trainings, see `recorded_seconds`.
        dry: notes of all its workbenches.
    """

    recorded: Mapping[str, float] = field(default_factory=dict)
    dry: DryRun = field(default_factory=DryRun)

    @classmethod
    def of(cls, scope: Scope, *, timed: bool = False) -> "DryScope":
        """Dry copy of a scope.

        Raises:
            NotStoredError: the data would have to be imported.
        """
        for name in folds_of(scope.data, scope.store):
            if name not in SHIPPED and name not in scope.store.names() and Path(name).exists():
                raise NotStoredError(
                    f"{name} is not stored yet and a dry run writes nothing: "
                    f"`shuffleproof ingest {name} --name mine` first"
                )
        place = (scope.store, scope.data, scope.lists, scope.preset, scope.pinned)
        return cls(*place, recorded_seconds(scope.store), DryRun(timed=timed))

    def open_workbench(
        self, recipe: ListRecipe | None = None
    ) -> Generator[Progress, None, Workbench]:
        """Dry workbench of the data set."""
        yield from ()
        fold = resolve(self.pinned or self.data, self.store)
        lists = (recipe or self.recipe()).of_today().for_fold(fold)
        planner = TrainingPlanner(FitSize.of(self.data, fold), self.store, self.recorded)
        place = (self.data, fold, lists, _dry_fold(fold, lists), self.store, self.usual_preset)
        return DryWorkbench(*place, planner, self.dry)


def dry_run(question: Question, scope: Scope, *, timed: bool = False) -> DryRun:
    """Work that a question needs.

    Args:
        question: of any kind.
        scope: data and lists of the study.
        timed: True to time one call of each user function.

    Raises:
        ShuffleproofError: the same as the study itself, before its first trial.
    """
    if question.kind not in STUDIES:
        from shuffleproof.core.studies.listless.dry_run import listless_dry_run  # noqa: PLC0415 (loads numba)

        return listless_dry_run(question, scope)
    if question.is_recorded(scope):
        return DryRun()
    dry = DryScope.of(scope, timed=timed)
    run_to_end(question.study(dry))
    return dry.dry


def dry_training(
    scope: Scope, name: RankerName, changes: Mapping[str, str] | None = None
) -> DryRun:
    """Work that training a ranker needs.

    Raises:
        ShuffleproofError: the same as the training itself, before it begins.
    """
    dry = DryScope.of(scope)
    opened = run_to_end(dry.open_workbench())
    run_to_end(opened.train(name, changes))
    return dry.dry


def sentence(item: Mapping[str, Any]) -> str:
    """Work that a question needs, as a sentence for the resident process.

    Args:
        item: `store`, `kind` of study, its `question`, and the fields of a scope.
    """
    store = Store(Path(item["store"]), default_store().bundled)
    question = EVERY[item["kind"]].from_plain(item["question"])
    scope = Scope(store, item["data"], item.get("lists"), item.get("preset"))
    return dry_run(question, scope).sentence()
