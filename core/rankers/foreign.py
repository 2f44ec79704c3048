"""Rankers from outside: a Python callable that scores one list at a time."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists
from core.errors import DataError
from core.rankers import ensemble, outside, registry
from core.rankers.base import Input

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class CallableRanker:
    """A function of (features f32[docs, features], ranks i32[docs, rankings]) → f32[docs].

    It is called once a list, documents in the order shown; nothing is known of what it reads, so
    it is taken to read everything.

    Attributes:
        name: `module:function`.
        function: the callable.
        reads: everything.
        rankings: initial rankings that the lists must carry at least.
        source: SHA-256 of the file (or files) that module and function come from, as they were
            when it was named; empty where there is none, as for what is built into Python. What
            the file imports or reads in its turn is not in it.
    """

    name: str
    function: Callable[[Any, Any], Any]
    reads: frozenset[Input] = EVERYTHING
    rankings: int = 0
    source: str = ""

    @classmethod
    def named(cls, target: str) -> "CallableRanker":
        """The ranker of a `module:function`, looked up from the current folder first.

        Raises:
            DataError: no such module or function.
        """
        module, _, function = target.partition(":")
        if "" not in sys.path:
            sys.path.insert(0, "")
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            raise DataError(
                target, f"cannot import {module} ({error})", "Run from the folder that holds it."
            ) from error
        if not callable(getattr(found, function, None)):
            raise DataError(target, f"{module} has no function {function}", "Name module:function.")
        named = getattr(found, function)
        return cls(target, named, source=_source(found, named))

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by one call a list; the arrays handed over are copies.

        Raises:
            DataError: the function failed, or returned something other than one finite score a
                document.
        """
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for index in range(len(lists)):
            inside = slice(lists.offsets[index], lists.offsets[index + 1])
            features = dataset.features[lists.rows[inside]]
            place = f"{self.name}, query {dataset.query_ids[lists.queries[index]]}"
            try:
                answer = np.asarray(self.function(features, lists.ranks[inside].copy()))
            except Exception as error:
                raise DataError(place, f"the function failed: {error!r}", "Mend it.") from error
            if answer.shape != (len(features),) or not np.issubdtype(answer.dtype, np.number):
                found = f"it returned {answer.dtype} of shape {answer.shape}"
                raise DataError(place, found, f"Expected {len(features)} numbers.")
            if not np.isfinite(answer).all():
                raise DataError(place, "it returned NaN or infinite scores", "Expected numbers.")
            scores[inside] = answer
        return scores

    def save(self, directory: Path) -> None:
        """A callable cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise DataError(str(directory), f"{self.name} is a function", "It is not stored.")


def is_callable(name: str) -> bool:
    """Whether a ranker's name is that of a callable, `module:function`.

    >>> [is_callable(name) for name in ("mine:score", "feature:3", "rrf:dlcm+mart", "scores:a.txt")]
    [True, False, False, False]
    """
    prefix, colon, _ = name.partition(":")
    ours = {known.partition(":")[0] for known in registry.RANKERS if ":" in known}
    ours |= set(outside.KINDS)
    return bool(colon) and prefix not in ours and ensemble.parse(name) is None


def _source(module: Any, function: Callable[[Any, Any], Any]) -> str:
    """The digest of the files that a callable comes from; empty where there are none."""
    paths = [getattr(module, "__file__", None)]
    with suppress(TypeError):  # an instance, or something compiled: the module's file says it
        paths.append(inspect.getsourcefile(inspect.unwrap(function)))
    files = [Path(path) for path in dict.fromkeys(paths) if path and Path(path).is_file()]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""
