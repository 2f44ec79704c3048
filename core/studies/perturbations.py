"""What anything that may happen to an input does to a ranker: any rankers, families and levels.

The study of a worse initial ranking, generalised: the order shown, the ranking, the set, the
features, the labels learnt from, how rankers are trained and asked, and chains. Beside the measures
every trial keeps what became of the ranker's own answer, over the documents that both lists have.
Rankers that read nothing of what was changed are scored once, with proofs; families of labels
train. A ranker for which a family means nothing has no values under it, and a reason.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float32

from core.data.lists import JudgedLists
from core.errors import UsageError
from core.metrics.measure import Measure
from core.perturb.base import Make, Perturbation
from core.perturb.features import SignAttack
from core.perturb.registry import ATTACK, entry_of, perturbation
from core.progress import Progress
from core.rankers.base import Ranker
from core.rankers.recipes import NeuralSpec
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import cells, conventions, underway
from core.studies.answer_changes import OWN, measured_by
from core.studies.cells import Cell
from core.studies.frozen import apart, beyond
from core.studies.initial_ranking import INITIAL, InitialRanking
from core.studies.perturbations_cells import Otherwise
from core.studies.result import StudyResult
from core.studies.retraining import Retraining, check_trainable, untrainable
from core.studies.run import Memory, TrialRecords, query_ids_of, run_study, so_far
from core.studies.study import Study, levels_of, plan
from core.studies.system import meaningless
from core.studies.workbench import Identified, Workbench

KIND = "perturbations"
Pairs = Sequence[tuple[str, int | float]]


@dataclass(frozen=True)
class Setup:
    """What a study asks for, beside its rankers.

    Attributes:
        perturbations: (family, level) pairs, as `pairs_of` makes them.
        measures: as text.
        draws: of each level.
        seed: of the draws.
    """

    perturbations: Pairs
    measures: tuple[str, ...] = ("NDCG@10",)
    draws: int = 5
    seed: int = 0


def pairs_of(families: Sequence[str], levels: str | None = None) -> list[tuple[str, float]]:
    """Families at their own levels, or at those given; a family may be a chain or an attack.

    Args:
        families: names of the registry, chains (`transpositions:5+cut`), `gradient-sign@RANKER`.
        levels: comma-separated; taken for every family.

    >>> pairs_of(["singleton", "cut:0.5+shuffle-shown"])[1:]
    [('singleton', 1.0), ('cut:0.5+shuffle-shown', 0.0), ('cut:0.5+shuffle-shown', 1.0)]
    """
    return [(family, level) for family in families for level in levels_of(family, levels)]


def run(
    bench: Workbench, names: Sequence[str], setup: Setup
) -> Generator[Progress, None, Artefact]:
    """Train what is missing, disturb, measure; yields progress, returns the stored result.

    Args:
        bench: the data and its lists.
        names: rankers, as `Workbench.identified` takes them.
        setup: what is done to them; `gradient-sign` without a name attacks every network in turn.

    Raises:
        UnknownNameError: no such ranker, family or measure.
        UsageError: labels change and no ranker can be trained again, an attack on none, or a
            family that means nothing for any of them.
    """
    check(names, [family for family, _ in setup.perturbations])
    found: dict[str, Identified] = {}
    for name in names:
        found[name] = yield from bench.identified(name)
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    rankers |= {label: one.ranker for label, one in found.items()}
    study = planned(bench, found, replace(setup, perturbations=_attacks(setup, rankers)))
    key, base = key_of("study", study.recipe()), bench.prepared.test
    records: TrialRecords = Memory()
    if all(one.lasting for one in found.values()):
        records = bench.store.records
    with bench.store.lock(key):
        stored = bench.store.find(key)
        if stored is not None:
            return stored
        facts = _facts(bench, study, rankers)
        underway.announce(bench.store, key, study, query_ids_of(base), facts)
        yield from _computed(bench, study, rankers, records)
        result = so_far(study, records, query_ids_of(base), facts)
        if result is None:
            raise UsageError("nothing to study: no family was named")
        whole = _asked(result, facts["left_out"])
        return bench.store.add(key, study.recipe(), whole.save, facts)


def planned(bench: Workbench, found: Mapping[str, Identified], setup: Setup) -> Study:
    """The plan; its trials are keyed by what determines them alone.

    Raises:
        UnknownNameError: no such family or measure.
        UsageError: labels change and no ranker can be trained again, or an attack on none.
    """
    labels = [INITIAL, *found]
    families = dict(setup.perturbations)
    check(list(found), families)
    for family in families:
        attacked = family.partition("@")[2]
        if family.startswith(ATTACK) and attacked not in labels:
            raise UsageError(f"{family}: name a network among the rankers that are studied")
    texts = tuple(str(Measure.parse(text)) for text in setup.measures)
    own = key_of("ranker", {"ranker": INITIAL}).digest
    return Study(
        kind=KIND,
        rankers=((INITIAL, own), *((label, one.digest) for label, one in found.items())),
        lists=key_of("lists", asdict(bench.recipe), (bench.fold.fingerprint,)).digest,
        initial=bench.recipe.initial,
        perturbations=_with_as_is(setup.perturbations),
        measures=(*texts, *OWN),
        draws=setup.draws,
        seed=setup.seed,
        stored=(*conventions.kept(texts), *OWN),
    )


def check(names: Sequence[str], families: Iterable[str]) -> None:
    """Refuse what can be known before anything is trained.

    Args:
        names: of the rankers.
        families: of perturbations.

    Raises:
        UnknownNameError: no such family.
        UsageError: rankers are to be trained again and none can be, or a family that means
            nothing for any of them.
    """
    for family in dict.fromkeys(families):
        unable = _untrained(family, names)
        if names and len(unable) == len(dict.fromkeys(names)):
            check_trainable(names[0])
        meaningless(family, [one for one in (INITIAL, *names) if one not in unable])


def as_is(result: StudyResult, ranker: str, measure: str) -> Float32[np.ndarray, " queries"]:
    """A ranker's value for every query on the lists as they are, whatever else a study disturbs."""
    family, level = next(pair for pair in result.recipe["perturbations"] if _unchanged(*pair))
    return result.per_query(ranker, family, level, measure)


def _unchanged(family: str, level: float) -> bool:
    entry = entry_of(family)
    return level == entry.unchanged and "+" not in family and entry.of_input


def _with_as_is(pairs: Pairs) -> tuple[tuple[str, float], ...]:
    """The pairs, the lists as they are first where no family has them (chains and labels do not).

    >>> _with_as_is([("cut:0.5+shuffle-shown", 1)])
    (('cut', 0.0), ('cut:0.5+shuffle-shown', 1.0))
    """
    whole = tuple((family, float(level)) for family, level in pairs)
    if any(_unchanged(*pair) for pair in whole) or not whole:
        return whole
    first = whole[0][0].partition("+")[0].partition(":")[0]
    first = first if entry_of(first).of_input else "transpositions"
    return ((first, entry_of(first).unchanged), *whole)


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
            from core.rankers.attack import directions  # noqa: PLC0415 (torch, only when attacking)

            found = directions(self.rankers[change.attacked], self.base)
            self._directions[change.attacked] = found
        return replace(change, directions=self._directions[change.attacked])


def _computed(
    bench: Workbench, study: Study, rankers: Mapping[str, Ranker], records: TrialRecords
) -> Generator[Progress, None, None]:
    """Trials of other inputs, then those that ask or train otherwise; all end in the records."""
    base: JudgedLists = bench.prepared.test
    step = measured_by(_relevance(study))
    made: Make = Armed(rankers, base)
    scored = tuple(pair for pair in study.perturbations if entry_of(pair[0]).of_input)
    for own, pairs in apart(study, scored):
        part = replace(study, rankers=own, perturbations=pairs)
        yield from run_study(part, base, rankers, records, step, made=made)
    left_out = _left_out(study)
    work = [
        Cell(trial, 0, study.digest_of(trial))
        for trial in plan(study)
        if not entry_of(trial.family).of_input and trial.ranker not in left_out[trial.family]
    ]
    work.sort(key=lambda cell: entry_of(cell.row.family).retrains)  # what takes longest comes last
    compute = Otherwise(Retraining(bench, study.seed), rankers, _relevance(study))
    yield from cells.run_cells(work, records, compute)


def _asked(result: StudyResult, left_out: Mapping[str, Mapping[str, str]]) -> StudyResult:
    """The trials without those that are left out, which another study may have stored."""
    pairs = zip(result.trials["family"], result.trials["ranker"], strict=True)
    rows = np.flatnonzero([ranker not in left_out.get(family, {}) for family, ranker in pairs])
    trials = result.trials.iloc[rows].reset_index(drop=True)
    return replace(result, trials=trials, values=result.values[rows])


def _left_out(study: Study) -> dict[str, dict[str, str]]:
    """By family, the rankers for which it means nothing, and why."""
    labels = [label for label, _ in study.rankers]
    found = {}
    for family, _ in study.perturbations:
        unable = _untrained(family, labels)
        others = [label for label in labels if label not in unable]
        found[family] = meaningless(family, others) | unable | beyond(family, labels)
    return found


def _untrained(family: str, labels: Iterable[str]) -> dict[str, str]:
    """The rankers of a family that trains which cannot be trained again, and why."""
    reasons = untrainable(labels) if entry_of(family).retrains else {}
    return {label: f"cannot be trained again, {reason}" for label, reason in reasons.items()}


def _relevance(study: Study) -> list[Measure]:
    """What is stored beside OWN."""
    return [Measure.parse(text) for text in study.measured if text not in OWN]


def _attacks(setup: Setup, rankers: Mapping[str, Ranker]) -> Pairs:
    """The pairs with `gradient-sign` made an attack on every network of the study."""
    nets = [
        label
        for label, ranker in rankers.items()
        if isinstance(getattr(ranker, "spec", None), NeuralSpec)
    ]
    pairs: list[tuple[str, int | float]] = []
    for family in dict.fromkeys(family for family, _ in setup.perturbations):
        levels = [level for name, level in setup.perturbations if name == family]
        named = [f"{ATTACK}@{label}" for label in nets] if family == ATTACK else [family]
        if not named:
            raise UsageError(f"{ATTACK} attacks a network, and none is among the rankers")
        pairs += [(one, level) for one in named for level in levels]
    return pairs


def _facts(bench: Workbench, study: Study, rankers: Mapping[str, Ranker]) -> dict[str, Any]:
    base: JudgedLists = bench.prepared.test
    families = {family: entry_of(family) for family, _ in study.perturbations}
    return {
        "data": bench.name,
        "reads": {label: sorted(ranker.reads) for label, ranker in rankers.items()},
        "changes": {family: sorted(entry.changes) for family, entry in families.items()},
        "units": {family: entry.unit for family, entry in families.items()},
        "left_out": {family: why for family, why in _left_out(study).items() if why},
        "queries": len(base.lists),
        "candidates": int(base.lists.offsets[-1]),
        "lists": asdict(bench.recipe),
        "preset": bench.preset,
    }
