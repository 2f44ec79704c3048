"""Measures: frozen values that print and parse back to themselves, `NDCG(ideal=shown)@10`.

Only conventions that differ from the default are printed. The registry has the summary, source and
conventions of every name. Other conventions are refused, since they would have no effect. A
measure of user code (`core.metrics.user_measures`) has the digest of its function in its name,
`hits#3f2a91c4@10`, and can be parsed without being registered.
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from shuffleproof.core.errors import ParameterError, UnknownNameError, quoted
from shuffleproof.core.parameters import check, parameter, parameters, with_changes
from shuffleproof.core.user_code import DIGITS, MARK, names, registered_code

EVERY = ("ideal", "empty", "ties")


class Kernel(NamedTuple):
    """Description of a measure for compiled code (`core.metrics.blocks`).

    Attributes:
        kind: one of `blocks.KINDS`.
        divisor: one of `blocks.DIVISORS`.
        gain: `grade`: by the grade; `relevant`, `judged`: 1 for such a document.
        flat: True if all positions count alike.
    """

    kind: str
    divisor: str = ""
    gain: str = "relevant"
    flat: bool = False


_AP, _BPREF = Kernel("ap", "possible"), Kernel("bpref")


@dataclass(frozen=True)
class MeasureEntry:
    """Entry of a measure in the registry.

    Attributes:
        name: printed name.
        summary: one sentence.
        source: definition.
        conventions: fields of `Measure` that it depends on.
        kernel: for compiled code; None: a Python function of one list computes it.
        over_queries: aggregation over queries: `mean`, `sum` or `geometric`.
        cut: True if it can have a cut-off.
        share: True if its values, and their mean over queries, are from 0 to 1.
    """

    name: str
    summary: str
    source: str
    conventions: tuple[str, ...]
    kernel: Kernel | None = None
    over_queries: str = "mean"
    cut: bool = True
    share: bool = True


_ENTRIES = (
    MeasureEntry(
        "NDCG",
        "discounted gain of the ranking, divided by that of the ideal ranking",
        "Järvelin & Kekäläinen 2002; gain 2^y − 1 of Burges et al. 2005",
        ("gain", "discount", *EVERY, "short"),
        kernel=Kernel("gained", "possible", "grade"),
    ),
    MeasureEntry(
        "MeanNDCG",
        "mean of NDCG@1, NDCG@2, … over the positions of the list, or of its first ones",
        "LETOR 4.0's Eval-Score-4.0.pl (Qin & Liu 2013, arXiv:1306.2597)",
        ("gain", "discount", *EVERY),
        kernel=Kernel("mean", gain="grade"),
    ),
    MeasureEntry(
        "DCG",
        "sum of the documents' gains, each discounted by its position",
        "Järvelin & Kekäläinen 2002; gain 2^y − 1 of Burges et al. 2005",
        ("gain", "discount", *EVERY),
        kernel=Kernel("gained", gain="grade"),
        share=False,
    ),
    MeasureEntry(
        "ERR",
        "expected reciprocal rank at which a reader who scans downwards is satisfied",
        "Chapelle, Metzler, Zhang & Grinspan 2009",
        ("top_grade", *EVERY),
        kernel=Kernel("err", gain="grade"),
    ),
    MeasureEntry(
        "AP",
        "mean over the relevant documents of the precision at their positions",
        "Buckley & Voorhees 2000 (trec_eval: map, map_cut)",
        ("relevant", *EVERY),
        kernel=_AP,
    ),
    MeasureEntry(
        "RR",
        "reciprocal rank of the first relevant document",
        "Kantor & Voorhees 2000 (trec_eval: recip_rank)",
        ("relevant", *EVERY),
        kernel=Kernel("rr"),
    ),
    MeasureEntry(
        "P",
        "share of the first positions that hold relevant documents",
        "trec_eval: P; without a cut-off, set_P",
        ("relevant", *EVERY),
        kernel=Kernel("gained", "cutoff", flat=True),
    ),
    MeasureEntry(
        "R",
        "share of the relevant documents in the first positions",
        "trec_eval: recall; without a cut-off, set_recall",
        ("relevant", *EVERY),
        kernel=Kernel("gained", "possible", flat=True),
    ),
    MeasureEntry(
        "RBP",
        "share of the documents read by one who goes on to the next with probability p that are "
        "relevant",
        "Moffat & Zobel 2008",
        ("p", "relevant", *EVERY),
        kernel=Kernel("gained"),
    ),
    MeasureEntry(
        "GradedRBP",
        "RBP of graded relevance: its gain is divided by 2^top_grade, or by top_grade where it is "
        "linear",
        "Moffat & Zobel 2008, section 3.5; gains of Chapelle, Metzler, Zhang & Grinspan 2009",
        ("gain", "p", "top_grade", *EVERY),
        kernel=Kernel("gained", "highest", "grade"),
    ),
    MeasureEntry(
        "Bpref",
        "share of the judged nonrelevant documents that stand below a relevant one, the mean over "
        "the relevant documents; negative grades are not judged, and lists without any say less "
        "than AP",
        "Buckley & Voorhees 2004 (trec_eval: bpref)",
        ("relevant", *EVERY),
        kernel=_BPREF,
    ),
    MeasureEntry(
        "Judged",
        "share of the first positions that hold judged documents: grades from 0 on; 1 where every "
        "row of the data is judged",
        "ir_measures: Judged",
        ("ties",),
        kernel=Kernel("gained", "above", "judged", flat=True),
    ),
    MeasureEntry(
        "GMAP",
        "AP per query; geometric mean over queries, values below 0.00001 count as that",
        "Robertson 2006 (trec_eval: gm_map)",
        ("relevant", *EVERY),
        kernel=_AP,
        over_queries="geometric",
        share=False,
    ),
    MeasureEntry(
        "GMBpref",
        "Bpref per query; geometric mean over queries, values below 0.00001 count as that",
        "trec_eval: gm_bpref",
        ("relevant", *EVERY),
        kernel=_BPREF,
        over_queries="geometric",
        share=False,
    ),
    *(
        MeasureEntry(name, summary, f"trec_eval: {trec_name}", (*own, "empty", "ties"),
                     cut=name in {"Success", "RelP"})
        for name, summary, trec_name, own in (
            ("Rprec", "precision at R, the number of relevant documents, or at a multiple of it",
             "Rprec, Rprec_mult", ("relevant", "multiple")),
            ("Success", "1 where a relevant document is in the first positions, else 0", "success",
             ("relevant",)),
            ("RelP", "precision divided by the highest precision that is possible at the cutoff",
             "relative_P; without a cutoff, set_relative_P", ("relevant",)),
            ("IPrec", "highest precision at this recall or above", "iprec_at_recall of version 10",
             ("relevant", "recall")),
            ("AP11", "mean of IPrec at recall 0, 0.1, … 1", "11pt_avg", ("relevant",)),
            ("SetF", "harmonic mean of precision and recall of the whole list", "set_F",
             ("relevant",)),
            ("SetAP", "precision times recall of the whole list", "set_map", ("relevant",)),
            ("InfAP", "AP inferred from incomplete judgments; a negative grade is outside the pool",
             "infAP (Yilmaz & Aslam 2006)", ("relevant",)),
            ("BinG", "mean over relevant documents of 1/log2(2 + nonrelevant documents above)",
             "binG", ("relevant",)),
            ("G", "sum of gain/log2(2 + gain missed above), divided by all gain; gain y", "G", ()),
            ("NDCGRel", "mean of NDCG at the positions of the relevant documents; gain y",
             "ndcg_rel", ()),
            ("RNDCG", "mean of NDCG where the grade of the ideal ranking falls; gain y", "Rndcg",
             ()),
            ("NormRBP", "RBP whose gains are divided by the highest grade of the query", "rbp",
             ("p",)),
            ("RBPResidual", "RBP that documents without a judgment could add", "rbp_resid",
             ("p",)),
        )
    ),
    MeasureEntry(
        "Utility",
        "relevant documents retrieved minus the others retrieved",
        "trec_eval: utility",
        ("relevant", "ties"),
        cut=False,
        share=False,
    ),
    MeasureEntry(
        "Unjudged",
        "share of the first positions that hold documents without a judgment: negative grades",
        "trec_eval: unj",
        ("ties",),
    ),
    *(
        MeasureEntry(name, f"{what}; summed over queries", f"trec_eval: {trec_name}", own,
                     over_queries="sum", cut=False, share=False)
        for name, what, trec_name, own in (
            ("NumQ", "queries", "num_q", ("ties",)),
            ("NumRet", "documents retrieved", "num_ret", ("ties",)),
            ("NumRel", "relevant documents judged", "num_rel", ("relevant", "ties")),
            ("NumRelRet", "relevant documents retrieved", "num_rel_ret", ("relevant", "ties")),
            ("NumNonrelRet", "documents retrieved that are judged not relevant",
             "num_nonrel_judged_ret", ("relevant", "ties")),
        )
    ),
)  # fmt: skip
MEASURES: dict[str, MeasureEntry] = {entry.name: entry for entry in _ENTRIES}

_LINEAR = {"gain": "linear"}
ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nDCG": ("NDCG", _LINEAR),
    "ndcg": ("NDCG", _LINEAR),
    "ndcg_cut": ("NDCG", _LINEAR),
    "map": ("AP", {}),
    "map_cut": ("AP", {}),
    "mrr": ("RR", {}),
    "recip_rank": ("RR", {}),
    "precision": ("P", {}),
    "set_P": ("P", {}),
    "SetP": ("P", {}),
    "recall": ("R", {}),
    "set_recall": ("R", {}),
    "SetR": ("R", {}),
    "gm_map": ("GMAP", {}),
    "gm_bpref": ("GMBpref", {}),
    "Rprec_mult": ("Rprec", {}),
    "relative_P": ("RelP", {}),
    "set_relative_P": ("RelP", {}),
    "SetRelP": ("RelP", {}),
    "iprec_at_recall": ("IPrec", {}),
    "11pt_avg": ("AP11", {}),
    "set_F": ("SetF", {}),
    "set_map": ("SetAP", {}),
    "ndcg_rel": ("NDCGRel", {}),
    "rbp": ("NormRBP", {"p": 0.9}),
    "rbp_resid": ("RBPResidual", {"p": 0.9}),
    "unj": ("Unjudged", {}),
    "num_q": ("NumQ", {}),
    "num_ret": ("NumRet", {}),
    "num_rel": ("NumRel", {}),
    "num_rel_ret": ("NumRelRet", {}),
    "num_nonrel_judged_ret": ("NumNonrelRet", {}),
}
"""Names of trec_eval and ir_measures: our name, and the conventions that theirs implies.

The treatment of ties is not changed; `--conventions trec_eval` sets it too."""

_LETTERS = {
    **{name.casefold(): target for name, target in ALIASES.items()},
    **{name.casefold(): (name, {}) for name in MEASURES},
}
"""Names by lower case; if only the case differs, our name wins (`NDCG@10`, not trec_eval's)."""

_OWN = {name.casefold() for name in MEASURES}

_OLD = dict.fromkeys(("R-prec", "R-Prec"), "Rprec")
"""Names of older versions of trec_eval."""

_FRACTIONS = {"Rprec": "multiple", "IPrec": "recall"}
"""Convention set by a number with a decimal point behind `@`: `IPrec@0.1`."""

_TERMS = {"rel": "relevant", "dcg": "gain"}
_GAINS = {"log2": "linear", "exp-log2": "exp2"}
"""Names of conventions, and of gains, in ir_measures."""

EMPTY_VALUES = {"zero": 0.0, "one": 1.0, "skip": math.nan, "nan": math.nan}
EMPTY_WORDS = {"zero": "0", "one": "1", "skip": "left out", "nan": "NaN"}
GAIN_WORDS = {"exp2": "2^y − 1", "linear": "y"}
TIES_WORDS = {"averaged": "averaged", "row": "by row", "trec": "by document id, last first"}
OVER_WORDS = {
    "geometric": "geometric mean (differences: means of the values per query)",
    "sum": "sum (differences: means of the values per query)",
}
SAMPLED = {"averaged": ", exactly or over seeded orders where they are many", "row": "", "trec": ""}
"""Additions to TIES_WORDS for measures of user code."""

_SHAPE = re.compile(
    r"\s*(?P<name>\w+(?:#\w+)?)\s*(?:\((?P<terms>[^()]*)\))?\s*(?:@\s*(?P<cutoff>\S+))?\s*"
)
_FULL = re.compile(rf"\w+{MARK}\w{{{DIGITS}}}")
_TREC = re.compile(
    r"\s*(?P<name>[A-Za-z]\w*?)_(?P<cutoff>\d+(?:\.\d+)?)\s*"
    r"|\s*(?P<cut>P|recall|relative_P|success|ndcg_cut|map_cut)\.(?P<at>\d+)\s*"
)
"""Names with a cut-off in trec_eval's output or input: ndcg_cut_10, iprec_at_recall_0.10, P.5."""

_MEANT = {
    **dict.fromkeys(("hit", "hits", "hitrate", "hr", "acc", "accuracy"), "Success"),
    **dict.fromkeys(("averageprecision", "meanaverageprecision"), "AP"),
    **dict.fromkeys(("reciprocalrank", "meanreciprocalrank"), "RR"),
    **dict.fromkeys(("f", "f1", "fmeasure", "fscore"), "SetF"),
    "prec": "P", "rprecision": "Rprec", "expectedreciprocalrank": "ERR",
}  # fmt: skip
"""Common names (letters and digits only) that are not in trec_eval or ir_measures."""

_NEAR = re.compile(r"\W*(?P<name>[^\W\d].*?)(?:[\W_]*(?:at[\W_]*)?(?P<cutoff>[1-9]\d*))?\s*")


@dataclass(frozen=True)
class Measure:
    """One measure of a ranked list, with its conventions.

    Raises:
        UnknownNameError: the registry has no such measure.
        ParameterError: a convention is out of bounds, or this measure does not have it.

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
    multiple: float = parameter(
        1.0, "position, as a multiple of the number of relevant documents", low=0.0, high=1000.0
    )
    recall: float = parameter(0.0, "recall at which precision is read", low=0.0, high=1.0)
    short: str = parameter(
        "measured",
        "value of a list with fewer documents than the cut-off: measured like any other, or 0 as "
        "LETOR's tools have it",
        choices=("measured", "zero"),
    )

    def __post_init__(self) -> None:
        """Check the name, the bounds, and that the measure has every changed convention."""
        if self.name not in MEASURES:
            object.__setattr__(self, "name", _of_user_code(self.name))
        check(self)
        for name in ("cutoff", "relevant", "top_grade"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ParameterError(name, value, "a whole number")
        if self.cutoff is not None and not self.entry.cut:
            name = self.name
            allowed = f"left out: {name} is of the whole list"
            if name in _FRACTIONS:
                allowed = f"a {_FRACTIONS[name]} with a decimal point, like {name}@0.1"
            raise ParameterError(f"cut-off of {name}", self.cutoff, allowed)
        for name in self._changed_conventions():
            if name not in self.entry.conventions:
                allowed = ", ".join(self.entry.conventions)
                raise ParameterError(
                    f"{self.name}({name})", getattr(self, name), f"left: {allowed}"
                )

    @property
    def entry(self) -> MeasureEntry:
        """Entry of the registry, or that of user code."""
        return MEASURES[self.name] if self.name in MEASURES else user_entry(self.name)

    @property
    def is_user_code(self) -> bool:
        """True for a user's function, registered here or elsewhere."""
        return self.name not in MEASURES

    @property
    def without_conventions(self) -> str:
        """Name and cut-off without conventions.

        >>> Measure.parse("NDCG(ideal=shown)@10").without_conventions
        'NDCG@10'
        """
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def is_function(self) -> bool:
        """True for a measure that a function of one ranked list computes, not a kernel."""
        return self.entry.kernel is None

    @property
    def skips(self) -> bool:
        """True if means leave out queries without a value."""
        return self.empty == "skip" or self.is_user_code

    @classmethod
    def parse(cls, text: str, conventions: Mapping[str, Any] | None = None) -> "Measure":
        """Measure of a text; spaces and the case of the name do not matter.

        A name of trec_eval or ir_measures implies that tool's gain (ALIASES).

        Args:
            text: printed form.
            conventions: values for conventions that are not in the text; None: the defaults.

        Raises:
            UnknownNameError: no measure has that name.
            ParameterError: not of the form NAME(convention=value,…)@cutoff, or a wrong value.

        >>> Measure.parse("nDCG(dcg='log2')@10")
        Measure('NDCG(gain=linear)@10')
        >>> Measure.parse("P(relevant=2)@5")
        Measure('P(relevant=2)@5')
        >>> Measure.parse("NDCG(empty=zero)@5", {"empty": "one", "gain": "linear"})
        Measure('NDCG(gain=linear)@5')
        >>> [str(Measure.parse(text)) for text in ("MAP", "P_5", "ndcg_cut_10", "nDCG@10")]
        ['AP', 'P@5', 'NDCG(gain=linear)@10', 'NDCG(gain=linear)@10']
        >>> str(Measure.parse("iprec_at_recall_0.10")), str(Measure.parse("Rprec@0.2"))
        ('IPrec(recall=0.1)', 'Rprec(multiple=0.2)')
        """
        trec = _TREC.fullmatch(text)
        plain = trec.expand(r"\g<name>\g<cut>@\g<cutoff>\g<at>") if trec else text
        match = _SHAPE.fullmatch(_OLD.get(plain.strip(), plain))
        if match is None:
            hint = f" (did you mean {meant}?)" if (meant := _meant(text)) else ""
            raise ParameterError("measure", text, f"like NDCG@10 or NDCG(ideal=shown)@10{hint}")
        (name, of_name), terms = _named(match), match["terms"] or ""
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
            at_fraction = name in _FRACTIONS and "." in match["cutoff"]
            values.setdefault(_FRACTIONS[name] if at_fraction else "cutoff", match["cutoff"])
        return with_changes(cls(name).under(**{**(conventions or {}), **of_name}), values)

    def under(self, **conventions: Any) -> "Measure":
        """Measure with other conventions; those that it does not have are ignored.

        >>> [str(Measure.parse(text).under(gain="linear")) for text in ("NDCG@5", "AP")]
        ['NDCG(gain=linear)@5', 'AP']
        """
        known = (*self.entry.conventions, *(("cutoff",) if self.entry.cut else ()))
        fitting = {name: value for name, value in conventions.items() if name in known}
        return dataclasses.replace(self, **fitting)

    def convention(self) -> str:
        """Measure and conventions in words."""
        short = self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"
        has, changed = self.entry.conventions, self._changed_conventions()
        ties, over = TIES_WORDS[self.ties], self.entry.over_queries
        if self.is_user_code:
            description = "a function of the labels in ranked order, user code"
            return " · ".join([short, description, f"ties: {ties}{SAMPLED[self.ties]}"])
        phrases = (
            ("gain" in has, f"gain: {GAIN_WORDS[self.gain]}"),
            ("p" in has, f"persistence: {self.p:g}"),
            ("discount" in changed, f"discount: {self.discount}"),
            ("relevant" in has, f"relevant: grade ≥ {self.relevant}"),
            ("top_grade" in has, f"top grade: {self.top_grade}"),
            ("multiple" in changed, f"position: {self.multiple:g} R"),
            ("recall" in has, f"recall: {self.recall:g}"),
            ("ideal" in has, f"ideal: {self.ideal}"),
            ("empty" in has, f"no relevant: {EMPTY_WORDS[self.empty]}"),
            ("short" in changed, "lists shorter than the cut-off: 0"),
            (over != "mean", f"over queries: {OVER_WORDS.get(over)}"),
            (True, f"ties: {ties}"),
        )
        return " · ".join([short, *(phrase for holds, phrase in phrases if holds)])

    def __str__(self) -> str:
        """Text that parses back to this measure."""
        return self._printed(self._changed_conventions())

    def text_under(self, *conventions: Mapping[str, Any]) -> str:
        """Text that parses back to this measure under each of these default conventions.

        >>> Measure("RR").text_under({"ties": "trec"}), Measure("RR").text_under({})
        ('RR(ties=averaged)', 'RR')
        """
        usual = [Measure(self.name).under(**defaults) for defaults in conventions]
        differs = [
            name
            for name in self.entry.conventions
            if any(getattr(self, name) != getattr(one, name) for one in usual)
        ]
        return self._printed(differs)

    def _printed(self, names: Sequence[str]) -> str:
        terms = ",".join(f"{name}={getattr(self, name)}" for name in names)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return self.name + (f"({terms})" if terms else "") + cutoff

    def __repr__(self) -> str:
        """Text in the form of a call."""
        return f"Measure({str(self)!r})"

    def _changed_conventions(self) -> list[str]:
        """Conventions that differ from their default, in declared order."""
        conventions = (entry for entry in parameters(Measure) if entry.name != "cutoff")
        return [entry.name for entry in conventions if getattr(self, entry.name) != entry.default]


def _named(match: re.Match[str]) -> tuple[str, Mapping[str, Any]]:
    """Our name of a measure, and the conventions that another tool's name implies.

    `ndcg` and `rbp` alone are trec_eval's names; `ndcg@10` and `rbp(p=0.9)` are ours in lower case.
    """
    text = match["name"]
    exact = ALIASES.get(text)
    if exact and (text.casefold() not in _OWN or text == "nDCG" or text == match.string.strip()):
        return exact
    return _LETTERS.get(text.casefold()) or (_of_user_code(text, _meant(match.string)), {})


def _meant(text: str) -> str:
    """Measure with the most similar name, with the cut-off; empty if there is none.

    >>> [_meant(text) for text in ("Hit@10", "F@10", "R-Precision", "NDGC(gain=linear)@5")]
    ['Success@10', 'SetF', 'Rprec', 'NDCG@5']
    >>> _meant("colour")
    ''
    """
    match = _NEAR.fullmatch(re.sub(r"\(.*\)", "", text))
    if match is None:
        return ""
    known = {re.sub(r"[\W_]", "", key): name for key, (name, _) in _LETTERS.items()} | _MEANT
    known |= {name.casefold(): name for name in names("measure")}
    key = re.sub(r"[\W_]", "", match["name"]).casefold()
    near = [key] if key in known else get_close_matches(key, known, n=1)
    if not near:
        return ""
    name = known[near[0]]
    cut = match["cutoff"] and (name not in MEASURES or MEASURES[name].cut)
    return f"{name}@{match['cutoff']}" if cut else name


def is_measure(text: str) -> bool:
    """True if a text is a measure of effectiveness; other stored values have lower-case names.

    >>> [is_measure(text) for text in ("NDCG@10", "hits#3f2a91c4", "tau")]
    [True, True, False]
    """
    return text[:1].isupper() or MARK in text


SHARES = frozenset({"agreement", "pair accuracy", "kept-top-1", "kept-top-10"})
"""Other stored values that are from 0 to 1."""


def is_share(text: str) -> bool:
    """True if the values of a measure, or other stored values, are from 0 to 1."""
    return Measure.parse(text).entry.share if is_measure(text) else text in SHARES


def over_queries(text: str) -> str:
    """Aggregation of a measure, or of other stored values, over queries: see `MeasureEntry`."""
    return Measure.parse(text).entry.over_queries if is_measure(text) else "mean"


def user_entry(name: str) -> MeasureEntry:
    """Entry of a measure of user code, also of one that is not registered here."""
    registration = registered_code("measure", name)
    summary = (
        registration.thing.summary if registration else "a function that is not registered here"
    )
    return MeasureEntry(name, summary, "user code", ("ties",), share=False)


def _of_user_code(name: str, meant: str = "") -> str:
    """Full name of a measure of user code.

    Args:
        name: with or without its digits.
        meant: suggestion for the error message.
    """
    registration = registered_code("measure", name)
    if registration is None and not _FULL.fullmatch(name):
        raise UnknownNameError("measure", name, [*MEASURES, *names("measure")], meant)
    return registration.full if registration else name
