"""What a command answers, and how it reaches the terminal: JSON or a plain table on stdout.

Every command's --json is one object: `schema` (which command's answer it is), `version`, and the
keys that `ANSWERS` describes and `list answers` prints. Rows stand under `rows`. A key may be
added at any time; NaN is null.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import UnfinishedError
from shuffleproof.core.numerals import finite
from shuffleproof.core.studies.aligned_text import aligned
from shuffleproof.core.studies.kinds.benchmark.question import COMPARED
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.words import MISSING, number

VERSION = 2
"""Of the answers' form: counted up where a key goes or changes its meaning, not where one comes."""


@dataclass(frozen=True)
class Answer:
    """A command's answer.

    Attributes:
        json: plain values by key, or rows; printed with --json, as `document` wraps them.
        text: what is printed without it; by default a table of `json`.
        exit_code: 0 done, 1 the work failed.
    """

    json: Any
    text: str = ""
    exit_code: int = 0


def show(answer: Answer, command: str | None) -> None:
    """Print an answer on stdout: as JSON where the command is named, else as text."""
    if command is not None:
        print(json.dumps(finite(document(command, answer.json)), indent=None, allow_nan=False))
    else:
        print(answer.text or table(answer.json))


def document(command: str, answer: Any) -> dict[str, Any]:
    """An answer with what tells which it is.

    >>> document("study card", {"result": "study-0"})
    {'schema': 'shuffleproof study card', 'version': 2, 'result': 'study-0'}
    >>> document("library list", [])
    {'schema': 'shuffleproof library list', 'version': 2, 'rows': []}
    """
    keys = answer if isinstance(answer, Mapping) else {"rows": answer}
    return {"schema": f"shuffleproof {command}", "version": VERSION, **keys}


def unfinished(error: UnfinishedError) -> Answer:
    """What a study answers in JSON whose time was up before its first trial was finished."""
    stopped = {"seconds": error.seconds, "done": 0, "of": None}
    return Answer({"result": None, "stopped": stopped, "headline": None, "summary": []})


def table(rows: Any) -> str:
    """Rows as an aligned table, as wide as the terminal at most; a mapping as a line a field."""
    if isinstance(rows, Mapping):
        pairs = [[str(key), _cell(value)] for key, value in rows.items()]
        return aligned(["", ""], pairs, [False, False])
    if not isinstance(rows, Sequence) or not rows:
        return "nothing"
    heads = list(rows[0])
    values = [[row.get(head) for head in heads] for row in rows]
    numeric = [
        all(value is None or isinstance(value, int | float) for value in column)
        for column in zip(*values, strict=True)
    ]
    return aligned(heads, [list(map(_cell, row)) for row in values], numeric)


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float):
        return number(value, ".3g" if abs(value) < 1e-3 and value else ".3f")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_cell(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(_cell(item) for item in value)
    return str(value)


def warn(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr)


_TUNED = {
    "preset": "the name by which commands take what was found", "data": "searched on",
    "base": "the preset below it",
    "fields": "of its recipe that differ", "measure": "of validation, by which it was chosen",
    "valid": "its value and those of the presets that were tried first",
    "trials": "made", "done": "of them finished", "pruned": "of them stopped early",
    "failed": "of them diverged", "search": "range or choices of each field",
    "history": "a row a trial: of, state, value, seconds, curve, fields, rankers (keys)",
    "test": "means on the test part",
    "looks": "how often it was looked at for this search, under whatever name",
    "cached": "whether all of it was stored",
}  # fmt: skip
_RESULT = {
    "result": "key of the stored study; null where it was stopped",
    "stopped": "by --max-seconds: seconds, trials done and of how many; else null. Where none was "
    "done (status 1) of, headline are null, summary is empty, and the other keys are left out",
    "headline": "the answer: text, tier (what becomes of the ranker that loses most), why, label "
    "(of its chip, where another)",
    "summary": "a row a ranker, family, level and measure: tau really left, set size, mean over "
    "queries and draws, 95 % bootstrap interval (low, high), queries that count (n)",
}
_DRY_RUN = {
    "result": "key of the study where it is stored, else null; null of `train`",
    "trainings": "a row for alike trainings: name, count, stored, seconds (null: unknown)",
    "trials": "of the study: count, and how many are stored",
    "calls": "number of calls of each user's function",
    "seconds": "of the trainings and calls that are missing; null: unknown",
}
ANSWERS: Mapping[str, Mapping[str, str]] = {
    "ingest": {"folds": "name, key, queries, documents, features and notes of every fold"},
    "ingest-preferences": {
        "name": "given", "key": "of what is stored", "queries": "read",
        "items": "over all queries", "judgments": "answers, or rows of a matrix",
        "rankers": "of sets of rankings and runs", "labelled": "whether items have labels",
        "notes": "what was left out or put together, in words",
    },
    "consistency": {
        "queries": "examined", "items": "over all queries", "pairs": "of two items that have one",
        "ties": "pairs without a majority", "triads": "of three items, each pair with a majority",
        "cyclic_triads": "of which each item beats the next",
        "cyclic_rate": "cyclic_triads / triads",
        "chains": "i, j, k with f(i, j) and f(j, k) ≥ ½ and a known f(i, k)",
        "moderate_violations": "chains with f(i, k) below the less of the two",
        "strong_violations": "chains with f(i, k) below the more of the two",
        "asymmetric_pairs": "with f(i, j) + f(j, i) other than 1",
        "components": "strongly connected components of the majorities, over all queries",
        "largest_component": "items of the largest",
        "scoreable_queries": "whose wins are strongly connected: Bradley–Terry has strengths",
        "position_pairs": "asked with either item first",
        "position_consistency": "share of them answered alike both ways; null: there are none",
        "repeated_pairs": "questions asked more than once, of a judge, in an order",
        "repeated_contradictions": "share of them not answered alike; null: there are none",
        "self_comparisons": "items compared with themselves", "not_reflexive": "of them, not tied",
        "judges": "judge or ranker, judgments with a majority, those against it, their rate",
        "cycles": "the worst: query, the three items, their least margin",
        "per_query": "the same by query; win_components, scoreable; with --best slater, kemeny and "
        "their lower bounds, and whether kemeny is exact",
        "notes": "what reading left out",
    },
    "aggregate": {
        "summary": "by aggregator: mean agreement and all calls; measures where items have labels",
        "rows": "by query and aggregator: order (items, the best first), agreement (share of all "
        "weight that the order agrees with), calls (pairs asked), unanswered, complete (all that "
        "it wanted was asked), loss (weight against the order), lower_bound (no order loses less), "
        "exact (an order loses just that), agreement_bound, measures where items have labels",
    },
    "judge": {
        "name": "of the set", "key": "of what is stored", "judge": "that answers are noted under",
        "queries": "of the set", "judgments": "of the set, all judges together",
        "asked": "questions that were answered now", "before": "of the plan, answered before",
        "complete": "whether all that the plan wants was answered",
        "malformed": "answers that are no preference, of the plan",
        "malformed_answers": "query, a, b and answer of each; with --answers place and answer",
        "seconds": "that asking took (not with --answers)",
        "cost": "calls at most, those answered before that are not among them (null: an aggregator "
        "asks), price and seconds where those of a call were given, text; with --dry-run this, "
        "name and judge alone",
    },
    "judge --next": {"name": "of the set", "judge": "who is to answer", "next": "pairs written"},
    "ingest-collection": {
        "name": "given", "key": "of what is stored", "format": "smart, trec, beir or jsonl",
        "documents": "read", "queries": "read", "judgments": "read",
        "notes": "what was decided on the way, in words",
        "findings": "code, severity, message and action of each",
    },
    "doctor-collection": {
        "documents": "of the collection", "queries": "of it", "judgments": "of it",
        "findings": "code, severity, message and action of each",
    },
    "candidates": {
        "name": "given", "key": "of the data set", "queries": "with a relevant document",
        "documents": "candidates over all queries", "features": "how many",
        "rows": "id and meaning of each feature", "notes": "how it was made",
    },
    "search": {
        "collection": "as named", "query": "as given",
        "unknown": "words of it that the collection lacks",
        "rows": "retriever, rank, document (its id), score, title, text (its beginning)",
    },
    "doctor": {
        "queries": "of the parts examined", "documents": "likewise", "features": "columns",
        "labels": "documents of each grade",
        "findings": "severity, code, part, message, queries and action of what was found",
    },
    "doctor --ranker": {
        "findings": "as `doctor`", "ranker": "its name", "lists": "examined",
        "of": "lists that there are",
        "seconds": "that a list takes", "measures": "means over the lists examined",
    },
    "list": {
        "rows": "name, summary and source, and what else is known of the kind; of a recipe field, "
        "type, default, value in the preset, low, high, choices, unit and meaning",
    },
    "train": {
        "ranker": "its name", "artefact": "key of what is stored", "cached": "whether it was",
        "epochs": "trained", "valid": "measures of the validation part", "seconds": "it took now",
        "documents_at_once": "padded documents that the device's memory held; null: enough",
    },
    "train --data collection": {
        "ranker": "snrm, fnrm or cnrm", "artefact": "key of what is stored",
        "cached": "whether it was", "epochs": "steps trained",
        "valid": "empty: no judgments are read", "seconds": "it took now",
        "last": "what the last step measured: loss, and of snrm non-zeros and dead dimensions, of "
        "fnrm and cnrm the share of pairs in the labeller's order (agreement)",
        "gates": "of snrm, empty for others: postings_per_query_over_n, "
        "largest_document_frequency, matched_share, empty_share, "
        " nonzeros_document, nonzeros_query, dense_in_disguise",
    },
    "tune": _TUNED,
    "train --dry-run": _DRY_RUN,
    "certify": {
        "ranker": "its name", "reads": "what it declares to read",
        "verdict": "invariant, not invariant or inconclusive", "invariant": "the verdict is that",
        "sentence": "the verdict with its evidence",
        "reasons": "of a verdict that is not invariant",
        "theorem": "why its answers cannot depend on the order, and what was checked; or null",
        "max_score_deviation": "largest difference of a document's score under two orders",
        "numeric_floor": "the largest that rounding may explain",
        "positions_moved": "documents that changed places by more than rounding can",
        "lowest_tau": "of the answers to two orders, Kendall's tau-b, or null",
        "permutations": "permuted lists scored, over all queries",
        "distinct_orders": "of them, orders not scored before",
        "failing_orders": "of those, how many changed an answer",
        "systematic": "other orders by name: shown to and changed in how many lists",
        "failure_bound": "upper 95 % bound of the share of orders that change an answer",
        "list_bound": "the same of lists that show a change in as many orders",
        "queries": "lists examined", "queries_moved": "of them, not invariant",
        "queries_untold": "of them, inconclusive",
        "queries_silent": "of them, those that say nothing: one document, or all tie",
        "longest": "documents of the longest list", "middle_length": "median documents of a list",
        "tied_documents": "that tie with another of their list",
        "equal_documents": "whose features equal another's of their list",
        "scorings": "of each list by one process", "lists_scored": "in all, by all processes",
        "fresh_processes": "copies or processes that saw one order alone",
        "unseen": "limits of the examination",
        "notes": "limits that the verdict itself names",
        "precision": "smallest type that holds the scores, such as float32",
        "loss": "of NDCG@10 under random orders: before, mean, low and high (95 %), or null",
        "deterministic": "whether the same order always gave the same answer",
        "noise_p": "where it did not: chance that other orders change as little more; else null",
    },
    "bring": {
        "ranker": "the name that studies know it by", "artefact": "key of what is stored",
        "valid": "measures of the validation part",
        "columns": "rule by which a model's columns are matched: names, id, id-1 or order; "
        "null of scores",
        "said": "how a model's columns are matched, or ties that reading made, in words",
    },
    "runs": {
        "result": "key of the stored comparison", **COMPARED,
        "missing": "judged topics that each run does not answer",
        "unjudged": "topics of each run that are not judged",
        "tied": "share of each run's pairs of documents with equal scores",
    },
    **{f"study {kind}": {**_RESULT, **question.answers} for kind, question in EVERY.items()},
    **{f"study {kind} --dry-run": _DRY_RUN for kind in EVERY},
    "check": {
        "verdict": "the worst tier found", "finding": "in words", "baseline": "the card's file",
        "least": "the smallest loss that is a regression",
        "tiers": "number of comparisons, by tier",
        "comparisons": "a row a ranker, measure, family and level, the worst first: tier, because, "
        "means before and after, difference with p and interval (max-T), queries (n), noise",
        "notes": "what else there is to know",
    },
    "library list": {
        "rows": "an entry each: `imported` from where, `stale` why; damaged ones with name, "
        "damaged, found and bytes",
    },
    "library show": {
        "name": "of the entry", "key": "its key", "summary": "what it is, in words",
        "created": "when", "bytes": "its size",
        "seconds": "that making it took", "needs": "keys of what it was made from",
        "needed_by": "keys of what was made from it",
        "bundled": "whether it came with the program",
        "imported": "from which archive and when, or null", "stale": "why, or empty",
        "command": "of a ranker or study: makes it again, or # and why none does",
        "python": "of a study: the same in Python", "methods": "of a study: a paragraph",
        "references": "of a study: what the paragraph cites",
        "recipe": "what determines it", "facts": "what else was noted when it was made",
    },
    "library show RANKER@NAME": _TUNED,
    "library export": {"out": "the file", "bytes": "its size", "artefacts": "keys in it"},
    "library import": {
        "artefacts": "keys that are in the store now", "made_here": "those that no import brought",
    },
    "library verify": {"artefacts": "read", "damaged": "name, kind and finding of each"},
    "library clean": {
        "store": "bytes of all", "freed": "bytes of the waste", "removed": "whether it was",
        "waste": "a row a kind: files and MB",
    },
    "library rename": {"key": "of the entry", "name": "its new name"},
    "library delete": {"deleted": "keys, or the preset", "bytes": "freed"},
    "export": {
        "out": "the file", "bytes": "its size",
        "part": "of a data set, where one is; of a collection `retriever` and `rows` written",
    },
    "demo": {
        "certificates": "as `study invariance`", "summary": "as `study initial-ranking`",
        "report": "the file", "seconds": "it took",
    },
    "sample": {"rows": "an artefact each: key and bytes"},
    "app": {},
}  # fmt: skip
"""The keys by command; `app` serves and answers nothing."""
