"""Check of an archive: its keys are recomputed before any entry enters a store.

A key is the digest of a recipe and its inputs. A study's follows from its recipe;
a ranker's and that of scores from their recipe and the data set's parts, so the data set must be
in the archive or in the store. A data set's follows from files that are not in the archive: its
fingerprint, from which all other keys are made, is computed again from its documents.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shuffleproof.core.aggregate import preference_store as preferences_stored
from shuffleproof.core.aggregate import preferences
from shuffleproof.core.data import catalogue, examination, mapped_file
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, ParameterError, ShuffleproofError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.ensemble.saved import FAMILY
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.methods import paragraph
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

REMEDY = "Ask who exported it for another export."
NO_DATA = (
    "Import that data set first (`shuffleproof ingest`), or export the entry together with it."
)

AT_ONCE = 16
"""Rankers that one process opens."""

COUNTS = frozenset({"queries", "documents", "features"})


@dataclass(frozen=True)
class _Sources:
    """Facts from which keys can be recomputed.

    Attributes:
        prints: of train, validation, test and whole, of every data set here and in the archive.
        rankers: whole digests by key as printed, likewise.
    """

    prints: Sequence[tuple[str, ...]]
    rankers: Mapping[str, str]


def read_archive(path: Path, store: Store) -> Generator[Progress, None, list[Artefact]]:
    """Take an archive into a store, its keys recomputed; raises and yields as `archive.read`."""
    return (yield from archive.read_archive(path, store, check))


def check(found: Sequence[Artefact], store: Store) -> None:
    """Refuse artefacts that are not what their keys say, or that cannot be opened.

    Args:
        found: as unpacked from an archive, the digests of their files checked.
        store: whose data sets and rankers the keys may be made from too.

    Raises:
        DataError: one of them was forged, or its key cannot be recomputed here.
    """
    data = {
        artefact.key: _checked_fold(artefact)
        for artefact in found
        if artefact.key.kind == catalogue.KIND
    }
    sources = _Sources(
        [
            *((*fold.fingerprints, fold.fingerprint) for fold in data.values()),
            *_stored_prints(store),
        ],
        {
            str(artefact.key): artefact.key.digest
            for artefact in (*store.artefacts("ranker"), *found)
        },
    )
    for artefact in found:
        if artefact.key.kind == preferences_stored.KIND:
            preferences.open_(artefact.path)  # as of a data set, its files are not here to digest
            continue
        if artefact.key.kind not in {catalogue.KIND, examination.KIND, "ranker", "scores", "study"}:
            raise DataError(str(artefact.key), "nothing of this kind is exported", REMEDY)
        if artefact.key not in data and artefact.key not in _keys(artefact, sources):
            raise _not_its_key(artefact)
        if artefact.key.kind == "study":
            _check_study(artefact)
    _check_rankers([artefact for artefact in found if artefact.key.kind == "ranker"])


def _check_rankers(rankers: Sequence[Artefact]) -> None:
    """Open every ranker once in a disposable process, since a forged one may crash it."""
    for start in range(0, len(rankers), AT_ONCE):
        batch = rankers[start : start + AT_ONCE]
        if len(batch) > 1 and not file_ranker.check_opens([artefact.path for artefact in batch]):
            continue
        for artefact in batch:
            if reason := file_ranker.check_opens([artefact.path]):
                raise DataError(
                    str(artefact.key), f"it cannot be opened as a ranker: {reason}", REMEDY
                )


def _keys(artefact: Artefact, sources: _Sources) -> Iterator[ArtefactKey]:
    """The keys that this recipe can have, given what is known."""
    kind, recipe = artefact.key.kind, artefact.recipe
    if kind == "study":
        yield key_of(kind, recipe)
    elif kind == examination.KIND:
        yield key_of(kind, {"version": recipe.get("version")}, (str(recipe.get("of")),))
    elif recipe.get("family") == FAMILY:
        members = [sources.rankers.get(text) for text in artefact.facts.get("members", ())]
        if None not in members:
            yield key_of(kind, recipe, [digest for digest in members if digest])
    else:
        parts = 2 if kind == "ranker" else 3
        yield from (key_of(kind, recipe, prints[:parts]) for prints in sources.prints)


def _not_its_key(artefact: Artefact) -> DataError:
    if artefact.key.kind in {"ranker", "scores"} and artefact.recipe.get("family") != FAMILY:
        finding = (
            "its key does not follow from its recipe and any data set in the archive or in this "
            "store: it is forged, or made from a data set that is not here"
        )
        return DataError(str(artefact.key), finding, NO_DATA)
    return DataError(
        str(artefact.key), "its key does not follow from its recipe: it is forged", REMEDY
    )


def _checked_fold(artefact: Artefact) -> Fold:
    """A data set whose fingerprint is that of its documents, all of them finite."""
    try:
        fold = mapped_file.open_fold(artefact.path)
        for name in mapped_file.PARTS:
            part = getattr(fold, name)
            columns = (part.doc_ids, part.comments, part.texts)
            if not all(_is_inside(column, part.documents) for column in columns):
                raise DataError(
                    str(artefact.key), f"its {name} part has texts outside of it", REMEDY
                )
            if replace(part, fingerprint="").fingerprint != part.fingerprint:
                raise DataError(
                    str(artefact.key), f"its {name} part has another fingerprint", REMEDY
                )
            if not (np.isfinite(part.features).all() and np.isfinite(part.labels).all()):
                raise DataError(
                    str(artefact.key), f"its {name} part holds no finite numbers", REMEDY
                )
    except (ShuffleproofError, LookupError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, DataError) and error.remedy == REMEDY:
            raise
        raise DataError(str(artefact.key), "its documents cannot be opened", REMEDY) from error
    if not artefact.facts.keys() >= COUNTS:
        raise DataError(str(artefact.key), "its facts do not say how large it is", REMEDY)
    if artefact.facts.get("fingerprint") != fold.fingerprint:
        raise DataError(str(artefact.key), "its fingerprint is not that of its documents", REMEDY)
    return fold


def _is_inside(texts: TextColumn | None, documents: int) -> bool:
    """True if every text lies in the column's own bytes: compiled code reads them unchecked."""
    if texts is None:
        return True
    starts, ends = texts.starts.astype(np.int64), texts.ends.astype(np.int64)
    if len(starts) != documents or len(ends) != documents:
        return False
    return bool(((starts >= 0) & (starts <= ends) & (ends <= len(texts.blob))).all())


def _check_study(artefact: Artefact) -> None:
    """A study is opened and described once before anybody else does."""
    try:
        result = StudyResult.open(artefact.path)
        values, trials = result.values.shape, len(result.trials)
        paragraph(artefact.recipe, artefact.facts)
    except (
        ShuffleproofError, OSError, LookupError, TypeError, ValueError, AttributeError,
        ArithmeticError, MemoryError, RecursionError,
    ) as error:  # fmt: skip
        raise DataError(str(artefact.key), "it cannot be opened as a study", REMEDY) from error
    if values[:1] != (trials,):
        finding = f"{counted(trials, 'trial')} with values of {values[:1]}"
        raise DataError(str(artefact.key), finding, REMEDY)


def _stored_prints(store: Store) -> Iterator[tuple[str, ...]]:
    """Of the data sets that are here."""
    for artefact in store.artefacts(catalogue.KIND):
        try:
            fold = mapped_file.open_fold(artefact.path)
            yield (*fold.fingerprints, fold.fingerprint)
        except (DataError, ParameterError):  # damaged here: nothing can be known from it
            continue
