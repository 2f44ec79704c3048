"""Workbench: a data set, its candidate lists, rankers, and studies over them.

The command line, the app's workers and user scripts all call it. Every step is a generator of
Progress; `run_to_end` runs one to its end.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ArtefactError, MissingRankingError, UsageError
from shuffleproof.core.execution import tasks
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.progress import Progress, in_turn, run_to_end, with_words
from shuffleproof.core.rankers import initial, named_presets, registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.combining import Combining
from shuffleproof.core.rankers.ensemble.fit_cache import TrainMember, combination, options_of
from shuffleproof.core.rankers.fit_cache import CachedRanker, fit_or_load
from shuffleproof.core.rankers.initial import ListRecipe, PreparedFold, lists_digest, prepare
from shuffleproof.core.rankers.name import INITIAL, OBJECT, Kind, RankerName
from shuffleproof.core.rankers.outside import file_ranker, user_rankers
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker, digest_of_texts
from shuffleproof.core.rankers.outside.endpoint import EndpointRanker
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.question import Question, Scope, preset_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import MeasureTrial, query_ids_of, run_study
from shuffleproof.core.studies.sections import ANSWER_FAULTS
from shuffleproof.core.studies.study import Plan, Study

__all__ = ["Workbench", "run_to_end"]

TrainingData = tuple[JudgedLists, JudgedLists, Any]
"""Training lists, validation lists, and their recipe, as plain JSON."""


@dataclass(frozen=True)
class IdentifiedRanker:
    """Ranker that can be studied.

    Attributes:
        held: the ranker, or its stored artefact.
        key: key of its trials, or a function that computes it from scores.
    """

    held: Ranker | CachedRanker
    key: str | Callable[[], str]

    @cached_property
    def digest(self) -> str:
        """Digest in the keys of its trials."""
        return self.key if isinstance(self.key, str) else self.key()

    @property
    def ranker(self) -> Ranker:
        """Ranker ready to score; a stored one is opened on first use."""
        return self.held.ranker if isinstance(self.held, CachedRanker) else self.held


@dataclass(frozen=True)
class Workbench:
    """Fold with its candidate lists, and the store of everything made from it.

    Attributes:
        name: name of the data set, as the user wrote it.
        fold: train, validation and test parts.
        recipe: of the candidate lists.
        prepared: the lists of the three parts.
        store: of rankers and results.
        preset: default preset of rankers.
        endpoints: rerankers behind HTTP that were identified, by name.
    """

    name: str
    fold: Fold
    recipe: ListRecipe
    prepared: PreparedFold
    store: Store
    preset: str
    endpoints: dict[str, EndpointRanker] = field(default_factory=dict, compare=False, kw_only=True)

    def __repr__(self) -> str:
        """Data set and lists, in one line."""
        lists = self.prepared.test.lists
        return f"Workbench({self.name!r}, preset {self.preset}, {self.recipe}, test {lists})"

    @classmethod
    def open(
        cls,
        data: str,
        recipe: ListRecipe | None = None,
        store: Store | None = None,
        preset: str | None = None,
    ) -> Generator[Progress, None, "Workbench"]:
        """Open a data set and make its candidate lists (initial rankers are fitted if need be).

        Args:
            data: a stored name, a key, a folder with train/vali/test, or `sample`.
            recipe: how lists are made; by default the top 40 by LambdaMART, cross-fitted.
            store: of all data and results; the user's own by default.
            preset: preset of rankers named without one; `small` for the sample, else `paper`.
        """
        store = store or default_store()
        named_presets.know(store)
        preset = preset or preset_of(data)
        recipe = (recipe or ListRecipe(initial=(f"lambdamart@{preset}",))).of_today()
        fold = resolve(data, store)
        recipe = recipe.for_fold(fold)
        prepared = yield from prepare(fold, recipe, store)
        return cls(data, fold, recipe, prepared, store, preset)

    def train(
        self, name: RankerName, changes: Mapping[str, str] | None = None
    ) -> Generator[Progress, None, CachedRanker]:
        """Train a ranker, or load it.

        Args:
            name: of a registered ranker, of a stored one, or of a combination of such.
            changes: fields of its recipe that differ from the preset, as text.

        Returns:
            The ranker; `cached` is False if it was fitted while this workbench was opened, as the
            initial ranker of its lists.

        Raises:
            UsageError: an external ranker, which cannot be trained.
        """
        options = options_of(name, self.store, changes)
        if options is not None:
            return (yield from self.combined(name.parts, options, self.train))
        if name.last_digits:
            return self._stored_ranker(name)
        if name.is_from_outside and not user_rankers.is_fitted(name):
            remedy = "name it in certify or study"
            raise UsageError(f"{name} is imported, so it cannot be trained; {remedy}")
        spec = registry.spec_of(name, self.preset, **(changes or {}))
        if spec.rankings > self.prepared.test.lists.rankings:
            raise MissingRankingError(str(name), spec.rankings, self.prepared.test.lists.rankings)
        model = yield from self.fit(spec)
        fresh = model.artefact.key in self.prepared.fitted
        return replace(model, cached=False) if fresh else model

    def fit(
        self, spec: RankerSpec, training_data: Callable[[], TrainingData] | None = None
    ) -> Generator[Progress, None, CachedRanker]:
        """Fit a recipe, or load the fitted ranker.

        Args:
            spec: the recipe.
            training_data: to fit on; by default all documents or the lists, as the recipe needs.
        """
        if training_data is not None:
            train, valid, learnt_lists = training_data()
        elif spec.fits_documents:
            return (yield from initial.fit_on_documents(spec, self.fold, self.store))
        else:
            train, valid, learnt_lists = (
                self.prepared.train,
                self.prepared.valid,
                self.recipe.learning_fields(),
            )
        return (yield from fit_or_load(spec, train, valid, learnt_lists, self.store))

    def combined(
        self, parts: Sequence[RankerName], options: Combining, trained: TrainMember
    ) -> Generator[Progress, None, CachedRanker]:
        """Combination of rankers that `trained` gives by name, computed or loaded."""
        return (yield from combination(parts, options, trained, self.prepared.valid, self.store))

    def relisted(self, recipe: ListRecipe) -> Generator[Progress, None, "Workbench"]:
        """Workbench of the same data with lists of another recipe."""
        prepared = yield from prepare(self.fold, recipe, self.store)
        fitted = self.prepared.fitted | prepared.fitted
        return replace(self, recipe=recipe, prepared=replace(prepared, fitted=fitted))

    @property
    def lists_digest(self) -> str:
        """Digest of its candidate lists in the plans of studies."""
        return lists_digest(self.recipe.plain(), self.fold.fingerprint)

    def facts(
        self, base: JudgedLists, rankers: Mapping[str, Ranker | RankerSpec] | None = None
    ) -> dict[str, Any]:
        """Common facts of results on their data and their rankers.

        Args:
            base: the studied lists.
            rankers: by label; None: their inputs are recorded elsewhere.
        """
        common = {
            "data": self.name,
            "queries": len(base.lists),
            "lists": self.recipe.plain(),
            "preset": self.preset,
            **self.of_queries(base),
        }
        if rankers is None:
            return common
        reads = {label: sorted(ranker.reads) for label, ranker in rankers.items()}
        return common | {"reads": reads, "candidates": int(base.lists.offsets[-1])}

    def of_queries(self, base: JudgedLists) -> dict[str, int]:
        """Fact with the number of all test queries, if only some are studied."""
        all_queries = self.fold.test.queries
        return {} if len(base.lists) == all_queries else {"of_queries": all_queries}

    def identified_all(
        self, labels: Sequence[str]
    ) -> Generator[Progress, None, dict[str, IdentifiedRanker]]:
        """Rankers to study, by label; each as from `identified`."""
        names = expand(labels)
        trained = [
            name for name in names.values()
            if all(leaf.kind is Kind.REGISTERED for leaf in name.leaves)
        ]  # fmt: skip
        yield from tasks.values_of(self.train, trained)
        rankers = yield from in_turn(map(self.identified, names.values()))
        return dict(zip(names, rankers, strict=True))

    def identified(self, name: RankerName) -> Generator[Progress, None, IdentifiedRanker]:
        """Ranker to study, trained if necessary.

        A callable is identified by its source files and by its scores of the original test lists.
        If the function, or a file that it imports or reads, changes a score, its trials are run
        again. An object of this process (`python:NAME`) is identified in the same way, by its
        source, version and values.

        Args:
            name: as in `train`, or of a function, an object, or a file, which is identified by
                its content.
        """
        if name.kind is Kind.FILE:
            from_file = file_ranker.file_ranker(name.head, name.path, self.prepared.test.dataset)
            if not name.is_scores:  # the matching of columns depends on the data set
                file = {"file": name.head}
                return self._identified_by_answers(from_file, file, from_file.source)
            key = key_of("ranker", {"file": name.head}, (from_file.source,))
            return IdentifiedRanker(from_file, key.digest)
        if name.kind is Kind.OBJECT and not user_rankers.is_fitted(name):
            user_ranker = user_rankers.open_ranker(name.head)
            return self._identified_by_answers(
                user_ranker, {"object": OBJECT}, user_ranker.known_by
            )
        if name.kind is Kind.ENDPOINT:
            endpoint = self.endpoints[str(name)] = EndpointRanker.from_name(name)
            return self._identified_by_answers(endpoint, {"callable": str(name)}, str(name))
        if name.kind is not Kind.FUNCTION:
            model = yield from with_words(self.train(name), f"of {name}")
            return IdentifiedRanker(model, model.artefact.key.digest)
        function = CallableRanker.from_name(name.head)
        return self._identified_by_answers(function, {"callable": name.head}, function.source)

    def _identified_by_answers(
        self, ranker: Ranker, recipe: Mapping[str, Any], source: str
    ) -> IdentifiedRanker:
        """Ranker identified by its source and by its scores of the unperturbed test lists."""
        test = self.prepared.test

        def digest() -> str:
            texts = digest_of_texts(ranker.reads, test.dataset)
            if isinstance(ranker, EndpointRanker):  # calls are paid: a few lists must do
                answers = ranker.version(test.dataset, test.lists)
                return key_of("ranker", recipe, (source, answers, *texts)).digest
            scores = ranker.score(test.dataset, test.lists)
            answers = hashlib.sha256(scores.tobytes()).hexdigest()
            return key_of("ranker", recipe, (source, answers, *texts)).digest

        return IdentifiedRanker(ranker, digest)

    def _stored_ranker(self, name: RankerName) -> CachedRanker:
        """Stored ranker by name and digits of its key; its recipe may differ."""
        artefact = self.store.resolve(f"ranker-{name.last_digits}", "ranker")
        ranker = registry.load(artefact.path)
        if ranker.name != name.base:
            raise ArtefactError(
                str(name), f"that is a {ranker.name}", "Give both from the same ranker."
            )
        if ranker.rankings > self.prepared.test.lists.rankings:
            raise MissingRankingError(str(name), ranker.rankings, self.prepared.test.lists.rankings)
        return CachedRanker(artefact, cached=True, fitted=ranker)

    def test_lists(self, queries: int | None = None) -> JudgedLists:
        """Candidate lists of the test part, or the first `queries` of them."""
        test = self.prepared.test
        if queries is None or queries >= len(test.lists):
            return test
        return JudgedLists(test.dataset, test.lists.select(np.arange(queries)))

    def perturb(
        self,
        study: Study,
        studied: Mapping[str, IdentifiedRanker],
        step: MeasureTrial,
        more: Callable[[Mapping[str, Ranker]], Mapping[str, Any]] | None = None,
    ) -> Generator[Progress, None, Artefact]:
        """Run a study whose trials are perturbations.

        Args:
            study: plan of the study.
            studied: the rankers.
            step: measures each perturbed list.
            more: returns further facts of the rankers.
        """
        base: JudgedLists = self.prepared.test
        records, ids = self.store.records, query_ids_of(base)
        rankers = OpenRankers(studied)
        return (
            yield from self.run(
                study,
                ids,
                lambda: self.facts(base, rankers) | dict(more(rankers) if more else {}),
                lambda facts: run_study(study, base, rankers, records, step, facts=facts),
            )
        )

    def run(  # noqa: PLR0913 (as `engine.run`)
        self,
        plan: Plan,
        query_ids: Sequence[str],
        facts: Callable[[], Mapping[str, Any]],
        work: engine.Work,
        *,
        save: Callable[[StudyResult, Path], None] = StudyResult.save,
        trains: Iterable[Generator[Progress, None, Any]] = (),
    ) -> Generator[Progress, None, Artefact]:
        """Run a study of any kind, or load its result: `engine.run` on this store.

        `trains` are the trainings of the work, for a dry run (`core.studies.dry_run`).
        """
        del trains

        def noted(known: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
            """The work, and faults of the answers that it got from endpoints."""
            result = yield from work(known)
            notes = [
                f"{name} {note}."
                for name, endpoint in self.endpoints.items()
                for note in endpoint.fault_notes
            ]
            if result is None or not notes:
                return result
            return replace(result, facts={**result.facts, ANSWER_FAULTS: notes})

        return (yield from engine.run(self.store, plan, query_ids, facts, noted, save=save))


class OpenRankers(Mapping[str, Ranker]):
    """Rankers ready to score, by label; each is opened on first use."""

    def __init__(self, studied: Mapping[str, IdentifiedRanker]) -> None:
        """Open nothing yet."""
        self._studied = studied

    def __getitem__(self, label: str) -> Ranker:
        """Ranker of a label."""
        return self._studied[label].ranker

    def __iter__(self) -> Iterator[str]:
        """Labels, in order."""
        return iter(self._studied)

    def __len__(self) -> int:
        """Number of rankers."""
        return len(self._studied)


def with_initial(studied: Mapping[str, IdentifiedRanker]) -> dict[str, IdentifiedRanker]:
    """Rankers with the initial ranking in front."""
    initial_ranking = IdentifiedRanker(initial.InitialRanker(), initial.INITIAL_DIGEST)
    return {INITIAL: initial_ranking, **studied}


def digests_of(studied: Mapping[str, IdentifiedRanker]) -> tuple[tuple[str, str], ...]:
    """Rankers as in a plan: (label, digest)."""
    return tuple((label, identified.digest) for label, identified in studied.items())


def train_ranker(
    scope: Scope, name: RankerName, changes: Mapping[str, str] | None = None
) -> Generator[Progress, None, CachedRanker]:
    """Train a ranker, or load it; lists are made only if it learns from lists.

    Args:
        scope: the data set, and the recipe of its lists.
        name: as in `Workbench.train`.
        changes: fields of its recipe that differ from the preset, as text.
    """
    if name.kind in {Kind.REGISTERED, Kind.CONFIG}:
        spec = registry.spec_of(name, scope.usual_preset, **(changes or {}))
        if spec.fits_documents:
            fold = resolve(scope.pinned or scope.data, scope.store)
            fit = partial(initial.fit_on_documents, fold=fold, store=scope.store)
            (trained,) = yield from tasks.values_of(fit, [spec])
            return trained
    workbench = yield from scope.open_workbench()
    (trained,) = yield from tasks.values_of(partial(workbench.train, changes=changes), [name])
    return trained


def ask(  # noqa: PLR0913 (what, of what, where, and how long)
    question: Question,
    data: str = SAMPLE,
    *,
    preset: str | None = None,
    store: Store | None = None,
    max_seconds: int | float | None = None,
    watch: Callable[[Progress], None] | None = None,
    **lists: Any,
) -> StudyResult:
    """Answer a question; stored results are not computed again.

    If the time limit is reached, the result covers the finished part: its facts have `stopped`.

    Args:
        question: of any kind of study (`core.studies.registry`).
        data: a stored name, a LETOR folder, or `sample`.
        preset: preset of rankers named without one; default `small` for the sample, else `paper`.
        store: of all data and results; by default the user's own.
        max_seconds: time limit for starting new work; the same call without it continues.
        watch: called with every report of progress.
        lists: fields of ListRecipe that differ from its default (`initial`, `depth`, `scores`,
            `queries`, …).

    Raises:
        ShuffleproofError: an unknown name, failed work, or no time for any result.

    >>> import shuffleproof as sp
    >>> ask(sp.WorstCase(rankers=("feature:1",), budgets=(1,), queries=20)).trials.shape
    (26, 7)
    """
    question, scope = question.limited(Scope(store or default_store(), data, lists or None, preset))
    question.check(scope, from_outside=True)
    return StudyResult.open(run_to_end(question.answer(scope, max_seconds), watch).path)
