"""`judge`: preferences of a live judge."""

import argparse
import time
from collections.abc import Mapping
from typing import Any

from shuffleproof.core.aggregate import judge_sets
from shuffleproof.core.aggregate.judge_questions import Plan, cost_of
from shuffleproof.core.aggregate.judge_sets import AskingOutcome, Target
from shuffleproof.core.aggregate.judges import judge_of
from shuffleproof.core.cli.answer import Answer, table, warn
from shuffleproof.core.cli.data import check_name
from shuffleproof.core.cli.open import run_shown, store_of, workbench_of

SHOWN = 5
"""Malformed answers that are printed; --json has all."""
LONG = frozenset({"malformed_answers", "cost"})
"""Keys that the text tells otherwise."""


def judge(arguments: argparse.Namespace) -> Answer:
    """`judge`: tell the cost, then ask."""
    store = store_of(arguments)
    if arguments.name not in store.names():
        check_name(arguments.name, store)
    plan = Plan(
        arguments.pairs, arguments.calls, arguments.orders, arguments.seed, arguments.top,
        arguments.jobs, arguments.retries, arguments.wait,
    )  # fmt: skip
    live = judge_of(arguments.judge, arguments.called or "", arguments.timeout)
    bench = workbench_of(arguments)
    lists = bench.test_lists(arguments.queries)
    material = judge_sets.material_of(lists, bench.fold.fingerprint, store)
    target = Target(arguments.name, store, arguments.data)
    before = judge_sets.answered_before(target, live, material, plan)
    cost = cost_of(plan, plan.max_calls(material), before, arguments.price, arguments.seconds)
    warn(f"{live.name}: {cost['text']}")
    if arguments.dry_run:
        return Answer({"name": arguments.name, "judge": live.name, "cost": cost}, cost["text"])
    begun = time.monotonic()
    outcome = run_shown("judge", judge_sets.ask(target, live, material, plan))
    answer = _plain_outcome(arguments.name, live.name, outcome)
    answer |= {"seconds": time.monotonic() - begun, "cost": cost}
    return Answer(answer, _text(answer))


def _plain_outcome(name: str, by: str, outcome: AskingOutcome) -> dict[str, Any]:
    return {
        "name": name, "key": str(outcome.artefact.key), "judge": by,
        "queries": outcome.preferences.queries, "judgments": len(outcome.preferences.value),
        "asked": outcome.asked, "before": outcome.before, "complete": outcome.complete,
        "malformed": len(outcome.malformed),
        "malformed_answers": [dict(row) for row in outcome.malformed],
    }  # fmt: skip


def _text(answer: Mapping[str, Any]) -> str:
    text = table({key: value for key, value in answer.items() if key not in LONG})
    if answer["malformed_answers"]:
        malformed = table(answer["malformed_answers"][:SHOWN])
        text += f"\n\nMalformed answers, skipped:\n{malformed}"
    return text
