"""Presets that `tune` found: one JSON file each in a store, known to the registry by their names.

`lambdamart@tuned_mq2008` can then be used wherever `lambdamart@paper` can. Keys hold the whole
recipe, so tuning a preset again changes nothing in the store.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.artefacts import Store

FOLDER = "presets"
BUILT_IN = frozenset({"paper", "released", "tuned", "small"})
DAMAGE = "is no preset"
NAME = re.compile(r"[a-z0-9]\w{0,59}", re.ASCII)


@dataclass(frozen=True)
class NamedPreset:
    """A preset of one ranker, and how it was found.

    Attributes:
        ranker: the registry's name.
        name: of the preset.
        base: the built-in preset that it starts from.
        fields: values of the recipe that differ from that preset.
        asked: what was searched, on what: equal ones give equal trials.
        trials: how many were made.
        data: what people call the data set.
        measure: of the validation parts, by which the best was chosen.
        history: a row a trial: trial, of, state, value, seconds, fields, rankers.
        test: the rows of the one look at the test part: ranker, and means of the measures.
        looks: how often the test part has been looked at for this search, under whatever name,
            this time included.
    """

    ranker: str
    name: str
    base: str
    fields: Mapping[str, Any]
    asked: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0
    data: str = ""
    measure: str = ""
    history: tuple[Mapping[str, Any], ...] = ()
    test: tuple[Mapping[str, Any], ...] = ()
    looks: int = 0

    @property
    def best(self) -> Mapping[str, Any]:
        """The row that was chosen: the highest value; of equal ones the first."""
        done = (row for row in self.history if row["state"] == "done")
        return max(done, key=lambda row: float(row["value"]))

    @property
    def usual_values(self) -> dict[str, float | None]:
        """Validation values of the presets that were tried first."""
        return {row["of"]: row["value"] for row in self.history if row["of"] != "search"}

    def __str__(self) -> str:
        """Name for commands and studies."""
        return f"{self.ranker}@{self.name}"


def check(name: str) -> None:
    """Refuse what cannot name a preset.

    Raises:
        ParameterError: a built-in preset, or other letters.
    """
    if name in BUILT_IN or not NAME.fullmatch(name):
        allowed = "small letters, digits and _, none of " + ", ".join(sorted(BUILT_IN))
        raise ParameterError("--name", name, allowed)


def save(preset: NamedPreset, store: Store) -> None:
    """Keep a preset in a store, in place of one of the same name.

    Raises:
        ArtefactError: the disk is full or may not be written to.
    """
    with manifest.disk_errors(str(preset), store.root):
        private.make_private(store.root)
        path = _path(store, preset.ranker, preset.name)
        path.parent.mkdir(exist_ok=True)
        # By rename: a reader sees the old file or the new one, never half of one
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(preset), indent=1), encoding="utf-8")
        fresh.replace(path)
    _KNOWN[preset.ranker, preset.name] = preset


def remove(store: Store, preset: str) -> int | None:
    """Remove a preset of a store, also a damaged one; what was trained with it stays.

    Args:
        store: of it.
        preset: `ranker@name`.

    Returns:
        The bytes that are free now; None: there is no such preset.

    Raises:
        ArtefactError: the store may not be written to.
    """
    path = _path_called(store, preset)
    if path is None:
        return None
    with manifest.disk_errors(preset, store.root):
        size = path.stat().st_size
        path.unlink(missing_ok=True)
    for place in [place for place, known in _KNOWN.items() if str(known) == preset]:
        del _KNOWN[place]
    return size


def find_called(store: Store, preset: str) -> NamedPreset | None:
    """The preset of a store that is called `ranker@name`, or None.

    Raises:
        ArtefactError: its file is damaged.
    """
    path = _path_called(store, preset)
    return None if path is None else _read(path)


def _path_called(store: Store, preset: str) -> Path | None:
    return next((path for path in _paths(store) if path.stem == preset), None)


def find(store: Store, ranker: str, name: str) -> NamedPreset | None:
    """The preset of a store, or None.

    Raises:
        ArtefactError: its file is damaged.
    """
    path = _path(store, ranker, name)
    return _read(path) if path.is_file() else None


def know(store: Store) -> None:
    """Let the registry know the presets of a store, and of no other; damaged ones are left out."""
    presets, damaged = _read_all(store)
    known = {(preset.ranker, preset.name): preset for preset in presets}
    if known != _KNOWN:  # the dashboard's sessions ask side by side: none shall find it empty
        _KNOWN.clear()
        _KNOWN.update(known)
    _DAMAGED.clear()
    _DAMAGED.update(damaged)


def refuse_damaged(ranker: str, name: str) -> None:
    """Say what is wrong with a preset that `know` left out.

    Raises:
        ArtefactError: its file is damaged.
    """
    if (path := _DAMAGED.get(f"{ranker}@{name}")) is not None:
        _read(path)


def stored_presets(store: Store) -> list[NamedPreset]:
    """The presets of a store, those written first come first; damaged ones are left out."""
    return _read_all(store)[0]


def damaged_presets(store: Store) -> list[tuple[Path, str]]:
    """The files of presets that cannot be read, and what is wrong with each."""
    return [(path, DAMAGE) for path in _read_all(store)[1].values()]


def searched_rankers(store: Store) -> dict[str, tuple[str, int | None]]:
    """The rankers that searches proposed, by key as printed: of which preset, and which trial.

    The ranker of the resulting preset is no trial. Rankers of built-in presets, which are tried
    first, are left out.
    """
    trials: dict[str, tuple[str, int | None]] = {}
    best: dict[str, tuple[str, int | None]] = {}
    built_in: set[str] = set()
    for preset in stored_presets(store):
        for row in preset.history:
            if row["of"] != "search":
                built_in.update(row["rankers"])
                continue
            of, trial = (best, None) if row == preset.best else (trials, int(row["trial"]))
            of.update(dict.fromkeys(row["rankers"], (str(preset), trial)))
    # A key in both belongs to the best row: the right side of | wins
    return {key: origin for key, origin in (trials | best).items() if key not in built_in}


def _read_all(store: Store) -> tuple[list[NamedPreset], dict[str, Path]]:
    """The presets of a store, and the files of the damaged ones by `ranker@preset`."""
    presets, damaged = [], {}
    for path in sorted(_paths(store), key=lambda path: path.stat().st_mtime):
        try:
            presets.append(_read(path))
        except ArtefactError:
            damaged[path.stem] = path
    return presets, damaged


def _paths(store: Store) -> list[Path]:
    """The files of the presets of a store."""
    return [*(store.root / FOLDER).glob("*.json")]


def of(ranker: str) -> dict[str, NamedPreset]:
    """The known presets of a ranker, by name."""
    return {name: preset for (owner, name), preset in _KNOWN.items() if owner == ranker}


_KNOWN: dict[tuple[str, str], NamedPreset] = {}
"""Of the store that this process works with, by ranker and name."""
_DAMAGED: dict[str, Path] = {}


def _path(store: Store, ranker: str, name: str) -> Path:
    return store.root / FOLDER / f"{ranker}@{name}.json"


def _read(path: Path) -> NamedPreset:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        lists = {name: tuple(values[name]) for name in ("history", "test")}
        return NamedPreset(**values | lists)
    except (ValueError, TypeError, KeyError) as error:
        remedy = f"Remove the file (`library delete {path.stem}`) and tune again."
        raise ArtefactError(str(path), DAMAGE, remedy) from error
