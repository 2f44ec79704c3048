"""Names beside marks, as near as they can stand without covering a mark or another name."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

LETTER, LINE, GAP = 7.0, 15.0, 3.0
"""Pixels of a letter, of a line of text, and between a mark and its name."""

NEAR = (0.0, 14.0, 28.0, 44.0, 62.0, 82.0)
"""How far out names are tried, pixels."""

ANGLES = tuple(pi * at / 8 for at in (0, 8, 4, 12, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15))
"""In which directions, the plainest first."""

OUTSIDE, FAR = 20.0, 5.0
"""What a pixel outside the plot, or away from the mark, weighs beside a covered square pixel."""

ROUNDS = 3


@dataclass(frozen=True)
class Mark:
    """A mark and its name.

    Attributes:
        x: pixels from the left.
        y: pixels from the top.
        size: pixels across.
        text: its name, lines parted by `<br>`.
    """

    x: float
    y: float
    size: float
    text: str

    @property
    def half(self) -> np.ndarray:
        """Half the width and the height of the name."""
        lines = self.text.split("<br>")
        return np.array([LETTER * max(map(len, lines)), LINE * len(lines)]) / 2


def places(marks: Sequence[Mark], room: tuple[float, float]) -> list[tuple[float, float, bool]]:
    """Where the middle of each name stands, in pixels from its mark; and whether it is far away.

    Each name in turn takes the best place there is among marks and the other names, some times.

    Args:
        marks: of the picture.
        room: pixels across and down.

    >>> places([Mark(50, 50, 10, "ab")], (100, 100))
    [(15.0, 0.0, False)]
    """
    dots = [_box(np.array([mark.x, mark.y]), np.full(2, mark.size / 2)) for mark in marks]
    boxes: dict[int, np.ndarray] = {}
    found = [(0.0, 0.0, False)] * len(marks)
    for _ in range(ROUNDS):
        for at, mark in enumerate(marks):
            taken = [*dots, *(box for other, box in boxes.items() if other != at)]
            tried = [(_placed(mark, far, angle), far) for far in NEAR for angle in ANGLES]
            costs = [_covered(box, taken, room) + FAR * far for box, far in tried]
            box, far = tried[int(np.argmin(costs))]
            x, y = (box.mean(axis=0) - [mark.x, mark.y]).round(1).tolist()
            boxes[at], found[at] = box, (x, y, far > NEAR[1])
    return found


def _placed(mark: Mark, far: float, angle: float) -> np.ndarray:
    """The box of a name in a direction, touching its mark and then so far out."""
    toward = np.array([cos(angle), -sin(angle)])
    reach = float(np.min(mark.half / np.maximum(np.abs(toward), 1e-9)))
    middle = np.array([mark.x, mark.y]) + toward * (mark.size / 2 + GAP + reach + far)
    return _box(middle, mark.half)


def _box(middle: np.ndarray, half: np.ndarray) -> np.ndarray:
    return np.array([middle - half, middle + half])


def _covered(box: np.ndarray, taken: Sequence[np.ndarray], room: tuple[float, float]) -> float:
    """Square pixels of a name over another thing, and what is outside the plot."""
    others = np.array(taken)
    shared = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    over = np.clip(shared, 0, None).prod(axis=1).sum()
    beyond = np.clip(np.concatenate([-box[0], box[1] - room]), 0, None).max()
    return float(over + OUTSIDE * beyond)
