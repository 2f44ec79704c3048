"""The invariance page's second half: certificates over the whole test part, queries by damage."""

import streamlit as st

from shuffleproof.app import address, services, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped, escaped_sentence
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import DataDescription
from shuffleproof.app.services import StoredCertificate
from shuffleproof.app.study import choice as study_choice
from shuffleproof.app.study import job_panel, parts, shown_list
from shuffleproof.app.study_access import day
from shuffleproof.core.answers.one_list import amount
from shuffleproof.core.answers.trained_rankers import TrainedRanker
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.kinds.invariance.certificate import BY_QUERY, Certificate, percent
from shuffleproof.core.studies.kinds.invariance.verdict import INVARIANT, NOT, UNTOLD
from shuffleproof.core.studies.sections import limits
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, number

PERMUTATIONS, ACROSS = 20, 3


def section(data: DataDescription, recipe: ListRecipe, rankers: list[TrainedRanker]) -> None:
    """Draw the certificates of these rankers and the queries that suffered."""
    st.subheader("Over the test queries")
    stored = services.stored_certificates(data.data, address.says("study"))
    known = [(ranker, stored[ranker.digest]) for ranker in rankers if ranker.digest in stored]
    address.pin("study", *dict.fromkeys(certified.study for _, certified in known))
    _newer(data.data, known)
    for at in range(0, len(known), ACROSS):
        columns = st.columns(min(ACROSS, len(known)))
        for column, (ranker, certified) in zip(columns, known[at : at + ACROSS], strict=False):
            with column.container(border=True, height="stretch"):
                _card(ranker.label, certified)
    if any(ranker.name == "gsf" for ranker, _ in known):
        parts.link(
            "group-shuffles", "How this falls with more shuffles of GSF's groups", "trending_down"
        )
    complete = {
        digest
        for study in services.studies("invariance", data.data)
        if not limits(study.facts)
        for _, digest in study.recipe["rankers"]
    }
    missing = [ranker for ranker in rankers if ranker.digest not in complete]
    if missing:
        what = "certificate of all test queries" if known else "certificate"
        _offer(data, recipe, missing, what)
    _by_damage(known)


PANEL = job_panel.Panel("invariance", "examination")

ICONS = {
    INVARIANT: ":material/verified:", NOT: ":material/error:", UNTOLD: ":material/help:",
}  # fmt: skip


def _newer(data: str, known: list[tuple[TrainedRanker, StoredCertificate]]) -> None:
    """Offer later examinations of these rankers."""
    digests, shown = {ranker.digest for ranker, _ in known}, {one.study for _, one in known}
    stored = services.studies("invariance", data)  # the newest first
    of = [one for one in stored if digests & {digest for _, digest in one.recipe["rankers"]}]
    if of and str(of[0].key) not in shown:
        study_choice.newer_results(day(of[0]), str(of[0].key))


def _card(label: str, certified: StoredCertificate) -> None:
    card = certified.certificate
    st.markdown(
        f"**{escaped_sentence(label)}**  \n{ICONS[card.verdict]} **{card.verdict.capitalize()}** "
        "under other orders shown"
    )
    for limit in certified.limits:
        st.markdown(escaped(limit))
    if card.verdict == INVARIANT:
        bound = percent(card.failure_bound)
        st.markdown(
            f"**{counted(card.distinct_orders, 'random order')}** changed no answer: at most "
            f"**{bound}** of such orders do (95 %)"
        )
    else:
        moved = f"**{moved_share(card, certified.documents)}** of the documents of a list"
        st.markdown(
            f"An order moves {moved} on average; **{card.queries_moved}** of "
            f"{counted(card.queries, 'query')} changed"
            + (f", {card.queries_untold} cannot be told" if card.queries_untold else "")
        )
        reasons = "; ".join(card.reasons)
        st.markdown(escaped(reasons[:1].upper() + reasons[1:]))
    st.caption(
        f"Largest score difference {amount(card.max_score_deviation)}, arithmetic explains "
        f"{amount(card.numeric_floor)} · lowest Kendall τ of two answers {number(card.lowest_tau)}"
    )
    with st.expander("What this rests on"):
        for line in card.details():
            st.markdown(f"- {escaped_sentence(line)}")
        st.caption(certified.study)


def moved_share(card: Certificate, documents: int) -> str:
    """The share of the lists' documents that an order moved on average; a trace is not nothing."""
    each = max(card.permutations // max(card.queries, 1), 1)
    share = card.positions_moved / max(documents * each, 1)
    if not share:
        return "0 %"
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def _offer(
    data: DataDescription, recipe: ListRecipe, missing: list[TrainedRanker], what: str
) -> None:
    """Offer to examine rankers that have no such certificate, or show how far that has come."""
    names = [RankerName.of(ranker.label).display for ranker in missing]
    st.markdown(escaped_sentence(f"No {what} yet: {', '.join(names)}."))
    rankers = [as_asked(ranker) for ranker in missing]
    total = len(data.queries) * PERMUTATIONS * len(rankers)
    job_panel.offer(
        PANEL,
        "Examine all test queries",
        f"{counted(len(data.queries), 'query')} × {PERMUTATIONS} permutations × "
        f"{counted(len(rankers), 'ranker')}: {total:,} lists are scored in the background.",
        {
            "data": data.data, "rankers": rankers, "permutations": PERMUTATIONS,
            "lists": training.lists_asked(data.data, recipe) or None,
        },
    )  # fmt: skip


def _by_damage(known: list[tuple[TrainedRanker, StoredCertificate]]) -> None:
    if not known:
        return
    st.subheader("Most affected queries")
    labels = [ranker.label for ranker, _ in known]
    worst = max(known, key=lambda pair: pair[1].certificate.positions_moved)[0].label
    label = study_choice.ranker("Of ranker", labels, "damage", worst)
    certified = next(certified for ranker, certified in known if ranker.label == label)
    table = services.damage(certified.study, certified.label)

    def open_query() -> None:
        for row in st.session_state["queries"]["selection"]["rows"]:
            query = st.session_state["query"] = str(table["query"].iloc[row])
            shown_list.forget_hand()
            st.toast(escaped_sentence(f"Query {query} is shown above."))

    st.caption("Click a row to open its query above.")
    title = f"Queries by how much reordering changed {label}'s answer"
    data_frame(
        Table(table, BY_QUERY, title), "queries", on_select=open_query,
        selection_mode="single-row", height=280,
    )  # fmt: skip
