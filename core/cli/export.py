"""The command that writes stored things to files: results, runs, judgments, data."""

import argparse
import importlib
import os
import pkgutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from subprocess import run

from shuffleproof.core import bench as benchmarks
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import done, measures_of, one_fold, store_of, workbench_of
from shuffleproof.core.cli.studies import answer_of, text_of
from shuffleproof.core.data import catalogue, table_write, trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.data.table_write import WRITERS
from shuffleproof.core.errors import ArtefactError, DataError, UnknownNameError, UsageError
from shuffleproof.core.metrics.bundles import moved
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.ablation import sections as ablation_sections
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.benchmark import retrieved, sections
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.study import levels_of
from shuffleproof.core.studies.tables import DIGITS, Table, inferred
from shuffleproof.core.studies.workbench import Workbench

ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".gz": "letor", "": "letor", ".csv": "csv",
    ".parquet": "parquet", ".tex": "latex", ".md": "markdown", ".zip": "run", ".html": "html",
    ".json": "json",
}  # fmt: skip


def export(arguments: argparse.Namespace) -> Answer:
    """`export`: a study's numbers, a ranker's run, a data set's judgments or LETOR text."""
    chosen = arguments.format or ENDINGS.get(arguments.out.suffix)
    if chosen is None:
        raise UsageError(f"the ending {arguments.out.suffix!r} names no format; add --format")
    told, store = {}, store_of(arguments)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if chosen in {"qrels", "letor"} and is_benchmark(arguments.what, store):
        raise UsageError("runs and qrels of a benchmark come together: give a file ending in .zip")
    if chosen in {"qrels", "letor"} or (chosen in WRITERS and is_data(arguments.what, store)):
        _no_measures(arguments, "data has labels and no measures")
        told = {"part": write(arguments, chosen)}
    elif chosen in TABLE_FORMATS and (table := table_of(arguments.what, store)):
        view = view_of(arguments, table)
        write_table(table, chosen, store, arguments.out, view)
    elif arguments.out.suffix == ".zip":
        raise UsageError(
            "zips are written of benchmarks: give a file that ends in .csv, .parquet, .json, .tex, "
            ".md or .html"
        )
    elif chosen == "run":
        _no_measures(arguments, "a run has scores and no measures")
        told = {"part": _run(arguments)}
    else:
        _study(store.resolve(arguments.what, "study"), chosen, arguments)
    return Answer({"out": str(arguments.out), "bytes": _size(arguments.out), **told})


def _size(out: Path) -> int:
    written = [out / name for name in FILES.values()] if out.is_dir() else [out]
    return sum(path.stat().st_size for path in written)


def _run(arguments: argparse.Namespace) -> str:
    part = str(arguments.part or "test")
    if part == ALL:
        raise UsageError("a run is of one part: --part train, valid or test")
    bench = workbench_of(arguments)
    name = RankerName.of(arguments.what)
    if name.parts or name.digits or name.feature is not None or name.base in registry.RANKERS:
        ranker = done(arguments.what, bench.trained(arguments.what)).ranker
    else:
        ranker = registry.load(store_of(arguments).resolve(arguments.what, "ranker").path)
    judged = getattr(bench.prepared, part)
    scores = ranker.score(judged.dataset, judged.lists)
    trec.write_run(arguments.out, judged.dataset, judged.lists, scores, tag=ranker.name)
    return part


def _study(artefact: Artefact, chosen: str, arguments: argparse.Namespace) -> None:
    """Write a study's numbers, or its report; under other measures where the flags name any."""
    if chosen == "html":
        _no_measures(arguments, "a report is drawn of the study's own measures")
        report([artefact], arguments.out)
        return
    view = view_of(arguments, artefact)
    summary = StudyResult.open(artefact.path).summarised(view.measures)
    table = inferred(summary, str(artefact.key), SUMMARY)
    written(table, chosen, arguments.out, view.digits)


def _no_measures(arguments: argparse.Namespace, why: str) -> None:
    """Refuse flags that what is written has no use for.

    Raises:
        UsageError: --measures or --conventions was given.
    """
    if arguments.measures or arguments.conventions:
        raise UsageError(f"{why}: leave out --measures and --conventions")


ALL = "all"
FILES = {"train": "train.txt", "valid": "vali.txt", "test": "test.txt"}


def is_data(what: str, store: Store) -> bool:
    """Whether a text names a data set: a stored one, the sample, or files."""
    named = store.names().get(what) or store.names().get(f"{what}-fold1")
    if named is not None:
        return named.kind == catalogue.KIND
    return what == catalogue.SAMPLE or what.startswith("data-") or Path(what).exists()


def write(arguments: argparse.Namespace, chosen: str) -> str:
    """Write a data set in a format; the part that was written, or `all`.

    A table takes all parts unless --part names one, with a column that says which. LETOR text
    takes all parts as a folder of train.txt, vali.txt and test.txt, which `ingest` reads back;
    a single file of text or judgments holds the test part unless --part says otherwise.

    Raises:
        UsageError: all parts as LETOR text in one file.
    """
    store, out = store_of(arguments), arguments.out
    fold = catalogue.resolve(one_fold(arguments.what, store), store)
    part = arguments.part or (ALL if chosen in table_write.WRITERS or is_folder(out) else "test")
    parts: dict[str, RankingDataset] = {
        name: getattr(fold, name) for name in FILES if part in {name, ALL}
    }
    if chosen in table_write.WRITERS:
        table_write.WRITERS[chosen](parts, out)
    elif chosen == "qrels":
        trec.write_qrels(out, *parts.values())
    elif part != ALL:
        letor_write.write(parts[part], out)
    elif not is_folder(out):
        raise UsageError(f"all parts go into a folder: name one instead of {out.name}")
    else:
        out.mkdir(parents=True, exist_ok=True)
        for name, dataset in parts.items():
            letor_write.write(dataset, out / FILES[name])
    return str(part)


def is_folder(out: Path) -> bool:
    """Whether a path that is written to means a folder."""
    return out.is_dir() or not out.suffix


DEMO = ("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init")
FAMILY = "transpositions"
DRAWS = 10
PERMUTATIONS = 20


def bench(arguments: argparse.Namespace) -> Answer:
    """`bench`: every job's rows; a ratio below its floor makes the exit code 1."""
    jobs = _jobs()
    chosen = arguments.jobs or list(jobs)
    unknown = [name for name in chosen if name not in jobs]
    if unknown:
        raise UnknownNameError("bench job", unknown[0], jobs)
    rows: list[BenchRow] = []
    for name in chosen:
        start = time.perf_counter()
        rows += jobs[name](arguments.quick)
        warn(f"{name}: {time.perf_counter() - start:.0f} s")
    missed = [row for row in rows if row.floor and row.ratio and row.ratio < row.floor]
    return Answer([asdict(row) for row in rows], exit_code=1 if missed else 0)


def _jobs() -> dict[str, Callable[[bool], list[BenchRow]]]:
    found: dict[str, Callable[[bool], list[BenchRow]]] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__, f"{benchmarks.__name__}."):
        found |= getattr(importlib.import_module(module.name), "JOBS", {})
    return found


def demo(arguments: argparse.Namespace) -> Answer:
    """`demo`: train four rankers on the sample set, Figure 3, certificates, one HTML report."""
    start = time.perf_counter()
    store = Store(arguments.store) if arguments.store else Store(store_of(arguments).root)
    workbench = done("lists", Workbench.opened("sample", store=store))
    for name in DEMO:
        done(name, workbench.trained(name))
    figure, cards = _studies(workbench, DEMO)
    report([cards, figure], arguments.out)
    took = f"{time.perf_counter() - start:.0f} s; report: {arguments.out}"
    if not arguments.json:
        return Answer({}, f"{text_of(cards)}\n{text_of(figure)}\n{took}")
    answer = {
        "certificates": answer_of(cards)["certificates"],
        "summary": answer_of(figure)["summary"],
        "report": str(arguments.out),
        "seconds": time.perf_counter() - start,
    }
    return Answer(answer)


def _studies(workbench: Workbench, rankers: tuple[str, ...]) -> tuple[Artefact, Artefact]:
    pairs = tuple((FAMILY, level) for level in levels_of(FAMILY))
    figure = done(
        "Figure 3", RankingDegradation(rankers, pairs, ("NDCG@10",), DRAWS).run(workbench)
    )
    cards = done("certificates", Invariance(rankers, PERMUTATIONS).run(workbench))
    return figure, cards


def report(studies: list[Artefact], out: Path) -> None:
    """Write stored studies as one self-contained HTML file, drawn by the app's figures.

    Raises:
        DataError: the report's process failed.
    """
    paths = [str(study.path) for study in studies]
    command = [sys.executable, "-m", "shuffleproof.app.report", *paths, str(out)]
    finished = run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise DataError(
            str(out), f"the report could not be written ({finished.stderr[-500:].strip()})",
            "Mend what it names, or export .csv, .json, .parquet or .tex instead.",
        )  # fmt: skip


def app(arguments: argparse.Namespace) -> Answer:
    """`app`: become the dashboard's server."""
    home = Path(__file__).resolve().parents[2]
    if not (home / "app" / "server.py").is_file():
        raise UsageError(
            f"the dashboard is not installed beside the core (no app in {home}): "
            "install the whole project, or start it from its folder"
        )
    command = [sys.executable, "-m", "shuffleproof.app.server"]
    command += [f"--host={arguments.host}", f"--port={arguments.port}"]
    if arguments.allow_host:
        command += ["--allow-host", *arguments.allow_host]
    if arguments.base_path:
        command.append(f"--base-path={arguments.base_path}")
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    environment["SHUFFLEPROOF_HOME"] = str(store_of(arguments).root.resolve())  # before the chdir
    warn(f"Shuffleproof opens on http://{arguments.host}:{arguments.port} (Ctrl+C ends it)")
    os.chdir(home)
    os.execve(sys.executable, command, environment)  # noqa: S606 (signals reach the server itself)


TABLE_ENDINGS = {
    "latex": "tex",
    "markdown": "md",
    "csv": "csv",
    "parquet": "parquet",
    "json": "json",
}
"""How the files of a table's formats end."""

TABLE_FORMATS = frozenset({*TABLE_ENDINGS, "run"})
"""What such a study has a form of its own for."""


def table_of(what: str, store: Store) -> Artefact | None:
    """The stored benchmark or ablation that a key names; None where it names something else."""
    try:
        found = store.resolve(what, "study")
    except ArtefactError:
        return None
    return found if found.recipe["kind"] in {benchmark.KIND, ablation.KIND} else None


def is_benchmark(what: str, store: Store) -> bool:
    """Whether a key names a stored benchmark."""
    found = table_of(what, store)
    return found is not None and found.recipe["kind"] == benchmark.KIND


def view_of(arguments: argparse.Namespace, study: Artefact) -> View:
    """What the flags of `export` say of a study's tables."""
    measures: Sequence[str] = ()
    if arguments.measures:
        measures = measures_of(arguments)
    elif arguments.conventions:
        measures = [moved(text, arguments.conventions) for text in study.recipe["measures"]]
    return View(
        measures,
        arguments.digits or DIGITS,
        list(dict.fromkeys(parts_of(arguments.against))),
        arguments.test,
        benchmark_table.SYMBOLS[arguments.marks],
    )


def write_table(artefact: Artefact, chosen: str, store: Store, out: Path, view: View) -> None:
    """Write a study in one of FORMATS.

    Args:
        artefact: a benchmark or an ablation.
        chosen: one of FORMATS.
        store: where a benchmark's data is.
        out: the file.
        view: how its table is to be shown.

    Raises:
        UsageError: runs of an ablation, or runs into another file than a zip.
        UnknownNameError: a baseline that is no row.
        DataError: runs are wanted and the data is not stored any more.
    """
    if chosen == "run":
        if artefact.recipe["kind"] != benchmark.KIND or out.suffix != ".zip":
            raise UsageError("a benchmark has many runs: give a file that ends in .zip")
        if "runs" in artefact.recipe:
            raise UsageError(
                "these runs came from files: use those, nothing of them is written again"
            )
        folds = retrieved.made_on(artefact.facts, store)
        retrieved.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    if artefact.recipe["kind"] == ablation.KIND:
        if view.measures:
            raise UsageError(
                f"an ablation's table has its own columns, under {ablation.MEASURE}: leave out "
                "--measures and --conventions"
            )
        table = Table(ablation_sections.table(result), ablation_sections.COLUMNS, str(artefact.key))
        written(table, chosen, out, view.digits)
        return
    measures = list(view.measures or result.measures)
    result = benchmark_table.with_measures(result, artefact.path, measures, store)
    rows = benchmark_table.rankers_of(result)
    baselines = [name for name in view.baselines or () if name != INITIAL or name in rows]
    how = (measures, baselines, view.test, view.symbols)
    if TABLE_ENDINGS[chosen] in table_text.EXACT:
        frame = benchmark_table.numbers(result, *how)
        out.write_bytes(table_text.exact(frame, TABLE_ENDINGS[chosen]))
        return
    written(sections.table(result, *how, digits=view.digits), chosen, out, view.digits)


def written(table: Table, chosen: str, out: Path, digits: int = DIGITS) -> None:
    """Write a table: CSV, Parquet and JSON exact, LaTeX and Markdown for people."""
    out.write_bytes(table_text.written(table, TABLE_ENDINGS[chosen], digits))
