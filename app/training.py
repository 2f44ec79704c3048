"""Data of the page Train: planned trainings with their cost, and stored rankers.

Reads only manifests, offsets and recipes; opens and fits no ranker.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import prod
from typing import Any

import pandas as pd
import streamlit as st
from safetensors import safe_open

from shuffleproof.app import services
from shuffleproof.core.answers.trained_rankers import trained_on
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.experiment.trainings import (
    FitSize,
    PlannedTraining,
    TrainingPlanner,
    recorded_seconds,
)
from shuffleproof.core.rankers import named_presets, preset_differences, registry
from shuffleproof.core.rankers.ensemble.saved import FAMILY as ENSEMBLE
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import preset_of
from shuffleproof.core.words import counted

PRESETS = {
    "small": "trained in a minute on two cores",
    "tuned": "our settings, chosen on held-out or validation queries",
    "paper": "as the paper says",
    "released": "as the released code does it",
}
"""Presets with their meanings."""

FITTED = tuple(name for name, entry in registry.RANKERS.items() if entry.learns)
"""Rankers that can be trained."""

NOT_LEARNT = frozenset(registry.RANKERS) - frozenset(FITTED)
"""References such as the ideal order, which studies add to trained rankers."""


NETWORK = "network.safetensors"
"""File of a neural ranker's parameters."""


def groups() -> dict[str, list[str]]:
    """Trainable rankers by group, both in the registry's order.

    >>> groups()["DLCM"][:2]
    ['dlcm', 'dlcm-without-init']
    """
    by_group: dict[str, list[str]] = {}
    for name in FITTED:
        by_group.setdefault(registry.RANKERS[name].group, []).append(name)
    return by_group


def usual_lists(data: str) -> ListRecipe:
    """Default recipe of the lists of a data set."""
    (usual,) = ListRecipe().rankers
    return ListRecipe((str(replace(usual, preset=preset_of(data))),)).of_today()


def fit_size(data: str) -> FitSize:
    """Facts of a data set for training.

    Raises:
        ShuffleproofError: there is no such data set, or it cannot be read.
    """
    named = services.store().names().get(data)
    return _fitting(data, str(services.store().root), str(named))


@st.cache_resource(max_entries=16, show_spinner="Opening the data set …")
def _fitting(data: str, root: str, named: str) -> FitSize:
    del root, named  # only part of the cache's key
    try:
        return FitSize.of(data, resolve(data, services.store()))
    except OSError as error:
        raise ArtefactError(data, f"cannot be opened ({error})", "Bring it in again.") from error


def with_tuned(names: Iterable[str]) -> list[str]:
    """Rankers, each followed by its presets from `tune`, which are registered here."""
    named_presets.know(services.store())
    return [one for name in names for one in (name, *map(str, named_presets.of(name).values()))]


def presets(names: Sequence[str]) -> list[str]:
    """Presets that all these rankers have."""
    having = [registry.RANKERS[name].presets for name in names]
    return [preset for preset in PRESETS if all(preset in its for its in having)]


def initial_rankers(data: FitSize) -> list[str]:
    """Possible initial rankers: those fitted on documents, random order, file order, a feature.

    Rankers that are fitted on lists need an initial ranking themselves.
    """
    features = [f"feature:{feature}" for feature in data.features]
    return [*_fitted_on_documents(), "random", "file-order", *features]


@lru_cache(maxsize=1)
def _fitted_on_documents() -> tuple[str, ...]:
    entries = [registry.RANKERS[name] for name in FITTED]
    return tuple(
        f"{entry.name}@{preset}"
        for entry in entries
        for preset in presets([entry.name])
        if registry.spec(entry.name, preset).fits_documents
    )


def list_options(data: str, lists: ListRecipe) -> dict[str, Any]:
    """Fields of a job's lists that differ from the defaults of a data set."""
    usual = asdict(usual_lists(data))
    changed = {name: value for name, value in asdict(lists).items() if value != usual[name]}
    if "initial" in changed:
        changed["initial"] = list(changed["initial"])
    return changed


def planner(data: FitSize) -> TrainingPlanner:
    """Planner of trainings on a data set, with the store's recorded times."""
    return TrainingPlanner(data, services.store(), _recorded())


@services.until_stored()
def _recorded() -> dict[str, float]:
    return recorded_seconds(services.store())


def parameters(data: FitSize, lists: ListRecipe, plan: PlannedTraining) -> dict[str, Any]:
    """Parameters of a training job, without defaults."""
    name = plan.name if plan.preset == preset_of(data.data) else f"{plan.name}@{plan.preset}"
    return {
        "data": data.data,
        "ranker": name,
        "changes": dict(plan.changes) or None,
        "lists": list_options(data.data, lists) or None,
    }


def trained_rankers(data: FitSize) -> pd.DataFrame:
    """Rankers trained on a data set, newest first, without those that learn nothing.

    Combinations with a member of this data set are included.

    Columns ranker, recipe (preset and changes without the seed), lists, valid (NDCG@10 on the
    validation part), epochs, seconds, created, key, alike, size and unit (of the size). Trainings
    that differ only in their seed have equal `alike`.
    """
    return _trained(*data.fingerprints[:2])


@services.until_stored()
def _trained(train: str, valid: str) -> pd.DataFrame:
    artefacts = {str(artefact.key): artefact for artefact in services.artefacts("ranker")}
    rankers = trained_on(services.store(), train, valid)
    rows = []
    for ranker in rankers:
        if RankerName.of(ranker.name).feature is not None or ranker.name in NOT_LEARNT:
            continue
        artefact = artefacts[ranker.key]
        preset, changed = preset_differences.from_preset(artefact.recipe["ranker"])
        changed.pop("seed", None)
        lists = {} if ranker.lists is None else preset_differences.from_usual_lists(ranker.lists)
        recipe = ", ".join(filter(None, (preset, preset_differences.in_words(changed))))
        row = _row(artefact, ranker.name, recipe)
        row["lists"] = preset_differences.in_words(lists) or ALL_DOCUMENTS
        if ranker.name in registry.RANKERS:  # files and classes have no recipe to compare
            row["alike"] = " · ".join((ranker.name, recipe, row["lists"]))
        rows.append(row)
    rows += _combinations(artefacts.values(), {ranker.key for ranker in rankers})
    rows.sort(key=lambda row: row["created"], reverse=True)
    columns = [
        "ranker", "recipe", "lists", "valid", "epochs", "seconds", "created", "key", "alike",
        "size", "unit",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _combinations(artefacts: Iterable[Artefact], keys: set[str]) -> Iterator[dict[str, Any]]:
    """Stored combinations of rankers with these keys, also nested ones.

    `lists` is empty, since members may have different lists.
    """
    stored = [artefact for artefact in artefacts if artefact.recipe.get("family") == ENSEMBLE]
    for artefact in sorted(stored, key=lambda artefact: artefact.created):
        members = artefact.facts["members"]
        if keys.isdisjoint(members):
            continue
        keys = keys | {str(artefact.key)}
        digits = " + ".join(member.rpartition("-")[2][:6] for member in members)
        scorings = counted(artefact.facts["passes"], "scoring")
        row = _row(artefact, artefact.facts["name"], f"{scorings} a list, of {digits}")
        yield row | {"epochs": None, "seconds": None}  # members have them


def _row(artefact: Artefact, name: str, recipe: str) -> dict[str, Any]:
    facts = artefact.facts
    return {
        "ranker": f"{name}:{facts['file']}" if facts.get("file") else name,  # label of a file
        "recipe": recipe,
        "lists": "",
        "valid": facts.get("valid", {}).get("NDCG@10"),
        "epochs": facts.get("epochs"),
        "seconds": facts.get("seconds"),
        "created": datetime.fromisoformat(artefact.created).astimezone(UTC),
        "key": str(artefact.key),
        "alike": str(artefact.key),
    } | dict(zip(("size", "unit"), _size(artefact), strict=True))


def _size(artefact: Artefact) -> tuple[int | None, str]:
    """Size of a ranker with its unit: parameters of a network, else trees or rounds."""
    recipe, network = artefact.recipe.get("ranker", {}), artefact.path / NETWORK
    for unit in ("trees", "rounds"):
        if unit in recipe:
            return artefact.facts.get("epochs"), unit
    if not network.exists():
        return None, ""
    with safe_open(network, framework="numpy") as tensors:
        learnt = [name for name in tensors.keys() if name.startswith("network/")]  # noqa: SIM118
        shapes = [tensors.get_slice(name).get_shape() for name in learnt]
    return sum(map(prod, shapes)), "parameters"
