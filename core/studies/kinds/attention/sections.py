"""A study of attention, told: for every ranker its picture, its sentences, its heads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.answers.one_list import amount
from shuffleproof.core.metrics.significance import ALPHA, adjusted_tests
from shuffleproof.core.rankers.attention.kinds import KINDS
from shuffleproof.core.rankers.attention.summary import MEASURES, POINT
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import BREAKS, SURVIVES
from shuffleproof.core.studies.kinds.attention.study import WORDS, ListEdit
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Heading,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, interval, signed

DRAWN = {"lift": "relevant mass ÷ chance", "neighbours": "effective neighbours"}
"""What is drawn of the heads: the first of these that a ranker has numbers for."""


def headline(result: StudyResult, view: View) -> Headline:
    """At how many documents the rankers look, the one that looks at fewest and at most."""
    frame = table(result)
    main = frame[
        frame["map"].isin(MAIN) & frame["ranker"].isin(view.compared_labels(frame["ranker"]))
    ]
    looked = main.groupby("ranker", sort=False)["neighbours"].mean().dropna().sort_values()
    if looked.empty:
        return Headline("No ranker has weights to look at.")
    names = [RankerName.of(str(name)).display for name in looked.index]
    text = f"{names[0]} draws on {looked.iloc[0]:.1f} of {result.facts['set_size']:.0f} documents"
    if len(looked) > 1:
        text += f", {names[-1]} on {looked.iloc[-1]:.1f}"
    return Headline(f"{text}.")


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = table(result)
    for name in map(str, frame["ranker"].unique()):
        heads = frame[frame["ranker"] == name].reset_index(drop=True)
        main = heads[heads["map"].isin(MAIN)]
        column = next((name for name in DRAWN if main[name].notna().any()), None)
        yield Heading(name)
        if len(main) > 1 and column:
            yield Picture("attention", (main, name, column, DRAWN[column]))
        yield Finding(finding(result, name))
        yield Table(heads, COLUMNS, f"Every head of {name}").without("ranker")
        of_points = points(result, name)
        if len(of_points):
            yield Table(of_points, POINTS, f"Every induced point of {name}", folded=True)
    queries = counted(result.facts["queries"], "query")
    yield Convention(
        f"Means over {queries}; relevant mass: the share that documents with a label above 0 get; "
        "chance: the share that they are."
    )


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    frame = table(result)
    findings = {str(name): finding(result, str(name)) for name in frame["ranker"].unique()}
    return {"table": records(frame), "findings": findings}


def methods_text(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    return (
        f"The attention weights (for DLCM the gates) from which the scores of {recipe['queries']} "
        f"test {'list is' if recipe['queries'] == 1 else 'lists are'} computed are recorded on "
        "request. Kept are, for every head and list, its entropy and effective neighbours (the "
        "exponential of the entropy), the mass that relevant documents get beside that of chance, "
        "and how alike the heads of a block are; an induced point is dead where it gets less than "
        f"{recipe['dead_below']:g} times its fair share. Means are over lists, with 95 % intervals "
        "by Student's t."
    )


COLUMNS = (
    tables.RANKER,
    tables.Column("map", "Map"),
    tables.Column("block", "Block", tables.COUNT),
    tables.Column("head", "Head", tables.COUNT),
    tables.Column("neighbours", "Neighbours", ".1f", "Effective number of documents looked at."),
    tables.Column("entropy", "Entropy", tables.TAU),
    tables.Column("relevant", "Relevant", tables.VALUE, "Mass on documents labelled above 0."),
    tables.Column("chance", "Chance", tables.VALUE, "The share that those documents are."),
    tables.Column("lift", "÷ chance", tables.TAU, "Relevant mass over chance."),
    tables.Column("redundancy", "Redundancy", tables.TAU, "Mass shared with the nearest head."),
    tables.Column("dead", "Dead", tables.TAU, "Share that gets next to no mass."),
    tables.Column("queries", "N", tables.COUNT),
)
POINTS = (
    tables.Column("block", "Block", tables.COUNT),
    tables.Column("point", "Point", tables.COUNT),
    tables.Column("received", "Received", tables.VALUE, "Mass."),
    tables.Column("dead", "Dead", tables.TAU, "Share of queries and heads with next to no mass."),
)
MAIN = ("documents", "through", "paths")
"""The map that says most of a ranker, whichever it has."""

ROUNDING = 1e-5
"""Weights lie in [0, 1]; differences below this are arithmetic in float32."""

WEIGHTS = f"survives: no weight changes by more than rounding ({ROUNDING:g}); breaks: some do"

ALMOST_ALWAYS = 0.95
READ_AS = {"order": "order", "ranking": "ranks", "set": "neighbours", "features": "features"}
"""What a ranker reads that a change touches."""


def _numbers(result: StudyResult) -> pd.DataFrame:
    """Every head and induced point: its place, counted from 1, and MEASURES, means over queries."""
    trials = result.trials.reset_index(drop=True)
    means = pd.DataFrame(_means(result.values), columns=list(MEASURES))
    return means.assign(
        ranker=trials["ranker"], map=trials["map"],
        block=trials["block"] + 1, head=trials["head"] + 1,
        lift=means["relevant"] / means["chance"],
        queries=(~np.isnan(result.values[:, 0])).sum(axis=-1),
    )  # fmt: skip


def table(result: StudyResult) -> pd.DataFrame:
    """COLUMNS, one row a head: means over the queries, NaN where they mean nothing for the map."""
    frame = _numbers(result)
    return frame.loc[frame["map"] != POINT, tables.keys(COLUMNS)].reset_index(drop=True)


def points(result: StudyResult, ranker: str) -> pd.DataFrame:
    """The induced points of a ranker: block and point from 1, mass received, dead share.

    The dead share is that of queries and heads in which next to nothing is received.
    """
    frame = _numbers(result).rename(columns={"head": "point"})
    of_ranker = (frame["ranker"] == ranker) & (frame["map"] == POINT)
    return frame.loc[of_ranker, tables.keys(POINTS)].reset_index(drop=True)


def finding(result: StudyResult, ranker: str) -> str:
    """What a ranker's heads look at, in sentences with interval and number of queries."""
    frame = table(result)
    main = frame[(frame["ranker"] == ranker) & frame["map"].isin(MAIN)]
    name, size = RankerName.of(ranker).display, float(result.facts["set_size"])
    who = "the state at a document" if "paths" in set(main["map"]) else "a document"
    heads = f", mean over {counted(len(main), 'head')}" if len(main) > 1 else ""
    words = (
        f"{name}: {who} draws on {main['neighbours'].mean():.1f} of {size:.0f} documents "
        f"(effective neighbours{heads})."
    )
    words += _relevance(result, ranker, main)
    redundancy = main["redundancy"].dropna()
    if len(redundancy):
        words += (
            f" A head shares {redundancy.mean():.2f} of its mass with the most similar head of "
            "its block."
        )
    return words + _dead(points(result, ranker))


def _relevance(result: StudyResult, ranker: str, main: pd.DataFrame) -> str:
    apart = {
        name: differences
        for name in dict.fromkeys(result.trials["ranker"])
        if len(differences := _apart(result, str(name)))
    }
    if ranker not in apart:
        return " No query has a relevant document, so nothing can be said of those."
    p, low, high = adjusted_tests(np.stack(list(apart.values())))
    at, mean = list(apart).index(ranker), float(np.nanmean(apart[ranker]))
    told = "not told apart from what"
    if p[at] <= ALPHA:
        told = "more than" if mean > 0 else "less than"
    several = f", by Holm for {len(apart)} rankers" if len(apart) > 1 else ""
    count = int((~np.isnan(apart[ranker])).sum())
    most = ""
    if len(main) > 1:
        best = main.iloc[int(np.nanargmax(main["lift"].to_numpy()))]
        most = (
            f", most in block {best['block']:.0f} head {best['head']:.0f} "
            f"({best['lift']:.2f} times chance)"
        )
    return (
        f" Relevant documents get {main['relevant'].mean():.3f} of the mass, {told} chance "
        f"gives them ({main['chance'].mean():.3f}; difference {signed(mean, 4)}, 95 % "
        f"interval {interval(low[at], high[at], '+.4f')}{several}, n = {count}){most}."
    )


def _apart(result: StudyResult, ranker: str) -> Float64[np.ndarray, " queries"]:
    """Relevant mass − chance, query by query; empty where no query can be counted."""
    rows = result.trials["ranker"].eq(ranker) & result.trials["map"].isin(MAIN)
    cube = result.values[np.flatnonzero(rows)].astype(np.float64)
    apart = cube[:, MEASURES.index("relevant")] - cube[:, MEASURES.index("chance")]
    return apart.mean(axis=0) if len(apart) and not np.isnan(apart).all() else np.empty(0)


def _dead(frame: pd.DataFrame) -> str:
    if not len(frame):
        return ""
    dead = int((frame["dead"] >= ALMOST_ALWAYS).sum())
    of_points = f"of {counted(len(frame), 'induced point')}"
    if not frame["dead"].any():
        return f" None {of_points} is ever dead."
    if not dead:
        worst = frame.iloc[int(frame["dead"].to_numpy().argmax())]
        return (
            f" None {of_points} is dead; block {worst['block']:.0f} point {worst['point']:.0f} "
            f"gets next to nothing in {100 * worst['dead']:.0f} % of queries and heads."
        )
    return f" {dead} {of_points} are dead: next to nothing in 95 % of queries and heads or more."


def verdict(
    ranker: str, reads: Sequence[str], change: ListEdit, changes: Sequence[tuple[str, int, float]]
) -> Headline:
    """What a change did to the weights of one list, after re-indexing, in a sentence.

    Args:
        ranker: its label.
        reads: what of the input it declares to read.
        change: what happened to the list.
        changes: (kind, block, largest change of one cell) of everything that was computed; what
            is no distribution (single gates, parts of a score) is left to the pictures.

    >>> said = verdict("setrank-msab", ("features",), ListEdit.parse("-initial"),
    ...                [("documents", 0, 3e-8)])
    >>> said.text.partition(": ")[2], said.tier
    ('the order shown plays no part in SetRank MSAB.', 'survives')
    """
    weights = [change_of for change_of in changes if KINDS[change_of[0]].distribution]
    kind, block, largest = max(weights, key=lambda change_of: change_of[2])
    name, what = RankerName.of(ranker).display, change.change_name
    finding = f"After re-indexing the largest change of a weight is {amount(largest)}"
    many = what == WORDS["features"]
    reads_it = any(READ_AS[touched] in reads for touched in change.touches)
    if largest < ROUNDING:
        part = "change nothing here for" if many else "changes nothing here for"
        text = f"{finding}: the {what} {part if reads_it else 'plays no part in'} {name}."
        return Headline(text, SURVIVES, WEIGHTS)
    several = {at for name, at, _ in changes if name == kind} != {0}
    place = f" ({KINDS[kind].words}{f', block {block + 1}' if several else ''})"
    if reads_it:
        is_part = "are part" if many else "is part"
        text = f"{finding}{place}: the {what} {is_part} of what {name} reads."
    else:
        text = (
            f"{finding}{place}, more than rounding ({ROUNDING:g}), although {name} declares not to "
            f"read the {what}: the declaration or the code is wrong."
        )
    return Headline(text, BREAKS, WEIGHTS)


def _means(values: np.ndarray) -> np.ndarray:
    """Means over the queries that have a number; NaN where none has."""
    count = (~np.isnan(values)).sum(axis=-1)
    sums = np.nansum(values, axis=-1, dtype=np.float64)
    return np.divide(sums, count, out=np.full(count.shape, np.nan), where=count > 0)
