"""What ships with the program: a small study of every kind on the sample set.

Each kind's question says what it is asked (`Question.sample`). What lies in the folder already and
is still asked for stays as it is, byte for byte; what is missing is made. Without the folder
`artefacts` everything is.
"""

import argparse
import shutil
import time

from shuffleproof.core.cli.answer import Answer, warn
from shuffleproof.core.cli.open import run_shown
from shuffleproof.core.library import entries as library
from shuffleproof.core.retrieval import planted
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import EVERY


def sample(arguments: argparse.Namespace) -> Answer:
    """`sample`: answer what is asked of the sample; studies and their rankers ship with it."""
    folder = arguments.folder
    store = Store(folder / "building", (folder,))
    studies = set()
    for kind, question in EVERY.items():
        start = time.perf_counter()
        studies.add(run_shown(kind, question(**question.sample).study(Scope(store))).key)
        warn(f"{kind}: {time.perf_counter() - start:.0f} s")
    needed = {_network(store)} | {
        entry.key for entry in library.with_dependencies(library.entries(store), studies)
        if entry.key.kind != "data"  # which ships as text
    }  # fmt: skip
    rows = []
    for artefact in list(store.artefacts()):
        shipped = folder / "artefacts" / str(artefact.key)
        if artefact.key not in needed:
            shutil.rmtree(shipped, ignore_errors=True)
            continue
        if not shipped.is_dir():
            shutil.copytree(artefact.path, shipped)
        rows.append({"key": str(artefact.key), "bytes": artefact.size})
    shutil.rmtree(store.root)
    return Answer(rows)


def _network(store: Store) -> ArtefactKey:
    """The small network that the shipped text collection is searched with."""
    indexed, entry = (
        IndexedCollection(planted.planted_collection(), store),
        retriever_entry("snrm@small"),
    )
    run_shown(entry.name, entry.learning(indexed))
    return ArtefactKey(entry.learner.kind, entry.network(indexed))
