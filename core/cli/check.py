"""`study card --out card.json`, and `check`, which compares today's rankers with such a file."""

import argparse
from pathlib import Path

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import (
    answer_question,
    checked_question,
    one_fold,
    run_shown,
    store_of,
    use_device,
    use_jobs,
)
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.errors import UsageError
from shuffleproof.core.gate import card_file, reports
from shuffleproof.core.gate.check import card_of, check_card
from shuffleproof.core.gate.comparison import LEAST
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import OLD, parts_of
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.sections import STOPPED
from shuffleproof.core.studies.user_names import ranker_name, stored_name


def card(arguments: argparse.Namespace) -> Answer:
    """`study card`: as any study; with --out also the file that `check` takes."""
    measures = tuple(str(Measure.parse(text)) for text in parts_of(arguments.measures or "", OLD))
    if measures and not arguments.out:
        raise UsageError("--measures says what --out holds: give --out card.json, or leave it out")
    question, scope = checked_question(arguments)
    artefact = answer_question(question, scope, arguments)
    if not arguments.out:
        return print_study(artefact, arguments, {"out": None})
    if STOPPED in artefact.facts:
        raise UsageError(
            "a card that was stopped is no baseline: leave out --max-seconds, or --out"
        )
    workbench = run_shown("lists", scope.open_workbench())
    baseline = run_shown("noise", card_of(workbench, artefact, measures))
    _write(arguments.out, card_file.card_text(baseline))
    unsteady = [name for name, ranker in baseline.rankers.items() if not ranker.steady]
    for name in unsteady:
        warn(f"{name} is not deterministic: it gave the same lists other scores.")
    imported = [name for name in baseline.rankers if RankerName.of(name).is_from_outside]
    named = f" --rankers {','.join(imported)}" if imported else ""
    command = f"shuffleproof check --baseline {arguments.out}{named}"
    lines = [f"written to {arguments.out}: `{command}`"]
    return print_study(artefact, arguments, {"out": str(arguments.out)}, lines)


def check(arguments: argparse.Namespace) -> Answer:
    """`check`: the same card again on today's rankers; tiers and exit status."""
    use_device(arguments)
    use_jobs(arguments)
    baseline, store = card_file.read_card(arguments.baseline), store_of(arguments)
    data = one_fold(arguments.data or baseline.data["name"], store)
    names = map(ranker_name, parts_of(arguments.rankers or ""))
    named = [stored_name(name, store) for name in names] or None
    least = LEAST if arguments.least is None else arguments.least
    gate = run_shown("check", check_card(baseline, store, data, named, least))
    if arguments.junit:
        _write(arguments.junit, reports.junit(gate, arguments.fail_on))
    if arguments.markdown:
        _write(arguments.markdown, reports.markdown(gate))
    answer = {
        "verdict": reports.verdict(gate).value,
        "finding": reports.finding(gate),
        "baseline": str(arguments.baseline),
        "least": gate.least,
        "tiers": {tier.value: count for tier, count in gate.tiers.items()},
        "comparisons": [row.plain() for row in gate.rows],
        "notes": list(gate.notes),
    }
    details = "" if arguments.json else reports.details(gate)
    status = reports.status(gate, arguments.fail_on)
    return Answer(answer, reports.finding(gate), status, details)


def _write(out: Path, text: str) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
