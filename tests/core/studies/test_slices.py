"""Slices: what queries have in common, against counting by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.display_texts import DisplayTexts
from shuffleproof.core.metrics.significance import holm
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import slices


@pytest.fixture(scope="module")
def dataset():
    """Five queries, one without a document, one id twice."""
    lengths, labels = [2, 0, 3, 1, 4], [0, 2, 1, 0, 1, 0, 0, 3, 0, 3]
    return RankingDataset(
        features=np.zeros((10, 1), np.float32), labels=np.array(labels, np.float32),
        offsets=np.append(0, np.cumsum(lengths)), query_ids=("a", "b", "c", "c", "d"),
        feature_ids=(1,),
    )  # fmt: skip


def test_the_facts_of_queries(dataset):
    facts = slices.query_facts(dataset)
    assert facts.to_dict("index") == {
        "a": {"documents": 2, "relevant documents": 1, "highest grade": 2},
        "b": {"documents": 0, "relevant documents": 0, "highest grade": 0},
        "c": {"documents": 3, "relevant documents": 2, "highest grade": 1},
        "d": {"documents": 4, "relevant documents": 2, "highest grade": 3},
    }


def test_words_and_tags_are_facts_where_side_files_say_them(dataset):
    said = pd.DataFrame({"text": ["heat flow", "one"], "tag": ["head", "tail"]}, index=["a", "d"])
    facts = slices.query_facts(dataset, DisplayTexts(pd.DataFrame(), said))
    assert facts["words"].to_dict() == {"a": 2, "b": 0, "c": 0, "d": 1}
    assert facts["tag"].to_dict() == {"a": "head", "b": "none", "c": "none", "d": "tail"}
    nothing = said.assign(text="", tag="")
    assert "words" not in slices.query_facts(dataset, DisplayTexts(pd.DataFrame(), nothing))


def test_slices_are_tested_together_as_scipy_tests_each():
    draw = generator(0, "slices")
    queries = [f"q{place}" for place in range(60)]
    change = draw.normal(-0.02, 0.1, 60)
    change[7] = np.nan
    of = pd.Series(draw.integers(1, 200, 60), queries, name="documents")
    frame = slices.slice_table([*queries, "unknown"], np.append(change, 9.0), of)
    assert len(frame) == slices.PARTS
    assert frame["n"].sum() == 59
    bounds = [tuple(map(int, name.split()[0:3:2])) for name in frame["slice"]]
    assert bounds == sorted(bounds)
    raw = []
    for (low, high), row in zip(bounds, frame.itertuples(), strict=True):
        own = change[of.between(low, high).to_numpy() & ~np.isnan(change)]
        assert (len(own), own.mean()) == (row.n, pytest.approx(row.mean))
        raw.append(ttest_1samp(own, 0).pvalue)
    assert frame["p"].to_numpy() == pytest.approx(holm(np.array(raw)))
    assert ((frame["high"] < 0) | (frame["low"] > 0)).tolist() == (frame["p"] <= 0.05).tolist()


def test_many_tags_are_the_common_ones_and_others():
    of = pd.Series([*"aaabbbccddeeffgghhijk"], [str(n) for n in range(21)], name="tag")
    frame = slices.slice_table(list(of.index), np.zeros(21), of)
    assert len(frame) == slices.TAGS + 1
    assert frame.set_index("slice")["n"]["others"] == 3
    assert slices.in_words(frame, "AP") == ""


def test_nothing_to_slice():
    assert slices.slice_table([], np.zeros(0), pd.Series(dtype=float, name="documents")).empty
    assert slices.in_words(pd.DataFrame(columns=["mean"]), "AP") == ""
