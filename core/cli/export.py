"""The command that writes stored things to files: results, runs, judgments, data."""

import argparse
from pathlib import Path

from core.cli.answer import Answer
from core.cli.open import done, store_of, workbench_of
from core.cli.work import report
from core.data import letor_write, trec
from core.data.catalogue import resolve
from core.errors import UsageError
from core.rankers import registry
from core.store.manifest import Artefact
from core.studies.result import stored_summary

NAMES = frozenset(name.partition(":")[0] for name in registry.RANKERS)
ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".gz": "letor", ".csv": "csv",
    ".parquet": "parquet", ".tex": "latex", ".html": "html", ".json": "json",
}  # fmt: skip


def export(arguments: argparse.Namespace) -> Answer:
    """`export`: a study's numbers, a ranker's run, a data set's judgments or LETOR text."""
    chosen = arguments.format or ENDINGS.get(arguments.out.suffix)
    if chosen is None:
        raise UsageError(f"the ending {arguments.out.suffix!r} names no format; add --format")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if chosen in {"qrels", "letor"}:
        _data(arguments, chosen)
    elif chosen == "run":
        _run(arguments)
    else:
        _study(store_of(arguments).resolve(arguments.what, "study"), chosen, arguments.out)
    size = arguments.out.stat().st_size
    told = {"part": arguments.part} if chosen in {"qrels", "letor", "run"} else {}
    return Answer({"out": str(arguments.out), "bytes": size, **told})


def _data(arguments: argparse.Namespace, chosen: str) -> None:
    part = getattr(resolve(arguments.what, store_of(arguments)), arguments.part)
    if chosen == "qrels":
        trec.write_qrels(arguments.out, part)
    else:
        letor_write.write(part, arguments.out)


def _run(arguments: argparse.Namespace) -> None:
    bench = workbench_of(arguments)
    if arguments.what.partition("@")[0].partition(":")[0] in NAMES:
        ranker = done(arguments.what, bench.trained(arguments.what)).ranker
    else:
        ranker = registry.load(store_of(arguments).resolve(arguments.what, "ranker").path)
    judged = getattr(bench.prepared, arguments.part)
    scores = ranker.score(judged.dataset, judged.lists)
    trec.write_run(arguments.out, judged.dataset, judged.lists, scores, tag=ranker.name)


def _study(artefact: Artefact, chosen: str, out: Path) -> None:
    summary = stored_summary(artefact.path)
    if chosen == "csv":
        summary.to_csv(out, index=False)
    elif chosen == "parquet":
        summary.to_parquet(out, index=False)
    elif chosen == "latex":
        out.write_text(summary.to_latex(index=False, float_format="%.4f", escape=True))
    elif chosen == "json":
        summary.to_json(out, orient="records")
    else:
        report([artefact], out)
