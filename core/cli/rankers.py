"""The commands about rankers: what there is, train one, certify one."""

import argparse
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, replace
from functools import partial
from typing import Any

from shuffleproof.core.aggregate.registry import AGGREGATORS
from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import (
    changes_of,
    dry_answer,
    dry_runner,
    fold_scope_of,
    run_shown,
    scope_of,
    trains_retriever,
    use_device,
    use_jobs,
    workbench_of,
    workers_of_command,
)
from shuffleproof.core.data.layout import folds_of
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.losses.registry import LOSSES
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import MEASURES
from shuffleproof.core.parameters import Parameter, parameters, text_of, type_in_words
from shuffleproof.core.perturb import names as families
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.progress import limit_seconds
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import DOCUMENTS_AT_ONCE
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.retrieval.name import is_trained
from shuffleproof.core.retrieval.registry import RETRIEVERS, retriever_entry
from shuffleproof.core.studies.kinds.invariance.certificate import EXIT_CODES
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.kinds.invariance.study import certificate_of
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.studies.user_names import ranker_name
from shuffleproof.core.studies.workbench import train_ranker
from shuffleproof.core.words import counted, duration


def names(arguments: argparse.Namespace) -> Answer:
    """`list`: names, one sentence each, and where they come from."""
    if arguments.kind == "recipe":
        return _recipe(arguments)
    if arguments.of is not None:
        raise UsageError(f"{arguments.of}: leave it out; only `list recipe` reads a RANKER")
    if arguments.kind == "aggregators":
        return _aggregators()
    registries: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
        "rankers": (RANKERS, ("group", "presets", "reads")),
        "losses": (LOSSES, ()),
        "measures": (MEASURES, ()),
        "conventions": (BUNDLES, ("conventions",)),
        "perturbations": (PERTURBATIONS, ("unit", "default_levels")),
        "studies": (EVERY, ()),
        "retrievers": (RETRIEVERS, ()),
    }
    entries, fields = registries[arguments.kind]
    rows = [
        {
            "name": families.with_display_names(name),
            "summary": _description(entry),
            "source": entry.source,
        }
        | {field: list(_values(entry, field)) for field in fields}
        for name, entry in entries.items()
    ]
    if arguments.kind == "studies":
        named = {name: " ".join(kind.command_words()) for name, kind in EVERY.items()}
        return Answer(rows, table([row | {"name": named[str(row["name"])]} for row in rows]))
    if arguments.kind != "rankers":
        return Answer(rows)
    names_by_tuning: dict[str, list[str]] = {}
    for entry in RANKERS.values():
        names_by_tuning.setdefault(entry.how_tuned, []).append(entry.name)
    notes = [
        f"tuned of {', '.join(names)}: {how}." for how, names in names_by_tuning.items() if how
    ]
    answer = [row | {"tuned": RANKERS[str(row["name"])].how_tuned} for row in rows]
    return Answer(answer, "\n".join([table(rows), "", *notes]))


def _aggregators() -> Answer:
    """Every aggregator with all that it declares of itself."""
    rows = [
        {name: value for name, value in vars(entry).items() if name != "order"}
        for entry in AGGREGATORS.values()
    ]
    shown = ("name", "summary", "complexity", "calls", "random", "equivariant")
    return Answer(rows, table([{name: row[name] for name in shown} for row in rows]))


def _recipe(arguments: argparse.Namespace) -> Answer:
    """`list recipe RANKER`: every field that `train --set` takes of it."""
    if arguments.of is None:
        raise UsageError("no ranker: name one, as in `list recipe dlcm@paper`")
    if is_trained(arguments.of):
        entry = retriever_entry(arguments.of)
        recipe = entry.learner.preset(entry.preset or entry.presets[0])
        rows = field_rows((recipe.model, recipe.weak, recipe.training))
        return Answer(rows, table([_short_field(row) for row in rows]))
    name = RankerName.parse(ranker_name(arguments.of))
    rows = recipe_rows(name)
    nothing = f"{name} is not trained, so its recipe has no fields."
    return Answer(rows, table([_short_field(row) for row in rows]) if rows else nothing)


def _description(entry: Any) -> str:
    """Description of an entry: the question of a study, the summary of others."""
    return str(getattr(entry, "title", entry.summary))


def _values(entry: Any, field: str) -> Any:
    value = getattr(entry, field)
    if isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in value.items()]
    if field == "default_levels":
        return [int(level) if level == int(level) else level for level in value]
    return [value] if isinstance(value, str) else value


def train(arguments: argparse.Namespace) -> Answer:
    """`train`: fit a ranker, or find the one fitted before."""
    changes = changes_of(arguments)
    if trains_retriever(arguments):
        from shuffleproof.core.cli.retrieval import train as train_retriever  # noqa: PLC0415 (loads torch)

        return train_retriever(arguments, changes)
    use_device(arguments)
    scope = fold_scope_of(arguments)
    from shuffleproof.core.studies.dry_run import dry_training  # noqa: PLC0415 (who has work to do)

    name = RankerName.parse(arguments.ranker)
    dry = partial(dry_training, scope, name, changes)
    work = train_ranker(scope, name, changes)
    with workers_of_command(arguments, scope.store, dry) as by_workers:
        trained = run_shown(arguments.ranker, work, dry)
    trained = replace(trained, cached=trained.cached and not by_workers)
    facts = trained.artefact.facts
    answer = {
        "ranker": facts["name"],
        "artefact": str(trained.artefact.key),
        "cached": trained.cached,
        "epochs": facts["epochs"],
        "valid": facts["valid"],
        "seconds": 0.0 if trained.cached else facts["seconds"],
        DOCUMENTS_AT_ONCE: facts.get(DOCUMENTS_AT_ONCE),
    }
    recipe = trained.artefact.recipe["ranker"]
    unit = next((unit for unit in ("trees", "rounds", "steps") if unit in recipe), "epochs")
    unit = "trees" if "parameters" in recipe else unit
    when = "earlier" if trained.cached else f"in {duration(facts['seconds'])}"
    lines = {
        "ranker": facts["name"],
        "stored as": answer["artefact"],
        "trained": f"{facts['epochs']} {unit}, {when}",
        "validation": facts["valid"],
    }
    if DOCUMENTS_AT_ONCE in facts:
        lines["memory"] = f"held {facts[DOCUMENTS_AT_ONCE]:,} documents at once"
    return Answer(answer, table(lines))


def dry_run(arguments: argparse.Namespace) -> Answer:
    """`train --dry-run`: the ranker, and the lists that it learns from."""
    from shuffleproof.core.studies.dry_run import dry_training  # noqa: PLC0415 (only a dry run)

    use_device(arguments)
    changes = changes_of(arguments)
    if trains_retriever(arguments):
        from shuffleproof.core.cli.retrieval import dry_retriever  # noqa: PLC0415 (loads numba)

        return dry_answer(dry_retriever(arguments, changes))
    name = RankerName.parse(arguments.ranker)
    return dry_answer(dry_training(fold_scope_of(arguments), name, changes))


def certify(arguments: argparse.Namespace) -> Answer:
    """`certify`: one ranker or callable under many real permutations of every test list."""
    refuse([arguments.ranker])
    use_jobs(arguments)
    question = Invariance((arguments.ranker,), arguments.permutations, arguments.seed)
    scope = scope_of(arguments)
    scope = replace(scope, data=folds_of(scope.data, scope.store)[0])

    dry = dry_runner(
        question, replace(scope, lists={**(scope.lists or {}), "queries": arguments.queries})
    )
    seconds = arguments.max_seconds
    if arguments.calls and seconds is None:
        _check_calls(arguments.calls, dry().calls)
    work = certificate_of(
        workbench_of(arguments, dry),
        arguments.ranker,
        arguments.permutations,
        arguments.seed,
        queries=arguments.queries,
        lists=arguments.lists,
        in_blocks=seconds is not None and dry().study is None,
    )
    card = run_shown(
        arguments.ranker, work if seconds is None else limit_seconds(seconds, work), dry
    )
    text = "\n".join([card.sentence(), *card.witness_lines()])
    return Answer(card.plain(), text, EXIT_CODES[card.verdict], "\n".join(card.details()))


def _check_calls(allowed: int, needed: Mapping[str, int]) -> None:
    """Refuse a limit of calls before the first of them: no certificate would come of them."""
    for name, count in needed.items():
        if RankerName.parse(name).kind is Kind.ENDPOINT and count > allowed:
            finding = (
                f"{counted(allowed, 'call')} are not enough: a certificate takes about {count:,}"
            )
            remedy = "Allow more (--calls), or take fewer --queries or --permutations."
            raise DataError(name, finding, remedy)


def recipe_rows(name: RankerName) -> list[dict[str, Any]]:
    """A row a field: its type, default, value in the preset, bounds, choices and meaning.

    Args:
        name: of a registered ranker; at its first preset where it names none.

    Returns:
        The rows; none where nothing is trained.

    Raises:
        UnknownNameError: no such ranker or preset.
        UsageError: what is no registered ranker.

    >>> leaves = recipe_rows(RankerName.parse("mart@small"))[1]
    >>> leaves["value"], leaves["default"], leaves["low"], leaves["meaning"]
    (8, 20, 2, 'leaves of a tree')
    """
    if name.kind is not Kind.REGISTERED:
        raise UsageError(f"{name}: name a registered ranker, as in `list recipe dlcm@paper`")
    entry = registry.entry(name.base)
    if not entry.learns:
        return []
    spec = registry.spec_of(name, entry.presets[0])
    parts = (spec.model, spec.training) if isinstance(spec, NeuralSpec) else (spec,)
    return field_rows(parts, FIXED.get(name.base, {}))


def field_rows(parts: Iterable[Any], fixed: Collection[str] = ()) -> list[dict[str, Any]]:
    """The same of the parts of any recipe.

    Args:
        parts: dataclasses of declared fields.
        fixed: fields that the name decides.
    """
    return [
        _field_row(declared, getattr(part, declared.name), declared.name in fixed)
        for part in parts
        for declared in parameters(part)
    ]


def _field_row(declared: Parameter, value: Any, is_fixed: bool) -> dict[str, Any]:  # noqa: FBT001 (a row's mark)
    decided = "; decided by the ranker's name" if is_fixed else ""
    unit = f", in {declared.unit}" if declared.unit else ""
    return {
        "field": declared.name,
        "type": "a choice" if declared.choices else type_in_words(declared.type),
        "default": None if declared.default is MISSING else declared.default,
        "value": value,
        "low": declared.low,
        "high": declared.high,
        "choices": list(declared.choices),
        "unit": declared.unit,
        "meaning": f"{declared.help}{unit}{decided}",
    }


def _short_field(row: dict[str, Any]) -> dict[str, str]:
    """A row for a terminal."""
    low, high = (None if row[end] is None else f"{row[end]:g}" for end in ("low", "high"))
    ends = f"{low} … {high}" if low and high else f"≥ {low}" if low else f"≤ {high}" if high else ""
    return {
        "field": row["field"],
        "value": text_of(row["value"]),
        "default": text_of(row["default"]),
        "type": "" if row["choices"] else row["type"].replace("null", "none"),
        "allowed": ", ".join(row["choices"]) or ends,
        "meaning": row["meaning"],
    }
