"""The command that writes stored things to files: results, runs, judgments, data."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import (
    export_format,
    measures_of,
    one_fold,
    run_shown,
    store_of,
    workbench_of,
)
from shuffleproof.core.cli.studies import report, write_picture
from shuffleproof.core.data import catalogue, trec
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.frames import WRITERS
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.metrics.bundles import under_bundle
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.ablation import sections as ablation_sections
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.benchmark import query, sections
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.sections import View, tables_in
from shuffleproof.core.studies.tables import DIGITS, Table, infer_columns
from shuffleproof.core.studies.user_names import row_name

FIGURES = ("pdf", "svg", "png")
TITLES = {"markdown": "**{}**\n\n", "latex": ""}


def export(arguments: argparse.Namespace) -> Answer:
    """`export`: a study's numbers, a ranker's run, a data set's text, a collection's vectors."""
    chosen = export_format(arguments)
    if arguments.out is None:
        from shuffleproof.core.cli import retrieval  # noqa: PLC0415 (only of collections)

        return retrieval.export_collection(arguments, chosen)
    part, store, out = {}, store_of(arguments), arguments.out
    study, of_data = study_of(arguments.what, store), is_data(arguments.what, store)
    kind = study.recipe["kind"] if study else None
    _check_flags(arguments, chosen, kind, of_data=of_data)
    out.parent.mkdir(parents=True, exist_ok=True)
    of_others = {"qrels", "letor", "arrow", "jsonl"}
    if study and (chosen in of_others or (chosen == "run" and out.suffix != ".zip")):
        if kind == benchmark.KIND and chosen not in WRITERS:
            raise UsageError(
                "runs and qrels of a benchmark come together: give a file ending in .zip"
            )
        raise UsageError(
            f"{str(out)!r} is no file of a study: give one ending in .csv, .json, .tex, "
            ".md, .html or .pdf"
        )
    if chosen in {"qrels", "letor"} or (chosen in WRITERS and of_data):
        _no_measures(arguments, "data has labels and no measures")
        part = {"part": write(arguments, chosen)}
    elif (
        study
        and kind in {benchmark.KIND, Ablation.kind}
        and chosen in TABLE_FORMATS
        and not arguments.per_query
    ):
        write_table(study, chosen, store, out, view_of(arguments, study))
    elif out.suffix == ".zip":
        raise UsageError(
            "zips are written of benchmarks: give a file that ends in .csv, .parquet, .json, .tex, "
            ".md or .html"
        )
    elif chosen == "run":
        _no_measures(arguments, "a run has scores and no measures")
        part = {"part": _run(arguments)}
    else:
        _study(store.resolve(arguments.what, "study"), chosen, arguments)
    files = [out / name for name in FILES.values()] if out.is_dir() else [out]
    size = sum(path.stat().st_size for path in files)
    return Answer({"out": str(out), "bytes": size, **part})


def _run(arguments: argparse.Namespace) -> str:
    part = str(arguments.part or "test")
    if part == ALL:
        raise UsageError("a run is of one part: --part train, valid or test")
    workbench = workbench_of(arguments)
    name = RankerName.of(arguments.what)
    if name.parts or name.digits or name.feature is not None or name.base in registry.RANKERS:
        ranker = run_shown(arguments.what, workbench.train(arguments.what)).ranker
    else:
        ranker = registry.load(store_of(arguments).resolve(arguments.what, "ranker").path)
    judged = getattr(workbench.prepared, part)
    scores = ranker.score(judged.dataset, judged.lists)
    trec.write_run(arguments.out, judged.dataset, judged.lists, scores, tag=ranker.name)
    return part


def _study(artefact: Artefact, chosen: str, arguments: argparse.Namespace) -> None:
    """Write a study's figure, report, tables or values, under the measures that the flags name.

    CSV, Parquet and JSON hold the exact summary, or with --per-query every value; LaTeX and
    Markdown the tables that the terminal shows.
    """
    if chosen not in table_text.EXACT:
        study_kind(artefact.recipe)  # refuses a kind that was removed; its numbers are exported
    if chosen == "html":
        _no_measures(arguments, "a report is drawn of the study's own measures")
        report([artefact], arguments.out)
        return
    view = view_of(arguments, artefact)
    if chosen in FIGURES:
        how = {"number": arguments.figure or 1, "size": arguments.size, "format": chosen}
        how |= {"width": arguments.width or "", "caption": not arguments.no_caption}
        write_picture(artefact, arguments.out, how | {"measures": list(view.measures)})
        return
    result = StudyResult.open(artefact.path)
    if chosen in table_text.EXACT:
        frame_of = result.every_value if arguments.per_query else result.summary_under
        table = infer_columns(frame_of(view.measures), str(artefact.key), SUMMARY)
        write_table_file(table, chosen, arguments.out, view.digits)
        return
    shown = study_kind(artefact.recipe).telling().sections(result, view)
    text, title = table_text.WRITERS[TABLE_ENDINGS[chosen]], TITLES[chosen]
    tables = [title.format(table.title) + text(table, view.digits) for table in tables_in(shown)]
    arguments.out.write_text("\n".join(tables), encoding="utf-8")


def _check_flags(
    arguments: argparse.Namespace, chosen: str, kind: str | None, *, of_data: bool
) -> None:
    """Refuse flags of studies that what is written has no use for.

    Raises:
        UsageError: a flag with a file or with a stored thing that has no use for it.
    """
    if str(arguments.out) == "-":
        raise UsageError("an export is a file: name one (commands print JSON with --json)")
    for flag in ("width", "figure"):
        if getattr(arguments, flag) and chosen not in FIGURES:
            raise UsageError(
                f"--{flag} is of pictures: give a file that ends in .pdf, .svg or .png"
            )
    if arguments.per_query and chosen not in table_text.EXACT:
        raise UsageError("every query's value: give a file that ends in .csv, .parquet or .json")
    if arguments.per_query and of_data:
        raise UsageError("a data set has no values of queries: leave out --per-query")
    if chosen in {*FIGURES, "html"} and of_data:
        raise UsageError("a data set has no figures: name a study, or a file that ends in .csv")
    _check_benchmark_flags(arguments, chosen, kind)
    if arguments.part and kind:
        raise UsageError("--part is of a data set: a study has no parts, leave it out")


def _check_benchmark_flags(arguments: argparse.Namespace, chosen: str, kind: str | None) -> None:
    """Refuse --against, --test and --marks where no benchmark's table is written.

    Raises:
        UsageError: one was given, and the file or the study has no use for it.
    """
    marked = kind == benchmark.KIND
    if arguments.marks and (not marked or chosen not in TITLES):
        raise UsageError("--marks is of a benchmark's table: give a file that ends in .tex or .md")
    for flag in ("against", "test"):
        if getattr(arguments, flag) and not (
            marked and chosen in TABLE_ENDINGS and not arguments.per_query
        ):
            raise UsageError(
                f"--{flag} is of a benchmark's table: give a file that ends in .csv, .parquet, "
                ".json, .tex or .md, without --per-query"
            )


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
    part = arguments.part or (ALL if chosen in WRITERS or is_folder(out) else "test")
    parts: dict[str, RankingDataset] = {
        name: getattr(fold, name) for name in FILES if part in {name, ALL}
    }
    if chosen in WRITERS:
        WRITERS[chosen](parts, out)
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


TABLE_ENDINGS = {
    "latex": "tex",
    "markdown": "md",
    "csv": "csv",
    "parquet": "parquet",
    "json": "json",
}
"""How the files of a table's formats end."""

TABLE_FORMATS = frozenset({*TABLE_ENDINGS, "run"})
"""What benchmarks and ablations have a form of their own for."""


def study_of(what: str, store: Store) -> Artefact | None:
    """The stored study that a key names; None where it names something else."""
    try:
        return store.resolve(what, "study")
    except ArtefactError:
        return None


def view_of(arguments: argparse.Namespace, study: Artefact) -> View:
    """What the flags of `export` say of a study's tables."""
    measures: Sequence[str] = ()
    if arguments.measures:
        measures = measures_of(arguments)
    elif arguments.conventions:
        measures = [under_bundle(text, arguments.conventions) for text in study.recipe["measures"]]
    return View(
        measures,
        arguments.digits or DIGITS,
        list(dict.fromkeys(parts_of(arguments.against or INITIAL))),
        arguments.test or View.test,
        benchmark_table.SYMBOLS[arguments.marks or "letters"],
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
        folds = query.made_on(artefact.facts, store)
        query.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    if artefact.recipe["kind"] == Ablation.kind:
        if view.measures:
            raise UsageError(
                f"an ablation's table has its own columns, under {ablation.MEASURE}: leave out "
                "--measures and --conventions"
            )
        table = Table(ablation_sections.table(result), ablation_sections.COLUMNS, str(artefact.key))
        write_table_file(table, chosen, out, view.digits)
        return
    measures = list(view.measures or result.measures)
    result = benchmark_table.with_measures(result, artefact.path, measures, store)
    rows = benchmark_table.rankers_of(result)
    baseline_rows = dict.fromkeys(row_name(name, rows) for name in view.baselines or ())
    baselines = [name for name in baseline_rows if name != INITIAL or name in rows]
    view = replace(view, measures=measures, baselines=baselines)
    if TABLE_ENDINGS[chosen] in table_text.EXACT:
        frame = benchmark_table.numbers(result, view)
        out.write_bytes(table_text.exact(frame, TABLE_ENDINGS[chosen]))
        return
    write_table_file(sections.table(result, view), chosen, out, view.digits)


def write_table_file(table: Table, chosen: str, out: Path, digits: int = DIGITS) -> None:
    """Write a table: CSV, Parquet and JSON exact, LaTeX and Markdown for people."""
    out.write_bytes(table_text.table_bytes(table, TABLE_ENDINGS[chosen], digits))
