"""The first page: what this is, the shuffle in small on the shipped rankers, what to do next."""

from datetime import UTC, datetime

import streamlit as st

from app import scoring, services
from app.figures import bump
from app.plain import escaped
from app.views import data, parts
from core.data.catalogue import SAMPLE
from core.errors import ShuffleproofError
from core.studies.one_list import moves, verdicts
from core.studies.shown_order import ShownOrder
from core.studies.trained import contrasting, list_recipes

QUESTION = "Will my ranker survive when its input changes?"
WHAT = (
    "A ranker puts the documents of a query in order, and often looks at all of them at once. "
    "Shuffleproof changes what such a ranker is given (the order in which documents are shown, "
    "the initial ranking, the size of the set, its content) and measures how far the answer "
    "follows, query by query. Every number comes from scoring the changed input for real."
)
STUDIES = {
    "initial-ranking": "Initial ranking",
    "invariance": "Invariance",
}
RECENT = 6


def page() -> None:
    """Draw the page."""
    parts.header("Shuffleproof", QUESTION)
    st.markdown(WHAT)
    st.subheader("Shuffle the documents")
    demonstration()
    st.divider()
    own, recent = st.columns(2, gap="large")
    with own:
        _own_data()
    with recent:
        _recent_work()


@st.fragment
def demonstration() -> None:
    """Draw the shuffle of one sample query; the rest of the page stays as it is."""
    try:
        _demonstration()
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        st.button("Try again", key="again")


def _demonstration() -> None:
    with st.spinner("Opening the sample's rankers …", show_time=True):
        sample = scoring.described(SAMPLE)
        pair = contrasting(scoring.rankers_of(sample))
    if len(pair) < 2:
        parts.not_yet(
            "The sample's rankers are not here yet.",
            "One command trains them, in about a minute:",
            "shuffleproof demo",
        )
        return
    seed = int(st.session_state.get("shuffled", 0))
    shown = str(ShownOrder("shuffled", seed)) if seed else "initial"
    recipe = list_recipes(pair)[0]
    one = scoring.List(SAMPLE, sample.test, recipe, sample.queries[sample.telling])
    listed = scoring.documents(one, (shown,))
    start = ShownOrder().arranged(listed)
    order = ShownOrder.parse(shown).arranged(listed)
    answers = scoring.answers(one, tuple(pair), "initial", shown)
    frames = [(answer.ranker, moves(listed, start, order, answer)) for answer in answers]
    st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=_shuffle)
    for column, (label, frame) in zip(st.columns(2), frames, strict=True):
        with column:
            st.markdown(f"**{label}**")
            st.plotly_chart(
                bump.bump(frame, label, height=360),
                key=f"bump {label}",
                config={"displayModeBar": False},
                alt=bump.alt_text(frame, label),
            )
    if seed:
        parts.finding(verdicts(frames))
    st.caption(
        f"Query {one.query} of the sample, {len(listed)} documents, shown "
        f"{ShownOrder.parse(shown).words()}. Each line runs from where a document is shown to "
        "where the ranker puts it, and on to where it put it in the initial order: level on the "
        "right means not moved."
    )


def _shuffle() -> None:
    st.session_state["shuffled"] = int(st.session_state.get("shuffled", 0)) + 1


def _own_data() -> None:
    st.subheader("Bring your own data")
    st.markdown(
        "LETOR text (`2 qid:10 1:0.5 2:0.1 # id`), plain or compressed: one file, or a folder "
        "with train, validation and test."
    )
    st.page_link(
        st.Page(data.page, title="Data", url_path="data"),
        label="Upload files on the Data page",
        icon=":material/upload_file:",
    )
    st.caption("Or on the command line:")
    st.code("shuffleproof ingest my-folder --name mine", language="bash", wrap_lines=True)


def _recent_work() -> None:
    st.subheader("Recent work")
    now = datetime.now(UTC)
    made = [
        artefact
        for kind in ("study", "ranker")
        for artefact in services.store().artefacts(kind)
        if kind == "study" or "without part" not in str(artefact.recipe.get("lists"))
    ]
    if not made:
        st.markdown("Nothing yet: studies and trained rankers will be listed here.")
        return
    made.sort(key=lambda artefact: artefact.created, reverse=True)
    for artefact in made[:RECENT]:
        age = age_in_words((now - datetime.fromisoformat(artefact.created)).total_seconds())
        if artefact.key.kind == "study":
            kind = artefact.recipe["kind"]
            what = f"**{STUDIES.get(kind, kind)}** on {escaped(artefact.facts['data'])}"
            rankers = [label for label, _ in artefact.recipe["rankers"]]
            detail = f"{artefact.facts['queries']} queries, {len(rankers)} rankers"
        else:
            what = f"**{escaped(artefact.facts['name'])}** trained"
            valid = artefact.facts.get("valid", {}).get("NDCG@10")
            detail = "" if valid is None else f"validation NDCG@10 {valid:.3f}"
        st.markdown(f"- {what} · {age}" + (f"  \n  {detail}" if detail else ""))


def age_in_words(seconds: float) -> str:
    """How long ago, roughly.

    >>> age_in_words(45), age_in_words(60 * 90), age_in_words(86400 * 3)
    ('just now', '1 hour ago', '3 days ago')
    """
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
