"""Random generators derived from (seed, names…): the same names, the same numbers, everywhere.

Never `hash()`, never a global seed: two parts of a study that use different names draw
independently, and adding a third part changes neither.
"""

import hashlib
import json

import numpy as np
from jaxtyping import UInt64


def derived_seed(seed: int, *names: str | int | float) -> int:
    """A 63-bit seed from a master seed and a path of names, by SHA-256.

    >>> derived_seed(7, "shuffle", 3) == derived_seed(7, "shuffle", 3)
    True
    >>> derived_seed(7, "shuffle", 3) == derived_seed(7, "shuffle", 4)
    False
    """
    text = json.dumps([seed, *names], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int | float) -> np.random.Generator:
    """A NumPy generator for (seed, names…).

    >>> float(generator(0, "a").random()) == float(generator(0, "a").random())
    True
    """
    return np.random.Generator(np.random.PCG64(derived_seed(seed, *names)))


def mix_bits(values: UInt64[np.ndarray, "*shape"]) -> UInt64[np.ndarray, "*shape"]:
    """64 well-mixed bits of each value: SplitMix64's output function.

    Source: Steele, Lea & Flood, OOPSLA 2014.

    >>> hex(mix_bits(np.array([1], np.uint64))[0])
    '0xe220a8397b1dcdaf'
    """
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
