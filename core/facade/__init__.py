"""Shuffleproof as a library: `from shuffleproof import ask, WorstCase`.

Whatever is named here is loaded when it is asked for, so that importing the package loads nothing.
"""

from importlib import import_module
from typing import Any

STUDIES, KINDS = "shuffleproof.core.studies", "shuffleproof.core.studies.kinds"
PLACES = {
    "ask": f"{STUDIES}.ask",
    "Workbench": f"{STUDIES}.workbench",
    "finished": f"{STUDIES}.workbench",
    "StudyResult": f"{STUDIES}.result",
    "Ablation": f"{KINDS}.ablation.question",
    "Attention": f"{KINDS}.attention.question",
    "Benchmark": f"{KINDS}.benchmark.question",
    "Card": f"{KINDS}.card.question",
    "GroupShuffles": f"{KINDS}.group_shuffles.question",
    "Invariance": f"{KINDS}.invariance.question",
    "MultiRanking": f"{KINDS}.multi_ranking.question",
    "Perturbations": f"{KINDS}.perturbations.question",
    "RankingDegradation": f"{KINDS}.ranking_degradation.question",
    "SetSize": f"{KINDS}.set_size.question",
    "WorstCase": f"{KINDS}.worst_case.question",
}
"""What a script asks for, and the module that has it."""


def __getattr__(name: str) -> Any:
    """One of the names above, loaded now."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    """The names above."""
    return sorted(PLACES)
