"""Sections of a study of perturbations: losses and inapplicable families."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from shuffleproof.core.experiment.precomputed_scores import is_as_is
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.perturb.wording import condition_in_words
from shuffleproof.core.rankers.name import INITIAL, with_display_names
from shuffleproof.core.studies import headline as answers
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.conventions import derive_values
from shuffleproof.core.studies.kinds.perturbations.applicability import FAILED, in_words
from shuffleproof.core.studies.kinds.perturbations.study import as_is, trials_where
from shuffleproof.core.studies.kinds.perturbations.system import OWN
from shuffleproof.core.studies.paired_differences import loss_in, paired_rows
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.words import counted, listed, number

UNLIKE = (
    "Families that add or remove documents are listed separately: they also change the best "
    "possible value."
)


def headline(result: StudyResult, view: View) -> Headline:
    """Largest loss at the last level of any family, and the ranker whose largest loss is smallest.

    Families that change the set of documents only count if there are no others: they change the
    best possible value, for every ranker alike.
    """
    measure = view.measure(result)
    last = last_levels(losses(result, measure)).dropna(subset=["loss"])
    last = last[last["ranker"].isin(view.compared_labels(dict.fromkeys(last["ranker"])))]
    same = _of_same_documents(last["family"])
    apart, last = not same.all(), last[same]
    rows: list[Any] = list(last.itertuples())
    values = {
        (row.ranker, condition_in_words(row.family, row.level)): (
            as_is(result, row.ranker, measure),
            result.per_query(row.ranker, row.family, row.level, measure),
        )
        for row in rows
        if view.family in {"", row.family}
    }
    answer = answers.headline(answers.losses(values))
    if not apart:
        return answer
    return replace(answer, why=f"{answer.why}. {UNLIKE}")


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure = view.measure(result)
    frame = losses(result, measure)
    cells = last_levels(frame)
    groups = families_by_heading(cells["family"])
    left_out = omitted(result.facts)
    by_level = list(_by_level(result, view))
    yield Picture("losses", (cells, groups, measure, left_out), by_level)
    for sentence in _notes(result.facts, set(cells["family"])):
        yield Convention(sentence)
    yield Convention(_convention(result, measure))
    title = "Losses by ranker, family and level"
    yield tables.Table(frame, COLUMNS, title, folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    measure, facts = str(result.measures[0]), result.facts
    return {
        "left_out": facts.get("left_out", {}),
        "lists_that_reach": facts.get("reached", {}),
        "finding": headline(result, View()).text,
        "said": _notes(facts, {family for family, _ in result.recipe["perturbations"]}),
        "convention": _convention(result, measure),
    }


def _notes(facts: Mapping[str, Any], families: set[str]) -> list[str]:
    return list(filter(None, [omission_text(facts, families), short_of(facts, families)]))


def _convention(result: StudyResult, measure: str) -> str:
    draws = counted(result.recipe["draws"], "draw")
    return Convention.of(measure, len(result.query_ids), draws).text


def _by_level(result: StudyResult, view: View) -> Iterator[tables.Table]:
    """Tables of rankers × levels, one per family and measure."""
    summary = result.summary_under(view.measures)
    for (family, measure), group in summary.groupby(["family", "measure"], sort=False):
        entry = entry_of(str(family))
        shown = OWN[:1] if entry.of_input else (OWN[0], OWN[-1])
        if measure in OWN and measure not in shown:
            continue
        spec = tables.SHORT if measure in OWN else tables.VALUE
        words, *notes = CHANGES.get(str(measure), (str(measure),))
        title = f"{words} under {family} ({entry.unit})"
        yield replace(tables.levels(group, title, spec, left=entry.of_input), notes=notes)


CHANGES: Mapping[str, tuple[str, ...]] = {
    OWN[0]: (
        "Kendall τ between rankings",
        "Each ranker's rankings of the unchanged and the perturbed list; 1: equal, −1: reversed.",
    ),
    OWN[-1]: ("Largest score change",),
}
"""Title of a table of changes, and a note on it."""


EXACT = 1e-9
"""Tolerance for the rounding of a share of levels."""


def omitted(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(ranker, family) pairs in which the family does not apply to the ranker."""
    left_out = facts.get("left_out", {})
    return [(ranker, family) for family, reasons in left_out.items() for ranker in reasons]


def omission_text(facts: Mapping[str, Any], families: Collection[str]) -> str:
    """Sentences on inapplicable families, with their rankers and reasons.

    >>> omission_text({"left_out": {"threads": {"mart": "no network"}}}, ["threads", "cut"])
    'threads does not apply to mart (no network).'
    """
    sentences = []
    for family, reasons in facts.get("left_out", {}).items():
        failed = {label: why for label, why in reasons.items() if why.startswith(FAILED)}
        others = {label: why for label, why in reasons.items() if label not in failed}
        if family in families:
            sentences += [f"{family} fails for {in_words(failed)}."] * bool(failed)
            sentences += [f"{family} does not apply to {in_words(others)}."] * bool(others)
    return " ".join(sentences)


def short_of(facts: Mapping[str, Any], families: Collection[str]) -> str:
    """Sentences on levels that only some lists reach; the others change as far as possible.

    >>> short_of({"reached": {"promote": {"10": 30, "1000": 0}}, "queries": 38}, ["promote"])
    'promote: 30 of 38 lists reach level 10, 0 of 38 lists reach level 1000.'
    """
    lists = counted(facts.get("queries", 0), "list")
    reached = facts.get("reached", {}).items()
    parts = {
        family: [f"{count} of {lists} reach level {level}" for level, count in levels.items()]
        for family, levels in reached
        if family in families
    }
    return " ".join(f"{family}: {', '.join(texts)}." for family, texts in parts.items())


COLUMNS = (
    tables.RANKER,
    tables.Column("family", "Family"),
    tables.Column("level", "Level", tables.LEVEL),
    tables.Column("tau", "τ to original", tables.TAU, "Of the perturbed input."),
    tables.Column("as_is", "Unchanged", tables.VALUE),
    tables.Column("mean", "Perturbed", tables.VALUE),
    tables.Column("loss", "Loss", tables.CHANGE),
    tables.Column("answer-tau", "τ of rankings", tables.TAU, "Over documents in both lists."),
    tables.Column("kept-top-1", "top 1 kept", tables.SHARE),
    tables.Column("kept-top-10", "top 10 kept", tables.SHARE),
    tables.Column("score-change", "score change", tables.P, "The largest one."),
)
GROUPS = {
    "order": "Only the input order",
    "ranking": "The initial ranking",
    "set": "The set of documents",
    "features": "The features",
    "labels": "The training labels",
    "system": "Training and arithmetic",
    "several": "Chains",
}
"""Changed parts of the input as headings, from the least to the most relevant."""

ATTACKS = "The features, by an attack on"
HEADINGS = {"set": "Documents added or removed (the best value changes too)"}
"""Headings of a map that replace those of GROUPS."""


def group_of(family: str) -> str:
    """Changed part of the input, as a name of GROUPS.

    Raises:
        UnknownNameError: no such family.

    >>> group_of("shuffle"), group_of("shuffle-shown"), group_of("cut:0.5+feature-noise")
    ('ranking', 'order', 'several')
    """
    changed = entry_of(family).changes - {"order"}
    return "several" if len(changed) > 1 else next(iter(changed), "order")


def families_by_group(families: Iterable[str]) -> dict[str, list[str]]:
    """Families by the changed part of the input, under the non-empty names of GROUPS in order.

    >>> families_by_group(["cut", "shuffle-shown", "sample"])
    {'order': ['shuffle-shown'], 'set': ['cut', 'sample']}
    """
    groups = {family: group_of(family) for family in families}
    return {
        name: [family for family, group in groups.items() if group == name]
        for name in GROUPS
        if name in groups.values()
    }


def families_by_heading(families: Iterable[str]) -> dict[str, list[str]]:
    """Families as in `families_by_group`, under headings; attacks have a heading of their own.

    >>> list(families_by_heading(["label-noise", "gradient-sign@dlcm"]))
    ['The features, by an attack on', 'The training labels']
    """
    headings: dict[str, list[str]] = {}
    for name, members in families_by_group(families).items():
        for family in members:
            heading = ATTACKS if attack_target(family) else HEADINGS.get(name, GROUPS[name])
            headings.setdefault(heading, []).append(family)
    return headings


def losses(result: StudyResult, measure: str) -> pd.DataFrame:
    """Loss of each ranker under every family and level, unchanged levels included: COLUMNS."""
    parsed = Measure.parse(measure)
    of_answers = [name for name in OWN if name in result.stored_measures]
    rankers = map(str, result.trials["ranker"].unique())
    start = {ranker: mean_of(parsed, as_is(result, ranker, measure)) for ranker in rankers}
    points: Any = result.trials.groupby(["ranker", "family", "level"], sort=False)
    rows = []
    for (ranker, family, level), trials in points:
        mean = mean_of(parsed, result.per_query(ranker, family, level, measure))
        facts = {"ranker": ranker, "family": family, "level": level, "tau": trials["tau"].mean()}
        numbers = {"as_is": start[ranker], "mean": mean, "loss": start[ranker] - mean}
        changes = {
            name: known_mean(result.per_query(ranker, family, level, name)) for name in of_answers
        }
        rows.append(facts | numbers | changes)
    return pd.DataFrame(rows, columns=tables.keys(COLUMNS))


def last_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Last level of each ranker and family in `losses`: ranker, family, level, loss."""
    last = ~frame.duplicated(["ranker", "family"], keep="last")
    return frame.loc[last, ["ranker", "family", "level", "loss"]].reset_index(drop=True)


def losses_of(result: StudyResult, summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Losses of each ranker at every level of one family, paired by query and tested together.

    Args:
        result: of the study.
        summary: the rows of the family and measure.
        measure: the measure of the loss.

    Returns:
        The rows with p. The measure has the name of `paired_differences.loss_in`; its mean is
        the loss that `losses` has relative to the unperturbed lists.
    """
    frame = summary.reset_index(drop=True)
    start = {label: as_is(result, label, measure) for label in dict.fromkeys(frame["ranker"])}
    points = zip(frame["ranker"], frame["family"], frame["level"], strict=True)
    pairs = {
        row: (start[label], result.per_query(label, family, level, measure))
        for row, (label, family, level) in enumerate(points)
        if not is_as_is(family, level)
    }
    return paired_rows(frame, pairs).assign(measure=loss_in(measure))


def of_family(result: StudyResult, family: str) -> StudyResult:
    """Result reduced to the trials of one family."""
    return trials_where(result, [name == family for name in result.trials["family"]])


def of_query(result: StudyResult, query: str, measure: str) -> pd.DataFrame:
    """Losses of each ranker in one query, under every family and level.

    Args:
        result: of the study.
        query: its id.
        measure: one that is stored, or follows from stored ones.

    Returns:
        ranker, family, level, as_is, value (the mean over the draws) and loss.
    """
    at = list(map(str, result.query_ids)).index(query)
    names = ["ranker", "family", "level"]
    values = derive_values(measure, result.stored_measures, result.values)[:, at].astype(np.float64)
    points = result.trials[names].assign(value=values).groupby(names, sort=False)["value"]
    frame = points.mean().reset_index()
    start = {name: float(as_is(result, name, measure)[at]) for name in frame["ranker"].unique()}
    frame["as_is"] = frame["ranker"].map(start)
    return frame.assign(loss=frame["as_is"] - frame["value"])


def at_step(frame: pd.DataFrame, share: float) -> pd.DataFrame:
    """Rows at the same relative step of each family's own levels.

    Args:
        frame: `of_query`.
        share: 0 is each family's first level, 1 its last.

    >>> frame = pd.DataFrame({"family": ["a"] * 3 + ["b"], "level": [0.0, 2.0, 4.0, 1.0]})
    >>> at_step(frame, 0.5)["level"].tolist()
    [2.0, 1.0]
    """
    chosen = set()
    for family, of in frame.groupby("family", sort=False):
        levels = list(dict.fromkeys(of["level"]))
        # EXACT keeps a share such as 1/3 from being rounded up to the next level
        chosen.add((family, levels[ceil(share * (len(levels) - 1) - EXACT)]))
    pairs = zip(frame["family"], frame["level"], strict=True)
    return frame[[pair in chosen for pair in pairs]].reset_index(drop=True)


def levels_in_words(cells: pd.DataFrame) -> list[str]:
    """Level of each family, in words.

    >>> levels_in_words(pd.DataFrame({"family": ["cut", "cut"], "level": [0.5, 0.5]}))
    ['cut 0.5']
    """
    levels = dict(zip(cells["family"], cells["level"], strict=True))
    return [with_display_names(f"{family} {level:g}") for family, level in levels.items()]


def query_in_words(cells: pd.DataFrame, query: str, measure: str) -> Headline:
    """Headline of one query: largest loss under families that keep the documents, and no losses.

    Args:
        cells: rows of `of_query`, one per ranker and family.
        query: its id.
        measure: the measure of the loss.
    """
    compared = cells[cells["ranker"] != INITIAL].dropna(subset=["loss"])
    if compared.empty:
        return Headline(
            f"Query {query}: no value of {measure} is known here.", answers.INCONCLUSIVE
        )
    alike = compared[_of_same_documents(compared["family"])]
    worst: Any = alike.iloc[int(alike["loss"].argmax())]
    values = [(worst["as_is"], worst["value"])]
    tier = answers.of_one_list(values, changed=bool((alike["loss"] != 0).any()))
    if worst["loss"] <= 0:
        return Headline(f"Query {query}: no ranker loses {measure}.", *tier)
    lost = alike.groupby("ranker", sort=False)["loss"].max()
    without_loss = [str(name) for name, loss in lost.items() if loss <= 0]
    nothing = f"; {listed(without_loss)} {'loses' if len(without_loss) == 1 else 'lose'} nothing"
    change = f"{number(worst['as_is'])} → {number(worst['value'])}"
    answer = (
        f"Query {query}: {worst['ranker']} loses most, {number(worst['loss'])} "
        f"{measure} {condition_in_words(worst['family'], worst['level'])} ({change})"
        f"{nothing if without_loss else ''}."
    )
    return Headline(answer, *tier)


def most_changed(result: StudyResult) -> str:
    """Query with the largest loss of any ranker, under families that keep the set of documents."""
    measure = str(result.measures[0])
    values = derive_values(measure, result.stored_measures, result.values).astype(np.float64)
    start = {name: as_is(result, name, measure) for name in result.trials["ranker"].unique()}
    lost = np.stack([start[name] for name in result.trials["ranker"]]) - values
    # The initial ranking always follows its own perturbation
    lost[(result.trials["ranker"] == INITIAL).to_numpy()] = np.nan
    lost[~_of_same_documents(result.trials["family"])] = np.nan
    worst = np.nan_to_num(lost, nan=-np.inf).max(axis=0)
    return str(result.query_ids[int(worst.argmax())])


def _of_same_documents(families: "pd.Series[str]") -> Bool[np.ndarray, " rows"]:
    """Mask of the rows of families that keep the set of documents; all rows if there are none."""
    same = np.array(["set" not in entry_of(str(name)).changes for name in families], bool)
    return same if same.any() else np.ones(len(same), bool)
