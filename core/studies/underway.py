"""Studies that have begun and are not stored yet: what is known of them while they run.

A study announces itself in the workspace of its key, which outlives kills and ends when its
result is stored; with that and the records of its finished trials any process can draw what has
been found so far.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from core.store import manifest
from core.store.artefacts import Store
from core.store.keys import ArtefactKey
from core.studies.registry import STUDIES
from core.studies.result import StudyResult
from core.studies.study import Study

ANNOUNCEMENT = "study.json"


@runtime_checkable
class Described(Protocol):
    """What a study of any kind is: a description in plain JSON values."""

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result; `kind` names the study."""


@dataclass(frozen=True)
class Underway:
    """A study that has begun.

    Attributes:
        recipe: its description.
        query_ids: one id a list.
        facts: as its result will carry them.
    """

    recipe: Mapping[str, Any]
    query_ids: tuple[str, ...]
    facts: Mapping[str, Any]

    @property
    def study(self) -> Study:
        """The description of a study of perturbations."""
        return Study.of(self.recipe)

    def result(self, store: Store) -> StudyResult | None:
        """What has been found so far; None before the first trial is finished."""
        kind = STUDIES[self.recipe["kind"]]
        return kind.so_far(self.recipe, store.records, self.query_ids, self.facts)


def announce(
    store: Store,
    key: ArtefactKey,
    study: Described,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> None:
    """Say that a study begins; its lock is held by the caller."""
    head = {"recipe": study.recipe(), "query_ids": list(query_ids), "facts": dict(facts)}
    path = store.workspace(key) / ANNOUNCEMENT
    part = path.with_suffix(".part")
    with manifest.explained(str(key), store.root):
        part.write_text(json.dumps(head), encoding="utf-8")
        part.replace(path)


def underway(store: Store, kind: str) -> Iterator[Underway]:
    """The studies of a kind that have begun, stopped ones included, the newest first."""
    places = (store.root / "workspaces").glob(f"study-*/{ANNOUNCEMENT}")
    for path in sorted(places, key=_written, reverse=True):
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
            found = Underway(dict(head["recipe"]), tuple(head["query_ids"]), dict(head["facts"]))
        except FileNotFoundError:  # it has been stored meanwhile
            continue
        except (ValueError, LookupError, TypeError):  # damaged: it is begun again when asked for
            continue
        if found.recipe.get("kind") == kind:
            yield found


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
