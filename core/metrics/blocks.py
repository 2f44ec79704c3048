"""Measures of ranked lists with tied blocks: expected values over all orders of each block.

A ranked list consists of labels in ranked order and of block bounds. The order inside a block is
random; blocks of one document give the ordinary measure. With s documents before a block of n, and
a cut-off k, the expectation is exact, without sampling:

* Sums of gain times discount (DCG, P, R, RBP, Judged). Every document of a block is at each of its
  positions with probability 1/n (McSherry & Najork 2008, "Computing information retrieval
  performance measures efficiently in the presence of tied scores").
* AP, RR, ERR and Bpref: the formulas are next to their loops.

Every function here is compiled and calls only functions of this file (a cached compilation does
not notice changes of a function in another file).
"""

from typing import no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled

KINDS = ("gained", "mean", "err", "ap", "rr", "bpref")
"""Ways to compute a measure: the sum of gain times discount, or a special function."""
GAINED, MEAN, ERR, AP, RR, BPREF = range(6)
DIVISORS = ("", "possible", "cutoff", "above", "highest")
"""Divisors of a value: none, the query's maximum, the cut-off, the number of documents above the
cut-off, the highest gain."""
_NOTHING, _POSSIBLE, _CUTOFF, _ABOVE, _HIGHEST = range(5)
LINEAR, EXP2, BINARY = range(3)  # gains; binary: 1 from the lowest relevant grade on
# Columns of the table that describes measures to the kernels, one row a measure.
KIND, GAIN, DIVISOR, CUTOFF, DISCOUNT, AVERAGED, RELEVANT, TOP, SHOWN, SHORT = range(10)
WHOLE = 2**62  # the cut-off of a measure of the whole list
GRADES = 64  # whole grades below this are counted, others sorted
_EXP2_GAIN = np.exp2(np.arange(GRADES, dtype=np.float64)) - 1.0
ROW_BITS = np.uint64(32)
_ROW_MASK = np.uint64(0xFFFFFFFF)
_SIGN_PLACE, _ONE = np.uint64(31), np.uint64(1)
_ZERO = np.float32(0)  # the labels' type: a wider one would halve the SIMD lanes
_REST = np.uint64(0x7FFFFFFF)
_NO_BITS, _MINUS_ZERO, _INFINITE = np.uint64(0), np.uint64(0x80000000), np.uint64(0x7F800000)

# `no_type_check`: jaxtyping's import hook wraps what it checks; numba takes no wrapped function.


@no_type_check
@compiled()
def sort_keys(
    bits: np.ndarray, rows: np.ndarray, offsets: np.ndarray, starts: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """One u64 key per candidate, whose ascending order is: falling score, then data set row.

    0 and −0 are equal scores. The loop has no branches, so that SIMD handles eight candidates.

    Args:
        bits: the scores' float32 bit patterns as u32.
        rows: data set row of each candidate.
        offsets: bounds of the lists.
        starts: first data set row of each list's query.
        stops: one past the last.

    Returns:
        Keys, number of NaN scores, number of rows outside their list's query.
    """
    keys, unknown, outside = np.empty(len(bits), dtype=np.uint64), 0, 0
    for index in range(len(starts)):
        start, size = starts[index], np.uint64(stops[index] - starts[index])
        inside = slice(offsets[index], offsets[index + 1])
        list_bits, list_rows, list_keys = bits[inside], rows[inside], keys[inside]
        for i in range(len(list_keys)):
            score, place = np.uint64(list_bits[i]), np.uint64(list_rows[i] - start)
            score = _NO_BITS if score == _MINUS_ZERO else score
            unknown += (score & _REST) > _INFINITE
            outside += place >= size  # also a row before the first: it wraps around
            # As scores fall, bits of negative floats rise; those of positive ones are inverted.
            falling = score ^ (_REST & ((score >> _SIGN_PLACE) - _ONE))
            list_keys[i] = (falling << ROW_BITS) | place
    return keys, unknown, outside


@no_type_check
@compiled()
def _gain(label: float, gain: int, relevant: float) -> float:
    if gain == BINARY:
        return 1.0 if label >= relevant else 0.0
    label = max(label, 0.0)  # not a branch: it would often be mispredicted
    if gain == LINEAR:
        return label
    grade = int(label)
    if grade == label and grade < GRADES:
        return _EXP2_GAIN[grade]
    return 2.0**label - 1.0


@no_type_check
@compiled()
def _gained(
    labels: np.ndarray, bounds: np.ndarray, code: np.ndarray, discounts: np.ndarray
) -> float:
    """Expected sum of gain times discount above the cut-off."""
    total, cutoff, gain, relevant = 0.0, code[CUTOFF], code[GAIN], code[RELEVANT]
    if bounds[-1] == len(bounds) - 1:  # no ties
        for i in range(min(bounds[-1], cutoff)):
            total += _gain(labels[i], gain, relevant) * (discounts[i + 1] - discounts[i])
        return total
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        if start >= cutoff:
            break
        gains = 0.0
        for i in range(start, end):
            gains += _gain(labels[i], gain, relevant)
        if end - start > 1:
            gains /= end - start  # expected gain at every position of the block
        # `discounts` are prefix sums: their difference is the sum over the block's positions
        total += gains * (discounts[min(end, cutoff)] - discounts[start])
    return total


@no_type_check
@compiled()
def _precisions(labels: np.ndarray, bounds: np.ndarray, cutoff: int, relevant: float) -> float:
    """Expected sum of the precisions at the relevant documents (AP before its division)."""
    total, before = 0.0, 0
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        if start >= cutoff:
            break
        size, count = end - start, 0
        for i in range(start, end):
            count += labels[i] >= relevant
        if count:
            # Offset j holds a relevant document with probability r/n; then j(r − 1)/(n − 1) of the
            # others of the block are expected above it (McSherry & Najork 2008)
            slope = (count - 1) / (size - 1) if size > 1 else 0.0
            for j in range(min(end, cutoff) - start):
                total += count / size * (before + 1 + j * slope) / (start + j + 1)
        before += count
    return total


@no_type_check
@compiled()
def _reciprocal(labels: np.ndarray, bounds: np.ndarray, cutoff: int, relevant: float) -> float:
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        if start >= cutoff:
            break
        size, count = end - start, 0
        for i in range(start, end):
            count += labels[i] >= relevant
        if count:
            total, none_yet = 0.0, 1.0
            # P(no relevant one in the first j places) = Π (n − r − i)/(n − i), i < j; the first
            # relevant one is at offset n − r at the latest
            for j in range(min(end, cutoff, end - count + 1) - start):
                total += none_yet * count / (size - j) / (start + j + 1)
                none_yet *= (size - count - j) / (size - j)
            return total
    return 0.0


@no_type_check
@compiled()
def _cascade(
    labels: np.ndarray, bounds: np.ndarray, cutoff: int, top: float, means: np.ndarray
) -> float:
    """Expected ERR; `means` is a buffer of one number more than the longest list's documents."""
    # R = (2^y − 1)/2^top (Chapelle et al. 2009): times 2^−top, no division
    total, unsatisfied, scale = 0.0, 1.0, 2.0**-top
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        if start >= cutoff:
            break
        size, places = end - start, min(end, cutoff) - start
        # means[j]: mean over all j-subsets of Π (1 − R). One more document t changes it to
        # ((t − j) m_j + j (1 − R_t) m_{j−1}) / t, so a block costs O(n · places)
        means[0] = 1.0
        means[1 : places + 1] = 0.0
        for t in range(1, size + 1):
            missed = 1.0 - _gain(labels[start + t - 1], EXP2, 0.0) * scale
            for j in range(min(t, places), 0, -1):  # downwards: means[j − 1] is still of t − 1
                means[j] = ((t - j) * means[j] + j * missed * means[j - 1]) / t
        for j in range(places):
            # E[Π (1 − R) of the first j · R of the next] = m_j − m_{j+1}
            total += unsatisfied * (means[j] - means[j + 1]) / (start + j + 1)
        unsatisfied *= means[places]
    return total


@no_type_check
@compiled()
def _mean_ndcg(
    labels: np.ndarray, bounds: np.ndarray, code: np.ndarray, ideal: np.ndarray, sums: np.ndarray
) -> float:
    """Mean of NDCG@1, NDCG@2, … over the ranked positions; `ideal` are falling labels."""
    total, gained, best = 0.0, 0.0, 0.0
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        gains = 0.0
        for i in range(start, end):
            gains += _gain(labels[i], code[GAIN], 0.0)
        for i in range(start, min(end, code[CUTOFF])):
            discount = sums[i + 1] - sums[i]
            gained += gains / (end - start) * discount
            if i < len(ideal):
                best += _gain(ideal[i], code[GAIN], 0.0) * discount
            # Both DCGs are running sums: the mean over all cut-offs is one pass
            total += gained / best
    return total / max(min(bounds[-1], code[CUTOFF]), 1)


@no_type_check
@compiled()
def _preferred(
    labels: np.ndarray, bounds: np.ndarray, code: np.ndarray, counts: np.ndarray, room: np.ndarray
) -> float:
    """Expected bpref; `room` is a buffer as in `_cascade`.

    `counts` are the numbers of relevant documents and of judged nonrelevant ones.
    """
    # trec_eval: at most R nonrelevant documents count, divided by min(R, N)
    relevant_count, total, before, least = counts[0], 0.0, 0, max(min(counts[0], counts[1]), 1)
    for block in range(len(bounds) - 1):
        start, end = bounds[block], bounds[block + 1]
        if start >= code[CUTOFF]:
            break
        count, wrong = 0, 0
        for i in range(start, end):
            count += labels[i] >= code[RELEVANT]
            wrong += 0 <= labels[i] < code[RELEVANT]
        size = end - start
        if count and end <= code[CUTOFF]:
            # 0 … n nonrelevant ones of the block are above a relevant one, equally likely
            for above in range(wrong + 1):
                total += count / (wrong + 1) * (1.0 - min(before + above, relevant_count) / least)
        elif count:  # room[h]: hypergeometric chance of h nonrelevant ones before offset j
            room[0] = 1.0
            room[1 : wrong + 1] = 0.0
            for j in range(code[CUTOFF] - start):
                remaining = size - 1 - j
                for above in range(min(j, wrong) + 1):
                    preference = 1.0 - min(before + above, relevant_count) / least
                    total += count / size * room[above] * preference
                # One draw more without replacement; downwards, as room[above − 1]
                # must still be that of j draws
                for above in range(min(j + 1, wrong), -1, -1):
                    from_wrong = room[above - 1] * (wrong - above + 1) / remaining if above else 0.0
                    room[above] = room[above] * (remaining - wrong + above) / remaining + from_wrong
        before += wrong
    return total / relevant_count


@no_type_check
@compiled()
def _not_relevant(judged: np.ndarray, keys: np.ndarray, over_shown: int, relevant: float) -> int:
    """Number of judged nonrelevant documents: of the query, or of the list."""
    count = 0
    if not over_shown:
        for label in judged:
            count += 0 <= label < relevant
        return count
    for key in keys:
        count += 0 <= judged[np.int64(key & _ROW_MASK)] < relevant
    return count


@no_type_check
@compiled()
def _sort_rising(values: np.ndarray) -> None:
    """Sort labels in place by Shell's method: Numba's own sort takes a second to compile."""
    gap = len(values)
    while gap > 1:
        # Gaps shrink by 5/11 (Gonnet & Baeza-Yates 1991)
        gap = max(gap * 5 // 11, 1)
        for i in range(gap, len(values)):
            value, place = values[i], i
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value


@no_type_check
@compiled()
def _falling(judged: np.ndarray, keys: np.ndarray, shown: int) -> np.ndarray:
    """Labels of the ideal ranking: of all judged documents, or of the list's."""
    labels = np.empty(len(keys) if shown else len(judged))
    for i in range(len(labels)):
        labels[i] = judged[np.int64(keys[i] & _ROW_MASK) if shown else i]
    _sort_rising(labels)
    return labels[::-1]


@no_type_check
@compiled()
def _prefix(
    keys: np.ndarray, judged: np.ndarray, depth: int, labels: np.ndarray, bounds: np.ndarray
) -> int:
    """Fill in labels and block bounds down to the block with place `depth`; return their number.

    `labels[0]` has ties by row; `labels[1]` is sorted within each block, so that rounding does not
    depend on the order of the rows.
    """
    blocks, i = 0, 0
    bounds[0] = 0
    while i < min(len(keys), depth):
        start, score = i, keys[i] >> ROW_BITS
        while i < len(keys) and keys[i] >> ROW_BITS == score:
            labels[0, i] = labels[1, i] = judged[np.int64(keys[i] & _ROW_MASK)]
            i += 1
        if i - start > 1:
            _sort_rising(labels[1, start:i])
        blocks += 1
        bounds[blocks] = i
    return blocks


@no_type_check
@compiled()
def _value(
    code: np.ndarray,
    ranked: tuple[np.ndarray, np.ndarray],
    query: tuple[np.ndarray, np.ndarray, float],
    discounts: np.ndarray,
    room: np.ndarray,
) -> float:
    """One measure of one list, before the division by the query's maximum.

    `query`: judged labels, keys of the list, number of relevant documents.
    """
    (labels, bounds), (judged, keys, relevant_count) = ranked, query
    kind, cutoff = code[KIND], code[CUTOFF]
    if kind == MEAN:
        ideal = _falling(judged, keys, code[SHOWN])
        return _mean_ndcg(labels, bounds, code, ideal, discounts[code[DISCOUNT]])
    if kind == BPREF:
        counts = np.empty(2, np.int64)
        counts[0] = relevant_count
        counts[1] = _not_relevant(judged, keys, code[SHOWN], code[RELEVANT])
        return _preferred(labels, bounds, code, counts, room)
    if kind == ERR:
        return _cascade(labels, bounds, cutoff, code[TOP], room)
    if kind == AP:
        return _precisions(labels, bounds, cutoff, code[RELEVANT])
    return _reciprocal(labels, bounds, cutoff, code[RELEVANT])


@no_type_check
@compiled()
def measure_blocks(  # noqa: C901, PLR0913, PLR0917 (numba: positional, inline)
    codes: np.ndarray,
    lists: tuple[np.ndarray, np.ndarray],
    judged: tuple[np.ndarray, np.ndarray, np.ndarray],
    normalisers: np.ndarray,
    discounts: np.ndarray,
    room: np.ndarray | None,
) -> np.ndarray:
    """Value of every measure for every list; 0 if the list's normaliser is 0.

    Args:
        codes: i64[measures, columns], the columns named above.
        lists: bounds of the lists; u64[candidates] from `sort_keys`, sorted within each list.
        judged: f32[docs] labels; first data set row, and one past the last, of each list's query.
        normalisers: f64[measures, lists] from `normalised_by`.
        discounts: f64[kinds, positions + 1], sums of the first discounts of each kind.
        room: f64[longest list + 1]; None if all measures are GAINED, so that only these compile.

    Returns:
        f32[measures, lists].
    """
    (offsets, keys), (labels, starts, stops) = lists, judged
    longest, depth = 0, 0
    for m in range(len(codes)):
        depth = max(depth, codes[m, CUTOFF])
    for index in range(len(starts)):
        longest = max(longest, offsets[index + 1] - offsets[index])
    ranked, bounds = np.empty((2, longest)), np.empty(longest + 1, dtype=np.int64)
    single = np.arange(longest + 1)
    values = np.zeros((len(codes), len(starts)), dtype=np.float32)
    for index in range(len(starts)):
        inside = keys[offsets[index] : offsets[index + 1]]
        blocks = _prefix(inside, labels[starts[index] : stops[index]], depth, ranked, bounds)
        for m in range(len(codes)):
            code, normaliser = codes[m], normalisers[m, index]
            # Left at 0: the caller fills in what `empty` says
            if normaliser == 0.0 or (code[SHORT] and len(inside) < code[CUTOFF] < WHOLE):
                continue
            # Not averaged: blocks of one document, labels ordered by row
            ends = bounds[: blocks + 1] if code[AVERAGED] else single[: bounds[blocks] + 1]
            row = ranked[code[AVERAGED]]
            value = 0.0
            if code[KIND] == GAINED:
                value = _gained(row, ends, code, discounts[code[DISCOUNT]])
            elif room is not None:
                query = labels[starts[index] : stops[index]], inside, normaliser
                value = _value(code, (row, ends), query, discounts, room)
            if code[DIVISOR] == _POSSIBLE:
                value /= normaliser
            elif code[DIVISOR] == _CUTOFF and code[CUTOFF] < WHOLE:
                value /= code[CUTOFF]
            elif code[DIVISOR] in (_CUTOFF, _ABOVE):
                value /= max(min(code[CUTOFF], len(inside)), 1)
            elif code[DIVISOR] == _HIGHEST:
                value /= 2.0 ** code[TOP] if code[GAIN] == EXP2 else code[TOP]
            values[m, index] = value
    return values


@no_type_check
@compiled()
def _counted(labels: np.ndarray, counts: np.ndarray) -> int:
    """Count grades into row 0; return the highest, or −1 if a label is no whole grade < GRADES.

    Only places up to the highest grade are written. Documents alternate between four rows, because
    successive increments of one count (most documents share a grade) would wait for each other.
    """
    whole, highest = True, 0
    for i in range(len(labels)):
        label = max(labels[i], _ZERO)
        grade = np.int32(label)
        whole &= (np.float32(grade) == label) & (grade < GRADES)
        highest = max(highest, grade)
    if not whole:
        return -1
    for grade in range(highest + 1):
        counts[:, grade] = 0
    for i in range(len(labels)):
        counts[i & 3, np.uint32(max(labels[i], _ZERO))] += 1
    for grade in range(highest + 1):
        counts[0, grade] += counts[1, grade] + counts[2, grade] + counts[3, grade]
    return highest


@no_type_check
@compiled()
def _ideal(code: np.ndarray, counts: np.ndarray, highest: int, discounts: np.ndarray) -> float:
    total, place, cutoff = 0.0, 0, code[CUTOFF]
    for grade in range(highest, 0, -1):
        if place >= cutoff:
            break
        end = place + counts[grade]
        # Documents of a grade are a run of the ideal ranking: prefix sums give their discounts
        total += _gain(grade, code[GAIN], 0.0) * (discounts[min(end, cutoff)] - discounts[place])
        place = end
    return total


@no_type_check
@compiled()
def normalised_by(
    codes: np.ndarray,
    labels: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    discounts: np.ndarray,
) -> np.ndarray:
    """Maximum of each measure for each list: ideal DCG, or number of relevant documents.

    Args:
        codes: i64[measures, columns], the columns named above.
        labels: labels, those of list i from `starts[i]` to `stops[i]`.
        starts: i64[lists].
        stops: i64[lists].
        discounts: f64[kinds, positions + 1].

    Returns:
        f64[measures, lists]; 0 exactly where a list has no relevant document.
    """
    normalisers = np.empty((len(codes), len(starts)))
    counts = np.empty((4, GRADES), dtype=np.int32)
    for index in range(len(starts)):
        inside = labels[starts[index] : stops[index]]
        highest = _counted(inside, counts)
        for m in range(len(codes)):
            code = codes[m]
            sums, is_ideal = discounts[code[DISCOUNT]], code[GAIN] != BINARY
            is_ideal &= code[DIVISOR] == _POSSIBLE or code[KIND] == MEAN
            if is_ideal and highest >= 0:
                normalisers[m, index] = _ideal(code, counts[0], highest, sums)
            elif is_ideal:
                rising, single = inside.astype(np.float64), np.arange(len(inside) + 1)
                _sort_rising(rising)
                normalisers[m, index] = _gained(rising[::-1], single, code, sums)
            else:
                count = 0
                for label in inside:
                    count += label >= code[RELEVANT] if code[GAIN] == BINARY else label > 0
                normalisers[m, index] = count
    return normalisers
