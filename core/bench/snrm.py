"""SNRM's training step beside the same network made of stock modules over padded texts.

The peer reads windows by `nn.Conv1d` over texts padded to the longest of their batch, as tutorials
do, and masks what is padding; ours reads the windows that there are, one after the other. Both
begin with the same weights and lose the same.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.models.snrm import SNRM, SNRMConfig, l1, pairwise_hinge
from shuffleproof.core.seeds import generator

TERMS, QUERIES = 20_000, 8
LENGTH, SPREAD = 80, 0.6
"""Words of a document in the middle, and the standard deviation of their logarithm: abstracts."""

FLOOR = 1.5
PENALTY = 1e-7
ALIKE = 1e-3


class Plain(nn.Module):
    """The network of stock modules, with the weights of ours."""

    def __init__(self, network: SNRM) -> None:
        """Copy the weights."""
        super().__init__()
        self.window, width = network.config.window, network.config.embedding
        weights = network.embedding.weight.detach().clone()
        self.embedding = nn.Embedding(len(weights), width, padding_idx=len(weights) - 1)
        self.embedding.load_state_dict({"weight": weights})
        linear = [module for module in network.modules() if isinstance(module, nn.Linear)]
        self.convolution = nn.Conv1d(width, linear[0].out_features, self.window)
        weight = linear[0].weight.view(-1, self.window, width).transpose(1, 2)
        self.convolution.load_state_dict({"weight": weight, "bias": linear[0].bias})
        layers: list[nn.Module] = [nn.ReLU()]
        for layer in linear[1:]:
            copy = nn.Linear(layer.in_features, layer.out_features)
            copy.load_state_dict(layer.state_dict())
            layers += [copy, nn.ReLU()]
        self.rest = nn.Sequential(*layers)

    def forward(self, words: Tensor, windows: Tensor) -> Tensor:
        """Vectors [texts, dimensions] of words [texts, longest], `windows` of which count."""
        read = self.convolution(self.embedding(words).transpose(1, 2)).transpose(1, 2)
        vectors = self.rest(read)
        mask = torch.arange(vectors.shape[1]) < windows[:, None]
        return (vectors * mask[..., None]).sum(1) / windows[:, None]


def training_step(quick: bool = False) -> BenchRow:  # noqa: FBT001, FBT002 (every job's form)
    """One step of the paper's network on triples: forward, hinge and L1, backward, Adam."""
    config = SNRMConfig(dimensions=1000) if quick else SNRMConfig()
    network = SNRM(config, TERMS, torch.Generator().manual_seed(0))
    plain = Plain(network)
    draw = generator(0, "snrm bench")
    query_words = [draw.integers(0, TERMS, length) for length in draw.integers(2, 11, QUERIES)]
    lengths = np.exp(draw.normal(np.log(LENGTH), SPREAD, 2 * QUERIES)).astype(int) + 1
    document_words = [draw.integers(0, TERMS, length) for length in lengths]
    ours = _step(network, _flat(query_words, config.window), _flat(document_words, config.window))
    peer = _step(plain, _padded(query_words, config.window), _padded(document_words, config.window))
    lost = ours(), peer()
    if abs(lost[0] - lost[1]) > ALIKE * abs(lost[1]):
        message = f"the networks differ: {lost}"
        raise AssertionError(message)
    note = f"{QUERIES} queries, {2 * QUERIES} documents of {lengths.min()} to {lengths.max()} words"
    seconds = interleave(ours, peer, repeats=3)
    peer_name = "stock modules, padded"
    return comparison_row(
        "a training step of SNRM", (seconds[0], seconds[1]), peer_name, None if quick else FLOOR,
        note,
    )  # fmt: skip


def _step(
    network: nn.Module, query_words: tuple[Tensor, ...], document_words: tuple[Tensor, ...]
) -> Callable[[], float]:
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    sign = torch.ones(QUERIES)

    def step() -> float:
        queries, documents = network(*query_words), network(*document_words)
        better, worse = ((queries * half).sum(-1) for half in documents.chunk(2))
        loss = pairwise_hinge(better, worse, sign).mean()
        whole = loss + PENALTY * (l1(queries) + torch.stack([*map(l1, documents.chunk(2))]).sum())
        adam.zero_grad()
        whole.backward()  # type: ignore[no-untyped-call]
        adam.step()
        return float(whole.detach())

    return step


def _long(texts: Sequence[np.ndarray], least: int) -> list[Tensor]:
    """Texts as words, those shorter than a window filled up with padding."""
    filled = [np.append(text, [TERMS] * max(0, least - len(text))) for text in texts]
    return [torch.from_numpy(text.astype(np.int64)) for text in filled]


def _flat(texts: Sequence[np.ndarray], window: int) -> tuple[Tensor, Tensor, Tensor]:
    """Windows, their texts, and 1 / windows of each text, as our network takes them."""
    each = [text.unfold(0, window, 1) for text in _long(texts, window)]
    counts = torch.tensor([len(windows) for windows in each])
    owners = torch.repeat_interleave(torch.arange(len(each)), counts)
    return torch.cat(each), owners, 1 / counts


def _padded(texts: Sequence[np.ndarray], window: int) -> tuple[Tensor, Tensor]:
    """Words [texts, longest], and how many windows each text has."""
    every = _long(texts, window)
    words = nn.utils.rnn.pad_sequence(every, batch_first=True, padding_value=TERMS)
    return words, torch.tensor([len(text) - window + 1 for text in every])
