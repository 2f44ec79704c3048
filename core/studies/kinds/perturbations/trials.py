"""The trials of a study of perturbations, family by family: one that cannot run stops no other."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.base import Make, Perturbation
from shuffleproof.core.perturb.features import SignAttack
from shuffleproof.core.perturb.registry import entry_of, perturbation
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies import cells
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.perturbations.answer_changes import OWN, measured_by
from shuffleproof.core.studies.kinds.perturbations.applicability import LeftOut, failed
from shuffleproof.core.studies.kinds.perturbations.cells import Otherwise
from shuffleproof.core.studies.kinds.perturbations.retraining import Retraining
from shuffleproof.core.studies.precomputed_scores import is_as_is, is_precomputed
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Found, Study, TrialRecords, plan
from shuffleproof.core.studies.workbench import Workbench


@dataclass
class Armed:
    """Makes the perturbations of a study; attacks get the directions of the network they name.

    Attributes:
        rankers: those of the study.
        base: the lists as they are.
    """

    rankers: Mapping[str, Ranker]
    base: JudgedLists
    _directions: dict[str, Any] = field(default_factory=dict)

    def __call__(self, family: str, level: float) -> Perturbation:
        """The perturbation of a family at a level."""
        change = perturbation(family, level)
        if not isinstance(change, SignAttack) or level == 0:
            return change
        if change.attacked not in self._directions:
            from shuffleproof.core.rankers.neural.attack import directions  # noqa: PLC0415 (torch, only when attacking)

            found = directions(self.rankers[change.attacked], self.base)
            self._directions[change.attacked] = found
        return replace(change, directions=self._directions[change.attacked])


@dataclass(frozen=True)
class Trials:
    """Computes the trials of a study; all end in the records.

    Attributes:
        bench: the data and its lists.
        study: the plan.
        rankers: of the study, by label.
        records: where finished trials are kept.
        left_out: by family, rankers that are not asked; those that turn out to be impossible
            are added.
    """

    bench: Workbench
    study: Study
    rankers: Mapping[str, Ranker]
    records: TrialRecords
    left_out: LeftOut

    def run(self) -> Generator[Progress, None, None]:
        """Trials of other inputs, then those that ask or train otherwise."""
        yield from self._scored()
        yield from self._otherwise()

    def _scored(self) -> Generator[Progress, None, None]:
        base: JudgedLists = self.bench.prepared.test
        step, made = measured_by(self._relevance()), Armed(self.rankers, base)
        parts = [(part, len(plan(part))) for part in self._parts()]
        done, total = 0, sum(count for _, count in parts)
        for part, count in parts:
            yield from self._part(part, step, made, (done, total))
            done += count

    def _parts(self) -> list[Study]:
        """The study cut into families of input, each with the rankers that it is put to."""
        found = []
        for family in dict.fromkeys(family for family, _ in self.study.perturbations):
            own = [one for one in self.study.rankers if one[0] not in self.left_out[family]]
            pairs = [pair for pair in self.study.perturbations if pair[0] == family]
            if not entry_of(family).of_input:
                continue
            if own:
                found.append(replace(self.study, rankers=tuple(own), perturbations=tuple(pairs)))
            known = [one for one in self.study.rankers if is_precomputed(one[0])]
            as_is = [pair for pair in pairs if is_as_is(*pair)]
            if known and as_is:
                found.append(replace(self.study, rankers=tuple(known), perturbations=tuple(as_is)))
        return found

    def _part(
        self, part: Study, step: Any, made: Make, place: tuple[int, int]
    ) -> Generator[Progress, None, None]:
        """One family; where it fails it is put to each ranker alone, and who fails is left out."""
        before, total = place
        work = run_study(
            part, self.bench.prepared.test, self.rankers, self.records, step, made=made
        )
        try:
            for progress in work:
                yield replace(progress, done=before + progress.done, total=total)
        except ShuffleproofError as error:
            if len(part.rankers) > 1:
                for one in part.rankers:
                    yield from self._part(replace(part, rankers=(one,)), step, made, place)
                return
            ((label, _),) = part.rankers
            self.left_out[part.perturbations[0][0]][label] = failed(error, trains=False)

    def _otherwise(self) -> Generator[Progress, None, None]:
        work = [
            Cell(trial, 0, self.study.digest_of(trial))
            for trial in plan(self.study)
            if not entry_of(trial.family).of_input
            and trial.ranker not in self.left_out[trial.family]
        ]
        work.sort(key=lambda cell: entry_of(cell.row.family).retrains)  # what is longest is last
        training = Retraining(self.bench, self.study.seed)
        compute = Otherwise(training, self.rankers, self._relevance())
        yield from cells.run_cells(work, _Kept(self.records), self._guarded(compute))

    def _guarded(self, compute: cells.Compute) -> cells.Compute:
        """Computes a cell, or notes why its family cannot be put to its ranker."""

        def guarded(cell: Cell) -> Generator[Progress, None, Found]:
            """What was found; nothing, and a reason, where it cannot be computed."""
            reasons = self.left_out[cell.row.family]
            if cell.row.ranker in reasons:
                return {}, {}
            try:
                return (yield from compute(cell))
            except ShuffleproofError as error:
                reasons[cell.row.ranker] = failed(error, trains=entry_of(cell.row.family).retrains)
                return {}, {}

        return guarded

    def _relevance(self) -> Sequence[Measure]:
        """What is stored beside OWN."""
        return [Measure.parse(text) for text in self.study.measured if text not in OWN]


@dataclass(frozen=True)
class _Kept:
    """Records that keep no cell without values: those that are left out."""

    records: TrialRecords

    def get(self, digest: str) -> Found | None:
        """A record's facts and arrays, or None."""
        return self.records.get(digest)

    def put(self, digest: str, meta: dict[str, Any], arrays: Any) -> None:
        """Keep a record that holds something."""
        if arrays:
            self.records.put(digest, meta, arrays)
