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

NARROWEST, WIDEST = 20, 1000
"""Millimetres of other widths."""

LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(mm|cm|in|)")
UNITS = {"": 1.0, "mm": 1.0, "cm": 10.0, "in": MILLIMETRES}


def width_of(text: str) -> Width:
    """Width by its name, or by its length in millimetres, centimetres or inches.

    Raises:
        ParameterError: no width of 20 to 1000 mm.

    >>> width_of("84") == width_of("8.4cm") == WIDTHS["84mm"], width_of("3.3in").millimetres
    (True, 83.82)
    """
    match = LENGTH.fullmatch(text.strip())
    length = round(float(match[1]) * UNITS[match[2]], 2) if match else 0.0
    if text in WIDTHS or NARROWEST <= length <= WIDEST:
        return WIDTHS.get(text) or Width(length, WIDTHS["84mm"].points)
    allowed = f"84mm, 3.3in or 84 ({NARROWEST} to {WIDEST} mm), or 16:9"
    raise ParameterError("width", text, allowed)
