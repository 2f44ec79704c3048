"""A judge's preferences between the documents of a data set, from Python: `sp.judge`."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import fields
from os import PathLike
from typing import Any

from shuffleproof.command import arguments_for_flags
from shuffleproof.core.aggregate import judge_sets
from shuffleproof.core.aggregate.judge_questions import Plan
from shuffleproof.core.aggregate.judge_sets import AskingOutcome, Target
from shuffleproof.core.aggregate.judges import judge_of
from shuffleproof.core.cli.data import check_name
from shuffleproof.core.cli.progress_bar import ProgressBar
from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.studies import open as open_

FILE_ORDER = "file-order"


@arguments_for_flags()
def judge(  # noqa: PLR0913 (the flags of the command)
    name: str,
    judge: str | Callable[..., Any],
    data: str | PathLike[str] = SAMPLE,
    *,
    queries: int | None = None,
    timeout: float = 60.0,
    called: str = "",
    initial: str | Sequence[str] = FILE_ORDER,
    depth: int | None = 40,
    store: str | PathLike[str] | Store | None = None,
    progress: bool = True,
    **plan: Any,
) -> AskingOutcome:
    """Ask a judge for preferences between the test documents of a data set.

    Answers are stored: the same call makes no request again, and one with more `calls` continues.

    Args:
        name: of the preferences, which are made or extended.
        judge: a function (query, a, b) → how strongly a is preferred, from 0 to 1, or "a", "b" or
            "tie"; each of the three is a mapping with `id` and `text`, documents with `features`;
            or an address of HTTP, or `module:function`.
        data: a stored name, a key, a folder, or `sample`.
        queries: number of test queries, from the first.
        timeout: seconds that an endpoint may take for an answer.
        called: the name that answers are noted under.
        initial: the initial rankers of the lists.
        depth: documents of a list; None: all.
        store: of all results; by default the user's own.
        progress: show progress bars.
        plan: fields of `core.aggregate.judge_questions.Plan`: `pairs`, `calls`, `orders`, `seed`,
            `top`, `jobs`, `retries`, `wait`.

    Returns:
        What became of it: `preferences`, `asked`, `before`, `malformed`, `complete`.

    >>> def higher(query, a, b):
    ...     return float(a["features"][0] > b["features"][0])
    >>> outcome = judge("first-feature", higher, queries=1, depth=3, calls=6, progress=False)
    >>> outcome.asked, outcome.complete
    (6, True)
    """
    unknown = sorted(set(plan) - {field.name for field in fields(Plan)})
    if unknown:
        raise UnknownNameError("argument of judge", unknown[0], [one.name for one in fields(Plan)])
    chosen = Plan(**plan)
    live = judge_of(judge, called, timeout)
    studies = open_(data, initial=initial, depth=depth, store=store, progress=progress)
    where = studies.scope.store
    if name not in where.names():
        check_name(name, where)
    bench = studies.workbench
    material = judge_sets.material_of(
        bench.test_lists(queries), bench.fold.fingerprint, bench.store
    )
    work = judge_sets.ask(Target(name, where, studies.scope.data), live, material, chosen)
    with closing(ProgressBar("judge", shown=progress)) as watch:
        return run_to_end(work, watch)
