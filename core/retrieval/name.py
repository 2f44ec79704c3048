"""Names of retrievers, their presets, and combinations."""

import re
from dataclasses import dataclass

from shuffleproof.core.errors import UsageError

_FUSED = re.compile(
    r"(?P<method>rrf|interpolated)(?:-(?P<number>[0-9]{1,4}))?:(?P<parts>[^:]+)", re.IGNORECASE
)
USUAL = {"rrf": 60, "interpolated": 50}  # Default numbers of `rrf` and `interpolated`


@dataclass(frozen=True)
class FusedName:
    """Name of a combination of retrievers, in the grammar of rankers: `rrf:bm25+snrm`."""

    method: str  # rrf, or interpolated: a weighted mean of scores scaled to 0 … 1
    number: int  # k of reciprocal rank fusion, or the first retriever's weight in percent
    parts: tuple[str, ...]  # names of the retrievers

    def __str__(self) -> str:
        """Canonical name."""
        return f"{self.prefix}:{'+'.join(self.parts)}"

    @property
    def prefix(self) -> str:
        """Method, and its number unless it is the default."""
        usual = self.number == USUAL[self.method]
        return self.method if usual else f"{self.method}-{self.number}"


TRAINED = ("snrm", "snrm-prf", "fnrm", "cnrm")
"""Retrievers with a training; the registry has their learners."""


def parse_name(text: str) -> tuple[str, str]:
    """Name and preset of a retriever; the preset is empty by default.

    >>> parse_name("snrm@small"), parse_name(" BM25 ")
    (('snrm', 'small'), ('bm25', ''))
    """
    base, _, preset = text.strip().casefold().partition("@")
    return base, preset


def parse_fusion(text: str) -> FusedName | None:
    """Combination of a name; None: a single retriever.

    >>> str(parse_fusion("RRF-60:bm25 + snrm@small")), parse_fusion("bm25")
    ('rrf:bm25+snrm@small', None)
    >>> parse_fusion("interpolated-70:bm25+lsi")
    FusedName(method='interpolated', number=70, parts=('bm25', 'lsi'))

    Raises:
        UsageError: fewer than two retrievers, a repeated one, or a weight above 100 percent.
    """
    match = _FUSED.fullmatch(text.strip())
    if match is None:
        return None
    method = match["method"].casefold()
    number = int(match["number"] or USUAL[method])
    parts = tuple(part.strip().casefold() for part in match["parts"].split("+"))
    if len(parts) < 2 or len(set(parts)) < len(parts):
        raise UsageError(f"{text}: name two different retrievers or more, as in rrf:bm25+snrm")
    if method == "interpolated" and (number > 100 or len(parts) > 2):
        raise UsageError(
            f"{text}: name two retrievers, the first of weight 0 to 100 percent, as in "
            "interpolated-70:bm25+snrm"
        )
    return FusedName(method, number, parts)


def is_trained(text: str) -> bool:
    """True if `train` makes the retriever of this name.

    >>> is_trained("fnrm@paper"), is_trained("bm25")
    (True, False)
    """
    return parse_name(text)[0] in TRAINED
