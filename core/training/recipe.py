"""Training recipes as frozen values; loads without torch.

Presets are below the dataclass, one table per family of networks. PAPERS.md describes papers and
released code; comments here mark settings that neither gives.
"""

from dataclasses import dataclass, replace
from typing import Literal

from shuffleproof.core.data.features import NORMALISATIONS
from shuffleproof.core.losses.registry import LOSSES, Option
from shuffleproof.core.parameters import CheckedParameters, parameter


@dataclass(frozen=True)
class TrainingRecipe(CheckedParameters):
    """Loss, optimiser, schedule, batches, selection and seed of a training run.

    An epoch is one pass over the training lists, or `steps_per_epoch` batches. After each epoch the
    network is measured on the validation lists; the result is the best epoch's network.

    >>> TrainingRecipe(learning_rate=0.01).optimiser
    'adam'

    Raises:
        ParameterError: a value outside its bounds or choices.
    """

    loss: str = parameter("attention-rank", "training loss", choices=tuple(LOSSES))
    temper: float = parameter(
        1.0, "relevant labels y weigh exp(y · temper) in the target", low=0.0, high=20.0
    )
    unit_norm: bool = parameter(
        default=False,
        help="scores are L2-normalised before list-mle and softrank (the released handicap)",
    )
    deviation: float = parameter(0.1, "standard deviation of a score in softrank", low=1e-6)
    temperature: float = parameter(
        0.1, "of approx-ndcg and neural-ndcg; the lower, the closer to NDCG", low=1e-4, high=100.0
    )
    pair_weights: Literal["queries", "pairs", "grades"] = parameter(
        "queries",
        "weights of pairs in hinge, ranknet and frank. queries: mean over a list; pairs: sum; "
        "grades: mean with IR-SVM's weights of grades",
        choices=("queries", "pairs", "grades"),
    )
    cutoff: int | None = parameter(
        10, "k of lambdarank's ΔNDCG@k; none: the whole list", low=1, unit="documents"
    )
    steepness: float = parameter(1.0, "σ of ranknet, lambdarank and frank", low=1e-3, high=1000.0)
    documents: int | None = parameter(
        None,
        "documents of a training list: each epoch cuts the lists into random sets of this size, as "
        "SetRank's relative sampling of set sizes does; none: whole lists",
        low=2,
        unit="documents",
    )
    optimiser: Literal["adam", "sgd"] = parameter("adam", "optimiser", choices=("adam", "sgd"))
    learning_rate: float = parameter(
        0.001, "learning rate at the start", low=1e-9, high=10.0, search=(1e-4, 1e-2)
    )
    weight_decay: float = parameter(
        0.0, "decoupled decay of the weights", low=0.0, high=1.0, search=(0.0, 1.0)
    )
    hidden_features: float = parameter(
        0.0,
        "share of the features that a training step hides from all documents of a list",
        low=0.0,
        high=0.95,
        search=(0.0, 0.7),
    )
    schedule: Literal["constant", "stall", "cosine"] = parameter(
        "constant",
        "learning rate: constant, × decay whenever the training loss stalls, or a warm-up and "
        "half a cosine down to 0",
        choices=("constant", "stall", "cosine"),
    )
    decay: float = parameter(0.8, "factor of the stall schedule", low=0.01, high=1.0)
    stall_epochs: int = parameter(
        3,
        "the loss stalls when it exceeds that of this number of epochs before",
        low=1,
        unit="epochs",
    )
    warm_up: float = parameter(0.1, "share of the steps that the cosine warms up", low=0, high=1)
    batch_lists: int = parameter(32, "lists a batch, at most", low=1, unit="lists", search=(8, 64))
    batch_documents: int = parameter(
        16_384, "padded documents a batch, at most", low=1, unit="documents"
    )
    sampling: Literal["shuffled", "replacement"] = parameter(
        "shuffled",
        "each epoch sees every list once, or draws lists with replacement",
        choices=("shuffled", "replacement"),
    )
    steps_per_epoch: int | None = parameter(
        None, "batches an epoch; none: one pass over the lists", low=1, unit="steps"
    )
    least_steps: int = parameter(
        1,
        "least number of steps of an epoch; small sets are passed several times",
        low=1,
        unit="steps",
    )
    epochs: int = parameter(100, "epochs at most", low=1, unit="epochs")
    patience: int | None = parameter(
        15,
        "stop after this number of epochs without a better one; none: never",
        low=1,
        unit="epochs",
    )
    clip: float | None = parameter(None, "largest norm of the gradient; none: no bound", low=1e-6)
    selection: Literal["valid-ndcg@10", "valid-loss"] = parameter(
        "valid-ndcg@10",
        "what the best epoch is chosen by",
        choices=("valid-ndcg@10", "valid-loss"),
    )
    normalisation: str = parameter(
        "z-score", "normalisation of the features, fitted on train", choices=tuple(NORMALISATIONS)
    )
    precision: Literal["fp32", "bf16", "auto"] = parameter(
        "fp32",
        "arithmetic of the training steps; auto: bf16 on a GPU that multiplies in it",
        choices=("fp32", "bf16", "auto"),
    )
    seed: int = parameter(0, "seed of the first weights and of every draw", low=0)

    def loss_options(self) -> dict[str, Option]:
        """Fields that are options of the chosen loss.

        >>> TrainingRecipe(loss="softrank").loss_options()
        {'deviation': 0.1, 'unit_norm': False}
        """
        return {name: getattr(self, name) for name, _ in LOSSES[self.loss].options}


SETRANK_TRAINING: dict[str, TrainingRecipe] = {
    # The paper names Adam, its rate and the selection; batches and patience are ours.
    "paper": TrainingRecipe(least_steps=25),
    "released": TrainingRecipe(
        loss="softmax-ce",
        learning_rate=0.0005,
        sampling="replacement",
        steps_per_epoch=100,
        epochs=100,
        patience=None,
        clip=5.0,
        selection="valid-loss",
        normalisation="min-max",
    ),
    "tuned": TrainingRecipe(
        loss="softmax-ce",
        schedule="cosine",
        batch_lists=32,
        least_steps=25,
        epochs=40,
        patience=12,
        clip=1.0,
        weight_decay=0.01,
        hidden_features=0.5,
    ),
    "small": TrainingRecipe(
        learning_rate=0.003, schedule="cosine", batch_lists=16, epochs=30, patience=10, clip=1.0
    ),
}

_DLCM = TrainingRecipe(
    optimiser="sgd",
    learning_rate=0.5,
    schedule="stall",
    batch_lists=256,
    batch_documents=65_536,
    sampling="replacement",
    steps_per_epoch=100,
    epochs=100,
    patience=None,
    clip=5.0,
    normalisation="min-max",
)
DLCM_TRAINING: dict[str, TrainingRecipe] = {
    # Paper and released code have the same optimiser (PAPERS.md).
    "paper": _DLCM,
    "released": _DLCM,
    "tuned": replace(SETRANK_TRAINING["tuned"], weight_decay=0.0),
    "small": replace(SETRANK_TRAINING["small"], learning_rate=0.005),
}

# All settings are ours: the papers of these networks give no current optimiser or selection.
UNIVARIATE_TRAINING: dict[str, TrainingRecipe] = {
    "paper": TrainingRecipe(loss="softmax-ce", least_steps=25),
    "released": TrainingRecipe(
        loss="softmax-ce",
        learning_rate=0.005,
        sampling="replacement",
        steps_per_epoch=100,
        epochs=100,
        patience=20,
    ),
    "tuned": TrainingRecipe(
        loss="softmax-ce",
        schedule="cosine",
        least_steps=25,
        epochs=40,
        patience=15,
        clip=1.0,
        weight_decay=1.0,
    ),
    "small": TrainingRecipe(
        loss="softmax-ce",
        learning_rate=0.01,
        schedule="cosine",
        batch_lists=16,
        epochs=30,
        patience=10,
        clip=1.0,
    ),
}
GROUP_TRAINING = UNIVARIATE_TRAINING | {
    "tuned": replace(UNIVARIATE_TRAINING["tuned"], learning_rate=0.005, weight_decay=0.1)
}
"""Presets of groupwise networks; a univariate network is one with groups of one document."""
