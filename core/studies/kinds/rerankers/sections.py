"""Sections of a study of rerankers: effects, quality by input, places, depths, faults."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import bootstrap_intervals
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rerank.design import FIRST, IDEAL, RANDOM, REVERSED, TOP
from shuffleproof.core.rerank.effects import PLACE
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import DEGRADES, INCONCLUSIVE, ROBUST
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.kinds.rerankers.study import MISSING
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.studies.result import CALL_SECONDS, StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Details,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import counted, number, percent, signed

ALPHA, ROUNDING = 0.05, 1e-9
"""Level of tests, and the share of the variance between documents that is rounding."""

INPUTS = {FIRST, IDEAL, RANDOM, REVERSED}
"""Inputs that have one depth."""

WHY = "order and company: t tests over queries, adjusted by Holm"
RERANKER = Column("ranker", "Reranker", tables.NAME)
ROWS = (
    RERANKER,
    Column("first_stage", "Input", help="First stage, or the order shown."),
    Column("depth", "Depth", tables.COUNT, "Documents of a list that were reranked."),
    Column("repeat", "Repeat", tables.COUNT, "Number of the repetition."),
    Column("measure", "Measure"),
    Column("mean", "Mean", tables.VALUE, "Over queries."),
    *tables.bounds(),
    Column("difference", "− first stage", tables.CHANGE, "Mean minus the first stage's mean."),
    Column("p", "p", tables.P, tables.HOLM),
    tables.QUERIES,
)
SUMMARY = (
    RERANKER,
    Column(
        "mean",
        "First stages",
        tables.VALUE,
        "Mean over all first stages and depths that the "
        "reranker has: compare rerankers in the table by input.",
    ),
    Column("worst", "Worst input", tables.VALUE, "Smallest mean over inputs with all documents."),
    Column("order", "Order", tables.CHANGE, "First slot minus last slot."),
    Column("company", "Company", tables.VALUE, "Standard deviation over sets."),
    Column("noise", "Noise", tables.VALUE, "Standard deviation of the same input again."),
    Column("unit", "Unit", help="Of the effects: the reranker's score, or the place (0–1)."),
    Column("malformed", "Malformed", tables.COUNT, "Answers that are no order of what was shown."),
    Column("calls", "Calls", tables.COUNT),
    Column("seconds", "Seconds", ".1f", "Of all calls."),
    Column("tokens", "Tokens", tables.COUNT, "As the service counted them."),
    Column("price", "Price", ".4g"),
)
EFFECTS = (
    RERANKER,
    Column("effect", "Effect"),
    Column("value", "Value", tables.VALUE),
    *tables.bounds(words="95 % interval over queries (Student's t)."),
    Column("p", "p", tables.P, "Adjusted by Holm over order and company."),
    Column("n", "N", tables.COUNT, "Queries."),
    Column("unit", "Unit"),
)
PAIRS = (
    RERANKER,
    Column("same_order_agreement", "Same order", ".1%", "Shown again in the same order."),
    Column("opposite_order_agreement", "Opposite order", ".1%", "Shown in the opposite order."),
    Column("n", "Pairs, same", tables.COUNT),
    Column("n_opposite", "Pairs, opposite", tables.COUNT),
)
REPEATS = (
    RERANKER,
    Column("first_stage", "Input"),
    Column("depth", "Depth", tables.COUNT),
    Column("repeats", "Repeats", tables.COUNT),
    Column("sd", "SD of means", tables.VALUE, "Standard deviation of the repeats' means."),
    Column("overlap", "Top 10 shared", ".1%", "Of two repeats."),
    Column("same_first", "Same first", ".1%", "Pairs of repeats with the same first document."),
)
AGGREGATED = (
    RERANKER,
    Column("calls", "Orders", tables.COUNT, "Answers to random orders whose places are averaged."),
    Column("mean", "Mean", tables.VALUE),
)
SLOTS = (
    RERANKER,
    Column("third", "Third", tables.COUNT, "Of the list that held the first relevant document."),
    Column("mean", "Mean", tables.VALUE),
    Column("n", "Lists", tables.COUNT),
)
MOVED = (
    RERANKER,
    Column("grade", "Grade", tables.COUNT),
    Column("rises", "Places up", "+.2f", "Mean number of places that documents rise."),
    Column("n", "Documents", tables.COUNT),
)
DEPTHS = (
    RERANKER,
    Column("first_stage", "Input"),
    Column("depth", "Depth", tables.COUNT),
    Column("mean", "Mean", tables.VALUE),
    Column("ceiling", "Ceiling", tables.VALUE, "Of a perfect order of these documents."),
    Column("gained", "Gain", tables.CHANGE, "Over the first stage."),
    Column("share", "Share of gain", ".0%", "Of the largest gain over the depths."),
)
FAULTS = (
    RERANKER,
    *(Column(name, label, tables.COUNT, words) for name, label, words in (
        ("calls", "Calls", "Whole lists, or windows where these were recorded."),
        ("malformed", "Malformed", "Answers that are no order of exactly what was shown."),
        ("dropped", "Dropped", "Documents without an answer."),
        ("repeated", "Repeated", "Documents named again."),
        ("unknown", "Unknown", "Names that were not shown."),
    )),
)  # fmt: skip


def headline(result: StudyResult, _view: View) -> Headline:
    """Significant effects of the reranker with the largest effect of order."""
    rows = result.facts["effects"]
    known = [row for row in rows if row["order"]["value"] is not None]
    if not known:
        return _without_effects(result)
    row = max(known, key=lambda one: abs(one["order"]["value"]))
    name = RankerName.of(row["reranker"]).display
    found = [effect for effect in ("order", "company") if _is_found(row, effect)]
    if not found:
        still = all(not row["variances"][effect] for effect in ("order", "company"))
        text = "shows no effect of order or company"
        if not still:
            text = f"shows no significant effect of order or company (n = {row['order']['n']})"
        return Headline(f"{name} {text}.", ROBUST if still else INCONCLUSIVE, WHY)
    words = " and ".join(f"{effect} ({_in_words(effect, row[effect])})" for effect in found)
    return Headline(f"{name} depends on {words}.", DEGRADES, WHY)


def _is_found(row: Any, effect: str) -> bool:
    """True for a significant effect, and for any change of answers without noise."""
    p, variances = row[effect]["p"], row["variances"]
    if p is not None and p < ALPHA:
        return True
    # A reranker that repeats its answers exactly changes them for a reason
    rounding = ROUNDING * (variances["documents"] or 0.0)
    return row["noise"]["value"] == 0 and (variances[effect] or 0.0) > rounding


def _without_effects(result: StudyResult) -> Headline:
    """Change over the first stage, where no answers tell the effects apart."""
    table = rows(result)
    changed = table[table["ranker"] != INITIAL].dropna(subset=["difference"])
    if changed.empty:
        return Headline("No answers tell order, company and noise apart.", INCONCLUSIVE, WHY)
    by_input = ["ranker", "first_stage", "depth", "measure"]
    changed = changed.groupby(by_input, sort=False)["difference"].mean().reset_index()
    row: Any = changed.iloc[int(changed["difference"].abs().argmax())]
    measure = Measure.parse(row["measure"]).convention().partition(" ")[0]
    return Headline(
        f"{RankerName.of(row['ranker']).display} changes {measure} by "
        f"{signed(row['difference'])} over {row['first_stage']}; no answers show effects of order "
        "or company.", INCONCLUSIVE, WHY,
    )  # fmt: skip


def _in_words(effect: str, values: Any) -> str:
    if values["unit"] == PLACE:
        size = f"{percent(abs(values['value']), 1)} of the list"
    else:
        size = f"{number(abs(values['value']), '.3f')} in score"
    sign = "−" if values["value"] < 0 else "+"
    return f"shown first, not last: {sign}{size}" if effect == "order" else f"± {size}"


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    facts, measure = result.facts, view.measure(result)
    places = pd.DataFrame(facts["places"]).rename(columns={"reranker": "ranker"})
    if any(row.get("values") for row in facts["places"]):
        yield Picture("slots", (places,), title="Value by slot")
    yield Picture("places", (places,), title="Position shown and answered")
    short = Measure.parse(measure).convention().partition(" ")[0]
    yield Picture(
        "conditions", (quality_by_input(result, measure), short), title="Quality by input"
    )
    yield Convention.of(measure, len(result.query_ids), *_conventions(facts))
    yield Table(summary(result), SUMMARY, "Rerankers at a glance")
    quality = Table(rows(result), ROWS, "Quality by input")
    yield quality if len(result.measures) > 1 else quality.without("measure")
    yield Table(effect_rows(result), EFFECTS, "Effects of order, company and noise")
    pairs = _frame(facts["pairs"], PAIRS)
    yield Table(pairs, PAIRS, "Agreement on pairs that were shown again", detail=True)
    for name, columns, title in (
        ("repeats", REPEATS, "Repeated answers to the same input"),
        ("aggregated", AGGREGATED, "Mean place over several random orders"),
        ("slots", SLOTS, "Quality by the slot of the first relevant document"),
        ("moved", MOVED, "Movement of documents by grade"),
    ):
        frame = repeats(result) if name == "repeats" else _frame(facts[name], columns)
        if len(frame):
            yield Table(frame, columns, title, detail=True)
    found = depths(result)
    if len(found):
        yield Table(found, DEPTHS, "Gain by number of candidates", detail=True)
    yield Table(_frame(facts["faults"], FAULTS), FAULTS, "Faults of answers", detail=True)
    if facts["missing"]["calls"]:
        place = MISSING if result.directory is None else result.directory / MISSING
        yield Convention(f"Calls without an answer: {place}")
    if notes := facts.get("notes"):
        yield Details("Notes on the data", notes)


def _conventions(facts: Any) -> list[str]:
    calls, missing = sum(row["calls"] for row in facts["faults"]), facts["missing"]
    share = percent(1 - missing["share"])
    lacking = (
        [f"{share} of {missing['wanted']:,} wanted calls recorded"] if missing["calls"] else []
    )
    sliding = ["order includes the sliding of windows"] if facts.get("sliding") else []
    return [counted(calls, "call"), *lacking, *sliding]


def _frame(records_of: Any, columns: Any) -> pd.DataFrame:
    """Table of records; tables call every reranker a ranker, JSON calls it a reranker."""
    frame = pd.DataFrame(records_of).rename(columns={"reranker": "ranker"})
    return frame.reindex(columns=tables.keys(columns))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table for JSON."""
    return records(frame.rename(columns={"ranker": "reranker"}))


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    facts = result.facts
    missing = dict(facts["missing"])
    place = None if result.directory is None else result.directory / MISSING
    missing["file"] = str(place) if place is not None and place.exists() else None
    return {
        "rows": _records(rows(result)), "effects": facts["effects"], "pairs": facts["pairs"],
        "malformed": sum(row["malformed"] for row in facts["faults"]),
        "calls": sum(row["calls"] for row in facts["faults"]), "missing": missing,
        "summary_table": _records(summary(result)), "faults": facts["faults"],
        "repeats": _records(repeats(result)), "aggregated": facts["aggregated"],
        "depths": _records(depths(result)), "slots": facts["slots"], "moved": facts["moved"],
        "places": facts["places"],
    }  # fmt: skip


def rows(result: StudyResult) -> pd.DataFrame:
    """Quality by reranker, input, depth and repetition: ROWS; random orders in one row.

    Differences from the first stage are tested by paired t tests over queries, all together.
    """
    trials, seen = result.trials, list[tuple[str, str, float, np.ndarray]]()
    for ranker, stage, depth in result.points:
        of = (trials["ranker"] == ranker) & (trials["family"] == stage) & (trials["level"] == depth)
        places = np.flatnonzero(of)
        # Random orders are one row, repetitions are rows of their own
        parts = [places] if stage == RANDOM else [np.array([at]) for at in places]
        seen += [(ranker, stage, depth, part) for part in parts]
    starts = {stage: result.values[at[0]] for ranker, stage, _, at in seen if ranker == INITIAL}
    found, differences = [], []
    for measure_at, measure in enumerate(result.measures):
        for ranker, stage, depth, at in seen:
            values = result.values[at, measure_at].mean(axis=0).astype(np.float64)
            low, high = _interval(values)
            start = starts.get(stage, next(iter(starts.values()), None))
            difference = values - (values if start is None else start[measure_at])
            is_start = ranker == INITIAL
            differences.append(np.full_like(values, np.nan) if is_start else difference)
            found.append({
                "reranker": ranker, "first_stage": stage, "depth": int(depth),
                "repeat": len(at) if stage == RANDOM else int(trials["draw"][at[0]]) + 1,
                "measure": measure, "mean": known_mean(values), "low": low, "high": high,
                "n": int((~np.isnan(values)).sum()),
            })  # fmt: skip
    tested = mean_differences(np.stack(differences))
    return _frame(
        [row | {"difference": test.mean, "p": test.p}
         for row, test in zip(found, tested.itertuples(), strict=True)], ROWS,
    )  # fmt: skip


def quality_by_input(result: StudyResult, measure: str) -> pd.DataFrame:
    """Means of a measure by reranker and input, without shortened lists, for a picture."""
    frame = rows(result)
    frame = frame[(frame["measure"] == measure) & (frame["first_stage"] != TOP)]
    depths = frame.groupby("ranker")["depth"].nunique()
    repeated = frame.groupby(["ranker", "first_stage"])["repeat"].nunique()
    texts = []
    for row in frame.to_dict("records"):
        text, ranker = str(row["first_stage"]), row["ranker"]
        is_repeated = repeated[ranker, text] > 1
        text += f", top {row['depth']}" if depths[ranker] > 1 and text not in INPUTS else ""
        text += f", repeat {row['repeat']}" if is_repeated else ""
        texts.append(text)
    return frame.assign(condition=texts, change=frame["difference"], change_p=frame["p"])


def _interval(values: np.ndarray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return float("nan"), float("nan")
    low, high = bootstrap_intervals(known[None], generator(0, Rerankers.kind, "mean"))
    return float(low[0]), float(high[0])


def effect_rows(result: StudyResult) -> pd.DataFrame:
    """Effects as rows: EFFECTS."""
    return _frame(
        [{"reranker": row["reranker"], "effect": effect, **row[effect]}
         for row in result.facts["effects"] for effect in ("order", "company", "noise")], EFFECTS,
    )  # fmt: skip


def repeats(result: StudyResult) -> pd.DataFrame:
    """Agreement of repeated answers, with the standard deviation of their means: REPEATS."""
    quality, found = rows(result), []
    for row in result.facts["repeats"]:
        same = quality["measure"] == result.measures[0]
        same &= (quality["ranker"] == row["reranker"]) & (
            quality["first_stage"] == row["first_stage"]
        )
        means = quality.loc[same & (quality["depth"] == row["depth"]), "mean"]
        found.append(row | {"sd": float(means.std(ddof=1)) if len(means) > 1 else np.nan})
    return _frame(found, REPEATS)


def depths(result: StudyResult) -> pd.DataFrame:
    """Gain over the first stage by depth, where a reranker has several: DEPTHS."""
    quality = rows(result)
    quality = quality[quality["measure"] == result.measures[0]]
    ceilings = {
        (row["first_stage"], row["depth"]): row["ceiling"] for row in result.facts["ceilings"]
    }
    stages = {stage for stage, _ in ceilings}
    found: list[dict[str, Any]] = []
    for (reranker, stage), group in _by_depth(quality, stages):
        if reranker == INITIAL or group["depth"].nunique() < 2:
            continue
        most = group["difference"].max()
        found += [
            {
                "reranker": reranker, "first_stage": stage, "depth": row["depth"],
                "mean": row["mean"], "ceiling": ceilings.get((stage, row["depth"]), np.nan),
                "gained": row["difference"],
                "share": row["difference"] / most if most > 0 else np.nan,
            }
            for row in group.sort_values("depth").to_dict("records")
        ]  # fmt: skip
    return _frame(found, DEPTHS)


def _by_depth(quality: pd.DataFrame, stages: set[str]) -> Any:
    """Rows of whole lists by reranker and first stage; live ones are of the initial ranking."""
    live = stages == {INITIAL}
    named = quality["first_stage"].isin([FIRST, TOP] if live else sorted(stages))
    chosen = quality[named & (quality["repeat"] == 1)]
    return chosen.assign(stage=INITIAL if live else chosen["first_stage"]).groupby(
        ["ranker", "stage"], sort=False
    )


def summary(result: StudyResult) -> pd.DataFrame:
    """One row a reranker with everything: SUMMARY."""
    quality, faults = rows(result), {row["reranker"]: row for row in result.facts["faults"]}
    quality = quality[quality["measure"] == result.measures[0]]
    seconds = {row["reranker"]: row["seconds"] for row in result.facts.get(CALL_SECONDS, ())}
    found = []
    for row in result.facts["effects"]:
        name = row["reranker"]
        mine = quality[(quality["ranker"] == name) & (quality["first_stage"] != TOP)]
        plain = mine[~mine["first_stage"].isin([REVERSED, IDEAL, RANDOM])]
        found.append({
            "reranker": name, "mean": plain["mean"].mean(), "worst": mine["mean"].min(),
            **{effect: row[effect]["value"] for effect in ("order", "company", "noise")},
            "unit": row["order"]["unit"], **faults[name],
            "seconds": seconds.get(name),
        })  # fmt: skip
    return _frame(found, SUMMARY)
