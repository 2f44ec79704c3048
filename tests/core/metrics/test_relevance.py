"""Measures of relevance against plain formulas, with ties by enumerating every order."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, ShapeError
from shuffleproof.core.metrics.measure import EVERY, MEASURES, Measure
from shuffleproof.core.metrics.relevance import (
    convert_empty,
    evaluate,
    evaluate_many,
    mean_of,
    plain_ndcg,
)

KERNELS = [name for name, one in MEASURES.items() if one.kernel and one.over_queries == "mean"]
VARIANTS = {
    "NDCG": ({}, {"gain": "linear"}, {"discount": "letor"}, {"ideal": "shown"}, {"short": "zero"}),
    "MeanNDCG": ({}, {"gain": "linear", "discount": "letor"}, {"ideal": "shown"}),
    "DCG": ({}, {"gain": "linear", "discount": "letor"}),
    "ERR": ({}, {"top_grade": 5}),
    "AP": ({}, {"relevant": 2}, {"ideal": "shown"}),
    "RR": ({}, {"relevant": 2}),
    "P": ({}, {"relevant": 2}),
    "R": ({}, {"relevant": 2}, {"ideal": "shown"}),
    "RBP": ({}, {"p": 0.5, "relevant": 2}),
    "GradedRBP": ({}, {"gain": "linear", "p": 0.95}, {"top_grade": 5}),
    "Bpref": ({}, {"relevant": 2}, {"ideal": "shown"}),
    "Judged": ({},),
}
DECIDED = sorted(
    name
    for name, entry in MEASURES.items()
    if "empty" in entry.conventions and entry.over_queries == "mean"
)
ALL = [
    Measure(name, cutoff, **conventions)
    for name, variants in VARIANTS.items()
    for conventions in variants
    for cutoff in ((None, 1, 3) if MEASURES[name].cut else (None,))
]
OF_TREC_EVAL = {
    "Rprec", "Success", "RelP", "IPrec", "AP11", "SetF", "SetAP", "InfAP", "BinG", "G", "NDCGRel",
    "RNDCG", "NormRBP", "RBPResidual", "Utility", "Unjudged",
}  # fmt: skip
"""Held to values of that program in `test_relevance_trec.py`."""


def test_every_other_measure_has_a_formula_here():
    means = {name for name, entry in MEASURES.items() if entry.over_queries == "mean"}
    assert means - OF_TREC_EVAL == {*VARIANTS}


@pytest.mark.parametrize("name", KERNELS)
def test_every_measure_and_convention_of_its_own_is_held_to_a_plain_formula(name):
    own = set(MEASURES[name].conventions) - set(EVERY)
    assert own <= {field for variant in VARIANTS[name] for field in variant}


def dataset_of(*queries):
    labels = np.concatenate([np.array(query, dtype=np.float32) for query in queries])
    offsets = np.cumsum([0, *map(len, queries)]).astype(np.int64)
    names = tuple(str(number) for number in range(len(queries)))
    documents = TextColumn.of(f"d{row:09}" for row in range(len(labels)))
    return RankingDataset(
        np.zeros((len(labels), 0), np.float32), labels, offsets, names, (), documents
    )


def lists_of(dataset, *rows):
    """One list a query, of these rows of the query."""
    chosen = [np.array(own, dtype=np.int64) for own in rows]
    count = sum(map(len, rows))
    return CandidateLists(
        offsets=np.cumsum([0, *map(len, rows)]).astype(np.int64),
        queries=np.arange(len(rows), dtype=np.int64),
        rows=np.concatenate(
            [own + start for own, start in zip(chosen, dataset.offsets, strict=False)]
        ),
        ranks=np.zeros((count, 0), np.int32),
        prior=np.zeros((count, 0), np.float32),
    )


def discount(place, kind):
    """The discount of a 0-based place."""
    if kind == "letor":
        return 1.0 if place < 2 else 1.0 / math.log2(place + 1)
    return 1.0 / math.log2(place + 2)


def dcg_of(labels, measure, cutoff):
    return sum(
        (2.0 ** max(y, 0) - 1 if measure.gain == "exp2" else max(y, 0))
        * discount(i, measure.discount)
        for i, y in enumerate(labels[:cutoff])
    )


def ndcg_of(ranked, reference, measure, cutoff):
    if measure.short == "zero" and len(ranked) < cutoff:
        return 0.0
    places = [measure.cutoff]
    if measure.name == "MeanNDCG":
        places = range(1, min(cutoff, len(ranked)) + 1)
    best = sorted(reference)[::-1]
    values = [dcg_of(ranked, measure, at) / dcg_of(best, measure, at) for at in places]
    return sum(values) / max(len(values), 1)


def rbp_of(ranked, measure):
    """Moffat & Zobel 2008, equation 4: (1 − p) Σ r_i p^(i − 1)."""
    if measure.name == "RBP":
        gains = [float(label >= measure.relevant) for label in ranked]
    elif measure.gain == "linear":
        gains = [max(label, 0) / measure.top_grade for label in ranked]
    else:
        gains = [(2.0 ** max(label, 0) - 1) / 2.0**measure.top_grade for label in ranked]
    return (1 - measure.p) * sum(gain * measure.p**i for i, gain in enumerate(gains))


def bpref_of(ranked, reference, measure):
    """trec_eval's m_bpref.c: 1/R Σ 1 − min(n, R)/min(R, N), over relevant ranked documents."""
    relevant = sum(label >= measure.relevant for label in reference)
    others = sum(0 <= label < measure.relevant for label in reference)
    total, above = 0.0, 0
    for label in ranked:
        if label >= measure.relevant:
            total += 1 - min(above, relevant) / min(relevant, others) if above else 1
        above += 0 <= label < measure.relevant
    return total / relevant


def value_of(ranked, reference, measure):  # noqa: PLR0911 (a definition each)
    """One measure of labels in ranked order, written from its definition."""
    cutoff = len(ranked) if measure.cutoff is None else measure.cutoff
    if measure.name == "DCG":
        return dcg_of(ranked, measure, cutoff)
    if "NDCG" in measure.name:
        return ndcg_of(ranked, reference, measure, cutoff)
    if measure.name == "ERR":
        going, total = 1.0, 0.0
        for place, label in enumerate(ranked[:cutoff], start=1):
            satisfied = (2.0 ** max(label, 0) - 1) / 2.0**measure.top_grade
            total += going * satisfied / place
            going *= 1.0 - satisfied
        return total
    if measure.name == "Judged":
        return sum(label >= 0 for label in ranked[:cutoff]) / max(min(cutoff, len(ranked)), 1)
    if "RBP" in measure.name:
        return rbp_of(ranked[:cutoff], measure)
    if measure.name == "Bpref":
        return bpref_of(ranked[:cutoff], reference, measure)
    hits = [label >= measure.relevant for label in ranked[:cutoff]]
    if measure.name == "RR":
        return next((1 / place for place, hit in enumerate(hits, start=1) if hit), 0.0)
    relevant = sum(label >= measure.relevant for label in reference)
    if measure.name in {"P", "R"}:
        return sum(hits) / (max(cutoff, 1) if measure.name == "P" else relevant)
    return sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit) / relevant


def is_empty(reference, measure):
    if "empty" not in measure.entry.conventions:
        return False
    least = measure.relevant if "relevant" in measure.entry.conventions else 1e-9
    return not any(label >= least for label in reference)


def expected(judged, rows, scores, measure):
    """The measure's value of one list, by enumerating the orders that the scores allow."""
    reference = judged if measure.ideal == "judged" else [judged[row] for row in rows]
    if is_empty(reference, measure):
        return {"zero": 0.0, "one": 1.0, "skip": math.nan, "nan": math.nan}[measure.empty]
    documents = sorted(zip([-s for s in scores], rows, strict=True))
    if measure.ties == "trec":  # the tests' documents are called d0, d1, … row by row
        documents.sort(key=lambda one: (one[0], -one[1]))
    if measure.ties != "averaged":
        return value_of([judged[row] for _, row in documents], reference, measure)
    orders = orders_of(tuple(judged), tuple(documents))
    values = [value_of(labels, reference, measure) * count for labels, count in orders.items()]
    return sum(values) / orders.total()


@cache
def orders_of(judged, documents):
    """The labels in every order that the scores allow, and how many orders show them so."""
    blocks = [
        [judged[row] for _, row in block]
        for _, block in itertools.groupby(documents, lambda d: d[0])
    ]
    orders = itertools.product(*(itertools.permutations(block) for block in blocks))
    return Counter(tuple(label for block in order for label in block) for order in orders)


@st.composite
def one_list(draw, grades=(0, 1, 2, 3, 4)):
    judged = draw(st.lists(st.sampled_from(grades), min_size=1, max_size=8))
    shown = draw(st.permutations(range(len(judged))))[: draw(st.integers(0, 6))]
    scores = draw(st.lists(st.integers(-1, 2), min_size=len(shown), max_size=len(shown)))
    return judged, shown, scores


@settings(max_examples=120)
@given(
    st.one_of(one_list(), one_list(grades=(-2, -0.5, 0, 0.25, 1, 1.5, 3))),
    st.sampled_from(["zero", "one", "skip"]),
)
def test_every_measure_is_its_definition_averaged_over_the_orders_of_ties(case, empty):
    judged, rows, scores = case
    dataset = dataset_of(judged)
    lists = lists_of(dataset, rows)
    ways = ("averaged", "row", "trec")
    measures = [m.under(empty=empty, ties=ties) for m in ALL for ties in ways]
    found = evaluate(measures, dataset, lists, np.array(scores, np.float32))[:, 0]
    for measure, value in zip(measures, found, strict=True):
        wanted = expected(judged, rows, scores, measure)
        assert value == pytest.approx(wanted, rel=2e-6, abs=1e-7, nan_ok=True), str(measure)


def random_case(seed=0, longest=60, highest=5):
    random = np.random.default_rng(seed)
    queries = [random.integers(0, highest, size=random.integers(1, longest)) for _ in range(40)]
    dataset = dataset_of(*queries)
    everything = CandidateLists.all_documents(dataset)
    scores = random.integers(-5, 6, size=dataset.documents).astype(np.float32)
    return dataset, everything, scores, random


@pytest.mark.parametrize("cutoff", [1, 3, 10, 100])
def test_ndcg_by_numpy_alone_has_the_bits_of_compiled_code(cutoff):
    dataset, everything, scores, random = random_case(cutoff)
    measure = Measure("NDCG", cutoff, empty="skip")
    for lists in (everything, everything.select(random.permutation(len(everything))[:20])):
        found = plain_ndcg(dataset, lists, scores[lists.rows], cutoff)
        expected = evaluate([measure], dataset, lists, scores[lists.rows])[0]
        np.testing.assert_array_equal(found, expected)
    scores[0] = np.nan
    with pytest.raises(DataError, match=r"1 of .* are NaN"):
        plain_ndcg(dataset, everything, scores, cutoff)


@pytest.mark.parametrize("ties", ["averaged", "row", "trec"])
def test_long_lists_sorted_no_deeper_than_the_cutoff_have_the_values_of_whole_sorts(ties):
    """A measure of the whole list beside them has every list sorted to its end."""
    draws = np.random.default_rng(3)
    lengths = [400, 250, 400, 3, 40, 31]
    dataset = dataset_of(*(draws.integers(0, 4, length) for length in lengths))
    lists = CandidateLists.all_documents(dataset)
    measures = [replace(measure, ties=ties) for measure in ALL if measure.cutoff is not None]
    for grades in (3, 20, 10_000):  # blocks of ties across the cut-off, few of them, none
        scores = draws.integers(0, grades, dataset.documents).astype(np.float32)
        whole = evaluate([*measures, Measure("AP", ties=ties)], dataset, lists, scores)[:-1]
        assert np.array_equal(evaluate(measures, dataset, lists, scores), whole, equal_nan=True)


@pytest.mark.parametrize("ties", ["averaged", "row", "trec"])
@pytest.mark.parametrize("name", sorted(MEASURES))
def test_no_value_depends_on_the_order_shown(name, ties):
    dataset, lists, scores, random = random_case()
    within = np.concatenate(
        [
            start + random.permutation(stop - start)
            for start, stop in itertools.pairwise(lists.offsets)
        ]
    )
    measure = [Measure(name, ties=ties).under(cutoff=5), Measure(name, ties=ties)]
    before = evaluate(measure, dataset, lists, scores)
    after = evaluate(measure, dataset, lists.shown_as(within), scores[within])
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", [name for name, entry in MEASURES.items() if entry.share])
def test_values_of_a_share_are_from_0_to_1(name):
    dataset, lists, scores, _ = random_case()
    for ranked in (scores, dataset.labels[lists.rows], -dataset.labels[lists.rows]):
        values = evaluate([Measure(name).under(cutoff=5), Measure(name)], dataset, lists, ranked)
        assert ((values >= 0) & (values <= 1))[~np.isnan(values)].all()


@pytest.mark.parametrize("scale", [0, 1])  # a constant scorer, and one with ties
@pytest.mark.parametrize("name", sorted(MEASURES))
def test_averaged_ties_do_not_depend_on_the_order_of_rows(name, scale):
    dataset, lists, scores, random = random_case()
    scores *= scale
    order = np.concatenate(
        [
            start + random.permutation(stop - start)
            for start, stop in itertools.pairwise(lists.offsets)
        ]
    )
    other = RankingDataset(
        dataset.features, dataset.labels[order], dataset.offsets, dataset.query_ids, ()
    )
    measure = [Measure(name).under(cutoff=5), Measure(name)]
    before = evaluate(measure, dataset, lists, scores)
    np.testing.assert_array_equal(before, evaluate(measure, other, lists, scores[order]))


def test_infinite_scores_are_ranked_and_zeros_of_both_signs_tie():
    dataset = dataset_of([0, 1, 2])
    lists = CandidateLists.all_documents(dataset)
    rr = [Measure("RR", relevant=2)]
    high = np.array([1.0, -np.inf, np.inf], np.float32)
    assert evaluate(rr, dataset, lists, high)[0, 0] == 1.0
    assert evaluate(rr, dataset, lists, -high)[0, 0] == pytest.approx(1 / 3)
    zeros = np.array([0.0, 0.0, -0.0], np.float32)
    assert evaluate(rr, dataset, lists, zeros)[0, 0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@pytest.mark.parametrize("name", DECIDED)
def test_a_query_without_relevant_documents_gets_what_was_asked(name):
    dataset = dataset_of([0, 0, 0], [0, 1, 0])
    lists = CandidateLists.all_documents(dataset)
    scores = np.array([3, 2, 1, 1, 2, 3], np.float32)
    values = {
        empty: evaluate([Measure(name, empty=empty)], dataset, lists, scores)[0]
        for empty in ("zero", "one", "skip", "nan")
    }
    assert [value[0] for value in values.values()][:2] == [0.0, 1.0]
    assert np.isnan(values["skip"][0])
    assert np.isnan(values["nan"][0])
    assert len({float(value[1]) for value in values.values()}) == 1
    rest = float(values["zero"][1])
    means = {empty: mean_of(Measure(name, empty=empty), value) for empty, value in values.items()}
    assert means["zero"] == pytest.approx(rest / 2)
    assert means["one"] == pytest.approx((1 + rest) / 2)
    assert means["skip"] == pytest.approx(rest)
    assert math.isnan(means["nan"])


@pytest.mark.parametrize("name", DECIDED)
def test_another_convention_is_had_without_measuring_again(name):
    dataset, lists, scores, _ = random_case(seed=3, longest=5, highest=2)
    measure = Measure(name).under(cutoff=3)
    without = np.isnan(evaluate([measure.under(empty="skip")], dataset, lists, scores)[0])
    assert 0 < without.sum() < len(without)
    values = evaluate([measure], dataset, lists, scores)[0]
    for empty in ("zero", "one", "skip", "nan"):
        asked = evaluate([measure.under(empty=empty)], dataset, lists, scores)[0]
        np.testing.assert_array_equal(convert_empty(values, without, empty), asked)


def test_where_the_ideal_is_looked_up():
    dataset = dataset_of([2, 0, 1, 0])
    lists = lists_of(dataset, [1, 2])  # the best document is not among the candidates
    scores = np.array([0.0, 1.0], np.float32)
    judged, shown = evaluate(
        [Measure("NDCG"), Measure("NDCG", ideal="shown")], dataset, lists, scores
    )
    assert judged[0] == pytest.approx(1.0 / (3.0 + 1.0 / math.log2(3)))
    assert shown[0] == 1.0
    recalls = evaluate([Measure("R"), Measure("R", ideal="shown")], dataset, lists, scores)
    assert recalls[:, 0].tolist() == [0.5, 1.0]
    nothing = lists_of(dataset, [1, 3])
    measures = [Measure("P", empty="skip"), Measure("P", ideal="shown", empty="skip")]
    values = evaluate(measures, dataset, nothing, scores)
    assert np.isnan(values)[:, 0].tolist() == [False, True], "no relevant document: `empty` applies"


@pytest.mark.parametrize("grade", [0, 1, 63, 64, 65, 100, 2.5])
def test_gains_of_any_grade_are_two_to_its_power_less_one(grade):
    dataset = dataset_of([0, grade])
    lists = CandidateLists.all_documents(dataset)
    found = evaluate([Measure("DCG")], dataset, lists, np.array([2, 1], np.float32))[0, 0]
    assert found == pytest.approx((2.0**grade - 1) / math.log2(3), rel=1e-6)


def test_lists_of_none_and_of_one_document():
    dataset = dataset_of([1, 0], [2])
    lists = lists_of(dataset, [], [0])
    measures = [Measure(name) for name in KERNELS]
    found = evaluate(measures, dataset, lists, np.zeros(1, np.float32))
    assert found[:, 0].tolist() == [0.0] * len(measures)
    by_name = dict(zip(KERNELS, found[:, 1].tolist(), strict=True))
    assert by_name == pytest.approx(
        {"NDCG": 1, "MeanNDCG": 1, "DCG": 3, "ERR": 3 / 16, "AP": 1, "RR": 1, "P": 1, "R": 1}
        | {"RBP": 0.2, "GradedRBP": 0.2 * 3 / 16, "Bpref": 1, "Judged": 1}
    )


def test_many_runs_are_each_run_alone():
    dataset, lists, _, random = random_case(seed=5)
    measures = [Measure("NDCG", 10), Measure("AP", ideal="shown"), Measure("ERR", ties="row")]
    cut = CandidateLists.ranked_by(
        dataset, random.normal(size=(dataset.documents, 1)).astype(np.float32), depth=7
    )
    runs = [
        (chosen, random.normal(size=len(chosen.rows)).astype(np.float32))
        for chosen in (lists, cut, lists)
    ]
    together = evaluate_many(measures, dataset, runs)
    for found, (chosen, scores) in zip(together, runs, strict=True):
        np.testing.assert_array_equal(found, evaluate(measures, dataset, chosen, scores))
    fewer = (lists.select(np.arange(3)), np.zeros(int(lists.offsets[3]), np.float32))
    with pytest.raises(ShapeError, match="run 1 answers other queries"):
        evaluate_many(measures, dataset, [runs[0], fewer])
    assert evaluate_many(measures, dataset, []).shape == (0, 3, 0)


def test_lists_may_answer_queries_in_any_order_and_twice():
    dataset, lists, scores, _ = random_case(seed=6)
    chosen = np.array([5, 0, 5, 39], dtype=np.int64)
    taken = np.concatenate([np.arange(lists.offsets[q], lists.offsets[q + 1]) for q in chosen])
    measures = [Measure(name).under(cutoff=5) for name in MEASURES]
    whole = evaluate(measures, dataset, lists, scores)
    part = evaluate(measures, dataset, lists.select(chosen), scores[taken])
    np.testing.assert_array_equal(part, whole[:, chosen])


def test_scores_that_cannot_be_ranked_are_refused():
    dataset = dataset_of([1, 0])
    lists = CandidateLists.all_documents(dataset)
    with pytest.raises(DataError, match="1 of 2 are NaN"):
        evaluate([Measure("RR")], dataset, lists, np.array([1, np.nan], np.float32))
    with pytest.raises(ShapeError):
        evaluate([Measure("RR")], dataset, lists, np.zeros(3, np.float32))


@pytest.mark.parametrize("names", [None, ["a", "", "c"]])
def test_ties_by_document_id_need_the_ids(names):
    dataset = replace(dataset_of([1, 0, 2]), doc_ids=names and TextColumn.of(names), fingerprint="")
    lists, scores = CandidateLists.all_documents(dataset), np.zeros(3, np.float32)
    count = 3 if names is None else 1
    with pytest.raises(DataError, match=f"{count} of 3 have no id, by which ties=trec"):
        evaluate([Measure("RR"), Measure("RR", ties="trec")], dataset, lists, scores)
    assert evaluate([Measure("RR")], dataset, lists, scores)[0, 0] > 0


def test_candidates_of_another_query_are_refused():
    dataset = dataset_of([1, 0], [0, 1])
    lists = lists_of(dataset, [0, 2], [0])
    with pytest.raises(ShapeError, match="candidates of another query"):
        evaluate([Measure("RR")], dataset, lists, np.zeros(3, np.float32))


def test_a_grade_above_the_top_grade_is_refused():
    dataset = dataset_of([5, 0])
    lists, scores = CandidateLists.all_documents(dataset), np.array([1, 0], np.float32)
    with pytest.raises(DataError, match=r"ERR\(top_grade=5\)"):
        evaluate([Measure("ERR")], dataset, lists, scores)
    found = evaluate([Measure("ERR", top_grade=5)], dataset, lists, scores)
    assert found[0, 0] == pytest.approx(31 / 32)


@pytest.mark.parametrize(
    ("measure", "grade", "remedy"),
    [
        ("NDCG@10", 1024, r"NDCG\(gain=linear\)@10"),
        ("DCG@10", 121, r"DCG\(gain=linear\)@10"),
        ("ERR(top_grade=1024)", 1024, "Use grades like"),
    ],
)
def test_grades_whose_gain_is_no_number_are_refused(measure, grade, remedy):
    dataset = dataset_of([1, grade, 0])
    lists = CandidateLists.all_documents(dataset)
    scores = np.array([3, 2, 1], np.float32)
    with pytest.raises(DataError, match=rf"grade {grade:,}.*too large for.*{remedy}"):
        evaluate([Measure.parse(measure)], dataset, lists, scores)
    linear = measure.replace("@", "(gain=linear)@")
    if linear != measure:
        assert np.isfinite(evaluate([Measure.parse(linear)], dataset, lists, scores)).all()
    largest = dataset_of([1, grade - 1, 0])
    assert np.isfinite(evaluate([Measure.parse(measure)], largest, lists, scores)).all()
