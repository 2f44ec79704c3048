"""Reports of a gate: a table, Markdown for a pull request, JUnit XML."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pandas as pd

from shuffleproof.core.gate.check import Gate, Row
from shuffleproof.core.gate.comparison import MEANINGS, Tier
from shuffleproof.core.studies import table_text, tables
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, interval, number, one_line, signed

STATUS_FAILED, STATUS_INCONCLUSIVE = 3, 4
"""Exit statuses of a failing tier, and of an inconclusive check."""

INCONCLUSIVE = frozenset({Tier.INCOMPARABLE, Tier.UNRELIABLE})
FAILING = {
    "regression": frozenset({Tier.REGRESSION}),
    "soft": frozenset({Tier.REGRESSION, Tier.SOFT}),
    "nothing": frozenset[Tier](),
}
"""What `--fail-on` takes, and the tiers that fail then."""

MOST_ROWS, MOST_NOTES = 20, 4
"""Of a Markdown summary, which has at most 40 lines."""

COLUMNS = (
    tables.Column("tier", "Tier"),
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("condition", "Condition"),
    tables.Column("before", "Card", tables.VALUE, "Mean over queries."),
    tables.Column("after", "Now", tables.VALUE, "Likewise."),
    tables.Column("difference", "Difference", tables.CHANGE, "Now − card, paired by query."),
    *tables.bounds(spec=tables.CHANGE, words="95 % interval of the difference, adjusted as p."),
    tables.Column("p", "p", tables.P, "Max-T over all rows, by sign flips of queries."),
)

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot say."""


def status(gate: Gate, fail_on: str = "regression") -> int:
    """Exit status: 3 for a tier of `--fail-on`, 4 for an inconclusive result, else 0.

    A check that compared nothing is inconclusive; with `nothing` the status is always 0.
    """
    if fail_on == "nothing":
        return 0
    if FAILING[fail_on] & set(gate.tiers):
        return STATUS_FAILED
    return STATUS_INCONCLUSIVE if INCONCLUSIVE & set(gate.tiers) or not gate.rows else 0


def verdict(gate: Gate) -> Tier:
    """The worst tier found; of nothing compared, not comparable."""
    return next(iter(gate.tiers), Tier.INCOMPARABLE)


def finding(gate: Gate) -> str:
    """Verdict with its numbers, in a sentence or two."""
    worst, count = verdict(gate), counted(len(gate.rows), "comparison")
    if worst == Tier.TIE:
        loss = max(0.0, *(-row.comparison.difference for row in gate.rows))
        return f"No regression in {count}: largest loss {number(loss)} (limit {gate.least:g})."
    if not gate.rows:
        return "Not comparable: nothing was compared."
    tiers = ", ".join(f"{tier.words} {times}" for tier, times in gate.tiers.items())
    return f"{worst.words.capitalize()}. Of {count}: {tiers}. Worst: {row_text(gate.rows[0])}."


def row_text(row: Row) -> str:
    """A row in words."""
    comparison = row.comparison
    values = f", {number(comparison.before)} → {number(comparison.after)}" if comparison.n else ""
    return f"{row.ranker}, {condition(row)}{values}: {comparison.because}"


def condition(row: Row) -> str:
    """Measure, family and level."""
    return f"{row.measure} under {row.family} {row.level:g}"


def table(gate: Gate, most: int | None = None) -> Table:
    """The rows, or the worst of them."""
    rows = [
        row.plain() | {"tier": row.tier.words, "condition": f"{row.family} {row.level:g}"}
        for row in gate.rows[:most]
    ]
    full = Table(pd.DataFrame(rows, columns=tables.keys(COLUMNS)), COLUMNS, "", _notes(gate))
    return full if len({row.measure for row in gate.rows}) > 1 else full.without("measure")


def details(gate: Gate, digits: int = tables.DIGITS) -> str:
    """All rows and notes, for the terminal."""
    return table_text.terminal(table(gate), digits)


def markdown(gate: Gate, digits: int = tables.DIGITS) -> str:
    """For a pull request: the verdict first, a table of the worst, at most 40 lines."""
    shown, more = replace(table(gate, MOST_ROWS), notes=()), len(gate.rows) - MOST_ROWS
    notes = [one_line(line).translate(table_text.MARKDOWN) for line in _notes(gate)]
    rest = [f"and {more} more, none of a worse tier"] if more > 0 else []
    parts = [
        f"### Shuffleproof: {verdict(gate).words}",
        "",
        one_line(finding(gate)).translate(table_text.MARKDOWN),
        "",
        table_text.markdown(shown, digits),
        *(f"{line}  " for line in [*rest, *notes]),
    ]
    return "\n".join(parts) + "\n"


def junit(gate: Gate, fail_on: str = "regression") -> str:
    """A test case a ranker, measure and condition, as JUnit's XML has it.

    Tiers of `fail_on` are failures, inconclusive rows are errors, and other soft losses are in the
    case's output.
    """
    failing, tiers = FAILING[fail_on], gate.tiers
    failures, errors = (
        sum(tiers.get(tier, 0) for tier in chosen) for chosen in (failing, INCONCLUSIVE)
    )
    counts = {
        "name": "shuffleproof check",
        "tests": str(len(gate.rows)),
        "failures": str(failures),
        "errors": str(errors),
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", counts | {"skipped": "0", "time": "0"})
    for row in gate.rows:
        names = {"classname": _xml(row.ranker), "name": _xml(condition(row)), "time": "0"}
        case = ET.SubElement(suite, "testcase", names)
        kind = "failure" if row.tier in failing else "error" if row.tier in INCONCLUSIVE else ""
        if kind:
            message = _xml(f"{row.tier.words}: {row_text(row)}")
            ET.SubElement(case, kind, {"type": row.tier, "message": message}).text = _case(row)
        elif row.tier != Tier.TIE:
            ET.SubElement(case, "system-out").text = _case(row)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _notes(gate: Gate) -> list[str]:
    """Meaning of the tiers that occur, and the gate's own notes."""
    meant = [
        f"{tier}: {MEANINGS[tier]}." for tier in gate.tiers if tier not in INCONCLUSIVE | {Tier.TIE}
    ]
    size = f"--least: {gate.least:g}. Significant: max-T at 5 % over all rows."
    floors = {(row.ranker, row.measure): row.comparison.noise for row in gate.rows}
    noises = ", ".join(
        f"{who} {number(floor, '.2g')} {measure}"
        for (who, measure), floor in floors.items()
        if floor == floor  # noqa: PLR0124 (NaN where nothing was compared)
    )
    notes = gate.notes[:MOST_NOTES]
    more = len(gate.notes) - len(notes)
    return [
        *meant,
        size,
        *([f"Own noise: {noises}."] if noises else []),
        *notes,
        *([f"and {counted(more, 'note')} more"] if more else []),
    ]


def _case(row: Row) -> str:
    """A row in words, with its interval and its ranker's noise."""
    comparison = row.comparison
    size = f"{signed(comparison.difference, 6)} {interval(comparison.low, comparison.high, '+.6f')}"
    noise = f"n = {comparison.n}, own noise {number(comparison.noise, '.2g')}"
    return _xml(f"{row.tier.words}: {row_text(row)}\ndifference {size} (max-T), {noise}")


def _xml(words: str) -> str:
    return NOT_XML.sub("\ufffd", words)
