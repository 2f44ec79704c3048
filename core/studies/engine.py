"""Engine of all studies: look up the result, or register the study, run it and store the result.

A kind brings its plan, the facts known before the work, and the work; the rest is here. A running
study is registered in the workspace of its key. The registration survives kills and ends when the
result is stored. Any process can draw the partial result from it and the finished trials.
"""

import json
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeGuard

from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.jobs import THIS_JOB
from shuffleproof.core.progress import Progress, TimeLimitReached
from shuffleproof.core.store import manifest
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import STOPPED
from shuffleproof.core.studies.study import Plan, Study, TrialRecords

Work = Callable[[dict[str, Any]], Generator[Progress, None, StudyResult | None]]
"""Facts → the result, which carries these and more facts; None without any result."""


def run(  # noqa: PLR0913 (where, what, on what, and the two steps that differ between kinds)
    store: Store,
    plan: Plan,
    query_ids: Sequence[str],
    facts: Callable[[], Mapping[str, Any]],
    work: Work,
    *,
    save: Callable[[StudyResult, Path], None] = StudyResult.save,
    records: TrialRecords | None = None,
) -> Generator[Progress, None, Artefact]:
    """Run a study, or look it up; yields progress, returns the stored result.

    When the time limit (`core.progress.limit_seconds`) is reached, it returns the finished part
    without a key. If rows failed (FAILED), it stores the other rows under another key.

    Args:
        store: of results and finished trials.
        plan: its recipe is the key.
        query_ids: one id per list, in the lists' order.
        facts: known before the work; called only if there is work.
        work: computes the result.
        save: writes the result into an empty folder.
        records: of finished trials; by default the store's.

    Raises:
        UsageError: there was nothing to measure.
    """
    recipe = plan.recipe()
    key = key_of("study", recipe)
    stored = store.find(key)
    if is_whole(stored):  # nothing is written: the store may be another's
        return stored
    with store.lock(key):
        # Another process may have stored it while this one waited for the lock
        stored = store.find(key)
        if is_whole(stored):
            return stored
        known_facts = dict(facts())
        register(store, key, plan, query_ids, known_facts)
        try:
            result = yield from work(known_facts)
        except TimeLimitReached as limit:
            trial_records = store.records if records is None else records
            result = _stopped_result(plan, trial_records, query_ids, known_facts, limit.seconds)
            if result is None:
                raise
            place = store.workspace(key) / PARTIAL
            place.mkdir(exist_ok=True)
            save(result, place)
            return Artefact(key_of(PARTIAL, recipe), place, result.recipe, result.facts, "", 0)
        if result is None:
            raise UsageError(
                "nothing to measure: name at least one ranker and data with test queries"
            )
        if lacking := result.facts.get(FAILED):
            recipe, known_as = recipe | {FAILED: lacking}, key
            key, result = key_of("study", recipe), replace(result, recipe=recipe)
            shutil.rmtree(store.workspace(known_as), ignore_errors=True)  # it is not under way
        elif stored is not None:  # earlier versions stored incomplete results under this key
            store.remove(key)
        return store.add(key, recipe, lambda place: save(result, place), dict(result.facts))


FAILED = "failed"
"""Fact with the failed rows and their errors. Such a result has its own key, which contains them.
A new request for the whole study therefore does not find it and tries these rows again.
"""

PARTIAL = "partial"
"""Kind of key, and workspace folder, of the partial result of a stopped study."""


def is_whole(stored: Artefact | None) -> TypeGuard[Artefact]:
    """True if a study is stored with all its rows, so that no work remains."""
    return stored is not None and not stored.facts.get(FAILED)


def _stopped_result(
    plan: Plan,
    records: TrialRecords,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
    seconds: int | float,
) -> StudyResult | None:
    """Finished part of a study that reached its time limit; None without a finished row."""
    digests = plan.digests(len(query_ids))
    finished = sum(records.get(digest) is not None for digest in digests)
    stopped = {"seconds": seconds, "done": finished, "of": len(digests)}
    result = so_far(plan, records, query_ids, dict(facts) | {STOPPED: stopped})
    return result and _of_whole_levels(result)


def _of_whole_levels(result: StudyResult) -> StudyResult:
    """Stopped study of levels, reduced to the levels that all its rankers have finished.

    If no level is finished by all rankers, the result has only the rankers that finished the
    first one. Studies with `left_out` rankers report missing rows themselves.
    """
    recipe, trials = result.recipe, result.trials
    if "perturbations" not in recipe or "left_out" in result.facts:
        return result
    points = [(str(family), float(level)) for family, level in recipe["perturbations"]]
    having = {point: set(result.rankers_at(*point)) for point in points}
    rankers = set(trials.ranker)
    finished_points = [point for point in points if having[point] == rankers]
    if not finished_points:
        finished_points = [next(point for point in points if having[point])]
        rankers = having[finished_points[0]]
    rows = [
        at
        for at, row in enumerate(trials.itertuples())
        if row.ranker in rankers and (row.family, row.level) in finished_points
    ]
    smaller = {
        "rankers": [pair for pair in recipe["rankers"] if pair[0] in rankers],
        "perturbations": [list(point) for point in finished_points],
    }
    return replace(
        result,
        recipe={**recipe, **smaller},
        trials=trials.iloc[rows].reset_index(drop=True),
        values=result.values[rows],
    )


ANNOUNCEMENT = "study.json"
REMEMBERED = 4
"""Number of running studies whose last partial result is cached until there is a new record."""


@dataclass(frozen=True)
class RunningStudy:
    """Study that has begun.

    Attributes:
        recipe: its description.
        query_ids: one id per list.
        facts: as in its final result.
        job: id of the job that runs it; empty without a job.
    """

    recipe: Mapping[str, Any]
    query_ids: tuple[str, ...]
    facts: Mapping[str, Any]
    job: str = ""

    @property
    def study(self) -> Study:
        """Description of a study of perturbations."""
        return Study.of(self.recipe)

    def result(self, store: Store) -> StudyResult | None:
        """Partial result so far; None before the first finished trial.

        Records are read again only if their number has changed.
        """
        place = (str(store.root), key_of("study", self.recipe).digest)
        last = _LAST.get(place) or _LastProgress(plan_of(self.recipe).digests(len(self.query_ids)))
        # Counting is cheap, reading all records is not
        count = sum(digest in store.records for digest in last.digests)
        if last.count != count:
            plan = plan_of(self.recipe)
            last = _LastProgress(
                last.digests, count, so_far(plan, store.records, self.query_ids, self.facts)
            )
        with _LOCK:
            _LAST[place] = last
            for old in list(_LAST)[:-REMEMBERED]:
                del _LAST[old]
        return last.result


@dataclass(frozen=True)
class _LastProgress:
    """Cached state of a running study."""

    digests: Sequence[str]
    count: int = 0
    result: StudyResult | None = None


_LAST: dict[tuple[str, str], _LastProgress] = {}
"""Cached states by store and study."""

_LOCK = Lock()


def plan_of(recipe: Mapping[str, Any]) -> Plan:
    """Plan of a study of any kind.

    Args:
        recipe: of the study.

    Raises:
        LookupError: no such kind, or a field of the plan is missing.
        TypeError: a value has the wrong shape for its field.
        ValueError: a pair is malformed.
    """
    return EVERY[recipe["kind"]].plan_of(recipe)


def so_far(
    plan: Plan, records: TrialRecords, query_ids: Sequence[str], facts: Mapping[str, Any]
) -> StudyResult | None:
    """Partial result of a study, from the stored records; None before its first row.

    Args:
        plan: of a running or stopped study, possibly of another process.
        records: of finished trials.
        query_ids: one id per list, in the lists' order.
        facts: of the result.
    """
    stored = {digest: records.get(digest) for digest in plan.digests(len(query_ids))}
    finished = {digest: record for digest, record in stored.items() if record is not None}
    return plan.assemble(finished, query_ids, facts)


def register(
    store: Store,
    key: ArtefactKey,
    plan: Plan,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> None:
    """Announce that a study begins; the caller holds its lock."""
    head = {"recipe": plan.recipe(), "query_ids": list(query_ids), "facts": dict(facts)}
    head["job"] = os.environ.get(THIS_JOB, "")
    path = store.workspace(key) / ANNOUNCEMENT
    # A reader never sees half a file: write elsewhere, then rename
    part = path.with_suffix(".part")
    with manifest.disk_errors(str(key), store.root):
        part.write_text(json.dumps(head), encoding="utf-8")
        part.replace(path)


def running_studies(store: Store, kind: str) -> Iterator[RunningStudy]:
    """Studies of a kind that have begun, including stopped ones, newest first."""
    places = (store.root / "workspaces").glob(f"study-*/{ANNOUNCEMENT}")
    for path in sorted(places, key=_modified_at, reverse=True):
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
            fields = dict(head["recipe"]), tuple(head["query_ids"]), dict(head["facts"])
            study = RunningStudy(*fields, str(head.get("job", "")))
        except FileNotFoundError:  # it has been stored meanwhile
            continue
        except (ValueError, LookupError, TypeError):  # damaged: the next run starts again
            continue
        if study.recipe.get("kind") == kind:
            yield study


def _modified_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
