import dataclasses
import inspect
import re

import numpy as np
import pytest
from scipy import stats

from shuffleproof.core.data import advice, doctor, doctor_counts
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from tests import loading, places

DATA = places.DATA
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the real data folder")


def make(features, labels, lengths, **changes) -> RankingDataset:
    features = np.asarray(features, dtype=np.float32)
    fields = {
        "features": features,
        "labels": np.asarray(labels, dtype=np.float32),
        "offsets": offsets_of(np.asarray(lengths, dtype=np.int64)),
        "query_ids": tuple(str(query) for query in range(len(lengths))),
        "feature_ids": tuple(range(1, features.shape[1] + 1)),
    }
    return RankingDataset(**fields | changes)


@pytest.fixture
def neutral():
    generator = np.random.default_rng(1)
    lengths = generator.integers(5, 40, 300)
    docs = int(lengths.sum())
    return make(generator.random((docs, 4)), generator.integers(0, 4, docs), lengths)


def found(findings, code):
    return next((finding for finding in findings if finding.code == code), None)


def test_a_clean_set_has_only_infos(neutral):
    findings = doctor.examine(neutral)
    assert {finding.severity for finding in findings} == {"info"}
    assert sum(doctor.label_counts(neutral).values()) == neutral.documents


@pytest.mark.parametrize(
    ("share", "severity"), [(0.0, "info"), (0.15, "warning"), (1.0, "problem")]
)
def test_relevance_in_the_row_order_is_found(neutral, share, severity):
    generator = np.random.default_rng(2)
    labels = neutral.labels.copy()
    for query in range(neutral.queries):
        rows = slice(neutral.offsets[query], neutral.offsets[query + 1])
        if generator.random() < share:
            labels[rows] = -np.sort(-labels[rows])
    leaking = make(neutral.features, labels, np.diff(neutral.offsets))
    assert found(doctor.examine(leaking), "order-leak").severity == severity


def test_better_first_is_somers_d(neutral):
    shares = doctor_counts.better_first(neutral.labels, neutral.offsets)
    for query in range(20):
        rows = slice(neutral.offsets[query], neutral.offsets[query + 1])
        labels = neutral.labels[rows]
        falling = -np.arange(len(labels))
        expected = stats.somersd(labels, falling).statistic
        assert shares[query] == pytest.approx((1 + expected) / 2)


def test_features_that_are_constant_huge_or_sentinels():
    generator = np.random.default_rng(3)
    features = generator.random((40, 5)).astype(np.float32)
    features[:, 0] = 7
    features[:, 1] = np.repeat([1, 2, 3, 4], 10)
    features[3, 2] = np.finfo(np.float32).max
    features[5, 3] = -3e6
    findings = doctor.examine(make(features, generator.integers(0, 3, 40), [10] * 4))
    for code, feature in (
        ("constant-features", 1),
        ("query-features", 2),
        ("sentinel-features", 3),
        ("huge-features", 4),
    ):
        assert found(findings, code).where == f"feature {feature}"
        assert found(findings, code).message.startswith(f"Feature {feature} ")
        assert not found(findings, code).place, "the message names it"
    assert found(findings, "huge-features").severity == "warning"
    features = features.copy()
    features[5, 3] = -3e30
    findings = doctor.examine(make(features, generator.integers(0, 3, 40), [10] * 4))
    assert found(findings, "huge-features").severity == "problem", "its square is no float32"
    assert found(findings, "sentinel-features").queries == (0,)
    assert found(findings, "huge-features").queries == (0,)
    assert "see query 0" in found(findings, "huge-features").message


def test_equal_vectors_count_within_a_query_only():
    features = [[0.0, 1], [-0.0, 1], [2, 3], [0, 1], [5, 5], [5, 5]]
    rows, surplus, unlike = doctor_counts.repeated_rows(make(features, [0, 1, 0, 0, 2, 2], [3, 3]))
    assert rows.tolist() == [0, 1, 4, 5]
    assert (surplus, unlike) == (2, 2)


def test_queries_without_relevance_single_and_split():
    data = make(np.arange(8)[:, None], [0, 0, 1, 0, 0, 2, 0, 1], [1, 3, 2, 2])
    findings = doctor.examine(data)
    assert found(findings, "one-document-queries").where == "query 0"
    assert "1 of 4 queries (25 %)" in found(findings, "no-relevant").message
    assert "1 to 3 documents, median 2" in found(findings, "list-lengths").message
    twice = make(data.features, data.labels, [1, 3, 2, 2], query_ids=("a", "b", "a", "c"))
    assert found(doctor.examine(twice), "repeated-query-ids").where == "query a"


def test_odd_labels():
    codes = {
        "one-label": [1, 1, 1],
        "negative-labels": [-1, 0, 1],
        "fractional-labels": [0, 0.5, 1],
        "high-labels": [0, 1, 30],
    }
    for code, labels in codes.items():
        assert found(doctor.examine(make(np.eye(3), labels, [3])), code), code


def test_parts_that_share_queries_and_documents(neutral):
    half = neutral.select(np.arange(150))
    rest = neutral.select(np.arange(150, 300))
    assert not found(doctor.examine_fold(Fold(half, rest, rest)), "shared-queries")
    findings = doctor.examine_fold(Fold(half, rest, half))
    assert found(findings, "shared-queries").severity == "problem"
    assert "150 queries" in found(findings, "shared-queries").message
    assert "(100.0 %)" in found(findings, "shared-vectors").message


def test_numbers_of_group_files_are_no_shared_queries(neutral):
    def numbered(part):
        names = tuple(str(query + 1) for query in range(part.queries))
        return dataclasses.replace(part, query_ids=names, fingerprint="")

    train, test = (numbered(neutral.select(np.arange(*rows))) for rows in ((150,), (150, 300)))
    findings = doctor.examine_fold(Fold(train, train, test))
    assert "150 numbers occur in train" in found(findings, "numbered-queries").message
    shared = found(findings, "shared-queries")
    assert shared.part == "valid", "its documents are those of train"
    copied = np.vstack([test.features[:-1], train.features[:1]])
    other = dataclasses.replace(test, features=copied, fingerprint="")
    assert found(doctor.examine_fold(Fold(train, other, other)), "numbered-queries"), "another's"
    named = dataclasses.replace(test, query_ids=train.query_ids[::-1], fingerprint="")
    assert found(doctor.examine_fold(Fold(train, named, named)), "shared-queries")


def test_sets_without_documents_are_examined():
    assert doctor.examine(make(np.zeros((0, 2)), [], [0]))
    assert doctor.label_counts(make(np.zeros((0, 2)), [], [])) == {}


def sized(queries, documents, first=0):
    """A set of the size, features and grades of an MQ set, its queries numbered from `first`."""
    lengths = np.full(queries, documents // queries)
    lengths[0] += documents - lengths.sum()
    labels = np.arange(documents) % 3
    made = make(np.zeros((documents, 46)), labels, lengths)
    names = tuple(str(first + query) for query in range(queries))
    return dataclasses.replace(made, query_ids=names, fingerprint="")


def test_where_names_queries_by_their_ids():
    fold = Fold(sized(6, 60), sized(3, 30, 100), sized(3, 30, 3))
    shared = found(doctor.examine_fold(fold), "shared-queries")
    assert (shared.where, shared.queries) == ("test queries 3, 4, 5", (0, 1, 2))
    vectors = [one for one in doctor.examine_fold(fold) if one.code == "shared-vectors"]
    assert [one.where for one in vectors] == ["valid queries 100, 101, 102", "test queries 3, 4, 5"]


@pytest.mark.parametrize(("shared", "severity"), [(1, "info"), (2, "warning")])
def test_documents_of_train_are_grave_above_one_in_a_hundred(shared, severity):
    train, other = (np.arange(500, dtype=np.float64).reshape(100, 5) + 1000 * at for at in (0, 1))
    other[:shared] = train[:shared]
    parts = [
        make(features, np.arange(len(features)) % 3, [len(features)], query_ids=(name,))
        for name, features in (("a", train), ("b", train[:0]), ("c", other))
    ]
    (seen,) = [one for one in doctor.examine_fold(Fold(*parts)) if one.code == "shared-vectors"]
    assert (seen.severity, seen.part) == (severity, "test")


@needs_data
def test_published_facts():
    parts = [loading.read(DATA / f"mq2008/S{part}.txt.gz").dataset for part in (1, 2, 3, 4)]
    for part in parts:
        findings = doctor.examine(part)
        assert found(findings, "constant-features").message.startswith(
            "Features 6, 7, 8, 9, 10, 43 with"
        )
    clue = [loading.read(DATA / f"clueweb09_webis/Fold{part}.test.txt.gz") for part in (1, 2, 3)]
    assert [doctor_counts.repeated_rows(fold.dataset)[1] for fold in clue] == [65, 53, 51]
    web = loading.read(DATA / "mslr_web30k_sample/fold1_test_sample.txt.gz").dataset
    findings = doctor.examine(web)
    assert found(findings, "huge-features").severity == "warning"


LITTLE, SOME, AWAY = "reveals little or no", "reveals some", "reveals relevance"


@pytest.mark.parametrize(
    ("mean", "deviation", "queries", "severity", "verdict"),
    [
        (0.61, 0.29, 100, "problem", AWAY),  # ± 2.9 points: the standard error of an old message
        (0.61, 0.29, 40, "warning", SOME),
        (0.61, 0.29, 12, "info", "inconclusive"),
        (0.505, 0.29, 12, "info", "inconclusive"),
        (0.505, 0.29, 3000, "info", LITTLE),
        (0.53, 0.29, 3000, "warning", SOME),
        (0.39, 0.1, 3000, "problem", AWAY),
    ],
)
def test_what_an_interval_allows_is_said_of_the_order(mean, deviation, queries, severity, verdict):
    shares = np.resize([mean - deviation, mean + deviation], queries)
    _, low, high, needed = doctor_counts.interval(shares, doctor.LEAK)
    assert 0 <= low < mean < high <= 1
    half = stats.t.ppf(0.975, queries - 1) * shares.std(ddof=1) / np.sqrt(queries)
    assert high - low == pytest.approx(2 * half, rel=0.25)  # Student's, that stays within 0 and 1
    assert needed > 100
    told, words = doctor._leak(mean, low, high)
    assert (told, verdict in words) == (severity, True)


def test_random_folds_have_no_order_leak_and_a_leak_is_found():
    """Parts of a fold share one error rate of 5 %; 400 folds allow 2.5 standard errors."""
    chance = np.random.default_rng(38)

    def alarm(shift):
        """A fold whose labels fall by `shift` standard deviations from row to row."""
        parts = []
        for _ in range(3):
            labels = np.rint(chance.normal(1.5, 1, (30, 10)) - shift * np.arange(10)).clip(0, 3)
            parts.append(make(np.zeros((300, 1)), labels.ravel(), np.full(30, 10)))
        findings = doctor.examine_fold(Fold(*parts))
        return any(one.code == "order-leak" and one.severity != "info" for one in findings)

    assert np.mean([alarm(0.0) for _ in range(400)]) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 400)
    assert all(alarm(0.1) for _ in range(10))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_equal_shares_have_an_interval_of_some_width(share):
    """Ten queries whose documents all stand the right way round are no certainty."""
    _, low, high, _ = doctor_counts.interval(np.full(10, share), doctor.LEAK)
    assert (low, high) == pytest.approx((0.0, 0.338) if share == 0 else (0.662, 1.0), abs=1e-3)


def test_columns_that_are_no_content_are_found_by_what_they_hold(neutral):
    """Over all parts: what holds in one of them alone is no finding."""
    docs, lengths = neutral.documents, np.diff(neutral.offsets)
    chance, places = np.random.default_rng(7), np.concatenate([np.arange(n) for n in lengths])
    shuffled = np.concatenate([chance.permutation(n) + 1 for n in lengths])
    columns = {
        "label-feature": (neutral.labels * 2 - 1, (neutral.labels > 1) * 1.0, -neutral.labels
                          + chance.random(docs) / 2),
        "place-feature": (places, shuffled),
        "identifier-feature": (chance.permutation(docs), np.repeat(np.arange(300) + 7, lengths)),
    }  # fmt: skip
    rows = [*neutral.features.T, *(one for several in columns.values() for one in several)]
    names = (*"abcd", *(f"{code} {at}" for code, of in columns.items() for at in range(len(of))))
    odd = make(
        np.array([*rows, chance.random(docs)]).T, neutral.labels, lengths,
        feature_names=(*names, "session_id"),
    )  # fmt: skip
    told = doctor.examine(odd)
    for code, several in columns.items():
        assert [one.severity for one in told if one.code == code] == [
            "problem" if code == "label-feature" else "warning"
        ] * len(several)
        assert all(f"({code} " in one.message for one in told if one.code == code)
    assert "(session_id)" in found(told, "exposure-feature").message
    few = odd.select(np.arange(doctor.LEAST_QUERIES - 1))
    assert not {one.code for one in doctor.examine(few)} & set(columns)
    parts = [odd.select(np.arange(low, low + 100)) for low in (0, 100, 200)]
    spoilt = parts[2].features.copy()
    spoilt[:, 4:11] = chance.random((len(spoilt), 7)) + 0.5
    mixed = Fold(*parts[:2], dataclasses.replace(parts[2], features=spoilt, fingerprint=""))
    assert not {one.code for one in doctor.examine_fold(mixed)} & set(columns)
    assert {one.code for one in doctor.examine_fold(Fold(*parts))} >= set(columns)


def test_a_query_among_its_documents_and_documents_that_repeat_are_found():
    ids = TextColumn.of(["a", "b", "a", "q2", "c", "d", "", ""])
    odd = make(np.arange(8)[:, None], np.zeros(8), [3, 3, 2], doc_ids=ids,
               query_ids=("q1", "q2", "q3"))  # fmt: skip
    told = doctor.examine(odd)
    assert found(told, "repeated-documents").queries == (0,)
    assert "up to 2 times" in found(told, "repeated-documents").message
    assert found(told, "query-among-documents").queries == (1,)


@pytest.mark.parametrize(
    ("absent", "severity"), [(0, None), (1, "info"), (5, "warning"), (60, "problem")]
)
def test_parts_with_other_features_are_told(absent, severity):
    generator = np.random.default_rng(5)
    parts = [
        make(generator.random((40, 100)), generator.integers(0, 3, 40), [20, 20]) for _ in "abc"
    ]
    features = parts[2].features.copy()
    features[:, :absent] = 0
    fold = Fold(parts[0], parts[1], make(features, parts[2].labels, [20, 20]))
    told = found(doctor.examine_fold(fold), "unlike-features")
    assert (told.severity if told else None) == severity
    if told:
        assert f"{absent} of 100 features of train" in told.message
        assert "0 in every row of test" in told.message


def test_findings_of_a_kind_stand_together_the_worst_first_each_with_what_to_do(neutral):
    codes = re.findall(r'"([a-z]+(?:-[a-z]+)+)"', inspect.getsource(doctor))
    codes = {code for code in codes if f'Finding("{code}"' in inspect.getsource(doctor)}
    assert codes <= set(advice.ACTIONS), "every finding has its place among the consequences"
    lists, few = np.diff(neutral.offsets), neutral.select(np.arange(9))
    spoilt = make(neutral.features * 1e9, np.zeros(neutral.documents), lists)
    fold = Fold(spoilt, few, dataclasses.replace(few, labels=np.zeros(few.documents, np.float32)))
    every = advice.merge_findings(doctor.examine_fold(fold))
    by = {one.findings[0].code: one for one in every}
    assert len(by) == len(every)
    assert {one.part for one in by["one-label"].findings} == {"train", "test"}
    grave = [one.severity for one in every]
    assert grave == sorted(grave, key=["problem", "warning", "info"].index)
    assert [one for one in by if by[one].severity == "problem"][:2] == [
        "one-label", "shared-queries",
    ]  # fmt: skip
    assert all(one.action for one in every if one.severity != "info")
