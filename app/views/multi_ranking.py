"""The page of Table 4: none, one or many initial rankings, left out and exchanged."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, rescoring, services, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import multi_ranking as figure
from shuffleproof.app.plain import refusal
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import choice, job_panel, parts, query_comparison
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study_access import compute, dated_name, result
from shuffleproof.core.answers.trained_rankers import as_they_came
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName, number_names, with_display_names
from shuffleproof.core.rankers.neural import ordinal_geometry
from shuffleproof.core.rankers.neural.ordinal_geometry import OrdinalGeometry
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import TRAINED
from shuffleproof.core.studies.result import StudyResult, in_words
from shuffleproof.core.studies.sections import Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART = "conditions"
AXES: dict[figure.ShownValue, str] = {"mean": "Measure", "change": "Change"}
ADJUSTED = "Intervals of changes are adjusted as p is: they leave out 0 where p ≤ .05."


def page() -> None:
    """Draw a stored study of the data set in use: dots, finding, verdict, then details."""
    there = shell.page(
        FORM,
        "Several rankings",
        lambda stored: _study(state.data(), stored),
        missing="No study of several initial rankings is stored for {data} yet.",
        remedy="Press the button below: SetRank is trained without, with one and with several "
        "initial rankings; then they are left out and exchanged.",
    )
    if not there:
        geometry(state.data(), None, None)


def rankers_of(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that a study was asked for, without the initial rankings by themselves."""
    labels = dict.fromkeys(row["label"] for row in recipe["rows"])
    return [label for label in labels if not is_by_itself(label)]


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return dated_name(artefact, counted(len(rankers_of(artefact.recipe)), "ranker"))


def words(artefact: Artefact) -> str:
    """A stored study in a line: trained on which rankings, what was put in their place."""
    lists = artefact.facts["lists"]
    swaps = artefact.recipe["initial"][len(lists["initial"]) :]
    seeds = max((row["seeds"] for row in artefact.recipe["rows"]), default=1)
    text = f"initial rankings: {', '.join(lists['initial'])}"
    text += f" · exchanged for: {', '.join(swaps)}" if swaps else ""
    return f"{text} · top {lists['depth'] or 'all'} · {counted(seeds, 'seed')}"


@st.fragment
def _study(data: str, stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, short_words, words)
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        shown = parts.segments(
            "Horizontal axis", "x", AXES, help="The mean, or its change from the ranker as trained."
        )
        rankers = choice.rankers(rankers_of(artefact.recipe), top.notices, key)
    with top.notes:
        line, menu = parts.convention_line()
        with menu:
            measure = choice.measure(artefact.recipe)
            alone = st.toggle(
                "The initial rankings by themselves too", key="alone", bind="query-params",
                help="What each of them reaches without any ranker, the oracle included.",
            )  # fmt: skip
        with line:
            queried = f"N = {counted(artefact.facts['queries'], 'query')}"
            parts.convention(measure.convention(), queried, "95 % intervals over queries")
    top.says(measures=(str(measure),), rankers=rankers)
    frame = compute(key, sections.table, str(measure))
    claim = compute(key, sections.claim, str(measure))
    rows = frame[frame["ranker"].isin(rankers)]
    if shown == "change":
        rows = rows[rows["ranker"].isin(rows[rows["change"].notna()]["ranker"])]
    elif alone:
        by_themselves = frame["ranker"].map(is_by_itself)
        rows = frame[frame["ranker"].isin(rankers) | by_themselves]
    dots = _picture(rows, str(measure), shown, top.picture)
    _behind_a_dot(artefact, frame, str(measure))
    table = Table(frame, sections.COLUMNS, f"{measure} of every ranker under every condition")
    _numbers(table)
    if claim is not None:
        choice.claim(
            claim.steps,
            f"{sections.claim_text(claim)} (SetRank, Table 4: both steps above 0 at p ≤ .05.)",
        )
    geometry(data, key, artefact.facts["lists"]["depth"])
    choice.export_row(artefact, dots, table, str(measure))


def _picture(rows: pd.DataFrame, measure: str, shown: figure.ShownValue, place: Any) -> Any:
    if rows.empty:
        place.info("Nothing to draw: choose a ranker that reads an initial ranking, or the means.")
        return None
    dots = cached_figure(figure.conditions, rows, measure, shown)
    chart(dots, CHART, choose, place=place)
    place.caption(
        "Filled dots under a ranker: the change is more than chance (p ≤ .05 after Holm's "
        f"adjustment). {ADJUSTED if shown == 'change' else ''} Click one."
    )
    return dots


def _numbers(table: Table) -> None:
    st.subheader("Is it more than chance?")
    data_frame(table, "numbers")
    parts.convention(
        "Every condition is scored on the same candidates; DLCM is fed in the order of what stands "
        "in the initial ranking's place",
        ADJUSTED,
    )


GIVEN = {registry.FEATURE, "random", "ideal", "file-order"}
SAID = {
    "oracle": "the judgments themselves",
    "anti-oracle": "the judgments upside down",
    "random": "chance",
}


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The dots that are there."""
    measure = str(result.recipe["measures"][0])
    picture = Picture("conditions", (sections.table(result, measure), measure))
    return picture, f"{counted(len(result.trials), 'row')} of rankers and conditions so far."


def proposed_values(_data: str, shown: Artefact | None) -> Proposal:
    """The question's own rankers; the initial rankings of the study shown, else the paper's."""
    preset, lists = proposals.for_training()
    initial = [f"{name}@{preset}" for name in MultiRanking.initial]
    if shown is not None:
        initial = list(shown.facts["lists"]["initial"])
    return Proposal((), ListRecipe(tuple(initial), lists.depth, lists.scores, lists.folds))


def swaps(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw what is put in the first initial ranking's place."""
    chosen = st.multiselect(
        "Exchanged at test time for", list(dict.fromkeys([*now, *MultiRanking.swaps])),
        default=list(now), accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help=f"{declared.help}, once the ranker is trained; any initial ranker can be named.",
    )  # fmt: skip
    return tuple(chosen)


FORM = Form(
    job_panel.Panel(MultiRanking.kind, "study of several rankings", partial_picture),
    "Run a study of several rankings",
    "Run this study",
    rows=(("rankers",), ("initial", "swaps")),
    from_shown=("rankers", "swaps"),
    proposed=proposed_values,
    trains=True,
    widgets={"swaps": swaps},
    offered=lambda name: name not in GIVEN,
    note="Those that read no initial ranking are measured once; DLCM is fed in the order of what "
    "stands in its place.",
    list_fields=("depth", "scores", "folds", "seed"),
)


POINT, DOT = "behind dot", "dot"
COLUMNS = (
    tables.Column("as_trained", "as trained", tables.VALUE),
    tables.Column("here", "here", tables.VALUE),
    tables.Column("change", "change", tables.CHANGE),
)
Point = tuple[str, str]
"""Ranker and condition."""


def is_by_itself(label: str) -> bool:
    """Whether a label is an initial ranking's that stands in the study by itself."""
    return RankerName.of(label).is_initial


def choose(facts: Sequence[Any]) -> None:
    """A click on a dot chooses the condition whose queries are shown."""
    st.session_state[POINT] = (str(facts[0]), str(facts[1]))


@st.fragment
def _behind_a_dot(artefact: Artefact, table: pd.DataFrame, measure: str) -> None:
    """Draw the choice of a dot; once there is one, its queries and one query's two answers."""
    key = str(artefact.key)
    dots = [(str(a), str(b)) for a, b in zip(table["ranker"], table["condition"], strict=True)]
    point = _point(dots)
    st.subheader("Queries behind a dot")
    _dot(dots, point)
    if point is None:
        return
    ranker, condition = point
    frame = compute(key, sections.queries, point, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    if condition == TRAINED:
        st.caption("This is what the other conditions are compared with: nothing changes.")
    else:
        start = "Against the ranker as trained"
        parts.sentence(in_words(frame, start, measure, ("as_trained", "here")))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _map(compute(key, sections.by_condition, ranker, measure), ranker, measure)
    with right:
        alt = f"Queries of {ranker} {condition}, the most damaged first"
        query_comparison.rows(frame, COLUMNS, alt, height=330)
    if not is_by_itself(ranker):
        _answers(artefact, point, frame)


def _point(dots: Sequence[Point]) -> Point | None:
    """The ranker and condition that the address asks for, where the study has them."""
    wanted = st.session_state.get(POINT)
    if wanted is None and "ranker" in st.query_params:
        wanted = (st.query_params["ranker"], st.query_params.get("condition", ""))
    if wanted is None or tuple(wanted) not in dots:
        st.query_params.pop("ranker", None)
        st.query_params.pop("condition", None)
        return None
    st.query_params["ranker"], st.query_params["condition"] = wanted
    return str(wanted[0]), str(wanted[1])


def _dot(dots: Sequence[Point], point: Point | None) -> None:
    """The choice of a dot; a click on the picture or the map sets it too."""
    st.session_state[DOT] = point

    def take() -> None:
        st.session_state[POINT] = st.session_state[DOT] or ("", "")

    st.selectbox(
        "Dot", dots, index=None, key=DOT, on_change=take,
        placeholder="Click a dot of the picture, or choose",
        format_func=lambda dot: with_display_names(f"{dot[0]}, {dot[1]}"),
    )  # fmt: skip


def _map(frame: pd.DataFrame, ranker: str, measure: str) -> None:
    if not len(frame.columns):
        parts.note(f"{ranker} reads no initial ranking: there is one condition.")
        return

    def take(facts: Sequence[Any]) -> None:
        st.session_state["of"], st.session_state[POINT] = str(facts[0]), (ranker, str(facts[1]))

    query_comparison.by_column(frame, "what it reads", measure, "the ranker as trained", take)


def _answers(artefact: Artefact, point: Point, frame: pd.DataFrame) -> None:
    ranker, condition = point
    put, _, place = condition.partition(" for ")
    initial = artefact.recipe["initial"][0]
    left = put if place else initial
    compared = query_comparison.ComparisonTexts(
        ranker,
        (left, f"answer with\n{put}" if place else condition, "answer as\ntrained"),
        f"Left: the list by {left}. Middle: what {ranker} answers {_reading(condition)}. Right: "
        f"what it answers as trained. Dotted: from the list by {initial} to that answer.",
        before=TRAINED,
        now=condition,
    )
    seeds = [int(seed) for seed in _trials(artefact, point)["draw"]]
    query_comparison.one_query(frame, seeds, compared, partial(_replayed, artefact, point))


def _trials(artefact: Artefact, point: Point) -> pd.DataFrame:
    """The trials of a ranker under a condition."""
    trials = result(str(artefact.key)).trials
    return trials[(trials["ranker"] == point[0]) & (trials["family"] == point[1])]


def _replayed(
    artefact: Artefact, point: Point, query: str, seed: int, columns: Sequence[int]
) -> pd.DataFrame:
    """One query as a ranker answers it under a condition and as trained, for the bump chart.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker, the data set or a
            ranking that was put in another's place is gone.
    """
    recipe = artefact.recipe
    rows = [row for row in recipe["rows"] if (row["label"], row["condition"]) == point]
    return rescoring.moves(
        f"{rescoring.TRAINED}:conditions", artefact, query, lists=recipe["lists"],
        preset=artefact.facts["preset"], initial=list(recipe["initial"]),
        ranker=rescoring.ranker_of(_trials(artefact, point), seed), before=None,
        now=None if point[1] == TRAINED else list(rows[0]["columns"]), features=list(columns),
    )  # fmt: skip


def _reading(condition: str) -> str:
    """What a ranker reads under a condition, as a sentence says it.

    >>> _reading("without any"), _reading("oracle for mart")
    ('without any initial ranking', 'with oracle in the place of mart')
    """
    put, separator, place = condition.partition(" for ")
    if separator:
        return f"with {put} in the place of {place}"
    return "without any initial ranking" if condition == "without any" else condition


RANKS = 40


def trained_rankers(data: str, study: str | None) -> dict[str, str]:
    """The labels of the trained rankers that read initial rankings, by key; the study's first."""
    labels = _of_study(study) if study else {}
    for ranker in as_they_came(proposals.trained_rankers(data)):
        if rankings_of(ranker.name):
            labels.setdefault(ranker.key, ranker.label)
    return dict(zip(labels, number_names(map(with_display_names, labels.values())), strict=True))


def _of_study(key: str) -> dict[str, str]:
    """The artefacts of a study's rankers with ordinal embeddings, by key; those still stored."""
    frame = result(key).trials
    seeds = frame.groupby("ranker")["draw"].nunique()
    there = {str(artefact.key) for artefact in services.artefacts("ranker")}
    labels: dict[str, str] = {}
    for row in frame.to_dict("records"):
        reads = rankings_of(RankerName.of(str(row["ranker"])).base)
        if reads and row["artefacts"] in there:
            seed = f", seed {row['draw']}" if seeds[row["ranker"]] > 1 else ""
            labels.setdefault(str(row["artefacts"]), f"{row['ranker']}{seed}")
    return labels


@st.cache_data(max_entries=16, show_spinner=False)
def geometries(ranker: str, ranks: int) -> dict[str, OrdinalGeometry]:
    """The geometry of every ordinal table of a trained ranker, by the initial ranking's name.

    Raises:
        DataError: it reads no initial ranking.
    """
    stored = services.store().resolve(ranker, "ranker")
    lists = stored.recipe.get("lists")
    names = list(map(str, lists["initial"])) if isinstance(lists, Mapping) else []
    of_tables = ordinal_geometry.geometries(stored.path, ranks)
    return {
        names[at] if at < len(names) else f"{at + 1}": geometry
        for at, geometry in enumerate(of_tables)
    }


@st.fragment
def geometry(data: str, study: str | None, depth: int | None) -> None:
    """Draw the geometry of a ranker to be chosen; nothing where none with ordinals is trained.

    Args:
        data: the data set in use.
        study: the study shown, whose rankers come first.
        depth: how many ranks its lists have; ranks beyond were never trained.
    """
    labels = trained_rankers(data, study)
    if not labels:
        return
    st.subheader("What the network learned about ranks")
    left, right = st.columns(2)
    key = left.selectbox(
        "Trained ranker", list(labels), format_func=labels.__getitem__, key="learnt",
        bind="query-params", help="Every SetRank with ordinal embeddings of this data set.",
    )  # fmt: skip
    try:
        of_tables = geometries(str(key), depth or RANKS)
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return
    shown = next(iter(of_tables.values()))
    if len(of_tables) > 1:
        name = right.selectbox(
            "Of the initial ranking", list(of_tables), key="table", bind="query-params"
        )
        shown = of_tables.get(str(name), shown)
    words = ordinal_geometry.words(shown)
    pictures = {
        "Cosine between ranks": cached_figure(figure.similarity, shown.similarity),
        "Length by rank": cached_figure(figure.lengths, shown.lengths),
        "Path through the two main components": cached_figure(
            figure.path, shown.plane, shown.explained
        ),
    }
    for column, (title, picture) in zip(st.columns(3), pictures.items(), strict=True):
        with column:
            st.caption(title)
            chart(picture, f"geometry {title}", config=parts.PLAIN)
    parts.sentence(f"{labels[str(key)]}. {words}")
    st.caption(
        "If a ranker uses ranks, neighbouring ranks have similar embeddings and the path curves "
        "smoothly; ranks that never occurred in training keep their random start."
    )
