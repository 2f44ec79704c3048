"""`card.json`: what a robustness card rests on, query by query, so that a later one can be paired.

The schema that ships beside this module says what is in it. A line a ranker and a line a condition,
so that a repository's history shows which of them changed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.errors import DataError, quoted
from shuffleproof.core.store import plain_json

SCHEMA, VERSION = "shuffleproof card.json", 1
MOST_BYTES = 64 << 20
"""Of a file: some 100 conditions of 60,000 queries."""

REMEDY = "Write one with `shuffleproof study card --out card.json`."

Condition = tuple[str, str, str, float]
"""Ranker, measure, family of perturbations, level."""


@dataclass(frozen=True)
class CardRanker:
    """A ranker of a card.

    Attributes:
        name: as a study names it.
        digest: of what it computes.
        steady: whether it gave the lists as they are the same scores each time.
        noise: by measure, how far the mean moved when nothing changed (`gate.check.noise_floor`).
    """

    name: str
    digest: str
    steady: bool
    noise: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class CardFile:
    """Content of a card.json.

    Attributes:
        made_with: versions, by package.
        data: name and fingerprint.
        lists: digest, recipe and preset.
        draws: a level.
        seed: of the draws.
        measures: each with its conventions in words.
        queries: ids, in the order of the values.
        rankers: by name; the initial ranking is among them.
        conditions: the values of each, the mean over the draws; NaN where a query does not count.
    """

    made_with: Mapping[str, str]
    data: Mapping[str, str]
    lists: Mapping[str, Any]
    draws: int
    seed: int
    measures: Mapping[str, str]
    queries: tuple[str, ...]
    rankers: Mapping[str, CardRanker]
    conditions: Mapping[Condition, Float32[np.ndarray, " queries"]]

    @property
    def families(self) -> tuple[str, ...]:
        """Of the conditions, in their order."""
        return tuple(dict.fromkeys(family for _, _, family, _ in self.conditions))


def card_text(card: CardFile) -> str:
    """The text of a card; it says the same values when it is read, to the last bit."""
    head = {
        "schema": SCHEMA,
        "version": VERSION,
        "made_with": dict(card.made_with),
        "data": dict(card.data),
        "lists": dict(card.lists),
        "draws": card.draws,
        "seed": card.seed,
        "measures": dict(card.measures),
        "queries": list(card.queries),
    }
    rankers = [asdict(ranker) for ranker in card.rankers.values()]
    conditions = [
        dict(zip(("ranker", "measure", "family", "level"), condition, strict=True))
        | {"values": _plain(values)}
        for condition, values in card.conditions.items()
    ]
    parts = [f"{_line(name)}: {_line(value)}" for name, value in head.items()]
    for name, rows in (("rankers", rankers), ("conditions", conditions)):
        parts.append(f"{_line(name)}: [\n" + ",\n".join(map(_line, rows)) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_card(path: Path) -> CardFile:
    """The card in a file that anybody may have written; nothing that it names is run or opened.

    Raises:
        DataError: it cannot be read, is no card, too large, of another version, or not whole.
    """
    content = plain_json.read_object(path, REMEDY, MOST_BYTES)
    _check(path, content)
    rankers = {
        ranker["name"]: CardRanker(*(ranker[field.name] for field in fields(CardRanker)))
        for ranker in content["rankers"]
    }
    conditions = {
        (row["ranker"], row["measure"], row["family"], float(row["level"])): np.array(
            row["values"], np.float64
        ).astype(np.float32)
        for row in content["conditions"]
    }
    return CardFile(
        made_with=content["made_with"],
        data={name: content["data"][name] for name in ("name", "fingerprint")},
        lists={name: content["lists"][name] for name in ("digest", "recipe", "preset")},
        draws=int(content["draws"]),
        seed=int(content["seed"]),
        measures=content["measures"],
        queries=tuple(content["queries"]),
        rankers=rankers,
        conditions=conditions,
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    text = (files(__package__) / "card.schema.json").read_text(encoding="utf-8")
    described: dict[str, Any] = json.loads(text)
    return described


def _check(path: Path, content: Mapping[str, Any]) -> None:
    """Refuse what is not as the schema says, and what its parts do not agree in."""
    if content.get("schema") != SCHEMA:
        raise DataError(str(path), f'it is no card: it has no "schema": "{SCHEMA}"', REMEDY)
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        finding = f"it is of version {version}, and this program reads {VERSION}"
        raise DataError(str(path), finding, "Install a newer shuffleproof, or write a new card.")
    _check_form(path, content)
    names = [ranker["name"] for ranker in content["rankers"]]
    for at, row in enumerate(content["conditions"]):
        wrong = ""
        if row["ranker"] not in names:
            wrong = f"its ranker {quoted(row['ranker'])} is not among the rankers"
        elif row["measure"] not in content["measures"]:
            wrong = f"its measure {quoted(row['measure'])} is not among the measures"
        elif len(row["values"]) != len(content["queries"]):
            wrong = f"{len(row['values'])} values for {len(content['queries'])} queries"
        if wrong:
            raise DataError(f"{path}: conditions[{at}]", wrong, REMEDY)
    try:
        for text in (
            *content["queries"],
            *names,
            *(row["family"] for row in content["conditions"]),
        ):
            text.encode()
    except UnicodeEncodeError:
        raise DataError(str(path), "a name in it is half of a pair of code units", REMEDY) from None


def _check_form(path: Path, content: Any) -> None:
    """Refuse what the schema refuses."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (.15 s: only who reads waits for it)

    error = next(Draft202012Validator(schema()).iter_errors(content), None)
    if error is not None:
        place = f"{path}: {error.json_path.removeprefix('$').lstrip('.') or 'the whole'}"
        raise DataError(place, _short(error.message), REMEDY)


def _short(message: str) -> str:
    """Message of a validator, with a shortened value."""
    return message if len(message) <= 200 else f"{message[:80]} … {message[-100:]}"


def _plain(values: Float32[np.ndarray, " queries"]) -> list[float | None]:
    """The shortest decimals that are these float32 numbers."""
    return [None if np.isnan(value) else float(str(value)) for value in values]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
