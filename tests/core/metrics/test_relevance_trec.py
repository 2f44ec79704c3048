"""Measures of relevance against scikit-learn, pytrec_eval and trec_eval's own expected outputs."""

import gzip
from collections import defaultdict

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from tests import places

DATA = places.DATA / "trec_eval_testdata"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"real data absent: {DATA}")


def lines_of(name):
    with gzip.open(DATA / f"{name}.gz", "rt") as file:
        return [line.split() for line in file if line.strip()]


def published(run_name, depth=None):
    """One of trec_eval's test runs as lists; rows in falling order of names, as it ranks ties."""
    grades = {(topic, doc): int(grade) for topic, _, doc, grade in lines_of("qrels.test")}
    found = defaultdict(dict)
    for topic, _, doc, _, score, *_ in lines_of(run_name):
        found[topic][doc] = float(score)
    topics = sorted({topic for topic, _ in grades})
    labels, offsets, bounds, rows, scores = [], [0], [0], [], []
    for topic in topics:
        judged = {doc for other, doc in grades if other == topic}
        names = sorted(judged | set(found[topic]), reverse=True)
        run = [name for name in names if name in found[topic]]
        run = sorted(run, key=lambda name: -found[topic][name])[:depth]
        rows += [offsets[-1] + names.index(name) for name in run]
        scores += [found[topic][name] for name in run]
        labels += [grades.get((topic, name), -1) for name in names]
        offsets.append(len(labels))
        bounds.append(len(rows))
    empty = np.zeros((len(labels), 0), np.float32)
    dataset = RankingDataset(
        empty, np.array(labels, np.float32), np.array(offsets), tuple(topics), ()
    )
    lists = CandidateLists(
        offsets=np.array(bounds),
        queries=np.arange(len(topics)),
        rows=np.array(rows),
        ranks=np.zeros((len(rows), 0), np.int32),
        prior=np.zeros((len(rows), 0), np.float32),
    )
    return dataset, lists, np.array(scores, np.float32)


TEXT = {"runid", "relstring"}


@needs_data
@pytest.mark.parametrize("file", ["out.test", "out.test.a"])
def test_trec_evals_own_expected_means(file):
    dataset, lists, scores = published("results.test")
    lines = [line for line in lines_of(file) if line[0] not in TEXT]
    measures = [Measure.parse(name, {"ties": "row"}) for name, _, _ in lines]
    for (name, topic, value), measure, values in zip(
        lines, measures, evaluate(measures, dataset, lists, scores), strict=True
    ):
        assert topic == "all"
        assert mean_of(measure, values) == pytest.approx(float(value), abs=5.1e-5), name
    assert len(lines) == (29 if file == "out.test" else 98)


@needs_data
def test_trec_evals_own_expected_values_of_a_truncated_run():
    """Options -q -c -M100: each topic, missing ones too, and only the first 100 documents."""
    dataset, lists, scores = published("results.trunc", depth=100)
    assert 0 in lists.lengths
    lines = [line for line in lines_of("out.test.aqcM") if line[0] not in TEXT]
    measures = {name: Measure.parse(name, {"ties": "row"}) for name, _, _ in lines}
    found = evaluate(list(measures.values()), dataset, lists, scores)
    values = dict(zip(measures, found, strict=True))
    for name, topic, value in lines:
        of_topics = dict(zip(dataset.query_ids, values[name].tolist(), strict=True))
        of_topics["all"] = mean_of(measures[name], values[name])
        assert of_topics[topic] == pytest.approx(float(value), abs=5.1e-5), (name, topic)
    assert len(measures) == 98
