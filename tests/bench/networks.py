"""SetRank next to `nn.TransformerEncoder`, DLCM next to `nn.GRU`, batches by length or at random.

SetRank and its peer have the same depth, width, heads and inner width; both get embedded documents,
and the peer runs in float32. DLCM's recurrence and its peer get the documents' input vectors and
return every state, over lists at most a tenth shorter than N.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import HeldLists, on_device
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.losses.listwise import attention_rank
from shuffleproof.core.models.config import DLCM_PRESETS, SETRANK_PRESETS
from shuffleproof.core.models.recurrence import GatedRecurrence
from shuffleproof.core.models.setrank import SetRank
from shuffleproof.core.training.network import Network, arithmetic, built, held_scores, scores_of
from tests.bench.row import Row, interleave

PAPER = SETRANK_PRESETS["paper"]
PEER = "nn.TransformerEncoder, fp32"
LOW = torch.bfloat16
SCORING = ((40, 64, (0.95, 2.3)), (240, 16, (1.4, 4.0)))
"""Documents a list, lists, and the floors of float32 and bf16."""


def setrank_score(*, quick: bool) -> Iterator[Row]:
    """Scores of embedded lists in float32 and bf16."""
    for docs, count, floors in SCORING:
        embedded = torch.randn(4 if quick else count, docs, PAPER.width)
        models = [SetRank(1, PAPER).eval(), SetRank(1, PAPER).eval().to(LOW)]
        peer, *ours = interleave(
            scoring_of(encoder().eval(), embedded),
            *(
                scoring_of(model.score, embedded.to(dtype))
                for model, dtype in zip(models, (torch.float32, LOW), strict=True)
            ),
            repeats=7,
        )
        yield Row(f"score SetRank fp32, N={docs}", ours[0], peer, PEER, floors[0])
        yield Row(
            f"score SetRank bf16, N={docs}", ours[1], peer, PEER, floors[1] * has_amx() or None
        )


def setrank_train(*, quick: bool) -> list[Row]:
    """A training step in bf16 autocast: forward, attention rank, backward."""
    docs, count = 40, 2 if quick else 32
    embedded = torch.randn(count, docs, PAPER.width)
    labels = torch.randint(0, 3, (count, docs)).float()
    model = SetRank(1, PAPER)
    plain = nn.Sequential(encoder(), nn.Linear(PAPER.width, 1), nn.Flatten(1))
    peer, ours = interleave(
        step_of(plain, plain, embedded, labels, torch.float32),
        step_of(model, model.score, embedded, labels, LOW),
        repeats=7,
    )
    floor = 2.0 if has_amx() else None
    return [Row(f"train SetRank bf16, N={docs}, one step", ours, peer, PEER, floor)]


def encoder() -> nn.TransformerEncoder:
    """PyTorch's own encoder of the same sizes, without dropout."""
    layer = nn.TransformerEncoderLayer(
        PAPER.width, PAPER.heads, PAPER.feed_forward, dropout=0.0, batch_first=True
    )
    return nn.TransformerEncoder(layer, PAPER.depth)


def has_amx() -> bool:
    """Return whether this processor multiplies bf16 matrices in tiles."""
    facts = Path("/proc/cpuinfo")
    return facts.exists() and "amx_bf16" in facts.read_text(encoding="utf-8")


def scoring_of(function: Callable[[Tensor], Tensor], embedded: Tensor) -> Callable[[], object]:
    """A call of the function without gradients."""
    return torch.inference_mode()(lambda: function(embedded))


def step_of(
    model: nn.Module,
    scores: Callable[[Tensor], Tensor],
    embedded: Tensor,
    labels: Tensor,
    dtype: torch.dtype,
) -> Callable[[], object]:
    """A training step without the optimiser; the input layer has no part in it."""
    real = torch.ones_like(labels, dtype=torch.bool)
    parameters = [weight for name, weight in model.named_parameters() if "input" not in name]

    def step() -> None:
        with torch.autocast("cpu", LOW, enabled=dtype == LOW):
            predicted = scores(embedded)
        torch.autograd.grad(attention_rank(predicted, labels, real).mean(), parameters)

    return step


def dlcm_train(*, quick: bool) -> list[Row]:
    """Forward and backward of the recurrence over one batch."""
    docs, count, features = 40, 16 if quick else 256, 46
    config = DLCM_PRESETS["small" if quick else "tuned"]
    width, hidden = config.input_width(features), config.hidden_width(features)
    torch.manual_seed(0)
    lengths = torch.randint(docs - docs // 10, docs + 1, (count,)).sort(descending=True).values
    lengths[0] = docs
    mask = torch.arange(docs) < lengths[:, None]
    vectors = torch.randn(count, docs, width)
    grads = torch.randn(count, docs, hidden) * mask[..., None]
    products = nn.Linear(width, 3 * hidden)
    recurrence = GatedRecurrence(hidden, backwards=True, reset_after=False)
    peer = nn.GRU(width, hidden, batch_first=True)

    def ours() -> None:
        states, _ = recurrence.of_vectors(vectors, (products.weight, products.bias), mask)
        weights = [*products.parameters(), *recurrence.parameters()]
        torch.autograd.grad((states * grads).sum(), weights)

    def theirs() -> None:
        packed, _ = peer(pack_padded_sequence(vectors, lengths, batch_first=True))
        states, _ = pad_packed_sequence(packed, batch_first=True)
        torch.autograd.grad((states * grads).sum(), list(peer.parameters()))

    seconds, packed = interleave(ours, theirs, repeats=7)
    note = f"{count} lists, {width} → {hidden}"
    return [Row(f"train DLCM, N={docs}, one step", seconds, packed, "packed nn.GRU", 2.5, note)]


def mixed_lengths(*, quick: bool) -> list[Row]:
    """Lists as long as those of MSLR-WEB30K, batched by length or at random and padded."""
    draws = np.random.default_rng(5)
    lengths = np.exp(draws.normal(np.log(105), 0.6, 192 if quick else 640)).astype(np.int64)
    lengths = np.clip(lengths, 1, 1251)
    lengths[0] = 1251  # the longest list of MSLR-WEB30K; 105 is its median
    lists = held_lists(lengths, draws)
    network = built(SETRANK_PRESETS["small" if quick else "tuned"], 136, 5)
    batches = np.split(draws.permutation(len(lengths)), range(64, len(lengths), 64))
    ours, peer = interleave(
        lambda: held_scores(network, lists),
        lambda: score_batches(network, lists, batches),
        repeats=3,
    )
    note = f"{len(lengths)} lists of 1 to 1,251 documents"
    return [Row("score mixed lengths", ours, peer, "random batches of 64", 3.0, note)]


def held_lists(lengths: np.ndarray, draws: np.random.Generator) -> HeldLists:
    """Lists of random documents, on the CPU."""
    docs = int(lengths.sum())
    nothing = np.zeros((docs, 0), dtype=np.int32)
    lists = CandidateLists(
        offsets=ragged.offsets_of(lengths),
        queries=np.arange(len(lengths)),
        rows=np.arange(docs),
        ranks=nothing,
        prior=nothing.astype(np.float32),
    )
    features = draws.normal(size=(docs, 136)).astype(np.float32)
    return on_device(lists, features, np.zeros(docs, dtype=np.float32), "cpu")


@torch.inference_mode()
def score_batches(network: Network, lists: HeldLists, batches: list[np.ndarray]) -> None:
    """Score the batches in float32, each padded to its longest list."""
    with arithmetic("fp32", "cpu"):
        for batch in batches:
            scores_of(network, lists.batch(batch))
