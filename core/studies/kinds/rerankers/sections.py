"""Sections of a study of rerankers: one table of everything, quality by input, effects, curves."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure, is_share
from shuffleproof.core.metrics.significance import ALPHA, bootstrap_intervals
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rerank.design import FIRST, IDEAL, KINDS, RANDOM, REVERSED, TOP
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

ROUNDING = 1e-9
"""Share of the variance between documents that is rounding."""

INPUTS = {FIRST, IDEAL, RANDOM, REVERSED}
"""Inputs that have one depth."""

EFFECT_NAMES = ("order", "company", "noise")
DEPTH = "candidates"
"""Curve of the quality by the length of the list."""

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
    Column("input", "Input", help="Of the mean: the input that most rerankers have."),
    Column("mean", "Mean", tables.VALUE, "Over queries and repetitions of this input."),
    Column("worst_input", "Worst input", help="Of the smallest mean; shortened lists left out."),
    Column("worst", "Mean there", tables.VALUE),
    Column("order", "Order", tables.CHANGE, "First slot minus last slot."),
    Column("company", "Company", tables.VALUE, "Standard deviation over sets."),
    Column("noise", "Noise", tables.VALUE, "Standard deviation of the same input again."),
    Column("unit", "Unit of effects", help="The reranker's score, or the place (0–1)."),
    Column("same_order_agreement", "Pairs, same order", ".1%", "Answered alike when shown again."),
    Column("opposite_order_agreement", "Pairs, opposite order", ".1%", "Likewise."),
    Column("malformed", "Malformed", tables.COUNT,
           "Answers (of windows, where recorded) that are no order of what was shown."),
    Column("calls", "Calls", tables.COUNT, "Of the unit named below."),
    Column("calls_unit", "Unit of calls", help="Requests of an endpoint; else whole lists."),
    Column("seconds", "Seconds", ".1f", "Of all calls."),
    Column("tokens", "Tokens", tables.COUNT, "As the service counted them."),
    Column("price", "Price", ".4g"),
    Column("dropped", "Dropped", tables.COUNT, "Documents without an answer.", detail=True),
    Column("repeated", "Repeated", tables.COUNT, "Documents named again.", detail=True),
    Column("unknown", "Unknown", tables.COUNT, "Names that were not shown.", detail=True),
    Column("relevant_up", "Relevant up", "+.2f", "Mean places that relevant documents rise.",
           detail=True),
)  # fmt: skip
EFFECTS = (
    RERANKER,
    Column("effect", "Effect"),
    Column("value", "Value", tables.VALUE),
    *tables.bounds(words="95 % interval over queries (Student's t)."),
    Column("p", "p", tables.P, "Adjusted by Holm over order and company."),
    Column("n", "N", tables.COUNT, "Queries."),
    Column("unit", "Unit"),
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
CURVES = (
    RERANKER,
    Column("first_stage", "Input"),
    Column("by", "By", help="Documents reranked; random orders whose places are averaged; third "
           "of the list that showed the first relevant document."),
    Column("at", "At", tables.COUNT),
    Column("mean", "Mean", tables.VALUE),
    Column("n", "N", tables.COUNT, "Queries, or lists of a third."),
    Column("ceiling", "Ceiling", tables.VALUE, "Of a perfect order of these documents."),
    Column("gained", "Gain", tables.CHANGE, "Over the first stage."),
    Column("share", "Share of gain", ".0%", "Of the largest gain over the depths."),
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
    other = table["first_stage"].isin(KINDS - {FIRST})
    changed = table[(table["ranker"] != INITIAL) & ~other].dropna(subset=["difference"])
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
    quality = rows(result)
    every = curves(result, quality)
    places = pd.DataFrame(facts["places"]).rename(columns={"reranker": "ranker"})
    if any(row["values"] for row in facts["places"]):
        yield Picture("slots", (places,), title="Value by slot")
    yield Picture("places", (places,), title="Position shown and answered")
    short = Measure.parse(measure).convention().partition(" ")[0]
    yield Picture("conditions", (by_input(quality, measure), short), title="Quality by input")
    if len(every):
        # Curves have the first measure of the study
        first = Measure.parse(result.measures[0]).convention().partition(" ")[0]
        yield Picture("reranker curves", (every, first), title="Depth, averaging, slot")
    yield Convention.of(measure, len(result.query_ids), *_conventions(facts))
    yield Table(summary(result, quality), SUMMARY, "Rerankers at a glance")
    table = Table(quality, ROWS, "Quality by input")
    yield table if len(result.measures) > 1 else table.without("measure")
    yield Table(effect_rows(result), EFFECTS, "Effects of order, company and noise")
    repeated = repeats(result, quality)
    if len(repeated):
        title = "Repeated answers to the same input"
        yield Table(repeated, REPEATS, title, detail=True)
    if len(every):
        title = "Depth, averaging of orders, slot of relevant documents"
        yield Table(every, CURVES, title, detail=True)
    if facts["missing"]["calls"]:
        place = MISSING if result.directory is None else result.directory / MISSING
        yield Convention(f"Calls without an answer: {place}")
    if notes := facts.get("notes"):
        yield Details("Notes on the data", notes)


def _calls(facts: Any) -> dict[str, int]:
    """Number of calls by their unit; studies from before the units counted lists."""
    units: dict[str, int] = {}
    for row in facts["faults"]:
        unit = row.get("unit", "lists")
        units[unit] = units.get(unit, 0) + row["calls"]
    return units


def _conventions(facts: Any) -> list[str]:
    units = _calls(facts)
    calls = [counted(count, unit.removesuffix("s")) for unit, count in units.items()]
    missing = facts["missing"]
    share = percent(1 - missing["share"])
    lacking = (
        [f"{share} of {missing['wanted']:,} wanted calls recorded"] if missing["calls"] else []
    )
    sliding = ["order includes the sliding of windows"] if facts.get("sliding") else []
    return [*calls, *lacking, *sliding]


def _frame(records_of: Any, columns: Iterable[Column]) -> pd.DataFrame:
    """Table of records; tables call every reranker a ranker, JSON calls it a reranker."""
    frame = pd.DataFrame(records_of).rename(columns={"reranker": "ranker"})
    return frame.reindex(columns=tables.keys(columns))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table for JSON."""
    return records(frame.rename(columns={"ranker": "reranker"}))


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    facts, quality = result.facts, rows(result)
    missing = dict(facts["missing"])
    place = None if result.directory is None else result.directory / MISSING
    missing["file"] = str(place) if place is not None and place.exists() else None
    return {
        "rows": _records(quality), "effects": facts["effects"], "pairs": facts["pairs"],
        "malformed": sum(row["malformed"] for row in facts["faults"]),
        "calls": sum(_calls(facts).values()), "calls_unit": " and ".join(_calls(facts)),
        "missing": missing, "faults": facts["faults"],
        "summary_table": _records(summary(result, quality)),
        "repeats": _records(repeats(result, quality)),
        "curves": _records(curves(result, quality)), "places": facts["places"],
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
            low, high = _interval(measure, values)
            # Other orders are of the only first stage, if there is one alone
            only = [*starts.values()] if stage in KINDS and len(starts) == 1 else [None]
            start = starts.get(stage, only[0])
            if ranker == INITIAL or start is None:
                differences.append(np.full_like(values, np.nan))
            else:
                differences.append(values - start[measure_at])
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


def by_input(quality: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Means of a measure by reranker and input, without shortened lists, for a picture."""
    frame = quality[(quality["measure"] == measure) & (quality["first_stage"] != TOP)]
    depths = frame.groupby("ranker")["depth"].nunique()
    repeated = frame.groupby(["ranker", "first_stage"])["repeat"].nunique()
    texts = [
        _input_in_words(row["first_stage"], row["depth"] if depths[row["ranker"]] > 1 else 0)
        + f", repeat {row['repeat']}" * bool(repeated[row["ranker"], row["first_stage"]] > 1)
        for row in frame.to_dict("records")
    ]
    return frame.assign(condition=texts, change=frame["difference"], change_p=frame["p"])


def _input_in_words(first_stage: str, depth: int) -> str:
    return f"{first_stage}, top {depth}" if depth and first_stage not in INPUTS else first_stage


def _interval(measure: str, values: np.ndarray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return float("nan"), float("nan")
    draws = generator(0, Rerankers.kind, "mean")
    low, high = bootstrap_intervals(known[None], draws, shares=is_share(measure))
    return float(low[0]), float(high[0])


def effect_rows(result: StudyResult) -> pd.DataFrame:
    """Effects as rows: EFFECTS."""
    return _frame(
        [{"reranker": row["reranker"], "effect": effect, **row[effect]}
         for row in result.facts["effects"] for effect in EFFECT_NAMES], EFFECTS,
    )  # fmt: skip


def repeats(result: StudyResult, quality: pd.DataFrame) -> pd.DataFrame:
    """Agreement of repeated answers, with the standard deviation of their means: REPEATS."""
    first = quality[quality["measure"] == result.measures[0]]
    means = first.groupby(["ranker", "first_stage", "depth"])["mean"].std()
    return _frame(
        [row | {"sd": means.get((row["reranker"], row["first_stage"], row["depth"]), np.nan)}
         for row in result.facts["repeats"]], REPEATS,
    )  # fmt: skip


def curves(result: StudyResult, quality: pd.DataFrame) -> pd.DataFrame:
    """Quality by depth, by the number of averaged orders, and by the slot of relevant documents.

    Depths are those of rerankers with several of them.
    """
    quality = quality[quality["measure"] == result.measures[0]]
    ceilings = {
        (row["first_stage"], row["depth"]): row["ceiling"] for row in result.facts["ceilings"]
    }
    is_live = {stage for stage, _ in ceilings} == {INITIAL}
    if is_live:  # whole and shortened lists are of the initial ranking
        quality = quality[quality["first_stage"].isin([FIRST, TOP])].assign(first_stage=INITIAL)
    quality = quality[(quality["repeat"] == 1) & (quality["ranker"] != INITIAL)]
    found: list[Mapping[str, Any]] = []
    for (reranker, stage), group in quality.groupby(["ranker", "first_stage"], sort=False):
        if len(group) > 1:
            most = group["difference"].max()
            found += [
                {
                    "reranker": reranker, "first_stage": stage, "by": DEPTH, "at": row["depth"],
                    "mean": row["mean"], "n": row["n"], "gained": row["difference"],
                    "ceiling": ceilings.get((stage, row["depth"]), np.nan),
                    "share": row["difference"] / most if most > 0 else np.nan,
                }
                for row in group.sort_values("depth").to_dict("records")
            ]  # fmt: skip
    return _frame([*found, *result.facts.get("curves", ())], CURVES)


def summary(result: StudyResult, quality: pd.DataFrame) -> pd.DataFrame:
    """One row a reranker with everything: SUMMARY.

    Its mean is that of the input which most rerankers have; of several the first.
    """
    quality = quality[quality["measure"] == result.measures[0]]
    quality = quality[~quality["first_stage"].eq(TOP) & quality["ranker"].ne(INITIAL)]
    places = quality.groupby(["first_stage", "depth"], sort=False)["ranker"].nunique()
    shared: Any = places.sort_values(ascending=False, kind="stable").index
    of = {
        fact: {row["reranker"]: row for row in result.facts.get(fact, ())}
        for fact in ("faults", "pairs", CALL_SECONDS)
    }
    found = []
    for row in result.facts["effects"]:
        name = row["reranker"]
        mine = quality[quality["ranker"] == name]
        means = mine.groupby(["first_stage", "depth"], sort=False)["mean"].mean()
        place = next((place for place in shared if place in means.index), None)
        worst = mine.loc[mine["mean"].idxmin()] if len(mine) else {}
        faults = of["faults"][name]
        found.append({
            "reranker": name, "input": place and _input_in_words(*place),
            "mean": means[place] if place else np.nan,
            "worst_input": None if mine.empty
            else _input_in_words(worst["first_stage"], worst["depth"]),
            "worst": np.nan if mine.empty else worst["mean"],
            **{effect: row[effect]["value"] for effect in EFFECT_NAMES}, **of["pairs"][name],
            **faults, "calls_unit": faults.get("unit", "lists"), "unit": row["order"]["unit"],
            "seconds": of[CALL_SECONDS].get(name, {}).get("seconds"),
        })  # fmt: skip
    return _frame(found, SUMMARY)
