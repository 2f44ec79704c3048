"""What stands under a benchmark's table: whose numbers, under which convention, and the marks.

Where columns differ in their convention or in the queries that they count, each says its own.
"""

from collections.abc import Sequence

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.tied import tied_in_words
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.query_values import rankers_of
from shuffleproof.core.studies.kinds.benchmark.run_commands import is_of_runs
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

CONVENTIONS = ("gain", "discount", "ideal", "empty", "ties", "relevant", "top_grade", "short")


def table_notes(
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str,
    symbols: str = LETTERS,
) -> list[str]:
    """Every line under the table.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with.
        test: a name of `core.studies.kinds.ranking_degradation.significance.TESTS`.
        symbols: the marks.
    """
    counts = {measure: counts_in_words(result, measure) for measure in measures}
    one_count = len(set(counts.values())) == 1
    alike: dict[str, list[str]] = {}
    for measure, head in zip(measures, heads(measures), strict=True):
        way = convention(measure)
        alike.setdefault(way if one_count else f"{counts[measure]} · {way}", []).append(head)
    bold = "best run" if is_of_runs(result.recipe) else "best of the trained rows"
    if len(alike) == 1:
        lines = [runs_in_words(result, measures[0]), f"{next(iter(alike))} · bold: {bold}"]
    else:
        first = [str(result.facts["data"]), counts[measures[0]] if one_count else ""]
        lines = [" · ".join(filter(None, [*first, _runs(result, measures[0])]))]
        lines += [f"{', '.join(own)}: {way}" for way, own in alike.items()]
        lines.append(f"Bold: {bold}")
    return [*lines, *marks_in_words(baselines, test, symbols), *remarks(result)]


def means_over_folds(result: StudyResult, measures: Sequence[str], digits: int) -> list[str]:
    """A line a column with means in which every fold counts alike; none with a single fold.

    Args:
        result: a benchmark.
        measures: the columns.
        digits: decimals.
    """
    if len(result.facts["folds"]) == 1:
        return []
    means = benchmark_table.means(result, measures)
    lines = []
    for measure, head in zip(measures, heads(measures), strict=True):
        own = means[means["measure"] == measure]
        pairs = zip(own["ranker"], own["mean_of_folds"], strict=True)
        told = ", ".join(f"{ranker} {mean:.{digits}f}" for ranker, mean in pairs)
        lines.append(f"{head}, mean over folds instead of queries: {told}")
    return lines


def convention(measure: str) -> str:
    """A measure's convention in words, without its name.

    >>> convention("RR(empty=skip)")
    'relevant: grade ≥ 1 · ideal: judged · no relevant: left out · ties: averaged'
    """
    return Measure.parse(measure).convention().partition(" · ")[2]


def heads(measures: Sequence[str]) -> list[str]:
    """The columns' heads: without their conventions, which a note says, where all share them.

    >>> heads(["NDCG(empty=one)@10", "RR(empty=one)"]), heads(["RR", "RR(relevant=2)"])
    (['NDCG@10', 'RR'], ['RR', 'RR(relevant=2)'])
    """
    parsed = [Measure.parse(measure) for measure in measures]
    for name in CONVENTIONS:
        if len({getattr(one, name) for one in parsed if name in one.entry.conventions}) > 1:
            return list(measures)
    return [one.name if one.cutoff is None else f"{one.name}@{one.cutoff}" for one in parsed]


def runs_in_words(result: StudyResult, measure: str) -> str:
    """What the means are over: the data, its queries, seeds and folds, and who ran once.

    Args:
        result: a benchmark.
        measure: a column; queries that it leaves out are not counted.
    """
    counts = counts_in_words(result, measure)
    return " · ".join([str(result.facts["data"]), counts, _runs(result, measure)])


def counts_in_words(result: StudyResult, measure: str) -> str:
    """How many queries a column's means are over, and what becomes of the others."""
    facts, means = result.facts, benchmark_table.means(result, [measure])
    count, folds = int(means["n"].max()), len(facts["folds"])
    text = f"N = {counted(count, 'query')}"
    if count < facts["queries"]:
        text += f" ({facts['queries'] - count} without relevant documents left out)"
    elif means["mean"].isna().all():
        text += " (means are undefined: some have no relevant document)"
    return f"{text} of {counted(folds, 'fold')}" if folds > 1 else text


def _runs(result: StudyResult, measure: str) -> str:
    means, folds = benchmark_table.means(result, [measure]), len(result.facts["folds"])
    most = int(means["runs"].max())
    if most == 1:
        return "1 run of each row"
    text = f"mean ± standard deviation of {_over(most // folds, folds)}"
    fewer = means.loc[means["runs"] < most, "runs"]
    if len(fewer) and int(fewer.max()) > 1:
        return f"{text}, of {_over(1, folds)} where the seed changes nothing"
    return f"{text} · rows without ±: 1 run" if len(fewer) else text


def _over(seeds: int, folds: int) -> str:
    """Seeds, folds or both, with how many runs that makes.

    >>> _over(3, 1), _over(1, 5), _over(3, 5)
    ('3 seeds', '5 folds', '3 seeds × 5 folds = 15 runs')
    """
    if folds == 1 or seeds == 1:
        return counted(seeds, "seed") if folds == 1 else counted(folds, "fold")
    return f"{counted(seeds, 'seed')} × {counted(folds, 'fold')} = {seeds * folds} runs"


def marks_in_words(baselines: Sequence[str], test: str, symbols: str = LETTERS) -> list[str]:
    """What the marks mean, in one line; none without a baseline.

    >>> marks_in_words(["mart"], "paired t")
    ['Marks: a above mart, (a) below, at p ≤ .05 (paired t, Holm over rows and measures)']
    """
    if not baselines:
        return []
    named = ", ".join(
        f"{mark} above {name}, ({mark}) below"
        for mark, name in zip(symbols, baselines, strict=False)
    )
    return [f"Marks: {named}, at p ≤ .05 ({test}, Holm over rows and measures)"]


def remarks(result: StudyResult) -> list[str]:
    """Rows that failed, with why, that read more initial rankings, or that tie many documents."""
    failed = result.facts.get("failed", {})
    lines = [f"{label} failed and is left out. {why}" for label, why in failed.items()]
    usual = set(result.facts.get("lists", {}).get("initial", ()))
    there = rankers_of(result)
    for label, initial in result.facts.get("wider", {}).items():
        if label in there:
            more = ", ".join(name for name in initial if name not in usual)
            lines.append(f"{label} reads, for the same candidates, the ranks by {more} too")
    return (
        lines if is_of_runs(result.recipe) else lines + tied_in_words(result.facts.get("tied", {}))
    )
