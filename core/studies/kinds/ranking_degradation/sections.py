"""Figure 3, told: the curves, what they show, the paper's claim, which differences are not chance.

A row a ranker and level answers two questions: did the ranker change from the unchanged lists to
this level, and does it differ from a chosen ranker at the same level? Each is a paired test over
queries, and Holm's adjustment covers all answers to the same question in the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.randomisation import randomised
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.metrics.significance import PairedTest, holm, paired_t, t_interval
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.claims import ALPHA, PAPER_FAMILY
from shuffleproof.core.studies.noise import within
from shuffleproof.core.studies.result import SUMMARY, StudyResult, disturbed
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Picture,
    Section,
    Sentence,
    View,
)
from shuffleproof.core.words import counted, interval, number, p_value, signed


@dataclass(frozen=True)
class Compared:
    """One level of one ranker beside the undisturbed initial ranking.

    Attributes:
        level: of the disturbance.
        difference: mean of the ranker − the initial ranking over the queries.
        share: that difference, as a share of the initial ranking's mean.
        p: of the paired t test, adjusted by Holm over all levels of all rankers.
        n: queries counted.
    """

    level: float
    difference: float
    share: float
    p: float
    n: int

    @property
    def is_below(self) -> bool:
        """Whether it lies below by more than chance."""
        return self.difference < 0 and self.p <= ALPHA


@dataclass(frozen=True)
class Fall:
    """How one ranker's curve fell between the undisturbed lists and the highest level.

    Attributes:
        ranker: its label.
        means: over the queries, level by level, the lists as they are first.
        levels: measured levels, outwards from the unchanged one.
        compared: every level beside the undisturbed initial ranking, where the study has it.
    """

    ranker: str
    means: tuple[float, ...]
    levels: tuple[float, ...]
    compared: tuple[Compared, ...]

    @property
    def below(self) -> tuple[float, ...]:
        """The levels at which it lies below the undisturbed initial ranking by more than chance."""
        return tuple(one.level for one in self.compared if one.is_below)

    @property
    def loss(self) -> float:
        """What was lost at the last level, in the measure's own unit."""
        return self.means[0] - self.means[-1]


def falls(
    result: StudyResult, family: str, measure: str, rankers: Sequence[str] | None = None
) -> list[Fall]:
    """The fall of every ranker of a stored study, or of those named, in the study's order.

    Args:
        result: of an initial-ranking study.
        family: of perturbations.
        measure: one that follows from what is stored.
        rankers: labels; by default all.
    """
    levels = tuple(float(level) for name, level in result.recipe["perturbations"] if name == family)
    known = [label for label, _ in result.recipe["rankers"]]
    curves = {
        label: [result.per_query(label, family, level, measure) for level in levels]
        for label in known
    }
    compared = _levels_compared(curves, levels, Measure.parse(measure))
    return [
        Fall(
            label,
            tuple(mean_of(Measure.parse(measure), values) for values in curves[label]),
            levels,
            compared.get(label, ()),
        )
        for label in (known if rankers is None else [one for one in known if one in rankers])
    ]


def _levels_compared(
    curves: Mapping[str, Sequence[Float32[np.ndarray, " queries"]]],
    levels: Sequence[float],
    measure: Measure,
) -> dict[str, tuple[Compared, ...]]:
    """Every ranker's levels beside the undisturbed initial ranking; one family of tests."""
    if INITIAL not in curves:
        return {}
    reference = curves[INITIAL][0]
    points = [
        (label, level, paired_t(values, reference))
        for label, curve in curves.items()
        if label != INITIAL
        for level, values in zip(levels, curve, strict=True)
    ]
    p = holm(np.array([test.p_value for _, _, test in points]))
    start = mean_of(measure, reference)
    found: dict[str, tuple[Compared, ...]] = {}
    for (label, level, test), adjusted in zip(points, p, strict=True):
        share = test.difference / start if start else float("nan")
        one = Compared(level, test.difference, share, float(adjusted), test.n)
        found[label] = (*found.get(label, ()), one)
    return found


def finding(
    result: StudyResult, family: str, measure: str, rankers: Sequence[str] | None = None
) -> str:
    """One paragraph, written from the numbers: who stays, who falls, how far, and past what.

    Arguments as those of `falls`.
    """
    found = falls(result, family, measure, rankers)
    if any(np.isnan(fall.means).any() for fall in found):
        return (
            "Under this convention the means are undefined: some queries have no relevant document."
        )
    flat = [fall for fall in found if np.ptp(fall.means) == 0]
    falling = sorted(
        (fall for fall in found if np.ptp(fall.means) > 0), key=lambda fall: -fall.loss
    )
    kept = "; ".join(f"{fall.ranker} keeps {fall.means[0]:.3f} at every level" for fall in flat)
    sentences = [f"{kept}."] if flat else []
    for fall in falling:
        noise = within(result, fall.ranker, family, fall.levels[-1])
        sentences.append(_sentence(fall, family, noise))
    if any(fall.compared for fall in falling):
        sentences.append(_tested(result, falling))
    return " ".join(sentences)


def _sentence(fall: Fall, family: str, noise: str) -> str:
    verb, start = "loses" if fall.loss >= 0 else "gains", fall.means[0]
    share = f" ({number(abs(fall.loss) / start, '.1%')})" if start else ""
    text = (
        f"{fall.ranker} {verb} {number(abs(fall.loss))}{share} {_reached(family, fall.levels[-1])}"
    )
    if noise:
        return f"{text}, {noise}."
    return f"{text} and is {_where_below(fall)}." if fall.compared else f"{text}."


def _where_below(fall: Fall) -> str:
    """At which of the measured levels it is below the undisturbed initial ranking, in words."""
    reference = "the undisturbed initial ranking"
    what, below = f"significantly below {reference}", fall.below
    if below == fall.levels:
        return f"{what} at every level"
    if below and below == fall.levels[-len(below) :]:
        return f"{what} from level {below[0]:g} on"
    if below:
        return f"{what} at level {', '.join(f'{level:g}' for level in below)}"
    lowest = min(fall.compared, key=lambda one: one.difference)
    if lowest.difference >= 0:
        return f"nowhere below {reference}"
    return (
        f"not told apart from {reference}: {number(lowest.share, '+.1%')} at level "
        f"{lowest.level:g}, {p_value(lowest.p)}, n = {lowest.n}"
    )


def _tested(result: StudyResult, falling: Sequence[Fall]) -> str:
    """How many comparisons the adjustment covers, in words."""
    rankers = sum(1 for label, _ in result.recipe["rankers"] if label != INITIAL)
    count = counted(rankers * len(falling[0].levels), "comparison")
    return f"Levels are compared with it by paired t after Holm's adjustment for {count}."


def _reached(family: str, level: float) -> str:
    """The last level in words: by 80 transpositions, by shuffle at level 0.4."""
    return f"by {level:g} {family}" if entry_of(family).whole else f"by {family} at {level:g}"


def claim(result: StudyResult, family: str, measure: str) -> dict[str, Any]:
    """Whether the paper's order holds here: DLCM falls further than SetRank with ordinals.

    Compares the per-query falls of the two at the highest level by a paired t test; holds /
    does not / cannot be told at p ≤ 0.05; the difference has the 95 % interval of the same test.
    Empty where the study lacks one of the two.
    """
    labels = [label for label, _ in result.recipe["rankers"]]
    dlcm = next((label for label in labels if RankerName.of(label).base == "dlcm"), None)
    setrank = next((one for one in labels if rankings_of(RankerName.of(one).base)), None)
    if dlcm is None or setrank is None:
        return {}
    levels = [level for name, level in result.recipe["perturbations"] if name == family]
    drop = {
        label: result.per_query(label, family, levels[0], measure)
        - result.per_query(label, family, levels[-1], measure)
        for label in (dlcm, setrank)
    }
    counted = ~np.isnan(drop[dlcm]) & ~np.isnan(drop[setrank])
    further = drop[dlcm][counted].astype(np.float64) - drop[setrank][counted].astype(np.float64)
    p = paired_t(drop[dlcm][counted].astype(np.float64), drop[setrank][counted].astype(np.float64))
    low, high = t_interval(further)
    verdict = "cannot be told"
    if p.p_value <= ALPHA:
        verdict = "holds" if further.mean() > 0 else "does not hold"
    return {
        "claim": f"{dlcm} falls further than {setrank}",
        "whose": "The paper's claim"
        if family == PAPER_FAMILY
        else f"What the paper claims of {PAPER_FAMILY},",
        "verdict": verdict,
        "difference": float(further.mean()),
        "low": low,
        "high": high,
        "p": float(p.p_value),
        "n": int(counted.sum()),
        "level": float(levels[-1]),
    }


def claimed(verdict: Mapping[str, Any]) -> str:
    """What `claim` found, in words; nothing where it found nothing."""
    if not verdict:
        return ""
    bounds = f"95 % {interval(verdict['low'], verdict['high'])}"
    return (
        f"{verdict['whose']} that {verdict['claim']}: {verdict['verdict']} here (difference of the "
        f"falls {signed(verdict['difference'])}, {bounds}, {p_value(verdict['p'])}, "
        f"n = {verdict['n']}, paired t)."
    )


TESTED = (
    "change: from the unchanged lists; against: the initial ranking at the same level. Paired t "
    "tests, p adjusted by Holm over each column, d: Cohen's d, ▲ ▼: p ≤ 0.05."
)


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    summary = result.summarised(view.measures)
    for (name, of), group in summary.groupby(["family", "measure"], sort=False):
        family, measure = str(name), str(of)
        unit = entry_of(family).unit
        table = tables.levels(group, f"{measure} under {family} ({unit})")
        yield Picture("curves", (summary, family, measure, unit), [table])
        yield Finding(finding(result, family, measure))
        yield Convention(Measure.parse(measure).convention())
        yield Sentence(claimed(claim(result, family, measure)))
        frame = marks(result, family, measure)
        title = f"Is it more than chance? {measure} under {family}"
        yield tables.Table(frame, columns(), title, [TESTED], folded=True)
    yield tables.Table(summary, SUMMARY, "Every number", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    families = dict.fromkeys(family for family, _ in result.recipe["perturbations"])
    return {
        "findings": [
            {
                "family": family,
                "measure": measure,
                "convention": Measure.parse(measure).convention(),
                "finding": finding(result, family, measure),
                "claim": claim(result, family, measure) or None,
            }
            for family in families
            for measure in result.measures
        ]
    }


TESTS = {
    "paired t": "Student's paired t test",
    "randomisation": "Fisher's paired randomisation test, 10 000 exchanges",
}


def columns(baseline: str = INITIAL) -> tuple[tables.Column, ...]:
    """The columns of `marks`, compared with a baseline."""
    column, unchanged = tables.Column, "Mean minus its mean, undisturbed."
    return (
        tables.RANKER,
        column("level", "Level", tables.LEVEL),
        column("tau", "τ left", tables.TAU),
        column("mean", "Mean", tables.VALUE),
        tables.QUERIES,
        column("change", "− unchanged", tables.CHANGE, unchanged),
        column("change_p", "p", tables.P, tables.HOLM),
        column("change_effect", "d", tables.EFFECT, "Cohen's d of the differences."),
        column("change_mark", "▲▼", help="p ≤ 0.05."),
        column("against", f"− {baseline}", tables.CHANGE, "Mean minus that ranker's, same level."),
        column("against_p", "p", tables.P, tables.HOLM),
        column("against_effect", "d", tables.EFFECT, "Cohen's d of the differences."),
        column("against_mark", "▲▼", help="p ≤ 0.05."),
    )


NO_TEST = PairedTest(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def marks(
    result: StudyResult,
    family: str,
    measure: str,
    baseline: str = INITIAL,
    test: str = "paired t",
) -> pd.DataFrame:
    """The significance table of one family and measure: `columns`.

    A mark is ▲ or ▼ where p ≤ 0.05, else empty; numbers are NaN where there is nothing to compare.

    Args:
        result: an initial-ranking study.
        family: of perturbations.
        measure: one whose values are stored, or follow from those stored.
        baseline: the ranker that the others are compared with.
        test: a name of `TESTS`.

    Raises:
        UnknownNameError: the study has no such ranker, or there is no such test.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    if baseline not in labels:
        raise UnknownNameError("ranker of the study", baseline, labels)
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    chosen = result.trials[result.trials.family == family]
    levels = list(dict.fromkeys(chosen.level))
    points = chosen.groupby(["ranker", "level"])["tau"].mean().reset_index()
    taus = {(row[0], row[1]): row[2] for row in points.itertuples(index=False)}
    values = {
        point: result.per_query(point[0], family, point[1], measure).astype(np.float64)
        for point in taus
    }
    rows = []
    for label, level in product(labels, levels):
        own = values.get((label, level))
        if own is None:  # a study under way
            continue
        first = None if level == levels[0] else values.get((label, levels[0]))
        other = None if label == baseline else values.get((baseline, level))
        rows.append(
            {"ranker": label, "level": level, "tau": taus[label, level]}
            | {"mean": _mean(measure, own), "n": int((~np.isnan(own)).sum())}
            | _compared("change", own, first)
            | _compared("against", own, other)
        )
    frame = pd.DataFrame(rows)
    if test != "paired t":
        for name in ("change", "against"):
            frame[f"{name}_p"] = _randomised(frame[f"{name}_by_query"], name)
    return _adjusted(frame)


def _compared(name: str, own: Any, other: Any) -> dict[str, Any]:
    found = NO_TEST if other is None else paired_t(own, other)
    return {
        name: found.difference, f"{name}_p": found.p_value, f"{name}_effect": found.effect_size,
        f"{name}_by_query": None if other is None else own - other,
    }  # fmt: skip


def _randomised(by_query: pd.Series, name: str) -> Any:
    """The p values of a column by Fisher's test, all rows with the same exchanges of a column."""
    p = np.full(len(by_query), np.nan)
    tested = [at for at, own in enumerate(by_query) if own is not None]
    if tested:
        differences = np.stack([by_query.iloc[at] for at in tested])
        p[tested] = randomised(differences, generator(0, name))
    return p


def _adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("change", "against"):
        p = frame[f"{name}_p"] = holm(frame[f"{name}_p"].to_numpy(float))
        counts = p <= ALPHA
        marked = np.where(frame[name].to_numpy(float) > 0, "▲", "▼")
        frame[f"{name}_mark"] = np.where(counts, marked, "")
    return frame[tables.keys(columns())]


def _mean(measure: str, values: Any) -> float:
    return mean_of(Measure.parse(measure), values.astype(np.float32))


def damage(
    result: StudyResult, ranker: str, family: str, level: float, measure: str
) -> pd.DataFrame:
    """What a point of the figure did to every query, the most damaged first.

    Returns:
        Columns query, unchanged, disturbed (means over the draws), change, worst_draw (the draw
        with the lowest value). Queries that the measure leaves out are left out.
    """
    unchanged = result.trials[result.trials.family == family].level.iloc[0]
    before = result.per_query(ranker, family, unchanged, measure)
    return disturbed(result.query_ids, before, result.draws(ranker, family, level, measure))
