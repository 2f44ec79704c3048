"""The doctor of data sets: findings in plain words, with numbers and places."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias, cast

import numpy as np

from shuffleproof.core.data import doctor_counts, ragged
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.words import counted, percent

Severity = Literal["info", "warning", "problem"]
LARGEST = float(np.finfo(np.float32).max)
HUGE = 1e5
SQUARED = float(np.sqrt(LARGEST))  # beyond it the square is no float32: no mean and deviation holds
LEAK, STRONG_LEAK = 0.02, 0.1  # distance of the share of well-ordered pairs from one half
LEAST_QUERIES = 10  # with documents of unlike labels, for a finding about leaks
FEW_FEATURES = 0.1  # share of a part's features that another part may lack, and no problem
GLANCE = 10_000  # rows that tell of most columns that they hold no identifiers
EXPOSURE = re.compile(
    r"(displayed?_?|shown_?|serp_?)?(pos|position)s?|session(_?id)?|srch_?id|search_?id|"
    r"(request|impression|visit|click)s?(_?id)?|impressions?|exposures?|click_?bool|dwell(_?time)?"
)
"""Names of columns that click logs have and that tell of what was shown, not of documents."""

NAMED = 8  # queries and features named one by one


@dataclass(frozen=True)
class Finding:
    """One finding."""

    code: str  # what kind, in kebab case
    severity: Severity  # "info" is worth knowing, "warning" can mislead, "problem" spoils a study
    message: str  # a sentence with its numbers
    where: str = ""  # the queries, features or parts concerned; empty for the whole data set
    part: str = ""  # the part of the fold that it is about, where a fold was examined
    queries: tuple[int, ...] = ()  # the places of the queries behind it, all of them

    @property
    def place(self) -> str:
        """Place named by `where` besides the part, unless the message names it."""
        place = self.where.removeprefix(self.part).strip()
        return "" if place.lower() in self.message.lower() else place


def label_counts(dataset: RankingDataset) -> dict[str, int]:
    """Number of documents by label."""
    labels, counts = np.unique(dataset.labels, return_counts=True)
    return {f"{label:g}": int(count) for label, count in zip(labels, counts, strict=True)}


Vectors: TypeAlias = tuple[RankingDataset, np.ndarray]
"""A part and the code of each row's features: `doctor_counts.row_codes`."""


def examine(dataset: RankingDataset) -> list[Finding]:
    """Every finding about one data set, the gravest first."""
    return _gravest_first([*_findings(dataset), *_suspects([dataset])])


def _findings(dataset: RankingDataset, parts: int = 1) -> list[Finding]:
    return [
        *_labels(dataset),
        *_queries(dataset),
        *_order(dataset, parts),
        *_columns(dataset),
        *_repeats(dataset),
        *_documents(dataset),
    ]


def examine_fold(fold: Fold) -> list[Finding]:
    """Every finding about the parts of a fold, and what they share."""
    parts = fold.parts
    findings = [
        _in_part(name, finding)
        for name, part in parts.items()
        for finding in _gravest_first(_findings(part, parts=len(parts)))
    ]
    codes = {name: doctor_counts.row_codes(part.features) for name, part in parts.items()}
    train = parts["train"], codes["train"]
    for name in ("valid", "test"):
        shared = _shared(train, (parts[name], codes[name]))
        findings += [_in_part(name, finding) for finding in shared]
    findings += [*_unlike_features(parts), *_suspects([*parts.values()])]
    return _gravest_first(findings)


def _in_part(name: str, finding: Finding) -> Finding:
    return replace(finding, where=f"{name} {finding.where}".strip(), part=name)


def _shared(train: Vectors, part: Vectors) -> Iterator[Finding]:
    """Queries and documents of a part that the training part has too."""
    dataset, codes = part
    known = set(train[0].query_ids)
    shared = [place for place, query in enumerate(dataset.query_ids) if query in known]
    if shared and _only_numbered(train, part):
        message = (
            f"The queries are numbered from 1, as a group file leaves them: {len(shared):,} "
            "numbers occur in train too, without a shared document."
        )
        yield Finding("numbered-queries", "info", message)
    elif shared:
        message = f"{counted(len(shared), 'query')} shared with train."
        yield _of_queries(dataset, "shared-queries", "problem", message, shared)
    repeated = np.flatnonzero(np.isin(codes, train[1]))
    if len(repeated):
        share = len(repeated) / len(codes)
        documents = f"{counted(len(repeated), 'document')} ({percent(share, 1)})"
        message = f"{documents} with the same features as a document in train."
        severity: Severity = "warning" if share > 0.01 else "info"
        places = _queries_of(dataset, repeated)
        yield _of_queries(dataset, "shared-vectors", severity, message, places)


def _only_numbered(train: Vectors, part: Vectors) -> bool:
    """True if ids count a part's queries from 1, and none shares a document with train's."""
    dataset = part[0]
    if dataset.query_ids != tuple(str(number + 1) for number in range(dataset.queries)):
        return False
    in_train, in_part = (
        dict(zip(of.query_ids, np.split(codes, of.offsets[1:-1]), strict=True))
        for of, codes in (train, part)
    )
    return not any(
        np.isin(in_part[query_id], in_train[query_id]).any()
        for query_id in in_part.keys() & in_train.keys()
    )


def _unlike_features(parts: Mapping[str, RankingDataset]) -> Iterator[Finding]:
    """Features that one part has and another lacks: zero in every row of it."""
    used = {}
    for name, part in parts.items():
        low, high, _ = doctor_counts.columns(part)
        used[name] = (low < 0) | (high > 0)  # none where there are no rows
    ids = np.array(parts["train"].feature_ids, dtype=np.int64)
    pairs = (("train", "valid"), ("train", "test"), ("valid", "train"), ("test", "train"))
    for this_part, other_part in pairs:
        lacking = used[this_part] & ~used[other_part]
        if not lacking.any() or not parts[other_part].documents:
            continue
        share = lacking.sum() / used[this_part].sum()
        grave: Severity = "warning" if share > LEAK else "info"
        severity: Severity = "problem" if share > FEW_FEATURES else grave
        features = counted(int(used[this_part].sum()), "feature")
        message = (
            f"{lacking.sum():,} of {features} of {this_part} with 0 in every row of {other_part}."
        )
        where = f"{other_part} {_in_words('feature', ids[lacking].tolist())}"
        yield Finding("unlike-features", severity, message, where, other_part)


def _of_queries(
    dataset: RankingDataset, code: str, severity: Severity, message: str, places: Sequence[int]
) -> Finding:
    """A finding about the queries at some places."""
    names = [dataset.query_ids[place] for place in places]
    return Finding(code, severity, message, _in_words("query", names), queries=tuple(places))


def _queries_of(dataset: RankingDataset, rows: np.ndarray) -> tuple[int, ...]:
    owners = np.searchsorted(dataset.offsets, rows, side="right") - 1
    return tuple(np.unique(owners).tolist())


def _gravest_first(findings: list[Finding]) -> list[Finding]:
    grave = ("problem", "warning", "info")
    return sorted(findings, key=lambda finding: grave.index(finding.severity))


def _in_words(kind: str, names: Sequence[object]) -> str:
    examples = ", ".join(str(name) for name in names[:NAMED])
    plural = {"query": "queries", "feature": "features"}[kind] if len(names) > 1 else kind
    return f"{plural} {examples}" + (" …" if len(names) > NAMED else "")


def _labels(dataset: RankingDataset) -> Iterator[Finding]:
    labels = dataset.labels
    shares = ", ".join(
        f"{label} = {percent(count / max(dataset.documents, 1), 1)}"
        for label, count in list(label_counts(dataset).items())[:NAMED]
    )
    yield Finding("label-histogram", "info", f"Labels: {shares}.")
    if len(labels) and labels.min() == labels.max():
        yield Finding("one-label", "problem", f"Every label is {labels[0]:g}.")
    odd: tuple[tuple[str, Severity, np.ndarray, str], ...] = (
        ("negative-labels", "problem", labels < 0, "below 0"),
        ("fractional-labels", "warning", labels != np.rint(labels), "with a fraction"),
    )
    for code, severity, wrong, words in odd:
        if wrong.any():
            message = f"{counted(int(wrong.sum()), 'label')} {words}."
            places = _queries_of(dataset, np.flatnonzero(wrong))
            yield _of_queries(dataset, code, severity, message, places)
    if len(labels) and labels.max() > NAMED:
        message = (
            f"The largest label is {labels.max():g}: its gain 2^label − 1 outweighs the others."
        )
        yield Finding("high-labels", "warning", message)


def _queries(dataset: RankingDataset) -> Iterator[Finding]:
    if not dataset.queries:
        return
    lengths = np.diff(dataset.offsets)
    low, middle, high = int(lengths.min()), float(np.median(lengths)), int(lengths.max())
    message = f"Lists have {low:,} to {counted(high, 'document')}, median {middle:g}."
    yield Finding("list-lengths", "info", message)
    for length, code, words in ((0, "empty", "no document"), (1, "one-document", "one document")):
        places = np.flatnonzero(lengths == length).tolist()
        if places:
            message = f"{counted(len(places), 'query')} with {words}."
            yield _of_queries(dataset, f"{code}-queries", "warning", message, places)
    relevant = np.unique(ragged.segment_ids(dataset.offsets)[dataset.labels > 0])
    none = np.setdiff1d(np.arange(dataset.queries), relevant).tolist()
    if none:
        share = len(none) / dataset.queries
        message = (
            f"{len(none):,} of {counted(dataset.queries, 'query')} ({percent(share)}) "
            "without a relevant document."
        )
        severity: Severity = "warning" if share > LEAK else "info"
        yield _of_queries(dataset, "no-relevant", severity, message, none)
    first = {name: place for place, name in reversed([*enumerate(dataset.query_ids)])}
    again = {name for place, name in enumerate(dataset.query_ids) if first[name] != place}
    if again:
        message = f"{counted(len(again), 'query id')} with several lists."
        where = _in_words("query", [name for name in first if name in again])
        places = [place for place, name in enumerate(dataset.query_ids) if name in again]
        finding = _of_queries(dataset, "repeated-query-ids", "problem", message, places)
        yield replace(finding, where=where)


def _order(dataset: RankingDataset, parts: int) -> Iterator[Finding]:
    """Does the order of the rows within a query give relevance away?"""
    shares = doctor_counts.better_first(dataset.labels, dataset.offsets)
    shares = shares[~np.isnan(shares)]
    if len(shares) < 2:
        return
    mean, low, high, needed = doctor_counts.interval(shares, LEAK, parts)
    severity, verdict = _leak(mean, low, high)
    if len(shares) < LEAST_QUERIES:
        severity, verdict = "info", f"{UNTOLD} from fewer than {LEAST_QUERIES} queries"
    elif verdict == UNTOLD:
        verdict += f"; {counted(needed, 'query')} would show a leak of {percent(LEAK)}"
    adjusted = f", Bonferroni for {parts} parts" if parts > 1 else ""
    message = (
        f"{verdict[:1].upper()}{verdict[1:]}: the better document comes first in "
        f"{percent(mean, 1)} of pairs (95 % CI {percent(low, 1)} to {percent(high, 1)}{adjusted}, "
        f"n = {counted(len(shares), 'query')}; chance 50 %)."
    )
    yield Finding("order-leak", severity, message)


UNTOLD = "a leak of relevance is inconclusive"


def _leak(mean: float, low: float, high: float) -> tuple[Severity, str]:
    """Finding about the file's order from the share of well-ordered pairs and its interval."""
    distance, least = abs(mean - 0.5), max(low - 0.5, 0.5 - high)
    if distance > STRONG_LEAK and least > LEAK:
        return "problem", "the file order reveals relevance"
    if distance > LEAK and least > 0:
        return "warning", "the file order reveals some relevance"
    if max(high - 0.5, 0.5 - low) > STRONG_LEAK:
        return "info", UNTOLD
    return "info", "the file order reveals little or no relevance"


def _columns(dataset: RankingDataset) -> Iterator[Finding]:
    if not dataset.documents:
        return
    low, high, varying = doctor_counts.columns(dataset)
    ids = np.array(dataset.feature_ids, dtype=np.int64)
    size = np.maximum(np.abs(low), np.abs(high))
    huge, top = (size > HUGE) & (size < LARGEST), size[size < LARGEST].max(initial=0)
    grave: Severity = "problem" if top > SQUARED else "warning"
    checks: list[tuple[str, Severity, np.ndarray, str]] = [
        ("constant-features", "info", low == high, "with the same value in every row"),
        ("query-features", "info", (varying == 0) & (low != high), "constant within each query"),
        ("sentinel-features", "warning", size >= LARGEST, "with the largest float32 (no value)"),
        ("huge-features", grave, huge, f"beyond {HUGE:,.0f} (up to {top:.3g})"),
    ]
    for code, severity, affected, words in checks:
        if affected.any():
            affected_ids = ids[affected].tolist()
            subject = where = _in_words("feature", affected_ids)
            if len(affected_ids) > NAMED:
                subject = f"{len(affected_ids):,} of {counted(len(ids), 'feature')}"
            message = f"{subject[:1].upper()}{subject[1:]} {words}."
            finding = Finding(code, severity, message, where)
            if bound := {"huge-features": HUGE, "sentinel-features": LARGEST / 2}.get(code):
                beyond = np.zeros(dataset.documents, dtype=bool)
                for column in np.flatnonzero(affected):
                    beyond |= np.abs(dataset.features[:, column]) > bound
                rows = np.flatnonzero(beyond)
                of = _of_queries(dataset, code, severity, message, _queries_of(dataset, rows))
                message = f"{message[:-1]}; see {of.where}."
                finding = replace(of, where=where, message=message)
            yield finding


def _repeats(dataset: RankingDataset) -> Iterator[Finding]:
    rows, surplus, unlike = doctor_counts.repeated_rows(dataset)
    if len(rows):
        share = len(rows) / dataset.documents
        message = (
            f"{counted(len(rows), 'document')} ({percent(share, 1)}) with the same features as "
            f"another document of the query ({counted(surplus, 'copy')}), {unlike:,} of them with "
            "different labels."
        )
        severity: Severity = "warning" if share > LEAK else "info"
        places = _queries_of(dataset, rows)
        yield _of_queries(dataset, "duplicate-vectors", severity, message, places)


def _documents(dataset: RankingDataset) -> Iterator[Finding]:
    """Documents that occur several times in a query, and queries in their own list."""
    if dataset.doc_ids is None:
        return
    several, own, most = [], [], 1
    for query, (low, high) in enumerate(pairwise(dataset.offsets.tolist())):
        ids = Counter(dataset.doc_ids[row] for row in range(low, high))
        ids.pop("", None)
        if ids and max(ids.values()) > 1:
            several.append(query)
            most = max(most, *ids.values())
        if dataset.query_ids[query] in ids and len(ids) > 1:
            own.append(query)
    for code, places, words in (
        ("repeated-documents", several, f"with a repeated document, up to {most} times"),
        ("query-among-documents", own, "with the query id among the document ids"),
    ):
        if places:
            message = f"{counted(len(places), 'query')} {words}."
            yield _of_queries(dataset, code, "warning", message, places)


def _suspects(parts: Sequence[RankingDataset]) -> Iterator[Finding]:
    """Features that give relevance away, or tell of something else than a document's content."""
    parts = [part for part in parts if part.documents]
    if not parts or not parts[0].feature_ids:
        return
    unlike = sum(
        len(np.unique(part.labels[low:high])) > 1
        for part in parts for low, high in pairwise(part.offsets.tolist())
    )  # fmt: skip
    many, perfect = unlike >= LEAST_QUERIES, np.zeros(len(parts[0].feature_ids), dtype=bool)
    starts = [part.features[:GLANCE] for part in parts]
    whole = np.all([(start == np.rint(start)).all(axis=0) for start in starts], axis=0)
    if many:
        orders = np.array([doctor_counts.perfect_order(part) for part in parts])
        perfect = orders.all(axis=0).any(axis=0) | _of_label(parts)
    place = _holding(parts, whole & ~perfect, _are_places)
    ids = _holding(parts, whole & ~perfect & ~place, _are_identifiers)
    names = parts[0].names
    exposure = np.array([EXPOSURE.fullmatch(name.casefold()) is not None for name in names])
    for code, severity, chosen, words in (
        ("label-feature", "problem", perfect,
         "reveals the label: it orders every list perfectly or is a function of the label"),
        ("place-feature", "warning", place,
         "holds the positions 1 to n of each list, like a logged position"),
        ("identifier-feature", "warning", ids,
         "holds identifiers: a different whole number in each row or query"),
        ("exposure-feature", "warning", exposure & ~perfect & ~place & ~ids,
         "has the name of an exposure column of click logs"),
    ):  # fmt: skip
        for column in np.flatnonzero(chosen)[:NAMED]:
            label = parts[0].feature_label(parts[0].feature_ids[column])
            grave = cast("Severity", severity)
            yield Finding(code, grave, f"Feature {label} {words}.", f"feature {label}")


def _of_label(parts: Sequence[RankingDataset]) -> np.ndarray:
    """Features that have one value for each label and not the same for all."""
    labels = np.concatenate([part.labels for part in parts])
    grades, codes = np.unique(labels, return_inverse=True)
    holds = np.ones(len(parts[0].feature_ids), dtype=bool)
    if len(grades) < 2 or len(grades) > len(labels) / LEAST_QUERIES:
        return ~holds
    for column in range(len(holds)):
        values = np.concatenate([part.features[:, column] for part in parts])
        of_grade = np.empty(len(grades), np.float32)
        of_grade[codes[::-1]] = values[::-1]  # of the first row of each
        holds[column] = (values == of_grade[codes]).all() and (of_grade != of_grade[0]).any()
    return holds


def _holding(
    parts: Sequence[RankingDataset],
    columns: np.ndarray,
    holds: Callable[[np.ndarray, np.ndarray], bool],
) -> np.ndarray:
    """The columns of which a test of values and list bounds holds, over all parts in a row."""
    found = np.zeros_like(columns)
    offsets = ragged.offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
    glance = offsets[: max(int(np.searchsorted(offsets, GLANCE, "right")), LEAST_QUERIES + 1)]
    for column in np.flatnonzero(columns):
        start = np.concatenate([part.features[: glance[-1], column] for part in parts])
        if holds(start[: glance[-1]], glance):
            values = np.concatenate([part.features[:, column] for part in parts])
            found[column] = holds(values, offsets)
    return found


def _are_places(values: np.ndarray, offsets: np.ndarray) -> bool:
    """Each list holds the numbers from 0 or 1 on, in whatever order; lists of one tell nothing."""
    lengths = np.diff(offsets)
    ordered = values[ragged.order_within(offsets, values)]
    places, long = ragged.places_of(offsets), np.repeat(lengths > 1, lengths)
    several = len(lengths) >= LEAST_QUERIES and bool((lengths > 1).sum() >= LEAST_QUERIES)
    return several and any(np.array_equal(ordered[long], places[long] + first) for first in (0, 1))


def _are_identifiers(values: np.ndarray, offsets: np.ndarray) -> bool:
    """Whole numbers, each row another one, or each query another one that all its rows have."""
    if (values != np.rint(values)).any():
        return False
    lengths = np.diff(offsets)
    filled = lengths > 0
    if filled.sum() < LEAST_QUERIES:
        return False
    firsts = values[offsets[:-1][filled]]
    by_query = np.array_equal(values, np.repeat(firsts, lengths[filled]))
    by_query &= len(np.unique(firsts)) == len(firsts)
    return by_query or len(np.unique(values)) == len(values)
