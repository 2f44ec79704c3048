"""The command that writes stored things to files: results, runs, judgments, data."""

import argparse
from collections.abc import Mapping
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
from shuffleproof.core.data.frames import KINDS, write_table
from shuffleproof.core.data.layout import SHIPPED
from shuffleproof.core.data.letor import write as letor_write
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.metrics.bundles import under_bundle
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.figure_size import width_of
from shuffleproof.core.studies.kinds.ablation import sections as ablation_sections
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.benchmark import query, sections
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.sections import View, picture_of, tables_in
from shuffleproof.core.studies.tables import DIGITS, Table, infer_columns
from shuffleproof.core.studies.user_names import row_name

FIGURES = frozenset({"pdf", "svg", "png"})
EXACT = frozenset(table_text.EXACT)
TITLES = {"markdown": "**{}**\n\n", "latex": ""}
TABLES = EXACT | set(TITLES)
ENDINGS = {"latex": "tex", "markdown": "md"}
"""Endings of formats that are not their name."""

ALL = "all"
FILES = {"train": "train.txt", "valid": "vali.txt", "test": "test.txt"}

DATA, RANKER, STUDY = "data set", "ranker", "study"
FORMATS: Mapping[str, frozenset[str]] = {
    DATA: frozenset({"qrels", "letor", *KINDS}),
    RANKER: frozenset({"run"}),
    STUDY: TABLES | FIGURES | {"html"},
    benchmark.KIND: TABLES | FIGURES | {"html", "run"},
}
"""Formats by what is written."""

USES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "figure": (frozenset({STUDY}), FIGURES),
    "width": (frozenset({STUDY}), FIGURES),
    "per_query": (frozenset({STUDY}), EXACT),
    "measures": (frozenset({STUDY}), TABLES | FIGURES),
    "conventions": (frozenset({STUDY}), TABLES | FIGURES),
    "against": (frozenset({benchmark.KIND}), TABLES),
    "test": (frozenset({benchmark.KIND}), TABLES),
    "digits": (frozenset({STUDY}), frozenset(TITLES)),
    "part": (frozenset({DATA, RANKER}), FORMATS[DATA] | FORMATS[RANKER]),
}
"""Purpose and formats of each flag."""


def export(arguments: argparse.Namespace) -> Answer:
    """`export`: a study's numbers, a ranker's run, a data set's text, a collection's vectors."""
    chosen = export_format(arguments)
    if arguments.out is None:
        from shuffleproof.core.cli import retrieval  # noqa: PLC0415 (only of collections)

        return retrieval.export_collection(arguments)
    store, out, part = store_of(arguments), arguments.out, {}
    study = study_of(arguments.what, store)
    kind = study.recipe["kind"] if study else ""
    thing = STUDY if study else DATA if is_data(arguments.what, store) else RANKER
    if thing == RANKER and chosen not in FORMATS[RANKER]:
        store.resolve(arguments.what, "study")  # which tells that there is none
    _check(arguments, chosen, thing, kind)
    out.parent.mkdir(parents=True, exist_ok=True)
    if study is not None:
        _study(study, chosen, arguments)
    elif thing == DATA:
        part = {"part": write(arguments, chosen)}
    else:
        part = {"part": _run(arguments)}
    files = [out / name for name in FILES.values()] if out.is_dir() else [out]
    size = sum(path.stat().st_size for path in files)
    return Answer({"out": str(out), "bytes": size, **part})


def _check(arguments: argparse.Namespace, chosen: str, thing: str, kind: str) -> None:
    """Refuse a format that a thing does not have, and flags that it has no use for."""
    if str(arguments.out) == "-":
        raise UsageError("an export is a file: name one (commands print JSON with --json)")
    if thing != STUDY and arguments.out.suffix == ".zip":
        raise UsageError("a zip holds the runs of a benchmark: give the file another ending")
    if arguments.width:
        width_of(arguments.width)  # refuses what is no width
    formats = FORMATS.get(kind, FORMATS[thing])
    if chosen not in formats:
        raise UsageError(
            f"a {thing} has no format {chosen}: name a study, or a file of format "
            f"{', '.join(sorted(formats))}"
        )
    for flag, (of, fits) in USES.items():
        if getattr(arguments, flag) and not ({thing, kind} & of and chosen in fits):
            called = f"--{flag.replace('_', '-')}"
            only = f"{' or '.join(sorted(of))} as {', '.join(sorted(fits))}"
            raise UsageError(f"{called} applies to a {only}: leave out {called}")
    if kind == Ablation.kind and chosen in TABLES and (arguments.measures or arguments.conventions):
        raise UsageError("an ablation has its own columns: leave out --measures and --conventions")


def _run(arguments: argparse.Namespace) -> str:
    part = str(arguments.part or "test")
    if part == ALL:
        raise UsageError("a run needs one part: choose --part train, valid or test")
    workbench = workbench_of(arguments)
    name = RankerName.of(arguments.what)
    if name.parts or name.digits or name.feature is not None or name.base in registry.RANKERS:
        ranker = run_shown(arguments.what, workbench.train(name)).ranker
    else:
        ranker = registry.load(store_of(arguments).resolve(arguments.what, "ranker").path)
    judged = getattr(workbench.prepared, part)
    scores = ranker.score(judged.dataset, judged.lists)
    trec.write_run(arguments.out, judged.dataset, judged.lists, scores, tag=ranker.name)
    return part


def _study(artefact: Artefact, chosen: str, arguments: argparse.Namespace) -> None:
    """Write a study's figure, report, tables or values, under the measures that the flags name.

    CSV, Parquet and JSON hold the exact summary, or with --per-query every value; LaTeX and
    Markdown the tables that the terminal shows. Of a benchmark or an ablation all are its table.
    """
    out, kind = arguments.out, artefact.recipe["kind"]
    if chosen not in EXACT:
        study_kind(artefact.recipe)  # refuses a kind that was removed; its numbers are exported
    if chosen == "html":
        report([artefact], out)
        return
    if chosen == "run":
        _runs(artefact, out, store_of(arguments))
        return
    view = _view(arguments, artefact)
    if chosen in FIGURES:
        how = {"number": arguments.figure or 1, "size": arguments.size, "format": chosen}
        how |= {"width": arguments.width or "", "caption": not arguments.no_caption}
        module = study_kind(artefact.recipe).sections_module()
        picture_of(module.sections(StudyResult.open(artefact.path), view), how["number"])
        write_picture(artefact, out, how | {"measures": list(view.measures)})
        return
    result, ending = StudyResult.open(artefact.path), ENDINGS.get(chosen, chosen)
    if kind in {benchmark.KIND, Ablation.kind} and not arguments.per_query:
        out.write_bytes(_own_table(artefact, result, view, ending, store_of(arguments)))
    elif chosen in EXACT:
        frame_of = result.every_value if arguments.per_query else result.summary_under
        table = infer_columns(frame_of(view.measures), str(artefact.key), SUMMARY)
        out.write_bytes(table_text.table_bytes(table, ending, view.digits))
    else:
        shown = study_kind(artefact.recipe).sections_module().sections(result, view)
        text, title = table_text.WRITERS[ending], TITLES[chosen]
        tables = [
            title.format(table.title) + text(table, view.digits) for table in tables_in(shown)
        ]
        out.write_text("\n".join(tables), encoding="utf-8")


def _own_table(
    artefact: Artefact, result: StudyResult, view: View, ending: str, store: Store
) -> bytes:
    """The table of an ablation or a benchmark."""
    if artefact.recipe["kind"] == Ablation.kind:
        table = Table(ablation_sections.table(result), ablation_sections.COLUMNS, str(artefact.key))
        return table_text.table_bytes(table, ending, view.digits)
    measures = list(view.measures or result.measures)
    result = benchmark_table.with_measures(result, artefact.path, measures, store)
    rows = benchmark_table.rankers_of(result)
    named = dict.fromkeys(row_name(name, rows) for name in view.baselines or ())
    baselines = [name for name in named if name != INITIAL or name in rows]
    view = replace(view, measures=measures, baselines=baselines)
    if ending in EXACT:
        return table_text.exact(benchmark_table.numbers(result, view), ending)
    return table_text.table_bytes(sections.table(result, view), ending, view.digits)


def _runs(artefact: Artefact, out: Path, store: Store) -> None:
    """Write the runs and judgments of a benchmark."""
    if out.suffix != ".zip":
        raise UsageError("a benchmark has many runs: give a file that ends in .zip")
    if "runs" in artefact.recipe:
        raise UsageError("the runs of this study came from files: use those files")
    query.write(artefact.path, query.made_on(artefact.facts, store), out)


def _view(arguments: argparse.Namespace, study: Artefact) -> View:
    """Options of a study's tables from the flags of `export`."""
    measures: list[str] = []
    if arguments.measures:
        measures = measures_of(arguments)
    elif arguments.conventions:
        measures = [under_bundle(text, arguments.conventions) for text in study.recipe["measures"]]
    return View(
        measures,
        arguments.digits or DIGITS,
        list(dict.fromkeys(parts_of(arguments.against or INITIAL))),
        arguments.test or View.test,
    )


def is_data(what: str, store: Store) -> bool:
    """True if a text names a data set: a stored one, the sample, or files."""
    named = store.names().get(what) or store.names().get(f"{what}-fold1")
    if named is not None:
        return named.kind == catalogue.KIND
    return what in SHIPPED or what.startswith("data-") or Path(what).exists()


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
    is_folder = out.is_dir() or not out.suffix
    part = arguments.part or (ALL if chosen in KINDS or is_folder else "test")
    parts = {name: getattr(fold, name) for name in FILES if part in {name, ALL}}
    if chosen in KINDS:
        write_table(parts, out, chosen)
    elif chosen == "qrels":
        trec.write_qrels(out, *parts.values())
    elif part != ALL:
        letor_write.write(parts[part], out)
    elif not is_folder:
        raise UsageError(f"all parts go into a folder: name one instead of {out.name}")
    else:
        out.mkdir(parents=True, exist_ok=True)
        for name, dataset in parts.items():
            letor_write.write(dataset, out / FILES[name])
    return str(part)


def study_of(what: str, store: Store) -> Artefact | None:
    """The stored study that a key names; None where it names something else."""
    try:
        return store.resolve(what, "study")
    except ArtefactError:
        return None
