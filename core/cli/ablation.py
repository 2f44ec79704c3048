"""`study ablation`: paper against released code on the terminal."""

import argparse

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.open import asked, done
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.result import StudyResult, stored_summary

SHOWN = {
    "mean": "{:.3f}", "change": "{:+.3f}", "change_p": "{:.2g}", "loss": "{:.3f}",
    "loss_change": "{:+.3f}", "loss_p": "{:.2g}", "seconds": "{:.0f}",
}  # fmt: skip


def study(arguments: argparse.Namespace) -> Answer:
    """`study ablation`: every single difference between paper, released code and tuned."""
    question, scope = asked(ablation.KIND, arguments)
    artefact = done("ablation", question.study(scope))
    rows = ablation.table(StudyResult.open(artefact.path))
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(rows),
        "convention": Measure.parse(ablation.MEASURE).convention(),
        "queries": artefact.facts["queries"],
    }
    rows = rows.drop(
        columns=[name for name in ablation.COLUMNS if name.endswith(("_low", "_high"))]
    )
    formats = {name: text.format for name, text in SHOWN.items()}
    text = rows.to_string(index=False, formatters=formats, na_rep="–")
    facts, levels = artefact.facts, [level for _, level in artefact.recipe["perturbations"]]
    said = (
        f"mean: {Measure.parse(ablation.MEASURE).convention()}, {facts['queries']} test queries; "
        f"change: from the first row; loss: of it by {levels[-1]:g} transpositions; "
        "p: paired t, Holm over the variants"
    )
    return Answer(answer, f"{text}\n{said}\nstored as {artefact.key}")
