"""What ships with the program: a small study of every kind on the sample set, and rankers.

`python -m tests.make_sample sample_data`. Each kind's question says what is asked
(`Question.sample`). What lies in the folder already and is still asked for stays as it is, byte for
byte; what is missing is made. Without the folder `artefacts` everything is.
"""

import shutil
import sys
import time
from pathlib import Path

from shuffleproof.core.answers.trained_rankers import CONTRAST
from shuffleproof.core.data.layout import SAMPLE_TEXTS
from shuffleproof.core.library import entries as library
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.retrieval import planted
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.studies.workbench import train_ranker


def make_sample(folder):
    """Answer what is asked of the sample; studies and their rankers ship with it.

    So do two rankers of the sample texts: one reads the input order, one does not.
    """
    store = Store(folder / "building", (folder,))
    texts = Scope(store, data=SAMPLE_TEXTS)
    needed = {
        run_to_end(train_ranker(texts, RankerName.parse(names[0]))).artefact.key
        for names in CONTRAST
    }
    for kind, question in EVERY.items():
        start = time.perf_counter()
        needed.add(run_to_end(question(**question.sample).study(Scope(store))).key)
        sys.stderr.write(f"{kind}: {time.perf_counter() - start:.0f} s\n")
    needed = {network(store)} | {
        entry.key for entry in library.with_dependencies(library.entries(store), needed)
        if entry.key.kind != "data"  # which ships as text
    }  # fmt: skip
    for artefact in list(store.artefacts()):
        shipped = folder / "artefacts" / str(artefact.key)
        if artefact.key not in needed:
            shutil.rmtree(shipped, ignore_errors=True)
        elif not shipped.is_dir():
            shutil.copytree(artefact.path, shipped)
    shutil.rmtree(store.root)


def network(store):
    """The small network that the shipped text collection is searched with."""
    indexed = IndexedCollection(planted.planted_collection(), store)
    entry = retriever_entry("snrm@small")
    run_to_end(entry.learning(indexed))
    return ArtefactKey(entry.learner.kind, entry.network(indexed))


if __name__ == "__main__":
    make_sample(Path(sys.argv[1]))
