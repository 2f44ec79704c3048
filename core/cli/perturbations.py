"""`study perturbations` and `study worst-case` on the terminal."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, texts_of, workbench_of
from core.errors import ParameterError
from core.perturb.registry import entry_of
from core.perturb.worst_case import Search
from core.studies import perturbations as study
from core.studies import worst_case as search
from core.studies import worst_case_table
from core.studies.answer_changes import OWN
from core.studies.result import StudyResult, stored_summary


def perturbations(arguments: argparse.Namespace) -> Answer:
    """`study perturbations`: rankers × families × levels, with what became of each answer."""
    bench = workbench_of(arguments)
    setup = study.Setup(
        perturbations=study.pairs_of(arguments.families.split(","), arguments.levels),
        measures=tuple(texts_of(arguments.measures)),
        draws=arguments.draws,
        seed=arguments.seed or 0,
    )
    artefact = done("perturbations", study.run(bench, arguments.rankers.split(","), setup))
    summary = stored_summary(artefact.path)
    parts = []
    for (family, measure), group in summary.groupby(["family", "measure"], sort=False):
        if measure in OWN and measure != OWN[0]:
            continue
        wide = group.pivot_table("mean", "ranker", "level", sort=False, dropna=False)
        wide.loc["Kendall τ left"] = group.groupby("level")["tau"].mean()
        parts += [f"{measure} under {family} ({entry_of(str(family)).unit})"]
        parts += [wide.round(3).to_string(na_rep="–"), ""]
    answer = {"result": str(artefact.key), "summary": records(summary)}
    return Answer(answer, "\n".join([*parts, f"stored as {artefact.key}"]))


def worst_case(arguments: argparse.Namespace) -> Answer:
    """`study worst-case`: random mean against worst found, a row for every ranker and budget."""
    bench = workbench_of(arguments)
    work = search.run(
        bench,
        arguments.rankers.split(","),
        Search(method=arguments.method, unit=arguments.unit),
        budgets=_budgets(arguments.budgets),
        target=arguments.target,
        measure=arguments.measure,
        draws=arguments.draws,
        seed=arguments.seed or 0,
        queries=arguments.queries,
    )
    artefact = done("worst case", work)
    result = StudyResult.open(artefact.path)
    frame = worst_case_table.table(result)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "certificates": result.facts["certificates"],
    }
    said = f"{arguments.measure} under {arguments.unit} of the {arguments.target}"
    text = frame.round(3).to_string(index=False)
    return Answer(answer, f"{said}\n{text}\nstored as {artefact.key}")


def _budgets(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError("--budgets", text, "whole numbers, comma-separated") from None
