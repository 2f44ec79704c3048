"""Conventions that reproduce a published mean of a run, the simplest first.

A convention here is a measure with its own conventions, and the choices of the evaluation around
it. These are the topics that count, the documents read, the meaning of grades, and the mean over
folds.
Known tools (`BUNDLES`) and the defaults are the starts. Every convention that changes few choices
of one of them is tried; each kernel measures every list once.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from itertools import combinations, product
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from shuffleproof.core import numerals
from shuffleproof.core.data import ragged, trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.layout import group_file
from shuffleproof.core.data.letor.read import LetorTable
from shuffleproof.core.data.letor.stream import Limits, MissingCells, text_lines
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, ParameterError, UsageError
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import MEASURES, Measure
from shuffleproof.core.metrics.relevance import (
    LARGEST_GRADE,
    LARGEST_SUM,
    convert_empty,
    document_order,
    evaluate,
    mean_of,
)
from shuffleproof.core.parameters import parameters, parts_of
from shuffleproof.core.perturb.sets import restrict
from shuffleproof.core.rankers.outside.file_ranker import FileScores
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.kinds.benchmark.query import judged_by
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Column, Table, keys
from shuffleproof.core.words import counted, listed, number, percent

DEPTHS = (1, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
"""Usual cut-offs, which are tried too where the published one fails."""

KEPT = (10, 100, 1000)
"""Usual numbers of documents of a query that a program reads."""

MOST_GRADES = 5
"""Number of the lowest grades that a threshold is tried at."""

PERSISTENCES = (0.5, 0.8, 0.9, 0.95)
MOST = 3
"""Largest number of changes of a tool's conventions."""

OFTEN = {Measure.parse(text).name for text in outside_runs.MEASURES}
"""Measures of which one convention changes where the measure is not known; of others none does."""

ANOTHER_DEPTH = 1.5
"""Cost of another cut-off, in changes: more than one, since the published text names it."""

ROUNDING = 1e-7
"""Error of a mean of float32 values, which decides digits as the exact value would."""

NEIGHBOURS = 200
"""Numbers around the published one that show how often any number matches."""

WEAK = 0.05
"""Share of the numbers around from which a match of changed conventions says too little."""

LETOR_ROW = re.compile(r"\s*\S+\s+\w+:")
"""Start of a row: its label, then a query or a feature."""

NEAREST = 10
"""Rows of conventions that do not match."""

NAMED = 4
"""Other matching conventions in the sentence."""

DEFAULTS = "Shuffleproof"
HABITS: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]] = {
    "trec_eval": (("trec_eval", {"topics": "answered"}), ("trec_eval -c", {})),
    "letor3": (("letor3", {"over": "folds"}),),
    "letor4": (("letor4", {"over": "folds"}),),
}
"""Starts of a bundle, where its program has habits besides those of its measures."""

Choices: TypeAlias = dict[str, Any]
Scores = Float32[np.ndarray, " candidates"]


class Around(NamedTuple):
    """Choices of an evaluation around the measure; the defaults are those of Shuffleproof."""

    topics: str = "judged"
    kept: Any = "all"
    grades: Any = "as judged"
    over: str = "queries"


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run, or one fold of it: judged documents, and the retrieved ones in the file's order."""

    dataset: RankingDataset
    lists: CandidateLists
    scores: Float64[np.ndarray, " candidates"]

    @cached_property
    def by_ties(self) -> Mapping[str, Scores]:
        """Scores by treatment of ties; `trec` needs ids of documents."""
        orders = {
            "averaged": outside_runs.as_ranked(self.lists, self.scores),
            "row": outside_runs.in_order(self.lists, self.scores, np.arange(len(self.scores))),
        }
        with suppress(DataError):
            places = document_order(self.dataset).places[self.lists.rows]
            orders["trec"] = outside_runs.in_order(self.lists, self.scores, places)
        return orders

    def under(
        self, ties: str, kept: Any, grades: Any
    ) -> tuple[RankingDataset, CandidateLists, Scores]:
        """Judged documents, lists and scores under choices of `_choices`."""
        dataset, lists, scores = self.dataset, self.lists, self.by_ties[ties]
        if kept != Around().kept:
            depth, order = kept
            by = self.by_ties["row" if order == "line" else ties]
            inside = np.empty(len(scores), dtype=bool)
            # Averaged ties are cut by line
            inside[ragged.order_within(lists.offsets, -by)] = (
                ragged.places_of(lists.offsets) < depth
            )
            lists, scores = restrict(lists, inside), scores[inside]
        if grades != Around().grades:
            lowest, binary = grades
            high = np.float32(1) if binary else dataset.labels
            # Negative grades say that a document is not judged, and stay
            labels = np.where(dataset.labels >= lowest, high, np.minimum(dataset.labels, 0))
            dataset = replace(dataset, labels=labels.astype(np.float32), fingerprint="")
        return dataset, lists, scores


def folds_of(runs: Sequence[Path], qrels: Sequence[Path]) -> tuple[list[JudgedRun], bool]:
    """Runs with their judgments, or scores with their LETOR rows; several are folds.

    Returns:
        The folds, and True if the judgments are LETOR files.

    Raises:
        UsageError: not one judgments file, nor one for each run.
        DataError: a malformed or empty file, or a run without judged documents.
    """
    of_letor, shared = _is_letor(qrels[0]), len(qrels) < len(runs)
    if len(qrels) != len(runs) and (of_letor or len(qrels) > 1):
        files = f"{counted(len(qrels), 'file')} of judgments for {counted(len(runs), 'run')}"
        raise UsageError(f"{files}: name one for each run{'' if of_letor else ', or a single one'}")
    pairs = zip(runs, [*qrels] * len(runs) if shared else qrels, strict=True)
    if of_letor:
        return [_letor_fold(run, judged) for run, judged in pairs], True
    return [_trec_fold(run, judged, shared=shared) for run, judged in pairs], False


def _is_letor(path: Path) -> bool:
    """True if the first row has a query or a feature in its second column."""
    form = f"A line reads: {trec.QRELS_FORM}, or LETOR's: label qid:1 1:0.5."
    _, line = next(text_lines(path, str(path), Limits(), form))
    return LETOR_ROW.match(line) is not None


def _letor_fold(run: Path, judged: Path) -> JudgedRun:
    table = LetorTable(MissingCells.ZERO)
    for _ in table.adding(judged, groups=group_file(judged)):
        pass
    dataset = table.to_dataset().dataset
    scores = FileScores.read(str(run), dataset).scores
    return JudgedRun(dataset, CandidateLists.all_documents(dataset), scores.astype(float))


def _trec_fold(run: Path, judged: Path, *, shared: bool) -> JudgedRun:
    grades, read = trec.read_qrels(judged), trec.read_run(run)
    outside_runs.check_judged(run, read, judged, grades)
    if shared:  # topics of other folds are not missing
        grades = {topic: grades[topic] for topic in grades if topic in read.scores}
    whole = outside_runs.judge_runs(grades, {"run": read})
    return JudgedRun(whole.dataset, whole.lists["run"], whole.scores["run"])


class PublishedCell(NamedTuple):
    """A published number.

    Attributes:
        text: the number as printed.
        measure: text of its measure, whose conventions stay; empty: not known.
        value: the number.
        digits: digits after the point.
    """

    text: str
    measure: str
    value: float
    digits: int

    @classmethod
    def of(cls, text: str, measure: str = "") -> "PublishedCell":
        """Cell of texts.

        Raises:
            ParameterError, UnknownNameError: no decimal number, or no measure.

        >>> cell = PublishedCell.of(".2294", "ndcg_cut_10")
        >>> cell.measure, cell.matches(0.22944), cell.matches(0.22946), cell.matches(0.2295)
        ('NDCG@10', 'rounded', 'truncated', '')
        """
        try:
            value = numerals.number(text)
        except ValueError:
            wanted = "a decimal number with the digits as printed, like .2294"
            raise ParameterError("--value", text, wanted) from None
        if measure:
            # A table that prints nDCG or ndcg_cut says nothing about its gain
            plain = str(Measure.parse(measure).under(gain=Measure("NDCG").gain))
            measure = measure if "(" in measure else plain
        digits = -int(Decimal(text.strip()).as_tuple().exponent)
        return cls(text, measure, value, max(digits, 0))

    @property
    def heading(self) -> str:
        """Measure without conventions; empty if it is not known."""
        return Measure.parse(self.measure).without_conventions if self.measure else ""

    def matches(self, value: float) -> str:
        """`rounded` or `truncated` if that gives the printed digits, else empty."""
        difference, unit = value - self.value, 10.0**-self.digits
        if abs(difference) <= unit / 2 + ROUNDING:
            return "rounded"
        return "truncated" if -ROUNDING <= difference < unit - ROUNDING else ""


def cells_of(
    value: str | None = None, measure: str | None = None, values: str | None = None
) -> list[PublishedCell]:
    """Published numbers of `--value` and `--measure`, or of `--values`.

    Raises:
        UsageError: neither, or both.
        ParameterError, UnknownNameError: no number, or no measure.

    >>> [(cell.measure, cell.text) for cell in cells_of(values="ndcg@1=.36,P(relevant=2)@5=.2")]
    [('NDCG@1', '.36'), ('P(relevant=2)@5', '.2')]
    """
    if (value is None) == (values is None) or (measure and values is not None):
        raise UsageError(
            "no single number, nor several: give --value .2294 (and --measure ndcg@10), or "
            "--values ndcg@1=.36,ndcg@10=.2294"
        )
    if value is not None:
        return [PublishedCell.of(value, measure or "")]
    pairs = [part.rpartition("=") for part in parts_of(values or "")]
    if not pairs or not all(name for name, *_ in pairs):
        raise ParameterError("--values", values, "MEASURE=NUMBER,…, like ndcg@1=.36,ndcg@10=.2294")
    return [PublishedCell.of(text.strip(), name.strip()) for name, _, text in pairs]


class Convention(NamedTuple):
    """A convention to try, and its outcome.

    Attributes:
        tool: the start with the fewest changes.
        changes: changed choices in words.
        cost: number of changes; another cut-off counts ANOTHER_DEPTH.
        measures: one per cell.
        around: choices around the measures.
        means: one per cell, in its scale.
        digits: one per cell, as `PublishedCell.matches` has it.
        away: differences from the published numbers, in units of their last digits.
        same: names of other tools whose own conventions give the same means.
    """

    tool: str
    changes: tuple[str, ...]
    cost: float
    measures: tuple[Measure, ...]
    around: Around
    means: tuple[float, ...] = ()
    digits: tuple[str, ...] = ()
    away: tuple[float, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """True if every cell has the published digits."""
        return all(self.digits)

    @property
    def worst_cell(self) -> int:
        """Place of the cell with the largest difference."""
        return int(np.argmax(np.abs(self.away)))

    @property
    def name(self) -> str:
        """Tool and changes."""
        return ", ".join((self.tool, *self.changes))


def search(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool
) -> tuple[list[Convention], int]:
    """Try the conventions on a run.

    Args:
        cells: published numbers of the same run.
        folds: the run, or its folds.
        of_letor: True for scores of LETOR rows, whose tools are tried first.

    Returns:
        Conventions of different means: those that match, simplest first, then the nearest; and the
        number of those tried.

    >>> grades, bounds = np.array([0, 1, 2], np.float32), np.array([0, 3])
    >>> judged = RankingDataset(np.zeros((3, 0), np.float32), grades, bounds, ("1",), ())
    >>> run = JudgedRun(judged, CandidateLists.all_documents(judged), np.array([3.0, 2.0, 1.0]))
    >>> (first, *_), _ = search([PublishedCell.of(".6199", "ndcg@10")], [run], of_letor=False)
    >>> first.name, str(first.measures[0])
    ('trec_eval', 'NDCG(gain=linear)@10')
    """
    tried = sorted(_conventions(cells, folds, of_letor=of_letor), key=attrgetter("cost"))
    groups: dict[tuple[float, ...], list[Convention]] = defaultdict(list)
    for one in _with_means(cells, folds, tried):
        # Different kernels may round the same mean differently
        groups[tuple(round(mean, 7) for mean in one.means)].append(one)
    rows = [
        first._replace(same=tuple(dict.fromkeys(
            one.name for one in rest if not one.cost and one.name != first.name
        )))
        for first, *rest in groups.values()
    ]  # fmt: skip
    rows.sort(key=lambda row: 0.0 if row.matches else max(map(abs, row.away)))
    return rows, len(tried)


def _chance(away: Sequence[Sequence[float]]) -> float:
    """Least share of the numbers around a published one that a mean rounds or truncates to.

    >>> _chance([[0.2], [7.7], [5000.0]]) == 3 / 201
    True
    """
    shares = []
    for column in zip(*away, strict=True):
        printed = {*np.floor(column), *np.rint(column)}
        near = [one for one in printed if abs(one) <= NEIGHBOURS / 2]
        shares.append(len(near) / (NEIGHBOURS + 1))
    return min(shares)


def _conventions(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool
) -> list[Convention]:
    """Every convention of few changes, once; tools with the same conventions are all named."""
    every, found, seen = _choices(folds), list[Convention](), set[Any]()
    highest = max(float(fold.dataset.labels.max(initial=0)) for fold in folds)
    for texts, depth in _measures(cells):
        measures = [Measure.parse(text) for text in texts]
        alternatives, most = _alternatives(measures, every), 0 if depth else MOST
        if not cells[0].measure:
            most = int(measures[0].name in OFTEN)
            if measures[0].name == "ERR" and highest > LARGEST_GRADE:
                continue
            if measures[0].is_function:  # expected values over ties are slow
                alternatives["ties"] = alternatives["ties"][1:]
        starts = _starts(alternatives, of_letor=of_letor)
        for tool, changed, choices in _changed(starts, alternatives, most):
            around = Around(**{at: choices.pop(at) for at in Around._fields if at in choices})
            conventions = tuple(choices.items())
            key = tuple(_parsed(text, conventions) for text in texts), around
            if not changed or key not in seen:
                changes = (*depth, *(_in_words(name, value) for name, value in changed.items()))
                cost = len(changed) + ANOTHER_DEPTH * len(depth)
                found.append(Convention(tool, changes, cost, *key))
            seen.add(key)
    return found


@cache
def _parsed(text: str, conventions: tuple[tuple[str, Any], ...]) -> Measure:
    return Measure.parse(text, dict(conventions))


def _measures(
    cells: Sequence[PublishedCell],
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Texts of the cells' measures: the published ones, then one at another cut-off, and which."""
    stated = tuple(cell.measure for cell in cells)
    if not stated[0]:
        for name, entry in MEASURES.items():
            for cut in ("", *(f"@{depth}" for depth in DEPTHS)) if entry.cut else ("",):
                yield (name + cut,), ()
        return
    yield stated, ()
    for place, text in enumerate(stated):
        measure, name = Measure.parse(text), re.sub(r"\s*@.*", "", text)
        near = {measure.cutoff - 1, measure.cutoff + 1} if measure.cutoff else set()
        for depth in sorted({*DEPTHS, *near} - {measure.cutoff, 0}) if measure.entry.cut else ():
            other = f"{name}@{depth}"
            heading = Measure.parse(other).without_conventions
            yield (*stated[:place], other, *stated[place + 1 :]), (heading,)


def _starts(
    alternatives: Mapping[str, Sequence[Any]], *, of_letor: bool
) -> list[tuple[str, Choices]]:
    """Choices of every tool by its name, the usual tools of such files first."""
    first = ("letor4", "letor3") if of_letor else (outside_runs.CONVENTIONS,)
    usual = {field.name: field.default for field in parameters(Measure)} | Around()._asdict()
    starts = []
    for bundle in dict.fromkeys((*first, DEFAULTS, *BUNDLES)):
        conventions = BUNDLES[bundle].conventions if bundle in BUNDLES else {}
        for name, habits in HABITS.get(bundle, ((bundle, {}),)):
            wanted = {**usual, **conventions, **habits}
            pairs = ((choice, wanted[choice], values) for choice, values in alternatives.items())
            choices = {choice: own if own in values else values[0] for choice, own, values in pairs}
            starts.append((name, choices))
    return starts


def _changed(
    starts: Sequence[tuple[str, Choices]], alternatives: Mapping[str, Sequence[Any]], most: int
) -> Iterator[tuple[str, Choices, Choices]]:
    """Tool, changed choices and all choices, fewest changes first."""
    for changes in range(most + 1):
        for (tool, start), names in product(starts, combinations(alternatives, changes)):
            others = [[one for one in alternatives[name] if one != start[name]] for name in names]
            for values in product(*others):
                changed = dict(zip(names, values, strict=True))
                yield tool, changed, start | changed


def _in_words(name: str, value: Any) -> str:
    """Changed choice in words.

    >>> _in_words("gain", "exp2"), _in_words("kept", (100, "ties")), _in_words("grades", (2, True))
    ('gain=exp2', 'first 100 documents', 'grades from 2 on are 1')
    """
    if name == "kept":
        depth, order = value
        return f"first {depth} {'lines' if order == 'line' else 'documents'}"
    if name == "grades":
        lowest, binary = value
        return f"grades from {lowest} on are 1" if binary else f"grades below {lowest} are 0"
    words = {"judged": "missing topics count 0", "answered": "missing topics left out"}
    words |= {"queries": "mean of queries", "folds": "mean of folds"}
    return words[value] if name in Around._fields else f"{name}={value}"


def _choices(folds: Sequence[JudgedRun]) -> dict[str, tuple[Any, ...]]:
    """Values of every choice that a run leaves open; others have no effect on it."""
    grades = {int(one) for fold in folds for one in np.unique(fold.dataset.labels) if one > 0}
    highest, levels = max(grades, default=1), tuple(sorted(grades))[:MOST_GRADES] or (1,)
    choices: dict[str, tuple[Any, ...]] = {
        field.name: tuple(field.choices) for field in parameters(Measure) if field.choices
    }
    choices["empty"] = ("zero", "one", "skip")  # NaN is no published number
    choices["ties"] = min((tuple(fold.by_ties) for fold in folds), key=len)
    if highest > LARGEST_SUM:
        choices["gain"] = ("linear",)
    choices["relevant"], choices["p"] = levels, PERSISTENCES
    choices["top_grade"] = tuple(sorted({highest, max(highest, Measure("ERR").top_grade)}))
    lengths = np.concatenate([fold.lists.lengths for fold in folds])
    tied = {depth for fold in folds for depth in _tied_at(fold)}
    choices["kept"] = tuple(
        (depth, order)
        for depth in range(1, max(KEPT) + 1)
        for order in ("ties", "line")
        if depth < lengths.max(initial=0) and (order == "ties" or depth in tied)
    )
    if not lengths.all():
        choices["topics"] = ("judged", "answered")
    binary, floors = ([(level, one) for level in levels] for one in (True, False))
    if highest > 1:
        choices["grades"] = (Around().grades, *binary, *floors[1:])
    if len(folds) > 1:
        choices["over"] = ("queries", "folds")
    return choices


def _alternatives(
    measures: Sequence[Measure], choices: Mapping[str, tuple[Any, ...]]
) -> dict[str, tuple[Any, ...]]:
    """Choices that measures have, with those around them."""
    own = {name for measure in measures for name in measure.entry.conventions} | {*Around._fields}
    if all("relevant" in measure.entry.conventions for measure in measures):
        own -= {"grades"}  # the threshold says it already
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
    depths = {depth for depth in (*KEPT, *cutoffs) if depth >= max(cutoffs, default=1)}
    kept = (cut for cut in choices["kept"] if cut[0] in depths)
    found = {name: values for name, values in choices.items() if name in own}
    return found | {"kept": (Around().kept, *kept)}


def _tied_at(run: JudgedRun) -> set[int]:
    """Depths at which a cut would part tied documents."""
    offsets, scores = run.lists.offsets, run.scores
    falling = scores[ragged.order_within(offsets, -scores)]
    parted = np.flatnonzero(falling[1:] == falling[:-1]) + 1
    return set(ragged.places_of(offsets)[parted].tolist())  # 0 where a list ends: nothing is cut


def _with_means(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], tried: Sequence[Convention]
) -> Iterator[Convention]:
    """The conventions with their means.

    Values have neither `ties` nor `empty`: ties are in the scores, and the value of a query without
    relevant documents is filled in.
    """
    values = _values(folds, tried)
    answered = [fold.lists.lengths > 0 for fold in folds]

    @cache
    def mean(measure: Measure, around: Around) -> float:
        filled = values[_kernel(measure, around)]
        if "empty" in measure.entry.conventions:
            filled = [convert_empty(one, np.isnan(one), measure.empty) for one in filled]
        if around.topics == "answered":
            filled = [one[own] for one, own in zip(filled, answered, strict=True)]
        pooled = filled if around.over == "folds" else [np.concatenate(filled)]
        return float(np.mean([mean_of(measure, values) for values in pooled]))

    for one in tried:
        plain = zip((mean(measure, one.around) for measure in one.measures), cells, strict=True)
        # A number above 1 of a mean below it is in percent
        means = [mean * (100 if cell.value > 1 >= abs(mean) else 1) for mean, cell in plain]
        pairs = list(zip(means, cells, strict=True))
        digits = tuple(cell.matches(mean) for mean, cell in pairs)
        away = tuple((mean - cell.value) * 10.0**cell.digits for mean, cell in pairs)
        yield one._replace(means=tuple(means), digits=digits, away=away)


def _values(
    folds: Sequence[JudgedRun], tried: Sequence[Convention]
) -> dict[Any, list[Float32[np.ndarray, " queries"]]]:
    """Values of every kernel for every fold; each measures a list once."""
    measures: dict[Any, dict[Measure, None]] = defaultdict(dict)
    for one in tried:
        for place, measure in (_kernel(measure, one.around) for measure in one.measures):
            measures[place][measure] = None
    found = defaultdict(list)
    for fold, (place, of_place) in product(folds, measures.items()):
        values = evaluate([*of_place], *fold.under(*place))
        for measure, of_measure in zip(of_place, values, strict=True):
            found[place, measure].append(of_measure)
    return found


@cache
def _kernel(measure: Measure, around: Around) -> tuple[Any, Measure]:
    """Place of a measure's values, and the measure that has them."""
    place = measure.ties, around.kept, around.grades
    return place, measure.under(ties="averaged", empty="skip")


def answer_of(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool = False
) -> dict[str, Any]:
    """Answer of `which`: the finding, the rows, and how many conventions were tried."""
    rows, tried = search(cells, folds, of_letor=of_letor)
    best, numbers = rows[0], listed([cell.text for cell in cells])
    chance = _chance([row.away for row in rows if row.cost <= best.cost]) if best.matches else 0.0
    # Changed conventions that many numbers would match say too little
    matches = best.matches and (not best.cost or chance <= WEAK)
    if matches:
        finding = f"{numbers} {'is' if len(cells) == 1 else 'are'} {_in_sentence(cells, best)}."
    elif best.matches:
        simplest = _in_sentence(cells, best)
        finding = f"No simple convention gives {numbers}. The simplest that does: {simplest}."
    else:
        cell, mean = cells[best.worst_cell], best.means[best.worst_cell]
        away = number(mean - cell.value, f"+.{cell.digits + 1}f")
        finding = f"None of {counted(tried, 'convention')} gives {numbers}. "
        finding += f"The nearest, {best.name}, differs by {away}."
    matching = [row for row in rows if row.matches]
    return {
        "finding": finding,
        "notes": notes(cells, matching, chance),
        "matches": matches,
        "tried": tried,
        "chance": chance,
        "rows": [_row(cells, row) for row in rows[: len(matching) + NEAREST]],
    }


def answer_of_stored(
    result: StudyResult, study: Path, run: str, cells: Sequence[PublishedCell]
) -> dict[str, Any]:
    """Answer for a run of a stored comparison in the folder `study`.

    Raises:
        DataError: the comparison was stored without its documents.
    """
    dataset, arrays = judged_by(study, result.query_ids)
    lists = CandidateLists.unranked(arrays[f"offsets/{run}"], arrays[f"rows/{run}"])
    return answer_of(cells, [JudgedRun(dataset, lists, arrays[f"scores/{run}"])])


def _row(cells: Sequence[PublishedCell], row: Convention) -> dict[str, Any]:
    """Values of a convention; `value` and `difference` are those of the worst cell."""
    usual = BUNDLES[outside_runs.CONVENTIONS].conventions
    return {
        "convention": ",".join(measure.text_under({}, usual) for measure in row.measures),
        "name": row.name,
        "value": row.means[row.worst_cell],
        "difference": row.means[row.worst_cell] - cells[row.worst_cell].value,
        "matches": row.matches,
        "digits": " and ".join(dict.fromkeys(digits or "no" for digits in row.digits)),
        "values": list(row.means),
        "changes": row.cost,
        "same": list(row.same),
        **{
            name: choice if isinstance(choice, str) else " ".join(map(str, choice))
            for name, choice in row.around._asdict().items()
        },
    }


def _in_sentence(cells: Sequence[PublishedCell], best: Convention) -> str:
    """Measures, tool and changes of a convention that matches."""
    names = [measure.without_conventions for measure in best.measures]
    measures = [
        f"{name} (not {cell.heading})" if cell.heading not in {"", name} else name
        for name, cell in zip(names, cells, strict=True)
    ]
    changes = [change for change in best.changes if change not in names]
    tool = f"{best.tool} with {listed(changes)}" if changes else best.tool
    cut = ", truncated" * ("truncated" in best.digits)
    return f"{listed(measures)} by {tool}{cut}"


def notes(
    cells: Sequence[PublishedCell], matching: Sequence[Convention], chance: float
) -> list[str]:
    """Sentences on other conventions that match, on matches by chance, and on other measures."""
    if not matching:
        known = len(cells) == 1 and cells[0].measure
        return ["Leave out --measure to try every measure."] if known else []
    names = [name for row in matching for name in (row.name, *row.same)]
    others = list(dict.fromkeys(names[1:]))
    sentences = []
    if others:
        rest = len(others) - NAMED
        named = others if rest <= 0 else [*others[:NAMED], f"{rest} more"]
        sentences.append(f"Also matching: {listed(named)}.")
    if chance > WEAK:
        numbers = listed([cell.text for cell in cells])
        share = percent(chance)
        sentences.append(f"Weak evidence: {share} of the numbers near {numbers} match as simply.")
    return sentences


def table_of(cells: Sequence[PublishedCell], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Table of an answer's rows, with a column for each published number."""
    means = [
        Column(f"value {at}", cell.heading or "Mean", f".{cell.digits + 2}f")
        for at, cell in enumerate(cells)
    ]
    columns = (
        Column("name", "Convention"), *means,
        Column("digits", "Match", help="The mean rounds to the published digits, or is cut."),
        Column("convention", "Measure"),
    )  # fmt: skip
    values = [(row["name"], *row["values"], row["digits"], row["convention"]) for row in rows]
    frame = pd.DataFrame(values, columns=keys(columns))
    return Table(frame, columns, "Conventions by their distance")
