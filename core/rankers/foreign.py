"""Rankers from outside: a Python callable that scores one list at a time."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists
from core.errors import DataError
from core.rankers import ensemble, outside, registry
from core.rankers.base import Input

TOGETHER = 64
"""Lists of one length that a function with a mask is given at once."""

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class CallableRanker:
    """A function of one list or of several, documents in the order shown.

    (features f32[docs, features], ranks i32[docs, rankings]) → f32[docs] is called once a list;
    (features f32[lists, docs, features], mask bool[lists, docs], ranks i32[lists, docs, rankings])
    → f32[lists, docs], a function of three, with up to TOGETHER lists of one length. Nothing is
    known of what it reads, so it is taken to read everything.

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
    function: Callable[..., Any]
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
        """Scores by one call a list, or for lists of one length; what is handed over are copies.

        Raises:
            DataError: the function failed, or returned something other than one finite score a
                document.
        """
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for chosen in self._called(lists):
            slots = lists.offsets[chosen][:, None] + np.arange(lists.lengths[chosen[0]])
            scores[slots] = self._answer(dataset, lists, chosen, slots)
        return scores

    def _called(self, lists: CandidateLists) -> Iterator[Int64[np.ndarray, " chosen"]]:
        """The lists of each call: one after the other, or as many as may be of one length."""
        if not takes_mask(self.function):
            yield from np.arange(len(lists))[:, None]
            return
        for size in np.unique(lists.lengths):
            alike = np.flatnonzero(lists.lengths == size)
            for first in range(0, len(alike), TOGETHER):
                yield alike[first : first + TOGETHER]

    def _answer(
        self,
        dataset: RankingDataset,
        lists: CandidateLists,
        chosen: Int64[np.ndarray, " chosen"],
        slots: Int64[np.ndarray, "chosen docs"],
    ) -> Any:
        """The function's scores of some lists, one where it takes no mask; checked."""
        features, ranks = dataset.features[lists.rows[slots]], lists.ranks[slots]
        names = ", ".join(dataset.query_ids[lists.queries[one]] for one in chosen[:3])
        more = " and others" if len(chosen) > 3 else ""
        place = f"{self.name}, quer{'y' if len(chosen) == 1 else 'ies'} {names}{more}"
        masked = takes_mask(self.function)
        given = (features, np.ones(slots.shape, dtype=bool), ranks)
        try:
            answer = np.asarray(self.function(*given if masked else (features[0], ranks[0])))
        except Exception as error:
            raise DataError(place, f"the function failed: {error!r}", "Mend it.") from error
        expected = slots.shape if masked else slots.shape[1:]
        if answer.shape != expected or not np.issubdtype(answer.dtype, np.number):
            found = f"it returned {answer.dtype} of shape {answer.shape}"
            counted = " x ".join(map(str, expected))
            raise DataError(place, found, f"Expected {counted} numbers.")
        if not np.isfinite(answer).all():
            raise DataError(place, "it returned NaN or infinite scores", "Expected numbers.")
        return answer

    def save(self, directory: Path) -> None:
        """A callable cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise DataError(str(directory), f"{self.name} is a function", "It is not stored.")


def takes_mask(function: Callable[..., Any]) -> bool:
    """Whether a function is of (features, mask, ranks): whether it needs three arguments.

    >>> takes_mask(lambda features, mask, ranks: 0), takes_mask(lambda features, ranks: 0)
    (True, False)
    """
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # something compiled
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in declared if one.kind in kinds and one.default is one.empty]
    return len(needed) == 3


def is_callable(name: str) -> bool:
    """Whether a ranker's name is that of a callable, `module:function`.

    >>> [is_callable(name) for name in ("mine:score", "feature:3", "rrf:dlcm+mart", "scores:a.txt")]
    [True, False, False, False]
    """
    prefix, colon, _ = name.partition(":")
    ours = {known.partition(":")[0] for known in registry.RANKERS if ":" in known}
    ours |= set(outside.KINDS)
    return bool(colon) and prefix not in ours and ensemble.parse(name) is None


def _source(module: Any, function: Callable[..., Any]) -> str:
    """The digest of the files that a callable comes from; empty where there are none."""
    paths = [getattr(module, "__file__", None)]
    with suppress(TypeError):  # an instance, or something compiled: the module's file says it
        paths.append(inspect.getsourcefile(inspect.unwrap(function)))
    files = [Path(path) for path in dict.fromkeys(paths) if path and Path(path).is_file()]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""
