"""The door to the jobs of a store: work is handed in here, and done outside the web process.

A page hands work in with `submit`, calls `start_waiting`, and looks at `jobs_of(store)`.
"""

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from shuffleproof.core.data.layout import SHIPPED
from shuffleproof.core.errors import ArtefactError, ParameterError, UnknownNameError
from shuffleproof.core.execution.jobs import Job, Jobs, places
from shuffleproof.core.job_kinds import KINDS, SHORT, StudyJob, text_of
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store import names as names_of_store
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.question import Scope, preset_of
from shuffleproof.core.studies.registry import LISTLESS, STUDIES

PROGRAM = (sys.executable, "-m", "shuffleproof.core.job_process")

LATER: Mapping[str, Mapping[str, Any]] = {"tune": {"at_once": 1}}
"""Parameters that a kind took later, and what it did before: that value is no part of an id."""


def submit(store: Store, kind: str, parameters: Mapping[str, Any]) -> Job:
    """Hand in work, or find the job that does the same; call `start_waiting` after it.

    What is left out takes its default and the data set's name is pinned to what it means now, so
    that identical work is one job. One whose result was removed from the store runs again.

    Raises:
        UnknownNameError: no such kind, ranker, preset, measure or family.
        ParameterError: a parameter is missing, unknown, out of bounds or no JSON.
        ArtefactError: no stored data set or ranker of that name; a path on this machine is none.
        JobError: the table of jobs cannot be used.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of job", kind, KINDS)
    try:
        bound = inspect.signature(KINDS[kind]).bind(store, **parameters)
    except TypeError as error:
        raise ParameterError(f"the parameters of {kind}", str(error), "as `KINDS` has it") from None
    bound.apply_defaults()
    complete = {name: value for name, value in bound.arguments.items() if name != "store"}
    for name, before in LATER.get(kind, {}).items():
        if complete[name] == before:
            del complete[name]
    if "data" in complete:
        complete["pinned"] = _pinned(store, kind, complete["data"])
        if kind not in LISTLESS:
            complete["preset"] = complete["preset"] or preset_of(complete["data"])
        _check(store, kind, complete)
    jobs = jobs_of(store)
    job = jobs.submit(kind, complete)
    return jobs.retry(job.id) if job.state == "done" and not _is_there(store, job) else job


def jobs_of(store: Store) -> Jobs:
    """The jobs of a store."""
    return Jobs(store.root, KINDS)


def start_waiting(store: Store) -> None:
    """Start the jobs that wait, where there is room; those whose process died wait again first.

    Readers of the jobs call it; so does a process that ends its job.

    Raises:
        JobError: the table of jobs cannot be used.
    """
    jobs_of(store).start_waiting(PROGRAM, places(short=SHORT))


def _check(store: Store, kind: str, parameters: Mapping[str, Any]) -> None:
    """Refuse unknown rankers, fields, perturbations and measures before anything is computed."""
    job = KINDS[kind]
    if kind == "tune":
        from shuffleproof.core import tuning  # noqa: PLC0415 (NumPy: only at submission)

        fields = ("ranker", "trials", "budget", "seed", "name", "at_once")
        of_search = {one: parameters[one] for one in fields if one in parameters}
        search = tuning.Tuning(**of_search, search=tuple(parameters["search"]))
        tuning.refuse(search, Scope(store, parameters["data"], preset=parameters["preset"]))
    if isinstance(job, StudyJob):
        question, scope = job.question_of(store, parameters)
        question.check(scope)
    elif kind in {"train", "doctor", "tune"}:
        from shuffleproof.core.studies import names  # noqa: PLC0415 (NumPy: only at submission)

        initial = [*map(RankerName.parse, (parameters["lists"] or {}).get("initial", ()))]
        changes = parameters.get("changes") or {}
        named = names.Names([parameters["ranker"]], changes, initial=initial)
        names.check(named, parameters["preset"], store)
    elif kind == "judge":
        _check_judge(store, parameters)


def _check_judge(store: Store, parameters: Mapping[str, Any]) -> None:
    """Refuse a judge that is not offered, an impossible plan, and a name in use."""
    from shuffleproof.core.aggregate import judge_questions, judge_sets, judges  # noqa: PLC0415 (NumPy: only at submission)

    if parameters["judge"] not in judges.judges_for_pages():
        raise UnknownNameError("judge", parameters["judge"], judges.judges_for_pages())
    of_plan = ("pairs", "calls", "orders", "top")
    judge_questions.Plan(**{one: parameters[one] for one in of_plan}, jobs=parameters["at_once"])
    names_of_store.check(parameters["name"])
    judge_sets.Target(parameters["name"], store, parameters["data"]).stored_preferences()


def _pinned(store: Store, kind: str, data: str) -> str | None:
    """The key of what a name means now; for what runs over folds, the keys of all of them."""
    from shuffleproof.core.data.layout import folds_of  # noqa: PLC0415 (NumPy: only at submission)

    if data in SHIPPED:
        return None
    if kind in LISTLESS:
        named = store.names().get(data)
        kinds = LISTLESS[kind].stored_as
        own = named.kind if named is not None and named.kind in kinds else kinds[0]
        return text_of(store.resolve(data, own).key)
    if kind != "tune" and (kind not in STUDIES or not STUDIES[kind].over_folds):
        return text_of(store.resolve(data, "data").key)
    return ",".join(text_of(store.resolve(name, "data").key) for name in folds_of(data, store))


def _is_there(store: Store, job: Job) -> bool:
    kind, _, digest = str(job.result["artefact"]).rpartition("-")
    try:
        return store.find(ArtefactKey(kind, digest)) is not None
    except ArtefactError:
        return False
