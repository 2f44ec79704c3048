"""The queries behind a difference between recipes: who gains, who loses, one of them as a list."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import ablations, scoring
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.figures import benchmark_query
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, query_rows
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation.sections import Effect, most_changed, query_finding
from shuffleproof.core.studies.kinds.ablation.study import BASE
from shuffleproof.core.studies.kinds.benchmark.query import positions_of

BARS = "query bars"


@st.fragment
def section(artefact: Artefact, table: pd.DataFrame, effect: str, measure: str) -> None:
    """Draw the choice of a variant, its bars and, where one is chosen, a query's two answers.

    Args:
        artefact: the ablation.
        table: its variants under the measure.
        effect: what the page's picture shows; what is no measure is taken as quality.
        measure: under the conventions chosen.
    """
    if len(table) < 2:
        return
    shown: Effect = "robustness" if effect == "robustness" else "quality"
    labels = [str(label) for label in table["variant"].iloc[1:]]
    st.subheader("Which queries gain, which lose?")
    usual = most_changed(table, shown)
    variant = st.selectbox(
        f"Variant, beside {table['variant'].iloc[0]}", labels,
        index=labels.index(usual) if usual in labels else 0, key="variant", bind="query-params",
    )  # fmt: skip
    if variant is None:
        return
    frame = ablations.by_query(str(artefact.key), variant, shown, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    parts.finding(query_finding(frame, variant, shown, measure))
    st.plotly_chart(
        figure.queries(frame, variant, shown, measure),
        key=BARS,
        config=parts.CLICKABLE,
        alt=figure.queries_alt_text(frame, variant, shown, measure),
        on_select=_take,
        selection_mode="points",
    )
    query = query_rows.query(frame["query"], "Click a bar, or choose a query")
    if query is not None:
        _one_query(artefact, (str(variant), BASE), query)


def _take() -> None:
    """A click on a bar chooses its query."""
    facts = parts.clicked(BARS)
    if facts:
        st.session_state["of"] = str(facts[0])


def _one_query(artefact: Artefact, pair: tuple[str, str], query: str) -> None:
    try:
        answers = _answers(artefact, pair, query)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    if answers is None:
        st.caption("One of the two is not stored any more: run the ablation again.")
        return
    st.plotly_chart(
        benchmark_query.two_answers(answers, pair),
        key="two answers",
        config=parts.PLAIN,
        alt=benchmark_query.alt_text(answers, pair),
    )
    st.caption(
        escaped(
            f"Query {query}, the lists as they are. Left: the initial ranking. Middle: "
            f"{pair[0]}. Right: {pair[1]}. Full marks are relevant documents, strong lines are "
            "relevant ones that the two put at different places."
        )
    )


def _answers(artefact: Artefact, pair: tuple[str, str], query: str) -> pd.DataFrame | None:
    """The documents of a list and where two variants put them; None where one is gone."""
    data = scoring.described(str(artefact.facts["data"]))
    digests = dict(artefact.recipe["rankers"])
    known = {ranker.digest: ranker for ranker in scoring.rankers_of(data)}
    rankers = [known.get(digests[label]) for label in pair]
    if None in rankers:
        return None
    made: dict[str, Any] = dict(artefact.facts["lists"])
    recipe = ListRecipe(**(made | {"initial": tuple(made["initial"])}))
    one = scoring.List(data.data, data.test, recipe, query)
    asked = tuple(ranker for ranker in rankers if ranker is not None)
    found = scoring.answers(one, asked, "initial", "initial")
    documents = scoring.documents(one, ("initial",))
    rows = np.arange(len(documents.ids))
    places = {
        label: positions_of(np.array(answer.before, dtype=np.float32), rows)
        for label, answer in zip(pair, found, strict=True)
    }
    given = {"document": documents.ids, "label": documents.labels, "initial": rows + 1}
    return pd.DataFrame(given | places)
