"""Normalisations: hand formulas, scikit-learn, extremes, and that nothing but train is read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from shuffleproof.core.data import features as normalising
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import NORMALISATIONS, Normalisation, fit
from shuffleproof.core.errors import ShapeError, UnknownNameError
from tests.core.data.test_doctor import make

KINDS = sorted(NORMALISATIONS)
FITTED = sorted(set(KINDS) - {"none"})
PER_QUERY = ["query-min-max", "query-z-score"]
HUGE = float(np.finfo(np.float32).max)


def dataset(features: np.ndarray, lengths: list[int] | None = None) -> RankingDataset:
    return make(features, np.zeros(len(features)), lengths or [len(features)])


def normalised(kind: str, train: RankingDataset, other: RankingDataset | None = None) -> np.ndarray:
    other = other or train
    return fit(kind, train).apply(other.features, other.offsets)


@pytest.fixture
def drawn() -> RankingDataset:
    generator = np.random.default_rng(3)
    return dataset(generator.lognormal(0, 3, (300, 5)) - 1, [100, 0, 1, 199])


extreme = npst.arrays(
    np.float32,
    st.tuples(st.integers(0, 7), st.integers(1, 3)),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True)
    | st.sampled_from([0.0, HUGE, -HUGE, 1e-45, -1e-45]),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(values=extreme, other=extreme)
def test_any_cells_give_finite_float32_without_warnings(kind, values, other):
    train = dataset(values, [len(values) // 2, 0, len(values) - len(values) // 2])
    before = values.copy()
    result = normalised(kind, train)
    assert result.dtype == np.float32
    assert result.shape == values.shape
    assert np.array_equal(values, before, equal_nan=True)
    if kind == "none":
        return
    if other.shape[1] == values.shape[1]:
        unseen = normalised(kind, train, dataset(other))
        assert np.isfinite(unseen).all()
        assert np.abs(unseen).max(initial=0) <= 1e6
    assert np.isfinite(result).all()


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.parametrize("value", [0.0, 0.1, -7.3e30, HUGE])
def test_constant_columns_give_zero(kind, value):
    values = np.full((1001, 2), value)
    values[:, 1] = np.arange(1001)
    result = normalised(kind, dataset(values, [1001]))
    assert (result[:, 0] == 0).all()
    assert len(np.unique(result[:, 1])) == 1001
    assert (normalised(kind, dataset(values[:1]))[0] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_is_the_same(kind, drawn):
    fitted = fit(kind, drawn)
    again = Normalisation.from_arrays(kind, fitted.arrays())
    assert np.array_equal(
        again.apply(drawn.features, drawn.offsets), fitted.apply(drawn.features, drawn.offsets)
    )


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(PER_QUERY)))
def test_a_row_depends_on_the_training_part_and_itself_alone(kind, drawn):
    fitted, rows = fit(kind, drawn), np.array([5, 250, 17])
    alone = fitted.apply(drawn.features[rows], np.array([0, 3]))
    assert np.array_equal(alone, fitted.apply(drawn.features, drawn.offsets)[rows])


@pytest.mark.parametrize("kind", PER_QUERY)
def test_per_query_kinds_need_no_fitting(kind, drawn):
    other = dataset(drawn.features[100:] * 7, [1, 199])
    ours = normalised(kind, dataset(np.ones((3, 5))), other)
    assert np.array_equal(ours, normalised(kind, other))
    assert np.allclose(ours, normalised(kind, drawn)[100:], atol=1e-5)


@pytest.mark.parametrize("kind", FITTED)
def test_blocks_do_not_show(kind, drawn, monkeypatch):
    whole = normalised(kind, drawn)
    monkeypatch.setattr(normalising, "BLOCK_ROWS", 7)
    assert np.allclose(normalised(kind, drawn), whole, rtol=1e-6, atol=1e-7)


def test_min_max_and_z_score_are_those_of_scikit_learn(drawn):
    doubles = drawn.features.astype(np.float64)
    assert np.allclose(
        normalised("min-max", drawn), MinMaxScaler().fit_transform(doubles), atol=1e-7
    )
    assert np.allclose(
        normalised("z-score", drawn), StandardScaler().fit_transform(doubles), atol=1e-6
    )
    logs = np.sign(doubles) * np.log1p(np.abs(doubles))
    assert np.allclose(
        normalised("log1p-z", drawn), StandardScaler().fit_transform(logs), atol=1e-5
    )


def test_outside_the_training_range():
    train, other = dataset([[0.0], [2.0]]), dataset([[-1.0], [1.0], [4.0]])
    assert normalised("min-max", train, other).ravel().tolist() == [0, 0.5, 1]
    assert normalised("z-score", train, other).ravel().tolist() == [-2, 0, 3]
    assert normalised("quantile", train, other).ravel().tolist() == [0, 0.5, 1]


def test_quantile_is_scikit_learns_on_values_without_ties():
    values = np.random.default_rng(0).lognormal(0, 2, (2000, 3)).astype(np.float32)
    theirs = QuantileTransformer(n_quantiles=257, subsample=None).fit_transform(values)
    assert np.abs(normalised("quantile", dataset(values)) - theirs).max() < 1e-6


def test_quantile_of_tied_values_is_the_middle_of_their_block():
    values = np.array([0.0] * 500 + list(range(1, 501)), dtype=np.float32)[:, None]
    result = normalised("quantile", dataset(values)).ravel()
    assert result[0] == pytest.approx(0.25, abs=2 / 256)
    assert (np.diff(result[499:]) > 0).all()
    assert result[-1] == 1


def test_query_kinds_by_hand():
    data = dataset([[1.0], [3.0], [2.0], [7.0], [7.0], [9.0]], [3, 0, 2, 1])
    assert normalised("query-min-max", data).ravel().tolist() == [0, 1, 0.5, 0, 0, 0]
    deviation = np.sqrt(2 / 3)
    expected = [-1 / deviation, 1 / deviation, 0, 0, 0, 0]
    assert np.allclose(normalised("query-z-score", data).ravel(), expected, atol=1e-6)


def test_wrong_uses_are_told(drawn):
    with pytest.raises(UnknownNameError, match="min-max"):
        fit("minmax", drawn)
    with pytest.raises(ShapeError, match="5, as when fitted"):
        fit("z-score", drawn).apply(drawn.features[:, :3], drawn.offsets)
