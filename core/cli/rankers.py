"""The commands about rankers: what there is, train one, certify one."""

import argparse
from collections.abc import Mapping
from typing import Any

from core.cli.answer import Answer, table
from core.cli.open import done, store_of, workbench_of
from core.cli.studies import CARD, cards_of
from core.errors import ParameterError
from core.losses.registry import LOSSES
from core.metrics.measure import MEASURES
from core.perturb.registry import PERTURBATIONS
from core.rankers.foreign import CallableRanker, is_callable
from core.rankers.registry import RANKERS
from core.studies.invariance import certified
from core.studies.registry import STUDIES


def names(arguments: argparse.Namespace) -> Answer:
    """`list`: names, one sentence each, and where they come from."""
    if arguments.kind == "stored":
        return Answer(_stored(arguments))
    registries: dict[str, Mapping[str, Any]] = {
        "rankers": RANKERS,
        "losses": LOSSES,
        "measures": MEASURES,
        "perturbations": PERTURBATIONS,
        "studies": STUDIES,
    }
    extra = {"rankers": ("presets",), "perturbations": ("unit", "default_levels")}
    rows = [
        {"name": name, "summary": entry.summary, "source": entry.source}
        | {field: list(_values(entry, field)) for field in extra.get(arguments.kind, ())}
        for name, entry in registries[arguments.kind].items()
    ]
    return Answer(rows)


def _values(entry: Any, field: str) -> Any:
    value = getattr(entry, field)
    return [value] if isinstance(value, str) else value


def _stored(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    store = store_of(arguments)
    called = {key: name for name, key in store.names().items()}
    return [
        {
            "name": called.get(artefact.key, str(artefact.facts.get("name", ""))),
            "key": str(artefact.key),
            "kind": artefact.key.kind,
            "created": str(artefact.created),
        }
        for artefact in store.artefacts()
    ]


def train(arguments: argparse.Namespace) -> Answer:
    """`train`: fit a ranker, or find the one fitted before."""
    bench = workbench_of(arguments)
    changes = {}
    for pair in arguments.set:
        field, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError("--set", pair, "FIELD=VALUE")
        changes[field] = value
    if arguments.seed is not None:
        changes["seed"] = str(arguments.seed)
    trained = done(arguments.ranker, bench.trained(arguments.ranker, changes))
    facts = trained.artefact.facts
    return Answer(
        {
            "ranker": trained.ranker.name,
            "artefact": str(trained.artefact.key),
            "cached": trained.cached,
            "epochs": facts["epochs"],
            "valid": facts["valid"],
            "seconds": 0.0 if trained.cached else facts["seconds"],
        }
    )


def certify(arguments: argparse.Namespace) -> Answer:
    """`certify`: one ranker or callable under many real permutations of every test list."""
    bench = workbench_of(arguments)
    if is_callable(arguments.ranker):
        ranker = CallableRanker.named(arguments.ranker)
        work = certified(
            ranker, bench.test_lists(arguments.queries), arguments.permutations, arguments.seed or 0
        )
        card = done(arguments.ranker, work).plain()
    elif arguments.queries is not None:
        found = done(arguments.ranker, bench.trained(arguments.ranker))
        work = certified(
            found.ranker,
            bench.test_lists(arguments.queries),
            arguments.permutations,
            arguments.seed or 0,
        )
        card = done(arguments.ranker, work).plain()
    else:
        study = bench.invariance([arguments.ranker], arguments.permutations, arguments.seed or 0)
        card = cards_of(done(arguments.ranker, study))[0]
    return Answer(card, table([{key: card[key] for key in CARD}]))
