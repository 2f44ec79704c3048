"""Import of external rankers into the store, like trained ones of the same data set."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, quality
from shuffleproof.core.rankers.name import FILES, SCORES
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.columns import RULES, some
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted


def bring(  # noqa: PLR0913 (what is brought, to what, and how)
    kind: str, path: Path, fold: Fold, store: Store, *, called: str = "", columns: str = ""
) -> Generator[Progress, None, Artefact]:
    """Take a file of scores or a model file into the store, after it has answered once.

    Scores belong to the test part and are measured there only; a model is measured on the
    validation part, like every trained ranker.

    Args:
        kind: one of FILES.
        path: of the file.
        fold: the data set that it belongs to.
        store: destination.
        called: the file's own name, for people.
        columns: of a model: rule for its columns (`columns.RULES`); empty: the only one that fits.

    Raises:
        UnknownNameError: no such kind, or no such rule.
        DataError: a file that does not fit, or that its library cannot read.
    """
    if kind not in FILES:
        raise UnknownNameError("kind of file", kind, FILES)
    ranker = file_ranker.file_ranker(kind, str(path), fold.test, columns)
    yield Progress(1, 2, "steps")
    part = fold.test if kind == SCORES else fold.valid
    judged = JudgedLists(part, CandidateLists.all_documents(part))
    measured = quality(ranker, judged)
    recipe: dict[str, Any] = {
        "ranker": {"name": kind, "file": called or path.name, "sha256": ranker.source},
        "lists": ALL_DOCUMENTS,
    }
    how = dict(getattr(ranker, "how", {}))
    if how:
        read = {"columns": how["columns"], "rounds": how.get("rounds")}
        recipe["ranker"] |= {name: value for name, value in read.items() if value is not None}
    elif fold.test.source_rows is not None:
        recipe["ranker"] |= {"order": "rows of the file"}
    key = key_of("ranker", recipe, fold.fingerprints[:2])
    facts = {
        "name": kind,
        "valid": {} if kind == SCORES else measured,
        "test": measured if kind == SCORES else {},
        "file": called or path.name,
        "columns": columns_in_words(how),
        "epochs": 0,
        "seconds": 0.0,
    }
    artefact = store.add(key, recipe, ranker.save, facts)
    yield Progress(2, 2, "steps")
    return artefact


def columns_in_words(how: Mapping[str, Any]) -> list[str]:
    """Sentences on how a model was read, as its process said; none for scores.

    >>> columns_in_words({"columns": "id-1", "absent": [0, 5]})[1]
    '2 columns of the model have no feature in the data set and are absent: 0, 5 (from 0).'
    """
    if not how:
        return []
    sentences = [f"Columns by rule {how['columns']}: {RULES[how['columns']]}."]
    if how["absent"]:
        counts = f"{counted(len(how['absent']), 'column')} of the model"
        which = f"{some(how['absent'])} (from 0)"
        sentences.append(f"{counts} have no feature in the data set and are absent: {which}.")
    if "rounds" in how:
        rounds, every = how["rounds"], how["of_rounds"]
        sentences.append(f"It scores with {rounds} of its {every} rounds (best_iteration).")
    if how.get("missing"):
        sentences.append("Cells that the data leave out are missing values for it, not 0.")
    return sentences
