"""Runs from outside, judged: any number of TREC runs compared like trained rankers.

There are no features and no ranker to ask again: what is compared is what the runs retrieved. The
result is a benchmark of one seed and one fold, so that its table, tests and pictures are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.data import ragged, trec
from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists
from core.data.text import TextColumn
from core.data.trec import Run
from core.errors import DataError
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate
from core.store.artefacts import Store
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import conventions
from core.studies.benchmark import GROUPS, KIND
from core.studies.result import StudyResult

OUTSIDE = GROUPS[-1]
MEASURES = ("NDCG@10", "AP", "P@10", "RR")


@dataclass(frozen=True)
class Judged:
    """Judgments and runs over the same topics.

    Attributes:
        dataset: a document a row, without features: all that were judged or retrieved.
        lists: what each run retrieved, by its name; topics that it lacks are empty lists.
        scores: of each run's candidates.
    """

    dataset: RankingDataset
    lists: Mapping[str, CandidateLists]
    scores: Mapping[str, Any]


def judged(qrels: Mapping[str, Mapping[str, int]], runs: Mapping[str, Run]) -> Judged:
    """Lay runs over judgments: every judged topic counts, retrieved or not.

    Negative grades are no relevance; unjudged documents have grade 0.

    Args:
        qrels: grade by topic and document.
        runs: by name.

    Raises:
        DataError: no topic of the runs is judged.
    """
    topics = sorted(qrels)
    if not any(topic in run.scores for topic in topics for run in runs.values()):
        raise DataError(
            "qrels", "no topic of the runs is judged in it", "Give their own judgments."
        )
    documents = [
        sorted(
            {*qrels[topic], *(one for run in runs.values() for one in run.scores.get(topic, ()))}
        )
        for topic in topics
    ]
    offsets = ragged.offsets_of(np.array([len(found) for found in documents], dtype=np.int64))
    names = [name for found in documents for name in found]
    labels = [
        max(0, qrels[topic].get(name, 0))
        for topic, found in zip(topics, documents, strict=True)
        for name in found
    ]
    dataset = RankingDataset(
        features=np.zeros((len(names), 0), dtype=np.float32),
        labels=np.array(labels, dtype=np.float32),
        offsets=offsets,
        query_ids=tuple(topics),
        feature_ids=(),
        doc_ids=TextColumn.of(names),
    )
    places = [
        {name: start + index for index, name in enumerate(found)}
        for start, found in zip(offsets[:-1].tolist(), documents, strict=True)
    ]
    lists, scores = {}, {}
    for label, run in runs.items():
        lists[label], scores[label] = _retrieved(run, topics, places)
    return Judged(dataset, lists, scores)


def compared(qrels: Path, runs: Sequence[Path], measures: Sequence[str] = MEASURES) -> StudyResult:
    """Read judgments and runs and measure every topic of every run.

    Args:
        qrels: the judgments' file.
        runs: the runs' files; a run is called by its tag, or by its file where tags repeat.
        measures: as text.

    Raises:
        LetorError, DataError: a file that is malformed, or runs that are not judged.
    """
    named = _named([(path, trec.read_run(path)) for path in runs])
    whole = judged(trec.read_qrels(qrels), named)
    texts = tuple(str(Measure.parse(text)) for text in measures)
    stored = conventions.kept(texts)
    parsed = [Measure.parse(text) for text in stored]
    values = [
        evaluate(parsed, whole.dataset, whole.lists[label], whole.scores[label]) for label in named
    ]
    sizes = [float(whole.lists[label].lengths.mean()) for label in named]
    trials = pd.DataFrame(
        {
            "ranker": list(named),
            "family": KIND,
            "level": 0.0,
            "draw": 0,
            "tau": 1.0,
            "set_size": sizes,
            "seconds": 0.0,
        }
    )
    recipe = {
        "kind": KIND,
        "runs": {label: _digest(run) for label, run in named.items()},
        "qrels": whole.dataset.fingerprint,
        "measures": list(texts),
        "stored": list(stored),
    }
    topics = len(whole.dataset.query_ids)
    facts = {
        "data": qrels.name,
        "folds": [{"name": qrels.name, "start": 0, "stop": topics}],
        "fingerprints": [],
        "queries": topics,
        "groups": dict.fromkeys(named, OUTSIDE),
        "missing": {label: int((whole.lists[label].lengths == 0).sum()) for label in named},
    }
    return StudyResult(
        recipe, trials, np.stack(values).astype(np.float32), whole.dataset.query_ids, facts
    )


def keep(result: StudyResult, store: Store) -> Artefact:
    """Store a comparison like any study; the same files give the same one."""
    key = key_of("study", result.recipe)
    return store.add(key, result.recipe, result.save, result.facts)


def _retrieved(
    run: Run, topics: Sequence[str], places: Sequence[Mapping[str, int]]
) -> tuple[CandidateLists, Any]:
    rows, scores, lengths = [], [], []
    for topic, place in zip(topics, places, strict=True):
        found = run.scores.get(topic, {})
        rows += [place[name] for name in found]
        scores += list(found.values())
        lengths.append(len(found))
    count = len(rows)
    lists = CandidateLists(
        offsets=ragged.offsets_of(np.array(lengths, dtype=np.int64)),
        queries=np.arange(len(topics), dtype=np.int64),
        rows=np.array(rows, dtype=np.int64),
        ranks=np.zeros((count, 0), dtype=np.int32),
        prior=np.zeros((count, 0), dtype=np.float32),
    )
    return lists, np.array(scores, dtype=np.float32)


def _named(runs: Sequence[tuple[Path, Run]]) -> dict[str, Run]:
    tags = [run.tag for _, run in runs]
    return {
        run.tag if run.tag and tags.count(run.tag) == 1 else path.name: run for path, run in runs
    }


def _digest(run: Run) -> str:
    return key_of("run", {topic: dict(found) for topic, found in run.scores.items()}).digest
