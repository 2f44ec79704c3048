import dataclasses
import json

import numpy as np
import pytest

from shuffleproof.core.data import catalogue, examination
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests.core.data.test_browse import made


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def data(store, tmp_path):
    generator = np.random.default_rng(5)
    rows = [
        f"{generator.integers(0, 3)} qid:{row // 7} 1:{generator.random():.3f} 2:7 "
        f"3:{row // 7} 4:{generator.random() * 1e6:.1f} 5:1.79e308"
        for row in range(210)
    ]
    (tmp_path / "whole.txt").write_text("\n".join(rows))
    (artefact,) = run_to_end(catalogue.ingest(tmp_path / "whole.txt", "whole", store))
    return artefact


def test_an_examination_is_made_once_and_reads_back_equal(store, data):
    assert examination.find(data.facts["fingerprint"], store) is None
    made_now = run_to_end(examination.examine(data, store))
    assert examination.find(data.facts["fingerprint"], store) == made_now
    assert run_to_end(examination.examine(data, store)) == made_now
    assert len(list(store.artefacts("examination"))) == 1
    examination.forget(data.facts["fingerprint"], store)
    assert examination.find(data.facts["fingerprint"], store) is None


def test_the_facts_are_the_counted_ones(store, data):
    from shuffleproof.core.data import mapped_file

    fold = mapped_file.open_fold(data.path)
    found = run_to_end(examination.examine(data, store))
    for name, facts in found.parts.items():
        part = getattr(fold, name)
        assert (facts.queries, facts.documents) == (part.queries, part.documents)
        assert dict(facts.labels) == {
            label: int((part.labels == label).sum()) for label in set(part.labels.tolist())
        }
        assert dict(facts.lengths) == {7: part.queries}
        for place, feature in enumerate(facts.features):
            values = part.features[:, place].astype(np.float64)
            assert (feature.low, feature.high) == (values.min(), values.max())
            assert feature.mean == pytest.approx(values.mean())
            assert feature.quantiles == pytest.approx(
                np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
            )
            assert sum(feature.counts) == part.documents
            if len(feature.counts) > 1:
                edges = np.histogram_bin_edges(values, 24)
                assert np.abs(np.histogram(values, edges)[0] - feature.counts).sum() <= 2
    marks = [tuple(feature.marks) for feature in found.parts["train"].features]
    assert marks == [
        (),
        ("constant",),
        ("same within each query",),
        ("huge",),
        ("constant", "largest float32"),
    ]


def test_findings_name_their_part_and_queries(store, data):
    found = run_to_end(examination.examine(data, store))
    assert {finding.part for finding in found.findings} <= {"", "train", "valid", "test"}
    for finding in found.findings:
        queries = found.parts[finding.part or "train"].queries
        assert all(0 <= query < queries for query in finding.queries)


def test_a_damaged_examination_is_made_again(store, data):
    made_now = run_to_end(examination.examine(data, store))
    (artefact,) = store.artefacts("examination")
    (artefact.path / examination.FILE).write_text("{")
    assert examination.find(data.facts["fingerprint"], store) is None
    assert run_to_end(examination.examine(data, store)) == made_now


def test_rows_are_sampled_evenly_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(examination, "SAMPLED", 4)
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    facts = examination.part_facts(dataclasses.replace(made([7, 3]), features=rows))
    assert (facts.looked_at, facts.documents, sum(facts.features[0].counts)) == (4, 10, 4)
    assert facts.features[0].mean == np.mean([0, 6, 12, 18])


def test_empty_parts_have_facts_too():
    facts = examination.part_facts(made([0]))
    assert facts.features == ()
    assert facts.lengths == ((0, 1),)
    json.dumps(dataclasses.asdict(facts), allow_nan=False)
