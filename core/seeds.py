"""Random generators derived from (seed, names…): the same names, the same numbers, everywhere.

Never `hash()`, never a global seed: two parts of a study that use different names draw
independently, and adding a third part changes neither.
"""

import hashlib
import json

import numpy as np


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
