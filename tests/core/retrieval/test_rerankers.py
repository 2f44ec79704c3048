"""FNRM and CNRM: the networks and the loss against literal readings, and what is reordered."""

import re

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from shuffleproof.core.errors import DataError, UnknownNameError
from shuffleproof.core.models.rerankers import CNRM, FNRM, CNRMConfig, FNRMConfig
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import planted, rerankers
from shuffleproof.core.retrieval.name import TRAINED
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection, retriever_entry
from shuffleproof.core.retrieval.words import likelihood
from shuffleproof.core.store.artefacts import Store

COLLECTION = planted.planted_collection()
LEARNERS = {"fnrm": rerankers.FNRM, "cnrm": rerankers.CNRM}
QUICK = {"steps": 12, "queries": 100, "first_stage_depth": 7}
NAMES = pytest.mark.parametrize("name", list(LEARNERS))


@pytest.fixture
def indexed(tmp_path):
    return IndexedCollection(COLLECTION, Store(tmp_path / "store"))


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def scored(network, query, document):
    """The score of two vectors, layer by layer, in plain products."""
    first, last = network.hidden
    hidden = (first.weight @ torch.cat([query, document]) + first.bias).relu()
    return torch.tanh(last.weight @ hidden + last.bias)[0]


def bag(network, words):
    """Σ softmax(w) · embedding over the words."""
    weights = torch.softmax(torch.stack([network.weight[word] for word in words]), 0)
    return sum(
        weight * network.embedding.weight[word] for weight, word in zip(weights, words, strict=True)
    )


def convolved(network, words):
    """The largest value of each filter over windows of three words, one padded window of fewer."""
    windows = [words[at : at + 3] for at in range(len(words) - 2)] or [
        [*words, *[network.padding] * (3 - len(words))]
    ]
    values = [
        network.filters.weight @ torch.cat([network.embedding.weight[word] for word in window])
        + network.filters.bias
        for window in windows
    ]
    return torch.stack(values).relu().max(0).values


@NAMES
def test_the_loss_is_its_formula(indexed, name):
    """Hinge of tanh(layers(vector of q, vector of d)), triple by triple, in plain loops."""
    sizes = {"embedding": 6, "layers": "5", "batch_queries": 7, "margin": 0.7, "queries": 50}
    recipe = LEARNERS[name].preset("paper").with_fields(sizes)
    trainer = LEARNERS[name].trainer(indexed, recipe)
    network, read = trainer.network, {"fnrm": bag, "cnrm": convolved}[name]
    if name == "fnrm":
        with torch.no_grad():
            network.weight.normal_(generator=drawn(3))
    queries, *both = trainer.weak.triples(0, 7)
    documents, labels = indexed.tokens.documents, trainer._batch(0)[2]
    expected, agreed = [], []
    for place in range(7):
        q = read(network, trainer.weak.queries.of(int(queries[place])).tolist())
        first, second = (
            scored(network, q, read(network, documents.of(int(one[place])).tolist())).item()
            for one in both
        )
        y = float((labels[place, place] - labels[place, 7 + place]).sign())
        expected.append(max(0.0, 0.7 - y * (first - second)))
        agreed += [(first - second) * y > 0] if y else []
    loss, agreement = trainer.loss_and_accuracy(*trainer._batch(0))
    assert loss.item() == pytest.approx(float(np.mean(expected)), rel=1e-5)
    assert agreement.item() == pytest.approx(float(np.mean(agreed)))


@NAMES
def test_the_listwise_loss_is_its_formula(indexed, name):
    sizes = {"embedding": 6, "layers": "5", "batch_queries": 4, "queries": 50, "output": "tanh"}
    recipe = (
        LEARNERS[name]
        .preset("small")
        .with_fields(sizes | {"inputs": "both", "loss": "listwise", "temperature": 2.0})
    )
    trainer = LEARNERS[name].trainer(indexed, recipe)
    asked, read, labels = trainer._batch(0)
    network = trainer.network
    queries, documents = (network.vectors(one[0], one[1], len(one[2])) for one in (asked, read))
    found = [[scored(network, q, d) for d in documents] for q in queries]
    expected = []
    for row, wanted in zip(found, labels, strict=True):
        p = torch.softmax(wanted / 2.0, 0)
        q = torch.softmax(torch.stack(row), 0)
        expected.append((p * (p.log() - q.log())).sum().item())
    loss, _ = trainer.loss_and_accuracy(asked, read, labels)
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-4)


@pytest.mark.parametrize(
    "network",
    [
        FNRM(FNRMConfig(embedding=4), 9, drawn()),
        CNRM(CNRMConfig(embedding=4, filters=5), 9, drawn()),
        CNRM(CNRMConfig(embedding=4, filters=5, pooling="mean"), 9, drawn()),
    ],
)
def test_a_text_without_a_known_word_is_zero_and_changes_no_other(network):
    """Texts 0 and 3 have no window, text 2 only unread words; text 1 is as when alone."""
    n = network.config.window
    windows = torch.tensor([[1] * n, [2] * n, [9] * n])
    found = network.vectors(windows, torch.tensor([1, 1, 2]), 4)
    assert (found[[0, 2, 3]] == 0).all()
    alone = network.vectors(windows[:2], torch.tensor([0, 0]), 1)
    assert (found[1] != 0).any()
    assert_close(found[1], alone[0])
    assert torch.isfinite(network(found, found)).all()


def test_windows_are_pooled_by_their_mean_or_their_maximum():
    for pooling, over in (("mean", torch.mean), ("max", torch.amax)):
        network = CNRM(CNRMConfig(embedding=4, filters=5, window=2, pooling=pooling), 9, drawn())
        windows = torch.tensor([[1, 2], [2, 3], [4, 9]])
        values = network.filters(network.embedding(windows).flatten(1)).relu()
        found = network.vectors(windows, torch.tensor([0, 0, 1]), 2)
        assert_close(found, torch.stack([over(values[:2], 0), values[2]]))


def trained(indexed, name, **changes):
    """A reranker with its recipe."""
    learner = LEARNERS[name]
    recipe = learner.preset("small").with_fields(QUICK | changes)
    run_to_end(learner.training(indexed, recipe))
    return learner.train(indexed, recipe)


@NAMES
def test_only_the_first_documents_of_query_likelihood_change_places_by_the_networks_scores(
    indexed, name
):
    reranker, first, tokens = trained(indexed, name), likelihood(indexed), indexed.tokens
    queries = COLLECTION.queries[:20]
    found, plain = reranker.search(queries, 50), first.search(queries, 50)
    moved = 0
    for query in range(len(queries)):
        documents, scores = found.of(query)
        before = plain.of(query)[0]
        assert sorted(documents[:7]) == sorted(before[:7])
        assert documents[7:].tolist() == before[7:].tolist()
        assert (np.diff(scores) <= 0).all()
        moved += int((documents[:7] != before[:7]).any())
        few = reranker.search([queries[query]], 3).of(0)
        assert few[0].tolist() == documents[:3].tolist()
        assert_close(torch.tensor(few[1]), torch.tensor(scores[:3]))
    assert moved, "it reorders something"
    documents, scores = (part[:7] for part in found.of(0))
    texts = tokens.encode(queries[:1]), tokens.documents.take(documents.astype(np.int64))
    query, read = (
        reranker.network.vectors(*map(torch.from_numpy, reranker._windows.of(one)[:2]), len(one))
        for one in texts
    )
    expected = reranker.network(query.expand(len(documents), -1), read)
    assert_close(torch.tensor(scores), expected.detach(), rtol=1e-4, atol=1e-5)


@NAMES
def test_queries_of_no_word_find_nothing_and_unread_ones_stay_as_found(indexed, name):
    reranker, tokens = trained(indexed, name), indexed.tokens
    found = reranker.search(["", "nosuchword", COLLECTION.queries[0]], 5)
    assert np.diff(found.offsets).tolist() == [0, 0, 5]
    frequency = tokens.document_frequency
    rarest = int(frequency.min())
    rare = [tokens.terms[term] for term in np.flatnonzero(frequency == rarest)]
    text = next(one for one in rare if tokens.encode([one]).lengths[0] == 1)
    unread = trained(indexed, name, minimum_frequency=rarest + 1)
    kept, plain = unread.search([text], 9), likelihood(indexed).search([text], 9)
    assert kept.documents.tolist() == plain.documents.tolist()
    assert kept.scores.tolist() == plain.scores.tolist()


@NAMES
def test_what_is_not_trained_is_refused_with_the_command(indexed, name):
    remedy = re.escape(f"shuffleproof train {name} --data {COLLECTION.name} --preset small")
    with pytest.raises(DataError, match=remedy):
        retriever_entry(f"{name}@small").build(indexed)
    with pytest.raises(UnknownNameError):
        retriever_entry(f"{name}@released")


def test_what_train_takes_is_what_has_presets():
    assert set(TRAINED) == {one.name for one in RETRIEVERS.values() if one.presets}
