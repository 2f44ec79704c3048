"""A fitted ranker from the store, fitted first if it is not there: the cache around every fit.

The key is the digest of the ranker's recipe, of how its lists were made and of the data it saw;
the cache wraps the fitting, no ranker knows of it. Nothing is fitted where labels leave nothing to
learn, or nothing to select on.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.machine import machine
from shuffleproof.core.losses.registry import LOSSES
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import LARGEST_GRADE, evaluate, mean_of
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import DOCUMENTS_AT_ONCE, Ranker, RankerSpec
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

ALL_DOCUMENTS = "all documents"
CALLED_DIGITS = 8
VALID_MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")

LABELS_REMEDY = "Train on a part whose queries have documents of different labels."


class FitGivenUp(Exception):  # noqa: N818 (no error: the search goes on)
    """Thrown into a fit that will not be resumed: it leaves no checkpoint."""


@dataclass(frozen=True)
class CachedRanker:
    """Fitted ranker with its stored artefact.

    Attributes:
        artefact: its place in the store. Facts: epochs, valid, name, lists, rows, valid_rows,
            features, seconds, timed (epochs or trees of those seconds: fewer after a resumed fit),
            machine, and documents_at_once if memory ran out.
        cached: it was found, nothing was fitted.
        fitted: as it came from its fitting, if it did.
    """

    artefact: Artefact
    cached: bool
    fitted: Ranker | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State to pickle: without the ranker, which is opened from the store when needed."""
        stored = self.artefact.path != Path()
        return {
            "artefact": self.artefact, "cached": self.cached,
            "fitted": None if stored else self.fitted,
        }  # fmt: skip

    def __repr__(self) -> str:
        """Its name, quality and stored path."""
        facts = self.artefact.facts
        valid = [f"{name} {value:.3f}" for name, value in facts.get("valid", {}).items()]
        quality = f", validation {valid[-1]}" if valid else ""
        return f"CachedRanker({facts.get('name', '')}{quality}: {self.artefact.key})"

    @cached_property
    def ranker(self) -> Ranker:
        """Ranker ready to score; opened on first use, since stored results need none."""
        return registry.load(self.artefact.path) if self.fitted is None else self.fitted

    @property
    def stored_name(self) -> str:
        """The name by which commands and studies take it: `dlcm#3f2a91b0`."""
        return f"{self.ranker.name}#{self.artefact.key.digest[:CALLED_DIGITS]}"

    def score(self, judged: JudgedLists) -> Float32[np.ndarray, " candidates"]:
        """One score a candidate of these lists, in their order; higher is better."""
        return self.ranker.score(judged.dataset, judged.lists)


def fit_or_load(
    spec: RankerSpec, train: JudgedLists, valid: JudgedLists, lists_recipe: Any, store: Store
) -> Generator[Progress, None, CachedRanker]:
    """Fit a ranker, or open the one that was fitted; yields progress.

    A second process that wants the same ranker waits for the first and finds its work.

    Args:
        spec: the recipe.
        train: lists to learn from.
        valid: lists to select on; the ranker's quality is measured on them.
        lists_recipe: how the lists were made from their data sets, as plain JSON:
            ALL_DOCUMENTS, or more.
        store: the ranker's store.

    Raises:
        DataError: no training query has documents of different labels, or no validation query
            where something is selected on them.
    """
    recipe = {"ranker": spec.recipe(), "lists": lists_recipe}
    key = ranker_key(spec, lists_recipe, train.dataset.fingerprint, valid.dataset.fingerprint)
    if not getattr(spec, "saved", True):
        return (
            yield from _fit_unsaved(spec, train, valid, Artefact(key, Path(), recipe, {}, "", 0))
        )
    stored = store.find(key)
    if stored is not None:
        return CachedRanker(stored, cached=True)
    with store.lock(key):
        stored = store.find(key)
        if stored is not None:
            return CachedRanker(stored, cached=True)
        try:
            ranker, facts = yield from _fit_with_facts(spec, train, valid, store.workspace(key))
        # A fit that is given up leaves no checkpoint behind; a killed one does, to resume
        except FitGivenUp:
            store.end_workspace(key)
            raise
        artefact = store.add(key, recipe, ranker.save, facts)
        return CachedRanker(artefact, cached=False, fitted=ranker)


def _fit_with_facts(
    spec: RankerSpec, train: JudgedLists, valid: JudgedLists, workspace: Path | None
) -> Generator[Progress, None, tuple[Ranker, dict[str, Any]]]:
    """A ranker and what is noted of its fitting."""
    check_training_labels(spec, train)
    check_selection(spec, valid)
    start, epochs, timed, reduced = time.perf_counter(), 0, 0, {}
    fitting = spec.fit(train, valid, workspace)
    while True:
        try:
            progress = next(fitting)
        except StopIteration as finished:
            ranker: Ranker = finished.value
            break
        # Reports inside an epoch are not counted
        epochs, timed = progress.done, timed + (not progress.part)
        if DOCUMENTS_AT_ONCE in progress.values:
            reduced = {DOCUMENTS_AT_ONCE: int(progress.values[DOCUMENTS_AT_ONCE])}
        yield progress
    return ranker, {
        "epochs": epochs,
        "valid": quality(ranker, valid),
        "seconds": time.perf_counter() - start,
        "timed": timed,
        "machine": machine(),
        "name": spec.name,
        "lists": len(train.lists),
        "rows": len(train.lists.rows),
        "valid_rows": len(valid.lists.rows),
        "features": len(train.dataset.feature_ids),
        **reduced,
    }


_HERE: dict[ArtefactKey, CachedRanker] = {}
"""Fitted rankers that cannot be stored, as long as the process lives."""


def _fit_unsaved(
    spec: RankerSpec, train: JudgedLists, valid: JudgedLists, artefact: Artefact
) -> Generator[Progress, None, CachedRanker]:
    """A ranker of user code that has no `save`: fitted once a process."""
    if artefact.key not in _HERE:
        ranker, facts = yield from _fit_with_facts(spec, train, valid, None)
        _HERE[artefact.key] = CachedRanker(
            replace(artefact, facts=facts), cached=False, fitted=ranker
        )
    return _HERE[artefact.key]


def ranker_key(spec: RankerSpec, lists_recipe: Any, train: str, valid: str) -> ArtefactKey:
    """Recipe that makes the key of a fitted ranker.

    Args:
        spec: its recipe.
        lists_recipe: how its lists are made, as plain JSON: ALL_DOCUMENTS, or more.
        train: the fingerprint of the training part.
        valid: the fingerprint of the validation part.
    """
    return key_of("ranker", {"ranker": spec.recipe(), "lists": lists_recipe}, (train, valid))


def quality(ranker: Ranker, judged: JudgedLists) -> dict[str, float]:
    """The mean NDCG@1, 3, 5 and 10 of a ranker on judged lists, default conventions.

    Empty where there are no lists.
    """
    if not len(judged.lists):
        return {}
    measures = [Measure.parse(text) for text in VALID_MEASURES]
    scores = ranker.score(judged.dataset, judged.lists)
    values = evaluate(measures, judged.dataset, judged.lists, scores)
    return {
        text: mean_of(measure, value)
        for text, measure, value in zip(VALID_MEASURES, measures, values, strict=True)
    }


def check_training_labels(spec: RankerSpec, train: JudgedLists) -> None:
    """Refuse training lists from which a ranker would learn nothing, and say what was found.

    Rankers that are not fitted pass; those that learn grades (MART, a net with a pointwise loss)
    need two different labels anywhere, all others within a query.

    Args:
        spec: the recipe.
        train: lists to learn from.

    Raises:
        DataError: a label is no number, or none differs from another where it would have to.
    """
    lists, entry = train.lists, RANKERS.get(spec.name)
    if (entry is not None and not entry.learns) or not len(lists.rows):
        return
    _check_labels(train, "training", np.inf)
    labels = train.dataset.labels[lists.rows]
    queries = counted(len(lists), "training query")
    if np.ptp(labels) == 0:
        finding = f"every label of its {queries} is {labels[0]:g}, so there is nothing to learn"
        raise DataError(spec.name, finding, LABELS_REMEDY)
    if not _have_order(train) and not _learns_grades(spec):
        finding = f"in none of its {queries} do two documents have different labels"
        raise DataError(spec.name, f"{finding}, so there is no order to learn", LABELS_REMEDY)


def check_selection(spec: RankerSpec, valid: JudgedLists) -> None:
    """Refuse validation lists on which every epoch, tree or setting would be as good as another.

    A recipe that selects nothing (trees without patience, one value of C, one epoch) passes, and
    so does a part without lists: it says by itself that nothing is selected on it.

    Args:
        spec: the recipe.
        valid: lists to select on.

    Raises:
        DataError: a label gives NDCG no value, or no query tells two documents apart, and
            something is to be selected.
    """
    _check_labels(valid, "validation", float(LARGEST_GRADE))
    alternative = _selects(spec)
    if not alternative or not len(valid.lists.rows) or _have_order(valid):
        return
    labels = valid.dataset.labels[valid.lists.rows]
    if _selects_by_grades(spec) and np.ptp(labels) > 0:
        return
    queries = counted(len(valid.lists), "validation query")
    finding = f"in none of its {queries} do two documents have different labels"
    raise DataError(
        spec.name,
        f"{finding}, so nothing can be selected on them",
        f"Validate on a part whose queries have documents of different labels, or {alternative}.",
    )


def _check_labels(judged: JudgedLists, part: str, largest: float) -> None:
    """Refuse a label that is no number or larger than what can be learnt or measured."""
    lists = judged.lists
    labels = judged.dataset.labels[lists.rows]
    wrong = np.flatnonzero(~(np.isfinite(labels) & (labels <= largest)))
    if len(wrong):
        at = int(np.searchsorted(lists.offsets, wrong[0], side="right")) - 1
        query = judged.dataset.query_ids[lists.queries[at]]
        bound = "a number" if np.isinf(largest) else f"a number of at most {largest:g}"
        finding = f"a label of {labels[wrong[0]]:g}, {counted(len(wrong), 'document')} in all"
        remedy = f"Give every document a label that is {bound}."
        raise DataError(f"{part} query {query}", finding, remedy)


def _have_order(judged: JudgedLists) -> bool:
    """True if two documents of any list have different labels."""
    labels = judged.dataset.labels[judged.lists.rows]
    # `reduceat` misreads empty segments, so empty lists are left out
    starts = judged.lists.offsets[:-1][judged.lists.lengths > 0]
    return bool((np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)).any())


def _selects(spec: RankerSpec) -> str:
    """Remedy for a recipe that selects on validation lists; empty if it selects nothing.

    >>> from shuffleproof.core.rankers import registry
    >>> [_selects(registry.spec(name, "tuned")) for name in ("mart", "dlcm")]
    ['train without patience', 'train one epoch']
    >>> _selects(registry.spec("ranksvm", tried=8))
    'with one value of C (tried=1)'
    >>> _selects(registry.spec("lambdamart", "paper"))
    ''
    """
    recipe = spec.recipe()
    if recipe.get("training", {}).get("epochs", 1) > 1:
        return "train one epoch"
    if recipe.get("patience") is not None:
        return "train without patience"
    return "with one value of C (tried=1)" if recipe.get("tried", 1) > 1 else ""


def _selects_by_grades(spec: RankerSpec) -> bool:
    """True if the ranker learns from labels that differ only between queries."""
    training = spec.recipe().get("training")
    return _learns_grades(spec) and (not training or training["selection"] == "valid-loss")


def _learns_grades(spec: RankerSpec) -> bool:
    loss = spec.recipe().get("training", {}).get("loss", "")
    return bool(spec.name == "mart" or (loss in LOSSES and LOSSES[loss].absolute))
