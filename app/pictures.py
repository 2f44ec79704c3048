"""Figures of studies, by the picture names of their sections.

`python -m shuffleproof.app.pictures STUDY OUT HOW` writes a figure of a stored study to a file.
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
    card,
    certified_top_k,
    group_shuffles,
    initial_ranking,
    initial_rankings,
    perturbations,
    preferences,
    rerankers,
    retrieval,
    set_size,
    training_noise,
    worst_case,
)
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.manifest import read_manifest
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture, View, picture_of

PICTURES: Mapping[str, Callable[..., go.Figure]] = {
    "curves": initial_ranking.curves,
    "benchmark": benchmark.differences,
    "ablation": ablation.effects,
    "set size": set_size.curves,
    "conditions": initial_rankings.conditions,
    "losses": perturbations.losses,
    "worst case": worst_case.damages,
    "certified": certified_top_k.gaps,
    "group shuffles": group_shuffles.equivariance,
    "training noise": training_noise.strips,
    "changes": retrieval.changes,
    "retrieval": retrieval.means,
    "postings": retrieval.postings,
    "preferences": preferences.curves,
    "bounds": preferences.bounds,
    "calls": preferences.calls,
    "sparsity": retrieval.sparsity_curves,
    "cards": card.cards,
    "places": rerankers.places,
    "reranker curves": rerankers.curves,
    "slots": rerankers.slots,
}
"""Functions from a picture's facts to its figure, by name."""


def draw(picture: Picture) -> go.Figure:
    """Figure of a picture."""
    facts: Any = picture.complete.facts
    return PICTURES[picture.name](*facts)


def figure_of(result: StudyResult, number: int = 1, measures: Sequence[str] = ()) -> go.Figure:
    """One picture of a study.

    Args:
        result: result of the study.
        number: number of the picture from 1, in the order of its sections.
        measures: measures; empty: the study's.

    Raises:
        UsageError: it has no such picture.
    """
    sections_module = study_kind(result.recipe).sections_module()
    return draw(picture_of(sections_module.sections(result, View(measures=measures)), number))


def write(directory: Path, out: Path, how: Mapping[str, Any]) -> None:
    """Write one picture of a stored study as PDF, SVG or PNG.

    Args:
        directory: folder of the study.
        out: the file.
        how: measures (none: the study's); number (from 1, in the order of its sections); size in
            pixels. Also width (as `width_of` reads it, or empty); format (pdf, svg or
            png); caption (True: add a line on data and study under the figure).

    Raises:
        UsageError: it has no such picture.
        ExportError: a requirement is missing, or the drawing failed.
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
