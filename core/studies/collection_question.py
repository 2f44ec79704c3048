"""A question that is asked of a text collection: it has no candidate lists, presets or rankers.

A study of this kind is told once like any other (`core.studies.question`); what is opened is an
indexed collection instead of a workbench, and its flags are those of its fields alone.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Facts, Question, Scope

if TYPE_CHECKING:
    from shuffleproof.core.studies.names import Names

RETRIEVERS = "retrievers"
"""What a field of retrievers holds names of."""

RETRIEVER_NAMES = (
    "comma-separated, of `list retrievers`; also several made one by reciprocal ranks "
    "(rrf:bm25+snrm) or by scores (interpolated-70:bm25+lsi: 70 percent BM25)"
)
"""What such a field says of itself."""


@dataclass(frozen=True)
class CollectionQuestion(Question):
    """What a study of a text collection is asked."""

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "Question":
        """The question that a stored study has answered."""
        del facts
        return cls.from_plain({one.name: recipe[one.name] for one in parameters(cls)})

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the collection, work; returns the stored result."""
        from shuffleproof.core.retrieval.ingest import find  # noqa: PLC0415 (only who works pays for it)
        from shuffleproof.core.retrieval.registry import Indexed  # noqa: PLC0415 (likewise)

        indexed = Indexed(find(scope.data, scope.store), scope.store)
        return (yield from self.beside("study").run(indexed, self, scope.data))

    def named(self) -> "Names":
        """The measures that it names; retrievers are looked up by `check`."""
        from shuffleproof.core.studies.names import Names  # noqa: PLC0415 (only who asks pays for it)

        return Names(measures=self._named("measures"))

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse what can be known before anything is read.

        Args:
            scope: what it is asked of.
            from_outside: of no meaning here: nothing of this machine is named.

        Raises:
            UnknownNameError: a retriever or measure that there is not.
            UsageError: no retriever or no measure, or candidate lists of a collection.
        """
        del from_outside
        from shuffleproof.core.metrics.measure import Measure  # noqa: PLC0415 (only who asks pays for it)
        from shuffleproof.core.retrieval.registry import named  # noqa: PLC0415 (likewise)

        for what in (RETRIEVERS, "measures"):
            if not self._named(what):
                raise UsageError(f"a study needs a {what[:-1]}: name at least one")
        for name in self._named(RETRIEVERS):
            named(name)
        for text in self._named("measures"):
            Measure.parse(text)
        if scope.lists or scope.preset:
            given = ", ".join([*(scope.lists or ()), *(["preset"] if scope.preset else [])])
            raise UsageError(
                f"a text collection has no candidate lists and no presets: leave out {given}"
            )

    def _named(self, what: str) -> tuple[Any, ...]:
        fields = [one.name for one in parameters(self) if one.names == what]
        return tuple(name for field in fields for name in getattr(self, field))
