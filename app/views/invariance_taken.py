"""What can be taken away from one list: link, command, Python, figures, numbers, recipe, report."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import streamlit as st

from app import exports, report, services
from app.figures.bump import bump
from app.scoring import List
from app.views import parts, shown_list
from app.views.certificates import as_asked
from app.views.shown_list import Shown
from core.studies.command import certificates_command, certificates_python
from core.studies.trained import TrainedRanker


def row(
    one: List,
    rankers: Sequence[TrainedRanker],
    shown: Shown,
    labelled: Sequence[tuple[str, pd.DataFrame]],
) -> None:
    """Draw the row of exports of this list."""
    stem = f"invariance-{len(labelled)}-rankers"
    asked = [as_asked(ranker, one.data) for ranker in rankers]
    facts = {"data": one.data, "lists": asdict(one.recipe)}
    said = {
        "data": one.data,
        "query": one.query,
        "rankers": [label for label, _ in labelled],
        "before": shown.before,
        "order": shown.now,
    }
    figures = [
        file
        for label, frame in labelled
        for file in exports.figure_files(bump(frame, label), f"{label}-bump")
    ]
    parts.exports_row(
        parts.Shared(
            figures=figures,
            tables=exports.table_files(shown_list.numbers(labelled), stem),
            recipe=exports.recipe_file(said, facts, stem),
            report=_report(one.data, rankers),
            link={name: st.query_params.get_all(name) for name in st.query_params}
            | {"data": [one.data]},
            command=lambda: certificates_command(asked, facts),
            python=certificates_python(asked, facts),
        ),
        "invariance",
    )


def _report(data: str, rankers: Sequence[TrainedRanker]) -> exports.File:
    """The certificates of these rankers as a page of their own."""
    found = services.certified(data)
    studies = {found[ranker.digest].study for ranker in rankers if ranker.digest in found}
    paths: list[Path] = [services.store().resolve(key, "study").path for key in sorted(studies)]
    missing = "" if paths else "A report needs certificates: examine all test queries first."
    return exports.File(
        "Report (HTML)", "certificates.html", lambda: report.report(paths).encode(), missing
    )
