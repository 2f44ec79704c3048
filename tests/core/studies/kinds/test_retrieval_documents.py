"""Growing collections: who learns from what, what is added later, recall told apart, paired."""

from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.metrics.significance import adjusted_tests
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import growth, planted, snrm
from shuffleproof.core.retrieval.collection import MISSING, digest_of
from shuffleproof.core.retrieval.growth import Growth, later_documents, part_of
from shuffleproof.core.retrieval.lsi import lsi
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments, retriever_entry
from shuffleproof.core.retrieval.text import EncodedTexts
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.retrieval import documents as sections
from shuffleproof.core.studies.kinds.retrieval.documents import (
    BEFORE,
    SEEN,
    UNSEEN,
    WITH,
    recall_by_group,
)
from shuffleproof.core.studies.result import StudyResult

COLLECTION = planted.planted_collection()
SIZE = len(COLLECTION)
ASKED = (
    "study retrieval --vary documents --retrievers bm25,lsi,snrm@small --withheld 0,.1,.4 "
    "--seeds 2 --depth 20"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("growth"))


@pytest.fixture(scope="module")
def result(store):
    assert main([*ASKED.split(), "--store", str(store.root)]) == 0
    (artefact,) = store.artefacts("study")
    return StudyResult.open(artefact.path)


def test_parts_are_nested_drawn_by_the_seed_and_keep_their_judgments():
    few, many = (set(later_documents(SIZE, share, 3).tolist()) for share in (0.1, 0.4))
    assert (len(few), len(many)) == (round(0.1 * SIZE), round(0.4 * SIZE))
    assert few < many
    assert few != set(later_documents(SIZE, 0.1, 4).tolist())
    early = np.setdiff1d(np.arange(SIZE), list(many))
    part = part_of(COLLECTION, early)
    assert [part.document(at) for at in range(len(part))] == [
        COLLECTION.document(at) for at in early.tolist()
    ]
    for query in range(len(part.queries)):
        whole = COLLECTION.judgments(query)
        kept = {int(early[at]): grade for at, grade in part.judgments(query).items()}
        assert kept == {at: grade for at, grade in whole.items() if at not in many}
    assert (part.judged == MISSING).sum() > 0
    assert part.digest != COLLECTION.digest
    assert part_of(COLLECTION, np.arange(SIZE)).digest == digest_of(COLLECTION)


def test_words_that_no_earlier_document_has_stay_unknown(store):
    late = later_documents(SIZE, 0.1, 0)
    texts = [*COLLECTION.texts]
    for place in late.tolist():
        texts[place] += " quetzalcoatlus"
    collection = replace(COLLECTION, texts=TextColumn.of(texts), digest="of the test")
    grown = Growth.of(IndexedCollection(collection, store), 0.1)
    assert grown.late.tolist() == late.tolist()
    bm25 = grown.retriever(retriever_entry("bm25"))
    assert len(bm25.search(["quetzalcoatlus"], 10).documents) == 0
    encoded = IndexedCollection(collection, Store(store.root / "other")).tokens.documents
    words = encoded.lengths[late].sum()
    assert grown.unknown == pytest.approx(len(late) / words)
    for query in COLLECTION.queries[:4]:
        found = bm25.search([query], SIZE)
        assert np.isin(late, found.documents).any(), "later documents are in the index"


def test_what_is_learnt_before_encodes_what_comes_later(store):
    grown = Growth.of(IndexedCollection(COLLECTION, store, seed=1), 0.25)
    early = np.setdiff1d(np.arange(SIZE), grown.late)
    entry = retriever_entry("snrm@small")
    run_to_end(entry.learning(grown.before))
    before, after = snrm.LEARNER.at(grown.before, "small"), grown.retriever(entry)
    assert after.index.vectors.shape[0] == SIZE
    old, new = before.index.vectors, after.index.vectors
    assert (new[early] != old).nnz == 0
    texts = before.tokens.encode(COLLECTION.document(at) for at in grown.late.tolist())
    recipe = before.recipe
    table = run_to_end(
        snrm.encode_texts(before.network, before._windows, texts, 0, recipe.training.seed)
    )
    wanted = snrm.prune(table, recipe.training.keep_document)
    np.testing.assert_allclose(new[grown.late].toarray(), wanted.toarray(), atol=1e-6)
    dimension = int(np.diff(old.tocsc().indptr).argmax())
    terms = before.terms_of(dimension, 9)
    places = np.array([before.tokens.terms.index(term) for term in terms], np.int32)
    own = EncodedTexts(places, np.arange(len(terms) + 1), np.zeros(len(terms), np.int32))
    alone = run_to_end(
        snrm.encode_texts(before.network, before._windows, own, 0, recipe.training.seed)
    )
    values = alone[:, [dimension]].toarray()[:, 0]
    assert (values > 0).all()
    brought = values * before.tokens.document_frequency[places]
    assert (np.diff(brought) <= 1e-4).all(), "what a term brings over the collection falls"
    query = [COLLECTION.queries[0]]
    products = new @ before.vectors(query).T.toarray()[:, 0]
    found = after.search(query, 5)
    np.testing.assert_allclose(found.scores, np.sort(products)[::-1][:5], rtol=1e-5)
    folded = lsi(grown.before).over(grown.before.collection.documents())
    both = [np.concatenate(one._blocks) for one in (folded, lsi(grown.before))]
    np.testing.assert_allclose(*both, atol=1e-4)


def test_recall_is_told_apart():
    relevant = [at for at, grade in COLLECTION.judgments(0).items() if grade > 0]
    late = np.array(sorted(relevant[1:3]))

    class Two:
        def search(self, query_texts, k):
            assert k == 7
            found = np.array([relevant[0], relevant[1]], np.int32)
            return RankedDocuments.of_queries([(found, np.ones(2, np.float32))] * len(query_texts))

    seen, unseen = recall_by_group(COLLECTION, Two(), [0, 1], late, 7)
    assert seen[0] == pytest.approx(1 / (len(relevant) - 2))
    assert unseen[0] == pytest.approx(0.5)
    own = [at for at, grade in COLLECTION.judgments(1).items() if grade > 0]
    assert np.isnan(unseen[1]) == (not np.isin(own, late).any())


def test_changes_are_paired_by_query_and_words_lose_nothing(result):
    found = sections.changes(result)
    assert set(result.trials["family"][result.trials["level"] == 0.0]) == {WITH}
    assert set(found["level"]) == {0.1, 0.4}
    recall = found[found["measure"] == "recall@20"]
    differences = [
        np.nanmean(
            result.draws(row.retriever, BEFORE, row.level, row.condition).astype(float)
            - result.draws(row.retriever, WITH, row.level, row.condition),
            axis=0,
        )
        for row in recall.itertuples()
    ]
    p, low, high = adjusted_tests(np.stack(differences))
    np.testing.assert_allclose(recall["change"], [np.nanmean(own) for own in differences])
    np.testing.assert_allclose(recall["p"], p)
    np.testing.assert_allclose(recall["low"], low)
    np.testing.assert_allclose(recall["high"], high)
    np.testing.assert_allclose(recall["mean"] - recall["baseline"], recall["change"], atol=1e-6)
    assert set(recall["condition"]) == {SEEN, UNSEEN}
    words = recall[recall["retriever"] == "bm25"]
    assert (words["change"] == 0).all(), "the sample's documents share one vocabulary"
    assert (recall[recall["retriever"] == "lsi"]["change"] != 0).any()
    whole = result.draws("snrm@small", WITH, 0.4, "NDCG@20")
    np.testing.assert_array_equal(whole, result.draws("snrm@small", WITH, 0.0, "NDCG@20"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--retrievers bm25,fnrm", "leave it out"),
        ("--withheld 0", "at least one"),
        ("--withheld .1,.1", "each share once"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, said, tmp_path, capsys):
    assert main(["study", "growth", *given.split(), "--store", str(tmp_path)]) in {1, 2}
    assert said in capsys.readouterr().err


def test_nobody_learns_from_nothing(tmp_path):
    with pytest.raises(growth.UsageError, match="take less"):
        Growth.of(IndexedCollection(COLLECTION, Store(tmp_path)), 1.0)
