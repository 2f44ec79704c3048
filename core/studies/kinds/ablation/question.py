"""Question of an ablation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import Parameter, parameter, text_of
from shuffleproof.core.studies.question import Facts, Flag, GivenFlags, Question, Scope


class Sizes:
    """Flag of sizes: a preset's name, or `own`; the default is `small` for the preset `small`."""

    def flags(self, field: Parameter) -> Iterable[Flag]:
        """`--sizes`."""
        yield Flag("sizes", f"{field.help}, or own (default small for preset small)")

    def value(self, _field: Parameter, given: GivenFlags, preset: str) -> str | None:
        """Name of the preset; None: each variant's own sizes."""
        sizes = given.get("sizes", _default_sizes(preset))
        return None if sizes in {None, "own"} else str(sizes)

    def words(self, _field: Parameter, value: str | None, preset: str) -> list[str]:
        """Command-line words of a value; none for the default."""
        return [] if value == _default_sizes(preset) else ["--sizes", value or "own"]


def _default_sizes(preset: str) -> str | None:
    return "small" if preset == "small" else None


@dataclass(frozen=True)
class Ablation(Question):
    """Effect of each single difference between paper and released code."""

    kind = "ablation"
    title = "How do paper and released code differ, and what does each difference cost?"
    source = "SetRank (SIGIR 2020) and DLCM (SIGIR 2018) against their released code"
    summary = "paper against released code, step by step"
    doing = "Ablate"
    tested = True
    sample: ClassVar[Mapping[str, Any]] = {
        "ranker": "dlcm",
        "sizes": "small",
        "towards": ("released", "claims"),
        "draws": 2,
    }
    printing = "table(result)"

    ranker: str = parameter("setrank-imsab-init", "neural ranker", names="rankers")
    sizes: str | None = parameter(None, "preset with the sizes of all variants", flags=Sizes())
    towards: tuple[str, ...] = parameter(
        ("released", "tuned"),
        "target presets; one difference is changed at a time",
    )
    levels: tuple[int | float, ...] = parameter(
        (0.0, 5.0, 20.0), "transpositions of the initial ranking, comma-separated", low=0
    )
    draws: int = parameter(5, "random draws per level", low=1, label="Draws per level")
    seed: int = parameter(0, "seed of the variants and of the draws")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "Ablation":
        """Question of a stored ablation.

        Raises:
            UsageError: it was stored before sizes were recorded.
        """
        if "sizes" not in facts or "towards" not in facts:
            raise UsageError("this ablation was stored without its sizes; run it again")
        # older results list only the presets with several differences
        single = [name for name in facts.get("of", {}).values() if name]  # only claims are here
        towards = list(dict.fromkeys([*facts["towards"], *single]))
        towards = towards or [label for label, _ in recipe["rankers"][1:]]
        return cls(
            facts["ranker"],
            facts["sizes"],
            tuple(towards),
            tuple(float(level) for _, level in recipe["perturbations"]),
            recipe["draws"],
            recipe["seed"],
        )

    def refuse(self, _scope: Scope) -> None:
        """Refuse rankers without presets, unknown presets, and invalid levels."""
        from shuffleproof.core.perturb.levels import levels_of  # noqa: PLC0415 (NumPy)

        levels_of("transpositions", text_of(self.levels))
        self.module("study").variants(self)
