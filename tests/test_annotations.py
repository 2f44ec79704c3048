"""Annotations of the core are checked in test runs, whichever way they are decorated."""

from dataclasses import dataclass

import beartype
import jaxtyping
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError

from shuffleproof.core.metrics.measure import is_measure
from shuffleproof.core.metrics.robustness import WinTieLoss
from shuffleproof.core.metrics.significance import t_interval

Vector = Float[np.ndarray, " docs"]


def checked(thing):
    return jaxtyping.jaxtyped(thing, typechecker=beartype.beartype)


@checked
def plain(count: int, names: tuple[str, ...] = ()) -> str:
    return count if names else "x"


@checked
def shaped(scores: Vector, *, others: list[Vector] | None = None) -> Vector:
    return scores[1:] if others else scores


@checked
def written(count: "int") -> int:
    return count


@checked
def sized(count: int, scores: Float[np.ndarray, " {count}"]) -> None:
    return None


@checked
@dataclass
class Held:
    count: int
    scores: Vector
    labels: Vector


ONE, TWO = np.zeros(1), np.zeros(2)
WRONG = {
    "a parameter": lambda: plain("1"),
    "within a parameter": lambda: plain(1, (2,)),
    "the result": lambda: plain(1, ("a",)),
    "a kind of numbers": lambda: shaped(np.zeros(2, int)),
    "a number of axes": lambda: shaped(np.zeros((2, 2))),
    "the same axis in a container": lambda: shaped(TWO, others=[ONE]),
    "the same axis in the result": lambda: shaped(TWO, others=[TWO]),
    "a text": lambda: written("1"),
    "an axis by a parameter": lambda: sized(3, TWO),
    "a field": lambda: Held("1", TWO, TWO),
    "the same axis in two fields": lambda: Held(1, TWO, ONE),
    "a function of the core": lambda: is_measure(3),
    "an array of the core": lambda: t_interval(np.zeros((2, 2))),
    "a dataclass of the core": lambda: WinTieLoss(None, 1, 2),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_keep_to_an_annotation_is_refused(case):
    with pytest.raises((BeartypeCallHintViolation, TypeCheckError)):
        WRONG[case]()


def test_what_keeps_to_annotations_is_answered():
    assert plain(1) == "x"
    assert shaped(shaped(TWO)) is TWO
    assert (shaped(ONE), written(1), sized(2, TWO)) == (ONE, 1, None)
    assert Held(1, TWO, TWO).scores is TWO


CUT = []
ANSWERS = {"another size": TWO[:1], "other numbers": np.zeros(2, int), "no array": None}


@checked
def cut(scores: Vector, least: float | None = None) -> tuple[Vector, int | None]:
    return (CUT[-1] if CUT else scores), None


@pytest.mark.parametrize("wrong", ANSWERS)
def test_a_call_like_one_before_is_checked_where_it_differs(wrong):
    for _ in range(2):
        assert cut(TWO) == (TWO, None)
        assert cut(TWO, least=1.0)[0] is TWO
    for given in ((np.zeros(2, int),), (np.zeros((2, 2)),), (TWO, "1"), (None,)):
        with pytest.raises((BeartypeCallHintViolation, TypeCheckError)):
            cut(*given)
    CUT.append(ANSWERS[wrong])
    try:
        for _ in range(2):
            with pytest.raises((BeartypeCallHintViolation, TypeCheckError)):
                cut(TWO)
    finally:
        CUT.clear()
    assert cut(TWO)[0] is TWO
