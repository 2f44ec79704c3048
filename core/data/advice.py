"""Remedies for the doctor's findings, grouped by kind, the worst first."""

from collections.abc import Iterable
from dataclasses import dataclass

from shuffleproof.core.data.doctor import Finding, Severity

ACTIONS: dict[str, str] = {
    "one-label": "Check that the label stands first in each line and is the right one; nothing "
    "can be measured here.",
    "label-feature": "Leave this feature out: a ranker that reads it learns nothing else.",
    "shared-queries": "Split by query again: give one file to Add data, or `ingest FILE`, which "
    "puts no query into two parts.",
    "huge-features": "Open the queries to see the values; correct what is a fault, else choose a "
    "normalisation by quantiles or logarithm.",
    "order-leak": "Keep file-order out of the initial rankings; train one (LambdaMART), or shuffle "
    "the rows of each query.",
    "repeated-query-ids": "Give every list an id of its own: results by query name would join "
    "what does not belong together.",
    "negative-labels": "Map grades to 0 and more (often −1 means unjudged: leave these rows out).",
    "unlike-features": "Compute these features for every part, or leave them out of all parts.",
    "shared-vectors": "Look whether the documents were copied between parts; if so, remove them "
    "from test.",
    "place-feature": "Leave this feature out, or use it for click models alone: it is not known "
    "before documents are ranked.",
    "exposure-feature": "Leave this feature out where it is not known before documents are ranked.",
    "identifier-feature": "Leave this feature out: trees learn single rows by it.",
    "repeated-documents": "Keep one row of each document, or name documents by what tells them "
    "apart.",
    "query-among-documents": "Leave the query out of its own list.",
    "sentinel-features": "Choose a normalisation by quantiles, or write what is missing as NULL "
    "and say what it becomes.",
    "high-labels": "Map the labels to grades of 0 to 4, or measure with linear gains.",
    "fractional-labels": "Round them to grades where they are grades; clicks and rates stay.",
    "no-relevant": "State which convention you use (empty = 0, 1 or skip); it stands beside each "
    "measure.",
    "duplicate-vectors": "Add a feature that tells these documents apart, or remove the copies.",
    "benchmark-differs": "Fetch the collection again, or say that yours is a part of it: published "
    "figures do not compare.",
    "empty-queries": "Leave these queries out.",
    "one-document-queries": "Leave these queries out: they make every ranker look equally good.",
    "numbered-queries": "Nothing, where each part counts its own; else split by query again.",
    "query-features": "Nothing: trees and nets may use them with others.",
    "constant-features": "Leave these features out; nothing is learnt from them.",
    "label-histogram": "",
    "list-lengths": "",
    "benchmark": "",
}
"""What to do about each code, those of the gravest consequence first; empty: nothing."""


@dataclass(frozen=True)
class Advice:
    """Findings of one code, of one or several parts.

    Attributes:
        severity: the gravest of the findings.
        action: what to do; empty where nothing is to be done.
        findings: the gravest first, else in the order in which they were found.
    """

    severity: Severity
    action: str
    findings: tuple[Finding, ...]


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
            ACTIONS[code],
            tuple(sorted(findings_of_code, key=lambda finding: grave.index(finding.severity))),
        )
        for code, findings_of_code in of.items()
    }
    ordered = sorted(advice, key=lambda code: (grave.index(advice[code].severity), ranks[code]))
    return tuple(advice[code] for code in ordered)
