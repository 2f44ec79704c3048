"""Entries of the library side by side: what a person compares first, and only what differs.

Digests, the conventions that values are stored under and tables inside a recipe are left out: two
studies differ in them always and nobody reads them. They stand in the entry's own recipe.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shuffleproof.core.experiment.list_sources import recipe_of
from shuffleproof.core.library.entries import Entry
from shuffleproof.core.studies.methods import rankers_of
from shuffleproof.core.studies.result import stored_summary
from shuffleproof.core.words import counted, number

FIRST_MEASURE = "NDCG@10"
MOST_RESULTS = 12
"""Rankers whose results are laid side by side; more are read on the study's page."""

MOST_VALUES = 8
"""Values of a list that are told one by one."""

_DIGEST = re.compile(r"[0-9a-f]{32,}")
_COVERED = {"kind", "rankers", "rows", "runs", "lists", "initial", "perturbations", "measures",
            "stored", "data", "queries", "preset", "fingerprints", "folds", "sizes", "files",
            "seed", "draws", "seconds"}  # fmt: skip


def differing_fields(chosen: Sequence[Entry]) -> dict[str, list[Any]]:
    """The fields in which these entries differ, what is compared first on top, one value each.

    Args:
        chosen: any number of entries of whatever kinds.
    """
    results = _results(chosen)
    rows = [
        {"summary": entry.summary}
        | dict(_study_fields(entry))
        | result
        | dict(_other_fields(entry))
        | _cost(entry)
        for entry, result in zip(chosen, results, strict=True)
    ]
    studies = bool(chosen) and all(entry.key.kind == "study" for entry in chosen)
    names = [name for name in dict.fromkeys(name for row in rows for name in row)
             if not (studies and name == "summary")]  # fmt: skip
    table = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: values
        for name, values in table.items()
        if any(value != values[0] for value in values)
    }


def short(value: Any, most: int = 60) -> str:
    """A value in one line of at most so many characters.

    >>> short(["dlcm", "mart", "setrank-imsab"], 20), short(0.123456789), short(None)
    ('dlcm … (3 in all)', '0.123457', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        value = [f"{name} {short(part)}" for name, part in value.items()]
    if isinstance(value, list | tuple):
        texts = [_of_many(part) for part in value]
        text_of_all = ", ".join(texts)
        if len(text_of_all) <= most:
            return text_of_all or "none"
        tail, fitting = f" … ({len(texts)} in all)", texts
        while len(fitting) > 1 and len(", ".join(fitting)) + len(tail) > most:
            fitting = fitting[:-1]
        return f"{', '.join(fitting)[: max(1, most - len(tail))]}{tail}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _of_many(value: Any) -> str:
    """One of several values: what it is called, where it is a table of fields."""
    if isinstance(value, Mapping):
        return str(value.get("label") or value.get("name") or f"{len(value)} fields")
    if isinstance(value, list | tuple):
        return " ".join(map(short, value))
    return short(value)


def flat(values: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Fields inside fields by their path.

    >>> flat({"ranker": {"trees": 3}, "seed": 0})
    {'ranker.trees': 3, 'seed': 0}
    """
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            fields |= flat(value, f"{place}{name}.")
        else:
            fields[f"{place}{name}"] = value
    return fields


def _study_fields(entry: Entry) -> Iterator[tuple[str, Any]]:
    """Of a study: what it is of, on what, how often; nothing of other entries."""
    if entry.key.kind != "study":
        return
    recipe, facts = entry.artefact.recipe, entry.artefact.facts
    yield "study", recipe["kind"]
    yield "data", facts.get("data")
    yield "test queries", facts.get("queries")
    yield "rankers", rankers_of(recipe)
    yield "preset", facts.get("preset")
    lists_facts = facts.get("lists")
    lists = recipe_of(lists_facts) if isinstance(lists_facts, Mapping) else None
    if lists is not None:
        yield "initial ranker", list(lists.initial)
        if "sizes" not in recipe:
            yield "documents per list", lists.depth or "all"
        crossed = f"cross-fitted in {lists.folds}"
        yield "training queries", crossed if lists.scores == "cross-fitted" else lists.scores
        yield "seed of lists", lists.seed
        replacing = list(facts.get("initial", ()))[len(lists.initial) :]
        yield "rankings in its place", replacing or None
    yield "sizes", recipe.get("sizes")
    yield "levels", _levels(recipe.get("perturbations", ())) or None
    yield "draws", recipe.get("draws")
    seeds = [row.get("seeds", 1) for row in recipe.get("rows", ()) if isinstance(row, Mapping)]
    yield "seeds a ranker", max(seeds, default=None)
    yield "seed", recipe.get("seed")
    yield "measures", recipe.get("measures")


def _levels(pairs: Sequence[Any]) -> list[str]:
    """Every family with its levels, from the least to the most.

    >>> _levels([("cut", 5.0), ("transpositions", 0.0), ("transpositions", 20.0)])
    ['cut 5', 'transpositions 0 … 20 (2 levels)']
    """
    levels: dict[str, list[float]] = {}
    for family, level in pairs:
        levels.setdefault(str(family), []).append(float(level))
    return [
        f"{family} {values[0]:g}"
        if len(values) == 1
        else f"{family} {min(values):g} … {max(values):g} ({counted(len(values), 'level')})"
        for family, values in levels.items()
    ]


def _results(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """What each study found of the rankers that at least two of them have: its first point."""
    points_of_entries = [_first_points(entry) for entry in entries]
    names = dict.fromkeys(name for points in points_of_entries for name in points)
    shared = [name for name in names if sum(name in points for points in points_of_entries) > 1]
    return [{name: points[name] for name in shared[:MOST_RESULTS] if name in points}
            for points in points_of_entries]  # fmt: skip


def _first_points(entry: Entry) -> dict[str, str]:
    if entry.key.kind != "study":
        return {}
    try:
        frame = stored_summary(entry.artefact.path)
    except (OSError, ValueError, KeyError):
        return {}
    measures = list(frame["measure"])
    if not measures:
        return {}
    measure = FIRST_MEASURE if FIRST_MEASURE in measures else measures[0]
    rows = frame[frame["measure"] == measure].drop_duplicates("ranker")
    kind = entry.artefact.recipe["kind"]
    points = {}
    for ranker, family, level, mean in zip(
        rows["ranker"], rows["family"], rows["level"], rows["mean"], strict=True
    ):
        value = number(mean, ".4f")
        points[f"{measure} of {ranker}"] = value + _conditions(kind, str(family), float(level))
    return points


def _conditions(kind: str, family: str, level: float) -> str:
    """The conditions of a study's first point; none where a ranker has but one."""
    if kind == "set-size":
        return f" (N0 {family}, N1 {level:g})"
    if family == kind:
        return ""
    return f" ({family} {level:g})" if kind != "initial-rankings" else f" ({family})"


def _other_fields(entry: Entry) -> Iterator[tuple[str, Any]]:
    """Other fields that a line can tell, by their path; of a study those on top alone."""
    recipe, facts = entry.artefact.recipe, entry.artefact.facts
    if entry.key.kind == "study":
        fields = {name: value for name, value in (*recipe.items(), *facts.items())
                  if name not in _COVERED}  # fmt: skip
    else:
        fields = flat(recipe) | flat(facts)
    yield from (
        (name, value) for name, value in fields.items() if value != [] and _in_a_line(value)
    )


def _in_a_line(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) <= MOST_VALUES and all(
            _in_a_line(part) and not isinstance(part, list | tuple) for part in value
        )
    if isinstance(value, str):
        return _DIGEST.fullmatch(value) is None
    return value is None or isinstance(value, int | float)


def _cost(entry: Entry) -> dict[str, Any]:
    took = "seconds of its trials, added up" if entry.key.kind == "study" else "seconds"
    return {"bytes": entry.artefact.size, took: entry.seconds}
