"""A measure is a frozen value that prints and parses back to itself: `NDCG(ideal=shown)@10`.

Only conventions that differ from the default are printed. The registry says for every name what
it is, whence it comes and which conventions it has; setting one it has not is refused, since it
would be silently without effect. A measure of user code (`core.metrics.user_measures`) has the
digits of its function in its name, `hits#3f2a91c4@10`, and can be read where it is not registered.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import ParameterError, UnknownNameError, quoted
from shuffleproof.core.parameters import check, parameter, parameters, with_texts
from shuffleproof.core.user_code import DIGITS, MARK, names, registered_code

EVERY = ("ideal", "empty", "ties")


@dataclass(frozen=True)
class MeasureEntry:
    """What the registry knows of a measure's name.

    Attributes:
        name: as printed.
        summary: one sentence.
        source: where it is defined.
        conventions: the fields of `Measure` that it listens to.
    """

    name: str
    summary: str
    source: str
    conventions: tuple[str, ...]


_ENTRIES = (
    MeasureEntry(
        "NDCG",
        "discounted gain of the ranking, divided by that of the ideal ranking",
        "Järvelin & Kekäläinen 2002; gain 2^y − 1 of Burges et al. 2005",
        ("gain", "discount", *EVERY, "short"),
    ),
    MeasureEntry(
        "MeanNDCG",
        "mean of NDCG@1, NDCG@2, … over the positions of the list, or of its first ones",
        "LETOR 4.0's Eval-Score-4.0.pl (Qin & Liu 2013, arXiv:1306.2597)",
        ("gain", "discount", *EVERY),
    ),
    MeasureEntry(
        "DCG",
        "sum of the documents' gains, each discounted by its position",
        "Järvelin & Kekäläinen 2002; gain 2^y − 1 of Burges et al. 2005",
        ("gain", "discount", *EVERY),
    ),
    MeasureEntry(
        "ERR",
        "expected reciprocal rank at which a reader who scans downwards is satisfied",
        "Chapelle, Metzler, Zhang & Grinspan 2009",
        ("top_grade", *EVERY),
    ),
    MeasureEntry(
        "AP",
        "mean over the relevant documents of the precision at their positions",
        "Buckley & Voorhees 2000 (trec_eval: map, map_cut)",
        ("relevant", *EVERY),
    ),
    MeasureEntry(
        "RR",
        "reciprocal rank of the first relevant document",
        "Kantor & Voorhees 2000 (trec_eval: recip_rank)",
        ("relevant", *EVERY),
    ),
    MeasureEntry(
        "P",
        "share of the first positions that hold relevant documents",
        "trec_eval: P; without a cut-off, set_P",
        ("relevant", *EVERY),
    ),
    MeasureEntry(
        "R",
        "share of the relevant documents that stand in the first positions",
        "trec_eval: recall; without a cut-off, set_recall",
        ("relevant", *EVERY),
    ),
    MeasureEntry(
        "RBP",
        "share of the documents read by one who goes on to the next with probability p that are "
        "relevant",
        "Moffat & Zobel 2008",
        ("p", "relevant", *EVERY),
    ),
    MeasureEntry(
        "GradedRBP",
        "RBP of graded relevance: its gain is divided by 2^top_grade, or by top_grade where it is "
        "linear",
        "Moffat & Zobel 2008, section 3.5; gains of Chapelle, Metzler, Zhang & Grinspan 2009",
        ("gain", "p", "top_grade", *EVERY),
    ),
    MeasureEntry(
        "Bpref",
        "share of the judged nonrelevant documents that stand below a relevant one, the mean over "
        "the relevant documents; negative grades are not judged, and lists without any say less "
        "than AP",
        "Buckley & Voorhees 2004 (trec_eval: bpref)",
        ("relevant", *EVERY),
    ),
    MeasureEntry(
        "Judged",
        "share of the first positions that hold judged documents: grades from 0 on; 1 where every "
        "row of the data is judged",
        "ir_measures: Judged",
        ("ties",),
    ),
)
MEASURES: dict[str, MeasureEntry] = {entry.name: entry for entry in _ENTRIES}
_BY_LETTERS = {name.casefold(): name for name in MEASURES}

ALIASES: Mapping[str, str] = {
    "map": "AP",
    "map_cut": "AP",
    "mrr": "RR",
    "recip_rank": "RR",
    "ndcg_cut": "NDCG",
    "precision": "P",
    "set_p": "P",
    "recall": "R",
    "set_recall": "R",
}
"""What trec_eval and ir_measures call measures; what is printed is our name, its conventions ours
unless a bundle of theirs is asked for (`core.metrics.bundles`)."""

_BY_LETTERS |= ALIASES

_TERMS = {"rel": "relevant", "dcg": "gain"}
_GAINS = {"log2": "linear", "exp-log2": "exp2"}
"""What ir_measures calls conventions, and its gains."""

EMPTY_WORDS = {"zero": "0", "one": "1", "skip": "left out", "nan": "NaN"}
GAIN_WORDS = {"exp2": "2^y − 1", "linear": "y"}
TIES_WORDS = {"averaged": "averaged", "row": "by row", "trec": "by document id, last first"}
SAMPLED = {"averaged": ", exactly or over seeded orders where they are many", "row": "", "trec": ""}
"""What is done beside, where a measure is user code."""

_SHAPE = re.compile(
    r"\s*(?P<name>\w+(?:#\w+)?)\s*(?:\((?P<terms>[^()]*)\))?\s*(?:@\s*(?P<cutoff>\S+))?\s*"
)
_FULL = re.compile(rf"\w+{MARK}\w{{{DIGITS}}}")
_TREC = re.compile(r"\s*(?P<name>[A-Za-z]+(?:_[A-Za-z]+)?)_(?P<cutoff>\d+)\s*")
"""With its cut-off as trec_eval writes it: ndcg_cut_10, P_5."""


@dataclass(frozen=True)
class Measure:
    """One measure of a ranked list under stated conventions.

    Raises:
        UnknownNameError: the registry has no such measure.
        ParameterError: a convention out of its bounds, or one that this measure does not have.

    >>> str(Measure("NDCG", 10, ideal="shown"))
    'NDCG(ideal=shown)@10'
    >>> Measure.parse("ndcg @ 10").convention()
    'NDCG@10 · gain: 2^y − 1 · ideal: judged · no relevant: 0 · ties: averaged'
    """

    name: str
    cutoff: int | None = parameter(None, "positions that count; none: the whole list", low=1)
    gain: str = parameter("exp2", "gain of grade y: 2^y − 1 or y", choices=("exp2", "linear"))
    discount: str = parameter(
        "log2",
        "1/log2(position + 1), or LETOR 3.0's, which weighs positions 1 and 2 alike",
        choices=("log2", "letor"),
    )
    ideal: str = parameter(
        "judged",
        "documents that make the ideal ranking, the total of relevant ones and the queries "
        "without any: all judged ones of the query, or those shown",
        choices=("judged", "shown"),
    )
    empty: str = parameter(
        "zero",
        "value of a query without relevant documents; skip: left out of means",
        choices=("zero", "one", "skip", "nan"),
    )
    ties: str = parameter(
        "averaged",
        "equal scores: the expected value over their orders, the order of data set rows, or "
        "trec_eval's: by document id as text, the last first",
        choices=("averaged", "row", "trec"),
    )
    relevant: int = parameter(1, "lowest grade that counts as relevant", low=1, unit="grade")
    top_grade: int = parameter(4, "grade that satisfies with (2^y − 1)/2^y", low=1, unit="grade")
    p: float = parameter(
        0.8, "persistence: the chance of reading on to the next document", low=0.0, high=0.9999
    )
    short: str = parameter(
        "measured",
        "value of a list with fewer documents than the cut-off: measured like any other, or 0 as "
        "LETOR's tools have it",
        choices=("measured", "zero"),
    )

    def __post_init__(self) -> None:
        """Check the name, the bounds and that no convention is set in vain."""
        if self.name not in MEASURES:
            object.__setattr__(self, "name", _of_user_code(self.name))
        check(self)
        for name in ("cutoff", "relevant", "top_grade"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ParameterError(name, value, "a whole number")
        for name in self._changed_conventions():
            if name not in self.entry.conventions:
                allowed = ", ".join(self.entry.conventions)
                raise ParameterError(
                    f"{self.name}({name})", getattr(self, name), f"left: {allowed}"
                )

    @property
    def entry(self) -> MeasureEntry:
        """What the registry says of the name."""
        return MEASURES[self.name] if self.name in MEASURES else user_entry(self.name)

    @property
    def is_user_code(self) -> bool:
        """Whether it is a function that somebody registered, here or where it was stored."""
        return self.name not in MEASURES

    @property
    def without_conventions(self) -> str:
        """Name and cut-off without conventions.

        >>> Measure.parse("NDCG(ideal=shown)@10").without_conventions
        'NDCG@10'
        """
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def skips(self) -> bool:
        """Whether a query without a value is left out of means."""
        return self.empty == "skip" or self.is_user_code

    @classmethod
    def parse(cls, text: str, conventions: Mapping[str, Any] | None = None) -> "Measure":
        """The measure that prints as `text`; spaces and the case of the name do not matter.

        trec_eval's and ir_measures' names are taken too (ALIASES).

        Args:
            text: as printed.
            conventions: what the text leaves open, as `under` takes it; by default the defaults.

        Raises:
            UnknownNameError: no measure has that name.
            ParameterError: not of the form NAME(convention=value,…)@cutoff, or a wrong value.

        >>> Measure.parse("nDCG(dcg='log2')@10")
        Measure('NDCG(gain=linear)@10')
        >>> Measure.parse("P(relevant=2)@5")
        Measure('P(relevant=2)@5')
        >>> Measure.parse("NDCG(empty=zero)@5", {"empty": "one", "gain": "linear"})
        Measure('NDCG(gain=linear)@5')
        >>> [str(Measure.parse(text)) for text in ("MAP", "nDCG@10", "ndcg_cut_10", "P_5")]
        ['AP', 'NDCG@10', 'NDCG@10', 'P@5']
        """
        trec = _TREC.fullmatch(text)
        match = _SHAPE.fullmatch(trec.expand(r"\g<name>@\g<cutoff>") if trec else text)
        if match is None:
            raise ParameterError("measure", text, "like NDCG@10 or NDCG(ideal=shown)@10")
        name, terms = _BY_LETTERS.get(match["name"].casefold(), ""), match["terms"] or ""
        name = name or _of_user_code(match["name"])
        values: dict[str, str] = {}
        for term in filter(None, (part.strip() for part in terms.split(","))):
            key, equals, value = (part.strip() for part in term.partition("="))
            key = _TERMS.get(key.casefold(), key.casefold())
            if not equals or key in values or key == "cutoff":
                raise ParameterError(f"{name}({term})", text, "convention=value, each once")
            if key not in {declared.name for declared in parameters(cls)}:
                known = "one of " + ", ".join(cls(name).entry.conventions)
                raise ParameterError(f"a convention of {quoted(text)}", key, known)
            value = value.strip("'\"")
            values[key] = _GAINS.get(value, value) if key == "gain" else value
        if match["cutoff"] is not None:
            values["cutoff"] = match["cutoff"]
        return with_texts(cls(name).under(**(conventions or {})), values)

    def under(self, **conventions: Any) -> "Measure":
        """The same measure under other conventions; those it does not have are passed over.

        >>> [str(Measure.parse(text).under(gain="linear")) for text in ("NDCG@5", "AP")]
        ['NDCG(gain=linear)@5', 'AP']
        """
        fitting = {k: v for k, v in conventions.items() if k in (*self.entry.conventions, "cutoff")}
        return dataclasses.replace(self, **fitting)

    def convention(self) -> str:
        """The measure and its conventions in words, for the screen."""
        short = self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"
        changed = self._changed_conventions()
        words = [short]
        if self.is_user_code:
            words.append("a function of the labels in ranked order, user code")
            return " · ".join([*words, f"ties: {TIES_WORDS[self.ties]}{SAMPLED[self.ties]}"])
        if "gain" in self.entry.conventions:
            words.append(f"gain: {GAIN_WORDS[self.gain]}")
        if "p" in self.entry.conventions:
            words.append(f"persistence: {self.p:g}")
        if "discount" in changed:
            words.append(f"discount: {self.discount}")
        if "relevant" in self.entry.conventions:
            words.append(f"relevant: grade ≥ {self.relevant}")
        if "top_grade" in self.entry.conventions:
            words.append(f"top grade: {self.top_grade}")
        if "empty" in self.entry.conventions:
            words.append(f"ideal: {self.ideal}")
            words.append(f"no relevant: {EMPTY_WORDS[self.empty]}")
        if "short" in changed:
            words.append("lists shorter than the cut-off: 0")
        words.append(f"ties: {TIES_WORDS[self.ties]}")
        return " · ".join(words)

    def __str__(self) -> str:
        """The text that parses back to this measure."""
        terms = ",".join(f"{name}={getattr(self, name)}" for name in self._changed_conventions())
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return self.name + (f"({terms})" if terms else "") + cutoff

    def __repr__(self) -> str:
        """The text, marked as a measure."""
        return f"Measure({str(self)!r})"

    def _changed_conventions(self) -> list[str]:
        """The conventions that differ from their default, in the order declared."""
        conventions = (entry for entry in parameters(Measure) if entry.name != "cutoff")
        return [entry.name for entry in conventions if getattr(self, entry.name) != entry.default]


def is_measure(text: str) -> bool:
    """Whether a text is a measure of effectiveness; a study's own facts are written small.

    >>> [is_measure(text) for text in ("NDCG@10", "hits#3f2a91c4", "tau")]
    [True, True, False]
    """
    return text[:1].isupper() or MARK in text


def user_entry(name: str) -> MeasureEntry:
    """What is known of a measure of user code, registered here or only named in what is stored."""
    registration = registered_code("measure", name)
    summary = (
        registration.thing.summary if registration else "a function that is not registered here"
    )
    return MeasureEntry(name, summary, "user code", ("ties",))


def _of_user_code(name: str) -> str:
    """The whole name of a measure of user code.

    Raises:
        UnknownNameError: nothing of that name is registered, and it has no digits.
    """
    registration = registered_code("measure", name)
    if registration is None and not _FULL.fullmatch(name):
        raise UnknownNameError("measure", name, [*MEASURES, *names("measure")])
    return registration.full if registration else name
