"""The robustness card: effect of a worse input on each ranker, against its quality."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import captions, rescoring, study_access
from shuffleproof.app.figures import initial_ranking as curves
from shuffleproof.app.figures.style import set_properties
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import choice, form, parts
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage, StudyView
from shuffleproof.app.study.per_query import PerQuery, changes, unchanged_level
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.kinds.card import sections
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.card.study import ALLOWED
from shuffleproof.core.studies.kinds.initial_ranking.sections import losses_of
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.words import interval, number, signed

OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= ALLOWED]
WORST = 5
"""Number of worst queries that a card names."""

WIDTH, HEIGHT = 700, 300
"""Pixels: width of an A4 sheet without margins, height of the curve."""


def family_fields(_declared: Parameter, now: Any) -> tuple[str, ...]:
    """Draw the families."""
    return tuple(form.family_choice(OFFERED, [name for name in now if name in OFFERED]))


@st.fragment
def printed_card(shown: StudyView) -> str:
    """Draw the card of one ranker: verdict, numbers, curve, worst queries, conditions."""
    st.subheader("Card of one ranker", anchor=False)
    ranker = choice.ranker("Ranker of the card", shown.view.rankers, "card", shown.view.rankers[-1])
    key, family, measure = shown.key, shown.view.family, shown.measure
    cards = study_access.compute(key, sections.cards, family, measure)
    own = cards[(cards["ranker"] == ranker) & cards["end"].notna()]
    with st.container(key="printed_card", border=True, width=WIDTH):
        st.subheader(
            escaped_sentence(f"Robustness card: {RankerName.of(str(ranker)).display}"), anchor=False
        )
        if own.empty:
            st.caption("This part of the study is not stored.")
            return ""
        view = type(shown.view)((measure,), family=family, rankers=(str(ranker),))
        parts.headline(study_access.compute(key, sections.headline, view))
        card = own.iloc[0]
        numbers = {
            "Mean on the unchanged lists": number(card["start"]),
            "Share kept at the last level": number(card["kept"]),
            "Area under the curve (1: no loss)": f"{number(card['area'])} "
            f"{interval(card['area_low'], card['area_high'], '.3f')}",
            "Mean change of the worst 5 % of queries": number(card["cvar"]),
        }
        st.table(pd.Series(numbers, name=measure).to_frame())
        _curve(shown, str(ranker))
        _worst(shown, str(ranker))
        levels = ", ".join(f"{level:g}" for level in _levels(shown))
        unit = rescoring.unit(family)
        parts.note(
            f"Data: {shown.artefact.facts.get('data', '–')} · {choice.line(shown.artefact)} · "
            f"{family}: {unit}, levels {levels} · stored {study_access.day(shown.artefact)} UTC "
            f"as {key}"
        )
    st.caption("Print it with Ctrl + P (⌘ P): nothing else of this page is printed.")
    return ""


def _levels(shown: StudyView) -> list[float]:
    return rescoring.families(shown.artefact.recipe)[shown.view.family]


def _curve(shown: StudyView, ranker: str) -> None:
    family = shown.view.family
    lost = study_access.compute(shown.key, losses_of, family, shown.measure)
    lost = lost[lost["ranker"] == ranker]
    if len(set(lost["level"])) > 1:
        facts = lost, family, loss_in(shown.measure), rescoring.unit(family)
        curve = go.Figure(cached_figure(curves.curves, *facts))
        set_properties(curve.layout, height=HEIGHT)
        chart(curve, "card curve", config=parts.PLAIN)


def _worst(shown: StudyView, ranker: str) -> None:
    """Draw the queries that lose most at the last level."""
    level = _levels(shown)[-1]
    point = ranker, shown.view.family, level
    frame = study_access.compute(shown.key, changes, unchanged_level, point, shown.measure)
    lost = frame[frame["change"] < 0].head(WORST)
    if lost.empty:
        st.markdown(f"No query loses anything at level {level:g}.")
        return
    st.markdown(f"**Queries with the largest loss at level {level:g}**")
    texts = [(str(query), captions.text_of(str(query))) for query in lost["query"]]
    rows = {
        "Query": [escaped_sentence(": ".join(filter(None, pair))) for pair in texts],
        "Unchanged": [number(value) for value in lost["unchanged"]],
        "Perturbed": [number(value) for value in lost["perturbed"]],
        "Change": [signed(value) for value in lost["change"]],
    }
    st.table(pd.DataFrame(rows).set_index("Query"))


FORM = Form(
    Card.kind,
    rows=(("rankers",), ("families", "draws")),
    from_shown=("families",),
    widgets={"families": family_fields},
)
PAGE = StudyPage(
    "Robustness card",
    families=lambda result: list(rescoring.families(result.recipe)),
    clicks={"point": str},
    per_query=PerQuery(unchanged_level, rescoring.perturbed_scores),
    caption="Horizontal: quality of the unchanged lists. Vertical: the share kept at the last "
    "level.",
    more=printed_card,
)


def page() -> None:
    """Draw the page for the data set in use."""
    PAGE.draw(FORM)
