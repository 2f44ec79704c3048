"""DLCM's recurrence in training beside packed sequences through `nn.GRU` of the same sizes.

Both take the documents' input vectors and give every state, forward and backward, over lists at
most a tenth shorter than N, as batches of length-sorted lists are. The limit is the time of all
matrix products at the rate of a large one in the same run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from shuffleproof.core.bench.peak import MatrixProduct, profile_in_words
from shuffleproof.core.bench.result import BenchRow, interleave
from shuffleproof.core.models.config import DLCM_PRESETS
from shuffleproof.core.models.recurrence import GatedRecurrence

FEATURES = 46
PEER = "pack_padded_sequence + nn.GRU"


@dataclass(frozen=True)
class Size:
    """A batch of the recurrence.

    Attributes:
        preset: whose widths.
        docs: documents of the longest list.
        lists: lists a batch.
        floor: least ratio; None where none is set.
    """

    preset: str
    docs: int
    lists: int
    floor: float | None


# 256 lists are the paper's batch; its own width at 240 documents takes minutes when packed.
SIZES = (Size("tuned", 40, 256, 2.0), Size("tuned", 240, 256, 10.0), Size("paper", 40, 64, None))
QUICK = (Size("small", 40, 16, None),)


def training(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """Forward and backward over one batch, with the reset gate before and after the product."""
    return [row for size in (QUICK if quick else SIZES) for row in _rows(size)]


def _rows(size: Size) -> Iterator[BenchRow]:
    config = DLCM_PRESETS[size.preset]
    width, hidden = config.input_width(FEATURES), config.hidden_width(FEATURES)
    generator = torch.Generator().manual_seed(0)
    shortest = size.docs - size.docs // 10
    lengths = torch.randint(shortest, size.docs + 1, (size.lists,), generator=generator)
    lengths[0] = size.docs
    lengths = lengths.sort(descending=True).values
    vectors = torch.randn(size.lists, size.docs, width, generator=generator)
    grads = torch.randn(size.lists, size.docs, hidden, generator=generator)
    grads *= (torch.arange(size.docs) < lengths[:, None])[..., None]
    product = MatrixProduct(torch.float32)
    runs = [_ours(vectors, lengths, grads, reset_after=after) for after in (False, True)]
    *ours, peer, _ = interleave(
        *runs,
        _packed(vectors, lengths, grads),
        product,
        repeats=2 if size.docs > 40 else 7,
    )
    rate = product.rate
    # Three gates: the vectors' product and its weights' gradient, the state's and its two.
    operations = 2 * int(lengths.sum()) * 3 * hidden * (2 * width + 3 * hidden)
    for reset, seconds, run in zip(("before", "after"), ours, runs, strict=True):
        yield BenchRow(
            job=f"dlcm-train N={size.docs} {size.preset} width, reset {reset}",
            ours=seconds,
            peer=peer,
            peer_name=PEER,
            ratio=peer / seconds,
            floor=size.floor,
            limit=operations / rate,
            share_of_limit=operations / rate / seconds,
            note=f"{size.lists} lists, {width} → {hidden}; a large matrix product's "
            f"{rate / 1e9:.0f} Gflop/s allow {peer * rate / operations:.1f} × at most; "
            f"{profile_in_words(run, operations / rate)}",
        )


def _ours(
    vectors: Tensor, lengths: Tensor, grads: Tensor, *, reset_after: bool
) -> Callable[[], object]:
    hidden = grads.shape[-1]
    products = nn.Linear(vectors.shape[-1], 3 * hidden)
    walk = GatedRecurrence(hidden, backwards=True, reset_after=reset_after)
    parameters = [*products.parameters(), *walk.parameters()]
    mask = torch.arange(vectors.shape[1]) < lengths[:, None]

    def run() -> None:
        states, _ = walk.of_vectors(vectors, (products.weight, products.bias), mask)
        torch.autograd.grad((states * grads).sum(), parameters)

    return run


def _packed(vectors: Tensor, lengths: Tensor, grads: Tensor) -> Callable[[], object]:
    peer = nn.GRU(vectors.shape[-1], grads.shape[-1], batch_first=True)
    parameters = list(peer.parameters())

    def run() -> None:
        packed, _ = peer(pack_padded_sequence(vectors, lengths, batch_first=True))
        states, _ = pad_packed_sequence(packed, batch_first=True)
        torch.autograd.grad((states * grads).sum(), parameters)

    return run


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"dlcm-train": training}
