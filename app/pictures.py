"""The pictures of studies by the names that their sections call them.

`python -m shuffleproof.app.pictures STUDY OUT HOW` writes one of a stored study into a file.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from shuffleproof.app import exports
from shuffleproof.app.figures import (
    ablation,
    benchmark,
    benchmark_ranks,
    card,
    group_shuffles,
    multi_ranking,
    perturbations,
    preferences,
    ranking_degradation,
    retrieval,
    set_size,
    style,
    worst_case,
)
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.store.manifest import read_manifest
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture, View
from shuffleproof.core.words import counted

Draw = Callable[..., go.Figure]
Words = Callable[..., str]

PICTURES: Mapping[str, tuple[Draw, Words, int]] = {
    "curves": (ranking_degradation.curves, ranking_degradation.alt_text, 3),
    "benchmark": (benchmark.differences, benchmark.alt_text, 3),
    "ranks": (benchmark_ranks.ranks, benchmark_ranks.alt_text, 2),
    "ablation": (ablation.effects, ablation.alt_text, 3),
    "set size": (set_size.curves, set_size.alt_text, 2),
    "sizes": (lambda frame, shown, _: set_size.sizes(frame, shown), set_size.sizes_alt_text, 3),
    "conditions": (multi_ranking.conditions, multi_ranking.alt_text, 2),
    "losses": (
        perturbations.losses, lambda cells, _, measure: perturbations.alt_text(cells, measure), 3,
    ),
    "worst case": (worst_case.damages, worst_case.alt_text, 3),
    "group shuffles": (group_shuffles.equivariance, group_shuffles.alt_text, 1),
    "changes": (retrieval.changes, retrieval.changes_alt_text, 3),
    "retrieval": (retrieval.means, retrieval.alt_text, 2),
    "postings": (retrieval.postings, retrieval.postings_in_words, 1),
    "preferences": (preferences.curves, preferences.alt_text, 4),
    "bounds": (preferences.bounds, preferences.bounds_in_words, 1),
    "calibration": (preferences.calibration, preferences.calibration_in_words, 1),
    "calls": (preferences.calls, preferences.calls_in_words, 1),
    "sparsity": (retrieval.sparsity_curves, retrieval.sparsity_alt_text, 2),
    "cards": (card.pareto, card.alt_text, 2),
}  # fmt: skip
"""What draws a picture, what says it in words, and how many of its facts the words take."""


def draw(picture: Picture) -> tuple[go.Figure, str]:
    """A picture and what it shows in words."""
    draw, words, count = PICTURES[picture.name]
    facts: Any = picture.complete.facts
    return draw(*facts), words(*facts[:count])


def figure_of(result: StudyResult, number: int = 1, measures: Sequence[str] = ()) -> go.Figure:
    """One picture of a study.

    Args:
        result: of the study.
        number: which, from 1, in the order of its sections.
        measures: by default the study's.

    Raises:
        UsageError: it has no such picture.
    """
    telling = study_kind(result.recipe).telling()
    sections = telling.sections(result, View(measures=measures))
    there = [section for section in sections if isinstance(section, Picture)]
    if not there:
        raise UsageError("a study of this kind has no figure: write its tables, to .csv or .md")
    if not 1 <= number <= len(there):
        raise UsageError(
            f"it has {counted(len(there), 'figure')}: give --figure a number from 1 to {len(there)}"
        )
    figure, _ = draw(there[number - 1])
    return figure


def small(picture: Picture) -> tuple[go.Figure, str]:
    """A picture as a thumbnail, and what it shows in words."""
    figure, words = draw(picture)
    return style.thumbnail(figure), words


def write(directory: Path, out: Path, how: Mapping[str, Any]) -> None:
    """Write one picture of a stored study as PDF, SVG or PNG.

    Args:
        directory: of the study.
        out: the file.
        how: measures (none: the study's), number (from 1, in the order of its sections), size in
            pixels, width (a name of WIDTHS instead of it, or empty), format (pdf, svg or png),
            and caption: whether a line under the figure says what it is of.

    Raises:
        UsageError: it has no such picture.
        ExportError: nothing here can draw it.
    """
    figure = figure_of(StudyResult.open(directory), how["number"], how["measures"])
    measure = next(iter(how["measures"]), "")
    caption = exports.study_caption(read_manifest(directory), measure) if how["caption"] else ""
    size = tuple(how["size"])
    out.write_bytes(exports.figure_as(figure, how["format"], size, how["width"], caption))


if __name__ == "__main__":
    study, file, settings = sys.argv[1:]
    try:
        write(Path(study), Path(file), json.loads(settings))
    except ShuffleproofError as error:
        sys.exit(str(error))
