"""SNRM: losses against literal readings, windows, training that resumes, and its retriever."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.testing import assert_close

from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, ParameterError, UnknownNameError
from shuffleproof.core.models.snrm import (
    SNRMConfig,
    flops,
    frequency_weights,
    l1,
    listwise_kl,
    pairwise_hinge,
    pointwise_hinge,
)
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.postings import SparseIndex
from shuffleproof.core.retrieval.recipe import Analysis
from shuffleproof.core.retrieval.registry import (
    IndexedCollection,
    InvertedRetriever,
    retriever_entry,
)
from shuffleproof.core.retrieval.snrm import (
    FILE,
    LEARNER,
    PRESETS,
    Latent,
    LatentFeedback,
    SNRMRecipe,
    Trainer,
    encode_texts,
    load,
    prune,
)
from shuffleproof.core.retrieval.text import EncodedTexts
from shuffleproof.core.retrieval.weak_training import Windows
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store

QUICK = PRESETS["small"].with_fields({"steps": 12, "queries": 100})
QUERIES = ("t0w1 t0w2", "t3w4 t3w5 t3w6", "nothing", "")


@pytest.fixture
def indexed(tmp_path):
    """60 documents of twelve words of their own topic of five; one is empty."""
    draw = generator(5, "latent texts")
    texts = [
        " ".join(f"t{place % 5}w{word}" for word in draw.integers(0, 10, 12)) for place in range(60)
    ]
    texts[7] = ""
    ids = [str(place) for place in range(60)]
    collection = Collection(
        "generated", TextColumn.of(ids), TextColumn.of([""] * 60), TextColumn.of(texts),
        tuple(map(str, range(len(QUERIES)))), QUERIES, np.zeros(len(QUERIES) + 1, np.int64),
        TextColumn.of([]), np.zeros(0, np.int32), np.zeros(0, np.int32), (), "latent",
    )  # fmt: skip
    return IndexedCollection(
        replace(collection, analysis=Analysis("blanks", "none", "none")), Store(tmp_path / "store")
    )


def texts_of(*lists):
    lengths = [len(one) for one in lists]
    tokens = np.array([word for one in lists for word in one], np.int32)
    return EncodedTexts(tokens, np.cumsum([0, *lengths]), np.zeros(len(lists), np.int32))


def test_the_papers_loss_is_its_formula(indexed):
    """L(q, d1, d2, y) + λ L1(φ(q) ‖ φ(d1) ‖ φ(d2)), triple by triple, in plain loops."""
    recipe = SNRMRecipe(
        SNRMConfig(window=3, embedding=8, layers=(6,), dimensions=20), QUICK.weak,
        replace(SNRMRecipe().training, strength=0.01, batch_queries=7),
    )  # fmt: skip
    trainer = Trainer(indexed, recipe)
    network, tokens = trainer.network, indexed.tokens

    def phi(terms):
        """The mean over windows of three words, one padded window of fewer."""
        pad = len(tokens.terms)
        windows = [terms[at : at + 3] for at in range(len(terms) - 2)] or [
            [*terms, *[pad] * (3 - len(terms))]
        ]
        total = torch.zeros(20)
        for window in windows if terms else []:
            values = torch.cat([network.embedding.weight[word] for word in window])
            values = (network.hidden[0].weight @ values + network.hidden[0].bias).relu()
            total = total + (network.last.weight @ values + network.last.bias).relu()
        return (total / len(windows)).detach()

    queries, *both = trainer.weak.triples(0, 7)
    asked, read, labels = trainer._batch(0)
    expected = []
    for place in range(7):
        q = phi(trainer.weak.queries.of(int(queries[place])).tolist())
        d1, d2 = (phi(tokens.documents.of(int(one[place])).tolist()) for one in both)
        y = (labels[place, place] - labels[place, 7 + place]).sign()
        hinge = max(0.0, 1.0 - float(y) * float(q @ d1 - q @ d2))
        expected.append(hinge + 0.01 * float(torch.cat([q, d1, d2]).abs().sum()))
    vectors = network(*asked), network(*read)
    penalties = trainer._penalties(*vectors)
    found = trainer._loss(*vectors, labels) + 0.01 * (penalties[0] + penalties[1])
    assert found.item() == pytest.approx(float(np.mean(expected)), rel=1e-5)


def test_losses_are_their_formulas():
    first, second = torch.tensor([2.0, 0.0, 0.3]), torch.tensor([0.5, 1.0, 0.3])
    sign = torch.tensor([1.0, 1.0, -1.0])
    assert_close(pairwise_hinge(first, second, sign), torch.tensor([0.0, 2.0, 1.0]))
    assert_close(pointwise_hinge(first, second, sign), torch.tensor([0.75, 1.5, 1.0]))
    labels, scores = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    p, q = np.exp([0, 1]) / np.exp([0, 1]).sum(), np.exp([1, 0]) / np.exp([1, 0]).sum()
    assert float(listwise_kl(scores, labels, 2.0)) == pytest.approx((p * np.log(p / q)).sum())
    vectors = torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    assert float(l1(vectors)) == pytest.approx(2.5)
    assert float(flops(vectors)) == pytest.approx(0.25 + 4.0)
    assert float(flops(vectors, torch.tensor([2.0, 5.0, 0.5]))) == pytest.approx(0.5 + 2.0)
    weights = frequency_weights(torch.tensor([0.001, 0.05, 0.1, 0.5]))
    assert (weights.diff() > 0).all()
    assert weights[0] < 1e-6


def test_a_short_text_is_one_padded_window_and_an_empty_one_none():
    windows = Windows(3, 99, np.zeros(100, bool))
    words, owners, scale = windows.of(texts_of([1, 2, 3, 4], [5], [], [6, 7]), 10)
    assert words.tolist() == [[1, 2, 3], [2, 3, 4], [5, 99, 99], [6, 7, 99]]
    assert owners.tolist() == [0, 0, 1, 3]
    assert scale.tolist() == [0.5, 1.0, 1.0, 1.0]


def test_padded_pooling_divides_by_the_padded_length():
    words, owners, scale = Windows(3, 9, np.zeros(10, bool), padded=True).of(
        texts_of([1, 2], [3] * 7), 5
    )
    assert words[owners == 0].tolist() == [[9, 1, 2], [1, 2, 9], [2, 9, 9]]
    assert (owners == 1).sum() == 5
    assert scale == pytest.approx([0.2, 0.2])


def test_drawn_windows_are_the_texts_own():
    windows = Windows(2, 99, np.zeros(100, bool))
    words, owners, scale = windows.of(texts_of(range(50), [7, 8]), 10, 4, generator(0, "draw"))
    assert owners.tolist() == [0, 0, 0, 0, 1]
    assert (words[:4, 1] == words[:4, 0] + 1).all()
    assert words[:4, 0].tolist() != [0, 1, 2, 3], "drawn"
    assert scale.tolist() == [0.25, 1.0]


def test_rare_words_are_not_read():
    rare = np.zeros(10, bool)
    rare[4] = True
    words, _, _ = Windows(2, 9, rare).of(texts_of([3, 4]), 10)
    assert words.tolist() == [[3, 9]]


def test_pruning_keeps_the_largest_of_rows_and_columns():
    draw = generator(1, "pruning")
    table = draw.random((30, 12)) * (draw.random((30, 12)) < 0.6)
    found = prune(csr_array(table), 3).toarray()
    for row, whole in zip(found, table, strict=True):
        assert sorted(row[row > 0]) == sorted(value for value in np.sort(whole)[-3:] if value > 0)
    assert (prune(csr_array(table), 0, 0.2).toarray() > 0).sum(0).max() == 6


@pytest.mark.parametrize("name", ["small", "paper", "released"])
def test_two_trainings_of_a_seed_give_equal_bytes_and_so_does_a_killed_one(indexed, tmp_path, name):
    narrow = {"dimensions": 64, "steps": 12, "queries": 100, "batch_queries": 8}
    narrow |= {} if name == "small" else {"embedding": 8, "layers": "8", "document_length": 20}
    recipe = PRESETS[name].with_fields(narrow | {"minimum_frequency": 1})
    whole = run_to_end(LEARNER.training(indexed, recipe, every=5)).path / FILE
    elsewhere = replace(indexed, store=Store(tmp_path / "other"))
    killed = LEARNER.training(elsewhere, recipe, every=5)
    for progress in killed:
        if progress.done == 8:
            break
    killed.close()
    steps = [
        one.done for one in LEARNER.training(elsewhere, recipe, every=5) if one.unit == "steps"
    ]
    assert steps == [6, 7, 8, 9, 10, 11, 12]
    again = elsewhere.store.find(LEARNER.key_of_training(elsewhere, recipe)).path / FILE
    assert whole.read_bytes() == again.read_bytes()


def test_the_controller_steers_nonzeros_to_the_target(indexed):
    """The same start with a large and with a small target ends with more and with fewer."""
    found = {}
    for target in (2, 60):
        steered = {"document_target": target, "query_target": target, "steps": 60}
        recipe = QUICK.with_fields(steered | {"steering": 0.3, "learning_rate": 0.01})
        trainer = Trainer(indexed, recipe)
        values = [trainer.advance() for _ in range(60)]
        found[target] = float(np.mean([one["document_nonzeros"] for one in values[-10:]]))
    assert found[2] < 0.5 * found[60]


def test_it_finds_documents_of_the_topic_and_none_for_no_words(indexed):
    run_to_end(LEARNER.training(indexed, QUICK))
    latent = LEARNER.train(indexed, QUICK)
    found = latent.search(QUERIES, 10)
    for query, topic in ((0, 0), (1, 3)):
        documents, scores = found.of(query)
        assert len(documents)
        assert (np.diff(scores) <= 0).all()
        assert (documents % 5 == topic).mean() >= 0.8
    assert len(found.of(2)[0]) == len(found.of(3)[0]) == 0
    table = latent.vectors(QUERIES) @ latent.index.vectors.T
    documents, scores = found.of(0)
    assert_close(torch.tensor(table.toarray()[0, documents]), torch.tensor(scores))
    more = LatentFeedback(latent).search(QUERIES, 10)
    assert (more.of(1)[0] % 5 == 3).mean() >= 0.8
    assert len(more.of(2)[0]) == 0


def test_feedback_reads_the_querys_postings_and_then_those_of_the_mixed_vector(indexed):
    run_to_end(LEARNER.training(indexed, QUICK))
    latent = LEARNER.train(indexed, QUICK)
    feedback = LatentFeedback(latent)
    assert isinstance(feedback, InvertedRetriever)
    assert np.array_equal(feedback.frequencies, latent.frequencies)
    assert np.array_equal(feedback.document_terms, latent.document_terms)
    vectors = latent.vectors(QUERIES).toarray()
    known = latent.index.vectors.toarray()
    found = latent.search(QUERIES, 10)
    for query, read in enumerate(feedback.dimensions(QUERIES)):
        documents, scores = found.of(query)
        counts = scores @ known[documents]
        own, new = np.flatnonzero(vectors[query]), np.argsort(-counts, kind="stable")[:20]
        assert sorted(read) == sorted([*own, *{*own, *new[counts[new] > 0]}])


def test_the_worst_first_order_is_the_reverse(indexed):
    artefact = run_to_end(LEARNER.training(indexed, QUICK))
    turned = load(indexed, artefact, QUICK.with_fields({"order": "worst-first"}))
    documents, scores = turned.search(QUERIES[:1], 60).of(0)
    assert (np.diff(scores) >= 0).all()
    assert sorted(documents) == sorted(
        LEARNER.train(indexed, QUICK).search(QUERIES[:1], 60).of(0)[0]
    )


def test_encoding_does_not_depend_on_the_company(indexed):
    trainer = Trainer(indexed, QUICK)
    whole = run_to_end(encode_texts(trainer.network, trainer.windows, indexed.tokens.documents, 10))
    index = SparseIndex.of(whole)
    latent = Latent(indexed.tokens, trainer.network, QUICK.with_fields({"keep_query": 0}), index)
    single = latent.vectors([indexed.collection.document(3)]).toarray()
    assert np.allclose(single[0], whole.toarray()[3], atol=1e-5)
    assert whole[[7]].nnz == 0


def test_gates_before_pruning_are_those_of_whole_vectors(indexed):
    recipe = QUICK.with_fields({"keep_document": 1, "keep_query": 1})
    facts = run_to_end(LEARNER.training(indexed, recipe)).facts
    for side in ("nonzeros_document", "nonzeros_query"):
        assert facts["gates"][side] <= 1 < facts["gates_before_pruning"][side]


def test_what_is_not_trained_is_refused_with_the_command(indexed):
    with pytest.raises(DataError, match="shuffleproof train snrm --data generated"):
        retriever_entry("snrm").build(indexed)
    with pytest.raises(UnknownNameError):
        QUICK.with_fields({"windows": 3})
    with pytest.raises(ParameterError):
        SNRMConfig(pooling="padded")
