"""Aggregators by name: from preferences that may contradict each other to one order.

Each entry states its cost, source, proven bounds, treatment of ties, randomness, and whether the
order depends on the numbering of the items (up to ties).
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.aggregate import kernels, scores
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.oracle import Judge, Oracle, PaidPairs
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.parameters import CheckedParameters, parameter
from shuffleproof.core.seeds import generator

RUNS = 10  # Orders drawn by Multi-QuickSort and, of pairs, by reciprocal rank fusion
WINDOW = 4  # Heads of each run that compete in Fuzzy-Merge
FUSION = 60  # k of reciprocal rank fusion
Order = Int64[np.ndarray, " items"]
Rankings = Float32[np.ndarray, "rankers items"]


@dataclass(frozen=True)
class Task:
    """Input of an aggregator.

    Attributes:
        known: what was paid for.
        seed: of what is drawn.
        top: ranks that are wanted; the order below them may be any.
        rankings: the rankings that the preferences are of, where they are.
        runs: orders that are drawn by who draws several.
    """

    known: PaidPairs
    seed: int
    top: int
    rankings: Rankings | None = None
    runs: int = RUNS

    def random_order(self, run: int) -> Order:
        """The items in an order drawn for a run."""
        return _random_order(self.seed, run, self.known.items).copy()


@lru_cache(maxsize=4096)
def _random_order(seed: int, run: int, items: int) -> Order:
    """Items in a random order of a run."""
    return generator(seed, "aggregate", run).permutation(items)


@dataclass(frozen=True)
class Aggregator:
    """A way from the preferences of a query to an order.

    Attributes:
        name: in commands.
        title: for people.
        summary: what it does, in a sentence.
        complexity: time for n items.
        source: where it is from.
        bound: what is proven of its answer; empty: nothing.
        calls: pairs that it needs.
        ties: what settles them.
        random: whether it draws.
        equivariant: whether another numbering of the items gives the same order, ties apart.
        adaptive: whether it reads pairs as it goes; others read them all.
        order: the order of a task.
    """

    name: str
    title: str
    summary: str
    complexity: str
    source: str
    bound: str
    calls: str
    ties: str
    random: bool
    equivariant: bool
    adaptive: bool
    order: Callable[[Task], Order]


@dataclass(frozen=True)
class Terms(CheckedParameters):
    """On what terms an order is made."""

    calls: int | None = parameter(None, "largest number of asked pairs; None: no limit", low=0)
    seed: int = parameter(0, "of random pivots, and of the pairs that a budget buys")
    top: int | None = parameter(None, "ranks that are wanted; None: all", low=1)
    runs: int = parameter(RUNS, "orders that are drawn by who draws several", low=1)

    def task(self, known: PaidPairs, rankings: Rankings | None) -> Task:
        """Input of the aggregator on these terms."""
        top = known.items if self.top is None else min(self.top, known.items)
        return Task(known, self.seed, top, rankings, self.runs)


@dataclass(frozen=True)
class Aggregation:
    """An order that an aggregator made.

    Attributes:
        order: items, the best first.
        calls: number of asked pairs.
        unanswered: wanted pairs without an answer.
        following: pairs that it would ask next, which the budget does not buy.
    """

    order: Order
    calls: int
    unanswered: int
    following: Int64[np.ndarray, "pairs 2"] = field(default_factory=lambda: np.zeros((0, 2), int))

    @property
    def complete(self) -> bool:
        """True if the budget was enough for all wanted pairs."""
        return not len(self.following)


def aggregate(
    name: str, pairs: Pairs, terms: Terms | None = None, rankings: Rankings | None = None
) -> Aggregation:
    """The order that an aggregator makes of stored preferences.

    Args:
        name: of the aggregator.
        pairs: the preferences of a query.
        terms: budget, seed and depth.
        rankings: those that the preferences are of, where they are.

    Raises:
        UnknownNameError: no aggregator has that name.

    >>> f = np.array([[np.nan, 0.9, 0.8], [0.1, np.nan, 0.3], [0.2, 0.7, np.nan]])
    >>> aggregate("goa", Pairs(f, np.ones((3, 3)))).order.tolist()
    [0, 2, 1]
    """
    aggregator, terms = aggregator_named(name), terms or Terms()
    if terms.calls is not None:
        steps = order_by_asking(
            name, PaidPairs.nothing(pairs.items, weigh=pairs.weigh), terms, rankings
        )
        return order_by_judge(steps, Oracle(pairs))
    known = PaidPairs.all_of(pairs.weights, weigh=pairs.weigh)
    order = aggregator.order(terms.task(known, rankings))
    missing = pairs.items * (pairs.items - 1) // 2 - pairs.count
    if not aggregator.adaptive:
        return Aggregation(order, pairs.count, missing)
    missing = int((known.read & np.isnan(pairs.weights)).sum()) if missing else 0
    return Aggregation(order, int(known.pairs[0]) - missing, missing)


def order_by_asking(
    name: str, known: PaidPairs, terms: Terms, rankings: Rankings | None = None
) -> Generator[np.ndarray, np.ndarray, Aggregation]:
    """Yield the pairs that an aggregator wants, take their answers, return its order.

    Args:
        name: of the aggregator.
        known: pairs that were paid before and cost nothing; newly paid pairs are added.
        terms: budget, seed and depth.
        rankings: those that the preferences are of, where they are.
    """
    aggregator = aggregator_named(name)
    budget = known.items**2 if terms.calls is None else terms.calls
    task = terms.task(known, rankings)
    count = unanswered = 0
    while True:
        if aggregator.adaptive:
            aggregator.order(task)
            couples = known.unpaid()
        else:
            couples = np.argwhere(np.triu(~known.paid, 1))
            couples = generator(terms.seed, "aggregate", "pairs").permutation(couples)
        following = couples
        couples = couples[: budget - count]
        if not len(couples):
            break
        answers = yield couples
        known.put(couples, answers)
        unanswered += int(np.isnan(answers).any(axis=1).sum())
        count += len(couples)
    known.paid[:] = True  # What the budget did not buy counts as a pair without an answer
    return Aggregation(aggregator.order(task), count, unanswered, following)


def order_by_judge(
    steps: Generator[np.ndarray, np.ndarray, Aggregation], judge: Judge
) -> Aggregation:
    """The order of an aggregator; every pair that it wants is put to a judge."""
    try:
        couples = next(steps)
        while True:
            couples = steps.send(judge(couples))
    except StopIteration as stop:
        return stop.value


def aggregator_named(name: str) -> Aggregator:
    """The aggregator of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in AGGREGATORS:
        raise UnknownNameError("aggregator", name, AGGREGATORS)
    return AGGREGATORS[name]


def _by_score(score: Callable[[scores.Weights], scores.Scores]) -> Callable[[Task], Order]:
    """Items by falling score."""
    return lambda task: scores.by_falling_score(score(task.known.weights))


def _bradley_terry(task: Task) -> Order:
    return scores.by_falling_score(scores.bradley_terry(task.known.means).round(scores.DIGITS))


def _quicksort(task: Task, run: int = 0) -> Order:
    return kernels.quicksort(*task.known.arrays, task.random_order(run), task.top)


def _ranks_of_runs(task: Task) -> Sequence[Order]:
    """Ranks of the items in several runs."""
    return [np.argsort(_quicksort(task, run)) for run in range(task.runs)]


def _multi_quicksort(task: Task) -> Order:
    return np.argsort(np.sum(_ranks_of_runs(task), axis=0), kind="stable")


def _fused_order(task: Task) -> Order:
    if task.rankings is None:
        ranks = np.array(_ranks_of_runs(task), float)
    else:
        is_ranked = np.isfinite(task.rankings)
        table = np.where(is_ranked, task.rankings, -np.inf)
        # 0-based rank: items with a higher score
        above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
        ranks = np.where(is_ranked, above, np.inf)
    return scores.by_falling_score((1.0 / (FUSION + 1.0 + ranks)).sum(axis=0).round(12))


def _from_row_order(
    kernel: Callable[..., Order], setting: Callable[[Task], int]
) -> Callable[[Task], Order]:
    """A kernel that starts at the order of the rows."""

    def order(task: Task) -> Order:
        return kernel(*task.known.arrays, np.arange(task.known.items), setting(task))

    return order


_ALL, _ROW, _SORTED = "all, n(n − 1)/2", "by row", "about 1.39 n log₂ n"
_COHEN = "Cohen, Schapire & Singer: Learning to Order Things. JAIR 10, 1999"
_AILON = "Ailon & Mohri: Preference-based learning to rank. Machine Learning 80, 2010"
_DWORK = "Dwork, Kumar, Naor & Sivakumar: Rank aggregation methods for the Web. WWW 2001"

_ENTRIES = (
    Aggregator(
        "goa", "Greedy order", "the item of the largest potential first, then of those left",
        "O(n²)", _COHEN, "agreement with the preferences ≥ ½ of the best order's", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False,
        order=lambda task: kernels.goa(kernels.margins(task.known.weights)),
    ),
    Aggregator(
        "gain", "Gain", "items by the first round's potentials of the greedy order",
        "O(n²)", _COHEN, "", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False, order=_by_score(scores.gain),
    ),
    Aggregator(
        "sop", "Sum of preferences", "items by Σ f(i, j) / (f(i, j) + f(j, i))",
        "O(n²)",
        "Coppersmith, Fleischer & Rudra: Ordering by weighted number of wins gives a good ranking "
        "for weighted tournaments. SODA 2006",
        "loss ≤ 5 times the least where f(i, j) + f(j, i) = 1", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False, order=_by_score(scores.sum_of_preferences),
    ),
    Aggregator(
        "quicksort", "QuickSort", "quicksort with pivots drawn at random",
        "O(n log n), O(n + k log k) for the top k", _AILON,
        "expected loss ≤ 2 times the best order's, where f(i, j) + f(j, i) = 1; ≤ 1 time the "
        "preferences' for two grades",
        _SORTED, _ROW, random=True, equivariant=False, adaptive=True, order=_quicksort,
    ),
    Aggregator(
        "multi-quicksort", "Multi-QuickSort", f"mean ranks over {RUNS} runs of QuickSort",
        "O(r n log n) for r runs", _AILON, "",
        f"at most those of {RUNS} QuickSorts, each pair once", _ROW,
        random=True, equivariant=False, adaptive=True, order=_multi_quicksort,
    ),
    Aggregator(
        "fuzzy-merge", "Fuzzy-Merge",
        f"merge sort whose next item has the largest potential among {WINDOW} heads of each run",
        "O(n w² log n) for w heads",
        "a definition of our own; one head is merge sort, n heads the greedy order",
        "", "O(n w log n)", _ROW,
        random=False, equivariant=False, adaptive=True,
        order=_from_row_order(kernels.fuzzy_merge, lambda _: WINDOW),
    ),
    Aggregator(
        "borda", "Borda", "items by the mean share of votes that they win where they were compared",
        "O(n²)", "de Borda: Mémoire sur les élections au scrutin. 1781", "", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False,
        order=lambda task: scores.by_falling_score(scores.borda(task.known.means)),
    ),
    Aggregator(
        "copeland", "Copeland", "items by how many they beat less how many beat them",
        "O(n²)", "Copeland: A 'reasonable' social welfare function. 1951", "", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False, order=_by_score(scores.copeland),
    ),
    Aggregator(
        "kemeny", "Kemeny", "the order that contradicts the preferences least",
        "O(2ⁿ n) to n = 20 a component, local search and a lower bound above",
        "Kemeny: Mathematics without numbers. Daedalus 88, 1959; Grötschel, Jünger & Reinelt: A "
        "cutting plane algorithm for the linear ordering problem. Operations Research 32, 1984",
        "loss is the least, or has a lower bound", _ALL, "by row, or the search's",
        random=False, equivariant=False, adaptive=False,
        order=lambda task: kemeny(task.known.weights).order,
    ),
    Aggregator(
        "mc4", "MC4", "items by the stationary share of a walk that moves to majority winners",
        "O(n³)", _DWORK, "", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False, order=_by_score(scores.mc4),
    ),
    Aggregator(
        "bradley-terry", "Bradley–Terry",
        "items by strengths whose odds are likeliest, a win and a loss against strength 1 given",
        "O(n²) a step", "Newman: Efficient computation of rankings from pairwise comparisons. "
        "JMLR 24, 2023", "", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False, order=_bradley_terry,
    ),
    Aggregator(
        "rrf", "Reciprocal rank fusion",
        f"items by Σ 1/({FUSION} + rank) over the rankings, or over {RUNS} QuickSorts of pairs",
        "O(r n log n) for r rankings",
        "Cormack, Clarke & Büttcher: Reciprocal rank fusion. SIGIR 2009", "",
        f"at most those of {RUNS} QuickSorts; none of rankings", _ROW,
        random=True, equivariant=False, adaptive=True, order=_fused_order,
    ),
    Aggregator(
        "scc-greedy", "Components, greedy",
        "strongly connected components of the majority in order, each by the greedy order",
        "O(n²)", _COHEN, "agreement ≥ ½ of the best order's", _ALL, _ROW,
        random=False, equivariant=True, adaptive=False,
        order=lambda task: scores.by_components(task.known.weights),
    ),
    Aggregator(
        "heap-top-k", "Heap", "the top k from a heap, the others as given",
        "O(n + k log n)", "Qin et al.: Large language models are effective text rankers with "
        "pairwise ranking prompting. NAACL findings 2024", "", "2n + 2k log₂ n at most", _ROW,
        random=False, equivariant=False, adaptive=True,
        order=_from_row_order(kernels.heap_top, lambda task: task.top),
    ),
    Aggregator(
        "sliding-window", "Sliding window", "k passes from the bottom up that exchange neighbours",
        "O(k n)", "Qin et al.: Large language models are effective text rankers with pairwise "
        "ranking prompting. NAACL findings 2024", "", "k n at most, each pair once",
        "the order given stays",
        random=False, equivariant=False, adaptive=True,
        order=_from_row_order(kernels.sliding_windows, lambda task: task.top),
    ),
)  # fmt: skip
AGGREGATORS: Mapping[str, Aggregator] = {entry.name: entry for entry in _ENTRIES}
