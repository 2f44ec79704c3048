"""The commands about preferences between pairs: read in, examined, made orders of."""

import argparse
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from shuffleproof.core.aggregate import preference_store, registry
from shuffleproof.core.aggregate.consistency import agreement_of, consistency
from shuffleproof.core.aggregate.kemeny import Kemeny, kemeny
from shuffleproof.core.aggregate.preferences import Preferences
from shuffleproof.core.aggregate.reading import PreferenceFormat
from shuffleproof.core.aggregate.registry import Terms
from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.data import named_once
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.numerals import number
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.progress import Progress


def ingest(arguments: argparse.Namespace) -> Answer:
    """`ingest-preferences`: files of pairs, matrices, rankings or runs into the store."""
    store = store_of(arguments)
    columns = _pairs_of("--columns", arguments.columns, "OURS=THEIRS, like query=topic")
    form = "WORD=PREFERENCE, like win=1,loss=0"
    values = {}
    for word, text in _pairs_of("--values", arguments.values, form).items():
        try:
            values[word] = number(text)
        except ValueError as error:
            raise ParameterError("--values", f"{word}={text}", form) from error
    reading = PreferenceFormat(
        arguments.format or "", arguments.direction or "", arguments.nulls or "", arguments.repeats,
        arguments.malformed, columns, values, arguments.qrels,
    )  # fmt: skip
    (artefact,) = named_once(
        arguments.name,
        store,
        lambda name: [preference_store.ingest(arguments.path, name, store, reading)],
    )
    return Answer({"name": arguments.name, "key": str(artefact.key)} | dict(artefact.facts))


def _pairs_of(flag: str, text: str | None, form: str) -> dict[str, str]:
    """Values of a flag NAME=VALUE,… by name."""
    pairs = {}
    for part in parts_of(text or ""):
        name, equals, value = part.rpartition("=")
        if not equals or not name or not value:
            raise ParameterError(flag, part, form)
        pairs[name] = value
    return pairs


def show_consistency(arguments: argparse.Namespace) -> Answer:
    """`consistency`: where preferences contradict themselves."""
    answer = consistency(
        preference_store.find(arguments.preferences, store_of(arguments)), best=arguments.best
    )
    lists = {"per_query", "judges", "cycles"}
    text = table({name: value for name, value in answer.items() if name not in lists})
    worst = [
        {"query": row["query"], "margin": row["margin"], "cycle": " > ".join(row["items"])}
        for row in answer["cycles"]
    ]
    text += f"\n\nWorst cycles:\n{table(worst)}" if worst else "\n\nNo cycles."
    return Answer(answer, text)


def show_orders(arguments: argparse.Namespace) -> Answer:
    """`aggregate`: the order that each aggregator makes of each query, and what it cost."""
    names = parts_of(arguments.aggregators)
    if not names:
        raise UsageError("--with is empty: name aggregators of `list aggregators`")
    for name in names:
        registry.aggregator_named(name)
    terms = Terms(arguments.calls, arguments.seed, arguments.top)
    preferences = preference_store.find(arguments.preferences, store_of(arguments))
    rows = run_shown("aggregate", _orders(preferences, names, terms))
    summary: list[dict[str, Any]] = [
        {
            "aggregator": name,
            "agreement": _mean([row["agreement"] for row in rows if row["aggregator"] == name]),
            "calls": sum(row["calls"] for row in rows if row["aggregator"] == name),
        }
        for name in names
    ]
    most = _mean([row["agreement_bound"] for row in rows if row["aggregator"] == names[0]])
    text = f"{table(summary)}\n\nUpper bound of the mean agreement: {most:.3f}."
    return Answer({"summary": summary, "rows": rows}, text)


def _orders(
    preferences: Preferences, names: Sequence[str], terms: Terms
) -> Generator[Progress, None, list[dict[str, Any]]]:
    """A row a query and aggregator."""
    rows: list[dict[str, Any]] = []
    for query, name in enumerate(preferences.query_ids):
        yield Progress(query, preferences.queries, "queries")
        pairs, items = preferences.pairs(query), preferences.items[query]
        rankings = preferences.rankings[query] if preferences.rankings else None
        best = kemeny(pairs.means)
        for aggregator in names:
            aggregation = registry.aggregate(aggregator, pairs, terms, rankings)
            agreement = agreement_of(pairs, aggregation.order)
            row = {
                "query": name, "aggregator": aggregator, "agreement": agreement,
                "calls": aggregation.calls, "unanswered": aggregation.unanswered,
                "complete": aggregation.complete,
                "order": [items[item] for item in aggregation.order.tolist()],
            }  # fmt: skip
            rows.append(row | _bounds(pairs.means, best, agreement))
    yield Progress(preferences.queries, preferences.queries, "queries")
    return rows


def _bounds(weights: np.ndarray, best: Kemeny, agreement: float | None) -> dict[str, Any]:
    """Loss of an order, and the lower bound of all orders."""
    total = float(np.nansum(weights))
    share = agreement if agreement is not None else 1.0
    return {
        "loss": total * (1.0 - share), "lower_bound": best.bound, "exact": best.exact,
        "agreement_bound": 1.0 - best.bound / total if total else None,
    }  # fmt: skip


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")
