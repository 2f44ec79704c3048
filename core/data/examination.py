"""Examination of a stored data set: facts, the doctor's findings, and distributions.

Made once, after ingestion, and kept in the store under the fingerprint of what was examined, so
that a page shows it without reading the matrix. Plain JSON values throughout.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import doctor, doctor_counts, mapped_file
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.doctor import HUGE, LARGEST, Finding
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact

KIND = "examination"
VERSION = 6  # of what is examined; raise it when a finding or a figure is added
FILE = "examination.json"
SAMPLED = 200_000
BINS = 24
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class FeatureFacts:
    """The values of one feature in one part."""

    feature: int  # its id
    low: float  # the smallest value
    high: float  # the largest value
    mean: float  # over the rows looked at
    zeros: float  # the share of the rows looked at that are 0
    quantiles: Sequence[float]  # at 5, 25, 50, 75 and 95 %
    counts: Sequence[int]  # rows looked at in 24 bins of equal width from `low` to `high`
    marks: Sequence[str]  # "constant", "same within each query", "largest float32", "huge"


@dataclass(frozen=True)
class PartFacts:
    """Facts of one part."""

    queries: int  # how many
    documents: int  # how many
    labels: Sequence[Sequence[float]]  # documents by label, as (label, documents)
    lengths: Sequence[Sequence[int]]  # queries by list length, as (documents, queries)
    relevant: int  # queries with a relevant document
    looked_at: int  # number of evenly spaced rows for means, quantiles and bins
    features: Sequence[FeatureFacts]  # one entry a feature


@dataclass(frozen=True)
class Examination:
    """A fold examined: `parts` has train, valid and test; findings, the gravest first."""

    fingerprint: str
    parts: Mapping[str, PartFacts]
    findings: tuple[Finding, ...]


def find(fingerprint: str, store: Store) -> Examination | None:
    """The examination of the fold of this fingerprint, if there is one and it is whole."""
    try:
        artefact = store.find(key_for(fingerprint))
    except ArtefactError:  # damaged: it can be made again
        store.remove(key_for(fingerprint))
        return None
    return None if artefact is None else _open(artefact)


def examine(data: Artefact, store: Store) -> Generator[Progress, None, Examination]:
    """Examine an artefact of kind `data`, or find its stored examination."""
    key = key_for(data.facts["fingerprint"])
    if (earlier := find(data.facts["fingerprint"], store)) is not None:  # removes a damaged one
        return earlier
    with store.found_or_locked(key) as found:
        if found is not None:
            return _open(found)
        fold = mapped_file.open_fold(data.path)
        parts = {}
        for count, part in enumerate(mapped_file.PARTS):
            yield Progress(count, len(mapped_file.PARTS) + 1, "parts examined")
            parts[part] = part_facts(getattr(fold, part))
        yield Progress(len(parts), len(parts) + 1, "parts examined")
        examination = Examination(fold.fingerprint, parts, tuple(doctor.examine_fold(fold)))
        text = json.dumps(examination, default=vars, separators=(",", ":"), allow_nan=False)

        def write(folder: Path) -> None:
            (folder / FILE).write_text(text, encoding="utf-8")

        return _open(store.add(key, {"of": fold.fingerprint, "version": VERSION}, write))


def forget(fingerprint: str, store: Store) -> None:
    """Remove the examination of a fold that is removed itself."""
    if store.find(key_for(fingerprint)) is not None:
        store.remove(key_for(fingerprint))


def part_facts(dataset: RankingDataset) -> PartFacts:
    """Everything counted in one part."""
    labels, counts = np.unique(dataset.labels, return_counts=True)
    lengths, queries = np.unique(np.diff(dataset.offsets), return_counts=True)
    owner = np.searchsorted(dataset.offsets, np.flatnonzero(dataset.labels > 0), side="right")
    sample = _some_rows(dataset)
    return PartFacts(
        queries=dataset.queries,
        documents=dataset.documents,
        labels=tuple(zip(labels.tolist(), counts.tolist(), strict=True)),
        lengths=tuple(zip(lengths.tolist(), queries.tolist(), strict=True)),
        relevant=len(np.unique(owner)),
        looked_at=len(sample),
        features=_feature_facts(dataset, sample),
    )


def _some_rows(dataset: RankingDataset) -> Float32[np.ndarray, "some features"]:
    if dataset.documents <= SAMPLED:
        return dataset.features
    return dataset.features[np.linspace(0, dataset.documents - 1, SAMPLED).astype(np.int64)]


def _feature_facts(
    dataset: RankingDataset, sample: Float32[np.ndarray, "some features"]
) -> tuple[FeatureFacts, ...]:
    if not dataset.documents:
        return ()
    low, high, varying = doctor_counts.columns(dataset)
    facts = []
    for column, feature in enumerate(dataset.feature_ids):
        values = sample[:, column].astype(np.float64)
        lowest, highest = float(low[column]), float(high[column])
        quantiles, counted = np.full(5, lowest), np.array([len(values)])
        if lowest < highest:
            quantiles = np.quantile(values, QUANTILES)
            counted, _ = np.histogram(values, BINS, (lowest, highest))
        facts.append(
            FeatureFacts(
                feature=feature,
                low=lowest,
                high=highest,
                mean=float(values.mean()),
                zeros=float((values == 0).mean()),
                quantiles=tuple(quantiles.tolist()),
                counts=tuple(counted.tolist()),
                marks=_marks(lowest, highest, int(varying[column])),
            )
        )
    return tuple(facts)


def _marks(low: float, high: float, varying: int) -> tuple[str, ...]:
    size = max(abs(low), abs(high))
    checks = {
        "constant": low == high,
        "same within each query": varying == 0 and low != high,
        "largest float32": size >= LARGEST,
        "huge": HUGE < size < LARGEST,
    }
    return tuple(mark for mark, holds in checks.items() if holds)


def key_for(fingerprint: str) -> ArtefactKey:
    """Key of the examination of the fold of this fingerprint."""
    return key_of(KIND, {"version": VERSION}, (fingerprint,))


def _open(artefact: Artefact) -> Examination:
    content = json.loads((artefact.path / FILE).read_text(encoding="utf-8"))
    parts = {
        name: PartFacts(
            **part | {"features": [FeatureFacts(**facts) for facts in part["features"]]}
        )
        for name, part in content["parts"].items()
    }
    findings = (
        Finding(**finding | {"queries": tuple(finding["queries"])})
        for finding in content["findings"]
    )
    return Examination(content["fingerprint"], parts, tuple(findings))
