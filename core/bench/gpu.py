"""SetRank on a GPU: first that it is right, then how much of the device it uses.

Float32 scores, losses and gradients must equal the CPU's within 1e-4 relative, TF32 off, before
anything is timed. What is timed is the product: epochs of its training loop, scores of its lists.
Shares count the operations of the model's blocks against the bf16 matrix product, which runs in
turns with what it bounds. Without a GPU all of it is rehearsed with small sizes on the CPU, and no
figure has a floor.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

import torch
from torch import Tensor

from shuffleproof.core.bench.epochs import data_of, graded_lists, timed
from shuffleproof.core.bench.peak import MatrixProduct, scoring_operations
from shuffleproof.core.bench.result import BenchRow, interleave
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.losses.listwise import attention_rank
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.models.config import SETRANK_PRESETS, SetRankConfig
from shuffleproof.core.models.setrank import SetRank
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.training.network import built, held_scores

CONFIG = SETRANK_PRESETS["paper"]
CLOSE, DRAWS = 1e-4, 5
LOW = torch.bfloat16
Block = Literal["msab", "imsab"]
BLOCKS: tuple[Block, ...] = ("msab", "imsab")
REHEARSAL = "GPU not measured: a rehearsal on the CPU with small sizes"
PEAK = "its products at the bf16 matrix peak"


@dataclass(frozen=True)
class Size:
    """Lists of one length, and what is aimed at.

    Attributes:
        docs: documents a list.
        lists: lists of the set.
        batch: lists a training step: the paper's recipe has 32, whose launches take longest.
        share: least share of the matrix peak in training.
        seconds: an epoch's, at most; None where none is set.
    """

    docs: int
    lists: int
    batch: int
    share: float
    seconds: float | None = None


@dataclass(frozen=True)
class Place:
    """Where it runs and how large it is there.

    Attributes:
        device: cuda, or cpu for a rehearsal.
        sizes: of the training sets.
        preset: of the networks.
        features: of a document.
        table: training, validation and test queries of the table, and its seeds.
        changes: of the table's recipes.
    """

    device: str
    sizes: tuple[Size, ...]
    preset: str
    features: int
    table: tuple[int, int, int, int]
    changes: dict[str, Any]

    @classmethod
    def of_this_machine(cls, *, quick: bool) -> "Place":
        """The GPU where there is one; a rehearsal on the CPU elsewhere."""
        if not torch.cuda.is_available():
            sizes = tuple(
                replace(size, lists=8, batch=4 if size.batch < 1024 else 8, docs=size.docs // 4)
                for size in SIZES
            )
            return cls("cpu", sizes, "small", 8, (8, 4, 4, 1), {"epochs": 1, "least_steps": 1})
        sizes = tuple(replace(size, lists=4 * size.batch) for size in SIZES) if quick else SIZES
        table = (600, 200, 200, 1) if quick else TABLE
        return cls("cuda", sizes, "paper", FEATURES, table, {"epochs": 2} if quick else {})

    def config(self, block: Block) -> SetRankConfig:
        """The architecture of the preset with this block."""
        return replace(SETRANK_PRESETS[self.preset], block=block)

    def row(self, row: BenchRow) -> BenchRow:
        """The row of a GPU; of a rehearsal one without figures, which stand in its note."""
        if self.device == "cuda" or row.ratio is None:
            return row
        figures = f"{row.ours:.3g} s, {row.ratio:.3g} × {row.peer_name} where a GPU's goal is"
        note = f"{row.note}; {figures} {row.floor:g}"
        return BenchRow(row.job, None, None, row.peer_name, None, None, note=note)

    @property
    def name(self) -> str:
        """The device, or that this is a rehearsal."""
        return torch.cuda.get_device_name() if self.device == "cuda" else REHEARSAL


FEATURES = 136
SIZES = (
    Size(40, 19_000, 32, 0.25, 1.0), Size(40, 19_000, 1024, 0.25, 1.0),
    Size(240, 3_200, 170, 0.35),
)  # fmt: skip
TABLE = (18_919, 6_306, 6_306, 3)
"""Training, validation and test queries of MSLR-WEB30K's fold 1, and seeds."""

TABLE_SECONDS, TABLE_DOCS = 600.0, 40
SCORING_SHARE = 0.40
IMSAB_TIMES = 1.3
"""IMSAB may take so many times what its operations would at MSAB's rate."""


def training(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """Epochs of MSAB and IMSAB in bf16: seconds, share of the matrix peak, one beside the other."""
    place = Place.of_this_machine(quick=quick)
    wrong = _wrong("gpu-train", place)
    rows = wrong or [row for size in place.sizes for row in _training_rows(size, place)]
    return [place.row(row) for row in rows]


def scoring(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """Scores of the whole set in bf16."""
    place = Place.of_this_machine(quick=quick)
    by_length = {size.docs: size for size in place.sizes}.values()
    rows = _wrong("gpu-score", place) or [_scoring_row(size, place) for size in by_length]
    return [place.row(row) for row in rows]


def table(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """The neural rows of Table 2: trained with every seed, scored and measured on the test part.

    In bf16 where that pays; they are scored in float32.
    """
    place = Place.of_this_machine(quick=quick)
    *parts, seeds = place.table
    train, valid, test = (graded_lists(count, TABLE_DOCS, place.features) for count in parts)
    names = [name for name in expand(["table2"]) if name in FIXED]
    measure, seconds, values = Measure.parse("NDCG@10"), [], []
    for name in names:
        start = time.perf_counter()
        for seed in range(seeds):
            changes = {"precision": "auto", **place.changes}
            spec = NeuralSpec.preset(name, place.preset, seed=seed, **changes)
            scores = run_to_end(spec.fit(train, valid)).score(test.dataset, test.lists)
        values.append(mean_of(measure, evaluate([measure], test.dataset, test.lists, scores)[0]))
        seconds.append(time.perf_counter() - start)
    each = [
        f"{name} {elapsed:.1f} s (NDCG@10 {value:.3f})"
        for name, elapsed, value in zip(names, seconds, values, strict=True)
    ]
    note = f"{place.name}; {parts[0]} training queries, seeds {seeds}: {', '.join(each)}"
    return [place.row(_within("gpu-table2, neural rows", sum(seconds), TABLE_SECONDS, note))]


def difference_from_cpu(device: str, docs: int) -> float:
    """Relative difference of scores, losses and gradient in float32, TF32 off: the largest of them.

    Each is one vector, whose difference is measured by its length: some parameters have a gradient
    of nothing but rounding (a bias that moves all scores of a list alike). The median of DRAWS
    batches of two lists: rounding moves a unit over relu's bend now and then.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        torch.manual_seed(0)
        model = SetRank(FEATURES, CONFIG)
        drawn = torch.Generator().manual_seed(0)
        batches = [
            (
                torch.randn(2, docs, FEATURES, generator=drawn),
                torch.randint(0, 3, (2, docs), generator=drawn).float(),
            )
            for _ in range(DRAWS)
        ]
        due = [_facts(model, *batch) for batch in batches]
        model = model.to(device)
        computed = [_facts(model, *(part.to(device) for part in batch)) for batch in batches]
    finally:
        torch.set_float32_matmul_precision(before)
    return median(
        max(float((b.cpu() - a).norm() / a.norm()) for a, b in zip(*both, strict=True))
        for both in zip(due, computed, strict=True)
    )


def _facts(model: SetRank, features: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    scores = model.score(model.embed(features))
    losses = attention_rank(scores, labels, torch.ones_like(labels, dtype=torch.bool))
    gradient = torch.autograd.grad(losses.mean(), list(model.parameters()))
    return scores.detach(), losses.detach(), torch.cat([part.flatten() for part in gradient])


def _wrong(job: str, place: Place) -> list[BenchRow]:
    """The row of a device that computes otherwise than the CPU; none where it is right."""
    apart = max(difference_from_cpu(place.device, size.docs) for size in place.sizes)
    if apart <= CLOSE:
        return []
    note = f"float32 differs from the CPU by {apart:.1e} relative: not timed"
    return [BenchRow(job, None, None, "CPU float32", None, None, note=note)]


def _training_rows(size: Size, place: Place) -> Iterator[BenchRow]:
    data = data_of(size.lists, size.docs, place.features, place.device)
    product = MatrixProduct(LOW, place.device)
    specs = [
        NeuralSpec.preset(
            f"setrank-{block}", place.preset, precision="bf16", batch_lists=size.batch,
            batch_documents=size.batch * size.docs,
        )
        for block in BLOCKS
    ]  # fmt: skip
    msab, imsab = timed(specs, data, product)
    due, due_imsab = (
        3 * scoring_operations(place.config(block), size.lists, size.docs) / product.rate
        for block in BLOCKS
    )
    shape = f"N={size.docs}, batches of {size.batch}"
    note = f"{place.name}; {size.lists} lists"
    yield _share(f"gpu-train msab {shape}", msab, due, size.share, note)
    if size.seconds is not None:
        yield _within(f"gpu-train msab epoch {shape}", msab, size.seconds, note)
    flops = due_imsab / due
    allowed = IMSAB_TIMES * flops * msab
    note = f"{note}; {flops:.2f} × MSAB's operations, {imsab / msab:.2f} × its time"
    peer = f"{IMSAB_TIMES} × its operations at MSAB's rate"
    yield BenchRow(
        f"gpu-train imsab {shape}",
        imsab,
        allowed,
        peer,
        allowed / imsab,
        1.0,
        note=note,
    )


def _scoring_row(size: Size, place: Place) -> BenchRow:
    data = data_of(size.lists, size.docs, place.features, place.device)
    spec = NeuralSpec.preset("setrank-msab", place.preset)
    network = built(spec.model, place.features, 0).to(place.device).eval()
    product = MatrixProduct(LOW, place.device)
    seconds, _ = interleave(lambda: held_scores(network, data.train, "bf16"), product)
    due = scoring_operations(place.config("msab"), size.lists, size.docs) / product.rate
    note = f"{place.name}; {size.lists} lists"
    return _share(f"gpu-score msab N={size.docs}", seconds, due, SCORING_SHARE, note)


def _share(job: str, seconds: float, limit: float, least: float, note: str) -> BenchRow:
    share = limit / seconds
    return BenchRow(job, seconds, limit, PEAK, share, least, limit, share, note)


def _within(job: str, seconds: float, most: float, note: str) -> BenchRow:
    goal = f"the goal, {most:g} s"
    return BenchRow(job, seconds, most, goal, most / seconds, 1.0, note=note)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {
    "gpu-train": training,
    "gpu-score": scoring,
    "gpu-table2": table,
}
