"""Why a foreign model file cannot be scored, in our words: what it is, and what to do.

Foreign libraries name places in their own source. What a file is shows in its first bytes, and
what failed in the step that it failed at; the library's own sentence stands behind that.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.rankers.library_words import in_its_words

LIGHTGBM, XGBOOST = "LightGBM", "XGBoost"
SAVED = {
    LIGHTGBM: "Save it as text: booster.save_model('model.txt').",
    XGBOOST: "Save it as JSON or UBJSON: booster.save_model('model.json').",
}
"""How each library writes what is read here."""

FORMAT = 4
"""The version of LightGBM's text that is known here."""

BEGINNINGS = (
    (rb"$", "empty"),
    (rb"\x80[\x02-\x05]", "a pickle"),
    (rb"binf", "in XGBoost's old binary format"),
    (rb"booster\[", "a dump for people, as dump_model writes"),
    (rb'\{"name"|\[\s*\{\s*"nodeid"', "a dump, as dump_model writes"),
    (rb'\{"learner":\{"generic_param"|\{.{0,400}"generic_param"', "a configuration, without trees"),
    (rb"tree\s", f"{LIGHTGBM}'s text"),
    (rb'\{"learner"|\{L', f"{XGBOOST}'s JSON"),
)
"""How files begin, and what they are then."""

HEAD = 1 << 16  # bytes of a file, at either end, that tell what it is


@dataclass
class ModelError(Exception):
    """A model file that cannot be scored.

    Attributes:
        found: what is wrong with it.
        remedy: what to do, and what the library said.
    """

    found: str
    remedy: str

    def __str__(self) -> str:
        """Both."""
        return f"{self.found}. {self.remedy}"


def unreadable(library: str, path: Path, error: Exception, version: str) -> ModelError:
    """A file that its library did not read.

    Args:
        library: LIGHTGBM or XGBOOST.
        path: of the file.
        error: what the library raised.
        version: of the library.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(path.stat().st_size - HEAD, 0))
        tail = file.read()
    finding, remedy = _kind(library, head), SAVED[library]
    if newer := _newer_version(library, head + tail, version):
        finding, remedy = newer, f"Install that version, or save it by {version}."
    for other_library in SAVED.keys() - {library}:
        if other_library in finding and "'s" in finding:
            remedy = f"Name it {other_library.lower()}:{path.name}."
    message = str(error).replace(
        f"{path.parent}/", ""
    )  # where a file lies for now is nobody's business
    return ModelError(finding, f"{remedy} {in_its_words(library, message)}.")


def scoring_error(library: str, error: Exception) -> ModelError:
    """A model that was read, and did not score the features."""
    names = re.search(r"fields are expected: (.+)", str(error))
    finding, remedy = (
        "it does not score these features",
        "Train it on the features of the data set.",
    )
    if names:
        finding = f"its columns have names ({names[1][:60]}), the data set's have none"
        remedy = "Where they stand in the features' order: booster.feature_names = None, and save."
    return ModelError(finding, f"{remedy} {in_its_words(library, error)}.")


def check_outputs(library: str, scores: Any) -> None:
    """Refuse a model of several classes.

    Raises:
        ModelError: it gives a document several numbers.
    """
    if scores.ndim > 1:
        raise ModelError(
            f"it gives {scores.shape[1]} numbers a document, one a class",
            f"Bring a model of {library} with one output: a ranking or regression objective.",
        )


def _kind(library: str, head: bytes) -> str:
    """What a file is by its first bytes, where that tells; else that it is damaged, or no model."""
    for begins, words in BEGINNINGS:
        if re.match(begins, head.lstrip()):
            is_own_format = words.startswith(library)
            return "it is damaged, or cut short" if is_own_format else f"it is {words}"
    return f"it is no model of {library}"


def _newer_version(library: str, text: bytes, version: str) -> str:
    """That a file was written by a newer version than what is here; empty where it was not."""
    if library == LIGHTGBM:
        match = re.search(rb"^version=v(\d+)", text, re.MULTILINE)
        if match and int(match[1]) > FORMAT:
            return f"its text is of version {int(match[1])}, {library} {version} reads {FORMAT}"
        return ""
    match = re.search(rb'"version"\s*:\s*\[(\d+),\s*(\d+)', text)
    if match and (int(match[1]), int(match[2])) > tuple(map(int, version.split(".")[:2])):
        return f"it was saved by {library} {int(match[1])}.{int(match[2])}, {version} is installed"
    return ""
