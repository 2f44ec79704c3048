"""Study of perturbations: effect of any change of the input on any rankers.

It generalises the study of a worse initial ranking to the input order, the ranking, the set, the
features, the training labels, training and arithmetic, and chains. In addition to the measures,
every trial stores the change of the ranking over the documents in both lists. Rankers that read
nothing of the changed input are scored once, with proofs; families of labels train again. A ranker
to which a family does not apply has no values under it, but a reason.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.experiment.precomputed_scores import is_as_is
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.base import MakePerturbation, Perturbation
from shuffleproof.core.perturb.features import SignAttack
from shuffleproof.core.perturb.registry import ATTACK, attack_target, entry_of, perturbation
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cells, conventions
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.engine import so_far
from shuffleproof.core.studies.kinds.perturbations import applicability
from shuffleproof.core.studies.kinds.perturbations.applicability import (
    InapplicableRankers,
    failure_reason,
    inapplicable_rankers,
)
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.perturbations.system import (
    OWN,
    Retraining,
    SystemTrials,
    measured_by,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import query_ids_of, run_study
from shuffleproof.core.studies.study import CellResult, Study, TrialRecords, plan
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of, with_initial

Pairs = Sequence[tuple[str, int | float]]
PLAIN = ("transpositions", "shuffle-shown")
"""Families whose unchanged level gives the unperturbed lists, if the study has none."""


def run(workbench: Workbench, question: Perturbations) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, perturb, measure.

    `gradient-sign` without a name attacks every network in turn.

    Raises:
        UnknownNameError: no such ranker, family or measure.
        UsageError: an attack on a ranker that is not studied, or no family applies to any ranker.
    """
    check(question.rankers, dict(question.perturbations))
    identified = yield from workbench.identified_all(question.rankers)
    entered = with_initial(identified)
    rankers = OpenRankers(entered)
    pairs = _attacks(question.perturbations, rankers)
    families = dict(pairs)
    rankings = workbench.prepared.test.lists.rankings
    left_out = inapplicable_rankers([*families, *PLAIN], list(rankers), rankings)
    applicability.check({family: left_out[family] for family in families}, list(rankers))
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    study = Study(
        kind=question.kind,
        rankers=digests_of(entered),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        perturbations=_with_as_is(pairs, left_out),
        measures=(*texts, *OWN),
        draws=question.draws,
        seed=question.seed,
        stored=(*conventions.stored_measures(texts), *OWN),
    )
    records, ids = workbench.store.records, query_ids_of(workbench.prepared.test)

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        left_out = _left_out(workbench, study)
        yield from Trials(workbench, study, rankers, records, left_out).run()
        applicability.check(left_out, list(rankers))
        facts |= {"left_out": {family: why for family, why in left_out.items() if why}}
        result = so_far(study, records, ids, facts)
        return result and _without_left_out(result, facts["left_out"])

    trains = _retrainings(workbench, study, records)
    facts = partial(_facts, workbench, study, rankers)
    return (yield from workbench.run(study, ids, facts, work, trains=trains))


def _retrainings(
    workbench: Workbench, study: Study, records: TrialRecords
) -> Iterator[Generator[Progress, None, Any]]:
    """Trainings of trials that are not stored yet."""
    left_out, training = _left_out(workbench, study), Retraining(workbench, study.seed)
    for trial in plan(study):
        entry = entry_of(trial.family)
        learnt = entry.retrains and trial.ranker != INITIAL and trial.level != entry.unchanged
        needed = learnt and trial.ranker not in left_out[trial.family]
        if needed and records.get(study.digest_of(trial)) is None:
            yield training.train(trial)


def check(names: Sequence[str], families: Iterable[str]) -> None:
    """Refuse invalid names and families before anything is trained.

    Raises:
        UnknownNameError: no such family.
        UsageError: an attack on a ranker that is not studied, or nothing would be left to study.
    """
    labels, families = [INITIAL, *expand(names)], list(families)
    for family in families:
        if (attacked_label := attack_target(family)) and attacked_label not in labels:
            raise UsageError(f"{family}: name a network among the rankers that are studied")
    left_out = inapplicable_rankers(families, labels)
    if ATTACK not in families:  # which networks there are is known when the rankers are
        applicability.check(left_out, labels)


def as_is(result: StudyResult, ranker: str, measure: str) -> Float32[np.ndarray, " queries"]:
    """Values of a ranker for every query on the unperturbed lists."""
    of_ranker = result.trials[result.trials["ranker"] == ranker]
    present = set(zip(of_ranker["family"], of_ranker["level"], strict=True))
    pairs = [(str(family), float(level)) for family, level in result.recipe["perturbations"]]
    unchanged = [pair for pair in pairs if is_as_is(*pair)]
    family, level = next((pair for pair in unchanged if pair in present), unchanged[0])
    return result.per_query(ranker, family, level, measure)


def _with_as_is(pairs: Pairs, left_out: InapplicableRankers) -> tuple[tuple[str, float], ...]:
    """Pairs with unperturbed lists in front, if no family measures them for every ranker.

    >>> _with_as_is([("cut:0.5+shuffle-shown", 1)], {})
    (('cut', 0.0), ('cut:0.5+shuffle-shown', 1.0))
    """
    all_pairs = tuple((family, float(level)) for family, level in pairs)
    if any(is_as_is(*pair) and _for_all(left_out, pair[0]) for pair in all_pairs) or not all_pairs:
        return all_pairs
    base_family = all_pairs[0][0].partition("+")[0].partition(":")[0]
    plain_family = next(
        family
        for family in (base_family, *PLAIN)
        if entry_of(family).of_input and _for_all(left_out, family)
    )
    return ((plain_family, entry_of(plain_family).unchanged), *all_pairs)


def _for_all(left_out: InapplicableRankers, family: str) -> bool:
    """True if every ranker has a value on the unperturbed lists of a family."""
    return all(RankerName.of(label).is_scores for label in left_out.get(family, {}))


def _left_out(workbench: Workbench, study: Study) -> InapplicableRankers:
    families = dict.fromkeys(family for family, _ in study.perturbations)
    labels = [label for label, _ in study.rankers]
    left_out = inapplicable_rankers(families, labels, workbench.prepared.test.lists.rankings)
    for family, reasons in left_out.items():
        if all(is_as_is(*pair) for pair in study.perturbations if pair[0] == family):
            left_out[family] = {
                label: why for label, why in reasons.items() if not RankerName.of(label).is_scores
            }
    return left_out


def _without_left_out(
    result: StudyResult, left_out: Mapping[str, Mapping[str, str]]
) -> StudyResult:
    """Result without inapplicable trials, which another study may have stored."""
    facts = (result.trials[name] for name in ("family", "level", "ranker"))
    mask = [
        ranker not in left_out.get(family, {})
        or (RankerName.of(ranker).is_scores and is_as_is(family, level))
        for family, level, ranker in zip(*facts, strict=True)
    ]
    return trials_where(result, mask)


def trials_where(result: StudyResult, chosen: Sequence[bool]) -> StudyResult:
    """Result reduced to some of its trials."""
    rows = np.flatnonzero(chosen)
    trials = result.trials.iloc[rows].reset_index(drop=True)
    return replace(result, trials=trials, values=result.values[rows])


def _attacks(requested: Pairs, rankers: Mapping[str, Ranker]) -> Pairs:
    """Pairs in which `gradient-sign` is replaced by an attack on every network of the study."""
    nets = [
        label
        for label in (rankers if ATTACK in dict(requested) else ())
        if isinstance(getattr(rankers[label], "spec", None), NeuralSpec)
    ]
    pairs: list[tuple[str, int | float]] = []
    for family in dict.fromkeys(family for family, _ in requested):
        levels = [level for name, level in requested if name == family]
        attacks = [f"{ATTACK}@{label}" for label in nets] if family == ATTACK else []
        families = attacks or [family]  # without a network it is left out, with a reason
        pairs += [(name, level) for name in families for level in levels]
    return pairs


def _lists_reaching(base: JudgedLists, pairs: Pairs) -> dict[str, dict[str, int]]:
    """Number of lists that reach a level, by family and level, if not all do."""
    by_family: dict[str, dict[str, int]] = {}
    for family, level in pairs:
        count = entry_of(family).lists_reaching(base, level)
        if count < len(base.lists):
            by_family.setdefault(family, {})[f"{level:g}"] = count
    return by_family


def _facts(workbench: Workbench, study: Study, rankers: Mapping[str, Ranker]) -> dict[str, Any]:
    base: JudgedLists = workbench.prepared.test
    families = {family: entry_of(family) for family, _ in study.perturbations}
    left_out = _left_out(workbench, study)
    return workbench.facts(base, rankers) | {
        "changes": {family: sorted(entry.changes) for family, entry in families.items()},
        "units": {family: entry.unit for family, entry in families.items()},
        "left_out": {family: why for family, why in left_out.items() if why},
        "reached": _lists_reaching(base, study.perturbations),
    }


@dataclass
class AttackFactory:
    """Factory of a study's perturbations; attacks get the directions of their network."""

    rankers: Mapping[str, Ranker]
    base: JudgedLists
    _directions: dict[str, Any] = field(default_factory=dict)

    def __call__(self, family: str, level: float) -> Perturbation:
        """Perturbation of a family at a level."""
        change = perturbation(family, level)
        if not isinstance(change, SignAttack) or level == 0:
            return change
        label = change.attacked
        if label not in self._directions:
            from shuffleproof.core.rankers.neural.attack import directions  # noqa: PLC0415 (torch, only when attacking)

            self._directions[label] = directions(self.rankers[label], self.base)
        return replace(change, directions=self._directions[label])


@dataclass(frozen=True)
class Trials:
    """Computes the trials of a study and stores them as records.

    Attributes:
        workbench: the data and its lists.
        study: the plan.
        rankers: of the study, by label.
        records: store of finished trials.
        left_out: inapplicable rankers, by family; failing ones are added.
    """

    workbench: Workbench
    study: Study
    rankers: Mapping[str, Ranker]
    records: TrialRecords
    left_out: InapplicableRankers

    def run(self) -> Generator[Progress, None, None]:
        """Run the trials with other inputs, then those with other training or arithmetic."""
        step = measured_by(self._relevance())
        attackers = AttackFactory(self.rankers, self.workbench.prepared.test)
        parts = [(part, len(plan(part))) for part in self._parts()]
        finished, total = 0, sum(count for _, count in parts)
        for part, count in parts:
            yield from self._part(part, step, attackers, (finished, total))
            finished += count
        yield from self._measure_system()

    def _parts(self) -> Iterator[Study]:
        """Parts of the study: one family of input each, with its applicable rankers."""
        for family in dict.fromkeys(family for family, _ in self.study.perturbations):
            if not entry_of(family).of_input:
                continue
            able = [pair for pair in self.study.rankers if pair[0] not in self.left_out[family]]
            pairs = [pair for pair in self.study.perturbations if pair[0] == family]
            as_is = [pair for pair in pairs if is_as_is(*pair)]
            for rankers, levels in ((able, pairs), (self.study.precomputed, as_is)):
                if rankers and levels:
                    yield replace(self.study, rankers=tuple(rankers), perturbations=tuple(levels))

    def _part(
        self, part: Study, step: Any, attackers: MakePerturbation, place: tuple[int, int]
    ) -> Generator[Progress, None, None]:
        """Run one family; if it fails, run each ranker alone and leave out those that fail."""
        before, total = place
        work = run_study(
            part, self.workbench.prepared.test, self.rankers, self.records, step, made=attackers
        )
        try:
            for progress in work:
                yield replace(progress, done=before + progress.done, total=total)
        except ShuffleproofError as error:
            # The batch does not say which ranker failed, so each one is tried alone
            if len(part.rankers) > 1:
                for ranker in part.rankers:
                    yield from self._part(replace(part, rankers=(ranker,)), step, attackers, place)
                return
            ((label, _),) = part.rankers
            self.left_out[part.perturbations[0][0]][label] = failure_reason(error, trains=False)

    def _measure_system(self) -> Generator[Progress, None, None]:
        work = [
            Cell(trial, 0, self.study.digest_of(trial))
            for trial in plan(self.study)
            if not entry_of(trial.family).of_input
            and trial.ranker not in self.left_out[trial.family]
        ]
        work.sort(key=lambda cell: entry_of(cell.row.family).retrains)  # trainings take longest
        training = Retraining(self.workbench, self.study.seed)
        compute = SystemTrials(training, self.rankers, self._relevance())

        def guarded(cell: Cell) -> Generator[Progress, None, CellResult]:
            """Result of a cell; empty, with a reason, if the ranker fails."""
            reasons = self.left_out[cell.row.family]
            if cell.row.ranker in reasons:
                return {}, {}
            try:
                return (yield from compute(cell))
            except ShuffleproofError as error:
                reasons[cell.row.ranker] = failure_reason(
                    error, trains=entry_of(cell.row.family).retrains
                )
                return {}, {}

        yield from cells.run_cells(work, _StoredAnswers(self.records), guarded)

    def _relevance(self) -> Sequence[Measure]:
        """Stored measures other than OWN."""
        return [Measure.parse(text) for text in self.study.stored_measures if text not in OWN]


@dataclass(frozen=True)
class _StoredAnswers:
    records: TrialRecords

    def get(self, digest: str) -> CellResult | None:
        return self.records.get(digest)

    def put(self, digest: str, meta: dict[str, Any], arrays: Any) -> None:
        """Store a record unless it is empty."""
        if arrays:
            self.records.put(digest, meta, arrays)
