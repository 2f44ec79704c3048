"""Which queries a change is about: their values by list length, relevant documents, words, tag."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.display_texts import DisplayTexts
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.words import number

PARTS, TAGS = 4, 8
"""Groups that numbers are cut into, by quantiles; tags that have a row of their own."""

OTHERS = "others"
COLUMNS = (
    tables.Column("slice", "Queries with"),
    tables.QUERIES,
    tables.Column("mean", "Change", tables.CHANGE, "Mean over these queries."),
    *tables.bounds(
        spec=tables.CHANGE, words="Student's interval, adjusted by Holm over the slices."
    ),
    tables.Column("p", "p", tables.P, "Paired t test, adjusted by Holm over the slices."),
)
"""The columns of `slice_table`."""


def query_facts(dataset: RankingDataset, texts: DisplayTexts | None = None) -> pd.DataFrame:
    """What queries can be told apart by, a row a query id, the first of several with one id.

    Args:
        dataset: whose queries they are.
        texts: what they say, where that is known.

    Returns:
        Columns documents, relevant documents and highest grade; words and tag where texts have
        them.
    """
    start = dataset.offsets[:-1]
    full = np.flatnonzero(np.diff(dataset.offsets))
    facts = pd.DataFrame(
        {"documents": np.diff(dataset.offsets), "relevant documents": 0, "highest grade": 0.0},
        index=pd.Index(list(dataset.query_ids), name="query"),
    )
    if len(full):
        relevant = np.add.reduceat((dataset.labels > 0).astype(np.int64), start[full])
        facts.iloc[full, 1] = relevant
        facts.iloc[full, 2] = np.maximum.reduceat(dataset.labels, start[full]).astype(float)
    facts = facts[~facts.index.duplicated()]
    if texts is None or not len(texts.queries):
        return facts
    query_texts = texts.queries.reindex(facts.index)
    wording = (
        query_texts["text"].fillna("") if "text" in query_texts else pd.Series("", facts.index)
    )
    if wording.ne("").any():
        facts["words"] = [len(text.split()) for text in wording]
    if "tag" in query_texts and query_texts["tag"].fillna("").ne("").any():
        facts["tag"] = query_texts["tag"].fillna("").replace("", "none")
    return facts


def groups(values: pd.Series) -> pd.Series:
    """The slice of every query: a tag, a number, or a range of numbers between quantiles.

    >>> groups(pd.Series([1, 2, 3, 10, 11, 12, 40, 99])).unique().tolist()
    ['1 to 2', '3 to 10', '11 to 12', '40 to 99']
    >>> groups(pd.Series([0.0, 2.0, 0.0])).tolist()
    ['0', '2', '0']
    """
    if not pd.api.types.is_numeric_dtype(values):
        common = values.value_counts().index[:TAGS]
        return values.where(values.isin(common), OTHERS)
    if values.nunique() > PARTS:
        edges = np.unique(np.quantile(values, np.arange(1, PARTS) / PARTS, method="lower"))
        part = np.searchsorted(edges, values.to_numpy(), side="left")
    else:
        part = values.rank(method="dense").to_numpy().astype(int)
    by_part = values.groupby(part)
    low, high = by_part.transform("min"), by_part.transform("max")
    return pd.Series([_range(*bounds) for bounds in zip(low, high, strict=True)], values.index)


def _range(low: int | float, high: int | float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def slice_table(queries: Sequence[str], change: np.ndarray, of: pd.Series) -> pd.DataFrame:
    """The mean change of each slice with its paired interval: `COLUMNS`.

    Args:
        queries: ids.
        change: of each query; NaN where the measure leaves it out.
        of: what they are sliced by, by query id; queries that it lacks are left out.

    >>> of = pd.Series({"a": 1, "b": 1, "c": 9, "d": 9}, name="documents")
    >>> frame = slice_table(["a", "b", "c", "d"], np.array([-0.5, -0.25, 0.0, 0.0]), of)
    >>> frame[["slice", "n", "mean"]].to_dict("list")
    {'slice': ['1 documents', '9 documents'], 'n': [2, 2], 'mean': [-0.375, 0.0]}
    """
    frame = pd.DataFrame({"query": list(map(str, queries)), "change": change})
    frame = frame[frame["query"].isin(of.index) & frame["change"].notna()]
    if frame.empty:
        return pd.DataFrame(columns=tables.keys(COLUMNS))
    sliced_by = of.reindex(frame["query"])
    names = groups(sliced_by).to_numpy()
    is_text = sliced_by.dtype == object or isinstance(sliced_by.dtype, pd.StringDtype)
    ranked = (
        pd.Series(names).value_counts().index
        if is_text
        else names[np.argsort(sliced_by.to_numpy())]
    )
    order = list(dict.fromkeys(ranked))
    values = frame["change"].to_numpy(dtype=np.float64)
    rows = np.array([np.where(names == name, values, np.nan) for name in order])
    noun = "" if is_text else f" {of.name}"
    tested = mean_differences(rows).assign(slice=[f"{name}{noun}" for name in order])
    return tested[tables.keys(COLUMNS)]


def in_words(frame: pd.DataFrame, measure: str) -> str:
    """Which slice loses most, and whether that is more than chance; empty: nothing is lost.

    Args:
        frame: `slice_table`.
        measure: that changed.

    >>> in_words(pd.DataFrame({"slice": ["a", "b"], "n": [3, 4], "mean": [-0.2, 0.0],
    ...                        "low": [-0.3, 0], "high": [-0.1, 0], "p": [0.01, 1]}), "AP")
    'AP loses most on queries with a: 0.200, more than chance.'
    """
    if frame.empty or not frame["mean"].min() < 0:
        return ""
    worst = frame.iloc[int(frame["mean"].argmin())]
    sure = "more than chance" if worst["high"] < 0 else "not told from chance"
    return (
        f"{measure} loses most on queries with {worst['slice']}: {number(-worst['mean'])}, {sure}."
    )
