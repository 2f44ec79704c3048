"""Remedies for the doctor's findings, grouped by kind, the worst first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os.path import commonprefix

from shuffleproof.core.data.doctor import Finding, Severity

WORD = re.compile(r"(?<!=) (?![%=])")
"""Blank between two words of a message; a number and its unit are one word."""

ACTIONS: dict[str, str] = {
    "one-label": "Check that the label comes first in each line: equal labels measure nothing.",
    "label-feature": "Remove this feature: a ranker would learn nothing else.",
    "shared-queries": "Split by query again: `ingest FILE` with one file puts no query into two "
    "parts.",
    "huge-features": "Correct wrong values, or choose a normalisation by quantiles or logarithm.",
    "order-leak": "Prefer a trained initial ranking, such as LambdaMART, to file-order.",
    "repeated-query-ids": "Use one id per list: results are joined by query id.",
    "negative-labels": "Map labels to 0 or more, and remove unjudged rows (often −1).",
    "unlike-features": "Compute these features for every part, or remove them from all parts.",
    "shared-vectors": "Remove documents from test that were copied from train.",
    "place-feature": "Remove this feature, except for click models: positions are unknown before "
    "ranking.",
    "exposure-feature": "Remove this feature if it is unknown before ranking.",
    "identifier-feature": "Remove this feature: trees memorise single rows by it.",
    "repeated-documents": "Keep one row per document, or use distinct document ids.",
    "query-among-documents": "Remove the query from its own list.",
    "sentinel-features": "Choose a normalisation by quantiles, or write missing values as NULL and "
    "set `--nulls`.",
    "high-labels": "Map the labels to grades of 0 to 4, or use linear gains.",
    "fractional-labels": "Round grades; clicks and rates may stay.",
    "no-relevant": "State the convention for these queries (empty = 0, 1 or skip): it changes "
    "every mean.",
    "duplicate-vectors": "Add a feature that separates these documents, or remove the copies.",
    "empty-queries": "Remove these queries.",
    "one-document-queries": "Remove these queries: they make all rankers look equally good.",
    "numbered-queries": "Ignore this if each part counts its own queries; else split again.",
    "query-features": "Keep them: they help together with other features.",
    "constant-features": "Remove these features.",
    "label-histogram": "",
    "list-lengths": "",
}
"""What to do about each code, those of the gravest consequence first; empty: nothing."""


@dataclass(frozen=True)
class Advice:
    """Findings of one code, of one or several parts."""

    severity: Severity  # the gravest of the findings
    action: str  # what to do; empty where nothing is to be done
    findings: tuple[Finding, ...]  # the gravest first, else in the order in which they were found


def line(severity: str, message: str, action: str) -> str:
    """A finding as a line of text, with its remedy below."""
    return f"{severity:<8} {message}" + (f"\n         → {action}" if action else "")


def merged_message(findings: Sequence[Finding]) -> str:
    """One message of findings of the same kind; their common words are not repeated.

    >>> print(merged_message([
    ...     Finding("no-relevant", "info", "1 of 9 queries without a label.", part="train"),
    ...     Finding("no-relevant", "info", "3 of 5 queries without a label.", part="test"),
    ... ]))
    train 1 of 9, test 3 of 5 queries without a label.
    """
    rows = [WORD.split(finding.message.removesuffix(".")) for finding in findings]
    head = commonprefix(rows)  # noqa: RUF071 (of words)
    tail = commonprefix([row[len(head) :][::-1] for row in rows])  # noqa: RUF071 (likewise)
    middles = [" ".join(row[len(head) : len(row) - len(tail)]).rstrip(",:") for row in rows]
    if not any(middles):
        named = dict.fromkeys(filter(None, [one.part or one.place for one in findings]))
        return f"{', '.join(named)}: {findings[0].message}".removeprefix(": ")
    parts = zip([finding.part for finding in findings], middles, strict=True)
    several = ", ".join(f"{part} {middle}".strip() for part, middle in parts)
    return " ".join([*head, several, *tail[::-1]]) + "."


def merge_findings(findings: Iterable[Finding]) -> tuple[Advice, ...]:
    """One piece of advice a code: problems first, and among equals by consequence.

    >>> parts = [Finding("no-relevant", "info", "1 of 9.", part=part) for part in ("train", "test")]
    >>> [(advice.severity, len(advice.findings)) for advice in merge_findings(parts)]
    [('info', 2)]
    """
    of: dict[str, list[Finding]] = {}
    for finding in findings:
        of.setdefault(finding.code, []).append(finding)
    grave: tuple[Severity, ...] = ("problem", "warning", "info")
    ranks = {code: rank for rank, code in enumerate(ACTIONS)}
    advice = {
        code: Advice(
            min((finding.severity for finding in findings_of_code), key=grave.index),
            ACTIONS.get(code, ""),
            tuple(sorted(findings_of_code, key=lambda finding: grave.index(finding.severity))),
        )
        for code, findings_of_code in of.items()
    }
    ordered = sorted(
        advice, key=lambda code: (grave.index(advice[code].severity), ranks.get(code, 0))
    )
    return tuple(advice[code] for code in ordered)


def lines(findings: Iterable[Finding]) -> list[tuple[Severity, str]]:
    """Severity and text of each kind of finding: one line for all parts, the remedy below."""
    return [
        (merged.severity, line(merged.severity, merged_message(merged.findings), merged.action))
        for merged in merge_findings(findings)
    ]
