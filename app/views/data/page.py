"""The page Data: facts, findings, queries and features of a data set, and its import."""

import pandas as pd
import streamlit as st

from shuffleproof.app import captions, data_sets, services, state
from shuffleproof.app.figures import distributions
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.app.views.data import browser as data_browser
from shuffleproof.app.views.data import upload as data_upload
from shuffleproof.core.data import advice, examination
from shuffleproof.core.data.advice import Advice
from shuffleproof.core.data.display_texts import SHAPES
from shuffleproof.core.data.examination import Examination
from shuffleproof.core.data.layout import SHIPPED
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.workbench import run_to_end
from shuffleproof.core.words import counted

QUESTION = "What does this data set contain, and which problems does it have?"
TABS = ("Facts", "Queries", "Features", "Compare", "Add data", "Manage")


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Data", QUESTION)
    tabs = st.tabs(TABS, key="view", bind="query-params")
    for tab, title in zip(tabs, TABS, strict=True):
        if tab.open:
            with tab, parts.errors_shown(again=True):
                _tab(title)


def _tab(title: str) -> None:
    name = state.data()
    if title == "Add data":
        data_upload.section()
    else:
        drawn = {
            "Facts": _facts,
            "Queries": data_browser.queries,
            "Features": _features,
            "Compare": _compare,
            "Manage": _manage,
        }
        drawn[title](name, services.data_set(name))


def _facts(name: str, artefact: Artefact) -> None:
    examined = _examined(artefact)
    if examined is None:
        return
    st.markdown(f"**{escaped(data_sets.headline(name, examined))}**")
    labels, lengths = data_sets.label_counts(examined), data_sets.length_counts(examined)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Labels**")
        chart(distributions.labels(labels), "labels", config=parts.PLAIN)
    with right:
        st.markdown("**Documents of a query**")
        chart(distributions.lengths(lengths), "lengths", config=parts.PLAIN)
    _findings(examined, list(artefact.facts["notes"]))
    parts.link("library", "Recipe and facts", query={"chosen": str(artefact.key)})


def _features(_name: str, artefact: Artefact) -> None:
    examined = _examined(artefact)
    if examined is not None:
        data_browser.features(artefact, examined)


def _compare(name: str, artefact: Artefact) -> None:
    """Draw the facts of the data set in use beside those of another one."""
    others = [other for other in state.data_sets() if other != name]
    other = parts.select("Compare with", "other", others, others[0])
    facts = {}
    for each, of in ((name, artefact), (other, services.data_set(other))):
        examined = _examined(of, each)
        if examined is None:
            return
        facts[each] = data_sets.facts_in_words(examined)
    table = pd.DataFrame(facts).reset_index(names="fact")
    st.dataframe(table, hide_index=True, alt=f"Facts of {name} and {other}")
    parts.note("Relevant: label above 0. Documents of a query: mean of the part.")


def _examined(artefact: Artefact, name: str = "") -> Examination | None:
    """The examination of a data set; a small set is examined now."""
    examined = data_sets.examination_of(artefact)
    if examined is None and artefact.size <= data_sets.AT_ONCE:
        with st.spinner("Examining the data …", show_time=True):
            return run_to_end(examination.examine(artefact, services.store()))
    if examined is None:
        parts.not_yet(
            f"This data set has {artefact.size / 1e6:,.0f} MB and has not been examined.",
            "Labels, list lengths, features and findings are counted on the command line:",
            f"shuffleproof doctor '{name or state.data()}'",
        )
    return examined


def _findings(examined: Examination, notes: list[str]) -> None:
    st.subheader("Problems found by the doctor")
    every = advice.merge_findings(examined.findings)
    grave = [merged for merged in every if merged.severity != "info"]
    remarks = [merged for merged in every if merged.severity == "info"]
    if not grave:
        st.success("No problems found.", icon=":material/check_circle:")
    for merged in grave:
        with st.container(border=True):
            _advice(merged)
    with st.expander(f"{counted(len(remarks) + len(notes), 'note')}"):
        for merged in remarks:
            _advice(merged)
        for note in notes:
            st.markdown(f"{parts.SEVERITIES['info']} {escaped(note)}")


def _advice(merged: Advice) -> None:
    """Draw findings of one kind: a sentence for all parts, the advice, and links to the queries."""
    message = escaped(advice.merged_message(merged.findings))
    st.markdown(f"{parts.SEVERITIES[merged.severity]} {message}")
    if merged.action:
        st.markdown(f":material/arrow_forward: {escaped(merged.action)}")
    with st.container(horizontal=True):
        for place, finding in enumerate(merged.findings):
            if finding.queries:
                part = f"{data_sets.WORDS[finding.part]}: " if finding.part else ""
                st.button(
                    f"{part}{counted(len(finding.queries), 'query')}",
                    key=f"{finding.code} {place}",
                    on_click=data_browser.show_finding,
                    args=(finding,),
                    help="Show the queries behind this finding",
                )


def _manage(name: str, artefact: Artefact) -> None:
    """Draw export and texts of the data set in use."""
    st.subheader(escaped(f"Export {name}"), anchor=False)
    _export(name)
    if name in SHIPPED:
        st.caption("This data set comes with the program: it can be neither renamed nor deleted.")
    else:
        chosen = {"chosen": str(artefact.key)}
        parts.link("library", "Rename or delete it in the library", query=chosen)
    _texts(name)


def _export(name: str) -> None:
    """Draw the commands that write a part."""
    part = data_sets.PART_OF[data_browser.chosen_part()]
    st.caption("LETOR text, or judgments (TREC qrels):")
    export = f"shuffleproof export '{name}' {part}"
    parts.shell(f"{export}.txt.gz --part {part}\n{export}.qrels --part {part}")


def _texts(name: str) -> None:
    """Draw the number of stored texts of documents and queries, and the command that adds some."""
    st.subheader("Texts of documents and queries", anchor=False)
    texts = captions.of(name)
    if texts is None:
        st.caption("None yet: pages show the ids of documents and queries.")
    else:
        sizes = [counted(len(getattr(texts, kind)), shape.of) for kind, shape in SHAPES.items()]
        st.markdown(f"Pages show texts of {' and '.join(sizes)}.")
        for note in texts.notes:
            st.caption(escaped(note))
    files = "--documents docs.csv --query-texts queries.csv"
    parts.shell(f"shuffleproof ingest --name '{name}' {files}")
