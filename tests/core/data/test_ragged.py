"""The compiled sort of lists against NumPy's lexsort."""

import ast

import numpy as np
import pytest

from shuffleproof.core.data.ragged import (
    blocks_of,
    falling_order,
    offsets_of,
    order_within,
    segment_ids,
)
from tests import places


@pytest.mark.parametrize(
    "kind", ["distinct", "tied", "sorted", "backwards", "constant", "close", "zeros", "strided"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint64])
def test_sorts_every_list_as_lexsort_does(kind, dtype):
    draws = np.random.default_rng(0)
    offsets = offsets_of(np.array([0, 1, 2, 3, 7, 8, 9, 16, 17, 40, 500, 0]))
    count = int(offsets[-1])
    scores = {
        "distinct": draws.permutation(count),
        "tied": draws.integers(0, 5, count),
        "sorted": -np.arange(count),
        "backwards": np.arange(count),
        "constant": np.zeros(count),
        # apart in the last bits alone, of both signs: places take those bits' room
        "close": (1 + draws.integers(0, 9, count) * 2.0**-52) * draws.choice([-1, 1], count),
        "zeros": draws.choice([-0.0, 0.0, 1.0, -1.0], count),
        "strided": draws.normal(size=2 * count)[::2],
    }[kind].astype(dtype)
    rows = draws.permutation(count)
    order = falling_order(offsets, scores)
    falling = -scores if np.dtype(dtype).kind == "f" else ~scores
    assert np.array_equal(order, order_within(offsets, falling))
    assert np.array_equal(
        falling_order(offsets, scores, rows), order_within(offsets, falling, rows)
    )
    owner = segment_ids(offsets)
    better = (scores[None, :] > scores[:, None]) & (owner[None, :] == owner[:, None])
    assert np.array_equal(blocks_of(offsets, scores, order), better.sum(axis=1))


def test_nan_comes_last_and_keeps_its_order():
    scores, bounds = np.array([np.nan, 1, np.nan, 2, -np.inf], np.float32), np.array([0, 5])
    order = falling_order(bounds, scores)
    assert order.tolist() == [3, 1, 4, 0, 2]
    assert blocks_of(bounds, scores, order).tolist() == [3, 1, 4, 0, 2]


def compiled_calls():
    """What compiled functions of core call: (place, name)."""
    for path in (places.ROOT / "core").rglob("*.py"):
        for made in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_made = isinstance(made, ast.FunctionDef)
            decorators = map(ast.unparse, made.decorator_list) if is_made else ()
            if any("njit(" in one or "compiled(" in one for one in decorators):
                for call in (one for one in ast.walk(made) if isinstance(one, ast.Call)):
                    yield f"{path.name}: {made.name}", ast.unparse(call.func)


def test_compiled_code_does_not_mix_two_sorts_of_numba():
    """Its sort and argsort of one type get one name where two processes compiled them."""
    sorts = {"sort", "argsort", "argpartition", "partition", "sorted", "unique"}
    names = {called.rpartition(".")[2] for _, called in compiled_calls()}
    assert "empty" in names, "calls are found"
    assert not names & sorts
