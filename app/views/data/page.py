"""The page Data: facts, findings, queries and features of a data set, and its import."""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from shuffleproof.app import (
    address,
    captions,
    data_sets,
    jobs,
    received_files,
    services,
    state,
)
from shuffleproof.app.figures import distributions
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.app.views.data import browser as data_browser
from shuffleproof.app.views.data import upload as data_upload
from shuffleproof.core.data import advice, display_texts, examination, trec
from shuffleproof.core.data.advice import Advice
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.display_texts import SHAPES
from shuffleproof.core.data.examination import Examination
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.workbench import run_to_end
from shuffleproof.core.words import counted

QUESTION = "What does this data set contain, and which problems does it have?"
TABS = ("Facts", "Queries", "Features", "Side by side", "Add data", "Manage")


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
    elif title == "Side by side":
        side_by_side(state.data_sets(), name)
    else:
        drawn = {
            "Facts": _facts,
            "Queries": data_browser.queries,
            "Features": _features,
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
    with st.expander("Every fact"):
        words = data_sets.facts(artefact, examined)
        st.dataframe({"fact": list(words), "value": list(words.values())}, hide_index=True)


def _features(_name: str, artefact: Artefact) -> None:
    examined = _examined(artefact)
    if examined is not None:
        data_browser.features(artefact, examined)


def _examined(artefact: Artefact) -> Examination | None:
    return data_sets.examination_of(artefact) or _examine(artefact)


def _examine(artefact: Artefact) -> Examination | None:
    """Examine a data set without an examination: at once, or in a job if it is large."""
    if artefact.size <= data_sets.AT_ONCE:
        with st.spinner("Examining the data …", show_time=True):
            return run_to_end(examination.examine(artefact, services.store()))
    st.info(
        f"This data set has {artefact.size / 1e6:,.0f} MB and has not been examined: "
        "labels, list lengths, features and findings are counted in the background."
    )
    key = f"{artefact.key.kind}-{artefact.key.digest}"
    if any(
        (job.kind, job.parameters.get("artefact")) == ("examine", key) for job in jobs.under_way()
    ):
        st.fragment(_wait, run_every=jobs.FAST)(artefact)
    elif st.button("Examine it", type="primary"):
        jobs.submit("examine", {"artefact": key})
        st.rerun()
    return None


def _wait(artefact: Artefact) -> None:
    if data_sets.examination_of(artefact) is not None:
        state.draw_again()
    st.progress(0.0, text="Examining …")


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


DIFFERS = "background-color: rgba(230, 159, 0, 0.22)"


def side_by_side(names: Sequence[str], used: str) -> None:
    """Draw the facts of several data sets; only differing facts are marked."""
    ordered = sorted(names, key=lambda name: services.arrival_order(services.data_set(name)))
    others = [name for name in ordered if name != used]
    chosen = st.multiselect(
        "Data sets",
        **address.multiselect("sets", address.option_texts(*names), [used, *others[:1]], of=used),
    )
    if len(chosen) < 2:
        st.info("Choose two or more data sets; more of them come in under Add data.")
        return
    sets = {name: services.data_set(name) for name in chosen}
    table = pd.DataFrame(
        {name: data_sets.facts(each, data_sets.examination_of(each)) for name, each in sets.items()}
    ).fillna("–")
    table = table.loc[_ordered(list(table.index))]
    unlike = table.ne(table.iloc[:, 0], axis=0).any(axis=1)
    only = st.toggle("Differences only", key="only", bind="query-params")
    table.insert(0, "fact", table.index)
    table.insert(1, "differs", ["≠" if each else "" for each in unlike])
    shown = table[unlike] if only else table
    styled = shown.style.apply(
        lambda line: [DIFFERS if line["differs"] else ""] * len(line), axis="columns"
    )
    st.dataframe(
        styled,
        hide_index=True,
        height="content",
        column_config={
            "fact": st.column_config.TextColumn("", width="medium"),
            "differs": st.column_config.TextColumn("", width=30),
        },
    )
    count = f"{unlike.sum()} of {len(table)} facts differ (marked ≠)."
    st.markdown(f"**{count}**" if unlike.any() else "**These sets do not differ in any fact.**")


def _ordered(facts: Sequence[str]) -> list[str]:
    """Facts in input order, with all label facts sorted at the place of the first one.

    >>> _ordered(["queries", "label 0", "label 2", "size", "label 1"])
    ['queries', 'label 0', 'label 1', 'label 2', 'size']
    """
    labels = [fact for fact in facts if fact.startswith("label ")]
    rest = [fact for fact in facts if fact not in labels]
    at = facts.index(labels[0]) if labels else 0
    labels.sort(key=lambda fact: float(fact.removeprefix("label ")))
    return [*rest[:at], *labels, *rest[at:]]


def _manage(name: str, artefact: Artefact) -> None:
    """Draw export and texts of the data set in use."""
    st.subheader(escaped(f"Export {name}"), anchor=False)
    _export(name, artefact)
    if name == SAMPLE:
        st.caption("The sample comes with the program: it can be neither renamed nor deleted.")
    else:
        chosen = {"chosen": str(artefact.key)}
        parts.link("library", "Rename or delete it in the library", query=chosen)
    _side_files(name, artefact)


def _export(name: str, artefact: Artefact) -> None:
    part = data_sets.PART_OF[data_browser.chosen_part()]
    with st.container(horizontal=True):
        for ending, label, write in (
            ("txt.gz", "LETOR text", letor_write.write),
            ("qrels", "Judgments (TREC qrels)", lambda data, path: trec.write_qrels(path, data)),
        ):
            st.download_button(
                label,
                _file(artefact, part, ending, write),
                file_name=f"{name}-{part}.{ending}",
                mime="application/octet-stream",
                on_click="ignore",
                disabled=artefact.size > data_sets.AT_ONCE,
                key=f"download {ending}",
            )
        facts = data_sets.facts(artefact, data_sets.examination_of(artefact))
        st.download_button(
            "Facts (JSON)",
            json.dumps({"name": name, "key": str(artefact.key), **facts}, indent=1),
            file_name=f"{name}.json",
            mime="application/json",
            on_click="ignore",
        )
    st.caption("On the command line, for sets of any size:")
    parts.shell(f"shuffleproof export '{name}' {part}.txt.gz --part {part}")


def _file(
    artefact: Artefact, part: str, ending: str, write: Callable[[RankingDataset, Path], None]
) -> Callable[[], bytes]:
    """Function that writes an export and returns its bytes, for a download on demand."""

    def made() -> bytes:
        dataset = getattr(services.fold(str(artefact.key)), part)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{part}.{ending}"
            write(dataset, path)
            return path.read_bytes()

    return made


SIDE_DRAFT = "side files"
SIDE_LABELS = {
    "documents": "Documents: docid, and title, url or snippet",
    "queries": "Queries: qid, text and tag",
}


def _side_files(name: str, artefact: Artefact) -> None:
    """Draw the stored texts of documents and queries, and their import."""
    st.subheader("Texts of documents and queries", anchor=False)
    texts, fingerprint = captions.of(name), str(artefact.facts["fingerprint"])
    if texts is None:
        st.caption("None yet: pages show the ids of documents and queries.")
    else:
        sizes = [counted(len(getattr(texts, kind)), shape.of) for kind, shape in SHAPES.items()]
        st.markdown(f"Pages show texts of {' and '.join(sizes)}.")
        for note in texts.notes:
            st.caption(escaped(note))
    if services.fold(str(artefact.key)).train.doc_ids is None:
        st.info(
            "The documents of this data have no ids, so that only queries can be given texts. "
            "LETOR text names a document at the end of its line: # docid = …"
        )
    st.caption(
        "CSV, JSON lines or Parquet. Texts are only shown: no ranker reads them and no "
        "result changes."
    )
    for kind in SHAPES:
        received_files.uploader(SIDE_DRAFT, kind, SIDE_LABELS[kind], "last")
    received_files.errors(SIDE_DRAFT)
    for error in st.session_state.pop(f"{SIDE_DRAFT} refused", []):
        parts.long_error(error)
    keep, remove = st.columns(2)
    keep.button(
        "Keep these texts", type="primary", width="stretch", on_click=_attach, args=(artefact,),
        disabled=not received_files.files_of_parts(SIDE_DRAFT, *SHAPES),
    )  # fmt: skip
    remove.button(
        "Remove texts", width="stretch", disabled=texts is None, on_click=display_texts.forget,
        args=(fingerprint, services.store()),
    )  # fmt: skip


def _attach(artefact: Artefact) -> None:
    """Read the chosen side files and store their texts; a callback."""
    draft = received_files.draft(SIDE_DRAFT)
    if draft is None:
        return
    try:
        files = [
            display_texts.read_side_file(draft.path(file), file.part)
            for file in draft.files(*SHAPES)
        ]
        display_texts.attach(artefact, services.store(), files)
    except ShuffleproofError as error:  # users should not see the temporary path
        words = str(error)
        for kind in SHAPES:
            words = words.replace(f"{draft.folder / kind}/", "")
        st.session_state[f"{SIDE_DRAFT} refused"] = [words]
    else:
        received_files.clear(SIDE_DRAFT)
