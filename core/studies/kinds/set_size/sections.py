"""Sections of a study of set size: curves and the paper's claim.

The claim (Table 3): trained on the smallest lists and tested on the largest, SetRank IMSAB drops
least, then SetRank MSAB, then DLCM.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.numerals import is_count
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import TIERS, Queries, losses, worst_of_each
from shuffleproof.core.studies.headline import headline as of_losses
from shuffleproof.core.studies.kinds.set_size import feasibility
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING, ORDER, SHIFT
from shuffleproof.core.studies.paired_differences import (
    claim_text,
    loss_in,
    paired_rows,
    rising_verdict,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import listed

ORDERED = (("setrank-imsab", "SetRank IMSAB"), ("setrank-msab", "SetRank MSAB"), ("dlcm", "DLCM"))
"""Rankers by rising drop, according to the paper."""

CURVES = (
    tables.RANKER,
    tables.Column("trained_on", "Training length", help="N0: documents of each training list."),
    tables.Column("size", "Test length", tables.COUNT, "N1: most documents of each test list."),
    tables.Column("mean_length", "Mean length", ".1f", "Of the test lists.", detail=True),
    tables.Column("mean", "Mean", tables.VALUE),
    *tables.bounds(),
    tables.QUERIES,
    tables.Column("reaching", "Full lists", tables.COUNT, "Of N1 documents or more.", detail=True),
    tables.Column("home", "Matched", tables.VALUE, "Mean of the ranker trained on N1 documents."),
    tables.Column("shift", "Difference", tables.CHANGE, "Mean minus matched."),
    tables.Column("order_stability", "τ", tables.TAU, "Of the shared documents.", detail=True),
    tables.Column("score_shift", "Score shift", tables.TAU, "In standard deviations.", detail=True),
)


def headline(result: StudyResult, view: View) -> Headline:
    """Change from the smallest N0 to the largest N1, as in Table 3, and the change of the ceiling.

    The two rankers named are those that lose the largest and the smallest share of their mean.
    The ceiling is the best possible order of the same candidates: more candidates raise it, so it
    shows how much of a change comes from the lists alone.
    """
    measure, ends = view.measure(result), _ends(result)
    values = {
        (label, f"from {home} to {away} candidates"): (
            result.per_query(label, str(home), home, measure),
            result.per_query(label, str(home), away, measure),
        )
        for label in view.compared_labels(ends)
        for home, away in [ends[label]]
    }
    each = worst_of_each(losses(values))
    if not each:
        return of_losses(each)
    named = each if len(each) == 1 else [each[0], each[-1]]
    changes = [np.subtract(*values[loss.ranker, loss.how][::-1]) for loss in named]
    means = {
        RankerName.of(loss.ranker).display: known_mean(change)
        for loss, change in zip(named, changes, strict=True)
    }
    gains = all(loss.share <= 0 for loss in each)
    best, (home, away) = _best(result, measure), ends[named[0].ranker]
    if {home, away} <= best.keys():
        means["the ideal order"] = known_mean(best[away] - best[home])
    lists = f"Trained on {home} documents, tested on {away}"
    if gains and len(each) > 1:
        lists = f"Trained on {home} documents, none of {len(each)} rankers loses on {away}"
    texts = _changes(means, Measure.parse(measure).without_conventions)
    return Headline(f"{lists}: {texts}.", named[0].tier, TIERS[named[0].tier])


def _changes(means: Mapping[str, float], measure: str) -> str:
    """Changes of means by name, as the end of a sentence.

    >>> _changes({"DLCM": 0.1, "GSF": 0.2, "MART": -0.1}, "AP")
    'DLCM gains 0.100 AP, GSF 0.200, MART loses 0.100'
    """
    texts, before = list[str](), ""
    for name, change in means.items():
        verb = "gains" if change >= 0 else "loses"
        texts.append(f"{name} {'' if verb == before else f'{verb} '}{abs(change):.3f}")
        before = verb
    return ", ".join([f"{texts[0]} {measure}", *texts[1:]])


def _best(result: StudyResult, measure: str) -> dict[int, Queries]:
    """Values of the best order of the candidates at every size, by query."""
    return {
        int(level): result.per_query(CEILING, family, level, measure)
        for ranker, family, level in result.points
        if ranker == CEILING
    }


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure = view.measure(result)
    frame = curves(result, measure)
    sizes = sorted(map(int, set(frame["trained_on"]) - {ANY}))
    for home in sizes or (None,):
        at_home = "" if home is None or len(sizes) < 2 else f", trained on {home}"
        for title, words, points in (
            ("Mean", measure, frame),
            ("Loss", loss_in(measure), losses_of(result, measure)),
        ):
            of_home = points[points["trained_on"].isin((ANY, str(home)))]
            if len(of_home):
                yield Picture("set size", (of_home, words, home), title=title + at_home)
    yield Finding(claim_text(claim(result, measure)))
    if same := like_initial(frame):
        verb = "has" if len(same) == 1 else "have"
        yield Finding(f"{listed(same)} {verb} the curve of the initial ranking, point by point.")
    yield Convention("; ".join(filter(None, [shorter(result.facts), *result.facts["left_out"]])))
    yield Convention.of(measure, result.facts["queries"], "95 % intervals over queries")
    yield tables.Table(frame, CURVES, f"{measure} by ranker, training and test length")


def like_initial(frame: pd.DataFrame) -> list[str]:
    """Rankers with the means of the initial ranking at every size: they ranked the candidates.

    >>> rows = [("initial ranking", 10, 0.5), ("mart", 10, 0.5), ("dlcm", 10, 0.6)]
    >>> like_initial(pd.DataFrame(rows, columns=["ranker", "size", "mean"]))
    ['mart']
    """
    means = {
        str(label): rows.set_index("size")["mean"].to_dict()
        for label, rows in frame.groupby("ranker", sort=False)
    }
    initial = means.pop(INITIAL, None)
    return [label for label, of_label in means.items() if of_label == initial]


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    measure = str(result.measures[0])
    return {
        "table": records(curves(result, measure)),
        "claim": claim(result, measure),
        "finding": headline(result, View()).text,
        "convention": Measure.parse(measure).convention(),
        "shorter": result.facts["shorter"],
        "left_out": result.facts["left_out"],
    }


def curves(result: StudyResult, measure: str) -> pd.DataFrame:
    """CURVES, one row per ranker, N0 (as text, `any` if lists do not matter) and N1."""
    names = {"family": "trained_on", "level": "size", "set_size": "mean_length"}
    frame = result.summary((measure,)).rename(columns=names)
    points = list(zip(frame["ranker"], frame["trained_on"], frame["size"], strict=True))
    frame["size"] = frame["size"].astype(int)
    frame["reaching"] = [feasibility.lists_reaching(result.facts, size) for size in frame["size"]]
    at_home = frame[frame["trained_on"] == frame["size"].astype(str)]
    homes = at_home[["ranker", "size", "mean"]].rename(columns={"mean": "home"})
    frame = frame.merge(homes, how="left", on=["ranker", "size"])
    frame["shift"] = frame["mean"] - frame["home"]
    for column, stored in (("order_stability", ORDER), ("score_shift", SHIFT)):
        frame[column] = [known_mean(result.per_query(*point, stored)) for point in points]
    return frame[tables.keys(CURVES)]


def losses_of(result: StudyResult, measure: str) -> pd.DataFrame:
    """Losses of each ranker on lists of N1 against its home size, paired by query.

    Returns:
        CURVES and p of every ranker (without the references): its mean is the loss from
        `home_of`. All are tested together.
    """
    frame = curves(result, measure)
    frame = frame[~frame["ranker"].isin((CEILING, INITIAL))].reset_index(drop=True)
    pairs = {}
    for row, point in enumerate(_points(frame)):
        home = home_of(result, point[0], point[1])
        if home != point[1:]:
            start = result.per_query(point[0], *home, measure)
            pairs[row] = start, result.per_query(*point, measure)
    return paired_rows(frame, pairs)


def _points(frame: pd.DataFrame) -> Iterator[tuple[str, str, int]]:
    """Ranker, N0 and N1 of every row of `curves`."""
    for ranker, home, size in zip(frame["ranker"], frame["trained_on"], frame["size"], strict=True):
        yield str(ranker), str(home), int(size)


def claim(result: StudyResult, measure: str) -> dict[str, Any]:
    """Verdict on the paper's claim; empty if it cannot be tested.

    It needs the three rankers, each trained on lists, and a larger N1 that some test list reaches.
    The two neighbouring pairs (MSAB − IMSAB, DLCM − MSAB) are compared by paired tests of the
    queries' losses; see `core.studies.paired_differences.rising_verdict`.
    """
    ends, by_words = _ends(result), {}
    for name, words in ORDERED:
        alike = [label for label in ends if _is_without_ordinals(label, name)]
        if not alike:
            return {}
        # `False` sorts first: the variant `-without-init` is preferred
        by_words[words] = min(alike, key=lambda label: RankerName.of(label).base == name)
    verdict = rising_verdict(
        [(label, _loss(result, label, *ends[label], measure)) for label in by_words.values()]
    )
    trained_on, tested_on = ends[next(iter(by_words.values()))]
    return {
        "claim": "{} drops least, then {}, then {}".format(*by_words),
        "verdict": verdict.word,
        "text": verdict.text,
        "trained_on": trained_on,
        "tested_on": tested_on,
        "steps": records(verdict.steps),
    }


def shorter(facts: Mapping[str, Any]) -> str:
    """Sentence on test lists with fewer documents than a size; empty without such lists.

    >>> shorter({"queries": 3, "shorter": {"40": 0, "240": 1}})
    'Shorter lists, unchanged: 1 of 3 below 240 documents'
    """
    counts = [
        f"{count} of {facts['queries']:,} below {size} documents"
        for size, count in facts["shorter"].items()
        if count
    ]
    return f"Shorter lists, unchanged: {', '.join(counts)}" if counts else ""


def _is_without_ordinals(label: str, name: str) -> bool:
    """True for this ranker without ordinal embeddings (DLCM without its input order)."""
    return RankerName.of(label).base in {name, f"{name}-without-init"}


def _ends(result: StudyResult) -> dict[str, tuple[int, int]]:
    """Smallest N0 and largest N1 that a list reaches, by ranker, if they differ."""
    ends = {}
    trained = result.trials[result.trials.family != ANY]
    for label, trials in trained.groupby("ranker", sort=False):
        home = min(map(int, trials.family))
        sizes = trials[trials.family == str(home)].level.astype(int)
        reached = [size for size in sizes if feasibility.lists_reaching(result.facts, size)]
        if home in reached and max(reached) > home:
            ends[str(label)] = home, max(reached)
    return ends


def _loss(
    result: StudyResult, label: str, home: int, away: int, measure: str
) -> Float64[np.ndarray, " queries"]:
    """The measure at N1 = N0 minus that at another N1, query by query, seeds averaged."""
    values = (result.per_query(label, str(home), size, measure) for size in (home, away))
    return np.subtract(*values, dtype=np.float64)


def home_of(result: StudyResult, ranker: str, trained_on: str) -> tuple[str, int]:
    """N0 of a ranker and its reference N1: N0 itself; if it was not tested, the smallest size."""
    sizes = _sizes(result, ranker, trained_on)
    at_home = is_count(trained_on) and int(trained_on) in sizes
    return trained_on, int(trained_on) if at_home else sizes[0]


def _sizes(result: StudyResult, ranker: str, trained_on: str) -> list[int]:
    """Tested sizes of a ranker of one N0, in rising order."""
    row = ranker, trained_on
    return sorted(int(size) for label, home, size in result.points if (label, home) == row)
