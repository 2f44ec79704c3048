"""The commands about data: read it in, examine it."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from shuffleproof.core import words
from shuffleproof.core.checks import alike, rankers, ten_calls
from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import one_fold, run_shown, store_of, use_jobs, workbench_of
from shuffleproof.core.data import advice, catalogue, display_texts, doctor, examination, frames
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.display_texts import SideFile
from shuffleproof.core.data.doctor import Severity
from shuffleproof.core.data.layout import FRACTIONS, SHIPPED, Parts
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.numerals import number
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.store import names
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

PROBLEM = 3
"""The exit status of `doctor` where there is a problem, and of `selftest`."""

NO_FINDINGS = "No problem or warning."


def ingest(arguments: argparse.Namespace) -> Answer:
    """`ingest`: files into the store, under a name, and what in them can mislead a study."""
    given = {"documents": arguments.documents, "queries": arguments.queries}
    side_files = [
        display_texts.read_side_file(path, kind) for kind, path in given.items() if path is not None
    ]
    parts = (arguments.path, arguments.train, arguments.valid, arguments.test)
    if side_files and not any(parts):
        return _attached(arguments.name, side_files, store_of(arguments))
    fractions = FRACTIONS if arguments.split is None else _fractions(arguments.split)
    seed = arguments.seed or 0
    columns = tuple(frames.columns_named(arguments.columns or "").items())
    reading = catalogue.ReadingOptions(arguments.nulls, fractions, seed, arguments.texts, columns)
    named = Parts(
        arguments.name,
        *(tuple(getattr(arguments, part) or ()) for part in ("train", "valid", "test")),
    )
    if arguments.path is None and not (named.train and named.test):
        raise UsageError("name a file or folder, or the files of --train and --test")
    if arguments.path is not None and (named.train or named.valid or named.test):
        raise UsageError("a path excludes --train, --valid and --test: leave one out")
    place = arguments.path or named
    store = store_of(arguments)

    def work(name: str | None) -> list[Artefact]:
        artefacts: list[Artefact] = run_shown(
            "ingest", catalogue.ingest(place, name, store, reading, arguments.fold)
        )
        return artefacts

    artefacts = named_once(arguments.name, store, work)
    rows = [
        {
            "name": arguments.name if len(artefacts) == 1 else f"{arguments.name}-fold{fold}",
            "key": str(artefact.key),
            **{name: artefact.facts[name] for name in ("queries", "documents", "features")},
            "notes": [
                *artefact.facts["notes"],
                *_unused(arguments, artefact),
                *_attach_texts(artefact, store, side_files),
            ],
        }
        for fold, artefact in enumerate(artefacts, start=1)
    ]
    text = table(rows)
    for row, artefact in zip(rows, artefacts, strict=True):
        examined = run_shown("examine", examination.examine(artefact, store))
        shown_findings = [finding for finding in examined.findings if finding.severity != "info"]
        row["findings"] = [asdict(finding) for finding in shown_findings]
        for fields in row["findings"]:
            del fields["queries"]  # of which there may be thousands
        if shown_findings:
            lines = [line for _, line in advice.lines(shown_findings)]
            text += "\n".join(["", "", f"Findings about {row['name']}:", *lines])
    if len(rows) == 1:
        return Answer({"folds": rows}, text)
    note = (
        f"{len(rows)} folds are stored as data sets. Commands for one fold read "
        f"{arguments.name} as {rows[0]['name']}; --fold stores only one."
    )
    return Answer({"folds": rows, "note": note}, f"{text}\n\n{note}")


def _unused(arguments: argparse.Namespace, artefact: Artefact) -> list[str]:
    """Flags of a split that have no effect without one."""
    given = [name for name in ("split", "seed") if getattr(arguments, name) is not None]
    if not given or "whole" in artefact.recipe["files"]:
        return []
    return [f"{' and '.join(f'--{name}' for name in given)} without effect: the data have parts"]


def _attached(name: str, side_files: Sequence[SideFile], store: Store) -> Answer:
    """Side files beside a data set that is there, or beside all folds of that name."""
    folds = [fold for fold in store.names() if re.fullmatch(rf"{re.escape(name)}-fold\d+", fold)]
    rows = [
        {"name": fold, "notes": list(_attach_texts(catalogue.find(fold, store), store, side_files))}
        for fold in folds or [name]
    ]
    return Answer({"folds": rows}, table(rows))


def _attach_texts(artefact: Artefact, store: Store, files: Sequence[SideFile]) -> tuple[str, ...]:
    return display_texts.attach(artefact, store, files)[1] if files else ()


def named_once(
    name: str, store: Store, ingest: Callable[[str | None], list[Artefact]]
) -> list[Artefact]:
    """Ingest under a name; a name that means the same content already is no error.

    A name of a fold that an earlier version stored with less then means the whole one.

    Args:
        name: what to call the content.
        store: destination.
        ingest: reads the content and gives it the name, or none.

    Raises:
        UsageError: the name means something else; what was read for the comparison is removed.
    """
    held = {text: key for text, key in store.names().items()
            if text == name or re.fullmatch(rf"{re.escape(name)}-fold\d+", text)}  # fmt: skip
    if not held or name in SHIPPED:
        check_name(name, store)
        return ingest(name)
    before = {artefact.key for artefact in store.artefacts()}
    artefacts = ingest(None)
    keys = {artefact.key for artefact in artefacts}
    if keys != set(held.values()):
        for artefact in artefacts:
            if artefact.key not in before:
                store.remove(artefact.key)
        check_name(name, store)
    return artefacts


def check_name(name: str, store: Store) -> None:
    """Refuse a name that cannot be one, or means something already, before anything is read."""
    if name in SHIPPED:
        raise UsageError(f"the name {name} is reserved; choose another")
    names.check(name)
    if name in store.names() or f"{name}-fold1" in store.names():
        raise UsageError(
            f"the name {name} is in use: choose another, or `library delete {name}` first"
        )


def _fractions(text: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (number(part) for part in parts_of(text))
    except ValueError:
        raise ParameterError("--split", text, "three fractions, like 0.6,0.2,0.2") from None
    return train, valid, test


def doctor_(arguments: argparse.Namespace) -> Answer:
    """`doctor`: what an upload hides, part by part, or a ranker; 3 where it spoils a study."""
    if arguments.like is not None and arguments.ranker is None:
        raise UsageError("--like compares with a ranker: name it with --ranker")
    if arguments.data is None and arguments.of is None and arguments.ranker is None:
        raise UsageError("name a data set, as in `doctor mine`, or a --ranker")
    if None not in {arguments.data, arguments.of} and arguments.data != arguments.of:
        raise UsageError(f"{arguments.data} and --data {arguments.of}: leave one of them out")
    arguments.data = arguments.data or arguments.of or catalogue.SAMPLE
    if arguments.ranker is not None:
        return _of_ranker(arguments)
    fold = catalogue.resolve(one_fold(arguments.data, store_of(arguments)), store_of(arguments))
    parts = {"train": fold.train, "valid": fold.valid, "test": fold.test}
    if arguments.part == "all":
        findings = doctor.examine_fold(fold)
    else:
        parts = {arguments.part: parts[arguments.part]}
        findings = doctor.examine(parts[arguments.part])
    chosen = list(parts.values())
    facts = {
        "queries": sum(dataset.queries for dataset in chosen),
        "documents": sum(dataset.documents for dataset in chosen),
        "features": len(fold.train.feature_ids),
        "labels": _labels(chosen),
    }
    rows = [
        asdict(finding) | {"queries": _ids(finding, parts), "action": advice.ACTIONS[finding.code]}
        for finding in findings
    ]
    return findings_answer(facts, rows, facts, advice.lines(findings))


def findings_answer(
    facts: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    shown: Mapping[str, Any],
    lines: Sequence[tuple[Severity, str]],
) -> Answer:
    """Answer of a doctor; the exit status says if a finding is a problem.

    Args:
        facts: fields of the JSON answer.
        findings: its findings.
        shown: facts for the terminal.
        lines: severities and texts of findings; those of severity info are details.
    """
    shown_findings = [text for severity, text in lines if severity != "info"] or [NO_FINDINGS]
    notes = [text for severity, text in lines if severity == "info"]
    text = "\n".join([table(shown), "", *shown_findings])
    is_problem = any(severity == "problem" for severity, _ in lines)
    more = f"({counted(len(notes), 'more note')}: --all)"
    answer = {**facts, "findings": findings}
    return Answer(answer, text, PROBLEM if is_problem else 0, "\n".join(notes), more)


def _of_ranker(arguments: argparse.Namespace) -> Answer:
    """Diagnosis of a ranker's scores of the test lists, or its comparison with another."""
    use_jobs(arguments)
    if RankerName.of(arguments.ranker).kind is Kind.ENDPOINT:
        return _of_endpoint(arguments)
    bench = workbench_of(arguments)
    lists = bench.test_lists(arguments.queries)
    if arguments.like is not None:
        names = (arguments.ranker, arguments.like)
        found: alike.Likeness = run_shown(arguments.ranker, alike.compare(bench, *names, lists))
        facts = found.plain()
        shown = {
            "same order": f"{found.same:,} of {counted(found.lists, 'list')}",
            "Kendall tau": found.tau, "largest score difference": found.largest_difference,
        }  # fmt: skip
        text = f"{found.sentence()}\n\n{table(shown)}"
        return Answer(facts, text, PROBLEM if found.first is not None else 0)
    diagnosis = run_shown(
        arguments.ranker, rankers.examine_ranker(bench, arguments.ranker, lists, arguments.seed)
    )
    facts, findings = diagnosis.plain(), diagnosis.findings
    rows = [
        asdict(finding) | {"queries": _ids(finding, {"": lists.dataset})} for finding in findings
    ]
    lines = {
        "ranker": facts["ranker"],
        "lists": f"{facts['lists']:,} of {facts['of']:,}",
        "time per list": f"{words.number(facts['seconds'] * 1000, '.3g')} ms",
        "measures": facts["measures"],
    }
    return findings_answer(facts, rows, lines, advice.lines(findings))


def _of_endpoint(arguments: argparse.Namespace) -> Answer:
    """Diagnosis of a reranker behind HTTP on built-in sentences."""
    work = ten_calls.examine_endpoint(arguments.ranker)
    diagnosis = run_shown(arguments.ranker, work)
    facts = diagnosis.plain() | {"texts": "built-in sentences"}
    seconds = [row["seconds"] / row["documents"] for row in diagnosis.calls if row["seconds"]]
    lines = {
        "ranker": facts["ranker"],
        "calls": f"{facts['of']}, {facts['lists']} of them answered",
        "time per document": f"{words.number(median(seconds) * 1000, '.3g')} ms" if seconds else "",
    }
    rows = [asdict(finding) | {"queries": []} for finding in diagnosis.findings]
    return findings_answer(facts, rows, lines, advice.lines(diagnosis.findings))


def selftest(arguments: argparse.Namespace) -> Answer:
    """`selftest`: verdicts about rankers with known faults; 3 where one is wrong."""
    from shuffleproof.core.checks import selftest as instruments  # noqa: PLC0415 (few run it)

    checks = run_shown("selftest", instruments.selftest(arguments.seed))
    right = sum(one.passed for one in checks)
    rows = [asdict(one) for one in checks]
    shown = [{**row, "passed": "yes" if row["passed"] else "NO"} for row in rows]
    text = f"{table(shown)}\n\n{right} of {len(checks)} verdicts are as expected."
    return Answer(rows, text, 0 if right == len(checks) else PROBLEM)


def _ids(finding: doctor.Finding, parts: dict[str, RankingDataset]) -> list[str]:
    """The ids of the queries behind a finding; one that names no part is about a single one."""
    names = parts.get(finding.part, next(iter(parts.values()))).query_ids
    return [names[place] for place in finding.queries]


def _labels(datasets: list[RankingDataset]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for dataset in datasets:
        for grade, count in doctor.label_counts(dataset).items():
            counts[str(grade)] = counts.get(str(grade), 0) + count
    return dict(sorted(counts.items(), key=lambda item: float(item[0])))
