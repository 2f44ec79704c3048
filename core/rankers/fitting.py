"""Train, or find what was trained: the cache around every ranker's fit.

The key is the digest of the ranker's recipe, of how its lists were made and of the data it saw;
the cache wraps the fitting, no ranker knows of it.
"""

import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any

from core.data.dataset import Fold
from core.data.lists import CandidateLists, JudgedLists
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate, mean_of
from core.rankers import registry
from core.rankers.base import Progress, Ranker, RankerSpec
from core.rankers.initial import ListRecipe, PreparedFold
from core.store.artefacts import Artefact, Store
from core.store.keys import ArtefactKey, key_of

VALID_MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")


@dataclass(frozen=True)
class Trained:
    """A fitted ranker and where it is kept.

    Attributes:
        ranker: ready to score.
        artefact: its place in the store.
        cached: it was found, nothing was trained.
    """

    ranker: Ranker
    artefact: Artefact
    cached: bool

    def report(self) -> dict[str, Any]:
        """What `train` prints: ranker, artefact, cached, epochs, valid, seconds."""
        facts = self.artefact.facts
        return {
            "ranker": self.ranker.name,
            "artefact": str(self.artefact.key),
            "cached": self.cached,
            "epochs": facts["epochs"],
            "valid": facts["valid"],
            "seconds": 0.0 if self.cached else facts["seconds"],
        }


def ranker_key(spec: RankerSpec, fold: Fold, lists: ListRecipe) -> ArtefactKey:
    """The key of a ranker: its recipe, the data it learns from and how its lists were made."""
    made = "all documents" if spec.fits_documents else asdict(lists)
    facts = {"ranker": spec.recipe(), "lists": made}
    return key_of("ranker", facts, (fold.train.fingerprint, fold.valid.fingerprint))


def train(
    spec: RankerSpec, fold: Fold, lists: ListRecipe, prepared: PreparedFold, store: Store
) -> Generator[Progress, None, Trained]:
    """Fit a ranker on a fold, or open the one that was fitted; yields progress.

    A second process that wants the same ranker waits for the first and finds its work.
    """
    key = ranker_key(spec, fold, lists)
    with store.lock(key):
        found = store.find(key)
        if found is not None:
            return Trained(registry.load(found.path), found, cached=True)
        start = time.perf_counter()
        train_lists, valid_lists = prepared.train, prepared.valid
        if spec.fits_documents:
            train_lists = JudgedLists(fold.train, CandidateLists.everything(fold.train))
            valid_lists = JudgedLists(fold.valid, CandidateLists.everything(fold.valid))
        done = 0
        fitting = spec.fit(train_lists, valid_lists, store.workspace(key))
        while True:
            try:
                progress = next(fitting)
            except StopIteration as finished:
                ranker: Ranker = finished.value
                break
            done = progress.done
            yield progress
        facts = {
            "epochs": done,
            "valid": quality(ranker, prepared.valid),
            "seconds": time.perf_counter() - start,
            "name": spec.name,
            "rows": fold.train.documents,
        }
        recipe = {"ranker": spec.recipe(), "lists": asdict(lists)}
        artefact = store.add(key, recipe, ranker.save, facts)
    return Trained(ranker, artefact, cached=False)


def quality(ranker: Ranker, judged: JudgedLists) -> dict[str, float]:
    """The mean NDCG@1, 3, 5 and 10 of a ranker on judged lists, default conventions."""
    measures = [Measure.parse(text) for text in VALID_MEASURES]
    scores = ranker.score(judged.dataset, judged.lists)
    values = evaluate(measures, judged.dataset, judged.lists, scores)
    return {
        text: mean_of(measure, value)
        for text, measure, value in zip(VALID_MEASURES, measures, values, strict=True)
    }
