"""`python -m tests.bench [NAME ...]`: our speed next to public peers, measured in one run.

The exit status is 1 where a row is below its floor.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from tests.bench import (
    aggregation,
    gpu,
    letor,
    measures,
    networks,
    retrieval,
    start,
    studies,
    tasks,
    training,
)
from tests.bench.page import page_text, summary
from tests.bench.row import Row

BENCHMARKS: dict[str, Callable[..., Iterable[Row]]] = {
    "parse": letor.parse,
    "reopen": letor.reopen,
    "scaling": letor.scaling,
    "ndcg": measures.ndcg,
    "judged-table": measures.judged_table,
    "aggregation": aggregation.aggregation,
    "search": retrieval.search,
    "bm25": retrieval.bm25,
    "collection-memory": retrieval.collection_memory,
    "lambdamart": training.lambdamart,
    "ranksvm": training.ranksvm,
    "setrank-score": networks.setrank_score,
    "setrank-train": networks.setrank_train,
    "dlcm-train": networks.dlcm_train,
    "mixed-lengths": networks.mixed_lengths,
    "gpu": gpu.gpu,
    "figure3": studies.figure3,
    "tasks": tasks.tasks,
    "commands": start.commands,
    "page": start.page,
}


def main() -> int:
    """Run the named benchmarks, print their rows, write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="small sizes, no floors")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the rows to a page")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(BENCHMARKS)})")
    rows: list[Row] = []
    for name in arguments.names or BENCHMARKS:
        begun = time.perf_counter()
        for row in BENCHMARKS[name](quick=arguments.quick):
            rows.append(replace(row, floor=None) if arguments.quick else row)
            print(*(f"{key}={value}" for key, value in vars(rows[-1]).items()), sep="  ")
        print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        if arguments.page:  # a run that is stopped keeps what it measured
            arguments.page.write_text(page_text(rows, quick=arguments.quick), encoding="utf-8")
    print(summary(rows))
    return int(any(row.verdict == "**missed**" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
