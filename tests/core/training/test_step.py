"""Steps on a device: what they ask it, what is recorded, and what happens where memory ends."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from shuffleproof.core.data.batches import on_device
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, fit_or_load
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.training import loop, network
from shuffleproof.core.training import step as steps_module
from shuffleproof.core.training.graphs import Graphs
from shuffleproof.core.training.loop import RunState
from shuffleproof.core.training.network import built, held_scores
from shuffleproof.core.training.optimisers import without_compiler
from shuffleproof.core.training.step import (
    SEEN_BEFORE,
    Steps,
    optimiser_of,
    plan_step,
    recorded_steps,
)
from tests.synthetic import planted

FEATURES = 6


def lists_of(lengths, device="cpu", rankings=4):
    """Seeded lists whose documents share some ranks."""
    draws = np.random.default_rng(3)
    lengths = np.asarray(lengths)
    total = int(lengths.sum())
    none = np.zeros((total, rankings))
    lists = CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]), np.arange(len(lengths)), np.arange(total),
        none.astype(np.int32), none.astype(np.float32),
    ).reranked(draws.integers(0, 6, (total, rankings)).astype(np.float32))  # fmt: skip
    features = draws.normal(size=(total, FEATURES)).astype(np.float32)
    labels = draws.integers(0, 3, total).astype(np.float32)
    return on_device(lists, features, labels, device)


RAGGED = [5, 1, 7, 7, 3, 9, 2, 8, 6, 4, 9, 5]


def steps_of(name, lists, most=None, **changes):
    """Steps of a small preset, and its recipe."""
    spec = NeuralSpec.preset(name, "small", **({"batch_lists": 4} | changes))
    net = built(spec.model, FEATURES, 0).to(lists.features.device)
    return Steps(net, lists, spec.training, optimiser_of(net, spec.training), most=most)


def epoch_of(steps):
    """Take an epoch's steps; yields between them, returns the summed loss."""
    return loop._epoch(steps, (steps.recipe, RunState()))


class Spy(TorchDispatchMode):
    """Counts what makes a host wait for a device: copies between devices and fetched values."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "unique", "equal")

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        answer = func(*args, **(kwargs or {}))
        places = {
            str(one.device)
            for one in (*args, answer)
            if isinstance(one, torch.Tensor) and one.dim()
        }
        if name in self.WAITING or len(places) > 1:
            self.found[name] += 1
        return answer


@pytest.fixture
def without_autocast(monkeypatch):
    """A meta device knows no autocast, which computes nothing there."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.Adam, {"lr": 0.1}),
        (torch.optim.AdamW, {"lr": torch.tensor(0.1), "fused": True, "weight_decay": 0.1}),
    ],
)
def test_optimisers_without_the_compiler_take_pytorchs_steps(kind, changes):
    weights, states = [], []
    for made in (kind, without_compiler(kind)):
        parameter = torch.nn.Parameter(torch.linspace(-1, 1, 5))
        optimiser = made([parameter], **changes)
        for step in range(6):
            optimiser.zero_grad()
            assert parameter.grad is None
            (parameter**2).sum().backward()
            optimiser.step()
            if step == 2:  # as a run that goes on
                kept = optimiser.state_dict()
                optimiser = made([parameter], **changes)
                optimiser.load_state_dict(kept)
        weights.append(parameter.tolist())
        states.append(repr(optimiser.state_dict()))
    assert weights[0] == weights[1]
    assert states[0] == states[1]
    assert torch.is_grad_enabled()


@pytest.mark.usefixtures("without_autocast")
@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("lengths", [RAGGED, [6] * 12], ids=["ragged", "equal"])
def test_no_step_asks_the_device_for_anything(name, lengths):
    """A meta device has no values: whoever asks for one fails."""
    lists = lists_of(lengths, "meta")
    steps = steps_of(name, lists, optimiser="sgd", hidden_features=0.3, clip=1.0)
    run, spy = epoch_of(steps), Spy()
    with spy:
        next(run)  # the plan goes to the device before the first step
        planned_copies = spy.found.total()
        assert planned_copies <= 3
        for _ in run:
            pass
    assert spy.found.total() == planned_copies, spy.found


def test_scoring_sends_its_plan_to_the_device_once(monkeypatch):
    lists = lists_of(RAGGED, "meta")
    monkeypatch.setitem(network.BUDGET, "meta", 18)
    spec = NeuralSpec.preset("setrank-imsab-multi-init", "small")
    net = built(spec.model, FEATURES, 0).to("meta")
    with Spy() as spy, pytest.raises(NotImplementedError):
        held_scores(net, lists)  # the result is fetched, which meta has not
    assert spy.found.total() <= 2, spy.found


class Replayed(Graphs):
    """Stands in for CUDA graphs: what is recorded is called again."""

    def __init__(self):
        self.warm = self.replays = self.records = 0

    def warmed(self, work):
        self.warm += 1
        return work()

    def record(self, work):
        self.records += 1

        def replay():
            self.replays += 1
            return work()

        return replay


@pytest.mark.parametrize("name", ["setrank-msab-init", "dlcm", "mlp", "gsf"])
@pytest.mark.parametrize("lengths", [RAGGED * 4, [6] * 48], ids=["ragged", "equal"])
def test_recorded_steps_take_the_same_steps(name, lengths):
    lists, recorder = lists_of(lengths), Replayed()
    changes = {"hidden_features": 0.3, "least_steps": 40, "clip": 1.0}
    plain = steps_of(name, lists, **changes)
    plain.optimiser = optimiser_of(plain.network, plain.recipe, recorded=True)
    recorded = steps_of(name, lists, **changes)
    recorded = recorded_steps(recorded.network, lists, recorded.recipe, recorder)
    reports = [len(list(epoch_of(steps))) for steps in (plain, recorded)]
    assert_same_weights(plain.network, recorded.network)
    assert recorder.warm + recorder.replays == reports[0]
    if lengths[0] == lengths[1]:
        assert (recorder.warm, recorder.records) == (SEEN_BEFORE, 1)


@pytest.mark.parametrize("method", ["warmed", "record"])
def test_what_cannot_be_recorded_is_taken_as_it_comes(method):
    def fail(_work):
        raise torch.OutOfMemoryError

    lists, full = lists_of([6] * 48), Replayed()
    setattr(full, method, fail)
    steps, plain = (steps_of("setrank-msab", lists) for _ in range(2))
    steps = recorded_steps(steps.network, lists, steps.recipe, full)
    plain.optimiser = optimiser_of(plain.network, plain.recipe, recorded=True)
    for one in (steps, plain):
        list(epoch_of(one))
    assert steps.recorder is None
    assert_same_weights(steps.network, plain.network)


def assert_same_weights(one, other):
    for value, same in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(value, same)


def limited(monkeypatch, most):
    """Memory for so many padded documents a batch; the sizes asked for are returned."""
    asked = []
    for module in (steps_module, network, loop):
        real = module.scores_of

        def scores_of(net, batch, *rest, real=real):
            asked.append(batch.mask.numel())
            if asked[-1] > most:
                raise torch.OutOfMemoryError
            return real(net, batch, *rest)

        monkeypatch.setattr(module, "scores_of", scores_of)
    return asked


@pytest.mark.parametrize("name", ["setrank-msab-init", "dlcm"])
def test_training_without_memory_goes_on_with_half_the_documents_at_once(name, monkeypatch):
    """4 lists of up to 9 are 36 documents; with memory for 20 the first half, 18, fits."""
    lists = lists_of(RAGGED * 3)
    whole, smaller, halved = (steps_of(name, lists, most) for most in (None, 18, None))
    for steps in (whole, smaller):
        list(epoch_of(steps))
    asked = limited(monkeypatch, 20)
    list(epoch_of(halved))
    assert max(asked) > 20
    assert halved.most is not None
    assert halved.most <= 20
    assert sum(size > 20 for size in asked) <= 2, "what was too large is not tried again"
    exact = steps_of(name, lists, halved.most)
    list(epoch_of(exact))
    first = next(iter(exact.network.parameters()))
    assert torch.allclose(first, next(iter(whole.network.parameters())), atol=1e-5)
    for value, same in zip(halved.network.parameters(), exact.network.parameters(), strict=True):
        assert torch.allclose(value, same, atol=1e-6)


def test_a_training_that_memory_was_too_small_for_says_so(monkeypatch, caplog, tmp_path):
    """In its reports, in the log, and in what is stored of it; where memory suffices in none."""
    fold = planted(queries=(12, 4, 4), seed=1, documents=9)
    parts = [
        JudgedLists(part, CandidateLists.all_documents(part)) for part in (fold.train, fold.valid)
    ]
    spec = NeuralSpec.preset("setrank-msab", "small", batch_lists=4, epochs=2)
    monkeypatch.setitem(network.BUDGET, "cpu", 20)
    with monkeypatch.context() as patched:
        limited(patched, 20)
        reports = []
        work = fit_or_load(spec, *parts, ALL_DOCUMENTS, Store(tmp_path / "small"))
        facts = run_to_end(work, reports.append).artefact.facts
    assert facts["documents_at_once"] == 18
    assert {one.values.get("documents_at_once") for one in reports} == {18.0}
    assert any("does not hold 36 documents" in one.getMessage() for one in caplog.records)
    enough = run_to_end(fit_or_load(spec, *parts, ALL_DOCUMENTS, Store(tmp_path / "large")))
    assert "documents_at_once" not in enough.artefact.facts


def test_a_step_in_parts_has_the_gradient_of_the_whole():
    lists = lists_of(RAGGED)
    gradients = []
    for most in (None, 9):
        steps = steps_of("setrank-imsab-init", lists, most, batch_lists=12)
        chosen = np.arange(len(RAGGED))
        (step,) = plan_step(
            lists, [chosen], steps.recipe, steps.network.config, np.random.default_rng(0)
        )
        loss = steps._gradient(step, 12 if most is None else 1)
        gradients.append([loss, *(one.grad for one in steps.network.parameters())])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("selection", ["valid-ndcg@10", "valid-loss"])
def test_scoring_without_memory_equals_scoring_with_the_smaller_budget(selection, monkeypatch):
    lists = lists_of(RAGGED * 3)
    steps = steps_of("setrank-msab-init", lists)
    recipe = replace(steps.recipe, selection=selection)

    def value():
        if selection == "valid-loss":
            return loop._valid_loss(steps.network, lists, recipe)
        return held_scores(steps.network, lists).tolist()

    monkeypatch.setitem(network.BUDGET, "cpu", 16)
    expected = value()
    monkeypatch.setitem(network.BUDGET, "cpu", 64)
    asked = limited(monkeypatch, 20)
    assert value() == expected
    assert network.BUDGET["cpu"] == 16
    assert asked[:2] == [63, 27]  # 64 and 32 hold seven and three lists of 9


def test_a_list_that_does_not_fit_is_named(monkeypatch):
    lists = lists_of([9, 9])
    monkeypatch.setitem(network.BUDGET, "cpu", 64)
    steps = steps_of("setrank-msab", lists)
    limited(monkeypatch, 8)
    for work in (lambda: held_scores(steps.network, lists), lambda: list(epoch_of(steps))):
        with pytest.raises(DataError, match="no memory for one list of 9 documents"):
            work()


ON_A_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


class TestOnAGPU:
    pytestmark = ON_A_GPU

    @pytest.mark.parametrize("name", FIXED)
    def test_no_step_waits(self, name):
        steps = steps_of(name, lists_of(RAGGED, "cuda"), hidden_features=0.3, clip=1.0)
        run = epoch_of(steps)
        next(run)  # the plan goes there, the optimiser makes its moments
        torch.cuda.set_sync_debug_mode("error")
        try:
            list(run)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    @pytest.mark.parametrize("precision", ["fp32", "bf16"])
    @pytest.mark.parametrize("name", FIXED)
    def test_graphs_learn_as_steps_that_are_taken_as_they_come(self, name, precision):
        lists = lists_of([6] * 48, "cuda")
        changes = {"least_steps": 40, "precision": precision}
        plain, graphs = (steps_of(name, lists, **changes) for _ in range(2))
        recorder = Graphs(torch.device("cuda"))
        graphs = recorded_steps(graphs.network, lists, graphs.recipe, recorder)
        totals = []
        for steps in (plain, graphs):
            run = epoch_of(steps)
            while True:
                try:
                    next(run)
                except StopIteration as ended:
                    totals.append(float(ended.value[0]))
                    break
        assert graphs.recorder is not None, "something could not be recorded"
        assert totals[1] == pytest.approx(totals[0], rel=1e-3)
