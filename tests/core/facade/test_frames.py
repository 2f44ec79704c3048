"""Data frames as data sets: the same as files of the same content, or a refusal with a remedy."""

import numpy as np
import pandas as pd
import pytest

import shuffleproof as sp
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.frames import dataset_of
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.outside.file_ranker import file_ranker
from shuffleproof.core.rankers.outside.user_rankers import open_ranker, ranker
from shuffleproof.core.store.artefacts import Store

CHANCE = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "bm25": CHANCE.normal(size=60),
        "qid": [f"t{place % 6}" for place in range(60)],  # queries that are not consecutive
        "label": CHANCE.integers(0, 3, 60),
        "docid": [f"D{place}" for place in range(60)],
        "length": CHANCE.integers(1, 1000, 60),
    },
    index=pd.RangeIndex(100, 160),
)


def opened(data, root, **more):
    return sp.open(data, store=root, preset="small", progress=False, **more)


def test_a_frame_is_the_data_set_that_its_rows_are(tmp_path):
    parts = {"train": FRAME[:36], "valid": FRAME[36:48], "test": FRAME[48:]}
    renamed = FRAME.rename(columns={"qid": "topic", "label": "clicks"})
    called = {"query": "topic", "label": "clicks"}
    split, found = opened(FRAME, tmp_path), opened(parts, tmp_path)
    assert opened(renamed, tmp_path, columns=called).scope.data == split.scope.data
    store = Store(tmp_path)
    test = catalogue.resolve(found.scope.data, store).test
    for place, query in enumerate(test.query_ids):
        rows = slice(*test.offsets[place : place + 2])
        own = parts["test"][parts["test"]["qid"] == query]
        np.testing.assert_array_equal(
            test.features[rows], own[["bm25", "length"]].to_numpy(np.float32)
        )
        np.testing.assert_array_equal(test.labels[rows], own["label"].to_numpy(np.float32))
        assert list(test.doc_ids)[rows] == list(own["docid"])
    write(test, tmp_path / "test.txt")
    again = {part: tmp_path / f"{part}.txt" for part in parts}
    for part in ("train", "valid"):
        write(getattr(catalogue.resolve(found.scope.data, store), part), again[part])
    by_files = sp.ingest(None, "files", store=tmp_path, progress=False, **again)
    by_frames = sp.ingest(parts, "frames", store=tmp_path, progress=False)
    named = {"train": "train", "valid": "validation", "test": "test"}
    whole = pd.concat([frame.assign(part=named[part]) for part, frame in parts.items()])
    by_column = opened(whole, tmp_path)
    kept = [store.resolve(one.scope.data, "data").facts["fingerprint"]
            for one in (by_files, by_frames, by_column, found)]  # fmt: skip
    assert len(set(kept)) == 1


def test_whole_numbers_that_gaps_made_floats_name_the_same_queries():
    numbers = FRAME.assign(qid=FRAME["qid"].str[1:].astype(float) + 10_002)
    dataset = dataset_of("a frame", numbers, {})
    assert dataset.query_ids == tuple(str(10_002 + place) for place in range(6))
    halves = dataset_of("a frame", numbers.assign(qid=numbers["qid"] + 0.5), {})
    assert halves.query_ids[0] == "10002.5"


@pytest.mark.parametrize(
    ("data", "columns", "words"),
    [
        (FRAME.drop(columns="label"), None, "no column for the label.*columns={'label'"),
        (FRAME.assign(grade=1), None, "for the label .label, grade.*one, or say.*columns={'label'"),
        (FRAME, {"query": "topic"}, "no column topic for the query. Name one of bm25"),
        (FRAME, {"topic": "qid"}, "it must be a name for query, label or document"),
        (FRAME.assign(title="a"), None, "column title holds .* drop it or encode it"),
        (FRAME.assign(bm25=FRAME["bm25"].where(FRAME.index > 101)), None, r"bm25 is nan \(2 rows"),
        (FRAME.assign(label=np.nan), None, "of column label is nan.*leave the row out"),
        (FRAME.assign(bm25=np.inf), None, "row 100 of column bm25 is inf"),
        (FRAME.assign(qid=None), None, "row 100 has no query"),
        (FRAME[:0], None, "no rows"),
        (FRAME[["qid", "label"]], None, "no columns of features"),
        ({"train": FRAME}, None, "as train, valid, test"),
        (FRAME.assign(qid="a b"), None, "qid is 1 to 255 bytes without blanks"),
        (3, None, "a path, a name or a pandas frame"),
    ],
)  # fmt: skip
def test_what_is_no_data_set_is_refused(data, columns, words, tmp_path):
    with pytest.raises(ShuffleproofError, match=words):
        opened(data, tmp_path, columns=columns)


def test_missing_cells_stay_missing_for_models_that_know_them(tmp_path):
    """Of LightGBM, by object and by file, XGBoost and scikit-learn; a linear model reads 0."""
    import lightgbm
    import xgboost
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression

    names = ["bm25", "length"]
    gaps = FRAME.astype({"length": float}).sort_values("qid", kind="stable")
    gaps[names] = gaps[names].mask(CHANCE.random((60, 2)) < 0.3)
    cells, zeros, grades = gaps[names], gaps[names].fillna(0), gaps["bm25"].isna() * 2.0
    settings = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2}
    booster = lightgbm.train(settings, lightgbm.Dataset(cells, grades), 5)
    booster.save_model(tmp_path / "model.txt")
    forest = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2)
    models = {
        "lightgbm": (booster, cells),
        "xgboost": (xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(cells, grades), cells),
        "forest": (forest.fit(cells, grades), cells),
        "linear": (LinearRegression().fit(zeros, grades), zeros),
    }
    parts = dict.fromkeys(("train", "valid", "test"), gaps)
    sp.ingest(parts, "gaps", store=tmp_path, progress=False, nulls="missing")
    test = catalogue.resolve("gaps", Store(tmp_path)).test
    lists = CandidateLists.all_documents(test)
    assert not test.features[gaps[names].isna().to_numpy()].any()
    for part in (test, test.select(np.arange(test.queries))):
        for name, (model, given) in models.items():
            scores = open_ranker(ranker(f"gaps-{name}", model)).score(part, lists)
            np.testing.assert_allclose(scores, model.predict(given), rtol=1e-5, err_msg=name)
    by_file = file_ranker("lightgbm", str(tmp_path / "model.txt"), test).score(test, lists)
    np.testing.assert_allclose(by_file, booster.predict(cells), rtol=1e-5)
    assert np.ptp(booster.predict(zeros) - booster.predict(cells)) > 0.1
    sp.ingest(parts, "zeros", store=tmp_path, progress=False, nulls="zero")
    filled = catalogue.resolve("zeros", Store(tmp_path)).test
    assert filled.absent is None
    scores = open_ranker(ranker("gaps-filled", booster)).score(filled, lists)
    np.testing.assert_allclose(scores, booster.predict(zeros), rtol=1e-5)
