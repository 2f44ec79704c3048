"""Measures of relevance of many lists in one call over ragged arrays.

Every list is sorted once for all measures. Values do not depend on the input order: ties are
averaged, or ordered by data set row or document id (as in trec_eval: bytewise, the last id first).
Negative labels (TREC's junk) have no gain and are not relevant. As in trec_eval, AP and R divide by
all relevant documents at any cut-off, and P by the cut-off even for shorter lists.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64, UInt64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import sort_within
from shuffleproof.core.errors import DataError, ShapeError
from shuffleproof.core.metrics import blocks, user_measures
from shuffleproof.core.metrics.measure import EMPTY_VALUES, Measure


class DocumentOrder(NamedTuple):
    """Rows of every query sorted by falling document id.

    Attributes:
        rows: data set row at each place.
        places: place of each data set row.
    """

    rows: Int64[np.ndarray, " docs"]
    places: Int64[np.ndarray, " docs"]


_KNOWN: WeakKeyDictionary[RankingDataset, DocumentOrder] = WeakKeyDictionary()
"""Orders by data set; an entry lives as long as its data set."""


def document_order(dataset: RankingDataset) -> DocumentOrder:
    """trec_eval's order of tied documents; equal ids are ordered by row.

    Raises:
        DataError: a document has no id.

    >>> from shuffleproof.core.data.text import TextColumn
    >>> none, two = np.zeros((2, 0), np.float32), np.array([0, 2])
    >>> names = TextColumn.of(["a", "b"])
    >>> dataset = RankingDataset(none, np.zeros(2, np.float32), two, ("1",), (), names)
    >>> document_order(dataset).rows.tolist()
    [1, 0]
    """
    cached = _KNOWN.get(dataset)
    if cached is not None:
        return cached
    ids = dataset.doc_ids
    nameless = dataset.documents if ids is None else int((ids.starts == ids.ends).sum())
    if ids is None or nameless:
        finding = (
            f"{nameless:,} of {dataset.documents:,} have no id, by which ties=trec orders them"
        )
        raise DataError("documents", finding, "Take ties=averaged or ties=row.")
    blob = ids.blob.tobytes()
    names = [blob[start:end] for start, end in zip(ids.starts, ids.ends, strict=True)]
    rows = np.empty(dataset.documents, dtype=np.int64)
    for start, stop in itertools.pairwise(dataset.offsets.tolist()):
        rows[start:stop] = sorted(range(start, stop), key=names.__getitem__, reverse=True)
    places = np.empty_like(rows)
    places[rows] = np.arange(len(rows))
    order = _KNOWN[dataset] = DocumentOrder(rows, places)
    return order


LEAST_OF_GEOMETRIC = 1e-5
"""Least value in a geometric mean (trec_eval's MIN_GEO_MEAN)."""

LARGEST_GRADE = 1023
"""Largest grade whose gain 2^y − 1 is finite in double precision."""

LARGEST_SUM = 120
"""Largest grade whose sums of gains are finite in single precision."""


def evaluate(
    measures: Sequence[Measure],
    dataset: RankingDataset,
    lists: CandidateLists,
    scores: Float32[np.ndarray, " candidates"],
) -> Float32[np.ndarray, "measures lists"]:
    """Value of every measure for every list, ranked by falling score.

    A list without relevant documents (among those that `ideal` names) gets the value of the
    measure's `empty`: NaN for skip and nan.

    Args:
        measures: measures to compute.
        dataset: data set with the labels.
        lists: candidate lists.
        scores: one per candidate, in the order of `lists.rows`; may be infinite.

    Raises:
        ShapeError: not one score per candidate, or a candidate belongs to another query.
        DataError: a score is NaN, a grade is above ERR's `top_grade`, or ties are ordered by
            document ids that the data does not have.

    >>> grades, bounds = np.array([0, 1, 2], np.float32), np.array([0, 3])
    >>> judged = RankingDataset(np.zeros((3, 0), np.float32), grades, bounds, ("1",), ())
    >>> lists = CandidateLists.all_documents(judged)
    >>> measures = [Measure.parse(text) for text in ("NDCG", "DCG@1", "RR", "AP", "R@1")]
    >>> print(evaluate(measures, judged, lists, np.array([3, 2, 1], np.float32)).T.round(4))
    [[0.5869 0.     0.5    0.5833 0.    ]]
    >>> print(evaluate(measures, judged, lists, np.zeros(3, np.float32)).T.round(4))
    [[0.7825 1.3333 0.8333 0.8056 0.3333]]
    """
    return evaluate_many(measures, dataset, [(lists, scores)])[0]


def evaluate_many(
    measures: Sequence[Measure],
    dataset: RankingDataset,
    runs: Sequence[tuple[CandidateLists, Float32[np.ndarray, " _"]]],
) -> Float32[np.ndarray, "runs measures lists"]:
    """`evaluate` for many runs over the same queries; shared values are computed once.

    Raises:
        ShapeError: the runs have different queries, or not one score per candidate.
        DataError: as in `evaluate`.
    """
    if not runs:
        return np.empty((0, len(measures), 0), dtype=np.float32)
    queries = runs[0][0].queries
    values = np.empty((len(runs), len(measures), len(queries)), dtype=np.float32)
    if not measures:
        return values
    for run, (lists, _) in enumerate(runs):
        if not np.array_equal(lists.queries, queries):
            raise ShapeError("runs", f"run {run} answers other queries", "the same in every run")
    functions = np.array([measure.is_function for measure in measures])
    if functions.any():
        in_kernels = [measure for measure in measures if not measure.is_function]
        values[:, ~functions] = evaluate_many(in_kernels, dataset, runs)
        values[:, functions] = _of_functions(measures, dataset, runs)
        return values
    _check_grades(measures, dataset)
    codes = _codes(measures)
    discounts = _discounts(measures, dataset, [lists for lists, _ in runs])
    starts, stops = dataset.offsets[queries], dataset.offsets[queries + 1]
    normalisers = np.empty((len(measures), len(queries)))
    over_shown = np.array([measure.ideal == "shown" for measure in measures])
    # Judged ideals do not depend on the run: once for all runs
    normalisers[~over_shown] = blocks.normalised_by(
        codes[~over_shown], dataset.labels, starts, stops, discounts
    )
    blanks = np.array([EMPTY_VALUES[measure.empty] for measure in measures], dtype=np.float32)
    by_name = np.array([measure.ties == "trec" for measure in measures])
    for run, (lists, scores) in enumerate(runs):
        if over_shown.any():
            labels, bounds = dataset.labels[lists.rows], lists.offsets
            normalisers[over_shown] = blocks.normalised_by(
                codes[over_shown], labels, bounds[:-1], bounds[1:], discounts
            )
        measured = np.empty_like(values[run])
        for selected in (~by_name, by_name):
            if selected.any():
                order = document_order(dataset) if selected is by_name else None
                chosen = codes[selected]
                depth = int(chosen[:, blocks.CUTOFF].max())
                ranked = _ranked(dataset, (lists, scores), (starts, stops), order, depth)
                is_plain = (chosen[:, blocks.KIND] == blocks.GAINED).all()
                room = None if is_plain else np.empty(int(lists.lengths.max(initial=0)) + 1)
                measured[selected] = blocks.measure_blocks(
                    chosen, *ranked, normalisers[selected], discounts, room
                )
        # Normalisers are exactly 0 where a list has no relevant document
        values[run] = np.where(normalisers == 0.0, blanks[:, None], measured)
    return values


def plain_ndcg(
    dataset: RankingDataset,
    lists: CandidateLists,
    scores: Float32[np.ndarray, " candidates"],
    cutoff: int,
) -> Float32[np.ndarray, " lists"]:
    """NDCG(empty=skip) at a cutoff, as `evaluate` has it, by NumPy alone: it compiles nothing.

    For a few values in a command that would otherwise wait for Numba.

    Raises:
        DataError: a score is NaN, or a grade is too large.

    >>> grades, bounds = np.array([0, 1, 2], np.float32), np.array([0, 3])
    >>> judged = RankingDataset(np.zeros((3, 0), np.float32), grades, bounds, ("1",), ())
    >>> lists = CandidateLists.all_documents(judged)
    >>> plain_ndcg(judged, lists, np.array([3, 2, 1], np.float32), 3).round(4)
    array([0.5869], dtype=float32)
    """
    _check_grades([Measure("NDCG", cutoff)], dataset)
    if unknown := int(np.isnan(scores).sum()):
        raise _nan_error(unknown, len(scores))
    discounts = _discounts([], dataset, [lists])[_LOG2]
    judged = ragged.elements_of(dataset.offsets, lists.queries)
    bounds = ragged.offsets_of(np.diff(dataset.offsets)[lists.queries])
    ideal_labels, labels = dataset.labels[judged], dataset.labels[lists.rows]
    ideal = _gained(bounds, ideal_labels, ideal_labels, discounts, cutoff)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _gained(lists.offsets, scores, labels, discounts, cutoff) / ideal
    return np.where(ideal > 0, values, np.nan).astype(np.float32)


def _gained(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " documents"],
    labels: Float32[np.ndarray, " documents"],
    discounts: Float64[np.ndarray, " places"],
    cutoff: int,
) -> Float64[np.ndarray, " lists"]:
    """Expected DCG of each list; every sum is in the order of `blocks`, and so has its bits."""
    owner = ragged.segment_ids(offsets)
    # By label within a block, so that rounding does not depend on the order of rows
    order = np.lexsort((labels, -scores, owner))
    gains = np.exp2(np.maximum(labels[order], 0).astype(np.float64)) - 1.0
    first = np.flatnonzero(
        ragged.places_of(offsets) == ragged.blocks_of(offsets, scores, order)[order]
    )
    sizes = np.diff(np.append(first, len(order)))
    block = np.repeat(np.arange(len(first)), sizes)
    mean = np.bincount(block, weights=gains, minlength=len(first)) / np.maximum(sizes, 1)
    start = ragged.places_of(offsets)[first]
    end = np.minimum(start + sizes, cutoff)
    weight = discounts[end] - discounts[np.minimum(start, end)]
    total = np.bincount(owner[first], weights=mean * weight, minlength=len(offsets) - 1)
    return total.astype(np.float64, copy=False)  # of no rows, `bincount` returns integers


def _of_functions(
    measures: Sequence[Measure],
    dataset: RankingDataset,
    runs: Sequence[tuple[CandidateLists, Float32[np.ndarray, " _"]]],
) -> Float32[np.ndarray, "runs chosen lists"]:
    """Values of the measures that are functions of one ranked list."""
    chosen = [measure for measure in measures if measure.is_function]
    queries = runs[0][0].queries
    spans = dataset.offsets[queries], dataset.offsets[queries + 1]
    names = [dataset.query_ids[query] for query in queries]
    values = np.empty((len(runs), len(chosen), len(queries)), dtype=np.float32)
    for place, measure in enumerate(chosen):
        evaluator = user_measures.EvaluatedMeasure(measure)
        order = document_order(dataset) if measure.ties == "trec" else None
        for at, run in enumerate(runs):
            values[at, place] = evaluator.values(*_ranked(dataset, run, spans, order), names)
    return values


def convert_empty(
    values: Float32[np.ndarray, " lists"], without: Bool[np.ndarray, " lists"], empty: str
) -> Float32[np.ndarray, " lists"]:
    """Values under another convention for lists without relevant documents, from stored values.

    >>> convert_empty(np.array([0.5, 0.0], np.float32), np.array([False, True]), "one").tolist()
    [0.5, 1.0]
    """
    return np.where(without, np.float32(EMPTY_VALUES[empty]), values).astype(np.float32)


def mean_of(measure: Measure, values: Float32[np.ndarray, " lists"]) -> float:
    """Mean over lists; `empty=skip` leaves NaN out; NaN if no value is left.

    Counts are summed; GMAP and GMBpref have a geometric mean (`over_queries`).

    >>> values = np.array([0.5, np.nan], np.float32)
    >>> mean_of(Measure("NDCG", empty="skip"), values), mean_of(Measure("NDCG"), values)
    (0.5, nan)
    >>> mean_of(Measure("NumRet"), np.array([3, 4], np.float32))
    7.0
    """
    counted = values[~np.isnan(values)] if measure.skips else values
    if not len(counted):
        return float("nan")
    if measure.entry.over_queries == "sum":
        return float(counted.sum(dtype=np.float64))
    if measure.entry.over_queries == "geometric":
        # Values of 0 would make every geometric mean 0
        logs = np.log(np.maximum(counted.astype(np.float64), LEAST_OF_GEOMETRIC))
        return float(np.exp(logs.mean()))
    # Float64: a float32 sum over thousands of queries loses digits
    return float(counted.mean(dtype=np.float64))


def _codes(measures: Sequence[Measure]) -> Int64[np.ndarray, "measures columns"]:
    """Table of the measures for the kernels; `core.metrics.blocks` names its columns."""
    rows = []
    for measure in measures:
        kernel = measure.entry.kernel
        if kernel is None:
            raise ValueError(f"{measure} is computed by a function")
        gain = blocks.EXP2 if measure.gain == "exp2" else blocks.LINEAR
        row = (
            blocks.KINDS.index(kernel.kind),
            gain if kernel.gain == "grade" else blocks.BINARY,
            blocks.DIVISORS.index(kernel.divisor),
            blocks.WHOLE if measure.cutoff is None else measure.cutoff,
            _FLAT if kernel.flat else _discount(measure, measures),
            measure.ties == "averaged",
            0 if kernel.gain == "judged" else measure.relevant,
            measure.top_grade,
            measure.ideal == "shown",
            measure.short == "zero",
        )
        rows.append(row)
    return np.array(rows, dtype=np.int64)


_LOG2, _LETOR, _FLAT, _OTHERS = range(4)
"""Rows of `_discounts`; the persistences start at `_OTHERS`."""


def _persistences(measures: Sequence[Measure]) -> list[float]:
    return sorted({measure.p for measure in measures if "p" in measure.entry.conventions})


def _discount(measure: Measure, measures: Sequence[Measure]) -> int:
    """Row of `_discounts` for one of these measures."""
    if "p" in measure.entry.conventions:
        return _OTHERS + _persistences(measures).index(measure.p)
    return _LETOR if measure.discount == "letor" else _LOG2


def _discounts(
    measures: Sequence[Measure], dataset: RankingDataset, lists: Sequence[CandidateLists]
) -> Float64[np.ndarray, "kinds bounds"]:
    """Sums of the first 0, 1, 2, … discounts, one row per kind.

    Kinds: log2, LETOR 3.0's (1, 1, 1/log2 3, …), 1 everywhere, and persistences, (1 − p) p^i.
    """
    lengths = [np.diff(dataset.offsets), *(run.lengths for run in lists)]
    longest = max(int(length.max(initial=0)) for length in lengths)
    log2 = 1.0 / np.log2(np.arange(2, longest + 2))
    letor = np.concatenate([[1.0], log2])[:longest]
    sums = [np.concatenate([[0.0], np.cumsum(kind)]) for kind in (log2, letor, np.ones(longest))]
    # The sum of (1 − p) p^i over i < n is 1 − p^n.
    return np.stack([*sums, *(1.0 - p ** np.arange(longest + 1) for p in _persistences(measures))])


_Spans: TypeAlias = tuple[Int64[np.ndarray, " lists"], Int64[np.ndarray, " lists"]]
"""First data set row of each list's query, and one past its last."""


def _ranked(
    dataset: RankingDataset,
    run: tuple[CandidateLists, Float32[np.ndarray, " _"]],
    spans: _Spans,
    order: DocumentOrder | None,
    depth: int = blocks.WHOLE,
) -> tuple[Any, Any]:
    """Sorted lists and judged labels for `blocks.measure_blocks`, ties by row or by `order`.

    Lists are not sorted below the tied block at place `depth`, since no measure reads further.
    """
    lists, scores = run
    rows = lists.rows if order is None else order.places[lists.rows]
    labels = dataset.labels if order is None else dataset.labels[order.rows]
    keys = _sorted_keys(lists.offsets, rows, scores, spans, depth)
    return (lists.offsets, keys), (labels, *spans)


def _sorted_keys(
    offsets: Int64[np.ndarray, " bounds"],
    rows: Int64[np.ndarray, " candidates"],
    scores: Float32[np.ndarray, " _"],
    spans: _Spans,
    depth: int,
) -> UInt64[np.ndarray, " candidates"]:
    if len(scores) != len(rows):
        raise ShapeError("scores", f"{len(scores)}", f"{len(rows)}, one a candidate")
    # Sorting 64-bit integers is faster than an argsort of floats, and breaks ties by row
    bits = np.ascontiguousarray(scores).view(np.uint32)
    keys, unknown, outside = blocks.sort_keys(bits, rows, offsets, *spans)
    if unknown:
        raise _nan_error(unknown, len(scores))
    if outside:
        raise ShapeError("lists", "candidates of another query", "rows of each list's own query")
    sort_within(offsets, keys, depth)
    # Only the first `depth` are sorted, but a tied block must be complete
    deeper = np.flatnonzero(np.diff(offsets) > depth)
    last = offsets[deeper] + depth - 1
    for index in deeper[keys[last] >> blocks.ROW_BITS == keys[last + 1] >> blocks.ROW_BITS]:
        # a tied block crosses place `depth`: sort it whole
        keys[offsets[index] : offsets[index + 1]].sort()
    return keys


def _nan_error(unknown: int, scores: int) -> DataError:
    remedy = "A ranking needs numbers: mend or replace the ranker."
    return DataError("scores", f"{unknown} of {scores} are NaN", remedy)


def _check_grades(measures: Sequence[Measure], dataset: RankingDataset) -> None:
    """Check grades against a measure's top grade and the range of the gain 2^y − 1."""
    largest = float(dataset.labels.max(initial=0))
    for measure in measures:
        entry = measure.entry
        exponential = measure.gain == "exp2" and {"gain", "top_grade"} & set(entry.conventions)
        bound = LARGEST_SUM if measure.name == "DCG" else LARGEST_GRADE
        if exponential and largest > bound:
            finding = f"grade {largest:,g}, whose gain 2^{largest:g} − 1 is too large for {measure}"
            remedy = "Use grades like 0, 1, 2, …"
            if "gain" in entry.conventions:
                remedy = f"Measure with gain=linear: {measure.under(gain='linear')}."
            raise DataError("labels", finding, remedy)
    tops = {m.top_grade: m.name for m in measures if "top_grade" in m.entry.conventions}
    highest = float(dataset.labels.max(initial=0)) if tops else 0.0
    if tops and highest > min(tops):
        top, name = min(tops.items())
        remedy = f"Say which grade is the highest: {name}(top_grade={int(np.ceil(highest))})."
        raise DataError("labels", f"grade {highest:g} is above {name}'s top grade {top}", remedy)
