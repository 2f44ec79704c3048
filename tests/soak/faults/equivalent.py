"""Faults that change no answer, each with the reason.

Told by file, text of the line and what becomes of it; `*` stands for whatever becomes of the line.
"""

from collections.abc import Iterator

from tests.soak.faults.covering import text_of
from tests.soak.faults.places import Fault, files, sites

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("core/metrics/blocks.py", "if label <= 0.0:", "<= → <: label <= 0.0"): (
        "the gain of a grade of 0 is 2⁰ − 1 = 0 in the lines below too"
    ),
    (
        "core/rankers/ordinal_geometry.py",
        "shares = [*map(float, variance[:2]), 0.0, 0.0]",
        "2 → 3: 2",
    ): "only the first two are read",
    (
        "core/models/attention.py",
        "return logits >= (FUSED_FROM_LOW if low else FUSED_FROM)",
        "*",
    ): "both ways give the same attention; which is taken is a matter of speed",
}


def why(fault: Fault) -> str:
    """Why a fault changes nothing; empty where it is not known to be so."""
    exact = EQUIVALENT.get((fault.file, fault.text, fault.change), "")
    return exact or EQUIVALENT.get((fault.file, fault.text, "*"), "")


def stale() -> Iterator[str]:
    """The entries whose line, or whose fault on it, is there no longer."""
    there = set(files())
    for file, text, change in EQUIVALENT:
        if file not in there or text not in {line.strip() for line in text_of(file)}:
            yield f"{file}: no line reads {text!r}"
        elif change != "*":
            faults = (fault for place in sites(file) for fault in place)
            if not any((fault.text, fault.change) == (text, change) for fault in faults):
                yield f"{file}: {text!r} has no fault {change!r}"
