"""Names of all families of perturbations, known before anything that perturbs is loaded.

Some families are stored under older names than they are shown with: keys and seeds of stored
results hold the older ones. Input may use both.
"""

import re
from collections.abc import Iterable

from shuffleproof.core import user_code
from shuffleproof.core.errors import UnknownNameError

FAMILIES = (
    "transpositions", "adjacent-inversions", "shuffle", "reverse", "mallows", "score-noise",
    "plackett-luce", "top-swaps", "tail-swaps", "reversed-pairs", "promote", "demote-best",
    "tie-storm", "shuffle-shown", "reverse-shown", "blocks-shown", "rotate-shown",
    "label-shown", "id-shown", "cut", "sample", "remove-top", "singleton", "distractors",
    "hard-distractors", "duplicates", "near-duplicates", "feature-noise", "feature-scale",
    "feature-quantised", "feature-clipped", "missing-mean", "missing-zero", "group-out",
    "unit-error", "column-shuffled", "gradient-sign", "label-flips", "label-noise",
    "label-censored", "clicks-position", "clicks-cascade", "train-seed", "train-order",
    "bfloat16", "batches", "threads",
)  # fmt: skip
"""Stored names, in the order of the registry."""

DISPLAY_NAMES = {
    "reversed-pairs": "relevant-swaps",
    "tie-storm": "score-ties",
    "shuffle-shown": "shuffle-input",
    "reverse-shown": "reverse-input",
    "blocks-shown": "shuffle-blocks",
    "rotate-shown": "rotate-input",
    "label-shown": "sort-by-label",
    "id-shown": "sort-by-id",
    "remove-top": "drop-top",
    "group-out": "group-mean",
}
"""Of families with another stored name."""

STORED_NAMES = {display: stored for stored, display in DISPLAY_NAMES.items()}

_STORED = re.compile(rf"(?<![\w-])(?:{'|'.join(DISPLAY_NAMES)})(?![\w-])")


def with_display_names(text: str) -> str:
    """Text with the display names of families.

    >>> with_display_names("transpositions:5+shuffle-shown and tie-storm; my-tie-storm stays")
    'transpositions:5+shuffle-input and score-ties; my-tie-storm stays'
    """
    return _STORED.sub(lambda match: DISPLAY_NAMES[match.group()], text)


def stored_family(text: str) -> str:
    """Stored name of a family or chain from user input, with the digits of user code.

    Blanks and case of built-in names are ignored; the name of an attacked ranker is not changed.

    >>> stored_family(" Transpositions : 5 + Score ties"), stored_family("gradient-sign@My:Score")
    ('transpositions:5+tie-storm', 'gradient-sign@My:Score')
    """

    def stored(link: str) -> str:
        name, colon, level = (part.strip() for part in link.partition(":"))
        known = user_code.registered_code("perturbation", name)
        usual = name if user_code.MARK in name else name.casefold().replace(" ", "-")
        return (known.full if known else STORED_NAMES.get(usual, usual)) + colon + level

    links, at, target = text.partition("@")
    return "+".join(map(stored, links.split("+"))) + at + target


def refuse_unknown(families: Iterable[str]) -> None:
    """Refuse a family, or a chain of them, that names what there is not.

    Levels, the ranker under attack, and digits of user code are checked where the family is made
    (`registry.entry_of`).

    Raises:
        UnknownNameError: no such family.

    >>> refuse_unknown(["transpositions:5+cut", "gradient-sign@dlcm"])
    """
    for family in families:
        for link in stored_family(family).partition("@")[0].split("+"):
            name = link.partition(":")[0]
            known_names = [*FAMILIES, *user_code.names("perturbation")]
            if name not in known_names and user_code.MARK not in name:
                shown = [DISPLAY_NAMES.get(known, known) for known in known_names]
                raise UnknownNameError("perturbation", name, shown)
