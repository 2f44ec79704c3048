"""The jobs about rankers from outside: a file becomes a ranker, runs are judged and compared."""

import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.jobs_opened import Reports, answer
from shuffleproof.core.studies.library import uploads

MEASURES = ("NDCG@10", "AP", "P@10", "RR")
QRELS, RUNS, FILE = "qrels", "runs", "file"
"""Folders of an upload."""


def bring(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    kind: str,
    upload: str,
    file: str,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Take a ranker from outside into the store; result: artefact.

    Args:
        store: where it goes.
        data: the data set that it is brought to.
        kind: scores, lightgbm or xgboost.
        upload: what `uploads.spooled` returned.
        file: the file's name in it.
        preset: plays no part.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from shuffleproof.core.data.catalogue import resolve  # noqa: PLC0415 (only who works pays for it)
    from shuffleproof.core.studies.library.import_ranker import bring as brought  # noqa: PLC0415 (likewise)

    del preset
    folder = uploads.folder_of(store, upload)
    path = folder / uploads.safe_name(file)
    with _away(folder):
        fold = resolve(pinned or data, store)
        return answer((yield from brought(kind, path, fold, store, path.name)))


def runs(store: Store, *, upload: str, name: str, measures: Sequence[str] = MEASURES) -> Reports:
    """Judge and compare the TREC runs of an upload; result: artefact.

    Args:
        store: where the comparison goes.
        upload: what `uploads.spooled` returned: one file in its folder `qrels`, any in `runs`.
        name: what people call the judgments.
        measures: the columns.
    """
    folder = uploads.folder_of(store, upload)
    del name
    with _away(folder):
        return answer((yield from _compared(folder, measures, store)))


def _compared(
    folder: Path, measures: Sequence[str], store: Store
) -> Generator[Progress, None, Artefact]:
    from shuffleproof.core.studies.kinds.benchmark import outside_runs  # noqa: PLC0415 (only who works pays for it)

    (qrels,) = sorted((folder / QRELS).iterdir())
    files = sorted((folder / RUNS).iterdir())
    result = yield from outside_runs.comparing(qrels, files, measures)
    return outside_runs.keep(result, store)


@contextmanager
def _away(folder: Path) -> Iterator[None]:
    """Remove an upload once it was read; where it lies for now is nobody's business."""
    try:
        yield
    except ShuffleproofError as error:
        inside = f"({QRELS}/|{RUNS}/|{FILE}/)?"
        words = re.sub(f"{re.escape(str(folder))}/{inside}", "", str(error))
        raise ShuffleproofError(words) from error
    shutil.rmtree(folder, ignore_errors=True)
