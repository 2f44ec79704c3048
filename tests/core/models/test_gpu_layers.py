"""SetRank's layers on a GPU against PyTorch's: without one, in Triton's interpreter.

The interpreter multiplies float32 alone; bfloat16 is compared where there is a GPU.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from shuffleproof.core.kernels.triton_here import compiles_for
from shuffleproof.core.models import attend, dense
from shuffleproof.core.models.config import SETRANK_PRESETS
from shuffleproof.core.models.setrank import SetRank

pytestmark = pytest.mark.slow

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def on_these_layers(monkeypatch):
    for module in (dense, attend):
        monkeypatch.setattr(module, "lowers_on_gpu", lambda x: x.numel() > 0)
    monkeypatch.setattr(dense, "_low", lambda x: x)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda _: torch.float32)


def facts(model, docs, mask):
    torch.manual_seed(1)
    embedded = torch.randn(3, docs, 32).to(DEVICE).requires_grad_()
    scores = model.score(embedded, mask)
    weights = torch.randn(scores.shape).to(DEVICE)
    gradients = torch.autograd.grad(
        (scores * weights).sum(), [embedded, *model.blocks.parameters()]
    )
    with torch.no_grad():
        alone = model.score(embedded, mask)
    return [scores.detach(), alone, *gradients]


CONFIGS = {
    "msab": {"block": "msab"},
    "imsab": {"block": "imsab", "inducing_points": 5},
    "released": {
        "block": "imsab", "projection_bias": True, "projection_activation": "relu",
        "inducing_feed_forward": False, "inducing_points": 40, "norm_epsilon": 0.0,
    },
}  # fmt: skip


MASKS = {
    "all": lambda _: None,
    "few": lambda docs: torch.rand(3, docs, generator=torch.Generator().manual_seed(docs)) < 0.1,
    "late": lambda docs: (torch.arange(docs) >= min(70, docs - 1)).expand(3, docs),
}


@pytest.mark.parametrize("mask_of", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("docs", [1, 7, 40, 130])
@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_kernels_give_the_scores_and_gradients_of_torch(request, changes, docs, mask_of):
    """Of lists that are shorter than a block of the kernels, and longer; few keys are real."""
    config = replace(SETRANK_PRESETS["small"], width=32, heads=2, depth=2, **changes)
    torch.manual_seed(0)
    model = SetRank(4, config).to(DEVICE)
    mask = mask_of(docs)
    mask = None if mask is None else mask.to(DEVICE)
    due = facts(model, docs, mask)
    request.getfixturevalue("on_these_layers")
    for found, expected in zip(facts(model, docs, mask), due, strict=True):
        torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)


def test_every_kernel_compiles_for_gpus_that_are_not_here(tmp_path):
    script = Path(__file__).with_name("compiled_for_gpus.py")
    surroundings = os.environ | {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    run = subprocess.run(
        [sys.executable, script], env=surroundings, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("docs", [40, 240])
@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_bfloat16_on_a_gpu_is_as_close_to_float32_as_that_of_torch(monkeypatch, changes, docs):
    torch.manual_seed(0)
    model = SetRank(136, replace(SETRANK_PRESETS["paper"], **changes)).cuda()
    features, labels = torch.randn(9, docs, 136).cuda(), torch.randn(9, docs).cuda()
    lengths = torch.tensor([docs, docs - 1, docs // 2, 17, 16, 2, 1, 1, docs])[:, None]
    mask = torch.arange(docs) < lengths
    mask[-1] = torch.arange(docs) >= docs // 2  # no key of the first block is real
    mask = mask.cuda()

    def scores_and_gradient(*, lowered):
        with torch.autocast("cuda", torch.bfloat16, enabled=lowered):
            scores = model.score(model.embed(features), mask)
        loss = nn.functional.mse_loss(scores.float(), labels)
        parts = torch.autograd.grad(loss, list(model.parameters()))
        return scores.detach().float(), torch.cat([part.flatten() for part in parts])

    exact, ours = scores_and_gradient(lowered=False), scores_and_gradient(lowered=True)
    for module in (dense, attend):
        monkeypatch.setattr(module, "lowers_on_gpu", lambda _: False)
    usual = scores_and_gradient(lowered=True)
    for due, found, by_torch in zip(exact, ours, usual, strict=True):
        assert (found - due).norm() < 1.5 * (by_torch - due).norm()


def test_a_gpu_for_which_nothing_compiles_goes_through_torch(monkeypatch, caplog):
    device = torch.device("cuda", 99)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    assert not compiles_for(device)
    assert "cuda:99 goes without Triton's kernels" in caplog.text


def test_numbers_stay_with_torch_where_there_is_no_gpu():
    assert not dense.lowers_on_gpu(torch.ones(2))
    with torch.autocast("cpu", torch.bfloat16):
        assert not dense.lowers_on_gpu(torch.ones(2))
