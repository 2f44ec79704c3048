"""Faults that change no answer, each with the reason.

Told by file, text of the line and what becomes of it; `*` stands for whatever becomes of the line.
"""

from collections.abc import Iterator

from tests.soak.faults.covering import text_of
from tests.soak.faults.places import Fault, files, sites

EQUIVALENT: dict[tuple[str, str, str], str] = {}


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
