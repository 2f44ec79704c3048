"""GSF: a net scores groups of m documents jointly, a document's scores in its groups are averaged.

Ai et al., "Learning Groupwise Multivariate Scoring Functions Using Deep Neural Networks", ICTIR
2019. Tensors are [lists, docs, …], real documents first; mask True = real. Every group is a window
that starts at one place and takes the places one stride, two strides, … further, round the list:
stride 1 is TF-Ranking's circular window, strides 1 … n − 1 together are all ordered pairs.
"""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.dense import dense
from shuffleproof.core.models.mlp import Layer, unit

KEPT = 1 << 26  # hidden numbers of all groups that training keeps; above it they are made again


class GSF(nn.Module):
    """Groups of m documents, a net with m outputs, the mean or sum over a document's groups.

    A document stands once at each of the m slots of a window in every pass. Lists shorter than m
    go round again: a document then stands at several slots of one window. A list of one document
    is paired with itself.

    Args:
        features: how many features a document has.
        config: the architecture.

    >>> from shuffleproof.core.models.config_groups import GROUP_PRESETS
    >>> GSF(3, GROUP_PRESETS["small"])(torch.ones(2, 5, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(self, features: int, config: GroupConfig) -> None:
        super().__init__()
        self.config = config
        widths = (*config.widths, config.group)
        self.products = nn.Linear(features, config.group * widths[0], bias=False)
        # The layer reads m documents side by side: fan-in is m times the features
        bound = (features * config.group) ** -0.5
        nn.init.uniform_(self.products.weight, -bound, bound)
        self.bias = nn.Parameter(torch.zeros(widths[0]))
        self.layers = nn.ModuleList(Layer(before, after) for before, after in pairwise(widths))
        self.units = nn.ModuleList(
            unit(width, config.norm, config.activation) for width in config.widths
        )

    def embed(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs products"]:
        """A document's product with the first layer, for each of the m slots it can stand at."""
        return dense(features, self.products.weight)

    def score(
        self,
        embedded: Float[Tensor, "lists docs products"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        start: Int64[Tensor, " lists"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """One score a document, higher is better; 0 at pads.

        Args:
            embedded: from `embed`, in the input order.
            mask: True = real, real documents first; None = every document is.
            start: a number a list that decides its shuffles; None: circular windows are formed in
                the order given, sampled ones after the same shuffles of places for every list.
        """
        lists, docs, _ = embedded.shape
        lengths = torch.full((lists,), docs, device=embedded.device)
        lengths = lengths if mask is None else mask.sum(1)
        products = embedded.view(lists, docs, self.config.group, -1)
        total = self._total(products, lengths, start)
        if self.config.aggregation == "mean":
            passes = self.config.passes(docs)
            # Exhaustive: n − 1 strides, so the number of groups depends on the list
            passes_of_list = (lengths - 1).clamp(min=1)[:, None] if self._exhaustive else passes
            total = total / (passes_of_list * self.config.group)
        return total if mask is None else torch.where(mask, total, 0)

    def forward(
        self,
        features: Float[Tensor, "lists docs features"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        start: Int64[Tensor, " lists"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """Scores from features; arguments as in `score`."""
        real = features if mask is None else torch.where(mask[..., None], features, 0)
        return self.score(self.embed(real), mask, start)

    @property
    def _exhaustive(self) -> bool:
        return self.config.grouping == "exhaustive"

    def _total(
        self,
        products: Float[Tensor, "lists docs slots width"],
        lengths: Int64[Tensor, " lists"],
        start: Int64[Tensor, " lists"] | None,
    ) -> Float[Tensor, "lists docs"]:
        """The sum of every document's scores over all passes."""
        lists, docs = products.shape[:2]
        passes = int(self.config.passes(docs))
        hidden = lists * docs * passes * sum((*self.config.widths, self.config.group))
        # All pairs of long lists do not fit into memory: backward computes a pass again
        recomputed = torch.is_grad_enabled() and hidden > KEPT
        total = products.new_zeros(lists, docs)
        for number in range(passes):
            arguments = (products, lengths, start, number)
            if recomputed:
                scores = checkpoint(
                    self._pass, *arguments, use_reentrant=False, preserve_rng_state=False
                )
            else:
                scores = self._pass(*arguments)
            total = total + scores
        return total

    def _pass(
        self, products: Tensor, lengths: Tensor, start: Tensor | None, number: int
    ) -> Float[Tensor, "lists docs"]:
        """Every document's scores in one pass of windows, added up."""
        if self._exhaustive:
            scores = self._windows(products, lengths, number + 1)
            # Strides end at n − 1; a list of one document is paired with itself in the first pass
            return torch.where((lengths > number + 1)[:, None] | (number == 0), scores, 0)
        if self.config.grouping == "circular" and start is None:
            return self._windows(products, lengths, 1)
        order = shuffled_places(lengths, products.shape[1], start, number)
        index = order[:, :, None, None].expand_as(products)
        scores = self._windows(products.gather(1, index), lengths, 1)
        # Back to the places before the shuffle
        return scores.gather(1, order.argsort(1))

    def _windows(
        self, products: Tensor, lengths: Tensor, stride: int
    ) -> Float[Tensor, "lists docs"]:
        """Of each place: its scores at the m slots of the windows that it is in, added up."""
        places = torch.arange(products.shape[1], device=products.device)[:, None]
        ahead = stride * torch.arange(self.config.group, device=products.device)
        around = lengths.clamp(min=1)[:, None, None]
        # Slot j of window w holds place w + j · stride, so place p is in window p − j · stride
        members, owners = (places + ahead) % around, (places - ahead) % around
        # The first layer of a group is the sum of its members' products: made once a document
        x = self.bias.to(products.dtype)
        for slot in range(self.config.group):
            index = members[:, :, slot, None].expand(-1, -1, products.shape[-1])
            x = x + products[:, :, slot].gather(1, index)
        for layer, before in zip(self.layers, self.units, strict=True):
            x = layer(before(x))
        return x.gather(1, owners).sum(-1)


def shuffled_places(
    lengths: Int64[Tensor, " lists"],
    docs: int,
    start: Int64[Tensor, " lists"] | None,
    number: int,
) -> Int64[Tensor, "lists docs"]:
    """A shuffle of each list's real places, pads behind them: which place comes 0-th, 1st, ….

    Args:
        lengths: real documents of each list.
        docs: places, padding included.
        start: decides the shuffle, list by list; None = 0.
        number: of the shuffle, from 0.

    >>> shuffled_places(torch.tensor([3, 2]), 4, None, 0).sort(1).values.tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    start = torch.zeros_like(lengths) if start is None else start
    places = torch.arange(docs, device=lengths.device)
    # Hashes instead of a generator: the same shuffle on every device and in every batch
    keys = _mixed_bits(_mixed_bits(_mixed_bits(start) + number)[:, None] + places)
    last_key = torch.iinfo(torch.int64).max
    return keys.masked_fill(places >= lengths[:, None], last_key).argsort(dim=1, stable=True)


def _mixed_bits(values: Tensor) -> Tensor:
    """SplitMix64's output function (Steele, Lea & Flood, OOPSLA 2014) in wrapping int64."""
    values = values * _as_signed(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ _shifted_right(values, shift)) * _as_signed(factor)
    return values ^ _shifted_right(values, 31)


def _shifted_right(values: Tensor, by: int) -> Tensor:
    """A logical shift to the right: no sign comes in."""
    return (values >> by) & ((1 << (64 - by)) - 1)


def _as_signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
