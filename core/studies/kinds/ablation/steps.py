"""The differences between two recipes of a network, one step each, and where each comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.studies.kinds.ablation.sources import STEPS

BASE, PAPER = "paper", "claims"
"""The recipe that all others are compared with, and what its paper compares beside it."""

CLAIMS: Mapping[type, tuple[Mapping[str, Any], ...]] = {
    DLCMConfig: (
        {"direction": "highest-first"},
        {"two_directions": True},
        {"cell": "lstm"},
        {"loss": "list-mle"},
        {"loss": "softrank"},
    ),
}
"""Single differences that no preset has and that a paper compares, by architecture."""

ONLY_ORDINALS = frozenset(
    {"ordinals", "ordinal index", "relative ordinals", "tied initial ranks", "ordinal table",
     "ordinal deviation"}
)  # fmt: skip
ONLY_IMSAB = frozenset({"first rFF of IMSAB"})


@dataclass(frozen=True)
class Difference:
    """One step from a recipe towards another.

    Attributes:
        label: the step and the value it leads to: `loss softmax-ce`.
        values: fields to replace.
        source: what the paper and what the released code has.
    """

    label: str
    values: Mapping[str, Any]
    source: str


def differences(base: NeuralSpec, other: NeuralSpec) -> list[Difference]:
    """Every step that leads from one recipe to another, fields without effect left out.

    >>> small = NeuralSpec.preset("setrank-msab", "small")
    >>> [one.label for one in differences(small, small.changed({"loss": "softmax-ce"}))]
    ['loss softmax-ce']
    """
    one, two = _flat(base), _flat(other)
    found = []
    for step in STEPS:
        if step.label in _without_effect(base):
            continue
        changed = {
            field: two[field]
            for field in step.fields
            if field in one and field in two and one[field] != two[field]
        }
        if changed:
            label = f"{step.label} {_words(changed)}"
            found.append(Difference(label, changed, step.source_for(base)))
    return found


def claimed(base: NeuralSpec) -> list[Difference]:
    """The single differences that the ranker's paper compares and no preset has.

    >>> [one.label for one in claimed(NeuralSpec.preset("dlcm", "small"))][:2]
    ['direction highest-first', 'two directions on']
    """
    changes = [dict(one) for one in CLAIMS.get(type(base.model), ())]
    free = [one for one in changes if not one.keys() & FIXED[base.name].keys()]
    return [one for change in free for one in differences(base, base.changed(change))]


def rankers_with_claims() -> list[str]:
    """The rankers whose paper compares single differences that no preset has.

    >>> rankers_with_claims()
    ['dlcm', 'dlcm-without-init', 'dlcm-listmle', 'dlcm-softrank']
    """
    return [name for name in FIXED if type(NeuralSpec.preset(name).model) in CLAIMS]


def step_of(label: str) -> str:
    """The step that a difference's label begins with; empty where none does.

    >>> step_of("batches and epochs epochs 40, patience 12"), step_of("my own")
    ('batches and epochs', '')
    """
    found = [step.label for step in STEPS if label.startswith(f"{step.label} ")]
    return max(found, key=len, default="")


def check(ranker: str, towards: Sequence[str]) -> None:
    """Refuse what would leave `paper` alone, before anything is read or trained.

    Raises:
        UsageError: no preset but `paper`, or claims of a paper that compares nothing.
        UnknownNameError: no such ranker.

    >>> check("dlcm", ["released", "claims"])
    """
    base = NeuralSpec.preset(ranker)
    if PAPER in towards and not claimed(base):
        known = ", ".join(rankers_with_claims())
        raise UsageError(
            f"{ranker}'s paper compares nothing beside its own recipe: name released or tuned, "
            f"or a ranker with {PAPER}, {known}"
        )
    if not set(towards) - {BASE}:
        raise UsageError("nothing to compare with paper: name released, tuned or claims")


def _without_effect(spec: NeuralSpec) -> frozenset[str]:
    if not isinstance(spec.model, SetRankConfig):
        return frozenset()
    ordinals = frozenset() if spec.model.rankings else ONLY_ORDINALS
    return ordinals | (frozenset() if spec.model.block == "imsab" else ONLY_IMSAB)


def _words(changed: Mapping[str, Any]) -> str:
    """A single value as it is; several with their names; truth as on and off."""
    said = [(name.replace("_", " "), _word(value)) for name, value in changed.items()]
    return said[0][1] if len(said) == 1 else ", ".join(" ".join(pair) for pair in said)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _flat(spec: NeuralSpec) -> dict[str, Any]:
    return asdict(spec.model) | asdict(spec.training)
