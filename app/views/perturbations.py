"""The page of everything that may happen to an input: rankers × families, curves, queries."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed_lists, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.figures import ranking_degradation as curves
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import choice, job_panel, parts, perturbed_queries
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.registry import PERTURBATIONS, attack_target
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.perturbations.sections import STRENGTHS, families_by_heading
from shuffleproof.core.studies.kinds.ranking_degradation.sections import readers_of_order
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.studies.sections import LOSS, MEAN, REGRET, Picture
from shuffleproof.core.studies.tables import Table, infer_columns
from shuffleproof.core.words import counted

SHORT = {"last": "Last", "worst": "Worst"}
MAP, CELL = "losses", chooses(point=str, family=str)
CURVES, POINT = "curves", chooses(point=str, at=float)


def page() -> None:
    """Draw a stored study of the data set in use: map, finding, curves, then queries."""
    shell.page(
        FORM,
        "Perturbations",
        _study,
        missing="No study of perturbations is stored for {data} yet.",
        remedy="Choose rankers and perturbations below and start one.",
    )
    catalogue()


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, disturbed_lists.short_words, disturbed_lists.words)
    artefact, key, recipe = top.artefact, str(top.artefact.key), top.artefact.recipe
    with top.controls:
        strength = _strength()
        rankers = choice.rankers(disturbed_lists.rankers(recipe), top.notices, key)
    with top.notes:
        finding = st.container()
        queries = f"N = {counted(artefact.facts['queries'], 'query')}"
        draws = counted(recipe["draws"], "draw")
        measure = str(choice.measure_line(recipe, queries, draws, STRENGTHS[strength]))
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    top.says(measures=(measure,), rankers=rankers)
    losses = study_access.compute(key, sections.losses, measure)
    losses = losses[losses["ranker"].isin(rankers)]
    cells = sections.condense(losses, strength)
    groups = families_by_heading(cells["family"])
    cells_map = cached_figure(figure.losses, cells, groups, measure, _without_values(artefact))
    chart(cells_map, MAP, CELL, place=top.picture)
    with finding, parts.in_words():
        left = sections.omission_text(artefact.facts, disturbed_lists.families(recipe))
        if left:
            parts.note(f"–: {left}")
    _behind(artefact, rankers, losses, measure)
    table = Table(losses, sections.COLUMNS, "Losses by ranker, family and level")
    if place := parts.fold("All levels, and how the answers changed", "every number"):
        data_frame(table, "numbers", place)
    choice.export_row(artefact, cells_map, table, measure)


def _strength() -> str:
    meanings = "; ".join(f"{SHORT[name]}: {words}" for name, words in STRENGTHS.items())
    return parts.segments(
        "Change at which level", "cells", SHORT,
        help=f"Levels of different families count different things. {meanings}.",
    )  # fmt: skip


def _without_values(artefact: Artefact) -> list[tuple[str, str]]:
    """The (ranker, family) pairs of a study of which the family means nothing for the ranker."""
    left_out = artefact.facts.get("left_out", {})
    return [(ranker, family) for family, reasons in left_out.items() for ranker in reasons]


@st.fragment
def _behind(artefact: Artefact, rankers: Sequence[str], losses: pd.DataFrame, measure: str) -> None:
    """Draw the curves of a family, and the queries of a ranker under it."""
    known = list(disturbed_lists.families(artefact.recipe))
    st.subheader("One family, level by level", anchor=False)
    left, right, axis = st.columns(3)
    chosen = left.selectbox(
        "Family", known, key="family", bind="query-params",
        help="Or click a cell of the map.",
    )  # fmt: skip
    ranker = choice.ranker(
        "Queries of", rankers, "point", place=right,
        placeholder="Click a cell or a point, or choose",
    )  # fmt: skip
    family = chosen if chosen in known else known[0]
    within_reach = study_access.compute(str(artefact.key), sections.has_regret, family, measure)
    with axis:
        what = (
            parts.drawn_as(REGRET, LOSS, MEAN, key="of_set") if within_reach else parts.drawn_as()
        )
    entry = disturbed_lists.entry(family)
    if entry is not None:
        words = f"{entry.summary} Level: {entry.unit}. From: {entry.source}."
        parts.note(f"{words} {sections.short_of(artefact.facts, [family])}")
    summary = _summary(str(artefact.key), family, measure)
    shown, words = summary, measure
    if what == LOSS and len(summary):
        shown = _losses(str(artefact.key), family, measure)
        words = loss_in(measure)
    elif what == REGRET and len(summary):
        shown = _regrets(str(artefact.key), family, measure)
        words = sections.regret_axis(measure)
    shown = shown[shown["ranker"].isin(rankers)]
    _curves(shown, family, words)
    if entry is not None and entry.changes & {"order", "ranking"}:
        means = shown.groupby("ranker", sort=False)["mean"]
        if order := readers_of_order(
            [str(name) for name, of_levels in means if np.ptp(of_levels) > 0]
        ):
            parts.note(order)
    if attack_target(family):
        _transfer(losses, measure)
    without = (ranker, family) in _without_values(artefact)
    if without or (ranker is None and summary.empty):
        st.info(escaped_sentence(sections.omission_text(artefact.facts, [family])))
    elif ranker is not None:
        perturbed_queries.section(artefact, ranker, family, measure)


@st.cache_data(max_entries=128, show_spinner=False)
def _summary(key: str, family: str, measure: str) -> pd.DataFrame:
    """Means and intervals of one family's points under one measure; as stored where they are."""
    stored = stored_summary(study_access.path(key))
    rows = stored[(stored["family"] == family) & (stored["measure"] == measure)]
    if len(rows):
        return rows.reset_index(drop=True)
    return sections.of_family(study_access.result(key), family).summary([measure])


@st.cache_data(max_entries=128, show_spinner=False)
def _losses(key: str, family: str, measure: str) -> pd.DataFrame:
    """The same points as paired losses."""
    return sections.losses_of(study_access.result(key), _summary(key, family, measure), measure)


@st.cache_data(max_entries=128, show_spinner=False)
def _regrets(key: str, family: str, measure: str) -> pd.DataFrame:
    """The same points, below the best order of the documents shown."""
    return sections.regrets_of(study_access.result(key), _summary(key, family, measure), measure)


def _curves(summary: pd.DataFrame, family: str, measure: str) -> None:
    levels = set(summary["level"])
    if len(levels) == 1:
        st.caption("This family stands at one level alone: there is no curve.")
    elif levels:
        chart(cached_figure(_curved, summary, family, measure), CURVES, POINT)


def _curved(summary: pd.DataFrame, family: str, measure: str) -> Any:
    unit = disturbed_lists.unit(family)
    return figure.fitted_axis(curves.curves(summary, family, measure, unit), f"{family}: {unit}")


def _transfer(losses: pd.DataFrame, measure: str) -> None:
    """Whom the attacks reach: a row a network attacked, a column a ranker that was hit."""
    table = sections.transfer_table(losses, measure)
    st.markdown(f"**{escaped_sentence(table.title)}**")
    data_frame(table, "transfer")
    reached = sections.transfer_text(sections.transfer(losses), measure)
    parts.note(f"At the last level of each attack. {reached}")


def catalogue() -> None:
    """Draw all families of the registry by what they change, one line each."""
    with st.expander("Everything that can happen to an input", icon=":material/menu_book:"):
        for heading, names in families_by_heading(PERTURBATIONS).items():
            st.markdown(f"**{heading}**")
            entries = [PERTURBATIONS[name] for name in names]
            frame = pd.DataFrame(
                {
                    "family": names,
                    "what happens": [entry.summary for entry in entries],
                    "level": [entry.unit for entry in entries],
                    "levels": [
                        ", ".join(f"{level:g}" for level in entry.default_levels)
                        for entry in entries
                    ],
                }
            )
            data_frame(
                infer_columns(frame, f"Families that change: {heading}"), f"catalogue {heading}"
            )
        st.caption(
            "Families can be chained, one on what the other left: transpositions:5+shuffle-shown. "
            "gradient-sign@RANKER attacks one network; the others are hit too. "
            "label-flips@0.9_0.1/0.2_0.8 flips labels by a matrix, a row a grade. What is no input "
            "(labels, seeds, precision, batches, threads) is studied one by one."
        )


FIRST = ("shuffle-shown", "transpositions", "sample", "distractors", "feature-noise")
"""What a first study asks: one family of each kind that takes no training."""


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The cells that are there."""
    measure = str(result.recipe["measures"][0])
    cells = sections.condense(sections.losses(result, measure), "last")
    picture = Picture("losses", (cells, families_by_heading(cells["family"]), measure))
    return picture, f"{counted(len(result.trials), 'trial')} so far."


def family_fields(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = shell.families_of(now)
    return shell.family_levels(declared, shell.family_choice(PERTURBATIONS, before, chains=True))


FORM = Form(
    job_panel.Panel(Perturbations.kind, "study of perturbations", partial_picture),
    "Run a study of perturbations",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws",)),
    from_shown=("perturbations",),
    usual=lambda _data: {"perturbations": pairs_of(FIRST)},
    widgets={"perturbations": family_fields},
)
