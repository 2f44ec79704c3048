"""`judge`: preferences of a live judge, or of files of pairs and answers."""

import argparse
import time
from collections.abc import Mapping
from typing import Any

from shuffleproof.core.aggregate import judge_sets
from shuffleproof.core.aggregate.judge_questions import Material, Plan, cost_of
from shuffleproof.core.aggregate.judge_sets import AskingOutcome, Target
from shuffleproof.core.aggregate.judges import judge_of
from shuffleproof.core.cli.answer import Answer, table, warn
from shuffleproof.core.cli.data import check_name
from shuffleproof.core.cli.open import run_shown, store_of, workbench_of
from shuffleproof.core.errors import UsageError
from shuffleproof.core.words import counted

SHOWN = 5
"""Malformed answers that are printed; --json has all."""
LONG = frozenset({"malformed_answers", "cost"})
"""Keys that the text tells otherwise."""
EVERY_CALL = 1 << 60
"""More calls than there are pairs."""


def judge(arguments: argparse.Namespace) -> Answer:
    """`judge`: ask, write the next pairs, or read answers."""
    chosen = [arguments.judge is not None, arguments.next is not None, bool(arguments.answers)]
    if sum(chosen) != 1:
        raise UsageError("name a judge (--with), or take --next with --out, or --answers FILE")
    store = store_of(arguments)
    if arguments.name not in store.names():
        check_name(arguments.name, store)
    plan = _plan(arguments)
    live = None
    if arguments.judge is not None:
        live = judge_of(arguments.judge, arguments.called or "", arguments.timeout)
    bench = workbench_of(arguments)
    lists = bench.test_lists(arguments.queries)
    material = judge_sets.material_of(lists, bench.fold.fingerprint, store)
    target = Target(arguments.name, store, arguments.data)
    if live is None:
        return _by_hand(arguments, material, plan, target)
    before = judge_sets.answered_before(target, live, material, plan)
    cost = cost_of(plan, plan.max_calls(material), before, arguments.price, arguments.seconds)
    warn(f"{live.name}: {cost['text']}")
    if arguments.dry_run:
        return Answer({"name": arguments.name, "judge": live.name, "cost": cost}, cost["text"])
    begun = time.monotonic()
    outcome = run_shown("judge", judge_sets.ask(target, live, material, plan))
    answer = _told(arguments.name, live.name, outcome)
    answer |= {"seconds": time.monotonic() - begun, "cost": cost}
    return Answer(answer, _text(answer))


def _plan(arguments: argparse.Namespace) -> Plan:
    calls = arguments.calls
    if calls is None and arguments.judge is None:
        calls = EVERY_CALL  # --next sets the number, --answers makes no call
    return Plan(
        arguments.pairs, calls, arguments.orders, arguments.seed, arguments.top,
        arguments.jobs, arguments.retries, arguments.wait,
    )  # fmt: skip


def _by_hand(
    arguments: argparse.Namespace, material: Material, plan: Plan, target: Target
) -> Answer:
    """`--next` and `--answers`."""
    by = arguments.called or judge_sets.BY_HAND
    if arguments.answers:
        outcome = judge_sets.read_answers(arguments.answers, target, material, by)
        answer = _told(arguments.name, by, outcome)
        return Answer(answer, _text(answer, "left out"))
    if arguments.out is None:
        raise UsageError("--next writes a file: name it (--out pairs.jsonl)")
    count = judge_sets.write_next(arguments.out, target, material, plan, arguments.next, by)
    text = f"{counted(count, 'pair')} to ask in {arguments.out}; `judge {arguments.name} --answers "
    text += f"{arguments.out}` reads them back when each has its preference."
    if not count:
        text = "Nothing is left to ask."
    return Answer({"name": arguments.name, "judge": by, "next": count}, text)


def _told(name: str, by: str, outcome: AskingOutcome) -> dict[str, Any]:
    return {
        "name": name, "key": str(outcome.artefact.key), "judge": by,
        "queries": outcome.preferences.queries, "judgments": len(outcome.preferences.value),
        "asked": outcome.asked, "before": outcome.before, "complete": outcome.complete,
        "malformed": len(outcome.malformed),
        "malformed_answers": [dict(row) for row in outcome.malformed],
    }  # fmt: skip


def _text(answer: Mapping[str, Any], what: str = "left out and not asked again") -> str:
    text = table({key: value for key, value in answer.items() if key not in LONG})
    if answer["malformed_answers"]:
        text += f"\n\nMalformed answers, {what}:\n{table(answer['malformed_answers'][:SHOWN])}"
    return text
