"""Rankers of user code: whatever scores or learns in a notebook is asked one list at a time."""

import numpy as np
import pytest

from shuffleproof.core import user_code
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ArtefactError, DataError, UsageError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import fit_or_load
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.outside.user_rankers import Lists, name_of, open_ranker, ranker, spec
from shuffleproof.core.store.artefacts import Store
from tests.core.perturb.test_perturb_feasibility import judged_lists

FEATURES = judged_lists().dataset.features.shape[1]
WEIGHTS = np.linspace(1, 2, FEATURES)


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})


def of_two(features, ranks):
    return features @ WEIGHTS - ranks[:, 0]


def of_three(features, mask, ranks):
    assert mask.shape == features.shape[:2]
    return features @ WEIGHTS - ranks[:, :, 0]


class WithScore:
    def score(self, features, ranks):
        return of_two(features, ranks)[:, None]


def network():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.Parameter(torch.tensor(WEIGHTS, dtype=torch.float32))
            self.dropout = torch.nn.Dropout(0.9)

        def forward(self, features, ranks):
            return self.dropout(features @ self.weights - ranks[:, 0])

    return Net()


def linear():
    found = pytest.importorskip("sklearn.linear_model").LinearRegression(fit_intercept=False)
    return found.fit(np.eye(FEATURES), WEIGHTS)


def rows():
    generator = np.random.default_rng(3)
    return generator.random((80, FEATURES)).astype(np.float32), generator.integers(0, 3, 80)


def lightgbm_trees():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.train({"verbose": -1}, lightgbm.Dataset(*rows()), 3)


def xgboost_trees():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.train({}, xgboost.DMatrix(*rows()), 3)


def classifier():
    return pytest.importorskip("sklearn.linear_model").LogisticRegression().fit(*rows())


BOTH = {
    "a function": lambda: of_two,
    "a lambda": lambda: lambda features, ranks: features @ WEIGHTS - ranks[:, 0],
    "features, mask, ranks": lambda: of_three, "an object": WithScore, "a network": network,
}  # fmt: skip
ALONE = {
    "features alone": (lambda: lambda features: features @ WEIGHTS, lambda x: x @ WEIGHTS),
    "predict": (linear, lambda x: x @ WEIGHTS),
    "LightGBM": (lightgbm_trees, lambda x: lightgbm_trees().predict(x)),
    "XGBoost": (xgboost_trees, lambda x: xgboost_trees().inplace_predict(x)),
    "expected grades": (classifier, lambda x: classifier().predict_proba(x) @ [0, 1, 2]),
}


@pytest.mark.parametrize("what", [*BOTH, *ALONE])
def test_every_kind_of_object_is_asked_list_by_list(what):
    judged = judged_lists()
    features, ranks = judged.dataset.features[judged.lists.rows], judged.lists.ranks
    thing, due = (BOTH[what](), of_two(features, ranks)) if what in BOTH else (
        ALONE[what][0](), ALONE[what][1](features))  # fmt: skip
    found = open_ranker(name_of(thing))
    np.testing.assert_allclose(found.score(judged.dataset, judged.lists), due, rtol=1e-5)
    assert found.reads == {"features", "order", "ranks", "neighbours"}, "nothing is assumed"


def test_a_network_stays_in_the_mode_that_it_was_in():
    net = network().train()
    judged = judged_lists()
    found = open_ranker(name_of(net))
    scores = [found.score(judged.dataset, judged.lists) for _ in range(2)]
    assert scores[0].tolist() == scores[1].tolist(), "dropout is off"
    assert net.training


def failing(features, ranks):
    return 1 / 0 * features + ranks


@pytest.mark.parametrize(("function", "message"), [
    (failing, r"failed: ZeroDivisionError: .*test_user_rankers.py:\d+ in failing\). Correct it"),
    (lambda _: None, "it returned an object of type NoneType. Expected"),
    (lambda features: np.full(len(features), np.nan), "it returned nan for document 1"),
])  # fmt: skip
def test_errors_name_the_query_and_the_line(function, message):
    judged = judged_lists()
    with pytest.raises(DataError, match=message) as told:
        open_ranker(name_of(function)).score(judged.dataset, judged.lists)
    assert "query " in str(told.value)


def test_names_come_from_what_is_named_and_digits_from_what_it_holds():
    assert name_of(of_two) == "python:of_two"
    lambdas = [lambda features: features[:, 0], lambda features: features[:, 1]]
    first = name_of(lambdas[0])
    assert first == name_of(lambdas[0]) != name_of(lambdas[1])
    net = network()
    before = name_of(net)
    net.weights.data += 1
    assert name_of(net) != before
    assert name_of("mart") == "mart"
    name = RankerName.parse(first)
    assert name.kind is Kind.OBJECT
    assert name.is_from_outside
    assert str(name) == first
    assert name.display == first.removeprefix("python:")


def test_what_cannot_be_a_ranker_is_refused_with_a_remedy():
    for thing in (3, object(), object, None):
        with pytest.raises(UsageError, match="cannot be a ranker: give a function"):
            name_of(thing)
    with pytest.raises(UsageError, match=r"it needs depth; .*; write score\(features"):
        name_of(lambda features, depth: features * depth)
    for name in ("mart", "DLCM", "file-order"):
        with pytest.raises(UsageError, match="choose another name"):
            ranker(name, of_two)
    with pytest.raises(UsageError, match="takes no parameters: leave them out"):
        ranker("mine", of_two, depth=3)
    for ask in (open_ranker, spec):
        with pytest.raises(UsageError, match="not registered in this process"):
            ask("python:gone")


class Linear:
    """A linear score by least squares on the grades; chance is added to tell seeds apart."""

    made = 0

    def __init__(self, penalty=1.0):
        type(self).made += 1
        self.penalty = penalty

    def fit(self, train, valid, seed=0):
        assert isinstance(train, Lists)
        assert train.lengths.sum() == len(train.features) == len(train.labels) == len(train.ranks)
        assert len(valid) == len(valid.query_ids)
        squares = train.features.T @ train.features + self.penalty * np.eye(train.features.shape[1])
        self.weights = np.linalg.solve(squares, train.features.T @ train.labels) + 0.1 * seed

    def score(self, features, ranks):
        del ranks
        return features @ self.weights


class Kept(Linear):
    def save(self, directory):
        np.save(directory / "weights.npy", self.weights)

    @classmethod
    def load(cls, directory):
        found = cls()
        found.weights = np.load(directory / "weights.npy")
        return found


def fitted(name, store, **changes):
    judged = judged_lists((6, 5))
    return run_to_end(fit_or_load(spec(name, **changes), judged, judged, "all", store))


@pytest.mark.parametrize("kind", [Linear, Kept])
def test_what_can_be_fitted_is_fitted_once_and_stored_where_it_can_be(kind, tmp_path):
    store, judged = Store(tmp_path), judged_lists((6, 5))
    name = ranker("lin", kind, penalty=2.0)
    before = kind.made
    first, again = fitted(name, store), fitted(name, store)
    assert kind.made - before == 1 + (kind is Kept and again.fitted is not None)
    assert bool(list(store.artefacts("ranker"))) == (kind is Kept)
    scores = [one.ranker.score(judged.dataset, judged.lists).tolist() for one in (first, again)]
    assert scores[0] == scores[1]
    other = fitted(name, store, seed=1)
    assert other.artefact.key != first.artefact.key
    ranker("lin", kind, penalty=3.0)
    assert fitted(name, store).artefact.key != first.artefact.key, "other parameters, another key"


def test_a_stored_one_is_opened_by_its_registered_class_alone(tmp_path, monkeypatch):
    store = Store(tmp_path)
    kept = fitted(ranker("lin", Kept), store)
    monkeypatch.setattr(user_code, "_REGISTERED", {})
    with pytest.raises(ArtefactError, match="not registered in this process"):
        registry.load(kept.artefact.path)
    assert store.find(kept.artefact.key).recipe["ranker"]["name"] == "python:lin"


def test_models_of_a_frame_are_matched_by_name():
    """Of LightGBM, XGBoost and scikit-learn; their columns have another order than the data."""
    import lightgbm
    import pandas as pd
    import xgboost
    from sklearn.linear_model import LinearRegression

    chance = np.random.default_rng(0)
    cells = chance.random((40, 3)).astype(np.float32)
    bits = np.packbits(chance.random((40, 3)) < 0.2, axis=1)
    absent = np.unpackbits(bits, axis=1, count=3).astype(bool)
    cells[absent] = 0
    dataset = RankingDataset(
        cells, np.zeros(40, np.float32), np.arange(0, 41, 8), tuple("abcde"), (1, 2, 5),
        feature_names=("x", "y", "z"), absent=bits,
    )  # fmt: skip
    lists = CandidateLists.all_documents(dataset)
    frame = pd.DataFrame(cells, columns=["x", "y", "z"])[["z", "x", "y"]]
    gaps = pd.DataFrame(np.where(absent, np.nan, cells), columns=["x", "y", "z"])[["z", "x", "y"]]
    grades = frame["z"] * 3 - frame["x"]
    settings = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2}
    boosted = xgboost.DMatrix(gaps, grades)
    models = {
        "mart": (lightgbm.train(settings, lightgbm.Dataset(frame, grades), 5), frame),
        "mart2": (lightgbm.LGBMRegressor(n_estimators=5, **settings).fit(frame, grades), frame),
        "boost": (xgboost.train({"nthread": 1}, boosted, 5), boosted),
        "boost2": (xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(gaps, grades), gaps),
        "linear": (LinearRegression().fit(frame, grades), frame),
    }
    for name, (model, given) in models.items():
        opened = open_ranker(ranker(f"of-frame-{name}", model))
        np.testing.assert_allclose(opened.score(dataset, lists), model.predict(given), rtol=1e-5)
    arrays = LinearRegression().fit(frame.to_numpy(), grades)
    name = ranker("arrays", arrays, columns="names")
    with pytest.raises(DataError, match="its columns have no names"):
        open_ranker(name).score(dataset, lists)
    with pytest.raises(UsageError, match="rule for columns"):
        ranker("odd", arrays, columns="alphabet")
    with pytest.raises(UsageError, match="takes no parameters"):
        ranker("none", lambda features: features[:, 0], columns="id")
