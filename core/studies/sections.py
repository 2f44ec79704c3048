"""Sections of a result, in display order: sentences, conventions, pictures, tables.

The terminal, table files and the report show them in order; the pages place each section at the
matching selection.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL, with_display_names
from shuffleproof.core.studies.tables import DIGITS, Table
from shuffleproof.core.words import counted, listed

if TYPE_CHECKING:
    from shuffleproof.core.studies.result import StudyResult


STOPPED = "stopped"
"""Fact of a result that reached its time limit: seconds, finished trials, and all trials."""

ANSWER_FAULTS = "answer_faults"
"""Fact of a result with faulty answers of endpoints, in sentences."""

LOSS, MEAN = "loss", "mean"
"""Values of curves: the loss from the unperturbed lists, or the measure itself."""

UNDEFINED = "Under this convention the means are undefined: some queries have no relevant document."
"""The only finding in that case."""


@dataclass(frozen=True)
class Text:
    """Section of words; an empty one is not shown."""

    text: str


@dataclass(frozen=True)
class Headline(Text):
    """Answer in one sentence of at most 25 words.

    Attributes:
        tier: of the ranker that loses most, a name of `core.studies.headline.TIERS`; empty without
            perturbations.
        why: meaning of the tier, for details.
        label: short text of the tier; empty: the tier's own name.
    """

    tier: str = ""
    why: str = ""
    label: str = ""


class Finding(Text):
    """Sentence that sums up the numbers."""


class Convention(Text):
    """Convention of the numbers: measure, queries, draws."""

    @classmethod
    def of(cls, measure: str, queries: int, *more: str) -> "Convention":
        """Measure's convention, number of queries, and further remarks."""
        parts = [Measure.parse(measure).convention(), f"N = {counted(queries, 'query')}", *more]
        return cls(" · ".join(parts))


@dataclass(frozen=True)
class Picture:
    """Picture that the dashboard draws.

    Attributes:
        name: of `shuffleproof.app.pictures.PICTURES`.
        facts: arguments of the drawing function, or a function that computes them on demand.
        tables: the same numbers for media without pictures; empty: another table has them.
        title: short label among the pictures of one page; empty: the page draws it below the first.
    """

    name: str
    facts: Sequence[Any] | Callable[[], Sequence[Any]]
    tables: Sequence[Table] = ()
    title: str = ""

    @property
    def complete(self) -> "Picture":
        """Copy with computed facts."""
        return replace(self, facts=self.facts()) if callable(self.facts) else self


@dataclass(frozen=True)
class Details:
    """Evidence for a sentence, one line each, shown on demand."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class View:
    """Options to show a study, if they differ from the defaults.

    Attributes:
        measures: of the tables; empty: those of the study.
        digits: number of decimals.
        baselines: of the marks of a benchmark; None: the initial ranking.
        test: a name of `core.studies.kinds.benchmark.table.TESTS`.
        family: of headline and sections; empty: all, or the first one of a figure.
        rankers: to compare in the headline; empty: all but the initial ranking.
    """

    measures: Sequence[str] = ()
    digits: int = DIGITS
    baselines: Sequence[str] | None = None
    test: str = "paired t"
    family: str = ""
    rankers: Sequence[str] = ()

    def compared_labels(self, labels: Iterable[str]) -> list[str]:
        """Rankers that the headline compares."""
        selected = [label for label in labels if not self.rankers or label in self.rankers]
        return [label for label in selected if label != INITIAL] or selected

    def measure(self, result: "StudyResult") -> str:
        """First measure of the tables."""
        return str([*self.measures, *result.measures][0])


Section = Headline | Finding | Convention | Picture | Details | Table


def picture_of(sections: Iterable[Section], number: int) -> Picture:
    """Picture by its number from 1.

    Raises:
        UsageError: there is no such picture.

    >>> picture_of([Picture("curves", (), title="Loss"), Picture("curves", (), title="Mean")], 3)
    Traceback (most recent call last):
    shuffleproof.core.errors.UsageError: --figure 3: this study has figures 1 (Loss) and 2 (Mean)
    """
    pictures = [section for section in sections if isinstance(section, Picture)]
    if not pictures:
        raise UsageError("a study of this kind has no figure: write its tables, to .csv or .md")
    if not 1 <= number <= len(pictures):
        names = [f"{at} ({one.title or one.name})" for at, one in enumerate(pictures, start=1)]
        which = f"figure{'s' * (len(names) > 1)} {listed(names)}"
        raise UsageError(f"--figure {number}: this study has {which}")
    return pictures[number - 1]


def tables_in(sections: Iterable[Section]) -> Iterator[Table]:
    """Tables that are shown at once: also those of pictures, but no folded ones."""
    for section in sections:
        if isinstance(section, Picture):
            yield from section.tables
        elif isinstance(section, Table) and not section.folded:
            yield section


def sections_of(
    sections_module: "SectionsModule", result: "StudyResult", view: View
) -> Iterator[Section]:
    """All sections of a result: headline, limits of an incomplete result, the rest."""
    yield sections_module.headline(result, view)
    yield from map(Convention, limits(result.facts))
    labels = tuple(dict.fromkeys(map(str, result.trials.get("ranker", ()))))
    for section in sections_module.sections(result, view):
        yield _with_display_names(section, labels)


def _with_display_names(section: Section, labels: Sequence[str]) -> Section:
    """Section whose texts use the unique display names of rankers."""
    if isinstance(section, Text):
        return replace(section, text=with_display_names(section.text, labels))
    if isinstance(section, Details):
        lines = [with_display_names(line, labels) for line in section.lines]
        return Details(with_display_names(section.title, labels), lines)
    if isinstance(section, Picture):
        return replace(section, tables=[table.with_display_names for table in section.tables])
    return section.with_display_names


def limits(facts: Mapping[str, Any]) -> list[str]:
    """Sentences on missing parts of a result: queries, faulty answers, trials after the time limit.

    >>> limits({"queries": 100, "of_queries": 784})
    ['The first 100 of 784 test queries.']
    >>> print(*limits({"stopped": {"seconds": 60, "done": 12, "of": 40}}))
    Stopped after 60 s: 12 of 40 trials. The same line without --max-seconds goes on.
    """
    sentences = []
    if "of_queries" in facts:
        all_queries = counted(facts["of_queries"], "test query")
        sentences.append(f"The first {facts['queries']:,} of {all_queries}.")
    sentences += facts.get(ANSWER_FAULTS, [])
    if STOPPED in facts:
        stopped = facts[STOPPED]
        progress = f"{stopped['done']:,} of {counted(stopped['of'], 'trial')}"
        sentences.append(
            f"Stopped after {stopped['seconds']:g} s: {progress}. The same line without "
            "--max-seconds goes on."
        )
    return sentences


class SectionsModule(Protocol):
    """Protocol of the module `sections` of a kind: headline, sections, answer in JSON."""

    def headline(self, result: "StudyResult", view: View, /) -> Headline:
        """Answer in one sentence."""
        ...

    def sections(self, result: "StudyResult", view: View, /) -> Iterator[Section]:
        """Sections below the headline, in display order."""
        ...

    def answer(self, result: "StudyResult", view: View, /) -> dict[str, Any]:
        """Answer of the command in JSON, without the study's key and its summary."""
        ...
