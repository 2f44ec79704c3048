"""What a command would do and how long that takes here, told before anything is made.

A rehearsal asks a question of a workbench that reads what is stored and writes nothing: a ranker
that is not trained is noted with its cost, and whoever asks it for scores is stopped there; a
study is looked up trial by trial. So every kind of study is rehearsed by its own code.
"""

import secrets
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.catalogue import SAMPLE, resolve
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.folds import folds_of
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment import cost, list_sources
from shuffleproof.core.experiment.cost import Cost, TimedTraining
from shuffleproof.core.experiment.forecast import FitSize, Forecast
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers.base import Input, Ranker, RankerSpec
from shuffleproof.core.rankers.combining import Combining
from shuffleproof.core.rankers.ensemble.fit_cache import TrainMember, recipe_of
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.fit_cache import CachedRanker
from shuffleproof.core.rankers.initial import PARTS, ListRecipe, PreparedFold
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.preset_differences import from_preset
from shuffleproof.core.rankers.preset_differences import in_words as fields_in_words
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.question import Question, Scope
from shuffleproof.core.studies.result import StudyResult, seconds_of
from shuffleproof.core.studies.study import Plan, TrialRecords
from shuffleproof.core.studies.workbench import IdentifiedRanker, TrainingData, Workbench
from shuffleproof.core.words import duration

LONG = 600.0
"""Seconds from which on work is announced with what it takes."""

FEW = 2
"""Changed fields of a recipe that are named."""

SEEN = 20
"""Stored trials of a study that say what the others take."""

Span = tuple[float, float]
"""Seconds, from and to."""


class NoScoresError(BaseException):
    """Scores were asked of a ranker that is only rehearsed."""


@dataclass(frozen=True)
class UntrainedRanker:
    """A ranker as far as its recipe tells."""

    spec: RankerSpec | None
    reads: frozenset[Input]
    name: str
    rankings: int

    @classmethod
    def of(cls, spec: RankerSpec) -> "UntrainedRanker":
        """The ranker of a recipe."""
        return cls(spec, spec.reads, spec.name, spec.rankings)

    @classmethod
    def like(cls, ranker: Ranker) -> "UntrainedRanker":
        """What a ranker is, without its scores."""
        return cls(getattr(ranker, "spec", None), ranker.reads, ranker.name, ranker.rankings)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Nothing has been trained that could score."""
        del dataset, lists
        raise NoScoresError

    def reading(self, columns: Sequence[int | None]) -> "UntrainedRanker":
        """The same ranker, whatever initial rankings it is given."""
        del columns
        return self

    def save(self, directory: Path) -> None:
        """Nothing has been trained that could be written."""


@dataclass(frozen=True)
class Step:
    """Something that would be made.

    Attributes:
        what: in words.
        stored: whether it is there already.
        count: how many of it.
        low: seconds of all, at least.
        high: seconds of all, at most.
    """

    what: str
    stored: bool = False
    count: int = 1
    low: float = 0.0
    high: float = 0.0

    def line(self) -> str:
        """For the terminal."""
        times = f"{self.count} × " if self.count > 1 else ""
        return f"{times}{self.what}: " + ("stored" if self.stored else span((self.low, self.high)))


@dataclass
class Ledger:
    """What a rehearsal came across, in its order.

    Attributes:
        lists: by data set and initial ranker: its words, and what fitting it takes.
        initial: digests of the rankers that are fitted for the lists.
        rankers: by digest: the recipe in words, whether it is there, and its cost.
        again: trainings on other training_data than the lists.
        pace: of the rankers, seconds of a pass over the test lists, modelled.
        study: key, whether it is stored, trials, how many of them are, seconds of one.
    """

    lists: dict[tuple[str, str], tuple[str, Cost | None]] = field(default_factory=dict)
    initial: set[str] = field(default_factory=set)
    rankers: dict[str, tuple[str, bool, Cost]] = field(default_factory=dict)
    again: list[tuple[str, Cost]] = field(default_factory=list)
    pace: dict[str, float] = field(default_factory=dict)
    study: tuple[ArtefactKey, bool, int, int, Span] | None = None


@dataclass(frozen=True)
class Rehearsal(Workbench):
    """A workbench that notes what would be made.

    Attributes:
        forecast: what trainings take.
        ledger: the notes.
    """

    forecast: Forecast
    ledger: Ledger

    def fit(
        self, spec: RankerSpec, training_data: Callable[[], TrainingData] | None = None
    ) -> Generator[Progress, None, CachedRanker]:
        """The ranker of a recipe, as far as that tells."""
        yield from ()
        words, key = in_words(spec), self.forecast.key(self.recipe, spec)
        if not spec.fits_documents:
            self.listed()
        test = self.prepared.test
        sizes = (len(test.lists), len(test.lists.rows), len(test.dataset.feature_ids))
        self.ledger.pace[words] = cost.scoring_seconds(spec, *sizes)
        planned = self.forecast.fit(self.recipe, spec)
        if cost.family(spec) is not None and training_data is None:
            self.ledger.rankers[key.digest] = (words, planned.there, planned.cost)
        elif training_data is not None:
            self.ledger.again.append((words, planned.cost))
        artefact = replace(_placeholder(key), recipe={"ranker": spec.recipe()})
        return CachedRanker(artefact, planned.there, UntrainedRanker.of(spec))

    def combined(
        self, parts: Sequence[RankerName], options: Combining, trained: TrainMember
    ) -> Generator[Progress, None, CachedRanker]:
        """The combination of rehearsed members."""
        members: list[CachedRanker] = []
        for part in parts:
            members += [(yield from trained(str(part)))]
        combination = combine([member.ranker for member in members], options)
        digests = [member.artefact.key.digest for member in members]
        return CachedRanker(
            _placeholder(key_of("ranker", recipe_of(combination, options), digests)),
            cached=True,
            fitted=combination,
        )

    def relisted(self, recipe: ListRecipe) -> Generator[Progress, None, Workbench]:
        """The same data with other lists."""
        yield from ()
        rehearsal = replace(self, recipe=recipe, prepared=_stand_in(self.fold, recipe))
        rehearsal.listed()
        return rehearsal

    def identified(self, name: str) -> Generator[Progress, None, IdentifiedRanker]:
        """A ranker to be studied, which nobody asks for scores."""
        resolved = yield from super().identified(name)
        return replace(resolved, held=UntrainedRanker.like(resolved.ranker))

    def _stored_ranker(self, name: RankerName) -> CachedRanker:
        stored = super()._stored_ranker(name)
        return replace(stored, fitted=UntrainedRanker.like(stored.ranker))

    def _identified_by_answers(
        self, ranker: Ranker, recipe: Mapping[str, Any], source: str
    ) -> IdentifiedRanker:
        """A function or an object: its answers are part of its key, so its trials are not known."""
        del recipe, source
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
        """Look the study and its trials up, and note what is trained on its way."""
        del facts, work, save
        yield from ()
        key = key_of("study", plan.recipe())
        stored = self.store.find(key)
        trial_records = self.store.records if records is None else records
        digests = plan.digests(len(query_ids))
        measured = [digest for digest in digests if trial_records.get(digest) is not None]
        if not engine.is_whole(stored):
            self.listed()
            for training in trains:
                try:
                    run_to_end(training)
                except NoScoresError:
                    continue
        sampled = [trial_records.get(digest) for digest in measured[:SEEN]]
        seconds = sorted(
            float(record[0]["seconds"]) for record in sampled if record and "seconds" in record[0]
        )
        seconds = seconds[:-1]  # the longest, perhaps the only one, had to compile what it runs
        per_trial = (
            (min(seconds), max(seconds))
            if seconds
            else self._pace(plan.recipe()["kind"], len(query_ids))
        )
        self.ledger.study = (key, engine.is_whole(stored), len(digests), len(measured), per_trial)
        return _placeholder(key)

    def listed(self) -> None:
        """Note that the lists are read."""
        for text in self.recipe.initial:
            recipe = replace(self.recipe, initial=(text,))
            place, costs = (self.fold.fingerprint, text), self.forecast.cost_of_lists(recipe)
            fits = list_sources.sources(recipe, self.forecast.data.fingerprints) if costs else ()
            self.ledger.initial |= {fit.ranker.digest for fit in fits}
            before = self.ledger.lists.get(place)
            if before is None or (costs and (not before[1] or before[1].high < costs.high)):
                self.ledger.lists[place] = (_lists_in_words(recipe), costs)

    def _pace(self, kind: str, queries: int) -> Span:
        """Seconds of a trial: as stored studies of the kind took by query, or as is modelled."""
        scored = float(np.mean([*self.ledger.pace.values()] or [0.0]))
        studies = replace(self.store, bundled=()).artefacts("study")
        for artefact in sorted(studies, key=lambda study: study.created, reverse=True):
            facts = artefact.facts
            of_kind = artefact.recipe.get("kind") == kind and not is_of_runs(artefact.recipe)
            if not of_kind or not facts.get("queries"):
                continue
            count = len(engine.plan_of(artefact.recipe).digests(int(facts["queries"])))
            seconds = seconds_of(artefact.path) / max(1, count) * queries / int(facts["queries"])
            doubt = cost.KNOWN if facts.get("data") == self.name else cost.ROUGH
            return seconds / doubt, max(seconds, scored) * doubt
        return scored / cost.ROUGH, scored * cost.ROUGH


def _step(words: str, stored: bool, costs: Sequence[Cost | None]) -> Step:  # noqa: FBT001
    """Several alike as one."""
    unstored = [estimate for estimate in costs if estimate is not None and not stored]
    low = fsum(estimate.low for estimate in unstored)
    high = fsum(estimate.high for estimate in unstored)
    return Step(words, stored, len(costs), low, high)


def _placeholder(key: ArtefactKey) -> Artefact:
    """What is not made."""
    return Artefact(key, Path(), {}, {"seconds": 0.0}, "", 0)


def _stand_in(fold: Fold, recipe: ListRecipe) -> PreparedFold:
    """Lists as long as those to be made; which documents they hold is not known yet."""
    parts: dict[str, Any] = {}
    for part in PARTS:
        dataset: RankingDataset = getattr(fold, part)
        prior = np.zeros((dataset.documents, len(recipe.initial)), dtype=np.float32)
        lists = CandidateLists.ranked_by(dataset, prior, depth=recipe.depth)
        if part == "test" and recipe.queries is not None:
            lists = lists.select(np.arange(min(recipe.queries, len(lists))))
        parts[part] = JudgedLists(dataset, lists)
    return PreparedFold(**parts)


class NotStoredError(UsageError):
    """A rehearsal would have to read data in, and writes nothing."""


@dataclass(frozen=True)
class RehearsedScope(Scope):
    """A scope whose workbenches write nothing.

    Attributes:
        known: the trainings that this machine did.
        ledger: the notes of all its workbenches.
    """

    known: Sequence[TimedTraining] = ()
    ledger: Ledger = field(default_factory=Ledger)

    @classmethod
    def of(cls, scope: Scope) -> "RehearsedScope":
        """That of a scope.

        Raises:
            NotStoredError: data that would have to be read in.
        """
        for name in folds_of(scope.data, scope.store):
            if name != SAMPLE and name not in scope.store.names() and Path(name).exists():
                raise NotStoredError(
                    f"{name} is not stored yet and a dry run writes nothing: "
                    f"`shuffleproof ingest {name} --name mine` first"
                )
        measured = cost.timed_trainings(scope.store)
        return cls(scope.store, scope.data, scope.lists, scope.preset, scope.pinned, measured)

    def open_workbench(
        self, recipe: ListRecipe | None = None
    ) -> Generator[Progress, None, Workbench]:
        """The rehearsal's workbench of the data set."""
        yield from ()
        fold = resolve(self.pinned or self.data, self.store)
        lists_recipe = (recipe or self.recipe()).of_today().for_fold(fold)
        return Rehearsal(
            self.data,
            fold,
            lists_recipe,
            _stand_in(fold, lists_recipe),
            self.store,
            self.usual_preset,
            Forecast(FitSize.of(self.data, fold), self.store, self.known),
            self.ledger,
        )


@dataclass(frozen=True)
class DryRun:
    """What a command would make.

    Attributes:
        lists: fits for candidate lists.
        rankers: trainings.
        trials: of the study; none where nothing is studied.
        study: the study's key where it is stored.
        not_counted: work that has no forecast, in words.
    """

    lists: tuple[Step, ...]
    rankers: tuple[Step, ...]
    trials: tuple[Step, ...] = ()
    study: str | None = None
    not_counted: str = ""

    @classmethod
    def of(cls, ledger: Ledger) -> "DryRun":
        """What a rehearsal came to."""
        lists = [_step(words, costs is None, [costs]) for words, costs in ledger.lists.values()]
        alike: dict[tuple[str, bool], list[Cost | None]] = {}
        for digest, (words, is_stored, costs) in ledger.rankers.items():
            if is_stored or digest not in ledger.initial:
                alike.setdefault((words, is_stored), []).append(costs)
        for words, costs in ledger.again:
            alike.setdefault((f"{words}, trained again", False), []).append(costs)
        rankers = [_step(*step, costs_of_step) for step, costs_of_step in alike.items()]
        if ledger.study is None:
            return cls(tuple(lists), tuple(rankers))
        key, stored, count, finished_trials, per_trial = ledger.study
        missing = 0 if stored else count - finished_trials
        low, high = (missing * bound for bound in per_trial)
        trials = (
            [Step("trial", stored=True, count=finished_trials)]
            if finished_trials and missing
            else []
        )
        trials += [Step("trial", stored=not missing, count=missing or count, low=low, high=high)]
        return cls(tuple(lists), tuple(rankers), tuple(trials), str(key) if stored else None)

    @property
    def span(self) -> Span:
        """Seconds of all that is not stored, from and to."""
        missing = [step for step in self.steps if not step.stored]
        return fsum(step.low for step in missing), fsum(step.high for step in missing)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of it, in the order in which it is made."""
        return (*self.lists, *self.rankers, *self.trials)

    @property
    def is_stored(self) -> bool:
        """Whether nothing is to be made: the study is there, or else the trainings asked for."""
        made = not self.trials and all(step.stored for step in self.steps)
        return self.study is not None or made

    @property
    def is_long(self) -> bool:
        """Whether it is likely to take more than ten minutes: by the middle of its span."""
        low, high = self.span
        return sqrt(max(low, 1e-9) * high) > LONG

    def text(self, *, of_one_worker: bool = False) -> str:
        """For the terminal; that the time is of one worker is said where there may be several."""
        titles = {"lists": self.lists, "rankers": self.rankers, "study": self.trials}
        lines = [f"{title:<8} {step.line()}" for title, steps in titles.items() for step in steps]
        outcome = f"stored as {self.study}" if self.study else f"{span(self.span)} on this machine"
        if of_one_worker and not self.is_stored:
            outcome += " by one worker, which makes one after the other"
        if self.not_counted and not self.study:
            outcome += f", without {self.not_counted}"
        return "\n".join([*lines, f"{'in all':<8} {outcome}; nothing was made"])

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        rows = {
            name: [vars(step) for step in steps]
            for name, steps in (
                ("lists", self.lists), ("rankers", self.rankers), ("trials", self.trials)
            )
        }  # fmt: skip
        low, high = self.span
        return {"result": self.study, **rows, "seconds": {"low": low, "high": high}, "workers": 1}

    def notes(self) -> list[str]:
        """What is said before work: the lists that are made for it, and what takes long."""
        lists = [step.what for step in self.lists if not step.stored]
        lines = []
        if lists:
            names = ", ".join(step.what for step in self.rankers if not step.stored)
            readers = names if names and not self.trials else "the study"
            lines.append(f"lists: {'; '.join(lists)}, are made first because {readers} reads them")
        return [*lines, self._warning()] if self.is_long else lines

    def _warning(self) -> str:
        """What takes how long, and how to make it shorter."""
        longest = sorted(
            (step for step in self.steps if not step.stored), key=lambda step: -step.high
        )
        summary = "; ".join(step.line() for step in longest[:3])
        return (
            f"this takes {span(self.span)} on this machine ({summary}). Shorter: --preset small or "
            "tuned, --queries N; --dry-run tells more. Stop it any time: what is done is kept."
        )


def rehearse(question: Question, scope: Scope) -> DryRun:
    """What answering a question would make.

    Raises:
        ShuffleproofError: as the study itself would before its first trial.
    """
    dry = RehearsedScope.of(scope)
    run_to_end(question.study(dry))
    return DryRun.of(dry.ledger)


def rehearsed_workbenches(scope: Scope) -> list[Workbench]:
    """A workbench of every fold, on which nothing is made.

    Raises:
        NotStoredError: data that would have to be read in.
    """
    return [run_to_end(fold.open_workbench()) for fold in RehearsedScope.of(scope).folds()]


def rehearsed_training(scope: Scope, name: str, changes: Mapping[str, str] | None = None) -> DryRun:
    """What training a ranker would make.

    Raises:
        ShuffleproofError: as the training itself would before it begins.
    """
    dry = RehearsedScope.of(scope)
    opened = run_to_end(dry.open_workbench())
    run_to_end(opened.train(name, changes))
    return DryRun.of(dry.ledger)


def in_words(spec: RankerSpec) -> str:
    """A recipe by its preset and what differs from that."""
    preset, changed = from_preset(spec.recipe())
    several = f"{len(changed)} fields changed" if len(changed) > FEW else fields_in_words(changed)
    changes = f", {several}" if changed else ""
    return f"{spec.name}@{preset}{changes}" if preset else spec.name


def _lists_in_words(recipe: ListRecipe) -> str:
    (text,) = recipe.initial
    return f"candidates by {text}, {recipe.scores}"


def span(seconds: Span) -> str:
    """From and to, in words.

    >>> span((30.0, 300.0)), span((2.0, 2.2))
    ('30 s to 5 min', 'about 2 s')
    """
    low, high = map(duration, seconds)
    return f"about {low}" if low == high else f"{low} to {high}"
