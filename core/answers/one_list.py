"""Effect of another input order on a ranker's answer for one list: a frame, and sentences."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from shuffleproof.core import words
from shuffleproof.core.answers.scoring import documents_moved
from shuffleproof.core.answers.shown_order import Documents
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.words import counted


@dataclass(frozen=True)
class Answer:
    """A ranker's scores of one list under the order before and under the input order.

    Attributes:
        ranker: its label.
        reads: what of the input it declares to read.
        before: one score a document, in the order of the initial ranking.
        after: the same documents' scores under the input order now.
        floor: how far arithmetic alone carries each score.
        quality: NDCG@10 before and after.
        best: the highest NDCG@10 that any ranking of the list now has.
    """

    ranker: str
    reads: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    floor: tuple[float, ...]
    quality: tuple[float, float] = (float("nan"), float("nan"))
    best: float = 1.0

    @property
    def differences(self) -> Float64[np.ndarray, " shared"]:
        """Absolute difference of each score, of documents that both lists have."""
        every = np.abs(np.subtract(self.after, self.before, dtype=np.float64))
        return every[~np.isnan(every)]

    @property
    def deviation(self) -> float:
        """The largest difference of one document's two scores."""
        return float(self.differences.max(initial=0.0))

    @property
    def tolerance(self) -> float:
        """The largest difference of any score that is rounding."""
        return max(self.floor, default=0.0)

    @property
    def is_unchanged(self) -> bool:
        """No document left or joined, and no score changed by more than rounding."""
        differences = self.differences
        return len(differences) == len(self.floor) and bool((differences <= self.floor).all())


def moves(
    documents: Documents, shown_before: Sequence[int], shown: Sequence[int], answer: Answer
) -> pd.DataFrame:
    """One row a document: where it is and was shown and answered (from 1), and its two scores.

    Args:
        documents: all documents of both lists.
        shown_before: the document at each position of the list before.
        shown: the document at each position of the list now.
        answer: the answer, with a score of NaN where a document is not in the list.

    Returns:
        Columns document, label, shown, answered, shown_before, answered_before, moved,
        score_before, score; rows in the order of the initial ranking. NaN where a document is not
        in the list.
    """
    before, after = (np.array(side, dtype=np.float32) for side in (answer.before, answer.after))
    floor = np.array(answer.floor, dtype=np.float64)
    if answer.is_unchanged:
        floor = np.maximum(floor, answer.deviation)
    shared = np.flatnonzero(~np.isnan(before) & ~np.isnan(after))
    moved = np.zeros(len(before), dtype=bool)
    moved[shared] = documents_moved(before[shared], after[shared], floor[shared])
    still = len(shared) == len(before) and not moved.any()
    return pd.DataFrame(
        {
            "document": documents.ids,
            "label": documents.labels,
            "shown": _positions(shown, len(before)),
            # What arithmetic alone turns round is not drawn as a move
            "answered": _answered(before if still else after),
            "shown_before": _positions(shown_before, len(before)),
            "answered_before": _answered(before),
            "moved": moved,
            "score_before": before,
            "score": after,
        }
    )


def _answered(scores: Float32[np.ndarray, " docs"]) -> np.ndarray:
    """Position of each document in the ranking, from 1."""
    there = np.flatnonzero(~np.isnan(scores))
    places = positions(np.array([0, len(there)]), scores[there])
    return _positions(there[np.argsort(places)], len(scores))


def _positions(order: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    """Position of each of `count` documents, from 1; NaN of documents that are not in the order.

    >>> _positions([1, 0], 2), _positions([1], 2)
    (array([2, 1]), array([nan,  1.]))
    """
    places = np.full(count, np.nan)
    places[np.array(order, dtype=np.int64)] = np.arange(1, len(order) + 1)
    return places.astype(np.int64) if len(order) == count else places


def verdict(answer: Answer, moved: pd.DataFrame, of: str = "") -> str:
    """Share of NDCG@10 that a ranker loses, if NDCG is defined, and how many documents it moves.

    Args:
        answer: answer of the ranker.
        moved: its `moves`.
        of: total number of documents, in words.

    >>> quality = {"before": (2.0, 1.0), "after": (1.0, 2.0), "floor": (0.0, 0.0)}
    >>> dlcm = Answer("dlcm", ("order",), **quality, quality=(0.8, 0.2))
    >>> verdict(dlcm, pd.DataFrame({"moved": [True, True]}), " of 2 documents")
    'DLCM loses 75 % of its NDCG@10 and moves 2 of 2 documents'
    """
    count, (before, after) = int(moved["moved"].sum()), answer.quality
    effect = ""
    if before > 0:
        share = 1 - after / before
        digits = 0 if abs(share) >= 0.01 else 1
        lost = "nothing" if not share else f"{words.percent(abs(share), digits)} of its NDCG@10"
        effect = f"{'gains' if share < 0 else 'loses'} {lost} and "
    return f"{RankerName.of(answer.ranker).display} {effect}moves {count or 'none'}{of}"


def verdicts(answers: Sequence[tuple[Answer, pd.DataFrame]]) -> str:
    """Verdicts on several rankers in one sentence; the total occurs once."""
    of = f" of {counted(int(answers[0][1]['answered'].count()), 'document')}"
    texts = [verdict(*answer, "" if at else of) for at, answer in enumerate(answers)]
    return f"{'; '.join(texts)}."


def fell_most(moved: pd.DataFrame) -> str:
    """The relevant document that fell most, in a sentence; empty where no document fell.

    Args:
        moved: document, label, answered and answered_before (places from 1, NaN where it is in one
            list alone) and moved, one row a document.

    >>> frame = pd.DataFrame({"document": ["a", "b"], "label": [2.0, 0.0], "moved": [True, True],
    ...                       "answered": [2, 1], "answered_before": [1, 2]})
    >>> fell_most(frame)
    'Relevant document a (grade 2) fell most, from rank 1 to 2.'
    >>> fell_most(frame.assign(label=0.0))
    'No relevant document fell.'
    >>> fell_most(frame.assign(moved=False))
    ''
    """
    falls = (moved["answered"] - moved["answered_before"]).where(moved["moved"].astype(bool))
    if not falls.max() > 0:
        return ""
    # Documents of grade 0 that fall make the ranking better; the reader looks for losses.
    falls = falls.where(moved["label"] > 0)
    far = falls.max()
    if not far > 0:
        return "No relevant document fell."
    fallen = moved[falls == far].sort_values("label", ascending=False, kind="stable")
    first, ties = fallen.iloc[0], len(fallen) - 1
    text = f"Relevant document {first['document']} (grade {first['label']:g}) fell most, from rank "
    text += f"{first['answered_before']:g} to {first['answered']:g}"
    return f"{text}; {counted(ties, 'other')} fell as far." if ties else f"{text}."


def amount(number: float) -> str:
    """A number with three significant digits.

    >>> amount(7.0), amount(0.41234), amount(4.77e-07)
    ('7.00', '0.412', '4.77e−07')
    """
    return words.number(number, "#.3g") if number else "0"


def explanation(answer: Answer, moved: pd.DataFrame) -> str:
    """Cause of a changed answer, or the reason why nothing moved, with the numbers."""
    name, change = RankerName.of(answer.ranker).display, amount(answer.deviation)
    count, rounding = int(moved["moved"].sum()), amount(answer.tolerance)
    if "order" in answer.reads and count:
        far = moved.iloc[int((moved["answered"] - moved["answered_before"]).abs().argmax())]
        return (
            f"{name} reads the input order: scores changed by up to {change}, and "
            f"{far['document']} went from rank {far['answered_before']} to {far['answered']}."
        )
    if "order" in answer.reads:
        return f"{name} reads the input order. No rank changed; scores changed by up to {change}."
    if count:
        return (
            f"{name} declares not to read the input order, yet {counted(count, 'document')} moved "
            f"and a score changed by {change}; rounding explains {rounding}. The declaration or "
            "the code is wrong."
        )
    if not answer.deviation:
        return f"{name} does not read the input order. No score changed in any digit."
    return (
        f"{name} does not read the input order. The largest difference of a score, {change}, is "
        f"rounding (up to {rounding})."
    )


def explanation_of_change(answer: Answer, changed: Collection[int]) -> str:
    """Effect of changed documents of the list on the scores of the others.

    Args:
        answer: answer of the ranker.
        changed: documents whose own features changed.

    >>> alone = Answer("mart", ("features",), (2.0, 1.0), (float("nan"), 1.0), (0.0, 0.0))
    >>> explanation_of_change(alone, ())
    'MART gives the other documents the scores they had.'
    """
    name = RankerName.of(answer.ranker).display
    others = np.abs(np.subtract(answer.after, answer.before, dtype=np.float64))
    others[list(changed)] = np.nan
    if not (others > answer.floor).any():
        return f"{name} gives the other documents the scores they had."
    return (
        f"{name} reads the whole list: the scores of other documents changed by up to "
        f"{amount(float(np.nanmax(others)))}."
    )


def features_wanted(texts: Collection[str]) -> list[int]:
    """The ids of the features that orders written as text sort by.

    >>> features_wanted(["initial", "-feature:3"])
    [3]
    """
    ids = {RankerName.of(text.removeprefix("-")).feature for text in texts}
    return sorted(number for number in ids if number is not None)
