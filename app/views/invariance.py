"""Permutation invariance by hand: each ranker's ranking of one query in another input order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import (
    address,
    captions,
    exports,
    jobs,
    proposals,
    report,
    scoring,
    selection,
    services,
    slides,
    state,
    study_access,
    training,
)
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import animation, bump
from shuffleproof.app.figures.text import alt_text
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.proposals import name_in_jobs
from shuffleproof.app.scoring import DataDescription, List
from shuffleproof.app.slides import Slide
from shuffleproof.app.study import (
    added_documents,
    cards,
    choice,
    job_panel,
    margins,
    parts,
    sample_result,
    shown_list,
)
from shuffleproof.app.study.page import draw_sections, study_sections
from shuffleproof.app.study.picture import cached_figure
from shuffleproof.app.study.shown_list import ShownList
from shuffleproof.core.answers.one_list import (
    Answer,
    explanation,
    explanation_of_change,
    fell_most,
    moves,
)
from shuffleproof.core.answers.trained_rankers import (
    CONTRAST,
    TrainedRanker,
    contrast,
    contrasting_pair,
    in_order_of_arrival,
    list_recipes,
)
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName, display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.invariance.certificate import BY_QUERY, per_query
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.reproduce import command_of, python_of
from shuffleproof.core.studies.sections import View, limits
from shuffleproof.core.studies.tables import Table, infer_columns
from shuffleproof.core.words import counted, number


@dataclass(frozen=True)
class RankerAnswer:
    """A ranker's scores of a list in two input orders.

    Attributes:
        ranker: ranker of the scores.
        answer: scores before and now.
        moves: one row a document; see `core.answers.one_list.moves`.
        chosen: the document picked by hand, if any.
    """

    ranker: TrainedRanker
    answer: Answer
    moves: pd.DataFrame
    chosen: int | None

    @property
    def label(self) -> str:
        """Label of the ranker."""
        return self.ranker.label

    @property
    def bump(self) -> go.Figure:
        """Bump chart from input order to ranking, of the documents that both lists have."""
        shared = self.moves.dropna(subset=PLACES).astype(dict.fromkeys(PLACES, int))
        return cached_figure(bump.bump, captions.titles(shared), self.label, chosen=self.chosen)


def _answers(
    query_list: List, rankers: Sequence[TrainedRanker], shown: ShownList
) -> list[RankerAnswer]:
    """Answers of these rankers."""
    answers = scoring.answers(query_list, tuple(rankers), shown.before, shown.now, shown.changes)
    orders = shown.documents, shown.arranged_before, shown.arranged
    return [
        RankerAnswer(ranker, answer, moves(*orders, answer), shown.chosen)
        for ranker, answer in zip(rankers, answers, strict=True)
    ]


TRAININGS = job_panel.Panel("train", title=lambda job: f"{jobs.name(job)}. ")
PLACES = ["shown", "shown_before", "answered", "answered_before"]
QUESTION = "Does the input order change the ranking?"


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Invariance", QUESTION)
    _examination()


@st.fragment
def _examination() -> None:
    """Draw everything below the title; a control redraws only this fragment."""
    with parts.errors_shown(again=True):
        data = scoring.describe(state.data())
        rankers = scoring.rankers_of(data)
        if list_recipes(rankers) and (contrast(rankers) or not _in_training(data.data)):
            _study(data, rankers)
        else:
            _nothing_trained(data.data)


def _in_training(data: str) -> bool:
    of_data = (job for job in jobs.under_way() if job.parameters.get("data") == data)
    return any(job.kind in {TRAININGS.kind, PANEL.kind} for job in of_data)


def _nothing_trained(data: str) -> None:
    panels = (PANEL, TRAININGS)
    if not any(job_panel.progress(panel, (data,)) for panel in panels):
        parts.not_yet(f"No ranker of whole lists is trained on {data} yet.")
        st.button(
            f"Train {job_panel.contrasting_in_words()}", type="primary",
            icon=":material/model_training:", on_click=job_panel.examine_contrasting, args=(data,),
        )  # fmt: skip
        parts.note("Less than a minute each for a small set on two cores; preset: small.")
        parts.link("train", "Other rankers and settings", "tune")
    parts.link("invariance", "An example on the sample", "image", {state.USE: SAMPLE})


def _study(data: scoring.DataDescription, rankers: list[TrainedRanker]) -> None:
    no_query = state.missing_option("query", data.queries)
    no_ranker = state.missing_option(
        "rankers", [*chain.from_iterable(map(proposals.texts, rankers))]
    )
    notices = st.container()
    picture, controls = parts.top_row([5, 2])
    with controls:
        query_list, chosen = _choices(data, rankers)
        shown = shown_list.controls(query_list, data)
    with notices:
        state.instead("test query", no_query, query_list.query)
        state.instead(
            "ranker", no_ranker, *display_names(ranker.label for ranker in chosen).values()
        )
    if not chosen:
        with picture:
            st.info("Choose at least one ranker.")
        return
    changed = shown.arranged != shown.arranged_before or bool(shown.changes)
    with picture:
        answers = _answers(query_list, chosen, shown)
        shown_list.buttons(shown, _worst_order(query_list, answers))
        _sentences(answers, shown, _of_all_queries(data.data, chosen), changed=changed)
        short = len(shown.arranged) <= cards.LONGEST
        attending = chosen if short else []
        drawn = cards.facts(
            shown, [(answer.answer, answer.moves) for answer in answers],
            scoring.attended(query_list, attending, shown.now, shown.changes),
        )  # fmt: skip
        if short:
            _cards(drawn, shown)
        else:
            _bumps(answers)
    if changed:
        st.subheader("Why")
        for answer in answers:
            st.markdown(f"- {escaped_sentence(_why(answer, shown))}")
    margins.draw(query_list, shown, chosen)
    added_documents.draw(query_list.query)
    _certificates(data, query_list.recipe, chosen)
    if place := parts.fold("All numbers for this list", "every number"):
        place.dataframe(_numbers(answers), hide_index=True, alt="Every document, ranker by ranker")
    _row(query_list, shown, answers, drawn)


def _why(answer: RankerAnswer, shown: ShownList) -> str:
    if not shown.changes:
        return explanation(answer.answer, answer.moves)
    return explanation_of_change(answer.answer, {at for at, _, _ in shown.changes.features})


def _worst_order(query_list: List, answers: Sequence[RankerAnswer]) -> Callable[[], None] | None:
    """Function that shows the worst order for the first ranker that reads the order, if any."""
    readers = [answer.ranker for answer in answers if "order" in answer.answer.reads]
    if not readers:
        return None
    key = readers[0].key
    return lambda: shown_list.show_worst(scoring.worst_order(query_list, key))


def _of_all_queries(data: str, rankers: Sequence[TrainedRanker]) -> str:
    """Finding of the study shown below on all test queries; empty without one."""
    stored = _stored(data, rankers)
    if not stored:
        return ""
    study = stored.get(st.query_params.get("study", ""), next(iter(stored.values())))
    return f"All test queries, shuffled: {sample_result.finding(study, rankers).text}"


def _sentences(
    answers: Sequence[RankerAnswer], shown: ShownList, overall: str, *, changed: bool
) -> None:
    """Draw the effect of the other order, that of all queries, and a legend of the picture."""
    query = shown.documents.query
    before = "the list without changes" if shown.changes else shown.words_before
    if not changed:
        parts.finding("Nothing is shuffled: both orders are the same.")
        parts.note(f"Query {query}, shown {shown.words}.")
        return
    if overall:
        parts.finding(overall)
    found = cards.headline([(answer.answer, answer.moves) for answer in answers])
    parts.headline(replace(found, text=f"Query {query}: {found.text}"))
    fallen = [(answer.label, fell_most(captions.titles(answer.moves))) for answer in answers]
    fallen = [(label, words) for label, words in fallen if words]
    text = ""
    for label, words in fallen:
        who = f"{RankerName.of(label).display}: " if len(fallen) > 1 else ""
        text += f"{who}{words} "
    parts.note(
        f"{text}{_changes_in_words(shown, answers[0].answer.best)}"
        f"Shown {shown.words}; before: {before}. "
        f"{cards.LEGEND}"
    )


def _changes_in_words(shown: ShownList, best: float) -> str:
    """Changes of single documents, and the best NDCG@10 left; empty without changes."""
    ids, changes = shown.documents.ids, shown.changes
    words = [
        *(f"{ids[document]} removed" for document in changes.removed),
        *(f"{ids[document]} duplicated" for document in changes.copied),
        *(
            f"feature {feature} of {ids[at]} set to {value:g}"
            for at, feature, value in changes.features
        ),
    ]
    if not words:
        return ""
    left = f"No ranking of this list has more than NDCG@10 {number(best)}. " if best < 1 else ""
    return f"Changed: {', '.join(words)}. {left}"


def _choices(
    data: scoring.DataDescription, rankers: list[TrainedRanker]
) -> tuple[List, list[TrainedRanker]]:
    query = shown_list.query_choice(data, shown_list.forget_hand)
    default = _first(data, rankers)
    recipe = _lists(rankers, default)
    offered = {r.label: r for r in in_order_of_arrival(rankers) if r.lists in {None, recipe}}
    texts = {label: proposals.texts(ranker) for label, ranker in offered.items()}
    usual = [ranker.label for ranker in default if ranker.label in offered]
    labels = st.multiselect(
        "Rankers",
        **address.multiselect("rankers", texts, selection.selected_among(offered) or usual),
        wrap=True, format_func=display_names(offered).__getitem__,
    )  # fmt: skip
    return List(data.data, data.test, recipe, query), [offered[label] for label in labels]


def _first(data: scoring.DataDescription, rankers: list[TrainedRanker]) -> list[TrainedRanker]:
    """Default rankers of an address without any: of its study, the contrast, or the first two."""
    for artefact in services.studies("invariance", data.data):
        if str(artefact.key) in address.says("study"):
            digests = [digest for _, digest in artefact.recipe["rankers"]]
            studied = [
                ranker for ranker in in_order_of_arrival(rankers) if ranker.digest in digests
            ]
            return (contrasting_pair(studied) or studied)[: len(CONTRAST)]
    of_lists = [ranker for ranker in in_order_of_arrival(rankers) if ranker.lists]
    return contrast(rankers) or of_lists[: len(CONTRAST)]


def _lists(rankers: list[TrainedRanker], default: list[TrainedRanker]) -> ListRecipe:
    """Draw the choice of candidate lists; the default is that of the rankers in the address."""
    ordered = in_order_of_arrival(rankers)
    wanted = [each for each in ordered if set(proposals.texts(each)) & set(address.says("rankers"))]
    recipes = list_recipes(ordered)
    usual = [*list_recipes(wanted), *list_recipes(default), *recipes][0]
    texts = {each: proposals.lists_texts(each) for each in recipes}
    if len(recipes) == 1:
        return address.settle_choice("lists", texts, usual)
    words = shown_list.recipe_words
    return st.selectbox(
        "Candidate lists", **address.selectbox("lists", texts, usual), format_func=words
    )


def _cards(drawn: dict[str, Any], shown: ShownList) -> None:
    with st.container(key="cards_place"):
        cards.draw(
            drawn, "cards", partial(shown_list.by_hand, shown), shown_list.shuffle_again,
            partial(shown_list.change_card, shown), margins.show_document,
        )  # fmt: skip


def _bumps(answers: Sequence[RankerAnswer]) -> None:
    for column, answer in _side_by_side(answers, min(2, len(answers))):
        key = f"bump {answer.label}"
        column.markdown(f"**{escaped_sentence(answer.label)}**")
        column.plotly_chart(
            answer.bump,
            key=key,
            config=parts.PLAIN,
            alt=alt_text(answer.bump),
            on_select=shown_list.take(key),
            selection_mode="points",
        )


def _side_by_side(
    answers: Sequence[RankerAnswer], across: int
) -> Iterator[tuple[DeltaGenerator, RankerAnswer]]:
    """Columns of the answers, `across` in a row."""
    for at in range(0, len(answers), across):
        yield from zip(st.columns(across), answers[at : at + across], strict=False)


def _row(
    query_list: List, shown: ShownList, answers: Sequence[RankerAnswer], drawn: Mapping[str, Any]
) -> None:
    """Draw the row of exports of this list; `drawn` are the facts of its cards."""
    stem = f"invariance-{len(answers)}-rankers"
    rankers = [answer.ranker for answer in answers]
    question = Invariance(tuple(name_in_jobs(ranker) for ranker in rankers))
    facts = {"data": query_list.data, "lists": query_list.recipe.plain()}
    recipe = {
        "data": query_list.data,
        "query": query_list.query,
        "rankers": [ranker.label for ranker in rankers],
        "before": shown.before,
        "order": shown.now,
        "changed": shown.changes.texts(),
    }

    def figures(width: str, captioned: bool) -> list[exports.File]:  # noqa: FBT001 (as ExportContent says)
        list_words = f"{query_list.data} · query {query_list.query} · order {shown.now}"
        files = [
            replace(file, label=f"{RankerName.of(answer.label).display}, {file.label}")
            for answer in answers
            for file in exports.figure_files(
                answer.bump, f"{answer.label}-bump", width,
                f"{answer.label} · {list_words}" * captioned,
            )
        ]  # fmt: skip
        moving = partial(animation.shuffle_gif, drawn, list_words * captioned)
        return [*files, exports.File("Animation (GIF)", f"{stem}.gif", moving)]

    parts.exports_row(
        parts.ExportContent(
            figures=figures,
            tables=lambda: exports.table_files(infer_columns(_numbers(answers), stem), stem),
            recipe=exports.recipe_file(recipe, facts, stem),
            report=_report(),
            slide=lambda: _slide_buttons(query_list, answers, drawn),
            link=lambda: parts.address_here(data=query_list.data),
            command=lambda: command_of(question, facts),
            python=lambda: python_of(question, facts),
        ),
        "invariance",
    )


def _slide_buttons(
    query_list: List, answers: Sequence[RankerAnswer], drawn: Mapping[str, Any]
) -> None:
    """Draw a button for each ranker's figure."""
    caption = f"{query_list.data} · query {query_list.query} · {drawn['words']} · NDCG@10"
    for answer in answers:
        name = RankerName.of(answer.label).display
        slide = partial(Slide, f"{name}: {drawn['verdict']}", caption, answer.bump)
        slides.draw_button(slide, answer.label)


def _numbers(answers: Sequence[RankerAnswer]) -> pd.DataFrame:
    """All numbers of the list: one row per ranker and document, in input order."""
    moves = {answer.label: answer.moves.sort_values("shown") for answer in answers}
    return pd.concat(moves, names=["ranker", None]).reset_index(0).reset_index(drop=True)


def _report() -> exports.File:
    """HTML report of the studies in the address."""
    studies = address.says("study")
    missing = "" if studies else "A report needs certificates: examine all test queries first."
    paths = [study_access.path(key) for key in studies]
    return exports.File(
        "Report (HTML)", "certificates.html", lambda: report.report(paths).encode(), missing
    )


PERMUTATIONS = 20
PANEL = job_panel.Panel("invariance")


def _certificates(data: DataDescription, recipe: ListRecipe, rankers: list[TrainedRanker]) -> None:
    """Draw the certificates of these rankers and the most affected queries."""
    st.subheader("All test queries")
    stored, digests = _stored(data.data, rankers), {ranker.digest for ranker in rankers}
    if stored:
        artefact = choice.study(stored)
        labels = tuple(label for label, digest in artefact.recipe["rankers"] if digest in digests)
        parts.headline(sample_result.finding(artefact, rankers))
        draw_sections(study_sections(str(artefact.key), View(rankers=labels)))
        _by_damage(str(artefact.key), labels)
    else:
        address.pin("study")
    if any(ranker.name == "gsf" for ranker in rankers):
        parts.link("group-shuffles", "How this falls with more shuffles of GSF's groups")
    complete = {
        digest
        for study in services.studies("invariance", data.data)
        if not limits(study.facts)
        for _, digest in study.recipe["rankers"]
    }
    missing = [ranker for ranker in rankers if ranker.digest not in complete]
    if missing:
        what = "certificate of all test queries" if stored else "certificate"
        _offer(data, recipe, missing, what)


def _stored(data: str, rankers: Sequence[TrainedRanker]) -> dict[str, Artefact]:
    """Studies of a data set with any of these rankers, by key."""
    digests = {ranker.digest for ranker in rankers}
    return {
        str(study.key): study
        for study in services.studies("invariance", data)
        if digests & {digest for _, digest in study.recipe["rankers"]}
    }


def _offer(
    data: DataDescription, recipe: ListRecipe, missing: list[TrainedRanker], what: str
) -> None:
    """Draw the button that examines rankers without a certificate, or the progress of that job."""
    names = [RankerName.of(ranker.label).display for ranker in missing]
    parts.sentence(f"No {what} yet: {', '.join(names)}.")
    rankers = [name_in_jobs(ranker) for ranker in missing]
    total = len(data.queries) * PERMUTATIONS * len(rankers)
    job_panel.offer(
        PANEL,
        "Examine all test queries",
        f"{counted(len(data.queries), 'query')} × {PERMUTATIONS} permutations × "
        f"{counted(len(rankers), 'ranker')}: {total:,} lists are scored in the background.",
        {
            "data": data.data, "rankers": rankers, "permutations": PERMUTATIONS,
            "lists": training.list_options(data.data, recipe) or None,
        },
    )  # fmt: skip


def _by_damage(key: str, labels: Sequence[str]) -> None:
    """Draw the queries that other orders change most; a click on a row opens its query."""
    st.subheader("Most affected queries")
    label = str(choice.ranker("Ranker", labels, "damage", labels[0]))
    table = study_access.compute(key, per_query, label)

    def open_query() -> None:
        for row in st.session_state["queries"]["selection"]["rows"]:
            query = st.session_state["query"] = str(table["query"].iloc[row])
            shown_list.forget_hand()
            st.toast(escaped_sentence(f"Query {query} is shown above."))

    st.caption("Click a row to open its query above.")
    title = f"Queries by the change of {label}'s ranking"
    data_frame(
        Table(table, BY_QUERY, title), "queries", on_select=open_query,
        selection_mode="single-row", height=280,
    )  # fmt: skip
