"""The page of Table 3: trained on lists of one size, tested on lists of another."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from shuffleproof.app import rescoring, services
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import (
    choice,
    job_panel,
    parts,
    query_comparison,
)
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form, to_train
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study_access import compute, dated_name, result
from shuffleproof.core.errors import ArtefactError, ShuffleproofError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import INITIAL, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.set_size import feasibility, sections
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.kinds.set_size.sections import CURVES, DROPS
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.result import StudyResult, in_words
from shuffleproof.core.studies.sections import LOSS, MEAN, REGRET, Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART, MAP = "sizes", "map"
CANDIDATES = (CEILING, INITIAL)
"""What the candidates alone do, before any ranker."""

SHOWN = {
    "quality": "Measure",
    "shift": "Δ against N0 = N1",
    "order": "Order kept (τ)",
    "scores": "Scores shifted",
}
EXPLAINED = {
    "quality": "The mean on lists of N1 documents. It changes with the candidates (as the ceiling "
    "and the initial ranking do, in the picture above) and with the model's own shift.",
    "shift": "The mean minus that of the same ranker trained on lists of N1: the shift of the "
    "model alone, since both see the same candidates. Empty where nothing was trained on N1.",
    "order": "Kendall's τ-b between the orders of the documents that a list of N1 shares with the "
    "list of N0. 1: another size changes no order, as for every ranker of single documents.",
    "scores": "How far the scores of the shared documents moved against each other, in standard "
    "deviations of them.",
}


def page() -> None:
    """Draw a stored study of the data set in use: curves, finding, verdict, then details."""
    shell.page(
        FORM,
        "Set size",
        _study,
        missing="No study of the size of lists is stored for {data} yet.",
        remedy="Press the button below: rankers are trained on short lists and tested on longer "
        "ones.",
    )


def rankers_of(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a study was asked for, without the two curves of the candidates."""
    labels = dict.fromkeys(row["label"] for row in recipe["rows"])
    return [label for label in labels if label not in CANDIDATES]


def trained_sizes(recipe: Mapping[str, Any]) -> list[int]:
    """The sizes that rankers of a study were trained on, rising."""
    return sorted({int(row["size"]) for row in recipe["rows"] if row["size"] is not None})


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return dated_name(artefact, counted(len(rankers_of(artefact.recipe)), "ranker"))


def words(artefact: Artefact) -> str:
    """A stored study in a line: which sizes, how often, on which lists."""
    recipe = artefact.recipe
    seeds = max((row["seeds"] for row in recipe["rows"]), default=1)
    homes = ", ".join(map(str, trained_sizes(recipe))) or ANY
    tested = ", ".join(map(str, recipe["sizes"]))
    initial = ", ".join(artefact.facts["lists"]["initial"])
    return (
        f"trained on {homes} · tested on {tested} · {counted(seeds, 'seed')} · lists by {initial}"
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, short_words, words)
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        what = parts.drawn_as(MEAN, LOSS, REGRET)
        home = _home(trained_sizes(artefact.recipe))
        rankers = choice.rankers(rankers_of(artefact.recipe), top.notices, key)
    with top.notes:
        line, menu = parts.convention_line()
        with menu:
            measure = choice.measure(artefact.recipe)
            from_zero = st.toggle(
                "Vertical axis from 0", value=True, key="zero", bind="query-params"
            )
        queried = f"N = {counted(artefact.facts['queries'], 'query')}"
        with line:
            parts.convention(measure.convention(), queried, "95 % intervals over queries")
        short = sections.shorter(artefact.facts) or "every list is as long as asked"
        parts.convention(
            escaped_sentence(short), *map(with_display_names, artefact.facts["left_out"])
        )
    name = str(measure)
    top.says(measures=(name,), rankers=rankers)
    frame = compute(key, sections.curves, name)
    shown, axis = _drawn(key, name, what, frame)
    rows = of_home(shown[shown["ranker"].isin((*CANDIDATES, *rankers))], home)
    curves = cached_figure(figure.curves, rows, axis, home, from_zero=from_zero)
    chart(curves, CHART, choose, place=top.picture)
    drops = compute(key, sections.drops, name)
    claim = compute(key, sections.claim, name)
    points = frame[frame["ranker"].isin(rankers)]
    if len(points):
        _sizes_map(points)
        _behind_a_cell(artefact, points, name)
    if len(drops):
        _drops(drops, name, queried)
    if claim:
        verdict = f"{sections.claim_text(claim)} (SetRank, Table 3.)"
        choice.claim(pd.DataFrame(claim["steps"]), verdict)
    if place := parts.fold("All numbers in the figure and the map", "every number"):
        data_frame(Table(frame, CURVES, "Means by ranker, N0 and N1"), "numbers", place)
    choice.export_row(artefact, curves, Table(frame, CURVES, f"{name} by ranker, N0 and N1"), name)


def _drawn(key: str, measure: str, what: str, means: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows that the picture shows, and what its axis is called."""
    if what == LOSS:
        return compute(key, sections.losses_of, measure), loss_in(measure)
    if what == REGRET:
        return compute(key, sections.regrets, measure), sections.regret_axis(measure)
    return means, measure


def of_home(frame: pd.DataFrame, home: int | None) -> pd.DataFrame:
    """The rows of rankers that were trained on lists of one size, or on no lists."""
    return frame[frame["trained_on"].isin((ANY, str(home)))]


def _home(trained_on: list[int]) -> int | None:
    """The size trained on; None: lists play no part in any training."""
    if len(trained_on) < 2:
        return next(iter(trained_on), None)
    chosen = st.selectbox(
        "Trained on lists of (N0)", trained_on, key="home", bind="query-params",
        help="Which size the rankers of the picture were trained on; the map below has all.",
    )  # fmt: skip
    return chosen if chosen in trained_on else trained_on[0]


def _sizes_map(points: pd.DataFrame) -> None:
    st.subheader("Every size trained on, every size tested on")
    name = parts.segments("Cells show", "cells", SHOWN)
    chart(cached_figure(figure.sizes, points, name), MAP, choose)
    st.caption(f"{EXPLAINED[name]} Click a cell for its queries.")


def _drops(drops: pd.DataFrame, measure: str, queried: str) -> None:
    st.subheader("Who loses what")
    data_frame(Table(drops, DROPS, sections.drops_title(measure)), "drops")
    parts.convention(
        "A negative loss is a gain: longer lists also hold more relevant documents", queried
    )


GIVEN = {registry.FEATURE, "random", "ideal"}


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The curves that are there."""
    measure = str(result.recipe["measures"][0])
    home = next(iter(trained_sizes(result.recipe)), None)
    frame = of_home(sections.curves(result, measure), home)
    words = f"{len(result.trials)} trainings and scorings so far."
    return Picture("set size", (frame, measure, home)), words


def usual_values(data: str) -> Mapping[str, Any]:
    """The paper's sizes that test lists reach; where they are shorter, steps up to the longest."""
    try:
        sizes = feasibility.proposed_sizes(lengths(data))
    except ShuffleproofError:  # the data set is gone, its studies are not
        sizes = feasibility.SIZES
    return {"sizes": tuple(sizes), "trained_on": tuple(feasibility.train_sizes(sizes))}


def lengths(data: str) -> NDArray[np.int64]:
    """Documents of every test list of a data set, uncut.

    Raises:
        ShuffleproofError: there is no such data set, or it cannot be read.
    """
    try:
        test = services.fold(str(services.data_set(data).key)).test
    except OSError as error:
        raise ArtefactError(data, f"cannot be opened ({error})", "Bring it in again.") from error
    return np.diff(test.offsets)


FORM = Form(
    job_panel.Panel(SetSize.kind, "study of set size", partial_picture),
    "Run a study of set size",
    "Run this study",
    rows=(("rankers",), ("trained_on", "sizes", "seeds")),
    from_shown=("rankers", "trained_on", "sizes"),
    usual=usual_values,
    proposed=to_train,
    trains=True,
    offered=lambda name: name not in GIVEN,
    note="The ceiling and the initial ranking always stand beside them; rankers with ordinal "
    "embeddings are not asked beyond their longest rank.",
    list_fields=("scores", "folds", "seed"),
)


CELL, AGAINST = "cell", "against"

Point = tuple[str, str, int]
"""A cell: ranker, N0 as text, N1."""

Side = tuple[str, int]
"""N0 as text, N1."""


def choose(facts: Sequence[Any]) -> None:
    """A click on a point of a chart chooses the cell whose queries are shown."""
    st.session_state[CELL] = "|".join(str(fact) for fact in facts[:3])


@st.fragment
def _behind_a_cell(artefact: Artefact, rows: pd.DataFrame, measure: str) -> None:
    """Draw the choice of a cell; once there is one, its queries and one query's two answers."""
    cells = rows[["ranker", "trained_on", "size"]].itertuples(index=False)
    points = {
        "|".join(map(str, cell)): (str(cell[0]), str(cell[1]), int(cell[2])) for cell in cells
    }
    point = points.get(_asked(points))
    st.subheader("Queries behind a cell")
    left, right = st.columns([3, 2])
    if point is None:
        st.session_state.pop(CELL, None)
    left.selectbox(
        "Cell", list(points), index=None, key=CELL, placeholder="Click a cell above, or choose",
        format_func=lambda text: with_display_names(_named(points[text])),
    )  # fmt: skip
    if point is None:
        return
    sides = [other[1:] for other in points.values() if other[0] == point[0]]
    at, frame = _compared(str(artefact.key), point, sides, measure, right)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    if at == point[1:]:
        st.caption("This is the cell that the others are compared with: nothing changes.")
    else:
        start = f"From {_beside(at, point)} to {_beside(point[1:], point, at)}"
        parts.sentence(in_words(frame, start, measure, ("home", "here")))
    picture, table = st.columns([3, 2], gap="medium")
    with picture:
        _map(str(artefact.key), point, measure)
    with table:
        _rows(frame, point, at)
        query_comparison.draw_slices(frame, measure)
    _answers(artefact, point, at, frame)


def _asked(points: Collection[str]) -> str:
    """The cell in the address, where the study has it; else nothing."""
    text = str(st.session_state.get(CELL, st.query_params.get("cell")))
    if text not in points:
        st.query_params.pop("cell", None)
        return ""
    st.session_state[CELL] = st.query_params["cell"] = text
    return text


def _named(point: Point) -> str:
    return f"{point[0]}, {_side(point[1:])}"


def _side(side: Side) -> str:
    """N0 and N1 in words.

    >>> _side(("40", 240)), _side(("any", 240))
    ('trained on 40, lists of 240', 'lists of 240')
    """
    return (
        f"trained on {side[0]}, lists of {side[1]}" if side[0].isdigit() else f"lists of {side[1]}"
    )


def _beside(side: Side, point: Point, other: Side | None = None) -> str:
    """N0 and N1 in words beside another cell; N0 only where it tells the two apart."""
    alike = (other or side)[0] == point[1]
    return f"lists of {side[1]}" if alike else _side(side)


def _compared(
    key: str, point: Point, sides: Sequence[Side], measure: str, place: Any
) -> tuple[Side, pd.DataFrame]:
    """The cell's queries beside those of another cell of the same ranker, to be chosen."""
    usual, frame = compute(key, sections.queries, point, measure)
    others = {f"{a}|{b}": (a, b) for a, b in [usual, *sides] if (a, b) != point[1:]}
    if st.session_state.get(AGAINST) not in {None, *others}:  # of another cell
        del st.session_state[AGAINST]
    usual_text = f"{usual[0]}|{usual[1]}"
    wanted = place.selectbox(
        "Compared with", list(others), index=0 if usual_text in others else None, key=AGAINST,
        format_func=lambda text: with_display_names(_side(others[text])), bind="query-params",
        placeholder="the cell itself",
        help="The same ranker on lists of another size, or trained on another size.",
    )  # fmt: skip
    against = others.get(str(wanted))
    if against is None or against == usual:
        return usual, frame
    return compute(key, sections.queries, point, measure, against)


def _map(key: str, point: Point, measure: str) -> None:
    ranker, trained_on, _ = point
    frame = compute(key, sections.by_size, ranker, trained_on, measure)

    def take(facts: Sequence[Any]) -> None:
        st.session_state["of"] = str(facts[0])
        choose((ranker, trained_on, facts[1]))

    origin = f"lists of {trained_on if trained_on.isdigit() else frame.columns[0]}"
    query_comparison.by_column(frame, "candidates tested on (N1)", measure, origin, take)


def _rows(frame: pd.DataFrame, point: Point, at: Side) -> None:
    columns = [
        tables.Column("home", _short(at, point), tables.VALUE),
        tables.Column("here", _short(point[1:], point, at), tables.VALUE),
        tables.Column("change", "change", tables.CHANGE),
        tables.Column("order_stability", "τ of shared", tables.TAU),
        tables.Column("score_shift", "scores shifted", tables.TAU),
    ]
    alt = f"Queries of {_named(point)}, the most damaged first; choose a row to see its list"
    query_comparison.rows(frame, columns, alt, height=330)


def _short(side: Side, point: Point, other: Side | None = None) -> str:
    """N1 of a column; N0 too where it tells the two apart."""
    alike = (other or side)[0] == point[1]
    return f"N1 {side[1]}" if alike else f"N0 {side[0]}, N1 {side[1]}"


def _answers(artefact: Artefact, point: Point, at: Side, frame: pd.DataFrame) -> None:
    ranker, trained_on, size = point
    if at[0] == trained_on:
        heads = (f"list of {size}", f"answer\nto {size}", f"answer\nto {at[1]}")
        other = f"what it answers to its list of {at[1]}"
    else:
        heads = (f"list of {size}", f"trained\non {trained_on}", f"trained\non {at[0]}")
        other = f"what it answers to the list of {at[1]} when trained on {at[0]}"
    compared = query_comparison.ComparisonTexts(
        ranker,
        heads,
        f"Left: the list of {size} in its initial order. Middle: what {ranker} answers to it. "
        f"Right: {other}. Dotted: from that list's initial order to that answer.",
        before=_short(at, point),
        now=_short(point[1:], point, at),
    )
    sides = {"now": _trials(artefact, point), "before": _trials(artefact, (ranker, *at))}
    seeds = [int(seed) for seed in sides["now"]["draw"]]
    query_comparison.one_query(frame, seeds, compared, partial(_replayed, artefact, sides))


def _trials(artefact: Artefact, point: Point) -> pd.DataFrame:
    """The trials of one cell."""
    ranker, trained_on, size = point
    trials = result(str(artefact.key)).trials
    of_home = (trials["ranker"] == ranker) & (trials["family"] == trained_on)
    return trials[of_home & (trials["level"] == size)]


def _replayed(
    artefact: Artefact,
    sides: dict[str, pd.DataFrame],
    query: str,
    seed: int,
    columns: Sequence[int],
) -> pd.DataFrame:
    """One query as a study answered it at two of its cells, as a frame for the bump chart.

    Raises:
        ShuffleproofError: the scoring process has no answer, or a ranker or the data set is gone.
    """
    cells = {
        side: [rescoring.ranker_of(trials, seed), int(trials["level"].iloc[0])]
        for side, trials in sides.items()
    }
    return rescoring.moves(
        f"{rescoring.TRAINED}:sizes", artefact, query, digests=artefact.recipe["lists"],
        features=list(columns), **cells,
    )  # fmt: skip
