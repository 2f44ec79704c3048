"""Rankers from outside in the store: like any trained one of the data set they were brought to."""

from collections.abc import Generator
from pathlib import Path

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, quality
from shuffleproof.core.rankers.name import FILES, SCORES
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact


def bring(
    kind: str, path: Path, fold: Fold, store: Store, called: str = ""
) -> Generator[Progress, None, Artefact]:
    """Take a file of scores or a model file into the store, after it has answered once.

    Scores belong to the test part and are measured there only; a model is measured on the
    validation part, like every trained ranker.

    Args:
        kind: scores, lightgbm or xgboost.
        path: of the file.
        fold: the data set that it is brought to.
        store: where it is kept.
        called: the file's own name, for people.

    Raises:
        UnknownNameError: no such kind.
        DataError: a file that does not fit, or that its library cannot read.
    """
    if kind not in FILES:
        raise UnknownNameError("kind of file", kind, FILES)
    ranker = file_ranker.file_ranker(f"{kind}:{path}", fold.test)
    yield Progress(1, 2, "steps")
    part = fold.test if kind == SCORES else fold.valid
    judged = JudgedLists(part, CandidateLists.all_documents(part))
    measured = quality(ranker, judged)
    recipe = {
        "ranker": {"name": kind, "file": called or path.name, "sha256": ranker.source},
        "lists": ALL_DOCUMENTS,
    }
    key = key_of("ranker", recipe, fold.fingerprints[:2])
    facts = {
        "name": kind,
        "valid": {} if kind == SCORES else measured,
        "test": measured if kind == SCORES else {},
        "file": called or path.name,
        "merged": getattr(ranker, "merged", 0),
        "epochs": 0,
        "seconds": 0.0,
    }
    artefact = store.add(key, recipe, ranker.save, facts)
    yield Progress(2, 2, "steps")
    return artefact
