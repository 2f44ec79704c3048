"""Conventions that reproduce a published mean of a run, the simplest first.

A convention here is a measure with its own conventions, and the choices of an evaluation around it:
the topics that count, the documents that are read, the meaning of grades, the mean over folds.
Known tools (`BUNDLES`) and the defaults are the starts. Every convention that changes few choices
of one of them is tried; each kernel measures every list once.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import MEASURES, TERMS, Measure
from shuffleproof.core.metrics.relevance import (
    LARGEST_GRADE,
    LARGEST_SUM,
    convert_empty,
    document_order,
    evaluate,
    mean_of,
)
from shuffleproof.core.numerals import number
from shuffleproof.core.parameters import parameters, parts_of
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.kinds.benchmark.outside_runs import as_ranked, in_order

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

DEFAULTS = "Shuffleproof"
HABITS: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]] = {
    "trec_eval": (("trec_eval", {"topics": "answered"}), ("trec_eval -c", {})),
    "letor3": (("letor3", {"over": "folds"}),),
    "letor4": (("letor4", {"over": "folds"}),),
}
"""Starts of a bundle, where its program has habits besides those of its measures."""

AROUND = {"topics": "judged", "kept": "all", "grades": "as judged", "over": "queries"}
"""Choices of an evaluation around the measure, as Shuffleproof has them."""

Choices: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class JudgedRun:
    """One run, or one fold of it.

    Attributes:
        dataset: judged documents.
        lists: retrieved documents of each query, in the order of the file.
        scores: one per candidate.
    """

    dataset: RankingDataset
    lists: CandidateLists
    scores: Float64[np.ndarray, " candidates"]


@dataclass(frozen=True)
class PublishedCell:
    """A published number.

    Attributes:
        text: the number as printed.
        measure: None if it is not known.
        stated: conventions that the measure's text fixes.
    """

    text: str
    measure: Measure | None = None
    stated: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, measure: str | None = None) -> "PublishedCell":
        """Cell of texts.

        Raises:
            ParameterError, UnknownNameError: no decimal number, or no measure.

        >>> cell = PublishedCell.of(".2294", "NDCG(gain=linear)@10")
        >>> cell.measure, cell.stated, cell.matches(0.22944), cell.matches(0.22946)
        (Measure('NDCG(gain=linear)@10'), frozenset({'gain'}), 'rounded', 'truncated')
        """
        try:
            number(text)
        except ValueError:
            wanted = "a decimal number with the digits as printed, like .2294"
            raise ParameterError("--value", text, wanted) from None
        if measure is None:
            return cls(text)
        return cls(text, Measure.parse(measure), _stated(measure))

    @property
    def value(self) -> float:
        """The number."""
        return number(self.text)

    @property
    def digits(self) -> int:
        """Digits after the point."""
        return max(-int(Decimal(self.text.strip()).as_tuple().exponent), 0)

    def matches(self, value: float) -> str:
        """`rounded` or `truncated` if that gives the printed digits, else empty."""
        difference, unit = value - self.value, 10.0**-self.digits
        if abs(difference) <= unit / 2 + ROUNDING:
            return "rounded"
        return "truncated" if -ROUNDING <= difference < unit - ROUNDING else ""


def cells_of(text: str) -> list[PublishedCell]:
    """Cells of a row of a table.

    Raises:
        ParameterError, UnknownNameError: not of the form MEASURE=NUMBER,…

    >>> [(str(cell.measure), cell.text) for cell in cells_of("ndcg@1=.36,P(relevant=2)@5=.2")]
    [('NDCG@1', '.36'), ('P(relevant=2)@5', '.2')]
    """
    pairs = [part.rpartition("=") for part in parts_of(text)]
    if not pairs or not all(measure for measure, *_ in pairs):
        raise ParameterError("--values", text, "MEASURE=NUMBER,…, like ndcg@1=.36,ndcg@10=.2294")
    return [PublishedCell.of(value.strip(), measure.strip()) for measure, _, value in pairs]


def _stated(text: str) -> frozenset[str]:
    """Conventions in the text of a measure."""
    return frozenset(
        TERMS.get(name.casefold(), name.casefold()) for name in re.findall(r"(\w+)\s*=", text)
    )


class Value(NamedTuple):
    """Mean of one cell under a convention; `matches` as `PublishedCell.matches` has it."""

    measure: Measure
    mean: float
    matches: str


class Trial(NamedTuple):
    """A convention to try.

    Attributes:
        tool: the start with the fewest changes.
        changes: changed choices in words.
        cost: number of changes; another cut-off counts ANOTHER_DEPTH.
        measures: one per cell.
        around: choices around the measures.
    """

    tool: str
    changes: tuple[str, ...]
    cost: float
    measures: tuple[Measure, ...]
    around: Choices


@dataclass(frozen=True)
class Convention:
    """A convention that was tried, with its means.

    Attributes:
        trial: the convention.
        values: its mean for every cell.
        same: names of other tools whose own conventions give the same means.
        others: number of further conventions with the same means.
    """

    trial: Trial
    values: tuple[Value, ...]
    same: tuple[str, ...] = ()
    others: int = 0

    @property
    def matches(self) -> bool:
        """True if every cell has the published digits."""
        return all(value.matches for value in self.values)

    @property
    def name(self) -> str:
        """Tool and changes."""
        return ", ".join((self.trial.tool, *self.trial.changes))


@dataclass(frozen=True)
class Search:
    """Outcome of a search.

    Attributes:
        rows: conventions of different means: those that match, simplest first; then the nearest.
        tried: number of conventions.
        chance: share of the numbers around a published one that conventions as simple as the
            first match give too; of several cells, the smallest.
    """

    rows: tuple[Convention, ...]
    tried: int
    chance: float = 0.0

    @property
    def matches(self) -> bool:
        """True if a tool's own conventions match, or changed ones that few numbers would match."""
        best = self.rows[0]
        return best.matches and (not best.trial.cost or self.chance <= WEAK)


def search(cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool) -> Search:
    """Try the conventions on a run.

    Args:
        cells: published numbers of the same run.
        folds: the run, or its folds.
        of_letor: True for scores of LETOR rows, whose tools are tried first.

    >>> grades, bounds = np.array([0, 1, 2], np.float32), np.array([0, 3])
    >>> judged = RankingDataset(np.zeros((3, 0), np.float32), grades, bounds, ("1",), ())
    >>> run = JudgedRun(judged, CandidateLists.all_documents(judged), np.array([3.0, 2.0, 1.0]))
    >>> first = search([PublishedCell.of(".6199", "ndcg@10")], [run], of_letor=False).rows[0]
    >>> first.name, str(first.values[0].measure)
    ('trec_eval', 'NDCG(gain=linear)@10')
    """
    trials = _trials(cells, folds, of_letor=of_letor)
    means = Means(folds, trials)
    rows = _distinct(
        [Convention(trial, means.of(trial, cells)) for trial in sorted(trials, key=_cost)]
    )
    away = np.array([
        [(value.mean - cell.value) * 10**cell.digits
         for value, cell in zip(row.values, cells, strict=True)]
        for row in rows
    ])  # fmt: skip
    order = np.argsort(np.abs(away).max(axis=1), kind="stable")
    matching = [row for row in rows if row.matches]
    if not matching:
        return Search(tuple(rows[at] for at in order), len(trials))
    simple = np.array([row.trial.cost <= matching[0].trial.cost for row in rows])
    others = [rows[at] for at in order if not rows[at].matches]
    return Search((*matching, *others), len(trials), _chance(away[simple]))


def _cost(trial: Trial) -> float:
    return trial.cost


def _chance(away: Float64[np.ndarray, "conventions cells"]) -> float:
    """Least share of the numbers around a published one that a mean rounds or truncates to.

    >>> _chance(np.array([[0.2], [7.7], [5000.0]])) == 3 / 201
    True
    """
    shares = []
    for column in away.T:
        printed = {*np.floor(column).tolist(), *np.rint(column).tolist()}
        near = [one for one in printed if abs(one) <= NEIGHBOURS / 2]
        shares.append(len(near) / (NEIGHBOURS + 1))
    return min(shares)


def _distinct(conventions: Sequence[Convention]) -> list[Convention]:
    """First convention of every set of means, with the names of other tools of the same means."""
    groups: dict[tuple[float, ...], list[Convention]] = defaultdict(list)
    for one in conventions:
        # Different kernels may round the same mean differently
        groups[tuple(round(value.mean, 7) for value in one.values)].append(one)
    return [
        replace(
            first,
            same=tuple(
                dict.fromkeys(
                    one.name for one in rest if not one.trial.cost and one.name != first.name
                )
            ),
            others=sum(one.trial.cost > 0 for one in rest),
        )
        for first, *rest in groups.values()
    ]


def _trials(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool
) -> list[Trial]:
    """Every convention of few changes, once."""
    trials: dict[Any, Trial] = {}
    facts = Facts(folds)
    stated = tuple(cell.stated for cell in cells)
    for bases, cost, words in _bases(cells):
        most = MOST if cells[0].measure else int(bases[0].name in OFTEN)
        alternatives = facts.alternatives(bases, stated)
        if not cells[0].measure:
            if bases[0].name == "ERR" and facts.highest > LARGEST_GRADE:
                continue
            if bases[0].is_function:
                # Expected values over ties are slow for functions
                alternatives["ties"] = alternatives["ties"][1:]
        starts = _starts(alternatives, of_letor=of_letor)
        for tool, changed, choices in _changed(starts, alternatives, 0 if cost else most):
            own = tuple((name, choices[name]) for name in choices if name not in AROUND)
            measures = _under(bases, stated, own)
            around = {name: choices.get(name, usual) for name, usual in AROUND.items()}
            changes = (*words, *(_in_words(name, choices[name]) for name in changed))
            trial = Trial(tool, changes, cost + len(changed), measures, around)
            # Tools with the same conventions are all named
            key = (measures, tuple(around.values()), "" if changed else tool)
            if key not in trials or trials[key].cost > trial.cost:
                trials[key] = trial
    return list(trials.values())


@cache
def _under(
    bases: tuple[Measure, ...],
    stated: tuple[frozenset[str], ...],
    conventions: tuple[tuple[str, Any], ...],
) -> tuple[Measure, ...]:
    """Measures under conventions, those in their texts aside."""
    return tuple(
        base.under(**{name: value for name, value in conventions if name not in fixed})
        for base, fixed in zip(bases, stated, strict=True)
    )


def _bases(
    cells: Sequence[PublishedCell],
) -> Iterator[tuple[tuple[Measure, ...], float, tuple[str, ...]]]:
    """Measures of the cells before conventions change, with their cost and their words."""
    stated = tuple(cell.measure for cell in cells if cell.measure)
    if not stated:
        for name, entry in MEASURES.items():
            yield (Measure(name),), 0.0, ()
            for depth in DEPTHS if entry.cut else ():
                yield (Measure(name, depth),), 0.0, ()
        return
    yield stated, 0.0, ()
    for place, measure in enumerate(stated):
        near = {measure.cutoff - 1, measure.cutoff + 1} if measure.cutoff else set()
        for depth in sorted({*DEPTHS, *near} - {measure.cutoff, 0}) if measure.entry.cut else ():
            other = replace(measure, cutoff=depth)
            words = (other.without_conventions,)
            yield (*stated[:place], other, *stated[place + 1 :]), ANOTHER_DEPTH, words


def _starts(
    alternatives: Mapping[str, Sequence[Any]], *, of_letor: bool
) -> list[tuple[str, Choices]]:
    """Choices of every tool by its name, the usual tools of such files first."""
    first = ("letor4", "letor3") if of_letor else (outside_runs.CONVENTIONS,)
    usual = {field.name: field.default for field in parameters(Measure)} | AROUND
    starts = []
    for bundle in dict.fromkeys((*first, DEFAULTS, *BUNDLES)):
        conventions = BUNDLES[bundle].conventions if bundle in BUNDLES else {}
        for name, habits in HABITS.get(bundle, ((bundle, {}),)):
            wanted = {**usual, **conventions, **habits}
            choices = {
                dimension: wanted[dimension] if wanted[dimension] in values else values[0]
                for dimension, values in alternatives.items()
            }
            starts.append((name, choices))
    return starts


def _changed(
    starts: Sequence[tuple[str, Choices]], alternatives: Mapping[str, Sequence[Any]], most: int
) -> Iterator[tuple[str, tuple[str, ...], Choices]]:
    """Tool, names of changed choices and all choices; fewest changes first, each once."""
    seen = set()
    for changes in range(most + 1):
        for (tool, start), changed in product(starts, combinations(alternatives, changes)):
            others = [[one for one in alternatives[name] if one != start[name]] for name in changed]
            for values in product(*others):
                choices = start | dict(zip(changed, values, strict=True))
                key = tuple(choices.values())
                if not changes or key not in seen:
                    yield tool, changed, choices
                seen.add(key)


def _in_words(name: str, value: Any) -> str:
    """Changed choice in words.

    >>> _in_words("gain", "exp2"), _in_words("kept", (100, "ties")), _in_words("grades", (2, True))
    ('gain=exp2', 'first 100 documents', 'grades from 2 on are 1')
    """
    if name == "kept" and value != AROUND[name]:
        depth, order = value
        return f"first {depth} {'lines' if order == 'line' else 'documents'}"
    if name == "grades" and value != AROUND[name]:
        lowest, binary = value
        return f"grades from {lowest} on are 1" if binary else f"grades below {lowest} are 0"
    words = {
        "topics": {"judged": "missing topics count 0", "answered": "missing topics left out"},
        "over": {"queries": "mean of queries", "folds": "mean of folds"},
        "kept": {"all": "all documents"},
    }
    return words[name][value] if name in words else f"{name}={value}"


class Facts:
    """Choices that a run leaves open: others have no effect on it."""

    def __init__(self, folds: Sequence[JudgedRun]) -> None:
        self._grades = sorted(
            {int(grade) for fold in folds for grade in np.unique(fold.dataset.labels) if grade > 0}
        ) or [1]
        self.highest = self._grades[-1]
        lengths = [fold.lists.lengths for fold in folds]
        self._longest = max(int(length.max(initial=0)) for length in lengths)
        self._missing = any((length == 0).any() for length in lengths)
        self._folds = len(folds)
        self._tied_at = {depth for fold in folds for depth in _tied_at(fold)}
        self._named = all(_has_ids(fold.dataset) for fold in folds)

    def alternatives(
        self, measures: Sequence[Measure], stated: Sequence[frozenset[str]]
    ) -> dict[str, tuple[Any, ...]]:
        """Values of every choice that these measures have; `stated` are not changed."""
        highest = self.highest
        own = {
            name
            for measure, fixed in zip(measures, stated, strict=True)
            for name in measure.entry.conventions
            if name not in fixed
        }
        fields = {field.name: field.choices for field in parameters(Measure) if field.choices}
        fields["empty"] = ("zero", "one", "skip")  # NaN is no published number
        fields["ties"] = fields["ties"] if self._named else ("averaged", "row")
        fields["gain"] = fields["gain"] if highest <= LARGEST_SUM else ("linear",)
        levels = tuple(self._grades[:MOST_GRADES])
        found: dict[str, tuple[Any, ...]] = {
            **{name: tuple(values) for name, values in fields.items()},
            "relevant": levels,
            "top_grade": tuple(sorted({highest, max(highest, Measure("ERR").top_grade)})),
            "p": PERSISTENCES,
        }
        found = {name: found[name] for name in found if name in own}
        if self._missing:
            found["topics"] = ("judged", "answered")
        cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
        lowest = max(cutoffs, default=1)
        depths = [depth for depth in sorted({*KEPT, *cutoffs}) if lowest <= depth < self._longest]
        cuts = [(depth, order) for depth in depths for order in self._orders_of(depth)]
        found["kept"] = (AROUND["kept"], *cuts)
        if highest > 1 and any("relevant" not in m.entry.conventions for m in measures):
            binary = [(level, True) for level in levels]
            floors = [(level, False) for level in levels[1:]]
            found["grades"] = (AROUND["grades"], *binary, *floors)
        if self._folds > 1:
            found["over"] = ("queries", "folds")
        return found

    def _orders_of(self, depth: int) -> tuple[str, ...]:
        """Orders of a cut: with ties as the measure has them, or by line before them."""
        return ("ties", "line") if depth in self._tied_at else ("ties",)


def _tied_at(run: JudgedRun) -> set[int]:
    """Depths at which a cut would part tied documents."""
    offsets, scores = run.lists.offsets, run.scores
    falling = scores[ragged.order_within(offsets, -scores)]
    parted = np.flatnonzero(falling[1:] == falling[:-1]) + 1
    depths = ragged.places_of(offsets)[parted]
    return set(depths.tolist())  # 0 where a list ends, at which nothing is cut


def _has_ids(dataset: RankingDataset) -> bool:
    try:
        document_order(dataset)
    except DataError:
        return False
    return True


class Means:
    """Means of conventions; every kernel measures a list once.

    Values are computed without `ties` and `empty`: ties are in the scores, and the value of a query
    without relevant documents is filled in.
    """

    def __init__(self, folds: Sequence[JudgedRun], trials: Sequence[Trial]) -> None:
        self._folds = [_Fold(fold) for fold in folds]
        needed: dict[Any, dict[Measure, None]] = defaultdict(dict)
        for trial in trials:
            for measure in trial.measures:
                place, kernel = _kernel(measure, trial.around)
                needed[place][kernel] = None
        self._values: dict[Any, list[Float32[np.ndarray, " queries"]]] = {}
        for place, kernels in needed.items():
            of_folds = [fold.evaluate(list(kernels), *place) for fold in self._folds]
            for at, kernel in enumerate(kernels):
                self._values[place, kernel] = [values[at] for values in of_folds]
        self._means: dict[Any, float] = {}

    def of(self, trial: Trial, cells: Sequence[PublishedCell]) -> tuple[Value, ...]:
        """Means of a convention, in the scale of the cells."""
        values = []
        for measure, cell in zip(trial.measures, cells, strict=True):
            mean = self._mean(measure, trial.around)
            # Published in percent
            mean *= 100 if cell.value > 1 >= abs(mean) else 1
            values.append(Value(measure, mean, cell.matches(mean)))
        return tuple(values)

    def _mean(self, measure: Measure, around: Choices) -> float:
        key = (measure, *around.values())
        if key not in self._means:
            filled = []
            for fold, values in zip(
                self._folds, self._values[_kernel(measure, around)], strict=True
            ):
                of_fold = values
                if "empty" in measure.entry.conventions:
                    of_fold = convert_empty(values, np.isnan(values), measure.empty)
                filled.append(of_fold[fold.answered] if around["topics"] == "answered" else of_fold)
            pooled = filled if around["over"] == "folds" else [np.concatenate(filled)]
            self._means[key] = float(np.mean([mean_of(measure, values) for values in pooled]))
        return self._means[key]


def _kernel(measure: Measure, around: Choices) -> tuple[Any, Measure]:
    """Place of a measure's values, and the measure that has them."""
    return (measure.ties, around["kept"], around["grades"]), _plain(measure)


@cache
def _plain(measure: Measure) -> Measure:
    return measure.under(ties="averaged", empty="skip")


class _Fold:
    """A run with other orders of ties, fewer documents and other grades."""

    def __init__(self, run: JudgedRun) -> None:
        self._run, self._orders = run, dict[str, Float32[np.ndarray, " candidates"]]()
        self.answered = run.lists.lengths > 0

    def evaluate(
        self, measures: Sequence[Measure], ties: str, kept: Any, grades: Any
    ) -> Float32[np.ndarray, "measures queries"]:
        """Values of every query under these choices."""
        dataset, lists, scores = self._run.dataset, self._run.lists, self._ordered(ties)
        if kept != AROUND["kept"]:
            depth, order = kept
            by = self._ordered("row" if order == "line" or ties == "averaged" else ties)
            inside = np.sort(
                ragged.order_within(lists.offsets, -by)[ragged.places_of(lists.offsets) < depth]
            )
            lengths = np.minimum(lists.lengths, depth)
            lists = CandidateLists.unranked(ragged.offsets_of(lengths), lists.rows[inside])
            scores = scores[inside]
        if grades != AROUND["grades"]:
            lowest, binary = grades
            labels = dataset.labels
            high = np.float32(1) if binary else labels
            # Negative grades are judged otherwise, and stay
            mapped = np.where(labels >= lowest, high, np.minimum(labels, 0))
            dataset = replace(dataset, labels=mapped.astype(np.float32), fingerprint="")
        return evaluate(measures, dataset, lists, scores)

    def _ordered(self, ties: str) -> Float32[np.ndarray, " candidates"]:
        """Scores that order ties; equal ones are left only if ties are averaged."""
        if ties not in self._orders:
            lists, scores = self._run.lists, self._run.scores
            if ties == "averaged":
                self._orders[ties] = as_ranked(lists, scores)
            else:
                lines = np.arange(len(scores))
                by_id = ties == "trec"
                order = document_order(self._run.dataset).places[lists.rows] if by_id else lines
                self._orders[ties] = in_order(lists, scores, order)
        return self._orders[ties]
