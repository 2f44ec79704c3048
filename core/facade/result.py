"""Result of a study for readers: the finding, tables, figures, files."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from shuffleproof.command import answer, arguments_for_flags, takes_flags
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.parameters import OLD, parts_of
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    STOPPED,
    Finding,
    Headline,
    Picture,
    Section,
    View,
    limits,
    sections_of,
)
from shuffleproof.core.studies.tables import Cell, Table
from shuffleproof.core.words import counted, cut

WIDEST, PARAGRAPH, FINDINGS, ROWS = 160, 400, 6, 12
"""Letters of a line of a `repr` and of a paragraph in a notebook, findings of both, rows of a table
in a notebook: what is beyond is cut."""

OF_OTHERS = ("format", "part", "data", "initial", "depth", "scores", "preset")
"""Flags of `export` that a study has no use for, or that its path says."""

Measures = str | Sequence[str]


class Result(StudyResult):
    """Stored result of a study, with everything that its page, report and command show.

    >>> import shuffleproof as sp
    >>> result = sp.open("sample", progress=False).group_shuffles("gsf", orders=4, queries=50)
    >>> result.tables
    ['Equivariance error of every ranker by the number of shuffles']
    >>> result.table().columns[:4].to_list(), result.table("equivariance").shape
    (['Ranker', 'Groups', 'S', 'Error'], (7, 9))
    >>> type(result.figure()).__name__, result.per_query().columns.to_list()[-3:]
    ('Figure', ['query', 'measure', 'value'])
    >>> result.command
    'shuffleproof study group-shuffles --orders 4 --queries 50'
    """

    @classmethod
    def of(cls, result: StudyResult) -> "Result":
        """A stored result with all that can be shown of it."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(StudyResult)})

    def __repr__(self) -> str:
        """Question, finding, and available tables and figures, in ten lines at most."""
        findings = self.finding.splitlines()
        lines = [super().__repr__(), *(cut(line, WIDEST) for line in findings[:FINDINGS])]
        if len(findings) > FINDINGS:
            lines.append(f"… {counted(len(findings) - FINDINGS, 'finding')} more in .finding")
        names = "; ".join(f"{at} {name}" for at, name in enumerate(self.tables, start=1))
        lines.append(cut(f"tables: {names}", WIDEST))
        return "\n".join([*lines, f"figures: {len(self._pictures())}"])

    def _repr_html_(self) -> str:
        """Notebook output: the finding, and the first rows of the first table."""
        paragraphs = "".join(
            f"<p>{html.escape(cut(line, PARAGRAPH))}</p>"
            for line in self.finding.splitlines()[:FINDINGS]
        )
        table = next(self._tables(), None)
        if table is None:
            return paragraphs
        head = replace(table, frame=table.frame.head(ROWS), groups=table.groups[:ROWS])
        more = len(table.frame) - ROWS
        rest = f"<p><small>… {counted(more, 'row')} more: .table()</small></p>" if more > 0 else ""
        title = f"<p><b>{html.escape(table.title)}</b></p>" if table.title else ""
        return f"<div>{paragraphs}{title}{table_text.html(head)}{rest}</div>"

    def _sections(self, measures: Measures = ()) -> Iterator[Section]:
        """Answer of the study, under these measures (none: its own)."""
        sections_module = study_kind(self.recipe).sections_module()
        return sections_of(sections_module, self, View(measures=_texts(measures)))

    def _tables(self, measures: Measures = ()) -> Iterator[Table]:
        for section in self._sections(measures):
            yield from section.tables if isinstance(section, Picture) else ()
            if isinstance(section, Table):
                yield section

    def _pictures(self) -> list[Picture]:
        return [section for section in self._sections() if isinstance(section, Picture)]

    @property
    def headline(self) -> Headline:
        """The answer in one sentence: its `text`, and its `tier` (`core.studies.headline`)."""
        return study_kind(self.recipe).sections_module().headline(self, View())

    @property
    def finding(self) -> str:
        """The answer in one sentence, then the findings, one per line.

        The first lines state limits: only some queries, or a time limit.
        """
        sections = [one for one in self._sections() if isinstance(one, Headline | Finding)]
        texts = [section.text for section in sections if section.text]
        return "\n".join([*limits(self.facts), *texts])

    @property
    def tables(self) -> list[str]:
        """The titles of its tables, in the order of their numbers."""
        source = study_kind(self.recipe).source
        return [with_display_names(table.title) or source for table in self._tables()]

    def table(self, which: int | str = 1, measures: Measures = ()) -> pd.DataFrame:
        """A table as people read it: its columns by their labels, its numbers exact.

        Args:
            which: its number from 1, or words of its title.
            measures: other ones, if the stored results allow them.

        Raises:
            UsageError: it has no such table.
        """
        tables, titles = list(self._tables(measures)), self.tables
        if isinstance(which, str):
            words = with_display_names(which).casefold()
            fitting = [at for at, title in enumerate(titles) if words in title.casefold()]
            if not fitting:
                raise UnknownNameError("table", which, titles)
            return _shown(tables[fitting[0]])
        if not 1 <= which <= len(tables):
            raise ParameterError("table", which, f"a number from 1 to {len(tables)}, or a title")
        return _shown(tables[which - 1])

    @arguments_for_flags()
    def figure(self, number: int = 1, measures: Measures = ()) -> Any:
        """A figure, a `plotly.graph_objects.Figure`.

        Args:
            number: which of its figures, from 1.
            measures: other ones, if the stored results allow them.

        Raises:
            UsageError: it has no such figure.
        """
        pictures = import_module("shuffleproof.app.pictures")  # core knows no plotly
        return pictures.figure_of(self, number, _texts(measures))

    @takes_flags("export", *OF_OTHERS)
    def export(self, path: str | PathLike[str], **flags: Any) -> Path:
        """Write it to a file, as the command `export` does; the file's ending says the format.

        Reports (.html), figures (.pdf .svg .png), exact values (.csv .parquet .json), tables for
        people (.tex .md), runs of a benchmark (.zip).

        Args:
            path: of the file.
            flags: those of the command:
        """
        out = Path(path).expanduser()
        answer("export", [self._key(), out], {"store": self._root(), **flags})
        return out

    @property
    def methods(self) -> str:
        """A paragraph of methods for a paper, and what it cites."""
        works = (f"[{at}] {work}" for at, work in enumerate(references(self.recipe, self.facts), 1))
        return "\n".join([paragraph(self.recipe, self.facts), "", *works])

    @property
    def command(self) -> str:
        """The command that makes it again."""
        return study_command(self.recipe, self.facts)

    @property
    def python(self) -> str:
        """The lines of Python that make it again."""
        return study_python(self.recipe, self.facts)

    def _key(self) -> str:
        if self.directory is None or STOPPED in self.facts:
            raise UsageError(
                "this study was stopped: run it again without max_seconds, then export"
            )
        return self.directory.name

    def _root(self) -> Path:
        """The store that it lies in; what ships with the program is found from the user's own."""
        self._key()
        root, user_store = Path(self.directory or "").parents[1], default_store()
        return user_store.root if root in user_store.bundled else root


def _texts(measures: Measures) -> list[str]:
    return parts_of(measures, OLD) if isinstance(measures, str) else list(measures)


def _shown(table: Table) -> pd.DataFrame:
    """The columns that people read, by their labels; two of one label by their keys beside."""
    labels = [column.label or column.key for column in table.columns]
    frame = table.frame[[column.key for column in table.columns]].reset_index(drop=True)
    frame = frame.map(lambda value: str(value) if isinstance(value, Cell) else value)
    frame.columns = pd.Index(
        [
            label if labels.count(label) == 1 else f"{label} ({column.key})"
            for label, column in zip(labels, table.columns, strict=True)
        ]
    )
    if table.groups:
        frame.insert(0, "Group", list(table.groups))
    return frame
