"""A small net on two documents side by side; nothing makes it antisymmetric or transitive."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float32
from safetensors.numpy import load_file, save_file

from shuffleproof.core.execution.devices import threads_worth
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.pairs.function import Matrix, PairFunction, PairSpec
from shuffleproof.core.rankers.pairs.training_pairs import TrainingPairs
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.manifest import checkpoint_errors

if TYPE_CHECKING:
    from torch import Tensor


WEIGHTS, UNDER_WAY = "weights.safetensors", "pair-net.safetensors"
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class PairNetSpec(PairSpec):
    """The recipe of a small net on two documents side by side."""

    hidden: int = parameter(
        64, "units of the first layer; the second has half", low=2, high=4096, search=(16, 256)
    )
    epochs: int = parameter(20, "passes over the pairs", low=1, high=10_000)
    batch_pairs: int = parameter(256, "pairs of a step", low=1, high=10**6)
    learning_rate: float = parameter(
        1e-3, "step size of Adam", low=1e-7, high=1, search=(1e-4, 1e-2)
    )
    decay: float = parameter(1e-4, "L2 penalty of all weights", low=0, high=10)

    name: ClassVar[str] = "pair-net"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},  # no paper has it: defaults of ours
        "released": {},
        "tuned": {},  # as paper: more pairs and epochs are no better on held-out queries
        "small": {"pairs": 50, "hidden": 32, "epochs": 10},
    }

    def learn(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """The net after the last epoch; a killed fit goes on from its last whole epoch."""
        fitting = NetFit.start(self, matrix, workspace)
        for loss in fitting.epochs(matrix, training_pairs):
            yield Progress(fitting.done, self.epochs, "epochs", {"loss": loss})
        return fitting.net


@dataclass(frozen=True, eq=False)
class PairNet:
    """f(x, z) = sigmoid(w · relu(V relu(A x + B z + b) + c) + d).

    Attributes:
        arrays: A, B, b, V, c, w and d by these names.
    """

    arrays: Arrays

    def probabilities(self, features: Float32[np.ndarray, "docs features"]) -> Matrix:
        """f(row, column); A x and B z are made once a document."""
        arrays = self.arrays
        pair_inputs = (
            # A [x, z] layer splits into A x + B z: n products instead of n²
            (features @ arrays["A"])[:, None, :]
            + (features @ arrays["B"])[None, :, :]
            + arrays["b"]
        )
        hidden = np.maximum(np.maximum(pair_inputs, 0.0) @ arrays["V"] + arrays["c"], 0.0)
        logits = (hidden @ arrays["w"] + arrays["d"])[..., 0].astype(np.float64)
        # The logistic function by tanh, which cannot overflow
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))

    def save(self, directory: Path) -> None:
        """Write `weights.safetensors`."""
        save_file(self.arrays, directory / WEIGHTS)

    def check(self, features: int) -> None:
        """Look at the shapes.

        Raises:
            ValueError: they do not fit the number of features.
        """
        hidden, second_hidden = self.arrays["V"].shape
        shapes = {"A": (features, hidden), "B": (features, hidden), "b": (hidden,)}
        shapes |= {
            "V": (hidden, second_hidden),
            "c": (second_hidden,),
            "w": (second_hidden, 1),
            "d": (1,),
        }
        if {name: array.shape for name, array in self.arrays.items()} != shapes:
            raise ValueError(f"a net that is not one over {features} features")

    @classmethod
    def load(cls, directory: Path) -> "PairNet":
        """Function that `save` wrote."""
        return cls(load_file(directory / WEIGHTS))


def initial_weights(features: int, spec: PairNetSpec) -> Arrays:
    """First weights, N(0, 2 / inputs) as He et al. (ICCV 2015) draw them, and no offsets."""
    draws = generator(spec.seed, "pair-net", "weights")
    hidden, second_hidden = spec.hidden, max(1, spec.hidden // 2)

    def drawn(inputs: int, rows: int, columns: int) -> np.ndarray:
        return (draws.standard_normal((rows, columns)) * np.sqrt(2.0 / inputs)).astype(np.float32)

    return {
        # The layer reads two documents, so its fan-in is twice the features
        "A": drawn(2 * features, features, hidden),
        "B": drawn(2 * features, features, hidden),
        "b": np.zeros(hidden, np.float32),
        "V": drawn(hidden, hidden, second_hidden),
        "c": np.zeros(second_hidden, np.float32),
        "w": drawn(second_hidden, second_hidden, 1),
        "d": np.zeros(1, np.float32),
    }


@dataclass
class NetFit:
    """A net that learns.

    Attributes:
        spec: the recipe.
        state: its arrays and, under `m.` and `v.` before their names, Adam's two moments.
        done: whole epochs.
        checkpoint: the file that holds the state after each epoch; None: none does.
    """

    spec: PairNetSpec
    state: Arrays
    done: int
    checkpoint: Path | None

    @classmethod
    def start(
        cls,
        spec: PairNetSpec,
        features: Float32[np.ndarray, "docs features"],
        workspace: Path | None,
    ) -> "NetFit":
        """Before the first epoch, or after the last one that a workspace holds."""
        path = None if workspace is None else workspace / UNDER_WAY
        if path is not None and path.is_file():
            with checkpoint_errors(path):
                state = load_file(path)
            return cls(spec, state, int(state.pop("done")[0]), path)
        state = initial_weights(features.shape[1], spec)
        moments = {
            f"{of}.{name}": np.zeros_like(array) for name, array in state.items() for of in "mv"
        }
        return cls(spec, state | moments, 0, path)

    @property
    def net(self) -> PairNet:
        """The net as it stands."""
        return PairNet({name: array for name, array in self.state.items() if "." not in name})

    def epochs(
        self, features: Float32[np.ndarray, "docs features"], training_pairs: TrainingPairs
    ) -> Iterator[float]:
        """Adam on the cross entropy of the pairs; the mean loss of each epoch.

        Args:
            features: normalised.
            training_pairs: pairs of rows of the features.
        """
        import torch  # noqa: PLC0415 (recipes load without it)

        spec, names = self.spec, tuple(self.net.arrays)
        tensors = {name: torch.from_numpy(array.copy()) for name, array in self.state.items()}
        inputs, better, weights = map(
            torch.from_numpy, (features.copy(), training_pairs.better, training_pairs.weights)
        )
        first_rows, second_rows = (
            torch.from_numpy(training_pairs.document),
            torch.from_numpy(training_pairs.other),
        )
        batches = -(-len(better) // spec.batch_pairs)
        for epoch in range(self.done, spec.epochs):
            # By epoch, so that a resumed fit draws what the killed one would have drawn
            drawn = generator(spec.seed, "pair-net", epoch).permutation(len(better))
            order, total = torch.from_numpy(drawn), 0.0
            for batch, rows in enumerate(torch.split(order, spec.batch_pairs), start=1):
                sides = inputs[first_rows[rows]], inputs[second_rows[rows]]
                step = epoch * batches + batch
                with threads_worth(len(rows) * sum(tensors[name].numel() for name in names)):
                    loss = _step(tensors, names, sides, (better[rows], weights[rows]), spec, step)
                total += loss * len(rows)
            self.state = {name: tensor.numpy().copy() for name, tensor in tensors.items()}
            self.done = epoch + 1
            self._save_state()
            yield total / len(better)

    def _save_state(self) -> None:
        """Write the state, by rename."""
        if self.checkpoint is not None:
            with checkpoint_errors(self.checkpoint):
                self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
                fresh = self.checkpoint.with_suffix(".new")
                save_file(self.state | {"done": np.array([self.done])}, fresh)
                # Atomic: a kill leaves the old checkpoint or the new one
                fresh.replace(self.checkpoint)


def _step(  # noqa: PLR0913, PLR0917 (one step of Adam needs all of them)
    tensors: "dict[str, Tensor]",
    names: tuple[str, ...],
    sides: "tuple[Tensor, Tensor]",
    targets: "tuple[Tensor, Tensor]",
    spec: PairNetSpec,
    step: int,
) -> float:
    """One step of Adam (Kingma & Ba 2015) on a batch; the loss before it."""
    import torch  # noqa: PLC0415 (likewise)
    from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: PLC0415 (likewise)

    parameters = {name: tensors[name].requires_grad_(True) for name in names}  # noqa: FBT003
    hidden = (sides[0] @ parameters["A"] + sides[1] @ parameters["B"] + parameters["b"]).relu()
    logits = (
        (hidden @ parameters["V"] + parameters["c"]).relu() @ parameters["w"] + parameters["d"]
    )[:, 0]
    better, weights = targets
    # From logits: log(sigmoid) of a probability would underflow
    loss = binary_cross_entropy_with_logits(logits, better, weight=weights)
    torch.autograd.backward(loss)
    for name, tensor in parameters.items():
        gradient = tensor.grad
        tensors[name] = value = tensor.detach()
        if gradient is None:
            continue
        # An L2 penalty goes through the moments; AdamW would apply it to the weights
        gradient = gradient + spec.decay * value
        mean, square = tensors[f"m.{name}"], tensors[f"v.{name}"]
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        # Bias correction of both moments (Kingma & Ba 2015, Algorithm 1)
        scale = (square / (1.0 - 0.999**step)).sqrt().add_(1e-8)
        value.addcdiv_(mean / (1.0 - 0.9**step), scale, value=-spec.learning_rate)
        value.grad = None
    return float(loss.detach())
