"""Answers of functions: checked arrays of real numbers, or a description of the problem.

Processes of functions load this module: it imports no more than NumPy.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shuffleproof.core.errors import AnswerError
from shuffleproof.core.rankers.outside.signature import OF_LISTS, SIGNATURE, CallSignature

LARGEST = float(np.finfo(np.float32).max)
USABLE = "Expected finite numbers of single precision, or −∞ for documents that come last."


def is_score(values: np.ndarray) -> np.ndarray:
    """The values that can be scores: those of float32's range, and −∞, which means last.

    >>> is_score(np.array([1.0, -np.inf, np.inf, np.nan, 1e300])).tolist()
    [True, True, False, False, False]
    """
    numbers = values.astype(np.float64)
    return (np.abs(numbers) <= LARGEST) | (numbers == -np.inf)


class UnusableError(Exception):
    """An answer of a function without scores.

    Attributes:
        finding: description.
        remedy: what to do.
        fault: as of `AnswerError`.
    """

    def __init__(self, finding: str, remedy: str, fault: str = "no-scores") -> None:
        self.finding, self.remedy, self.fault = finding, remedy, fault
        super().__init__(finding)

    def at(self, place: str) -> AnswerError:
        """The error of a call at a place: the ranker and the query."""
        return AnswerError(place, f"it returned {self.finding}", self.remedy, self.fault)


def fault_of(got: tuple[int, ...], due: tuple[int, ...]) -> str:
    """The fault of an answer of another shape; see `AnswerError`."""
    if len(got) == len(due) == 1 and got != due:
        return "dropped-documents" if got < due else "added-documents"
    return "no-scores"


def numbers(answer: Any, expected: tuple[int, ...]) -> np.ndarray:
    """The scores in what a function returned: a number a document, or a column of them.

    Lists, arrays, Torch tensors (also with gradients, on a GPU, in bfloat16) and Series work.

    Raises:
        UnusableError: it holds no such scores.

    >>> numbers([[1], [2]], (2,)).tolist()
    [1.0, 2.0]
    """
    _check_order(answer)
    if type(answer).__name__ == "MaskedArray" and answer.mask.any():
        raise UnusableError("masked scores", "Give them a score: .filled(…).")
    if hasattr(answer, "detach"):  # a tensor
        answer = answer.detach().cpu()
        # NumPy has no bfloat16
        answer = answer.float() if str(answer.dtype) == "torch.bfloat16" else answer
    try:
        scores = np.asarray(answer)
    except ValueError as error:  # NumPy's: an inhomogeneous shape
        raise UnusableError("rows of unlike lengths", "Return one number a document.") from error
    if scores.shape == (*expected, 1):  # a column, as networks answer
        scores = scores[..., 0]
    is_real = np.issubdtype(scores.dtype, np.integer) or np.issubdtype(scores.dtype, np.floating)
    if scores.shape != expected or not is_real:
        # NumPy makes one object of what is no array: nothing, a generator, a dictionary
        is_other = scores.dtype == object and not scores.shape
        kind = f"{scores.dtype} of shape {scores.shape}"
        kind = f"an object of type {type(answer).__name__}" if is_other else kind
        due = " x ".join(map(str, expected))
        remedy = f"Expected {due} numbers: {OF_LISTS if len(expected) > 1 else SIGNATURE}."
        fault = fault_of(scores.shape, expected)
        raise UnusableError(kind, remedy, fault)
    # Float64, as order and ties are those of the numbers that were returned
    return scores.astype(np.float64)


def _check_order(answer: Any) -> None:
    """Refuse a Series or frame that was sorted: its rows are not the documents' any more."""
    if not (type(answer).__module__.startswith("pandas") and hasattr(answer, "index")):
        return
    # A Series sorted by score keeps its labels: they tell that rows have moved
    labels, places = np.asarray(answer.index), np.arange(len(answer))
    if labels.dtype.kind != "i" or np.array_equal(labels, places):
        return
    if np.array_equal(np.sort(labels), places):
        finding = "a Series whose index says another order than the documents'"
        raise UnusableError(finding, "Return it in their order: .sort_index(), or .to_numpy().")


def call(
    function: Callable[..., Any], signature: CallSignature, inputs: Mapping[str, Any]
) -> np.ndarray:
    """The scores [slots] that a function returns of a list, or of several where it takes a mask.

    Args:
        function: of a user.
        signature: its inputs.
        inputs: by name, with an axis of lists in front for a function that takes a mask.

    Raises:
        UnusableError: it returned something else, or what is no score of a document.
    """
    shape = inputs["features"].shape[:-1]
    scores, mask = numbers(signature.call(function, inputs), shape), inputs.get("mask", True)
    wrong = np.argwhere(~is_score(scores) & mask)
    if len(wrong):
        *lists, document = wrong[0].tolist()
        place = f"document {document + 1} of {shape[-1]}"
        place += f" in list {lists[0] + 1}" if lists else ""
        raise UnusableError(f"{scores[tuple(wrong[0])]} for {place}", USABLE, "not-finite")
    return scores.ravel()
