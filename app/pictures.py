"""The pictures of studies by the names that their sections call them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from shuffleproof.app.figures import (
    ablation,
    attention_heads,
    benchmark,
    benchmark_ranks,
    card,
    group_shuffles,
    multi_ranking,
    perturbations,
    ranking_degradation,
    set_size,
    set_size_map,
    worst_case,
)

Draw = Callable[..., go.Figure]
Words = Callable[..., str]

PICTURES: Mapping[str, tuple[Draw, Words, int]] = {
    "curves": (ranking_degradation.curves, ranking_degradation.alt_text, 3),
    "benchmark": (benchmark.differences, benchmark.alt_text, 3),
    "ranks": (benchmark_ranks.ranks, benchmark_ranks.alt_text, 2),
    "ablation": (ablation.effects, ablation.alt_text, 3),
    "set size": (set_size.curves, set_size.alt_text, 2),
    "sizes": (lambda frame, shown, _: set_size_map.sizes(frame, shown), set_size_map.alt_text, 3),
    "conditions": (multi_ranking.conditions, multi_ranking.alt_text, 2),
    "attention": (attention_heads.dots, attention_heads.dots_alt_text, 4),
    "losses": (
        perturbations.losses, lambda cells, _, measure: perturbations.alt_text(cells, measure), 3,
    ),
    "worst case": (worst_case.damages, worst_case.alt_text, 3),
    "group shuffles": (group_shuffles.equivariance, group_shuffles.alt_text, 1),
    "cards": (card.pareto, card.alt_text, 2),
}  # fmt: skip
"""What draws a picture, what says it in words, and how many of its facts the words take."""


def drawn(name: str, facts: Sequence[Any]) -> tuple[go.Figure, str]:
    """A picture and what it shows in words."""
    draw, words, count = PICTURES[name]
    return draw(*facts), words(*facts[:count])
