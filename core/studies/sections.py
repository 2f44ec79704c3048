"""What a study says, in order: sentences, conventions, pictures, tables.

The terminal, the files of its tables and the report walk them; the pages show the same, each where
what is chosen leads to it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL, with_display_names
from shuffleproof.core.studies.tables import DIGITS, Table
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    from shuffleproof.core.studies.result import StudyResult


STOPPED = "stopped"
"""The fact of a result whose time was up: seconds, trials done, and of how many."""

LOSS, MEAN = "loss", "mean"
"""What curves show: the loss from the lists as they are, or the measure itself."""

UNDEFINED = "Under this convention the means are undefined: some queries have no relevant document."
"""The finding, where that is all there is to say."""


@dataclass(frozen=True)
class Text:
    """Something in words; nothing is shown of an empty one."""

    text: str


@dataclass(frozen=True)
class Headline(Text):
    """The answer in one sentence of at most 25 words.

    Attributes:
        tier: what becomes of the ranker that loses most, a name of `core.studies.headline.TIERS`;
            empty where nothing was disturbed.
        why: what the tier means, for who asks.
        label: of the chip that shows the tier; empty: the tier's own name.
    """

    tier: str = ""
    why: str = ""
    label: str = ""


class Finding(Text):
    """What the numbers amount to."""


class Convention(Text):
    """What the numbers are: measure, queries, draws."""

    @classmethod
    def of(cls, measure: str, queries: int, *more: str) -> "Convention":
        """The measure's convention, the number of queries and what else there is to say."""
        parts = [Measure.parse(measure).convention(), f"N = {counted(queries, 'query')}", *more]
        return cls(" · ".join(parts))


@dataclass(frozen=True)
class Picture:
    """A picture that the dashboard draws.

    Attributes:
        name: of `shuffleproof.app.pictures.PICTURES`.
        facts: what it is drawn from, or what gives that: only who draws it waits for it.
        tables: the same in numbers, where nothing can be drawn; none: another table says them.
        title: short label among the pictures of one page; empty: the page draws it below the first.
    """

    name: str
    facts: Sequence[Any] | Callable[[], Sequence[Any]]
    tables: Sequence[Table] = ()
    title: str = ""

    @property
    def complete(self) -> "Picture":
        """The same with its facts there."""
        return replace(self, facts=self.facts()) if callable(self.facts) else self


@dataclass(frozen=True)
class Details:
    """What a sentence rests on, for who asks: a line each."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class View:
    """How a study is to be shown, where it is not as it was asked for.

    Attributes:
        measures: of the tables; none: those of the study.
        digits: decimals.
        baselines: what rows of a benchmark are marked against; none: the initial ranking.
        test: a name of `core.studies.kinds.benchmark.table.TESTS`.
        family: that headline and sections are about; empty: all, of a figure its first.
        rankers: that the headline compares; none: all but the initial ranking.
    """

    measures: Sequence[str] = ()
    digits: int = DIGITS
    baselines: Sequence[str] | None = None
    test: str = "paired t"
    family: str = ""
    rankers: Sequence[str] = ()

    def compared_labels(self, labels: Iterable[str]) -> list[str]:
        """The rankers of a study that its headline compares."""
        selected = [label for label in labels if not self.rankers or label in self.rankers]
        return [label for label in selected if label != INITIAL] or selected

    def measure(self, result: "StudyResult") -> str:
        """The first measure of the tables."""
        return str([*self.measures, *result.measures][0])


Section = Headline | Finding | Convention | Picture | Details | Table


def tables_in(sections: Iterable[Section]) -> Iterator[Table]:
    """The tables that a reader sees at once: those of pictures among them, folded ones not."""
    for section in sections:
        if isinstance(section, Picture):
            yield from section.tables
        elif isinstance(section, Table) and not section.folded:
            yield section


def sections_of(telling: "SectionsModule", result: "StudyResult", view: View) -> Iterator[Section]:
    """Everything that a study says: the headline, what it is of where that is not all, the rest."""
    yield telling.headline(result, view)
    yield from map(Convention, limits(result.facts))
    labels = tuple(dict.fromkeys(map(str, result.trials.get("ranker", ()))))
    for section in telling.sections(result, view):
        yield _with_display_names(section, labels)


def _with_display_names(section: Section, labels: Sequence[str]) -> Section:
    """A section whose sentences and headings call rankers by their names, no two alike."""
    if isinstance(section, Text):
        return replace(section, text=with_display_names(section.text, labels))
    if isinstance(section, Details):
        lines = [with_display_names(line, labels) for line in section.lines]
        return Details(with_display_names(section.title, labels), lines)
    if isinstance(section, Picture):
        return replace(section, tables=[table.with_display_names for table in section.tables])
    return section.with_display_names


def limits(facts: Mapping[str, Any]) -> list[str]:
    """What of a study is not there, in sentences: further queries, trials after its time was up.

    >>> limits({"queries": 100, "of_queries": 784})
    ['Of 784 test queries the first 100.']
    >>> print(*limits({"stopped": {"seconds": 60, "done": 12, "of": 40}}))
    Stopped after 60 s: 12 of 40 trials. The same line without --max-seconds goes on.
    """
    sentences = []
    if "of_queries" in facts:
        all_queries = counted(facts["of_queries"], "test query")
        sentences.append(f"Of {all_queries} the first {facts['queries']:,}.")
    if STOPPED in facts:
        stopped = facts[STOPPED]
        progress = f"{stopped['done']:,} of {counted(stopped['of'], 'trial')}"
        sentences.append(
            f"Stopped after {stopped['seconds']:g} s: {progress}. The same line without "
            "--max-seconds goes on."
        )
    return sentences


class SectionsModule(Protocol):
    """The module `sections` of a kind: headline, sections for people, answer in JSON."""

    def headline(self, result: "StudyResult", view: View, /) -> Headline:
        """The answer in one sentence."""
        ...

    def sections(self, result: "StudyResult", view: View, /) -> Iterator[Section]:
        """What is said below it, in order."""
        ...

    def answer(self, result: "StudyResult", view: View, /) -> dict[str, Any]:
        """What its command answers in JSON, beside the study's key and its summary."""
        ...
