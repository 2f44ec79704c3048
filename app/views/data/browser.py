"""Browser of a data set's queries, documents and features, with a search."""

import numpy as np
import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype

from shuffleproof.app import address, captions, data_sets, services
from shuffleproof.app.figures import distributions
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.core.data import browse
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.doctor import Finding
from shuffleproof.core.data.examination import Examination
from shuffleproof.core.errors import shown
from shuffleproof.core.numerals import is_count
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted, number

FIRST_FEATURES = 6
VALUES = ("lowest", "5 %", "median", "95 %", "highest", "mean")
BEYOND = 2**53
"""Largest number that Streamlit's tables show exactly; larger ones become text."""
ANY = "any"
TABLE = 320
SETTINGS = {
    "query": st.column_config.TextColumn("query"),
    "document": st.column_config.TextColumn("document"),
    "comment": st.column_config.TextColumn("comment", width="large"),
    "row": st.column_config.NumberColumn("row", help="Row of the document in this part"),
}


def show_finding(finding: Finding) -> None:
    """Open the queries behind a finding; a callback."""
    st.session_state["view"] = "Queries"
    st.session_state["part"] = data_sets.WORDS[finding.part or "train"]
    for name in ("find", "label"):
        st.session_state.pop(name, None)
    st.query_params["finding"] = finding.code


def queries(name: str, artefact: Artefact) -> None:
    """Draw the browser of queries and their documents."""
    part = chosen_part()
    dataset: RankingDataset = getattr(services.fold(str(artefact.key)), data_sets.PART_OF[part])
    frame = data_sets.query_frame(dataset, dataset.fingerprint)
    left, right = st.columns([5, 1.4], vertical_alignment="bottom")
    text = left.text_input(
        "Search", key="find", bind="query-params", placeholder="part of an id", max_chars=255
    )
    grades = [f"{grade:g}" for grade in np.unique(dataset.labels)]
    label = right.selectbox(
        "Best label", [ANY, *grades], key="label", bind="query-params"
    )  # fmt: skip
    filtered = (text.strip(), None if label == ANY else float(label))
    query = _queries_found(dataset, frame, filtered, _of_finding(artefact, part))
    if query is not None:
        _open(dataset, query)
    _one_query(name, dataset, frame)


def chosen_part() -> str:
    """Draw the choice of a part of the data; return its name in words."""
    return parts.segments("Part", "part", {part: part for part in data_sets.PART_OF}, "test")


def _of_finding(artefact: Artefact, part: str) -> Finding | None:
    """The finding in the address, if it is one of this part."""
    code, examination = st.query_params.get("finding"), data_sets.examination_of(artefact)
    if code is None or examination is None:
        return None
    wanted = code, data_sets.PART_OF[part]
    findings = (
        each for each in examination.findings if (each.code, each.part or "train") == wanted
    )
    return next(findings, None)


def _queries_found(
    dataset: RankingDataset,
    frame: pd.DataFrame,
    filtered: tuple[str, float | None],
    finding: Finding | None,
) -> int | None:
    (text, label), shown = filtered, frame
    if text:
        shown = shown.loc[browse.matching_queries(dataset, text)]
    if label is not None:
        shown = shown[shown["best label"] == label]
    if finding is not None:
        shown = shown[shown.index.isin(finding.queries)]
        words, out = st.columns([5, 1], vertical_alignment="center")
        words.markdown(f":material/filter_alt: {escaped(finding.message)}")
        out.button("Show all", on_click=address.pin, args=("finding",), width="stretch")
    st.caption(
        f"{len(shown):,} of {counted(len(frame), 'query')}. Choose a row to see its documents."
    )
    row = _row(shown, f"queries {dataset.fingerprint[:8]} {filtered} {finding and finding.code}")
    return None if row is None else int(shown.index[row])


def _row(shown: pd.DataFrame, key: str) -> int | None:
    """Draw a table; return the chosen row."""
    shown, texts = captions.with_captions(shown.copy())
    chosen = st.dataframe(
        shown,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        hide_index=True,
        height=TABLE if len(shown) > 7 else "auto",
        column_config=texts | SETTINGS,
    )
    return next(iter(chosen.selection.rows), None)


def _open(dataset: RankingDataset, query: int) -> None:
    """Put a query into the address: its id, and its position if several queries share the id."""
    name = dataset.query_ids[query]
    several = dataset.query_ids.count(name) > 1  # files may repeat an id in separate blocks
    address.pin("query", name)
    address.pin("place", *([str(query)] if several else []))


def _opened(dataset: RankingDataset) -> int | None:
    name = st.query_params.get("query")
    if name is None or name not in dataset.query_ids:
        return None
    place = st.query_params.get("place", "")
    if is_count(place) and int(place) < dataset.queries:
        return int(place)
    return dataset.query_ids.index(name)


def _one_query(name: str, dataset: RankingDataset, frame: pd.DataFrame) -> None:
    query = _opened(dataset)
    if query is None:
        wanted = st.query_params.get("query")
        if wanted is not None:
            st.info(escaped(f"Query {wanted} is not in this part of {name}."))
        return
    line = frame.loc[query]
    st.subheader(escaped(f"Query {line['query']}"), anchor=False)
    captions.draw_query_text(str(line["query"]))
    st.caption(
        f"{counted(int(str(line.documents)), 'document')}, {line.relevant:,} of them relevant; in "
        "the order of the file. Click a column head to sort."
    )
    ids = list(dataset.feature_ids)
    features = st.multiselect(
        "Features", ids, default=ids[:FIRST_FEATURES], key=f"columns {dataset.fingerprint[:8]}",
        format_func=dataset.feature_label,
    )  # fmt: skip
    rows = range(*dataset.offsets[query : query + 2].tolist())
    shown = data_sets.document_frame(dataset, rows, features)
    shown["row"] = range(1, len(rows) + 1)
    shown, texts = captions.with_captions(shown)
    st.dataframe(
        shown,
        hide_index=True,
        height=480 if len(shown) > 12 else "auto",
        column_config=texts | SETTINGS,
    )


def features(artefact: Artefact, examination: Examination) -> None:
    """Draw the distribution of every feature, and one in large: by default one marked as huge."""
    part = chosen_part()
    table = data_sets.feature_table(examination, data_sets.PART_OF[part])
    if table.empty:
        st.info("This part has no documents.")
        return
    dataset: RankingDataset = getattr(services.fold(str(artefact.key)), data_sets.PART_OF[part])
    quality = data_sets.feature_quality(dataset, dataset.fingerprint)
    if dataset.feature_names is not None:
        table.insert(1, "name", [*map(shown, dataset.feature_names)])
    table.insert(1, "NDCG@10", quality.best.loc[table.feature].to_numpy())
    ways = ["high", "low"]
    best = np.select([quality[way] > quality[other] for way, other in (ways, ways[::-1])], ways, "")
    table.insert(2, "first", pd.Series(best, quality.index).loc[table.feature].to_numpy())
    marked = table.feature[table.marks.str.contains("huge|largest")].tolist()
    chosen = int(
        st.selectbox(
            "Feature", **address.selectbox(
                "feature", {each: (str(each),) for each in table.feature.tolist()},
                next(iter(marked), int(table.feature.iloc[0])), of=f"{artefact.key} {part}",
            ),
            format_func=dataset.feature_label,
        )
    )  # fmt: skip
    bins = data_sets.feature_bins(examination, chosen)
    label = dataset.feature_label(chosen)
    figure = distributions.feature(bins, f"feature {label}")
    chart(figure, "one feature", config=parts.PLAIN)
    st.markdown(f"**{_sentence(table, chosen, part, escaped(label))}**")
    for name in VALUES:
        if table[name].abs().max() > BEYOND:
            table[name] = [number(value, ".4g") for value in table[name]]
    st.dataframe(
        table,
        hide_index=True,
        height=TABLE + 120 if len(table) > 12 else "auto",
        column_config={
            "values": st.column_config.BarChartColumn(
                "values", y_min=0, width="medium", color="gray"
            ),
            "NDCG@10": st.column_config.NumberColumn(
                "NDCG@10",
                format="%.3f",
                help="Of this feature alone as a ranker, high or low values first, whichever is "
                "better; queries without a relevant document are left out",
            ),
            "first": st.column_config.TextColumn("first", help="Order of the values for that NDCG"),
            "zeros": st.column_config.NumberColumn("zeros", format="percent"),
            **{
                name: st.column_config.NumberColumn(name, format="%.4g")
                if is_numeric_dtype(table[name])
                else st.column_config.TextColumn(name, alignment="right")
                for name in VALUES
            },
        },
    )
    facts = examination.parts[data_sets.PART_OF[part]]
    if facts.looked_at < facts.documents:
        st.caption(
            f"Mean, quantiles, zeros and bins are of {facts.looked_at:,} evenly spaced documents; "
            "lowest, highest and marks are of all."
        )


def _sentence(table: pd.DataFrame, feature: int, part: str, label: str) -> str:
    facts = table[table.feature == feature].iloc[0]
    marked = table[table.marks != ""]
    low, high = number(facts.lowest, ".4g"), number(facts.highest, ".4g")
    text = f"Feature {label} runs from {low} to {high} in {part}"
    text += f" ({facts.marks})" if facts.marks else ""
    if marked.empty:
        return f"{text}; no feature of this part is constant or huge."
    some = ", ".join(str(feature) for feature in marked.feature[:8])
    more = " …" if len(marked) > 8 else ""
    return f"{text}; {len(marked)} of {counted(len(table), 'feature')} are marked: {some}{more}."
