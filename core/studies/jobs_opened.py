"""What jobs share: a question as a job, and how a job answers."""

import inspect
from collections.abc import Generator, Mapping
from typing import Any

from shuffleproof.core.parameters import parameters
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import SAMPLE, Question, Scope, preset_of

__all__ = ["SAMPLE", "Lists", "Reports", "StudyJob", "answer", "preset_of", "text_of"]

Lists = Mapping[str, Any] | None
Reports = Generator[Progress, None, Any]

KEYWORD = inspect.Parameter.KEYWORD_ONLY
SCOPE = {"lists": None, "preset": None, "pinned": None}
"""What a question is asked of, beside its data: fields of `Scope` with their defaults."""


class StudyJob:
    """The job that answers a question; its keywords are the question's fields and `Scope`'s.

    Attributes:
        question: of the kind of study.
    """

    def __init__(self, question: type[Question]) -> None:
        self.question = question
        fields = [
            inspect.Parameter(
                field.name,
                KEYWORD,
                default=inspect.Parameter.empty if field.required else field.default,
            )
            for field in parameters(question)
        ]
        rest = [inspect.Parameter(name, KEYWORD, default=value) for name, value in SCOPE.items()]
        store = inspect.Parameter("store", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        data = inspect.Parameter("data", KEYWORD)
        self.__signature__ = inspect.Signature([store, data, *fields, *rest])

    def __call__(self, store: Store, **given: Any) -> Reports:
        """Answer it; result: artefact."""
        question, scope = self.asked(store, given)
        return answer((yield from question.study(scope)))

    def asked(self, store: Store, given: Mapping[str, Any]) -> tuple[Question, Scope]:
        """The question of a job's keywords, and what it is asked of.

        Raises:
            ParameterError: a value out of its bounds.
        """
        of = {name: value for name, value in given.items() if name in {"data", *SCOPE}}
        question = {name: value for name, value in given.items() if name not in of}
        return self.question.from_plain(question), Scope(store, **of)


def answer(artefact: Artefact) -> dict[str, Any]:
    """A job's result that is an artefact."""
    return {"artefact": text_of(artefact.key)}


def text_of(key: ArtefactKey) -> str:
    """A key with its whole digest."""
    return f"{key.kind}-{key.digest}"
