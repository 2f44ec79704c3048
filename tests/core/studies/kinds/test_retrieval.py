"""The study of retrievers: values by their definitions, folds, gates first, found again."""

import json
from dataclasses import replace
from math import log2

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.retrieval import planted
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.gates import FREQUENCY
from shuffleproof.core.retrieval.registry import (
    RETRIEVERS,
    IndexedCollection,
    InvertedRetriever,
    RankedDocuments,
    RetrieverEntry,
    retriever_entry,
)
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.retrieval import sections, study
from shuffleproof.core.studies.kinds.retrieval.question import Retrieval
from shuffleproof.core.studies.listless.collection_study import cross_fitted_search, folds
from shuffleproof.core.studies.listless.retrievers import dense_retrievers, names
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.study import recipe_of

COLLECTION = planted.planted_collection()
ASKED = "study retrieval --retrievers bm25,ql,snrm@small --seeds 2 --queries 20"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("retrieval"))


@pytest.fixture(scope="module")
def result(store):
    assert main([*ASKED.split(), "--store", str(store.root)]) == 0
    (artefact,) = (one for one in store.artefacts("study") if one.recipe["queries"] == 20)
    return StudyResult.open(artefact.path)


def answered(capsys, store, line):
    capsys.readouterr()
    code = main([*line.split(), "--store", str(store.root), "--json"])
    out, err = capsys.readouterr()
    assert out, err
    return code, json.loads(out)


def judged(query):
    own = slice(*COLLECTION.judged_offsets[query : query + 2])
    pairs = zip(COLLECTION.judged[own], COLLECTION.grades[own], strict=True)
    return {int(place): int(grade) for place, grade in pairs}


def by_definition(query, documents):
    """AP, P@20, NDCG@20 and R@1000 of a list of documents, written out."""
    grades = judged(query)
    relevant = sum(grade > 0 for grade in grades.values())
    hits = [grades.get(place, 0) > 0 for place in documents]
    precision = [sum(hits[: at + 1]) / (at + 1) for at, hit in enumerate(hits) if hit]
    gains = [2 ** grades.get(place, 0) - 1 for place in documents[:20]]
    ideal = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:20]
    discounted = [sum(gain / log2(at + 2) for at, gain in enumerate(own)) for own in (gains, ideal)]
    return (
        sum(precision) / relevant, sum(hits[:20]) / 20, discounted[0] / discounted[1],
        sum(hits[:1000]) / relevant,
    )  # fmt: skip


def test_an_exported_run_is_what_the_study_measured(store):
    """The μ of query likelihood is fitted to the other fold, in the run as in the study."""
    command = ["study", "retrieval", "--retrievers", "ql", "--seeds", "1"]
    assert main([*command, "--store", str(store.root)]) == 0
    studies = [one for one in store.artefacts("study") if one.recipe["retrievers"] == ["ql"]]
    result = StudyResult.open(studies[0].path)
    indexed, queries = IndexedCollection(COLLECTION, store), range(len(COLLECTION.queries))
    places = [at for at in queries if COLLECTION.relevant(at)]
    ranked = cross_fitted_search(indexed, retriever_entry("ql"), 1000)
    of_judged = RankedDocuments.of_queries([ranked.of(at) for at in places])
    (values,) = measure_queries(COLLECTION, places, of_judged, [Measure.parse("AP")])
    assert values == pytest.approx(result.per_query("ql", "retrieval", 0.0, "AP"))
    plain = retriever_entry("ql").build(indexed).search([COLLECTION.queries[places[0]]], 1000)
    assert not np.array_equal(plain.of(0)[1], ranked.of(places[0])[1]), "another μ"


def test_values_are_those_of_the_definitions(store):
    found = (
        RETRIEVERS["bm25"]
        .build(IndexedCollection(COLLECTION, store))
        .search(COLLECTION.queries, 1000)
    )
    queries = [3, 0, 40]
    falling = [(one, -np.arange(len(one))) for one, _ in map(found.of, queries)]  # nothing is tied
    chosen = RankedDocuments.of_queries(falling)
    measures = [Measure.parse(text) for text in Retrieval().measures]
    values = measure_queries(COLLECTION, queries, chosen, measures)
    for at, query in enumerate(queries):
        expected = by_definition(query, found.of(query)[0].tolist())
        assert values[:, at] == pytest.approx(expected, abs=1e-6)


def test_documents_that_nobody_judged_are_not_judged():
    grades = judged(0)
    unjudged = next(at for at in range(len(grades) + 1) if at not in grades)
    relevant = next(at for at, grade in grades.items() if grade > 0)
    documents = np.array([unjudged, relevant], np.int32)
    found = RankedDocuments.of_queries([(documents, np.array([2.0, 1.0], np.float32))])
    measures = [Measure.parse(text) for text in ("Judged@1", "Judged@2", "Bpref")]
    values = measure_queries(COLLECTION, [0], found, measures)
    wanted = [0, 1 / 2, 1 / sum(grade > 0 for grade in grades.values())]
    assert values[:, 0] == pytest.approx(wanted)


def test_a_study_that_counted_unjudged_documents_as_judged_is_another(store):
    indexed = IndexedCollection(COLLECTION, store)
    asked = [Retrieval(("ql",), measures=texts) for texts in (("AP",), ("AP", "Bpref@5"))]
    plain, telling = (study.Plan.of_question(one, indexed) for one in asked)
    assert "unjudged" not in recipe_of(plain)
    assert recipe_of(telling)["unjudged"] == ["Bpref@5"]
    before = replace(telling, unjudged=())
    assert {cell.digest for cell in telling.cells()}.isdisjoint(
        cell.digest for cell in before.cells()
    )


@pytest.mark.parametrize("queries", [2, 7, 48])
def test_folds_share_no_query_and_seeds_split_anew(queries):
    splits = [folds(queries, seed) for seed in range(4)]
    assert all(abs((split == 0).sum() - (split == 1).sum()) <= 1 for split in splits)
    assert np.array_equal(splits[0], folds(queries, 0))
    assert queries == 2 or len({tuple(split) for split in splits}) > 1


def spied(seen):
    """Entries by name that note what they build a retriever of."""

    class Spied(RetrieverEntry):
        def build(self, indexed):
            seen.append(indexed)
            return super().build(indexed)

    return lambda name: Spied(**vars(RETRIEVERS[name]))


def test_what_is_fitted_is_fitted_to_the_other_fold(store, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(study, "retriever_entry", spied(seen))
    line = "study retrieval --retrievers ql --seeds 2 --queries 12"
    code, answer = answered(capsys, store, line)
    assert (code, {row["n"] for row in answer["summary"]}) == (0, {12})
    halves = [set(indexed.training) for indexed in seen]
    assert [indexed.seed for indexed in seen] == [0, 0, 1, 1]
    for first, second in (halves[:2], halves[2:]):
        assert not first & second
        assert len(first | second) == 12
    mu = {RETRIEVERS["ql"].build(indexed).mu for indexed in seen}
    assert all(indexed.training for indexed in seen), "never fitted to nothing"
    assert mu


def test_the_answer_has_a_row_a_retriever_and_measure(store, result, capsys):
    code, answer = answered(capsys, store, ASKED)
    assert (code, answer["result"]) == (0, result.directory.name)
    summary = {(row["retriever"], row["measure"]): row for row in answer["summary"]}
    names, measures = ["bm25", "ql", "snrm@small"], list(Retrieval().measures)
    assert set(summary) == {(name, measure) for name in names for measure in measures}
    for (name, measure), row in summary.items():
        at = list(result.stored_measures).index(measure)
        rows = np.flatnonzero(result.trials["ranker"] == name)
        assert row["mean"] == pytest.approx(result.values[rows, at].mean(), abs=1e-6)
        assert row["low"] <= row["mean"] <= row["high"]
    gates = {row["retriever"]: row for row in answer["gates"]}
    assert set(gates) - {"snrm@small, before pruning"} == set(names)
    before = gates["snrm@small, before pruning"]
    assert before["nonzeros_document"] > gates["snrm@small"]["nonzeros_document"]
    assert before["dense_in_disguise"]
    index = RETRIEVERS["bm25"].build(IndexedCollection(COLLECTION, store))
    assert isinstance(index, InvertedRetriever)
    largest = index.frequencies.max() / len(COLLECTION)
    assert gates["bm25"]["largest_document_frequency"] == pytest.approx(largest)
    assert not gates["snrm@small"]["dense_in_disguise"]


def test_document_frequencies_fall_with_the_rank(store, result):
    found = sections.frequencies(result)
    indexed = IndexedCollection(
        planted.planted_collection(), Store(store.root, default_store().bundled)
    )
    for name in ("bm25", "snrm@small"):
        own = found[found["retriever"] == name]
        wanted = np.sort(retriever_entry(name).build(indexed).frequencies)[::-1]
        np.testing.assert_allclose(
            own["share"] * result.facts["documents"], wanted[own["rank"].to_numpy() - 1], rtol=1e-5
        )
        assert own["rank"].iloc[0] == 1
        assert own["rank"].iloc[-1] == (wanted > 0).sum()
    assert "lsi" not in set(found["retriever"]), "it has no postings"


def test_terms_are_counted_once_a_document_and_a_query(store, result):
    found = sections.terms(result).set_index(["retriever", "of"])
    indexed = IndexedCollection(COLLECTION, Store(store.root, default_store().bundled))
    latent = retriever_entry("snrm@small").build(indexed).index.document_terms
    words = retriever_entry("bm25").build(indexed).dimensions(list(COLLECTION.documents()))
    for name, counts in (("snrm@small", latent), ("bm25", [len({*own}) for own in words])):
        own, spread = found.loc[(name, "document")], np.quantile(counts, study.QUANTILES)
        assert own["mean"] == pytest.approx(np.mean(counts))
        assert own["sd"] == pytest.approx(np.std(counts, ddof=1), rel=1e-5)
        assert own[["least", "low", "median", "high", "most"]].tolist() == spread.tolist()
        assert found.loc[(name, "query")]["most"] <= own["most"]
    rest = {name: fact for name, fact in result.facts.items() if name != study.TERMS}
    without = replace(result, facts=rest)
    assert set(sections.terms(without)["of"]) == {"query"}


def test_an_index_of_words_fails_no_check_and_is_the_bound_of_the_learnt_ones(result):
    """Its commonest word is in 76 % of the documents; a learnt index may go as far."""
    read = sections.gates(result).set_index("retriever")
    assert read.loc["bm25", "largest_document_frequency"] > FREQUENCY
    assert not read.loc[["bm25", "ql"], "dense_in_disguise"].any()
    at = list(result.stored_measures).index("largest")
    values = result.values.copy()
    rows = np.flatnonzero(result.trials["ranker"] == "snrm@small")
    share = read.loc["bm25", "largest_document_frequency"]
    for factor, fails in ((0.999, False), (1.01, True)):
        values[rows, at] = factor * share * len(COLLECTION)
        learnt = sections.gates(replace(result, values=values)).set_index("retriever")
        assert learnt.loc["snrm@small", "dense_in_disguise"] == fails


def test_what_is_dense_is_said_before_any_effectiveness(result, monkeypatch):
    at = list(result.stored_measures).index("postings")
    values = result.values.copy()
    values[np.flatnonzero(result.trials["ranker"] == "snrm@small"), at] = 5 * len(COLLECTION)
    dense = replace(result, values=values)
    assert "SNRM small is not sparse" in sections.headline(dense, View()).text
    assert dense_retrievers(sections.pruned(sections.gates(dense))) == ["snrm@small"]
    assert dense_retrievers(sections.pruned(sections.gates(result))) == []


def test_letters_stand_where_the_test_says_so(result):
    tested, shown = sections.comparisons(result), sections.effectiveness(result).frame
    letter = dict(zip(names(result), "abc", strict=True))
    for name, row in zip(letter, shown.itertuples(index=False), strict=True):
        for measure, cell in zip(result.measures, row[1:], strict=True):
            own = tested[(tested["measure"] == measure) & (tested["first"] == name)]
            better = own[(own["difference"] > 0) & (own["p"] <= 0.05)]["second"]
            marks = str(cell).lstrip("0123456789.* ")
            assert marks == "".join(letter[other] for other in better)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--retrievers bm52", "did you mean bm25"),
        ("--retrievers ,", "name at least one"),
        ("--retrievers snrm@larg", "preset of snrm"),
        ("--queries 1", "queries"),
    ],
)
def test_wrong_questions_are_refused(store, capsys, flags, said):
    assert main(["study", "retrieval", *flags.split(), "--store", str(store.root)]) in {1, 2}
    assert said in capsys.readouterr().err
