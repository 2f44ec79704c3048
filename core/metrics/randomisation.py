"""Fisher's paired randomisation test of many differences at once."""

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.metrics.significance import paired_randomisation

RESAMPLES = 10_000
NUMBERS_AT_ONCE = 2**23


def randomisation_p(
    differences: Float64[np.ndarray, "tests queries"],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Float64[np.ndarray, " tests"]:
    """The p value of every row of paired differences, as `paired_randomisation` has them.

    One draw of signs serves all rows, so that a table costs about as much as a cell; where all
    2ⁿ exchanges are no more than `resamples`, they are counted and nothing is drawn.

    Args:
        differences: first − second of every query; NaN: left out.
        generator: of the signs.
        resamples: drawn beside the differences observed.

    >>> randomisation_p(np.array([[1.0, 2.0, 3.0], [1.0, np.nan, -1.0]]), np.random.default_rng(0))
    array([0.25, 1.  ])
    """
    tests, queries = differences.shape
    is_known = ~np.isnan(differences)
    counts = is_known.sum(axis=1)
    p = np.full(tests, np.nan)
    enumerable = counts <= np.log2(resamples)
    for at in np.flatnonzero(enumerable):
        paired = differences[at, is_known[at]]
        p[at] = paired_randomisation(paired, np.zeros_like(paired), generator, resamples).p_value
    drawn = np.flatnonzero(~enumerable)
    if not len(drawn):
        return p
    filled = np.where(is_known, differences, 0.0)[drawn].T
    observed = np.abs(filled.sum(axis=0)) - 1e-12 * np.abs(filled).sum(axis=0)
    larger = np.zeros(len(drawn))
    at_once = max(1, NUMBERS_AT_ONCE // max(queries, 1))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        bits = np.unpackbits(
            np.frombuffer(generator.bytes(rows * -(-queries // 8)), np.uint8).reshape(rows, -1),
            axis=1, count=queries,
        )  # fmt: skip
        # a sum with signs ±1 is twice the sum over the ones, less the whole sum
        sums = 2 * (bits.astype(np.float64) @ filled) - filled.sum(axis=0)
        larger += (np.abs(sums) >= observed).sum(axis=0)
    p[drawn] = (larger + 1) / (resamples + 1)
    return p
