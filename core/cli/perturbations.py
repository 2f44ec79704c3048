"""`study perturbations` and `study worst-case` on the terminal."""

import argparse
from typing import Any

from core.cli.answer import Answer, records
from core.cli.open import done, texts_of, workbench_of
from core.errors import ParameterError
from core.perturb.registry import ATTACK, entry_of
from core.perturb.worst_case import Search
from core.studies import perturbations as study
from core.studies import perturbations_notes as notes
from core.studies import perturbations_table, worst_case_table
from core.studies import worst_case as search
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
        entry = entry_of(str(family))
        if measure not in (OWN[:1] if entry.of_input else (OWN[0], OWN[-1])) and measure in OWN:
            continue
        wide = group.pivot_table("mean", "ranker", "level", sort=False, dropna=False)
        if entry.of_input:
            wide.loc["Kendall τ left"] = group.groupby("level")["tau"].mean()
        parts += [f"{measure} under {family} ({entry.unit})"]
        parts += [wide.map(lambda mean: f"{mean:.3g}").replace("nan", "–").to_string(), ""]
    reached, told = _transfer(StudyResult.open(artefact.path), setup.measures[0])
    said = notes.left_out(artefact.facts, set(summary["family"]))
    parts += [*told, *([said, ""] if said else [])]
    answer: dict[str, Any] = {"result": str(artefact.key), "summary": records(summary)}
    answer |= {"transfer": reached, "left_out": artefact.facts.get("left_out", {})}
    return Answer(answer, "\n".join([*parts, f"stored as {artefact.key}"]))


def _transfer(result: StudyResult, measure: str) -> tuple[dict[str, dict[str, float]], list[str]]:
    """What attacks cost every ranker, as values and as lines; empty without attacks."""
    if not any(family.startswith(f"{ATTACK}@") for family, _ in result.recipe["perturbations"]):
        return {}, []
    wide = notes.transfer(perturbations_table.losses(result, measure))
    head = f"{measure} lost at the last level: a row a network attacked, a column a ranker hit"
    lines = [head, wide.round(3).to_string(), notes.transferred(wide, measure), ""]
    values = {
        str(row): {str(ranker): float(loss) for ranker, loss in own.items()}
        for row, own in wide.to_dict("index").items()
    }
    return values, lines


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
