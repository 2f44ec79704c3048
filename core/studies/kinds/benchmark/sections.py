"""A benchmark, told: differences, the table with its marks, mean ranks, the paper's rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from shuffleproof.core.studies.kinds.benchmark import finding as benchmark_finding
from shuffleproof.core.studies.kinds.benchmark import notes as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark import published as benchmark_published
from shuffleproof.core.studies.kinds.benchmark import ranks as benchmark_ranks
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Finding,
    Heading,
    Picture,
    Section,
    Sentence,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table

USUAL, ENDS = "NDCG@10", ("ideal", "random")


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measures = tuple(view.measures) or result.measures
    measure = USUAL if USUAL in measures else measures[-1]
    baselines = baselines_of(result, view)
    labels = benchmark_table.rankers_of(result)
    baseline = next(iter(baselines), labels[0])
    frame = benchmark_table.compared(result, measure, baseline, view.test)
    drawn = frame[~frame["ranker"].isin(ENDS)]
    yield Picture("benchmark", (drawn, baseline, measure))
    yield Finding(benchmark_finding.finding(result, measure))
    yield benchmark_text.table(
        result, measures, baselines, view.test, view.symbols, digits=view.digits
    )
    title = f"Is it more than chance? Differences of {measure} from {baseline}"
    columns = benchmark_table.comparison(baseline)
    yield Table(frame, columns, title, folded=True).without("group")
    found = benchmark_ranks.critical_difference(result, measure) if len(drawn) > 1 else None
    if found is not None and found.queries:
        places = [(str(name), float(place)) for name, place in found.ranks.items()]
        yield Picture("ranks", (places, found.cliques, found.difference))
    printed = benchmark_published.printed_for(result.facts)
    if printed is not None:
        yield Heading("As the paper printed it, not measured here")
        yield Sentence(benchmark_published.in_words(printed))
        yield Sentence(benchmark_published.warning(result.facts, measures))
        yield Table(benchmark_published.beside(result, printed), benchmark_published.COLUMNS, "")


def baselines_of(result: StudyResult, view: View) -> list[str]:
    """What the rows are marked against: what was asked for, as far as it is there."""
    asked: Sequence[str] = (INITIAL,) if view.baselines is None else view.baselines
    return [name for name in asked if name in benchmark_table.rankers_of(result)]


def answer(result: StudyResult, view: View) -> dict[str, Any]:
    """What the command answers in JSON: numbers, marks, comparisons and what stands under it."""
    measures, baselines = result.measures, baselines_of(result, view)
    how = (baselines, view.test, view.symbols)
    marked = benchmark_table.marks(result, measures, *how)
    means = benchmark_table.means(result, measures).merge(marked, "left", ["ranker", "measure"])
    compared = [
        benchmark_table.compared(result, measure, baseline, view.test).assign(
            against=baseline, measure=measure
        )
        for baseline in baselines
        for measure in measures
    ]
    printed = benchmark_published.printed_for(result.facts)
    said = benchmark_notes.table_notes(result, measures, *how)
    said += benchmark_notes.means_over_folds(result, measures, view.digits)
    if printed is not None:
        said += filter(None, [benchmark_published.warning(result.facts, measures)])
    return {
        "failed": dict(result.facts.get("failed", {})),
        "table": records(means.fillna({"marks": ""})),
        "test": view.test,
        "symbols": dict(zip(baselines, view.symbols, strict=False)),
        "comparisons": [row for frame in compared for row in records(frame)],
        "said": said,
        "published": []
        if printed is None
        else records(benchmark_published.beside(result, printed)),
    }
