"""From flags to a store, a workbench and finished work."""

import argparse
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.flags import question_of
from shuffleproof.core.cli.progress_bar import ProgressBar
from shuffleproof.core.data.layout import folds_of
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.execution import devices
from shuffleproof.core.metrics.bundles import under
from shuffleproof.core.parameters import OLD, fields_of, parameters, parts_of
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.retrieval.name import is_trained
from shuffleproof.core.store.artefacts import Store, default_store, store_at
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import QUERIES, Question, Scope
from shuffleproof.core.studies.question import preset_of as usual_preset
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.user_names import ranker_name, refuse_unknown, stored_name

if TYPE_CHECKING:
    from shuffleproof.core.rankers.initial import ListRecipe
    from shuffleproof.core.studies.dry_run import DryRun
    from shuffleproof.core.studies.workbench import Workbench

Value = TypeVar("Value")


def store_of(arguments: argparse.Namespace) -> Store:
    """The store that the flags name, or the user's own."""
    return default_store() if arguments.store is None else store_at(arguments.store)


def measures_of(arguments: argparse.Namespace) -> list[str]:
    """The measures that --measures and --conventions name, as text.

    Raises:
        UnknownNameError, ParameterError: a text that is no measure.

    >>> flags = argparse.Namespace(measures="NDCG@5,AP", conventions="trec_eval")
    >>> measures_of(flags)
    ['NDCG(gain=linear,ties=trec)@5', 'AP(ties=trec)']
    """
    return [under(text, arguments.conventions) for text in parts_of(arguments.measures, OLD)]


def run_shown(
    title: str,
    work: Generator[Progress, None, Value],
    dry: Callable[[], "DryRun"] | None = None,
    stored: Callable[["DryRun"], Value | None] | None = None,
) -> Value:
    """Run work to its end with its progress on stderr.

    Args:
        title: before the progress.
        work: what is done.
        dry: what that will make; said before the first report, so not of what is stored.
        stored: the stored value, if its sources are no longer stored.
    """
    bar = ProgressBar(title)
    if dry is not None:
        work = _announced(work, dry, stored)
    try:
        return run_to_end(work, bar)
    finally:
        bar.close()


def _announced(
    work: Generator[Progress, None, Value],
    dry: Callable[[], "DryRun"],
    stored: Callable[["DryRun"], Value | None] | None,
) -> Generator[Progress, None, Value]:
    """The work, which lists are made for it said first, and what takes long."""
    try:
        report = next(work)
    except StopIteration as stop:
        return stop.value
    try:
        dry_run = dry()
        value = stored and stored(dry_run)
        if value:
            work.close()
            return value
        for text in dry_run.notes():
            warn(f"shuffleproof: {text}")
    except ShuffleproofError:  # data that is read on the way, or what the work itself will say
        pass
    yield report
    return (yield from work)


def use_device(arguments: argparse.Namespace) -> None:
    """Compute where --device says, if it says anything.

    Raises:
        UsageError: no such device.
    """
    if arguments.device is not None:
        os.environ["SHUFFLEPROOF_DEVICE"] = devices.device(arguments.device)


def use_jobs(arguments: argparse.Namespace) -> None:
    """Set the calls of functions and endpoints: --jobs at a time, --calls in all."""
    if arguments.calls is not None:
        from shuffleproof.core.rankers.outside.endpoint import BUDGET  # noqa: PLC0415 (which loads NumPy)

        os.environ["SHUFFLEPROOF_CALLS"], BUDGET.made = str(arguments.calls), 0
    if arguments.jobs is not None:
        from shuffleproof.core.rankers.outside.function_process import JOBS, jobs_allowed  # noqa: PLC0415 (which loads NumPy)

        os.environ[JOBS] = str(arguments.jobs)
        jobs_allowed()


def preset_of(arguments: argparse.Namespace) -> str:
    """The preset of rankers named without one."""
    chosen: str | None = arguments.preset
    return chosen.strip().casefold() if chosen else usual_preset(arguments.data)


def recipe_of(arguments: argparse.Namespace) -> "tuple[ListRecipe, str]":
    """Recipe of lists, and the preset of rankers named without one.

    Raises:
        UnknownNameError: a name among the flags that nothing has (see `names`).
        ArtefactError: no stored ranker has the key that --ranker names, or several have.
    """
    preset = preset_of(arguments)
    if "ranker" in arguments:
        named_presets.know(store_of(arguments))
        arguments.ranker = stored_name(ranker_name(arguments.ranker), store_of(arguments))
        refuse_unknown("rankers", [arguments.ranker], preset)
    from shuffleproof.core.studies import names  # noqa: PLC0415 (which loads NumPy)

    store = store_of(arguments)
    named = [arguments.ranker] if "ranker" in arguments else []
    changes = fields_of(arguments.set) if "set" in arguments else {}
    names.check(names.Names(named, changes, from_outside=True), preset, store)
    recipe = scope_of(arguments).recipe()
    names.check(names.Names(initial=recipe.rankers), preset, store)
    return recipe, preset


def changes_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Changes of a ranker's recipe by --set and --seed."""
    changes = fields_of(arguments.set)
    return changes if arguments.seed is None else changes | {"seed": str(arguments.seed)}


def scope_of(arguments: argparse.Namespace) -> Scope:
    """Scope of a command: its data, its lists, its store."""
    preset = preset_of(arguments)
    lists = {"depth": arguments.depth, "scores": arguments.scores}
    if arguments.initial is not None:
        lists |= {"initial": initial_rankers(parts_of(arguments.initial), preset)}
    return Scope(store_of(arguments), arguments.data, lists, preset)


def initial_rankers(texts: Sequence[str], preset: str) -> list[str]:
    """The names of initial rankers as recipes of lists hold them."""
    names = [RankerName.parse(ranker_name(text)) for text in texts]
    return [str(registry.at(name, preset)) for name in names]


def with_conventions(question: Question, conventions: str | None) -> Question:
    """A question whose measures have these conventions where they do not say their own."""
    for field in parameters(question):
        if field.names == "measures":
            texts = (under(text, conventions) for text in getattr(question, field.name))
            question = replace(question, **{field.name: tuple(texts)})
    return question


def fold_scope_of(arguments: argparse.Namespace) -> Scope:
    """The same of a single fold."""
    scope = scope_of(arguments)
    return replace(scope, data=one_fold(scope.data, scope.store))


def check_names(arguments: argparse.Namespace) -> None:
    """Refuse names that nothing has, before anything is loaded that works with what has them.

    Raises:
        UnknownNameError, UsageError: wrong arguments.
    """
    group, _, kind = arguments.command.partition(" ")
    check_workers(arguments)
    if group == "study":
        arguments.checked = _question_and_scope(kind, arguments)
    elif not trains_retriever(arguments):
        if arguments.command == "train" and RankerName.of(arguments.ranker).kind in NOT_TRAINED:
            raise UsageError(f"{arguments.ranker} is not trained here: name it in certify or study")
        recipe_of(arguments)


def check_workers(arguments: argparse.Namespace) -> None:
    """Refuse what is no executor.

    Raises:
        UnknownNameError, UsageError: see `core.execution.executor.executor`.
    """
    if getattr(arguments, "executor", None) is not None:
        from shuffleproof.core.execution.executor import executor  # noqa: PLC0415 (few name one)

        executor(arguments.executor)


NOT_TRAINED = {Kind.FUNCTION, Kind.FILE, Kind.ENDPOINT}


def trains_retriever(arguments: argparse.Namespace) -> bool:
    """True if `train` is to train a retriever of a text collection."""
    return arguments.command == "train" and is_trained(str(getattr(arguments, "ranker", "")))


def check_listed_ranker(arguments: argparse.Namespace) -> None:
    """Refuse `list recipe` of a ranker that there is not, before rankers are loaded."""
    of_ranker = arguments.kind == "recipe" and not is_trained(arguments.of or "")
    if of_ranker and arguments.of is not None:
        named_presets.know(store_of(arguments))
        refuse_unknown("rankers", [ranker_name(arguments.of)], "small")


def checked_question(arguments: argparse.Namespace) -> tuple[Question, Scope]:
    """The question that a command of `study` asks, as it was looked over."""
    question_and_scope: tuple[Question, Scope] = arguments.checked
    return question_and_scope


def _question_and_scope(kind: str, arguments: argparse.Namespace) -> tuple[Question, Scope]:
    use_device(arguments)
    use_jobs(arguments)
    scope = scope_of(arguments) if STUDIES[kind].over_folds else fold_scope_of(arguments)
    question = question_of(STUDIES[kind], arguments, scope.usual_preset)
    question = with_conventions(question, getattr(arguments, "conventions", None))
    if isinstance(queries := getattr(arguments, QUERIES, None), int):
        scope = replace(scope, lists={**(scope.lists or {}), QUERIES: queries})
    question.check(scope, from_outside=True)
    return question.in_store(scope.store), scope


def answer_question(question: Question, scope: Scope, arguments: argparse.Namespace) -> Artefact:
    """Answer a question with its progress on stderr, as far as --max-seconds goes."""
    dry = dry_runner(question, scope)
    with workers_of_command(arguments, scope.store, dry):
        return run_shown(
            question.kind.replace("-", " "),
            question.answer(scope, arguments.max_seconds),
            dry,
            lambda dry: scope.store.resolve(dry.study, "study") if dry.study else None,
        )


@contextmanager
def workers_of_command(
    arguments: argparse.Namespace, store: Store, dry: Callable[[], "DryRun"] | None = None
) -> Iterator[bool]:
    """Let the workers of --executor, if there are any, do the tasks of this block.

    Args:
        arguments: of the command.
        store: of all results.
        dry: what is to be made; where that is nothing, no worker is started.

    Yields:
        Whether there are workers.

    Raises:
        UsageError: it is to stop after some seconds, no such executor, or it is not installed.
    """
    if arguments.executor is None:
        yield False
        return
    if getattr(arguments, "max_seconds", None) is not None:
        raise UsageError("--executor works to the end: leave --max-seconds out")
    with suppress(ShuffleproofError):  # which the work itself will say
        if dry is not None and dry().is_stored:
            yield False
            return
    from shuffleproof.core.workers import workers_of  # noqa: PLC0415 (who has work to do)

    modules = getattr(arguments, "modules", None) or ()
    with workers_of(store, arguments.executor, modules):
        yield True


def dry_runner(question: Question, scope: Scope, *, timed: bool = False) -> Callable[[], "DryRun"]:
    """Dry run of a question, see `core.studies.dry_run`."""

    def dry() -> "DryRun":
        from shuffleproof.core.studies.dry_run import dry_run  # noqa: PLC0415 (who has work to do)

        return dry_run(question, scope, timed=timed)

    return dry


def dry_answer(dry: "DryRun") -> Answer:
    """Answer of `--dry-run`."""
    return Answer(dry.plain(), dry.text())


def one_fold(data: str, store: Store) -> str:
    """Data set to open; the first of several folds, with a message."""
    if not data.strip():
        raise UsageError("--data '' is empty: give a stored name, a folder, or sample")
    names = folds_of(data, store)
    if len(names) > 1:
        warn(f"{data} has {len(names)} folds ({', '.join(names)}); this command uses {names[0]}.")
    return names[0]


def workbench_of(
    arguments: argparse.Namespace, dry: Callable[[], "DryRun"] | None = None
) -> "Workbench":
    """The workbench that --data, --initial, --depth, --scores and --preset describe."""
    from shuffleproof.core.studies.workbench import Workbench  # noqa: PLC0415 (only who works waits for it)

    use_device(arguments)
    store = store_of(arguments)
    recipe, preset = recipe_of(arguments)
    data = one_fold(arguments.data, store)
    return run_shown("lists", Workbench.open(data, recipe, store, preset), dry)


ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".txt.gz": "letor", ".gz": "letor",
    "": "letor", ".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".jsonl": "jsonl", ".tex": "latex", ".md": "markdown", ".zip": "run", ".html": "html",
    ".json": "json", ".pdf": "pdf", ".svg": "svg", ".png": "png",
}  # fmt: skip


def export_format(arguments: argparse.Namespace) -> str:
    """Format from `--format`, else from the file's ending; of a collection, its parts.

    Raises:
        UsageError: the ending names no format, or there is no file or more than one.
    """
    if (arguments.run is None) == (arguments.out is None):
        raise UsageError("name one file: FILE, or of a collection --run FILE")
    if arguments.run is not None:
        return "run"
    ending = arguments.out.suffix
    if ending == ".gz":
        ending = Path(arguments.out.stem).suffix + ending
    chosen: str | None = arguments.format or ENDINGS.get(ending)
    if chosen is None:
        known = ", ".join(filter(None, ENDINGS))
        raise UsageError(f"the ending {ending!r} names no format: give one of {known}, or --format")
    return chosen
