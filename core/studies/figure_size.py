"""Sizes of exported figures: pixels, or the usual widths of papers and slides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shuffleproof.core.errors import ParameterError

INCH, MILLIMETRES = 96, 25.4
"""Pixels per inch, and millimetres per inch."""

LETTERS = 13
"""Height of the letters in figures, in pixels."""


@dataclass(frozen=True)
class Width:
    """Width of a printed figure; all its parts are scaled together.

    Attributes:
        millimetres: width.
        points: size of its letters, 72 per inch.
        shape: ratio of width to height; 0: as high as the figure needs.
    """

    millimetres: float
    points: float
    shape: float = 0.0

    @property
    def scale(self) -> float:
        """Printed pixels per pixel of the figure.

        >>> round(WIDTHS["84mm"].scale, 2)
        0.82
        """
        return self.points * INCH / 72 / LETTERS

    def pixels(self, height: int) -> tuple[float, float, float]:
        """Width and height in pixels to draw a figure in, and the scale for the printed width.

        Args:
            height: pixels that the figure needs.

        >>> [round(value, 2) for value in WIDTHS["16:9"].pixels(300)]
        [693.33, 390.0, 1.85]
        """
        pixels = self.millimetres / MILLIMETRES * INCH
        width = pixels / self.scale
        if not self.shape:
            return width, float(height), self.scale
        width = max(width, height * self.shape)
        return width, width / self.shape, pixels / width


WIDTHS: Mapping[str, Width] = {
    "84mm": Width(84.0, 8.0),
    "178mm": Width(178.0, 8.0),
    "16:9": Width(1280 / INCH * MILLIMETRES, 18.0, 16 / 9),
}
"""Column and page of a journal, and a slide."""

LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(mm|in)?")


def width_of(text: str) -> Width:
    """Width by its name, or by its length in millimetres or inches.

    >>> width_of("84") == width_of("84 mm") == WIDTHS["84mm"], width_of("3.3in").millimetres
    (True, 83.82)
    """
    match = LENGTH.fullmatch(text)
    length = float(match[1]) * (MILLIMETRES if match[2] == "in" else 1.0) if match else 0.0
    if text not in WIDTHS and not 20 <= length <= 1000:
        raise ParameterError("width", text, "84mm, 3.3in or 84 (20 to 1000 mm), or 16:9")
    return WIDTHS.get(text) or Width(round(length, 2), 8.0)
