"""How large figures are in files: pixels, or the widths that papers and slides have."""

from collections.abc import Mapping
from dataclasses import dataclass

INCH, MILLIMETRES = 96, 25.4
"""Pixels and millimetres of an inch."""

LETTERS = 13
"""Pixels of the letters that figures are drawn with."""


@dataclass(frozen=True)
class Width:
    """A width that figures are printed in; everything in them grows or shrinks together.

    Attributes:
        millimetres: how wide.
        points: of its letters, 72 an inch.
        shape: width by height where it is given; 0: as high as the figure needs.
    """

    millimetres: float
    points: float
    shape: float = 0.0

    @property
    def scale(self) -> float:
        """What a pixel of the figure becomes.

        >>> round(WIDTHS["84mm"].scale, 2)
        0.82
        """
        return self.points * INCH / 72 / LETTERS

    def pixels(self, height: int) -> tuple[float, float, float]:
        """Pixels that a figure is drawn in, wide and high, and the scale that makes it so wide.

        Args:
            height: pixels that the figure wants.

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
"""A column and a page of a journal, and a slide."""
